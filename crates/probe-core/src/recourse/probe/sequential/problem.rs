//! What one search is asked for.

use crate::recourse::SearchEffort;

/// The cheapest point whose smoothed margin is at least `z`, for one person.
#[derive(Clone, Copy)]
pub(super) struct Problem<'p> {
    pub factual: &'p [f64],
    /// The margin that descents aim for.
    pub z: f64,
    /// The rate that the answer aims for.
    pub aim: f64,
    /// The rate that the answer must stay below, where the search may choose how far below.
    pub target: Option<f64>,
    /// How closely a step of a descent measures the margin.
    pub coarse: Precision,
    pub effort: SearchEffort,
}

impl Problem<'_> {
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
