//! Noise in the form that line sampling needs: independent coordinates, and one direction of them
//! that is integrated exactly.

use super::crossing::Marginal;
use super::strata::quick_quantile;
use super::{LANES, Lanes};
use crate::error::{Error, Result};
use crate::math::dot;
use crate::noise::{Gaussian, Independent, Noise};
use crate::seed::Stream;
use std::cell::OnceCell;

/// A distribution of errors $\varepsilon = \mu + Lz$ with independent coordinates $z$ of mean 0 and
/// variance 1.
pub(super) struct Law<'a> {
    noise: &'a dyn Noise,
    kind: Kind<'a>,
}

enum Kind<'a> {
    /// Normal coordinates. The distribution along any direction is normal, so that the best
    /// direction is used.
    Gaussian(&'a Gaussian),
    /// The same for noise that depends on the change: the Gaussian of the last change.
    Moved(Box<Gaussian>),
    /// Only the distributions along single features are known, so that the feature that matters
    /// most is used. Also the ends of the evaluated part of each, computed when first needed.
    Independent(&'a dyn Independent, Vec<OnceCell<(f64, f64)>>),
}

impl<'a> Law<'a> {
    /// Fails for noise that line sampling does not support.
    pub(super) fn new(noise: &'a dyn Noise) -> Result<Self> {
        let still = vec![0.0; noise.dim()];
        let kind = if let Some(gaussian) = noise.as_gaussian() {
            Kind::Gaussian(gaussian)
        } else if let Some(independent) = noise.as_independent() {
            Kind::Independent(independent, vec![OnceCell::new(); noise.dim()])
        } else if let Some(gaussian) = noise.at(&still, &still)? {
            Kind::Moved(Box::new(gaussian))
        } else {
            return Err(Error::Unsupported {
                what: format!("line sampling under {} noise", noise.name()),
                why:
                    "it needs noise that is Gaussian or independent over features; use monte-carlo"
                        .to_owned(),
            });
        };
        Ok(Self { noise, kind })
    }

    /// Whether the noise is the same for every change.
    pub(super) fn is_fixed(&self) -> bool {
        !matches!(self.kind, Kind::Moved(_))
    }

    /// From now on uses the noise of the change from `from` to `to`.
    pub(super) fn enter(&mut self, from: &[f64], to: &[f64]) -> Result<()> {
        if let (Kind::Moved(gaussian), Some(now)) = (&mut self.kind, self.noise.at(from, to)?) {
            **gaussian = now;
        }
        Ok(())
    }

    /// Whether the noise is normal along every direction.
    pub(super) fn is_gaussian(&self) -> bool {
        self.gaussian().is_some()
    }

    fn gaussian(&self) -> Option<&Gaussian> {
        match &self.kind {
            Kind::Gaussian(gaussian) => Some(gaussian),
            Kind::Moved(gaussian) => Some(gaussian),
            Kind::Independent(..) => None,
        }
    }

    /// Standard deviation of feature `j`.
    pub(super) fn sd(&self, j: usize) -> f64 {
        match &self.kind {
            Kind::Gaussian(gaussian) => gaussian.sd(j),
            Kind::Moved(gaussian) => gaussian.sd(j),
            Kind::Independent(independent, _) => independent.sd(j),
        }
    }

    /// Mean error of feature `j`.
    pub(super) fn mean(&self, j: usize) -> f64 {
        match &self.kind {
            Kind::Gaussian(gaussian) => gaussian.mean()[j],
            Kind::Moved(gaussian) => gaussian.mean()[j],
            Kind::Independent(independent, _) => independent.mean(j),
        }
    }

    /// Standard deviation of $g^\top\varepsilon$ over the active features.
    pub(super) fn sd_along(&self, gradient: &[f64], active: &[bool]) -> f64 {
        match self.gaussian() {
            Some(gaussian) => gaussian.sd_along(gradient, |j| active[j]),
            None => {
                let squares = (0..active.len())
                    .filter(|&j| active[j])
                    .map(|j| (gradient[j] * self.sd(j)).powi(2));
                squares.sum::<f64>().sqrt()
            }
        }
    }

    /// Fills a row of coordinates with fresh draws.
    pub(super) fn draw(&self, stream: &mut Stream, row: &mut [f64]) {
        match &self.kind {
            Kind::Independent(independent, _) => {
                row.iter_mut()
                    .enumerate()
                    .for_each(|(j, z)| *z = independent.shape(j).draw(stream));
            }
            _ => row.iter_mut().for_each(|z| *z = stream.normal()),
        }
    }

    /// Transforms uniform coordinates to the distribution of the noise.
    pub(super) fn shape_uniform(&self, row: &mut [f64]) {
        match &self.kind {
            Kind::Independent(independent, _) => {
                row.iter_mut()
                    .enumerate()
                    .for_each(|(j, z)| *z = independent.shape(j).quantile(*z));
            }
            // An error of a billionth is negligible compared with the sampling error.
            _ => row.iter_mut().for_each(|z| *z = quick_quantile(*z)),
        }
    }

    /// Errors without their mean, eight at once; zero for features that the noise does not act on.
    pub(super) fn errors_into(&self, coordinates: &[Lanes], active: &[bool], errors: &mut [Lanes]) {
        match self.gaussian() {
            Some(gaussian) => gaussian.factor_times_lanes::<LANES>(coordinates, errors),
            None => {
                for (j, (error, z)) in errors.iter_mut().zip(coordinates).enumerate() {
                    let sd = self.sd(j);
                    *error = z.map(|z| sd * z);
                }
            }
        }
        for (error, active) in errors.iter_mut().zip(active) {
            if !active {
                *error = [0.0; LANES];
            }
        }
    }

    /// The direction along which the noise changes a score with this `gradient` most: as a unit
    /// vector of coordinates (`unit`) and in features (`direction`). Returns the distribution of
    /// the position along it.
    pub(super) fn axis_into(
        &self,
        gradient: &[f64],
        active: &[bool],
        unit: &mut [f64],
        direction: &mut [f64],
    ) -> Marginal<'a> {
        let masked = |j: usize, v: f64| if active[j] { v } else { 0.0 };
        if let Kind::Independent(independent, ends) = &self.kind {
            let strength = |j: usize| masked(j, gradient[j] * independent.sd(j)).abs();
            let strongest = (0..unit.len())
                .filter(|&j| active[j])
                .max_by(|&a, &b| strength(a).total_cmp(&strength(b)))
                .unwrap_or(0);
            unit.fill(0.0);
            direction.fill(0.0);
            unit[strongest] = 1.0;
            direction[strongest] = masked(strongest, independent.sd(strongest).copysign(1.0));
            // A shape may be asymmetric, so that its direction must not be reversed. The score may
            // therefore fall along this line; otherwise it rises at the centre.
            let shape = independent.shape(strongest);
            let (from, to) = *ends[strongest].get_or_init(|| Marginal::ends(shape));
            return Marginal::Shape(shape, from, to);
        }
        for (j, g) in direction.iter_mut().enumerate() {
            *g = masked(j, gradient[j]);
        }
        if let Some(gaussian) = self.gaussian() {
            gaussian.factor_transpose_times(direction, unit);
        }
        let mut norm = dot(unit, unit).sqrt();
        if norm <= 0.0 || !norm.is_finite() {
            // Without a gradient any direction is valid. The one with most noise is the best guess.
            let noisiest = (0..unit.len())
                .filter(|&j| active[j])
                .max_by(|&a, &b| self.sd(a).total_cmp(&self.sd(b)));
            unit.fill(0.0);
            unit[noisiest.unwrap_or(0)] = 1.0;
            norm = 1.0;
        }
        unit.iter_mut().for_each(|u| *u /= norm);
        if let Some(gaussian) = self.gaussian() {
            gaussian.factor_times(unit, direction);
        }
        direction.iter_mut().enumerate().for_each(|(j, v)| *v = masked(j, *v));
        Marginal::Normal
    }
}
