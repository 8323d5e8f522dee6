//! Scores of which nothing else is known: the model is asked for every error. Also what is walked
//! on where noise depends on the move and there are no lines: errors are standard ones then, and
//! each place makes its own of them.

use super::super::problem::Precision;
use super::super::tuning::Tuning;
use super::scattered::{self, Around, FIRST, PRECISION, Scattered, WORTH};
use super::{Margin, Place, Seen, Structure};
use crate::error::Result;
use crate::invalidation::Errors;
use crate::model::Model;
use crate::noise::{Gaussian, Noise};
use crate::rows::Rows;

/// Errors in the set: the model is asked for every one of them.
pub(super) const MOST: usize = 4_096;

pub(super) struct OnScores<'a> {
    asked: Asked<'a>,
    on: Scattered<'a>,
    noise: &'a dyn Noise,
}

/// Whether noise differs from move to move.
pub(super) fn depends_on_the_move(noise: &dyn Noise) -> Result<bool> {
    let still = vec![0.0; noise.dim()];
    Ok(noise.at(&still, &still)?.is_some())
}

impl<'a> OnScores<'a> {
    /// `errors` are those of the noise, or standard ones where it differs from move to move.
    pub(super) fn new(
        model: &'a dyn Model,
        noise: &'a dyn Noise,
        errors: &'a Errors,
    ) -> Result<Self> {
        let still = vec![0.0; noise.dim()];
        let moved = noise.at(&still, &still)?;
        let standard = Gaussian::isotropic(noise.dim(), 1.0)?;
        let on = Scattered::new(if moved.is_some() { &standard } else { noise }, errors);
        Ok(Self { asked: Asked { model, moved, rows: Vec::new() }, on, noise })
    }

    fn enter(&mut self, place: Place<'_>) -> Result<()> {
        self.on.active.copy_from_slice(place.active);
        if self.asked.moved.is_some() {
            self.asked.moved = self.noise.at(place.from, place.to)?;
        }
        Ok(())
    }

    /// From slopes in standard errors to those in features. What a longer move adds to the
    /// deviation is left to the steps.
    fn rescale(&self, gradient: &mut [f64]) {
        if let Some(moved) = &self.asked.moved {
            for (j, g) in gradient.iter_mut().enumerate() {
                *g = if moved.sd(j) > 0.0 { *g / moved.sd(j) } else { 0.0 };
            }
        }
    }
}

/// A model, and the rows that it is asked about.
struct Asked<'a> {
    model: &'a dyn Model,
    /// The noise of the move at hand, where it depends on that.
    moved: Option<Gaussian>,
    rows: Vec<f64>,
}

impl Around for Asked<'_> {
    fn scores_into(
        &mut self,
        errors: &Errors,
        (x, active, stretch): (&[f64], &[bool], f64),
        refused: &mut [bool],
        scores: &mut [f64],
    ) -> Result<()> {
        self.rows.clear();
        for i in 0..scores.len() {
            let noisy = x.iter().zip(active).zip(errors.row(i)).enumerate();
            let moved = self.moved.as_ref();
            self.rows.extend(noisy.map(|(j, ((x, active), e))| {
                let e =
                    moved.map_or(stretch * e, |moved| moved.mean()[j] + stretch * moved.sd(j) * e);
                if *active { x + e } else { *x }
            }));
        }
        self.model.score_batch(Rows::new(&self.rows, x.len())?, scores)?;
        // A NaN is no yes.
        let is_yes = |score: f64| score > 0.0;
        refused.iter_mut().zip(scores.iter()).for_each(|(no, score)| *no = !is_yes(*score));
        Ok(())
    }

    fn least_variance(&self) -> f64 {
        0.0
    }
}

impl Structure for OnScores<'_> {
    fn sd(&self, j: usize) -> f64 {
        self.asked.moved.as_ref().map_or_else(|| self.on.sd(j), |moved| moved.sd(j))
    }

    fn largest_sd(&self) -> f64 {
        let active = (0..self.on.active.len()).filter(|&j| self.on.active[j]);
        active.fold(0.0, |most, j| most.max(self.sd(j)))
    }
}

impl Margin for OnScores<'_> {
    fn tuning(&self) -> Tuning {
        Tuning {
            closer: Some(MOST / WORTH),
            first_order: (FIRST / WORTH) as u64,
            noise: PRECISION,
            fair_samples: 20_000.0,
            ..Tuning::new(PRECISION)
        }
    }

    fn begin(&mut self, _person: &[f64]) {}

    fn slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        look: Precision,
        _hint: Option<&[f64]>,
        gradient: &mut [f64],
    ) -> Result<Seen> {
        self.enter(place)?;
        let margin = match look {
            Precision::FirstOrder => {
                (self.on.first_order(&mut self.asked, place.to, gradient)?, 0.0)
            }
            Precision::Lines(n) => {
                self.on.margin(&mut self.asked, place.to, WORTH * n, gradient)?
            }
        };
        self.rescale(gradient);
        let favourable = self.asked.model.score(place.to)? > 0.0;
        Ok(scattered::seen(margin, z, favourable, look != Precision::FirstOrder))
    }

    fn anchor(&mut self, place: Place<'_>, _hint: Option<&[f64]>, lines: usize) -> Result<f64> {
        self.enter(place)?;
        let mut unused = vec![0.0; place.to.len()];
        Ok(self.on.margin(&mut self.asked, place.to, WORTH * lines, &mut unused)?.0)
    }
}
