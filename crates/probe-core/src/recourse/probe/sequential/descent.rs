//! The descent: sequential linear programming inside a trust region.

use super::incumbent::Incumbent;
use super::problem::{Precision, Problem};
use super::search::Search;
use crate::error::Result;
use crate::recourse::Task;
use std::sync::Arc;

/// Steps on the first-order margin, and on samples.
const FIRST_STEPS: usize = 12;
const MAX_STEPS: usize = 40;
/// The trust region grows where a step gains at least this share of what it promised, by so much.
const GOOD: f64 = 0.7;
const GROWTH: f64 = 1.8;
/// A step is taken where it gains at least this share; otherwise the trust region shrinks to this
/// share of it.
const FAIR: f64 = 0.1;
const SHRINKAGE: f64 = 0.4;
const LEAST_RADIUS: f64 = 1e-7;

/// How a descent measures and moves.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    pub precision: Precision,
    /// The first step moves no feature further than this.
    pub radius: f64,
    pub most_steps: usize,
}

impl Pace {
    pub(super) fn new(precision: Precision, radius: f64) -> Self {
        let first = precision == Precision::FirstOrder && radius == f64::INFINITY;
        Self { precision, radius, most_steps: if first { FIRST_STEPS } else { MAX_STEPS } }
    }
}

/// The state of a descent.
struct Descent {
    slack: f64,
    gradient: Vec<f64>,
    radius: f64,
    /// What a unit of missing margin counts for in the merit: more than it costs.
    weight: f64,
}

/// A step that the linearised problem proposes; the point is in `Search::trial`.
struct Step {
    /// Whether the linearised margin reaches the target.
    reached: bool,
    /// The longest move of a feature.
    moved: f64,
    /// The slack that the linearisation predicts.
    predicted: f64,
}

impl Search<'_> {
    /// Steps from `here` towards the cheapest point that meets the target, the first one no further
    /// than `radius` in any feature.
    pub(super) fn descend(
        &mut self,
        problem: Problem<'_>,
        precision: Precision,
        radius: f64,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        self.descend_at(problem, Pace::new(precision, radius), here, best)
    }

    /// [`Search::descend`] at a given pace.
    pub(super) fn descend_at(
        &mut self,
        problem: Problem<'_>,
        pace: Pace,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let (task, factual) = (Arc::clone(&self.task), problem.factual);
        let slack = self.slack(problem, here, pace.precision)?;
        let gradient = self.gradient.clone();
        let mut now = Descent { slack, gradient, radius: pace.radius, weight: 0.0 };
        let least_gain = self.tuning.least_gain(pace.precision);
        let sampled = pace.precision != Precision::FirstOrder;
        for _ in 0..pace.most_steps {
            if sampled && problem.budget.is_exhausted() {
                break;
            }
            let cost = task.cost.between(factual, here);
            if sampled {
                best.offer(here, cost, now.slack);
                self.hint.clear();
                self.hint.extend_from_slice(&now.gradient);
            }
            let step = self.linear_step(&task, factual, here, &mut now);
            if step.moved == 0.0 || !step.moved.is_finite() {
                break;
            }
            let (noise, weight) = (self.tuning.noise, now.weight);
            let merit = |cost: f64, slack: f64| cost + weight * (-slack - noise).max(0.0);
            let before = merit(cost, now.slack);
            let trial = std::mem::take(&mut self.trial);
            let new_cost = task.cost.between(factual, &trial);
            let promised = before - merit(new_cost, step.predicted);
            if step.reached && promised <= least_gain * cost {
                self.trial = trial;
                break;
            }
            let new_slack = self.slack(problem, &trial, pace.precision)?;
            if best.cost.is_infinite() && sampled {
                best.offer_accepted(&trial, new_slack, self.favourable);
            }
            let actual = before - merit(new_cost, new_slack);
            if actual >= FAIR * promised || (!step.reached && new_slack > now.slack) {
                here.copy_from_slice(&trial);
                now.slack = new_slack;
                now.gradient.copy_from_slice(&self.gradient);
                if actual >= GOOD * promised {
                    now.radius *= GROWTH;
                }
            } else {
                now.radius = SHRINKAGE * step.moved;
                if sampled {
                    best.offer(&trial, new_cost, new_slack);
                }
            }
            self.trial = trial;
            if now.radius < LEAST_RADIUS {
                break;
            }
        }
        if sampled {
            best.offer(here, task.cost.between(factual, here), now.slack);
        }
        Ok(())
    }

    /// The cheapest point of the margin's linearisation at `here`, within the trust region. Raises
    /// the weight of missing margin above the price of every feature that moves further than it
    /// must.
    fn linear_step(
        &mut self,
        task: &Task,
        factual: &[f64],
        here: &[f64],
        now: &mut Descent,
    ) -> Step {
        let (n, gradient, radius) = (here.len(), &now.gradient, now.radius);
        // The linearisation's value at the person.
        let offset: f64 = (0..n).map(|j| gradient[j] * (factual[j] - here[j])).sum();
        let mut trial = std::mem::take(&mut self.trial);
        let mut step = std::mem::take(&mut self.step);
        let interval = |j: usize| self.interval(factual, here, radius, j);
        let value = (factual, now.slack + offset);
        let reached = step.cheapest(task, value, gradient, 0.0, interval, &mut trial);
        (self.trial, self.step) = (trial, step);
        let (mut moved, mut predicted) = (0.0_f64, now.slack);
        for j in 0..n {
            let change = self.trial[j] - here[j];
            moved = moved.max(change.abs());
            predicted += gradient[j] * change;
            let least = self.interval(factual, here, radius, j);
            let least = least.map_or(factual[j], |(low, high)| factual[j].clamp(low, high));
            if self.trial[j] != least && gradient[j] != 0.0 {
                let price = task.cost.weight(j, self.trial[j] - factual[j]) / gradient[j].abs();
                now.weight = now.weight.max(1.5 * price.min(1e6));
            }
        }
        Step { reached, moved, predicted }
    }

    /// Steps from `here` towards the most robust point within `budget`; returns its margin.
    pub(super) fn ascend(
        &mut self,
        problem: Problem<'_>,
        budget: f64,
        precision: Precision,
        here: &mut [f64],
    ) -> Result<f64> {
        let (task, factual) = (Arc::clone(&self.task), problem.factual);
        let n = here.len();
        let pace = Pace::new(precision, f64::INFINITY);
        let mut radius = pace.radius;
        let mut slack = self.slack(problem, here, precision)?;
        let mut gradient = self.gradient.clone();
        for _ in 0..pace.most_steps {
            let mut trial = std::mem::take(&mut self.trial);
            let mut step = std::mem::take(&mut self.step);
            let interval = |j: usize| self.interval(factual, here, radius, j);
            let fits = step.furthest(&task, factual, &gradient, budget, interval, &mut trial);
            let (mut moved, mut promised) = (0.0_f64, 0.0);
            for j in 0..n {
                moved = moved.max((trial[j] - here[j]).abs());
                promised += gradient[j] * (trial[j] - here[j]);
            }
            if !fits || moved == 0.0 || !moved.is_finite() || promised <= self.tuning.precision {
                (self.trial, self.step) = (trial, step);
                break;
            }
            let new = self.slack(problem, &trial, precision)?;
            if new - slack >= FAIR * promised {
                here.copy_from_slice(&trial);
                gradient.copy_from_slice(&self.gradient);
                if new - slack >= GOOD * promised {
                    radius *= GROWTH;
                }
                slack = new;
            } else {
                radius = SHRINKAGE * moved;
            }
            (self.trial, self.step) = (trial, step);
            if radius < LEAST_RADIUS {
                break;
            }
        }
        Ok(slack)
    }
}
