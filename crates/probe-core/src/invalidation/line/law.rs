//! How noise is seen by lines: independent coordinates, and one direction in them that is integrated out.

use super::crossing::Marginal;
use super::{LANES, Lanes};
use crate::error::{Error, Result};
use crate::math::dot;
use crate::math::normal::quantile;
use crate::noise::{Gaussian, Noise};
use crate::seed::Stream;

/// A distribution of errors $\varepsilon = \mu + Lz$ with independent coordinates $z$ of mean 0 and variance 1.
#[derive(Clone, Copy)]
pub(super) enum Law<'a> {
    /// Normal coordinates: any direction is normal again.
    Gaussian(&'a Gaussian),
}

impl<'a> Law<'a> {
    /// Fails for noise that has no lines.
    pub(super) fn new(noise: &'a dyn Noise) -> Result<Self> {
        noise.as_gaussian().map(Self::Gaussian).ok_or_else(|| Error::Unsupported {
            what: format!("line sampling under {} noise", noise.name()),
            why: "it needs Gaussian noise; use monte-carlo".to_owned(),
        })
    }

    /// Mean error of feature `j`.
    pub(super) fn mean(self, j: usize) -> f64 {
        match self {
            Self::Gaussian(gaussian) => gaussian.mean()[j],
        }
    }

    /// Standard deviation of $g^\top\varepsilon$ over the active features.
    pub(super) fn sd_along(self, gradient: &[f64], active: &[bool]) -> f64 {
        match self {
            Self::Gaussian(gaussian) => gaussian.sd_along(gradient, |j| active[j]),
        }
    }

    /// Fills a row of coordinates with fresh draws.
    pub(super) fn draw(self, stream: &mut Stream, row: &mut [f64]) {
        match self {
            Self::Gaussian(_) => row.iter_mut().for_each(|z| *z = stream.normal()),
        }
    }

    /// Turns uniform coordinates into the law's own.
    pub(super) fn from_uniform(self, row: &mut [f64]) {
        match self {
            Self::Gaussian(_) => row.iter_mut().for_each(|z| *z = quantile(*z)),
        }
    }

    /// Errors without their mean, eight at once; zero where the noise does not act.
    pub(super) fn errors_into(self, coordinates: &[Lanes], active: &[bool], errors: &mut [Lanes]) {
        match self {
            Self::Gaussian(gaussian) => gaussian.factor_times_lanes::<LANES>(coordinates, errors),
        }
        for (error, active) in errors.iter_mut().zip(active) {
            if !active {
                *error = [0.0; LANES];
            }
        }
    }

    /// The direction of coordinates along which a score with this `gradient` changes most, as a unit vector, and the same in
    /// features. Returns the distribution of the position along it.
    pub(super) fn axis_into(
        self,
        gradient: &[f64],
        active: &[bool],
        unit: &mut [f64],
        direction: &mut [f64],
    ) -> Marginal {
        let masked = |j: usize, v: f64| if active[j] { v } else { 0.0 };
        match self {
            Self::Gaussian(gaussian) => {
                for (j, g) in direction.iter_mut().enumerate() {
                    *g = masked(j, gradient[j]);
                }
                gaussian.factor_transpose_times(direction, unit);
                let mut norm = dot(unit, unit).sqrt();
                if norm <= 0.0 || !norm.is_finite() {
                    // No gradient to follow: any direction is valid, the noisiest is the best guess.
                    let noisiest = (0..unit.len())
                        .filter(|&j| active[j])
                        .max_by(|&a, &b| gaussian.sd(a).total_cmp(&gaussian.sd(b)));
                    unit.fill(0.0);
                    unit[noisiest.unwrap_or(0)] = 1.0;
                    norm = 1.0;
                }
                unit.iter_mut().for_each(|u| *u /= norm);
                gaussian.factor_times(unit, direction);
                direction.iter_mut().enumerate().for_each(|(j, v)| *v = masked(j, *v));
                Marginal::Normal
            }
        }
    }
}
