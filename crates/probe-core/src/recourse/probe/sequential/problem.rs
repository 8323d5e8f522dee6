//! What one search is asked for.

use super::COARSE;
use super::tuning::Tuning;
use crate::math::normal::upper_quantile;
use crate::recourse::{Ask, Budget, SearchEffort};

/// The cheapest point whose smoothed margin is at least `z`, for one person.
#[derive(Clone, Copy)]
pub(super) struct Problem<'p> {
    pub factual: &'p [f64],
    /// Whom the noise counts changes from ([`Ask::origin`]).
    pub origin: &'p [f64],
    /// The margin that descents aim for.
    pub z: f64,
    /// The rate that the answer aims for.
    pub aim: f64,
    /// The rate that the answer must stay below, where the search may choose how far below.
    pub target: Option<f64>,
    /// How closely a step of a descent measures the margin.
    pub coarse: Precision,
    pub effort: SearchEffort,
    pub budget: &'p Budget<'p>,
}

impl<'p> Problem<'p> {
    /// The cheapest point of a rate, or of one below it by a gap that the search may choose.
    pub(super) fn of_rate(ask: &Ask<'p>, rate: f64, tuning: &Tuning) -> Self {
        let target = ask.gap.map(|_| rate);
        let aim = rate - ask.gap.unwrap_or(0.0);
        let steps = target.map_or(aim, |target| aim.max(target - tuning.gap_of_steps(target)));
        Self {
            factual: ask.factual,
            origin: ask.origin.unwrap_or(ask.factual),
            z: upper_quantile(steps),
            aim,
            target,
            coarse: Precision::Lines(tuning.coarse),
            effort: ask.effort,
            budget: ask.budget,
        }
    }

    /// The most robust point, whatever its rate.
    pub(super) fn of_budget(ask: &Ask<'p>) -> Self {
        Self {
            factual: ask.factual,
            origin: ask.origin.unwrap_or(ask.factual),
            z: 0.0,
            aim: 0.5,
            target: None,
            coarse: Precision::Lines(COARSE),
            effort: ask.effort,
            budget: ask.budget,
        }
    }

    /// The same problem with another margin.
    pub(super) fn with_margin(self, z: f64) -> Self {
        Self { z, ..self }
    }

    pub(super) fn n_changed(&self, x: &[f64]) -> usize {
        x.iter().zip(self.factual).filter(|(to, from)| to != from).count()
    }
}

/// How closely the margin is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Precision {
    /// The margin of the linearised score.
    FirstOrder,
    /// The smoothed margin on so many lines, or on as many samples as are worth them.
    Lines(usize),
}
