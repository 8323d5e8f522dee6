//! One test per erratum of the paper (arXiv:2203.06768): it shows what goes wrong as printed, and
//! the resolution.
//!
//! Numbers are those of the table in `docs/notation.md`. "As printed" quantities are computed here,
//! from the paper's formulas, since the engine does not offer them.

use crate::scores::{PARABOLA, TENT, sampled};
use probe_core::math::normal::{cdf, pdf, upper_quantile, upper_tail};
use probe_core::theory::{
    BoundKind, Distance, Step, Tradeoff, ball_mass, ball_radius, first_order, indicator_mse,
    indicator_mse_bound, margin_gradient_into, robust_score, sigmoid_bias, upper_bound,
    wachter_point, wachter_point_penalised, wachter_rate,
};
use probe_core::{Covariance, Gaussian, Linear, Model, Noise, Purpose, RowsMut, Seed};

fn linear(weights: &[f64], bias: f64) -> Linear {
    Linear::new(weights.to_vec(), bias, 0.0).expect("finite weights")
}

fn isotropic(dim: usize, sigma: f64) -> Gaussian {
    Gaussian::isotropic(dim, sigma).expect("a positive sigma")
}

#[test]
fn erratum_3_the_definition_calls_refused_points_robust() {
    // Half a sigma on the wrong side of the boundary.
    let (model, noise, point) = (linear(&[1.0], 0.0), isotropic(1, 0.1), [-0.05]);
    let decision = f64::from(u8::from(model.score(&point).unwrap() > 0.0));
    let (refused, error) = sampled(&model, &noise, &[true], &point, 100_000);
    // Definition 1 as printed: E[h(x') - h(x' + ε)] = 0 - P(accepted), negative, hence below every
    // target.
    let as_printed = decision - (1.0 - refused);
    assert!(as_printed < -0.3);
    // Resolution: P(refused), whatever h(x').
    let rate = first_order(&model, &noise, &[true], &point).unwrap().rate;
    assert!((rate - cdf(0.5)).abs() < 1e-15 && (rate - refused).abs() < 4.0 * error);
}

#[test]
fn erratum_4_a_tie_is_no_recourse() {
    // The paper's default target score 0 lands on the boundary: h = 1[f > 0] is 0 there.
    let model = linear(&[2.0], -1.0);
    let point = wachter_point(&model, &[0.0], 0.0).unwrap();
    assert!(model.score(&point).unwrap().abs() <= 0.0, "no step further");
    // On an atom (no noise on this feature) the proof's mixture of > and >= decides between rates 0
    // and 1.
    let exact_step = Gaussian::new(vec![0.0], Covariance::Diagonal(vec![0.0])).unwrap();
    let found = first_order(&model, &exact_step, &[true], &point).unwrap();
    assert!((found.rate - 1.0).abs() <= 0.0 && found.margin == f64::NEG_INFINITY);
    assert!((sampled(&model, &exact_step, &[true], &point, 10).0 - 1.0).abs() <= 0.0);
}

#[test]
fn erratum_4_another_cut_off_is_folded_into_the_score() {
    // Theorem 1 as printed has f in the numerator, right for ξ = 0 only.
    let (noise, point) = (isotropic(1, 0.1), [0.55]);
    let shifted = Linear::new(vec![1.0], 0.0, 0.5).unwrap();
    let rate = first_order(&shifted, &noise, &[true], &point).unwrap().rate;
    assert!((rate - upper_tail(0.5)).abs() < 1e-14);
    let as_printed = upper_tail(0.55 / 0.1);
    let (truth, error) = sampled(&shifted, &noise, &[true], &point, 100_000);
    assert!((truth - rate).abs() < 4.0 * error && (truth - as_printed).abs() > 0.3);
}

#[test]
fn erratum_5_theorem_1_is_exact_for_affine_scores_only() {
    let noise = isotropic(1, 1.0);
    let found = first_order(&PARABOLA, &noise, &[true], &[1.5]).unwrap();
    // x² > 1 fails iff -1 <= 1.5 + ε <= 1.
    let truth = upper_tail(0.5) - upper_tail(2.5);
    assert!((found.rate - upper_tail(1.25 / 3.0)).abs() < 1e-15);
    assert!((found.rate - truth).abs() > 0.03 && !found.exact, "and the result says so");
}

#[test]
fn erratum_5_a_flat_score_is_no_0_over_0() {
    let noise = isotropic(1, 0.1);
    let tie = linear(&[0.0], 0.0);
    let as_printed = tie.score(&[0.3]).unwrap() / (0.1 * tie.weights()[0].abs());
    assert!(as_printed.is_nan());
    // The gradient of x² - 1 vanishes at 0; a constant score of any sign is the same case.
    let found = first_order(&PARABOLA, &noise, &[true], &[0.0]).unwrap();
    assert!((found.rate - 1.0).abs() <= 0.0);
    for (bias, rate) in [(1e-12, 0.0), (0.0, 1.0), (-1e-12, 1.0)] {
        let flat = linear(&[0.0], bias);
        assert!((first_order(&flat, &noise, &[true], &[0.0]).unwrap().rate - rate).abs() <= 0.0);
    }
}

#[test]
fn erratum_5_the_mean_of_the_noise_belongs_in_the_numerator() {
    // The proof starts from N(μ, Σ) and ends without μ.
    let model = linear(&[1.0, -2.0], 0.1);
    let noise = Gaussian::new(vec![-0.2, 0.1], Covariance::Isotropic(0.2)).unwrap();
    let point = [0.4, 0.05];
    let as_printed = upper_tail(0.4 / (0.2 * 5f64.sqrt()));
    let rate = first_order(&model, &noise, &[true; 2], &point).unwrap().rate;
    let (truth, error) = sampled(&model, &noise, &[true; 2], &point, 100_000);
    assert!((truth - rate).abs() < 4.0 * error && (rate - 0.5).abs() < 1e-14);
    assert!((truth - as_printed).abs() > 0.3);
}

#[test]
fn erratum_6_prop4_is_no_bound_for_relu() {
    // Slope 1 up to 0.1, then -1/2: from -0.1 to 0.2 with σ = 0.1.
    let noise = isotropic(1, 0.1);
    let step =
        Step { model: &TENT, noise: &noise, active: &[true], factual: &[-0.1], point: &[0.2] };
    let (sigma, slope_there, length) = (0.1, 0.5, 0.3);
    let reach = 1.0 / sigma / slope_there * length;
    let statement = upper_tail(-0.1 / (sigma * 1.0) + reach);
    let proof = upper_tail(-0.1 / (sigma * slope_there) + reach);
    assert!((statement / 2.87e-7 - 1.0).abs() < 1e-2 && (proof / 3.17e-5 - 1.0).abs() < 1e-2);
    let rate = first_order(&TENT, &noise, &[true], &[0.2]).unwrap().rate;
    assert!((rate - upper_tail(1.0)).abs() < 1e-14, "0.1587, far above both");
    // The true rate is larger still: refused below 0 and above 0.3.
    let (truth, error) = sampled(&TENT, &noise, &[true], &[0.2], 100_000);
    assert!((truth - (upper_tail(1.0) + upper_tail(2.0))).abs() < 4.0 * error);
    // Resolution: the same number, but labelled as an estimate.
    let found = upper_bound(&step).unwrap();
    assert!((found.value / proof - 1.0).abs() < 1e-10 && found.kind == BoundKind::FirstOrder);
}

#[test]
fn erratum_6_a_positive_cosine_is_not_necessary() {
    // "Since δ is a valid perturbation, we must have ω > 0": from 0.5 to -1.5 on x² - 1 goes
    // against the gradient.
    let (from, to) = ([0.5], [-1.5]);
    let mut gradient = [0.0];
    (PARABOLA.gradient)(&from, &mut gradient);
    assert!(PARABOLA.score(&from).unwrap() <= 0.0 && PARABOLA.score(&to).unwrap() > 0.0);
    assert!(gradient[0] * (to[0] - from[0]) < 0.0);
}

#[test]
fn erratum_6_the_bound_is_tight_for_even_changes_not_only_sparse_ones() {
    let (model, noise) = (linear(&[1.0, 0.4, -0.3], -1.0), isotropic(3, 0.2));
    let point = [0.8, 0.8, -0.8];
    let step = Step {
        model: &model,
        noise: &noise,
        active: &[true; 3],
        factual: &[0.0; 3],
        point: &point,
    };
    let rate = first_order(&model, &noise, &[true; 3], &point).unwrap().rate;
    assert!((upper_bound(&step).unwrap().value - rate).abs() < 1e-15);
}

#[test]
fn erratum_7_rates_of_one_half_or_more_have_no_favourable_point() {
    let (sigma, start) = (0.1, -2.0);
    // As printed, r = 0.7 costs σ(z_r - c): the margin there is z_r < 0, so the point is refused.
    let as_printed = sigma * (upper_quantile(0.7) - start);
    assert!(start + as_printed / sigma < 0.0);
    let line = Tradeoff::isotropic(sigma, 1.0, start).unwrap();
    assert!(line.cost(0.7).is_err() && line.cost(0.5).is_err() && line.cost(0.49).is_ok());
}

#[test]
fn erratum_7_a_met_target_costs_nothing() {
    // As printed the cost is negative and its slope positive for someone who is already safe
    // enough.
    let (sigma, start, target) = (0.1, 2.0, 0.05);
    assert!(sigma * (upper_quantile(target) - start) < 0.0);
    let line = Tradeoff::isotropic(sigma, 1.0, start).unwrap();
    assert!(line.cost(target).unwrap().abs() <= 0.0 && line.slope(target).unwrap().abs() <= 0.0);
    assert!(line.rate(0.0) < target);
}

#[test]
fn erratum_8_wachter_s_closed_form_is_a_limit() {
    let (model, from) = (linear(&[1.0, 2.0], -1.5), [0.0, 0.0]);
    let closed = wachter_point(&model, &from, 0.0).unwrap();
    assert!(model.score(&closed).unwrap().abs() < 1e-15);
    // λ = 1 with the squared norm stops at -0.25, with the plain norm at -λ/(2‖w‖): still refused.
    for (distance, score) in
        [(Distance::SquaredEuclidean, -0.25), (Distance::Euclidean, -0.5 / 5f64.sqrt())]
    {
        let at = |lambda| wachter_point_penalised(&model, &from, 0.0, lambda, distance).unwrap();
        assert!((model.score(&at(1.0)).unwrap() - score).abs() < 1e-14);
        // It is the minimiser: no small move in any direction improves the objective.
        let objective = |p: &[f64]| {
            let length = p[0].hypot(p[1]);
            let size = if distance == Distance::Euclidean { length } else { length * length };
            model.score(p).unwrap().powi(2) + size
        };
        let best = at(1.0);
        for k in 0..16 {
            let angle = f64::from(k) * std::f64::consts::TAU / 16.0;
            assert!(
                objective(&[best[0] + 1e-4 * angle.cos(), best[1] + 1e-4 * angle.sin()])
                    > objective(&best)
            );
        }
        // And the closed form is where it goes as λ → 0, at a distance proportional to λ.
        let gap = |lambda| (at(lambda)[0] - closed[0]).hypot(at(lambda)[1] - closed[1]);
        assert!(gap(1e-9) < 1e-9 && (gap(1e-4) / gap(1e-5) - 10.0).abs() < 1e-3);
    }
    // A plain norm with a large λ does not move at all.
    let still = wachter_point_penalised(&model, &from, 0.0, 10.0, Distance::Euclidean).unwrap();
    assert_eq!(still, from);
}

#[test]
fn erratum_9_the_sigmoid_estimator_has_a_bias_floor() {
    // r = 0.05, t·sigma_f = 2: K = 100 000 samples should bring the squared error under 1/(4K) =
    // 2.5e-6.
    let (tau, rate, samples) = (2.0, 0.05, 100_000);
    let margin = upper_quantile(rate);
    let mut stream = Seed(31).stream(Purpose::Rate, 0);
    let (mut soft, mut hard) = (0.0, 0.0);
    for _ in 0..samples {
        let score = margin + stream.normal();
        soft += 1.0 / (1.0 + (tau * score).exp());
        hard += f64::from(u8::from(score <= 0.0));
    }
    let (soft, hard) = (soft / samples as f64 - rate, hard / samples as f64 - rate);
    let bound = indicator_mse_bound(samples).unwrap();
    assert!(soft * soft > 1000.0 * bound, "the sigmoid misses Proposition 5 by three orders");
    let bias = sigmoid_bias(tau, rate).unwrap();
    assert!((bias - 0.0584).abs() < 1e-4 && (bias * bias - 0.0034).abs() < 1e-4);
    // A sigmoid value has variance below 1/4.
    assert!((soft - bias).abs() < 4.0 * bound.sqrt());
    assert!(
        hard.abs() < 4.0 * indicator_mse(rate, samples).unwrap().sqrt(),
        "indicators are unbiased"
    );
}

#[test]
fn erratum_9_stopping_at_the_first_good_estimate_selects_lucky_samples() {
    // A search raises the margin in steps of 0.01 and stops when a fresh estimate from K = 1000
    // samples is <= r.
    let (target, samples, searches) = (0.1, 1000u32, 100);
    let mut stream = Seed(37).stream(Purpose::Search, 0);
    let mut above = 0;
    for _ in 0..searches {
        let mut margin = 0.8;
        loop {
            let refused = (0..samples).filter(|_| stream.normal() <= -margin).count();
            if refused as f64 <= target * f64::from(samples) {
                break;
            }
            margin += 0.01;
        }
        above += usize::from(upper_tail(margin) > target);
    }
    assert!(
        above > searches * 8 / 10,
        "nearly always above the target, not half of the time: {above}"
    );
}

#[test]
fn erratum_12_two_sigma_holds_95_percent_in_one_dimension_only() {
    assert!((ball_mass(1, 2.0).unwrap() - 0.9545).abs() < 1e-4);
    assert!(
        (ball_mass(2, 2.0).unwrap() - 0.8647).abs() < 1e-4,
        "the paper's figures are in the plane"
    );
    assert!((ball_radius(2, 0.95).unwrap() - 2.4477).abs() < 1e-4);
    let mut draws = vec![0.0; 200_000];
    let mut stream = Seed(41).stream(Purpose::Data, 0);
    isotropic(2, 0.3).sample_into(&mut stream, RowsMut::new(&mut draws, 2).unwrap());
    let inside =
        draws.chunks_exact(2).filter(|e| e[0].hypot(e[1]) <= 0.6).count() as f64 / 100_000.0;
    assert!((inside - 0.8647).abs() < 4.0 * (0.8647 * 0.1353 / 100_000.0f64).sqrt() + 1e-4);
}

#[test]
fn erratum_13_sigma_is_a_standard_deviation() {
    // The paper's σ² = 0.01 is σ = 0.1.
    let noise = isotropic(2, 0.1);
    assert!((noise.covariance_of(0, 0) - 0.01).abs() < 1e-17);
    // Reading the variance as σ asks for a tenth of the margin: the target of 5 % becomes 43 %.
    let model = linear(&[1.0, 2.0], -1.5);
    let misread = robust_score(&model, &isotropic(2, 0.01), &[true; 2], 0.05).unwrap();
    let rate = wachter_rate(&model, &noise, &[true; 2], misread).unwrap();
    assert!((rate - 0.4347).abs() < 1e-4);
}

#[test]
fn erratum_14_the_rate_has_no_slope_where_a_search_starts() {
    let (model, noise) = (linear(&[1.0], 0.0), isotropic(1, 0.1));
    for (margin, slope) in [(-3.0, 4e-3), (-6.0, 6e-9)] {
        let mut gradient = [0.0];
        let found =
            margin_gradient_into(&model, &noise, &[true], &[0.1 * margin], &mut gradient).unwrap();
        assert!(
            (-found.rate_slope() / slope - 1.0).abs() < 0.2,
            "the rate's slope in the margin vanishes"
        );
        assert!((found.rate_slope() + pdf(margin)).abs() < 1e-12);
        assert!((gradient[0] - 10.0).abs() < 1e-12, "the margin's does not");
    }
}
