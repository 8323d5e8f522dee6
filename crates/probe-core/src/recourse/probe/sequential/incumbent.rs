//! The best points of a search so far.

use super::problem::Problem;
use crate::recourse::Budget;

/// What another confirmed point must save, as a share of the cost. The more points are compared,
/// the more a small saving is the error of the samples that chose it, and fails its certificate.
const WORTH: f64 = 0.01;

/// A point that the polish has confirmed, or the last that it could not.
pub(super) struct Confirmed {
    pub reached: bool,
    pub point: Vec<f64>,
    /// The rate that it aimed at.
    pub rate: f64,
    /// The generator that it came from.
    pub source: &'static str,
}

impl Confirmed {
    pub(super) fn new(problem: Problem<'_>) -> Self {
        let (point, rate) = (problem.factual.to_vec(), problem.aim);
        Self { reached: false, point, rate, source: "" }
    }

    /// Takes another point that is confirmed as well, if it costs clearly less.
    pub(super) fn take_cheaper(&mut self, other: Self, cost: impl Fn(&[f64]) -> f64) {
        if other.reached && cost(&other.point) < (1.0 - WORTH) * cost(&self.point) {
            *self = other;
        }
    }
}

/// The cheapest feasible point, the most robust one, and where each came from.
pub(super) struct Incumbent {
    /// The cheapest point that meets the target; meaningless while `cost` is infinite.
    pub point: Vec<f64>,
    pub cost: f64,
    /// Largest slack measured, and where.
    pub slack: f64,
    pub most_robust: Vec<f64>,
    /// How much slack may be missing: the polish makes up for it.
    pub missing: f64,
    /// The most robust of the points that the model accepts without noise, with its slack; empty
    /// where none was seen.
    pub best_accepted: (f64, Vec<f64>),
    /// Where the first descent ended, with every feature noisy.
    pub first_end: Vec<f64>,
    /// Whether the cheapest point was found without a descent.
    pub undescended: bool,
    /// The generator that gave the cheapest point.
    pub source: &'static str,
    /// The generator at work.
    current: &'static str,
    /// Whether there is something new to polish, and by which generator the last was proposed.
    unverified: bool,
    pub last_polished: &'static str,
    /// What the cheapest point was before a generator took a risk.
    fallback: Option<(f64, Vec<f64>, &'static str)>,
}

impl Incumbent {
    pub(super) fn new(factual: &[f64], missing: f64) -> Self {
        Self {
            point: factual.to_vec(),
            cost: f64::INFINITY,
            slack: f64::NEG_INFINITY,
            most_robust: factual.to_vec(),
            missing,
            best_accepted: (f64::NEG_INFINITY, Vec::new()),
            first_end: factual.to_vec(),
            undescended: false,
            source: "",
            current: "",
            unverified: false,
            last_polished: "",
            fallback: None,
        }
    }

    /// Whether a further generator may run: there is work left, or none has run yet.
    pub(super) fn may_begin(&self, budget: &Budget<'_>) -> bool {
        self.current.is_empty() || !budget.is_exhausted()
    }

    /// From now on points come from this generator.
    pub(super) fn begin(&mut self, generator: &'static str) {
        self.current = generator;
    }

    /// The cheapest point, or the most robust one where none is good enough.
    pub(super) fn found(&self) -> &[f64] {
        if self.cost.is_finite() { &self.point } else { &self.most_robust }
    }

    /// Forgets costs and slacks that were measured otherwise than the next ones will be.
    pub(super) fn measure_again(&mut self) {
        (self.cost, self.slack) = (f64::INFINITY, f64::NEG_INFINITY);
    }

    /// Forgets all but a confirmed point: what comes next must cost less.
    pub(super) fn measure_again_at(&mut self, point: &[f64], cost: f64) {
        self.measure_again();
        self.point.copy_from_slice(point);
        self.cost = cost;
    }

    /// Keeps a point that falls short, if the model accepts it without noise.
    pub(super) fn offer_accepted(&mut self, point: &[f64], slack: f64, favourable: bool) {
        if favourable && slack > self.best_accepted.0 {
            self.best_accepted.0 = slack;
            self.best_accepted.1.clear();
            self.best_accepted.1.extend_from_slice(point);
        }
    }

    /// Keeps a point that is cheaper and meets the target, or is more robust.
    pub(super) fn offer(&mut self, point: &[f64], cost: f64, slack: f64) {
        if slack >= -self.missing && cost < self.cost {
            self.point.copy_from_slice(point);
            self.cost = cost;
            self.source = self.current;
            self.undescended = false;
        }
        if slack > self.slack {
            self.slack = slack;
            self.most_robust.copy_from_slice(point);
        }
    }

    /// [`Incumbent::offer`] of a point that no descent has tried to improve; says whether it is
    /// cheaper than the best.
    pub(super) fn offer_undescended(&mut self, point: &[f64], cost: f64, slack: f64) -> bool {
        let improves = cost < self.cost;
        self.offer(point, cost, slack);
        self.undescended |= improves;
        improves
    }

    /// Asks for a polish of what was found.
    pub(super) fn ask_for_polish(&mut self) {
        self.unverified = true;
    }

    /// Remembers the cheapest point, to be polished where the next one turns out not to hold.
    pub(super) fn keep_as_fallback(&mut self) {
        self.fallback = Some((self.cost, self.point.clone(), self.source));
    }

    /// Whether there is a candidate to polish; it becomes the best point.
    pub(super) fn next_unverified(&mut self) -> bool {
        if self.unverified {
            self.unverified = false;
            self.last_polished = self.current;
        } else if let Some((cost, point, source)) = self.fallback.take() {
            (self.cost, self.point, self.source) = (cost, point, source);
        } else {
            return false;
        }
        // The polish improves on what a generator gave; it is none itself.
        self.current = self.source;
        true
    }
}
