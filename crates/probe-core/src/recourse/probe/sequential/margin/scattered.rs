//! Margins on a fixed set of errors, for scores without gradients.
//!
//! On a fixed set the rate is a step function of the point; its gradient is that of the smooth rate
//! behind it, estimated by how refusals go with errors: $\nabla\Delta =
//! \Sigma^{-1}\,\mathrm{Cov}(1[\text{refused}], \varepsilon)$ for Gaussian errors, and the best
//! linear fit for others. Where nearly all errors are refused, or hardly any, the score's mean over
//! its deviation takes the place of the margin.

use super::Seen;
use super::correlated::Correlated;
use crate::error::Result;
use crate::invalidation::Errors;
use crate::math::normal::{pdf, upper_quantile};
use crate::noise::Noise;

/// Errors that are worth a line, and that look around a point at first.
pub(super) const WORTH: usize = 32;
pub(super) const FIRST: usize = 256;
/// How closely errors can meet a target, in units of the margin.
pub(super) const PRECISION: f64 = 2e-3;
/// Fewer refused, or accepted, than this say little about the margin.
const FEW: usize = 12;
/// How much wider the noise is taken where it does not move the score.
const STRETCHES: [f64; 4] = [1.0, 3.0, 9.0, 27.0];

/// Scores around a point.
pub(super) trait Around {
    /// Scores the first of `errors` on the features `active`, `stretch` times as large, around `x`,
    /// as many as there is room for.
    fn scores_into(
        &mut self,
        errors: &Errors,
        around: (&[f64], &[bool], f64),
        refused: &mut [bool],
        scores: &mut [f64],
    ) -> Result<()>;

    /// Smaller variances of scores are rounding.
    fn least_variance(&self) -> f64;
}

/// A set of errors, and what was seen on it last.
pub(super) struct Scattered<'a> {
    errors: &'a Errors,
    sd: Vec<f64>,
    correlated: Option<Correlated>,
    pub(super) active: Vec<bool>,
    refused: Vec<bool>,
    scores: Vec<f64>,
    slopes: Vec<f64>,
    /// Sums of the first errors, feature by feature, one block of [`BLOCK`] more each time.
    sums: Vec<f64>,
}

/// Numbers of errors looked at are multiples of this.
pub(super) const BLOCK: usize = 128;

impl<'a> Scattered<'a> {
    pub(super) fn new(noise: &dyn Noise, errors: &'a Errors) -> Self {
        let d = noise.dim();
        let (mut sums, mut sum) = (vec![0.0; d], vec![0.0; d]);
        for i in 0..errors.len() {
            sum.iter_mut().zip(errors.row(i)).for_each(|(sum, e)| *sum += e);
            if (i + 1).is_multiple_of(BLOCK) {
                sums.extend_from_slice(&sum);
            }
        }
        Self {
            errors,
            sums,
            sd: (0..d).map(|j| errors.sd(j)).collect(),
            correlated: noise
                .as_gaussian()
                .filter(|noise| !noise.is_diagonal())
                .map(Correlated::new),
            active: vec![true; d],
            refused: Vec::new(),
            scores: Vec::new(),
            slopes: vec![0.0; d],
        }
    }

    pub(super) fn sd(&self, j: usize) -> f64 {
        self.sd[j]
    }

    pub(super) fn errors(&self) -> &'a Errors {
        self.errors
    }

    pub(super) fn largest_sd(&self) -> f64 {
        let sds = self.sd.iter().zip(&self.active).filter(|(_, active)| **active);
        sds.fold(0.0, |most, (sd, _)| most.max(*sd))
    }

    /// Scores the first `n` errors around `x`; says how many are refused.
    fn score(
        &mut self,
        around: &mut dyn Around,
        x: &[f64],
        n: usize,
        stretch: f64,
    ) -> Result<usize> {
        self.refused.resize(n, false);
        self.scores.resize(n, 0.0);
        let place = (x, &self.active[..], stretch);
        around.scores_into(self.errors, place, &mut self.refused, &mut self.scores)?;
        Ok(self.refused.iter().filter(|refused| **refused).count())
    }

    /// Slopes of the best linear fit of refusals in the errors.
    fn fit_refusals(&mut self, rate: f64) {
        let (n, d) = (self.refused.len(), self.slopes.len());
        if !n.is_multiple_of(BLOCK) {
            return self.fit(1.0, |at, i| f64::from(u8::from(at.refused[i])));
        }
        self.slopes.fill(0.0);
        for i in (0..n).filter(|&i| self.refused[i]) {
            self.slopes.iter_mut().zip(self.errors.row(i)).for_each(|(slope, e)| *slope += e);
        }
        let all = &self.sums[n / BLOCK * d..][..d];
        self.slopes.iter_mut().zip(all).for_each(|(slope, all)| *slope -= rate * all);
        self.scale_slopes(1.0);
    }

    /// Slopes of the best linear fit of `value` in the errors.
    fn fit(&mut self, stretch: f64, value: impl Fn(&Self, usize) -> f64) {
        let n = self.refused.len();
        let mut slopes = std::mem::take(&mut self.slopes);
        slopes.fill(0.0);
        let mean = (0..n).map(|i| value(self, i)).sum::<f64>() / n as f64;
        for i in 0..n {
            let weight = value(self, i) - mean;
            if weight != 0.0 {
                slopes
                    .iter_mut()
                    .zip(self.errors.row(i))
                    .for_each(|(slope, e)| *slope += weight * e);
            }
        }
        self.slopes = slopes;
        self.scale_slopes(stretch);
    }

    /// Turns sums of values times errors into slopes.
    fn scale_slopes(&mut self, stretch: f64) {
        let n = self.refused.len();
        let mut slopes = std::mem::take(&mut self.slopes);
        match &mut self.correlated {
            Some(correlated) => correlated.solve(&self.active, &mut slopes),
            None => slopes.iter_mut().zip(&self.sd).for_each(|(slope, sd)| *slope /= sd * sd),
        }
        for (j, slope) in slopes.iter_mut().enumerate() {
            let acts = self.active[j] && self.sd[j] > 0.0;
            *slope = if acts { *slope / (n as f64 * stretch) } else { 0.0 };
        }
        self.slopes = slopes;
    }

    /// Mean of the score over its deviation on the first errors, with its gradient.
    pub(super) fn first_order(
        &mut self,
        around: &mut dyn Around,
        x: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64> {
        self.first_order_on(around, x, FIRST, gradient)
    }

    fn first_order_on(
        &mut self,
        around: &mut dyn Around,
        x: &[f64],
        n: usize,
        gradient: &mut [f64],
    ) -> Result<f64> {
        for stretch in STRETCHES {
            self.score(around, x, n, stretch)?;
            let mean = self.scores.iter().sum::<f64>() / n as f64;
            let variance = self.scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n as f64;
            if variance > around.least_variance() {
                let sd = variance.sqrt();
                self.fit(stretch, |at, i| at.scores[i]);
                for (g, slope) in gradient.iter_mut().zip(&self.slopes) {
                    *g = slope / sd;
                }
                return Ok(mean / sd);
            }
        }
        gradient.fill(0.0);
        Ok(if self.scores[0] > 0.0 { 1e9 } else { -1e9 })
    }

    /// The margin on `n` errors with its gradient, and the variance of one sample.
    pub(super) fn margin(
        &mut self,
        around: &mut dyn Around,
        x: &[f64],
        n: usize,
        gradient: &mut [f64],
    ) -> Result<(f64, f64)> {
        let n = n.clamp(128, self.errors.len());
        let refused = self.score(around, x, n, 1.0)?;
        let rate = refused as f64 / n as f64;
        let variance = (rate * (1.0 - rate)).max(0.5 / n as f64);
        let margin = if refused < FEW || refused > n - FEW {
            // No safer, nor less safe, than the count allows.
            let limit = upper_quantile(FEW as f64 / n as f64);
            let margin = self.first_order_on(around, x, n.min(FIRST), gradient)?;
            if refused < FEW { margin.max(limit) } else { margin.min(-limit) }
        } else {
            let margin = upper_quantile(rate);
            self.fit_refusals(rate);
            let scale = -1.0 / pdf(margin);
            for (g, slope) in gradient.iter_mut().zip(&self.slopes) {
                *g = scale * slope;
            }
            margin
        };
        Ok((margin, variance))
    }
}

/// What was seen of a margin at a place whose point is favourable itself, or is not; `firm`: then
/// it has none to spare.
pub(super) fn seen((margin, variance): (f64, f64), z: f64, favourable: bool, firm: bool) -> Seen {
    // More than the last corrections forgive.
    let edge = -10.0 * PRECISION;
    let slack = if favourable || !firm { margin - z } else { (margin - z).min(edge) };
    Seen { slack, excess: margin - z, favourable, variance }
}
