//! An answer to one person.

use crate::recourse::Reason;
use serde::{Deserialize, Serialize};

/// What became of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Favourable, and the rate is at most r.
    Certified,
    /// Favourable, but the rate is above r or was not certified.
    Found,
    /// No favourable admissible point.
    None,
    /// Favourable already; nothing needed.
    Favourable,
}

impl Status {
    /// The word that stands in output files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Certified => "certified",
            Self::Found => "found",
            Self::None => "none",
            Self::Favourable => "favourable",
        }
    }
}

/// The answer to one person, in the person's units. Cost, rates and scores are as documented for
/// the output columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What became of the person.
    pub status: Status,
    /// Why, where the goal was missed.
    pub reason: Option<Reason>,
    /// Cost of the printed point; `None` without recourse.
    pub cost: Option<f64>,
    /// Invalidation rate of the printed point.
    pub rate: f64,
    /// Upper bound on it: the rate itself where exact.
    pub rate_upper: f64,
    /// What the method itself took the rate to be, where it says. The engine takes no part of it:
    /// [`Answer::rate`] is what holds.
    pub claimed_rate: Option<f64>,
    /// Lowest rate that could be reached, where the target was missed.
    pub best_rate: Option<f64>,
    /// Which part of the search the point came from; empty for methods of one part.
    pub source: &'static str,
    /// Number of features changed; a one-hot group counts as one.
    pub changed: usize,
    /// Changed features outside the range seen in training; `None` where that is unknown.
    pub outside_range: Option<usize>,
    /// The recourse, raw.
    pub point: Vec<f64>,
    /// Score of the person.
    pub score_before: f64,
    /// Score of the recourse.
    pub score_after: f64,
    /// Best point that can be reached when the target cannot, raw; empty otherwise.
    pub nearest: Vec<f64>,
}

impl Answer {
    /// An empty answer for `n_features` features, to be filled.
    pub fn new(n_features: usize) -> Self {
        Self {
            status: Status::None,
            reason: None,
            cost: None,
            rate: 1.0,
            rate_upper: 1.0,
            claimed_rate: None,
            best_rate: None,
            source: "",
            changed: 0,
            outside_range: None,
            point: vec![0.0; n_features],
            score_before: 0.0,
            score_after: 0.0,
            nearest: Vec::new(),
        }
    }
}

/// What stops one feature from helping more.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Limit {
    /// It may not change.
    Immutable,
    /// It may not move in the direction that would help.
    Direction,
    /// It is at its highest admissible value (raw).
    AtMost(f64),
    /// It is at its lowest admissible value (raw).
    AtLeast(f64),
    /// It may move, but only so many features may change.
    MaxChanges,
    /// The model does not look at it.
    NoEffect,
}

/// Why a target was missed: what binds, and how much score is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortfall {
    /// Feature index and what stops it, for every feature.
    pub limits: Vec<(usize, Limit)>,
    /// Score of the most robust admissible point.
    pub score: f64,
    /// Score that the target asks for.
    pub needed: f64,
}
