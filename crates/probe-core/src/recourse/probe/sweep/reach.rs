//! How far a search goes, by effort.

use crate::recourse::{Budget, SearchEffort};

/// Places that are measured where other searches took no work; one more for so many lines that they
/// read.
const LEAST_PLACES: usize = 48;
const LINES_OF_A_PLACE: u64 = 32;

/// How far a search goes.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Reach {
    /// Places that are measured at most.
    pub most: usize,
    /// The least step of a walk over one feature, in standard deviations of the noise.
    pub finest: f64,
    /// The same for the outer of nested walks.
    pub coarsest: f64,
    /// How much the margin is taken to rise at most within a standard deviation of the noise. One
    /// is what it can do; less is faster and may miss an answer.
    pub steepest: f64,
    /// Features that are paired, at the person.
    pub paired: usize,
    /// At most so many features are searched all together.
    pub whole: usize,
    /// Rounds of exchanges around the best point.
    pub rounds: usize,
    /// Trades that are tried in a round, and changes that are ruled out in turn.
    pub trades: usize,
    pub rivals: usize,
    /// Points anywhere that the model scores where there is no answer.
    pub scattered: usize,
}

impl Reach {
    /// For searches over `n_axes` features after others that have spent from `budget`: normally
    /// some share of that work.
    pub(in super::super) fn of(effort: SearchEffort, n_axes: usize, budget: &Budget<'_>) -> Self {
        let normal = LEAST_PLACES + 4 * n_axes + (budget.spent() / LINES_OF_A_PLACE) as usize;
        match effort {
            SearchEffort::Quick | SearchEffort::Normal => Self {
                most: normal.min(400),
                finest: 0.15,
                coarsest: 0.5,
                steepest: 0.8,
                paired: 0,
                whole: 3,
                rounds: 3,
                trades: 8,
                rivals: 4,
                scattered: 2_048,
            },
            SearchEffort::Thorough => Self {
                most: 10_000,
                finest: 0.05,
                coarsest: 0.25,
                steepest: 1.0,
                paired: 12,
                whole: 4,
                rounds: 8,
                trades: 32,
                rivals: 12,
                scattered: 32_768,
            },
        }
    }
}

impl Reach {
    /// For searches on profiles, which take few places.
    pub(in super::super) fn on_profiles(effort: SearchEffort) -> Self {
        let most = if effort == SearchEffort::Thorough { 20_000 } else { 2_000 };
        Self { most, rounds: 6, ..Self::of(effort, 0, &Budget::new(effort)) }
    }
}
