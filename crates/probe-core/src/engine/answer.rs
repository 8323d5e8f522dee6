//! An answer to one person.

use super::outcome::{Asked, Evidence, Judgement, Outcome, Rate, Recourse};
use crate::recourse::{Reason, Report, Verdict};
use serde::{Deserialize, Serialize};

/// The result for a person, in one word.
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
    /// The result, in one word.
    pub status: Status,
    /// Why, where the goal was missed.
    pub reason: Option<Reason>,
    /// Cost of the printed point; `None` without recourse.
    pub cost: Option<f64>,
    /// No admissible point whose rate is at most the target costs less: the cost itself where that
    /// is proven to be the least, 0 where nothing better is known, and where it is proven that
    /// there is no such point. Where it rests on samples it holds with the confidence of
    /// certificates.
    pub cost_lower: f64,
    /// Whether the status is proven: nothing is needed, the cost is the least to 1e-6, or no
    /// admissible point reaches the target. Samples prove nothing.
    pub proven: bool,
    /// Invalidation rate of the printed point.
    pub rate: f64,
    /// Upper bound on it: the rate itself where exact.
    pub rate_upper: f64,
    /// Standard error of the rate, for models that may change and are sampled; `None` elsewhere. An
    /// estimate with a standard error may be above the certified upper bound.
    pub rate_std_error: Option<f64>,
    /// Lowest rate that could be reached, where the target was missed.
    pub best_rate: Option<f64>,
    /// What the method itself says about the point. The engine does not use it: [`Answer::rate`]
    /// is the rate that holds, not the one that the method claims.
    pub report: Report,
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
            cost_lower: 0.0,
            proven: false,
            rate: 1.0,
            rate_upper: 1.0,
            rate_std_error: None,
            best_rate: None,
            report: Report::default(),
            changed: 0,
            outside_range: None,
            point: vec![0.0; n_features],
            score_before: 0.0,
            score_after: 0.0,
            nearest: Vec::new(),
        }
    }

    /// Fills in the answer, reusing its buffers. Everything that an answer says about the person is
    /// derived here. Inlined, because linear models answer millions of people per second.
    #[inline(always)]
    pub(super) fn fill(&mut self, asked: &Asked<'_>, outcome: Outcome<'_>) {
        self.nearest.clear();
        match outcome {
            Outcome::Favourable(rate) => {
                self.stay(asked, rate);
                (self.status, self.reason) = (Status::Favourable, None);
                (self.cost, self.best_rate) = (Some(0.0), None);
                (self.cost_lower, self.proven) = (0.0, true);
            }
            Outcome::None { own, nearest } => {
                self.stay(asked, own);
                let reason = asked.why_none(&nearest);
                (self.status, self.reason) = (Status::None, Some(reason));
                (self.cost_lower, self.proven) = nearest.proof.of_a_miss(reason);
                (self.cost, self.best_rate) = (None, nearest.best_rate);
                self.nearest.extend_from_slice(nearest.row.unwrap_or_default());
            }
            Outcome::Recourse(recourse) => self.advise(asked, &recourse),
        }
    }

    /// Fills in the answer that nothing has to change.
    fn stay(&mut self, asked: &Asked<'_>, rate: Rate) {
        self.set_point(asked.person);
        (self.rate, self.rate_upper) = (rate.value, rate.upper);
        self.rate_std_error = rate.std_error;
        (self.score_before, self.score_after) = (asked.score, asked.score);
        self.report = Report::default();
        self.changed = 0;
        self.outside_range = asked.knows_ranges.then_some(0);
    }

    /// Fills in a recourse.
    #[inline(always)]
    fn advise(&mut self, asked: &Asked<'_>, recourse: &Recourse<'_>) {
        let Judgement { score, rate } = recourse.judgement;
        let (certified, upper, std_error) = match recourse.evidence {
            Evidence::Exact => (recourse.judgement.meets(asked.max_rate), rate, None),
            Evidence::Sampled { certified, upper, std_error } => (certified, upper, std_error),
        };
        // The certificate read far more samples than the estimate, so that an estimate above the
        // certified bound is wrong. One that states its error is reported as it is.
        let rate = if certified && std_error.is_none() { rate.min(upper) } else { rate };
        self.rate_std_error = std_error;
        self.set_point(recourse.row);
        (self.rate, self.rate_upper) = (rate, upper);
        (self.score_before, self.score_after) = (asked.score, score);
        self.report = recourse.report;
        self.changed = recourse.changed;
        self.outside_range = recourse.outside_range;
        self.cost = Some(recourse.cost);
        if certified {
            (self.status, self.best_rate) = (Status::Certified, None);
            // The rate holds all the same, but the cost may not be the least.
            let limited = recourse.verdict == Verdict::Short(Reason::SearchLimit);
            let exact = matches!(recourse.evidence, Evidence::Exact);
            self.reason = (limited && exact).then_some(Reason::SearchLimit);
            (self.cost_lower, self.proven) = recourse.proof.of_a_cost(recourse.cost);
        } else {
            let reason = asked.why_not_certified(recourse, rate);
            (self.status, self.best_rate) = (Status::Found, Some(rate));
            self.reason = Some(reason);
            (self.cost_lower, self.proven) = recourse.proof.of_a_miss(reason);
            self.nearest.extend_from_slice(recourse.row);
        }
    }

    #[inline]
    fn set_point(&mut self, row: &[f64]) {
        self.point.clear();
        self.point.extend_from_slice(row);
    }

    /// Restores the missing values of the person, who is `original`.
    pub(super) fn restore_gaps(&mut self, original: &[f64]) {
        for row in [&mut self.point, &mut self.nearest] {
            for (value, was) in row.iter_mut().zip(original).filter(|(_, was)| was.is_nan()) {
                *value = *was;
            }
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

/// Why a target was missed: which limits bind, and how much score is missing.
#[derive(Debug, Clone, PartialEq)]
pub struct Shortfall {
    /// Feature index and what stops it, for every feature.
    pub limits: Vec<(usize, Limit)>,
    /// Score of the most robust admissible point.
    pub score: f64,
    /// Score that the target asks for.
    pub needed: f64,
}
