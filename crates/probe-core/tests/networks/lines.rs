//! Line sampling against plain sampling.

use crate::shared::{ACTIVATIONS, network};
use probe_core::noise::NoiseSpec;
use probe_core::{
    Activation, Covariance, Estimate, Gaussian, InvalidationRate, LineSampling, Mlp, MonteCarlo,
    Noise, Purpose, Query, Seed, Stream,
};
use rayon::prelude::*;

fn estimate(
    rate: &dyn InvalidationRate,
    model: &Mlp,
    noise: &dyn Noise,
    (point, active): (&[f64], &[bool]),
    seed: u64,
) -> Estimate {
    let query = Query { model, noise, active, point };
    rate.estimate(&query, 0.99, &mut Seed(seed).stream(Purpose::Rate, 1)).unwrap()
}

/// Isotropic, diagonal with a feature that is never missed and a mean, or full.
fn gaussian(kind: usize, d: usize, stream: &mut Stream) -> Gaussian {
    match kind {
        0 => Gaussian::isotropic(d, 0.3).unwrap(),
        1 => Gaussian::new(
            vec![0.05; d],
            Covariance::Diagonal((0..d).map(|j| 0.1 * j as f64).collect()),
        )
        .unwrap(),
        _ => {
            let a: Vec<f64> = (0..d * d).map(|_| 0.2 * stream.normal()).collect();
            let full = (0..d * d)
                .map(|k| (0..d).map(|m| a[k / d * d + m] * a[k % d * d + m]).sum())
                .collect();
            Gaussian::new(vec![0.0; d], Covariance::Full(full)).unwrap()
        }
    }
}

/// Every activation at every depth; the kinds of covariance take turns, and every other case leaves
/// a feature without noise.
fn check_gaussian(samples: usize, lines: usize) {
    let shapes: [&[usize]; 4] =
        [&[4, 16, 1], &[5, 12, 8, 1], &[4, 10, 8, 8, 2], &[3, 8, 8, 8, 8, 1]];
    let cases: Vec<(Activation, &[usize])> =
        ACTIVATIONS.iter().flat_map(|&a| shapes.iter().map(move |&s| (a, s))).collect();
    cases.par_iter().enumerate().for_each(|(i, &(activation, shape))| {
        let mut stream = Seed(20).stream(Purpose::Data, i as u64);
        let model = network(shape, activation, &mut stream, 0.1);
        let d = shape[0];
        let noise = gaussian(i % 3, d, &mut stream);
        let point: Vec<f64> = (0..d).map(|_| 0.2 * stream.normal()).collect();
        let active: Vec<bool> = (0..d).map(|j| j != 2 || i % 2 == 0).collect();
        compare(
            &model,
            &noise,
            (&point, &active),
            (samples, lines),
            &format!("{activation:?} {shape:?}"),
        );
    });
}

fn compare(
    model: &Mlp,
    noise: &dyn Noise,
    at: (&[f64], &[bool]),
    (samples, lines): (usize, usize),
    what: &str,
) {
    let lines = estimate(&LineSampling { lines }, model, noise, at, 1);
    let plain = estimate(&MonteCarlo { samples }, model, noise, at, 2);
    let error = (lines.std_error.powi(2) + plain.std_error.powi(2)).sqrt();
    // Lines count up to 4e-7 too much by design.
    assert!((lines.rate - plain.rate).abs() <= 4.0 * error + 5e-7, "{what}: {lines:?} {plain:?}");
    assert!(
        lines.lower <= plain.upper && plain.lower <= lines.upper,
        "{what}: {lines:?} {plain:?}"
    );
}

/// Noise that is not Gaussian follows one feature at a time.
fn check_independent(samples: usize, lines: usize) {
    let cases: Vec<(&str, Activation, &[usize])> = ["uniform", "laplace", "student-t"]
        .iter()
        .flat_map(|&family| {
            [
                (family, Activation::Relu, &[4, 12, 1][..]),
                (family, Activation::LeakyRelu, &[4, 8, 8, 1][..]),
                (family, Activation::Tanh, &[4, 8, 8, 1][..]),
            ]
        })
        .collect();
    cases.par_iter().enumerate().for_each(|(i, &(family, activation, shape))| {
        let mut stream = Seed(21).stream(Purpose::Data, i as u64);
        let model = network(shape, activation, &mut stream, 0.15);
        let noise = NoiseSpec::parse(family).unwrap().build(vec![0.2, 0.3, 0.0, 0.1]).unwrap();
        let point: Vec<f64> = (0..4).map(|_| 0.2 * stream.normal()).collect();
        let active = [true, true, true, i % 2 == 0];
        compare(
            &model,
            &*noise,
            (&point, &active),
            (samples, lines),
            &format!("{family} {activation:?}"),
        );
    });
}

#[test]
fn lines_agree_with_a_million_plain_samples_for_all_activations_and_depths() {
    check_gaussian(1_000_000, 4_000);
}

#[test]
fn lines_agree_with_a_million_plain_samples_under_other_noise() {
    check_independent(1_000_000, 4_000);
}

#[test]
#[ignore = "minutes; part of `cargo xtask test --full`"]
fn lines_agree_with_ten_million_plain_samples() {
    check_gaussian(10_000_000, 60_000);
    check_independent(10_000_000, 60_000);
}

#[test]
fn a_line_is_worth_many_plain_samples() {
    let mut stream = Seed(3).stream(Purpose::Data, 0);
    let model = network(&[20, 50, 2], Activation::Relu, &mut stream, 0.3);
    let noise = Gaussian::isotropic(20, 0.1).unwrap();
    let lines =
        estimate(&LineSampling { lines: 1_000 }, &model, &noise, (&[0.0; 20], &[true; 20]), 1);
    let plain_variance = lines.rate * (1.0 - lines.rate) / 1_000.0;
    assert!(plain_variance / lines.std_error.powi(2) > 20.0, "{lines:?}");
}
