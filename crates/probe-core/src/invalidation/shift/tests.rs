use super::*;
use crate::invalidation::{ClosedForm, InvalidationRate, MonteCarlo, Query};
use crate::model::{Activation, Dense, Mlp};
use crate::noise::{Covariance, Gaussian};
use crate::seed::{Purpose, Seed, Stream};

fn stream(key: u64) -> Stream {
    Seed(17).stream(Purpose::Data, key)
}

/// A random model, noise by feature, and a point with a margin of order one.
struct Case {
    model: Linear,
    sd: Vec<f64>,
    tau: f64,
    point: Vec<f64>,
}

impl Case {
    fn draw(draw: &mut Stream, equal: bool) -> Self {
        let d = 1 + draw.below(6);
        let weights: Vec<f64> = (0..d).map(|_| draw.normal()).collect();
        let sigma = 0.05 + 0.5 * draw.uniform();
        let sd: Vec<f64> =
            (0..d).map(|_| if equal { sigma } else { sigma * draw.below(3) as f64 }).collect();
        let tau = 0.02 + 0.5 * draw.uniform();
        let point: Vec<f64> = (0..d).map(|_| draw.normal()).collect();
        let wanted = 0.6 * draw.normal() + 0.3;
        let model = Linear::new(weights.clone(), wanted - dot(&weights, &point), 0.0).unwrap();
        Self { model, sd, tau, point }
    }

    fn rate(&self, shift: ModelShift) -> ShiftedRate {
        let d = self.sd.len();
        let noise = Gaussian::new(vec![0.0; d], Covariance::Diagonal(self.sd.clone())).unwrap();
        ShiftedRate::new(&self.model, &noise, &vec![true; d], shift).unwrap()
    }
}

#[test]
fn random_changes_agree_with_plain_samples() {
    const N: usize = 100_000;
    let mut draw = stream(0);
    for case in 0..30 {
        let Case { model, sd, tau, point } = &Case::draw(&mut draw, case % 2 == 0);
        let exact = Case { model: model.clone(), sd: sd.clone(), tau: *tau, point: point.clone() }
            .rate(ModelShift::Gaussian(*tau));
        let mut refused = 0;
        for _ in 0..N {
            let mut score = model.bias() + tau * draw.normal();
            for j in 0..sd.len() {
                score +=
                    (model.weights()[j] + tau * draw.normal()) * (point[j] + sd[j] * draw.normal());
            }
            refused += usize::from(score <= 0.0);
        }
        let (rate, sampled) = (exact.rate(point), refused as f64 / N as f64);
        // Four and a half standard errors: 30 cases, chance of a false alarm 2e-4.
        let allowed = 4.5 * (rate * (1.0 - rate) / N as f64).sqrt() + 1.0 / N as f64;
        assert!((rate - sampled).abs() <= allowed, "case {case}: {rate} {sampled}");
    }
}

#[test]
fn a_vanishing_change_leaves_the_rate_of_the_noise_alone() {
    let mut draw = stream(1);
    for _ in 0..50 {
        let case = Case::draw(&mut draw, true);
        let sd = case.sd[0] * dot(case.model.weights(), case.model.weights()).sqrt();
        let score = case.model.score(&case.point).unwrap();
        let alone = crate::theory::affine_rate(score, 0.0, sd);
        for shift in
            [ModelShift::Gaussian(1e-9), ModelShift::Relative(1e-9), ModelShift::Bounded(1e-12)]
        {
            // A change of 1e-9 moves the margin by about as much; the sum rounds at 1e-15.
            assert!((case.rate(shift).rate(&case.point) - alone).abs() < 1e-8, "{shift:?}");
        }
    }
}

#[test]
fn without_noise_a_random_change_is_normal() {
    let model = Linear::new(vec![1.0, -2.0], 0.5, 0.0).unwrap();
    let noise = Gaussian::isotropic(2, 0.3).unwrap();
    let rate = ShiftedRate::new(&model, &noise, &[false; 2], ModelShift::Gaussian(0.2)).unwrap();
    for point in [[0.3, 0.1], [4.0, 1.0], [-0.5, 0.0]] {
        let score = model.score(&point).unwrap();
        let sd = 0.2 * (1.0 + dot(&point, &point)).sqrt();
        assert!((rate.rate(&point) - upper_tail(score / sd)).abs() < 1e-14);
        assert!((rate.approximate_rate(&point) - upper_tail(score / sd)).abs() < 1e-15);
    }
}

#[test]
fn the_normal_approximation_is_close_where_changes_are_small() {
    let mut draw = stream(2);
    for _ in 0..100 {
        let mut case = Case::draw(&mut draw, true);
        case.tau = 0.05;
        let rate = case.rate(ModelShift::Gaussian(case.tau));
        // The excess kurtosis is at most that of the product term, some (τσ)²d over the variance.
        assert!((rate.rate(&case.point) - rate.approximate_rate(&case.point)).abs() < 5e-3);
    }
}

/// Random weights within `rho` of those of the model, most of them on the sphere.
fn nearby(draw: &mut Stream, weights: &[f64], rho: f64) -> Vec<f64> {
    let step: Vec<f64> = weights.iter().map(|_| draw.normal()).collect();
    let length = dot(&step, &step).sqrt();
    let share = if draw.below(4) == 0 { draw.uniform() } else { 1.0 };
    weights.iter().zip(&step).map(|(w, s)| w + rho * share * s / length).collect()
}

#[test]
fn no_change_drawn_at_random_is_worse_than_the_worst() {
    let mut draw = stream(3);
    let (mut closest, mut refused) = (f64::INFINITY, 0);
    for _ in 0..60 {
        let case = Case::draw(&mut draw, true);
        let rho = 0.05 + 0.8 * draw.uniform();
        let found = case.rate(ModelShift::Bounded(rho));
        let worst = found.rate(&case.point);
        assert!(
            found.approximate_rate(&case.point) >= worst * (1.0 - 1e-12),
            "the simple bound is safe"
        );
        refused += usize::from(worst > 0.5);
        for _ in 0..3_000 {
            let v = nearby(&mut draw, case.model.weights(), rho);
            let score = dot(&v, &case.point) + case.model.bias();
            let rate = crate::theory::affine_rate(score, 0.0, case.sd[0] * dot(&v, &v).sqrt());
            assert!(rate <= worst + 1e-9, "{rate} above {worst}");
            closest = closest.min(worst - rate);
        }
    }
    assert!(closest < 1e-3, "the bound is far from every draw: {closest}");
    assert!((10..50).contains(&refused), "both signs of the margin are met: {refused}");
}

#[test]
fn slack_has_the_sign_of_the_rate_and_the_slope_of_differences() {
    let mut draw = stream(4);
    for i in 0..60 {
        let case = Case::draw(&mut draw, true);
        let shift = [ModelShift::Gaussian(case.tau), ModelShift::Bounded(0.3)][i % 2];
        let (rate, d) = (case.rate(shift), case.point.len());
        let mut gradient = vec![0.0; d];
        for target in [0.3, 0.05] {
            let z = upper_quantile(target);
            let slack = rate.slack_and_gradient(z, &case.point, &mut gradient);
            assert_eq!(slack > 0.0, rate.rate(&case.point) < target, "{shift:?}");
            for j in 0..d {
                let mut unused = vec![0.0; d];
                let mut at = |h: f64| {
                    let mut moved = case.point.clone();
                    moved[j] += h;
                    rate.slack_and_gradient(z, &moved, &mut unused)
                };
                // Rounding of 1e-15 in the rate is 1e-15/φ(m) in the margin, over h; the circle is
                // searched to 1e-8 of its angle.
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (gradient[j] - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                    "{shift:?}: {gradient:?} {slope}"
                );
            }
        }
    }
}

#[test]
fn what_has_no_exact_rate_is_refused() {
    let model = Linear::new(vec![1.0, 2.0], 0.0, 0.0).unwrap();
    let refuses = |mean: [f64; 2], covariance: Covariance, active: [bool; 2], shift: ModelShift| {
        let noise = Gaussian::new(mean.to_vec(), covariance).unwrap();
        ShiftedRate::new(&model, &noise, &active, shift).is_err()
    };
    let equal = || Covariance::Isotropic(0.1);
    let gaussian = ModelShift::Gaussian(0.1);
    assert!(!refuses([0.0; 2], equal(), [true, false], gaussian));
    assert!(refuses([0.1, 0.0], equal(), [true; 2], gaussian));
    assert!(refuses([0.0; 2], Covariance::Full(vec![1.0, 0.5, 0.5, 1.0]), [true; 2], gaussian));
    assert!(refuses([0.0; 2], equal(), [true, false], ModelShift::Bounded(0.1)));
    assert!(refuses([0.0; 2], equal(), [true; 2], ModelShift::Gaussian(-1.0)));
}

#[test]
fn sampled_changes_agree_with_the_exact_rate_and_with_a_network_by_hand() {
    let (noise, point) = (Gaussian::isotropic(2, 0.3).unwrap(), [0.4, 0.2]);
    let model = Linear::new(vec![1.0, -0.5], 0.1, 0.0).unwrap();
    let query = Query { model: &model, noise: &noise, active: &[true; 2], point: &point };
    for shift in [ModelShift::Gaussian(0.3), ModelShift::Relative(0.5)] {
        let estimate = |estimator: &dyn InvalidationRate| {
            estimator.under_shift(shift).unwrap().estimate(&query, 0.999, &mut stream(6)).unwrap()
        };
        let (exact, sampled) = (estimate(&ClosedForm), estimate(&MonteCarlo { samples: 100_000 }));
        assert!(exact.exact && !sampled.exact);
        assert!(
            (exact.rate - sampled.rate).abs() < 4.0 * sampled.std_error,
            "{exact:?} {sampled:?}"
        );
    }
    // One rectifier that is always on: s = w₂(w₁x + b₁) + b₂ with all four numbers and x random; no
    // more than 4σ from zero.
    let dense = |weight: f64, bias: f64| Dense { weight: vec![weight], bias: vec![bias] };
    let network = Mlp::new(vec![dense(1.0, 5.0), dense(1.0, -5.3)], Activation::Relu, 0.0).unwrap();
    let noise = Gaussian::isotropic(1, 0.3).unwrap();
    let query = Query { model: &network, noise: &noise, active: &[true], point: &[0.5] };
    let shifted = MonteCarlo { samples: 50_000 }.under_shift(ModelShift::Gaussian(0.05)).unwrap();
    let sampled = shifted.estimate(&query, 0.999, &mut stream(7)).unwrap();
    let (mut draw, mut refused, n) = (stream(8), 0, 200_000);
    for _ in 0..n {
        let mut around = |mean: f64, sd: f64| mean + sd * draw.normal();
        let hidden = around(1.0, 0.05) * around(0.5, 0.3) + around(5.0, 0.05);
        refused += usize::from(around(1.0, 0.05) * hidden + around(-5.3, 0.05) <= 0.0);
    }
    let by_hand = refused as f64 / f64::from(n);
    // The errors of both, the first twice that of the second.
    assert!((sampled.rate - by_hand).abs() < 4.5 * sampled.std_error, "{sampled:?} {by_hand}");
    let alone = MonteCarlo { samples: 50_000 }.estimate(&query, 0.999, &mut stream(9)).unwrap();
    assert!(sampled.rate > alone.rate + 0.02, "the change of the model counts");
    assert!(
        ClosedForm
            .under_shift(ModelShift::Gaussian(0.1))
            .unwrap()
            .estimate(&query, 0.9, &mut draw)
            .is_err()
    );
    let worst = MonteCarlo { samples: 10 }.under_shift(ModelShift::Bounded(0.1)).unwrap();
    assert!(worst.estimate(&query, 0.9, &mut draw).is_err());
}
