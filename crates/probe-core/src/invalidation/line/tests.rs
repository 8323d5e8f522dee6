//! The smoothed margin's gradient against finite differences, on common lines.

use super::*;
use crate::model::{Activation, Dense, Mlp};
use crate::noise::{Covariance, Gaussian, NoiseSpec};
use crate::seed::{Purpose, Seed};
use std::sync::Arc;

const D: usize = 4;

fn network(widths: &[usize], activation: Activation, seed: u64) -> Mlp {
    let mut stream = Seed(seed).stream(Purpose::Data, 3);
    let layers = widths
        .windows(2)
        .map(|pair| Dense {
            weight: (0..pair[0] * pair[1])
                .map(|_| stream.normal() * (2.0 / pair[0] as f64).sqrt())
                .collect(),
            bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect(),
        })
        .collect::<Vec<_>>();
    let plain = Mlp::new(layers.clone(), activation, 0.0).unwrap();
    let at_zero = plain.score(&[0.0; D]).unwrap();
    Mlp::new(layers, activation, at_zero - 0.05).unwrap()
}

fn noises() -> [(&'static str, Arc<dyn Noise>); 3] {
    let factor =
        [0.2, 0.0, 0.0, 0.0, 0.1, 0.15, 0.0, 0.0, -0.1, 0.05, 0.2, 0.0, 0.05, 0.1, -0.05, 0.1];
    let full =
        (0..D * D).map(|k| (0..D).map(|m| factor[k / D * D + m] * factor[k % D * D + m]).sum());
    let full = Gaussian::new(vec![0.02; D], Covariance::Full(full.collect())).unwrap();
    [
        ("isotropic", Arc::new(Gaussian::isotropic(D, 0.2).unwrap())),
        ("full", Arc::new(full)),
        ("laplace", NoiseSpec::parse("laplace").unwrap().build(vec![0.2, 0.1, 0.3, 0.15]).unwrap()),
    ]
}

/// Largest difference between the gradient and central differences of step `h`, with the same lines
/// in the same direction, as a share of the gradient's largest entry.
fn mismatch(model: &Mlp, noise: &dyn Noise, n_lines: usize, h: f64) -> f64 {
    let x = [0.05, -0.1, 0.08, 0.02];
    let mut lines = Lines::new(model, noise, Some(&[true, true, true, true])).unwrap();
    let pool = Pool::even(Seed(2), Purpose::Search, 0, &lines);
    let (mut hint, mut gradient) = (vec![0.0; D], vec![0.0; D]);
    lines.aim(&x, None).unwrap();
    lines.first_order(&mut hint);
    lines.aim(&x, Some(&hint)).unwrap();
    let (margin, _) = lines.margin(&pool, n_lines, Some(&mut gradient)).unwrap();
    assert!(margin.abs() < 4.0, "a margin worth following: {margin}");
    let mut at = |j: usize, step: f64| {
        let mut moved = x;
        moved[j] += step;
        lines.aim(&moved, Some(&hint)).unwrap();
        lines.margin(&pool, n_lines, None).unwrap().0
    };
    let largest = gradient.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
    let miss = |j: usize| ((at(j, h) - at(j, -h)) / (2.0 * h) - gradient[j]).abs() / largest;
    (0..D).map(miss).fold(0.0, f64::max)
}

#[test]
fn the_margins_gradient_is_that_of_finite_differences() {
    let shapes: [&[usize]; 3] = [&[D, 12, 1], &[D, 8, 8, 1], &[D, 8, 6, 6, 1]];
    for (case, shape) in shapes.iter().enumerate() {
        for activation in [Activation::Relu, Activation::Tanh, Activation::Softplus] {
            for (name, noise) in noises() {
                let model = network(shape, activation, 70 + case as u64);
                // Smooth: h²/6 = 2e-11 times third derivatives over first ones, of the order of
                // 1/σ² = 100, and more where a line is nearly tangent to the boundary; and 1e-13/h
                // from rounding. With kinks of the score or the density, a line whose root meets
                // one within h may be off altogether; one line in 128 is allowed to.
                let smooth = activation != Activation::Relu && noise.as_gaussian().is_some();
                let allowed = if smooth { 1e-6 } else { 1.0 / 128.0 };
                let miss = mismatch(&model, &*noise, 128, 1e-5);
                assert!(miss < allowed, "{shape:?} {activation:?} {name}: {miss:e}");
            }
        }
    }
}

/// `v relu(z/v) - u relu(-z/u)` is `z`: the boundary is the kink of every unit, where they are on
/// or off as rounding will have it.
#[test]
fn a_boundary_made_of_kinks_has_a_gradient() {
    let weights = [2.0, 1.0, -0.7, 0.3];
    let scaled = |by: f64| weights.iter().map(move |w| w / by);
    for (u, v) in [(1.0, 1.0), (0.7, 0.7), (0.7, 1.3)] {
        let first =
            Dense { weight: scaled(v).chain(scaled(-u)).collect(), bias: vec![-0.1 / v, 0.1 / u] };
        let second = Dense { weight: vec![v, -u, -v, u], bias: vec![0.0; 2] };
        let pair = |weight: Vec<f64>| Dense { weight, bias: vec![0.0] };
        for layers in [
            vec![first.clone(), pair(vec![v, -u])],
            vec![first.clone(), second, pair(vec![1.0, -1.0])],
        ] {
            let model = Mlp::new(layers, Activation::Relu, 0.0).unwrap();
            for (name, noise) in noises() {
                let mut lines = Lines::new(&model, &*noise, Some(&[true; D])).unwrap();
                let pool = Pool::even(Seed(2), Purpose::Search, 0, &lines);
                let x = [0.4, 0.1, 0.2, 0.05];
                let mut gradient = vec![0.0; D];
                lines.aim(&x, None).unwrap();
                let (margin, _) = lines.margin(&pool, 128, Some(&mut gradient)).unwrap();
                assert!(margin.abs() < 4.0, "a margin worth following: {margin}");
                // The margin of an affine score moves with the score: Gaussian noise says how much,
                // other noise only in which direction.
                let sd = noise.as_gaussian().map(|gaussian| gaussian.sd_along(&weights, |_| true));
                let unit = sd.unwrap_or(weights[0] / gradient[0]);
                assert!(unit > 0.0 && unit < 2.0, "{name}: {gradient:?}");
                for (g, w) in gradient.iter().zip(weights) {
                    // What lines round off is 4e-7 of a rate of a few hundredths.
                    assert!((g * unit - w).abs() < 1e-4, "{u} {v} {name}: {gradient:?}");
                }
            }
        }
    }
}
