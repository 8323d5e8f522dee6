//! Scores of which nothing else is known: the model is asked for every error.

use super::super::Look;
use super::scattered::{self, Around, PRECISION, Scattered, WORTH};
use super::{Landscape, Place, Seen};
use crate::error::Result;
use crate::invalidation::Errors;
use crate::model::Model;
use crate::noise::Noise;
use crate::rows::Rows;

/// Errors in the set: the model is asked for every one of them.
pub(super) const MOST: usize = 4_096;

pub(super) struct OnScores<'a> {
    asked: Asked<'a>,
    on: Scattered<'a>,
}

impl<'a> OnScores<'a> {
    pub(super) fn new(model: &'a dyn Model, noise: &dyn Noise, errors: &'a Errors) -> Self {
        Self { asked: Asked { model, rows: Vec::new() }, on: Scattered::new(noise, errors) }
    }
}

/// A model, and the rows that it is asked about.
struct Asked<'a> {
    model: &'a dyn Model,
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
            let noisy = x.iter().zip(active).zip(errors.row(i));
            self.rows.extend(noisy.map(|((x, active), e)| if *active { x + stretch * e } else { *x }));
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

impl Landscape for OnScores<'_> {
    fn begin(&mut self, _person: &[f64]) {}

    fn slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        look: Look,
        _hint: Option<&[f64]>,
        gradient: &mut [f64],
    ) -> Result<Seen> {
        self.on.active.copy_from_slice(place.active);
        let margin = match look {
            Look::FirstOrder => (self.on.first_order(&mut self.asked, place.to, gradient)?, 0.0),
            Look::Lines(n) => self.on.margin(&mut self.asked, place.to, WORTH * n, gradient)?,
        };
        let favourable = self.asked.model.score(place.to)? > 0.0;
        Ok(scattered::seen(margin, z, favourable, look != Look::FirstOrder))
    }

    fn anchor(&mut self, place: Place<'_>, _hint: Option<&[f64]>, lines: usize) -> Result<f64> {
        self.on.active.copy_from_slice(place.active);
        let mut unused = vec![0.0; place.to.len()];
        Ok(self.on.margin(&mut self.asked, place.to, WORTH * lines, &mut unused)?.0)
    }

    fn slack_of_single(&mut self, _change: (usize, f64), _z: f64, _lines: usize) -> Result<Option<f64>> {
        Ok(None)
    }

    fn sd(&self, j: usize) -> f64 {
        self.on.sd(j)
    }

    fn largest_sd(&self) -> f64 {
        self.on.largest_sd()
    }

    fn precision(&self) -> f64 {
        PRECISION
    }

    fn noise(&self) -> f64 {
        PRECISION
    }

    fn closer(&self) -> Option<usize> {
        Some(MOST / WORTH)
    }

    fn fair_samples(&self) -> f64 {
        20_000.0
    }
}
