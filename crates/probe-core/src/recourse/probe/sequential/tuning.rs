//! How a search goes about one kind of margin: plain values, so that a benchmark can vary them.

use super::problem::Precision;
use super::{COARSE, LEAST_GAIN};
use crate::invalidation::usual_gap;

/// What a safety gap may cost where the whole space is searched, as a share of what is usual, and
/// the factor of samples that are worth it.
const CLOSER: f64 = 0.3;
const MORE_SAMPLES: f64 = 1.5;
const SHARE_OF_STEPS: f64 = 0.2;

/// Settings of a search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// How many lines a step of a descent takes.
    pub coarse: usize,
    /// How many lines the last steps take, where more than the others.
    pub closer: Option<usize>,
    /// What a first-order look takes of a budget, in lines.
    pub first_order: u64,
    /// How closely an answer can meet a target, in units of the margin.
    pub precision: f64,
    /// Differences in margin that mean nothing.
    pub noise: f64,
    /// A step that promises less than this share of the cost is the last.
    pub least_gain: LeastGain,
    /// Whether single features are tried only where the margin's slope at the person speaks for
    /// them.
    pub screens: bool,
    /// How many samples of a certificate are worth a lower cost.
    pub fair_samples: f64,
    pub surcharges: Surcharges,
    /// Whether steps stay within the usual gap of lines that bend; the last ones may go further.
    pub limits_gap_of_steps: bool,
    /// Whether safety gaps are smaller than usual ([`Tuning::stay_close`]).
    pub stays_close: bool,
    /// Share of the usual gap that steps stay within then.
    pub share_of_gap: f64,
    /// How much more than usual a lower cost is worth where lines bend, in lines.
    pub times_worth: f64,
}

/// Least gains by how closely the margin is measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct LeastGain {
    pub first_order: f64,
    /// On as many lines as a step takes.
    pub coarse: f64,
    /// On more.
    pub finer: f64,
}

/// What staying under a target may add to the cost, as shares of it: so much, or less where it
/// would add more than is `expensive`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Surcharges {
    pub fair: f64,
    pub expensive: f64,
    pub cheap: f64,
}

impl Tuning {
    /// For margins that are known to `precision`.
    pub(super) fn new(precision: f64) -> Self {
        Self {
            coarse: COARSE,
            closer: None,
            first_order: 1,
            precision,
            noise: 0.0,
            least_gain: LeastGain {
                first_order: LEAST_GAIN,
                coarse: LEAST_GAIN,
                finer: LEAST_GAIN,
            },
            screens: false,
            fair_samples: 10_000.0,
            surcharges: Surcharges { fair: 0.0165, expensive: 0.03, cheap: 0.009 },
            limits_gap_of_steps: false,
            stays_close: false,
            share_of_gap: 1.0,
            times_worth: 1.0,
        }
    }

    /// Stays closer to targets, at the price of longer certificates: where a search covers the
    /// whole space, the gap is most of what an answer costs more than it must.
    pub(super) fn stay_close(&mut self) {
        self.surcharges.fair *= CLOSER;
        self.surcharges.cheap *= CLOSER;
        self.fair_samples *= MORE_SAMPLES;
        self.stays_close = true;
        self.share_of_gap = SHARE_OF_STEPS;
        self.times_worth = 1.0 / (CLOSER * CLOSER);
    }

    pub(super) fn least_gain(&self, look: Precision) -> f64 {
        match look {
            Precision::FirstOrder => self.least_gain.first_order,
            Precision::Lines(n) if n <= self.coarse => self.least_gain.coarse,
            Precision::Lines(_) => self.least_gain.finer,
        }
    }

    /// What a look takes of a budget, in lines.
    pub(super) fn lines_of(&self, look: Precision) -> u64 {
        match look {
            Precision::FirstOrder => self.first_order,
            Precision::Lines(n) => n as u64,
        }
    }

    /// How far under a target `rate` steps look for a way at most.
    pub(super) fn gap_of_steps(&self, rate: f64) -> f64 {
        if self.limits_gap_of_steps { self.share_of_gap * usual_gap(rate, true) } else { rate }
    }

    /// How many lines of a certificate the whole cost of an answer is worth where lines bend: what
    /// a gap costs and what it saves differ much between people there. With these numbers it adds
    /// just under 2 % to the cost of answers on Give Me Some Credit.
    pub(super) fn worth_of_cost(&self, rate: f64) -> f64 {
        self.times_worth
            * 4.6e5
            * libm::pow(rate.max(0.1), 0.63)
            * libm::pow((0.1 / rate).max(1.0), 0.35)
    }
}
