//! Closed forms and gradients against finite differences, sampling and random instances.

use crate::scores::{TANH_NET, WAVES, WAVES_SMOOTHNESS, sampled};
use probe_core::math::normal::upper_quantile;
use probe_core::theory::{
    BoundKind, FirstOrder, Step, Tradeoff, first_order, least_distance, margin_gradient_into,
    robust_score, smooth_upper_bound, upper_bound, wachter_point, wachter_rate,
};
use probe_core::{Covariance, Gaussian, Linear, Model, Purpose, Seed};

/// Every covariance, with and without a mean, on three features.
fn noises() -> Vec<Gaussian> {
    let full = vec![0.04, 0.015, -0.01, 0.015, 0.09, 0.02, -0.01, 0.02, 0.0625];
    let covariances = [
        Covariance::Isotropic(0.2),
        Covariance::Diagonal(vec![0.1, 0.3, 0.05]),
        Covariance::Full(full),
    ];
    let means = [vec![0.0; 3], vec![0.15, -0.2, 0.1]];
    let pairs = covariances.iter().flat_map(|c| means.iter().map(move |m| (m.clone(), c.clone())));
    pairs.map(|(mean, covariance)| Gaussian::new(mean, covariance).expect("valid noise")).collect()
}

const MASKS: [[bool; 3]; 3] = [[true; 3], [true, false, true], [false, true, false]];

/// Central differences of a quantity of Theorem 1 on the network, and the size of the largest
/// entry.
fn differences(
    noise: &Gaussian,
    active: &[bool],
    at: &[f64],
    of: fn(&FirstOrder) -> f64,
) -> (Vec<f64>, f64) {
    let h = 1e-5;
    let slope = |j: usize| {
        let value = |step: f64| {
            let mut moved = at.to_vec();
            moved[j] += step;
            of(&first_order(&TANH_NET, noise, active, &moved).expect("matching lengths"))
        };
        (value(h) - value(-h)) / (2.0 * h)
    };
    let slopes: Vec<f64> = (0..at.len()).map(slope).collect();
    let size = slopes.iter().fold(0.0, |top: f64, s| top.max(s.abs()));
    (slopes, size)
}

#[test]
fn margin_and_rate_gradients_match_central_differences() {
    for noise in noises() {
        for active in MASKS {
            for at in [[0.3, -0.2, 0.5], [-0.8, 0.4, 0.1], [0.0, 1.1, -0.7]] {
                let mut gradient = [0.0; 3];
                let found =
                    margin_gradient_into(&TANH_NET, &noise, &active, &at, &mut gradient).unwrap();
                let (margin, size) = differences(&noise, &active, &at, |found| found.margin);
                for j in 0..3 {
                    assert!(
                        (gradient[j] - margin[j]).abs() < 1e-7 * size,
                        "{gradient:?} for {margin:?}"
                    );
                }
                let (rate, size) = differences(&noise, &active, &at, |found| found.rate);
                for j in 0..3 {
                    assert!(
                        (found.rate_slope() * gradient[j] - rate[j]).abs() < 1e-7 * size + 1e-10
                    );
                }
            }
        }
    }
}

#[test]
fn both_hessian_terms_matter() {
    // Without H Σg, and without H μ, the gradient is off by far more than the test above allows.
    let (at, active) = ([0.3, -0.2, 0.5], [true; 3]);
    let noise = &noises()[1];
    let mut gradient = [0.0; 3];
    let found = margin_gradient_into(&TANH_NET, noise, &active, &at, &mut gradient).unwrap();
    let (mut g, mut curved) = ([0.0; 3], [0.0; 3]);
    (TANH_NET.gradient)(&at, &mut g);
    let off = |candidate: &dyn Fn(usize) -> f64| {
        let size = gradient.iter().fold(0.0, |top: f64, v| top.max(v.abs()));
        (0..3).map(|j| (candidate(j) - gradient[j]).abs() / size).fold(0.0, f64::max)
    };
    assert!(off(&|j| g[j] / found.sd) > 0.1, "no Hessian at all");
    (TANH_NET.curve)(&at, noise.mean(), &mut curved);
    assert!(off(&|j| (g[j] + curved[j]) / found.sd) > 0.05, "mean term only");
    (TANH_NET.curve)(&at, &g, &mut curved);
    assert!(
        off(&|j| (g[j] - found.margin * 0.04 * curved[j] / found.sd) / found.sd) > 0.05,
        "covariance term only"
    );
}

#[test]
fn affine_rates_match_sampling() {
    let model = Linear::new(vec![1.0, -0.7, 0.4], 0.05, 0.1).unwrap();
    for noise in noises() {
        for active in MASKS {
            let score = robust_score(&model, &noise, &active, 0.2).unwrap();
            let point = wachter_point(&model, &[-0.5, 0.2, 0.1], score).unwrap();
            assert!((model.score(&point).unwrap() - score).abs() < 1e-14);
            let exact = first_order(&model, &noise, &active, &point).unwrap();
            assert!(exact.exact && (exact.rate - 0.2).abs() < 1e-12);
            assert!((wachter_rate(&model, &noise, &active, score).unwrap() - 0.2).abs() < 1e-14);
            let (rate, error) = sampled(&model, &noise, &active, &point, 100_000);
            assert!((rate - exact.rate).abs() < 4.0 * error, "{rate} for {}", exact.rate);
        }
    }
}

#[test]
fn trade_off_matches_sampling_along_a_slanted_direction() {
    let model = Linear::new(vec![1.0, -0.7, 0.4], -0.6, 0.0).unwrap();
    for noise in noises().iter().step_by(2) {
        let (from, towards) = ([0.0; 3], [1.0, 0.5, 0.5]);
        let line = Tradeoff::along(&model, noise, &[true; 3], &from, &towards).unwrap();
        let length = line.cost(0.1).unwrap() / 1.5f64.sqrt();
        let point = towards.map(|v| length * v);
        let (rate, error) = sampled(&model, noise, &[true; 3], &point, 100_000);
        assert!((rate - 0.1).abs() < 4.0 * error, "{rate}");
    }
}

#[test]
fn smooth_bound_holds_for_the_first_order_rate_on_random_steps() {
    let mut stream = Seed(23).stream(Purpose::Data, 0);
    let noise = Gaussian::isotropic(2, 0.1).unwrap();
    let (mut paper_fails, mut useful) = (0, 0);
    for _ in 0..4_000 {
        let factual = [2.0 * stream.normal(), 2.0 * stream.normal()];
        let point = [factual[0] + stream.normal(), factual[1] + stream.normal()];
        let step = Step {
            model: &WAVES,
            noise: &noise,
            active: &[true; 2],
            factual: &factual,
            point: &point,
        };
        let rate = first_order(&WAVES, &noise, &[true; 2], &point).unwrap().rate;
        let bound = smooth_upper_bound(&step, WAVES_SMOOTHNESS).unwrap();
        assert_eq!(bound.kind, BoundKind::OnFirstOrder);
        assert!(rate <= bound.value * (1.0 + 1e-9) + 1e-15, "{rate} > {}", bound.value);
        paper_fails += usize::from(rate > upper_bound(&step).unwrap().value * (1.0 + 1e-9) + 1e-12);
        useful += usize::from(bound.value < 0.2);
    }
    assert!(paper_fails > 100, "the paper's form fails on the same steps: {paper_fails}");
    assert!(useful > 100, "the smooth form is not vacuous: {useful}");
}

#[test]
fn least_distance_holds_for_sampled_networks() {
    // Rates by sampling: allow four standard errors in each of the two margins.
    let mut stream = Seed(29).stream(Purpose::Data, 0);
    let noise = Gaussian::isotropic(3, 0.3).unwrap();
    for _ in 0..40 {
        let mut draw = || [stream.normal(), stream.normal(), stream.normal()];
        let (from, step) = (draw(), draw());
        let to = [0, 1, 2].map(|j| from[j] + 0.4 * step[j]);
        let length = (0..3).map(|j| (to[j] - from[j]).powi(2)).sum::<f64>().sqrt();
        let (start, start_error) = sampled(&TANH_NET, &noise, &[true; 3], &from, 20_000);
        let (end, end_error) = sampled(&TANH_NET, &noise, &[true; 3], &to, 20_000);
        let (start, end) = (start - 4.0 * start_error - 1e-3, end + 4.0 * end_error + 1e-3);
        if start > 0.0 && end < 1.0 {
            assert!(least_distance(0.3, end, upper_quantile(start)).unwrap() <= length);
        }
    }
}
