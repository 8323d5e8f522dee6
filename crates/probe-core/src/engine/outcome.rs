//! What the session found out about a person: what an answer is derived from.

use crate::recourse::{Reason, Verdict};

/// What a row is worth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judgement {
    pub(super) score: f64,
    pub(super) rate: f64,
}

impl Judgement {
    /// NaN counts as a rejection.
    pub(super) fn is_favourable(self) -> bool {
        self.score > 0.0
    }

    /// Whether the row is favourable and its rate low enough.
    pub(super) fn meets(self, max_rate: f64) -> bool {
        self.is_favourable() && self.rate <= max_rate
    }
}

/// A rate and an upper bound on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) value: f64,
    pub(super) upper: f64,
}

impl Rate {
    pub(super) fn exact(rate: f64) -> Self {
        Self { value: rate, upper: rate }
    }
}

/// Who asked, and for what.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<'a> {
    /// The person, raw, and their score.
    pub(super) person: &'a [f64],
    pub(super) score: f64,
    pub(super) max_rate: f64,
    /// Whether a budget is to be spent, instead of reaching the rate at least cost.
    pub(super) has_budget: bool,
    /// Whether ranges seen in training are known.
    pub(super) knows_ranges: bool,
}

/// What came of it.
pub(super) enum Outcome<'a> {
    /// Favourable already, at this rate.
    Favourable(Rate),
    /// Nothing that is favourable and admissible.
    None {
        /// The rate of the person as they are.
        own: Rate,
        nearest: Nearest<'a>,
    },
    /// A favourable row that the person may become.
    Recourse(Recourse<'a>),
}

/// What comes nearest to a recourse.
pub(super) struct Nearest<'a> {
    /// The printed row, raw, if it is admissible.
    pub(super) row: Option<&'a [f64]>,
    /// The lowest rate within reach, where that is known.
    pub(super) best_rate: Option<f64>,
    /// What the method said.
    pub(super) verdict: Verdict,
    /// What the printed row is worth, where its rate is exact.
    pub(super) exact: Option<Judgement>,
}

/// A recourse to be told.
pub(super) struct Recourse<'a> {
    /// The printed row, raw.
    pub(super) row: &'a [f64],
    pub(super) judgement: Judgement,
    pub(super) cost: f64,
    pub(super) changed: usize,
    pub(super) outside_range: Option<usize>,
    /// What the method said, and what it took the rate to be.
    pub(super) verdict: Verdict,
    pub(super) claimed: Option<f64>,
    pub(super) evidence: Evidence,
}

/// How the rate of a recourse is known.
#[derive(Debug, Clone, Copy)]
pub(super) enum Evidence {
    /// By a closed form.
    Exact,
    /// From samples, which may have certified the target and give an upper bound.
    Sampled { certified: bool, upper: f64 },
}

impl Asked<'_> {
    /// Why there is no recourse.
    pub(super) fn why_none(&self, nearest: &Nearest<'_>) -> Reason {
        match (nearest.exact, nearest.verdict) {
            // Rounding lost what the method had found.
            (Some(_), Verdict::Short(Reason::RateIgnored)) => Reason::NotFound,
            (Some(row), Verdict::Reached) if self.has_budget && !row.meets(self.max_rate) => {
                Reason::BudgetExhausted
            }
            (Some(_), Verdict::Reached) => Reason::RateNotReachable,
            (None, _) if self.has_budget => Reason::BudgetExhausted,
            // A search on samples has ended, and proves nothing.
            (
                None,
                Verdict::Reached | Verdict::Short(Reason::RateNotReachable | Reason::RateIgnored),
            ) => Reason::NotFound,
            (_, Verdict::Short(reason)) => reason,
        }
    }

    /// Why a recourse of this rate is not certified.
    pub(super) fn why_not_certified(&self, recourse: &Recourse<'_>, rate: f64) -> Reason {
        match (recourse.evidence, recourse.verdict) {
            (Evidence::Exact, Verdict::Reached) if self.has_budget => Reason::BudgetExhausted,
            (Evidence::Exact, Verdict::Reached) => Reason::RateNotReachable,
            (Evidence::Sampled { .. }, _) if self.has_budget && rate > self.max_rate => {
                Reason::BudgetExhausted
            }
            // The last search fell short of a lower aim than the target.
            (Evidence::Sampled { .. }, Verdict::Short(Reason::RateNotReachable))
                if rate <= self.max_rate =>
            {
                Reason::NotCertified
            }
            (Evidence::Sampled { .. }, Verdict::Reached) => Reason::NotCertified,
            (_, Verdict::Short(reason)) => reason,
        }
    }
}
