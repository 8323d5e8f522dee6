//! Rates of finished answers, from fresh draws.

use super::lines::{Bundle, Draws, Shallow};
use probe_core::{Key, Purpose, Seed};
use rayon::prelude::*;

/// Independent scramblings of the Sobol sequence, and lines of each.
const SCRAMBLES: usize = 16;
const LINES: usize = 1_024;
/// Lines behind the direction.
const DIRECTION: usize = 256;
/// Plain draws; the same for all answers.
const PLAIN: usize = 1_000_000;
const BLOCK: usize = 4_096;
/// Standard errors above the target that make a violation.
const SIGMAS: f64 = 4.0;
const SEED: Seed = Seed(0x6175_6469_7400);

/// A rate and its standard error.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) rate: f64,
    pub(crate) error: f64,
}

impl Measured {
    /// Whether the rate is above `r` beyond doubt.
    pub(crate) fn above(&self, r: f64) -> bool {
        self.rate > r + SIGMAS * self.error
    }
}

/// Each point's rate on 16,384 lines of its own: 16 scramblings whose means differ by their error.
pub(crate) fn by_lines(model: &Shallow, sigma: f64, points: &[&[f64]]) -> Vec<Measured> {
    let measure = |point: &&[f64]| {
        let key = Key::default().values(point).finish();
        let mut seeds = SEED.stream(Purpose::Audit, key);
        let mut seed = || (seeds.bits() >> 32) as u32;
        let pre = model.pre(point);
        let along = model.direction(&pre, sigma, &Draws::sobol(model, DIRECTION, seed()));
        let means: Vec<f64> = (0..SCRAMBLES)
            .map(|_| {
                Bundle::new(model, sigma, &along, &Draws::sobol(model, LINES, seed())).rate(&pre)
            })
            .collect();
        let n = SCRAMBLES as f64;
        let rate = means.iter().sum::<f64>() / n;
        let variance = means.iter().map(|m| (m - rate).powi(2)).sum::<f64>() / (n - 1.0);
        // Never below the rounding of a rate that all scramblings agree on.
        Measured { rate, error: (variance / n).sqrt().max(1e-12) }
    };
    points.par_iter().map(measure).collect()
}

/// Each point's rate on a million plain draws, the same ones for all points.
pub(crate) fn by_plain_draws(model: &Shallow, sigma: f64, points: &[&[f64]]) -> Vec<Measured> {
    let pres: Vec<Vec<f64>> = points.iter().map(|point| model.pre(point)).collect();
    let count = |block: usize| {
        let n = BLOCK.min(PLAIN - block * BLOCK);
        let mut stream = SEED.stream(Purpose::Data, block as u64);
        let draws = Draws::new(model, (0..n * model.d()).map(|_| stream.normal()).collect());
        pres.iter().map(|pre| model.count_refused(pre, sigma, &draws)).collect::<Vec<_>>()
    };
    let add = |mut a: Vec<usize>, b: Vec<usize>| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
        a
    };
    let refused =
        (0..PLAIN.div_ceil(BLOCK)).into_par_iter().map(count).reduce(|| vec![0; points.len()], add);
    let measured = |refused: usize| {
        let rate = refused as f64 / PLAIN as f64;
        Measured { rate, error: (rate * (1.0 - rate) / PLAIN as f64).sqrt() }
    };
    refused.into_iter().map(measured).collect()
}

#[cfg(test)]
mod tests {
    use super::super::lines::tests::{affine, random};
    use super::*;
    use probe_core::math::normal::upper_tail;

    #[test]
    fn both_audits_know_the_rate_of_an_affine_score() {
        let model = affine(&[1.0, -2.0, 2.0], 0.3);
        // Scores 0.3 and 0.9 at σ‖w‖ = 0.1 · 3.
        let points: [&[f64]; 2] = [&[0.0, 0.0, 0.0], &[0.2, -0.1, 0.1]];
        let exact = [upper_tail(1.0), upper_tail(3.0)];
        for (measured, exact) in by_lines(&model, 0.1, &points).iter().zip(exact) {
            assert!((measured.rate - exact).abs() < 1e-11, "{measured:?} {exact}");
            assert!(measured.above(exact - 1e-10) && !measured.above(exact + 1e-10));
        }
        for (measured, exact) in by_plain_draws(&model, 0.1, &points).iter().zip(exact) {
            assert!((measured.rate - exact).abs() < 4.0 * measured.error, "{measured:?} {exact}");
            assert!(!measured.above(exact) && measured.above(exact - 10.0 * measured.error));
        }
    }

    #[test]
    fn the_two_audits_agree_on_networks_and_lines_are_sharper() {
        for seed in 0..3 {
            let model = random(6, 20, seed);
            // A point that is refused sometimes but not always.
            let mut stream = Seed(seed).stream(Purpose::Data, 9);
            let points: Vec<[f64; 6]> =
                (0..60).map(|_| std::array::from_fn(|_| stream.normal())).collect();
            let lines: Vec<Measured> =
                by_lines(&model, 0.3, &points.iter().map(|p| &p[..]).collect::<Vec<_>>());
            let undecided = |i: &usize| (0.05..0.6).contains(&lines[*i].rate);
            let i = (0..points.len()).find(undecided).expect("one that is undecided");
            let plain = by_plain_draws(&model, 0.3, &[&points[i]])[0];
            let error = lines[i].error.hypot(plain.error);
            assert!((lines[i].rate - plain.rate).abs() < 4.5 * error, "{:?} {plain:?}", lines[i]);
            assert!(lines[i].error < plain.error, "{:?} {plain:?}", lines[i]);
        }
    }
}
