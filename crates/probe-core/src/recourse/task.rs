//! The input of a method, and its output.

use super::{MethodOptions, Reference, SearchEffort};
use crate::cost::Cost;
use crate::error::{Error, Result, require};
use crate::model::{Model, ModelShift};
use crate::noise::{Noise, NoiseOn};
use crate::schema::Actions;
use crate::seed::Seed;
use std::sync::Arc;

/// The input of a method, except for the person and the goal. Everything is in scaled space, which
/// is the model's input space.
#[derive(Clone)]
pub struct Task {
    /// The model.
    pub model: Arc<dyn Model>,
    /// The distribution of the difference between the advice and what people reach.
    pub noise: Arc<dyn Noise>,
    /// The features that the noise acts on.
    pub noise_on: NoiseOn,
    /// What a change costs.
    pub cost: Cost,
    /// What may change.
    pub actions: Actions,
    /// How the model may change before the advice is carried out.
    pub shift: Option<ModelShift>,
    /// Seed of all streams.
    pub seed: Seed,
    /// Settings of the method.
    pub options: MethodOptions,
    /// Reference data: what is known about people in general.
    pub reference: Reference,
    /// How thoroughly to search for an answer.
    pub effort: SearchEffort,
    /// A generator of the search that is left out, to measure its effect.
    #[doc(hidden)]
    pub left_out: Option<&'static str>,
}

impl Task {
    /// Fails unless all parts have the same number of features.
    pub fn check(&self) -> Result<()> {
        let expected = self.model.n_features();
        let parts = [
            ("features of the noise", self.noise.dim()),
            ("features of the cost", self.cost.n_features()),
            ("features of the action space", self.actions.n_features()),
            ("features of the reference data", self.reference.n_features()),
        ];
        for (what, found) in parts {
            if found != expected {
                return Err(Error::Shape { what, expected, found });
            }
        }
        self.actions.check()
    }
}

/// What to reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// The cheapest point whose invalidation rate is at most this.
    Rate(f64),
    /// The most robust point whose cost is at most this.
    Budget(f64),
}

impl Goal {
    /// Fails unless the rate is inside (0, 1), or the budget at least 0 and finite.
    pub fn check(self) -> Result<()> {
        match self {
            Self::Rate(r) => {
                require(r > 0.0 && r < 1.0, "the target invalidation rate r", "between 0 and 1", r)?
            }
            Self::Budget(b) => {
                require(b >= 0.0 && b.is_finite(), "the budget", "at least 0 and finite", b)?
            }
        }
        Ok(())
    }
}

/// Why a goal was missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing that may change affects the score.
    NoAdmissibleMove,
    /// No favourable point within the bounds and directions.
    InfeasibleWithinBounds,
    /// No favourable point with so few changes.
    InfeasibleWithinMaxChanges,
    /// No admissible point has so low a rate. Answers say so only where that is proven
    /// ([`Proposal::proven`]); else they say [`Reason::NotFound`].
    RateNotReachable,
    /// No point within the budget meets the target.
    BudgetExhausted,
    /// The exact search stopped at its node limit. The rate is valid, but there may be a cheaper
    /// answer.
    SearchLimit,
    /// One-hot columns of the person do not have exactly one 1.
    NotOneHot,
    /// The rate seems low enough, but fresh samples did not prove it.
    NotCertified,
    /// The method only tries to change the decision, and the rate of its answer is above the
    /// target.
    RateIgnored,
    /// There is no further alternative that changes other features.
    NoOtherWay,
    /// The method ended before it met the target. Another method or other settings may meet it.
    NotFound,
}

impl Reason {
    /// The reason to report if it is not proven. It claims nothing about points that the search did
    /// not see.
    pub fn unproven(self) -> Self {
        match self {
            Self::NoAdmissibleMove
            | Self::InfeasibleWithinBounds
            | Self::InfeasibleWithinMaxChanges
            | Self::RateNotReachable => Self::NotFound,
            other => other,
        }
    }

    /// The code in output files.
    pub fn code(self) -> &'static str {
        match self {
            Self::NoAdmissibleMove => "no-admissible-move",
            Self::InfeasibleWithinBounds => "infeasible-within-bounds",
            Self::InfeasibleWithinMaxChanges => "infeasible-within-max-changes",
            Self::RateNotReachable => "rate-not-reachable",
            Self::BudgetExhausted => "budget-exhausted",
            Self::SearchLimit => "search-limit",
            Self::NotOneHot => "not-one-hot",
            Self::NotCertified => "not-certified",
            Self::RateIgnored => "rate-ignored",
            Self::NoOtherWay => "no-other-way",
            Self::NotFound => "not-found",
        }
    }
}

/// What a method found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The point meets the goal.
    Reached,
    /// The point does not meet the goal. It is the most robust point that was found.
    Short(Reason),
}

/// What a method says about its point. It decides nothing, and becomes part of the answer as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Report {
    /// The method's own estimate of the point's rate, if it has one.
    pub claimed_rate: Option<f64>,
    /// Which part of the search found the point; empty if the search has only one part.
    pub source: &'static str,
}

impl Report {
    /// A report of the part of the search that found a point, and nothing else.
    pub fn of(source: &'static str) -> Self {
        Self { source, ..Self::default() }
    }
}

/// A method's answer, in scaled space.
#[derive(Debug, Clone)]
pub struct Proposal {
    /// The point.
    pub point: Vec<f64>,
    /// Whether it meets the goal.
    pub verdict: Verdict,
    /// The rate that the search aimed at, if it chose it itself ([`super::Ask::gap`]).
    pub aim: Option<f64>,
    /// What else the method says about the point.
    pub report: Report,
    /// Whether the verdict is proven: no admissible point that meets the goal costs less than this
    /// one (to 1e-9), or none meets it. False where a search just did not find more.
    pub proven: bool,
    /// No admissible point that meets the goal costs less than this, at the costs of the search. 0
    /// if nothing better is known. Not used if the verdict is proven.
    pub lower_bound: f64,
}

impl Proposal {
    /// An empty proposal for `n_features` features, to be filled by a worker.
    pub fn new(n_features: usize) -> Self {
        Self {
            point: vec![0.0; n_features],
            verdict: Verdict::Short(Reason::NoAdmissibleMove),
            aim: None,
            report: Report::default(),
            proven: false,
            lower_bound: 0.0,
        }
    }

    /// Resets everything that a worker may leave unset, so that nothing is claimed from the last
    /// person.
    pub(crate) fn forget(&mut self) {
        (self.aim, self.report) = (None, Report::default());
        (self.proven, self.lower_bound) = (false, 0.0);
    }
}
