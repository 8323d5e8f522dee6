//! An affine surrogate of the score around a point, for methods made for linear models.
//!
//! Draws points around the given one, scores them with the model, and fits a ridge regression in
//! which near draws have more weight: LIME (Ribeiro, Singh and Guestrin 2016, arXiv:1602.04938),
//! with its kernel of width $0.75\sqrt d$ and penalty 1. Numbers are drawn with `spread` times each
//! feature's deviation in the reference rows, or, without reference rows, that of a uniform
//! distribution over its range. For a category, another option is drawn half of the time. The
//! response is the score, not the probability, so that the surrogate is a linear model of the same
//! kind.

use super::{MethodOptions, Task};
use crate::error::Result;
use crate::math::cholesky::semidefinite;
use crate::math::dot;
use crate::rows::Rows;
use crate::schema::Group;
use crate::seed::{Key, Purpose};

/// Names of the settings.
pub(super) const NAMES: [&str; 2] = ["samples", "spread"];
/// Distinguishes these draws from others for the same person.
const STREAM: u64 = 0x4c49_4d45;
const KERNEL_WIDTH: f64 = 0.75;
const PENALTY: f64 = 1.0;

/// Settings, and data that all people share.
#[derive(Debug, Clone)]
pub(super) struct Lime {
    samples: usize,
    /// Mean and standard deviation of each feature among people.
    mean: Vec<f64>,
    sd: Vec<f64>,
}

/// $w^\top x + b$.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Affine {
    pub(super) weights: Vec<f64>,
    pub(super) bias: f64,
}

impl Affine {
    pub(super) fn score(&self, x: &[f64]) -> f64 {
        dot(&self.weights, x) + self.bias
    }
}

/// Number of draws; fails outside its domain.
pub(super) fn samples(options: &MethodOptions) -> Result<usize> {
    options.count("samples", 1_000)
}

/// Spreads of the draws; fails outside their domain.
pub(super) fn spreads(options: &MethodOptions, default: &[f64]) -> Result<Vec<f64>> {
    options.numbers("spread", default, "positive and finite", |v| v > 0.0 && v.is_finite())
}

/// Which features are drawn around a point, and how widely.
pub(super) struct Draw<'a> {
    pub(super) centre: &'a [f64],
    pub(super) spread: f64,
    /// Features that are drawn.
    pub(super) features: &'a [usize],
    /// Groups of which an option is drawn, with the options.
    pub(super) groups: &'a [(&'a Group, Vec<usize>)],
}

impl Lime {
    pub(super) fn new(task: &Task) -> Result<Self> {
        let (mean, sd) = moments(task);
        Ok(Self { samples: samples(&task.options)?, mean, sd })
    }

    /// The surrogate around a person, of all features.
    pub(super) fn around(&self, task: &Task, factual: &[f64], spread: f64) -> Result<Affine> {
        let features: Vec<usize> = (0..factual.len()).collect();
        let key = Key::default().word(STREAM).values(factual).finish();
        self.fit(
            task,
            &Draw { centre: factual, spread, features: &features, groups: &[] },
            (key, |s| s),
        )
    }

    /// The surrogate as implemented in the recourse library CARLA: fitted to the probability, in
    /// units of each feature's deviation from its mean, and then used as if it were a score in the
    /// features' own units. It is for comparisons with published numbers.
    pub(super) fn of_probability(&self, task: &Task, factual: &[f64]) -> Result<Affine> {
        let features: Vec<usize> = (0..factual.len()).collect();
        let draw = Draw { centre: factual, spread: 1.0, features: &features, groups: &[] };
        let key = Key::default().word(STREAM).values(factual).word(1).finish();
        let surrogate = self.fit(task, &draw, (key, |score| 1.0 / (1.0 + libm::exp(-score))))?;
        let weights: Vec<f64> =
            surrogate.weights.iter().zip(&self.sd).map(|(w, sd)| w * sd).collect();
        Ok(Affine { weights, bias: surrogate.score(&self.mean) })
    }

    /// The surrogate for the drawn features; all others have no slope.
    pub(super) fn near(&self, task: &Task, draw: &Draw<'_>) -> Result<Affine> {
        let key = Key::default().word(STREAM).values(draw.centre).values(&[draw.spread]).finish();
        self.fit(task, draw, (key, |s| s))
    }

    /// Fits the surrogate to the `response` of each score.
    fn fit(
        &self,
        task: &Task,
        draw: &Draw<'_>,
        (key, response): (u64, fn(f64) -> f64),
    ) -> Result<Affine> {
        let (centre, n) = (draw.centre, draw.centre.len());
        let mut stream = task.seed.stream(Purpose::Search, key);
        let mut units = vec![0.0; self.samples * n];
        let mut points = vec![0.0; self.samples * n];
        // Columns of a group are in their own units.
        let mut scale = vec![0.0; n];
        draw.features.iter().for_each(|&j| scale[j] = draw.spread * self.sd[j]);
        draw.groups.iter().flat_map(|(group, _)| group.columns()).for_each(|&j| scale[j] = 1.0);
        for (unit, point) in units.chunks_exact_mut(n).zip(points.chunks_exact_mut(n)) {
            point.copy_from_slice(centre);
            for &j in draw.features {
                unit[j] = stream.normal();
                point[j] = centre[j] + scale[j] * unit[j];
            }
            for (group, options) in draw.groups {
                // Half of the draws leave the category as it is.
                if stream.uniform() < 0.5 {
                    group.set(options[stream.below(options.len())], point);
                    group.columns().iter().for_each(|&j| unit[j] = point[j] - centre[j]);
                }
            }
        }
        let mut scores = vec![0.0; self.samples];
        task.model.score_batch(Rows::new(&points, n)?, &mut scores)?;
        scores.iter_mut().for_each(|score| *score = response(*score));
        let drawn = draw.features.len() + draw.groups.len();
        let width = KERNEL_WIDTH * KERNEL_WIDTH * drawn.max(1) as f64;
        let weight: Vec<f64> = units
            .chunks_exact(n)
            .map(|unit| (libm::exp(-dot(unit, unit) / width)).sqrt())
            .collect();
        let (slopes, level) = ridge(&units, &scores, &weight, n);
        // Units of the draws, back to those of the features; a feature that is not drawn has no
        // slope.
        let slope = |j: usize| if scale[j] > 0.0 { slopes[j] / scale[j] } else { 0.0 };
        let weights: Vec<f64> = (0..n).map(slope).collect();
        let bias = level - dot(&weights, centre);
        Ok(Affine { weights, bias })
    }
}

/// Weighted ridge regression of `y` on the rows of `x`: slopes, and the level at $x = 0$, which is
/// not penalised.
fn ridge(x: &[f64], y: &[f64], weight: &[f64], n: usize) -> (Vec<f64>, f64) {
    let total: f64 = weight.iter().sum();
    let mut mean = vec![0.0; n];
    for (row, w) in x.chunks_exact(n).zip(weight) {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += w * v / total);
    }
    let level: f64 = y.iter().zip(weight).map(|(y, w)| w * y / total).sum();
    let (mut gram, mut side, mut centred) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
    for ((row, y), w) in x.chunks_exact(n).zip(y).zip(weight) {
        centred.iter_mut().zip(row.iter().zip(&mean)).for_each(|(c, (v, m))| *c = v - m);
        for i in 0..n {
            let scaled = w * centred[i];
            side[i] += scaled * (y - level);
            gram[i * n..i * n + i + 1].iter_mut().zip(&centred).for_each(|(g, c)| *g += scaled * c);
        }
    }
    for i in 0..n {
        gram[i * n + i] += PENALTY;
        for j in 0..i {
            gram[j * n + i] = gram[i * n + j];
        }
    }
    // A penalised Gram matrix always has a Cholesky factor, unless scores are NaN. The slopes are
    // then zero.
    let slopes =
        semidefinite(&gram, n).map_or_else(|| vec![0.0; n], |factor| solve(&factor, side, n));
    let offset = dot(&slopes, &mean);
    (slopes, level - offset)
}

/// Solves $LL^\top x = b$.
fn solve(factor: &[f64], mut b: Vec<f64>, n: usize) -> Vec<f64> {
    for i in 0..n {
        let known: f64 = (0..i).map(|k| factor[i * n + k] * b[k]).sum();
        b[i] = (b[i] - known) / factor[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| factor[k * n + i] * b[k]).sum();
        b[i] = (b[i] - known) / factor[i * n + i];
    }
    b
}

/// Mean and standard deviation of each feature among people.
fn moments(task: &Task) -> (Vec<f64>, Vec<f64>) {
    let reference = &task.reference;
    let Some(rows) = reference.rows() else {
        let even = |[low, high]: &[f64; 2]| (0.5 * (low + high), (high - low) / 12.0_f64.sqrt());
        return reference.ranges().iter().map(even).unzip();
    };
    let (n, count) = (rows.n_cols(), rows.n_rows() as f64);
    let mut mean = vec![0.0; n];
    rows.iter().for_each(|row| mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / count));
    let mut square = vec![0.0; n];
    for row in rows.iter() {
        square
            .iter_mut()
            .zip(row.iter().zip(&mean))
            .for_each(|(s, (v, m))| *s += (v - m) * (v - m) / count);
    }
    (mean, square.into_iter().map(f64::sqrt).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weighted_ridge_by_hand() {
        // One column, centred at 0 by its weights: slope = Σwxy / (Σwx² + 1) = (2·1·3 + 1·(-2)(-5))
        // / (2 + 4 + 1).
        let (slopes, level) = ridge(&[1.0, -2.0], &[3.0, -5.0], &[2.0, 1.0], 1);
        let mean = (2.0 * 3.0 - 5.0) / 3.0;
        assert!(
            (slopes[0] - 16.0 / 7.0).abs() < 1e-14 && (level - mean).abs() < 1e-14,
            "{slopes:?} {level}"
        );
    }

    #[test]
    fn factors_solve_what_they_factor() {
        let a = [4.0, 2.0, -2.0, 2.0, 5.0, 1.0, -2.0, 1.0, 6.0];
        let x = solve(&semidefinite(&a, 3).unwrap(), vec![4.0, 8.0, 5.0], 3);
        for i in 0..3 {
            let product = dot(&a[3 * i..3 * i + 3], &x);
            assert!((product - [4.0, 8.0, 5.0][i]).abs() < 1e-13);
        }
    }
}
