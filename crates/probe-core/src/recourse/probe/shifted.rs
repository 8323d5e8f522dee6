//! Recourse for affine scores that survives noise and a change of the model together.
//!
//! The problem is to minimise cost subject to $c(x) \ge 0$, where $c$ is the slack of
//! [`ShiftedRate`]: with $z = z_r$ it is $w^\top x + b - z\sqrt{\operatorname{var}(x)}$ for a
//! random change (corrected to the exact rate), and $\min_v v^\top x + b - z\sigma\lVert v\rVert$
//! for a bounded one. Both are concave for $r < 1/2$, the first but for a correction of some
//! thousandths, so that the problem is convex and a local optimum is the optimum. First the search
//! enters the feasible set; then each step linearises $c$, solves the rest exactly
//! ([`super::linear`]) inside a trust region, without which steps can cycle, and is brought back to
//! where $c \ge 0$. Every iterate is feasible and none costs more than the last.
//!
//! A limit on the number of changes makes the problem discrete, which steps of this kind do not
//! solve: refused. Categories and steps are chosen around it (`super::discrete`); groups stay as
//! they are here.

use super::super::ask::Posed;
use super::super::{Ask, Goal, Proposal, Reason, Solver, Task, Verdict, Worker};
use super::ANY_RATE;
use super::linear::Step;
use crate::error::{Error, Result, require};
use crate::invalidation::ShiftedRate;
use crate::math::normal::upper_quantile;
use crate::model::ModelShift;
use crate::noise::NoiseOn;
use std::sync::Arc;

const MAX_STEPS: usize = 400;
/// Steps and gains below this share are rounding.
const ROUNDING: f64 = 1e-12;
/// Scores above this, or this share of the person's, are favourable whatever rounding does.
const FAVOURABLE: f64 = 1e-9;
/// Rates below this are lost in the rounding of the exact rate.
const LEAST_RATE: f64 = 1e-9;

/// The search, prepared for a task.
pub(super) struct ShiftedSolver {
    task: Arc<Task>,
    rate: ShiftedRate,
}

impl ShiftedSolver {
    /// Fails unless the model is affine and every part of the task has an exact solution under a
    /// shift.
    pub(super) fn new(task: &Arc<Task>, shift: ModelShift) -> Result<Self> {
        let refuse =
            |what: String, why: &str| Err(Error::Unsupported { what, why: why.to_owned() });
        let Some(linear) = task.model.as_linear() else {
            return refuse(
                format!("recourse on a {} model that may change", task.model.name()),
                "only linear models have it; rate points instead",
            );
        };
        if task.noise_on == NoiseOn::Changed {
            return refuse(
                "noise on changed features only with a model shift".to_owned(),
                "use noise on all or mutable features",
            );
        }
        if task.actions.max_changes().is_some() {
            return refuse(
                "a limit on the number of changes with a model shift".to_owned(),
                "the problem would no longer be convex",
            );
        }
        let mut active = vec![false; linear.weights().len()];
        task.noise_on.active_into(&task.actions, &[], &[], &mut active);
        let rate = ShiftedRate::new(linear, &*task.noise, &active, shift)?;
        Ok(Self { task: Arc::clone(task), rate })
    }
}

impl Solver for ShiftedSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let zeros = || vec![0.0; self.rate.n_features()];
        Box::new(ShiftedWorker {
            solver: self,
            task: Posed::new(&self.task),
            step: Step::default(),
            here: Place { point: zeros(), slack: 0.0, gradient: zeros() },
            trial: Place { point: zeros(), slack: 0.0, gradient: zeros() },
        })
    }
}

/// A point with the slack there.
struct Place {
    point: Vec<f64>,
    slack: f64,
    gradient: Vec<f64>,
}

impl Place {
    fn look(&mut self, rate: &ShiftedRate, z: f64) {
        self.slack = rate.slack_and_gradient(z, &self.point, &mut self.gradient);
    }

    fn steepest(&self) -> f64 {
        self.gradient.iter().fold(0.0, |most, g| g.abs().max(most))
    }

    /// What rounding is measured by: one, or the largest value or slope.
    fn scale(&self) -> f64 {
        self.point.iter().fold(1.0_f64.max(self.steepest()), |most, x| x.abs().max(most))
    }

    /// The linearised slack at `other`.
    fn predict(&self, other: &[f64]) -> f64 {
        self.slack
            + self
                .gradient
                .iter()
                .zip(other)
                .zip(&self.point)
                .map(|((g, y), x)| g * (y - x))
                .sum::<f64>()
    }
}

struct ShiftedWorker<'a> {
    solver: &'a ShiftedSolver,
    task: Posed,
    step: Step,
    here: Place,
    trial: Place,
}

impl Worker for ShiftedWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let (factual, goal) = (ask.factual, ask.aim());
        goal.check()?;
        self.task.turn_to(ask);
        let Goal::Rate(target) = goal else {
            return Err(Error::Unsupported {
                what: "a budget with a model shift".to_owned(),
                why: "give a target rate instead".to_owned(),
            });
        };
        let any = target >= ANY_RATE;
        require(
            (LEAST_RATE..0.5).contains(&target) || any,
            "the target rate under a model shift",
            "at least 1e-9 and below 0.5",
            target,
        )?;
        let task = Arc::clone(&self.task);
        let interval = |j: usize| task.actions.interval(j, factual[j]);
        proposal.point.copy_from_slice(factual);
        if (0..factual.len()).any(|j| interval(j).is_none()) {
            proposal.verdict = Verdict::Short(Reason::InfeasibleWithinBounds);
            return Ok(());
        }
        let z = upper_quantile(target);
        // What no point reaches need not be looked for.
        let within_reach = !any && self.solver.rate.least_rate() <= target;
        let stuck = (0..factual.len()).all(|j| interval(j) == Some((factual[j], factual[j])));
        proposal.verdict = if within_reach && self.enter(factual, z) {
            self.descend(factual, z);
            Verdict::Reached
        } else if stuck && !any {
            Verdict::Short(Reason::NoAdmissibleMove)
        } else if !any && self.most_robust(factual, z) {
            Verdict::Short(Reason::RateNotReachable)
        } else if self.accept(factual) {
            if any { Verdict::Reached } else { Verdict::Short(Reason::RateNotReachable) }
        } else {
            Verdict::Short(Reason::InfeasibleWithinBounds)
        };
        proposal.point.copy_from_slice(&self.here.point);
        Ok(())
    }

    fn rate_at(&mut self, _from: &[f64], to: &[f64], _lines: usize) -> Result<f64> {
        Ok(self.solver.rate.rate(to))
    }

    fn serves_own_costs(&self) -> bool {
        true
    }
}

impl ShiftedWorker<'_> {
    /// The cheapest point, within `radius` of `self.here`, whose linearised slack is `needed`, into
    /// `self.trial`; false if there is none, and then the point where it is largest.
    fn propose(&mut self, factual: &[f64], radius: f64, needed: f64) -> bool {
        let Self { task, step, here, trial, .. } = self;
        let interval = |j: usize| {
            let (low, high) = task.actions.interval(j, factual[j])?;
            // A person outside strict bounds moves inside first, however far that is.
            let near = (here.point[j] - radius).max(low).min(high);
            Some((near, (here.point[j] + radius).min(high).max(near)))
        };
        let value = here.predict(factual);
        step.cheapest(task, (factual, value), &here.gradient, needed, interval, &mut trial.point)
    }

    /// Steps from the person to a point with slack, into `self.here`. False if none is found: there
    /// is then a most robust point nearby, or none at a finite distance.
    fn enter(&mut self, factual: &[f64], z: f64) -> bool {
        let (task, rate) = (&self.task, &self.solver.rate);
        for (j, x) in self.here.point.iter_mut().enumerate() {
            let (low, high) =
                task.actions.interval(j, factual[j]).unwrap_or((factual[j], factual[j]));
            *x = factual[j].clamp(low, high);
        }
        self.here.look(rate, z);
        let mut radius =
            (4.0 * self.here.slack.abs() / self.here.steepest().max(1e-300)).clamp(1.0, 1e12);
        for _ in 0..MAX_STEPS {
            if self.here.slack >= 0.0 {
                return true;
            }
            // A concave slack ends below its linearisation, so ask for a little more than none.
            self.propose(factual, radius, ROUNDING * self.here.scale());
            self.trial.look(rate, z);
            let gained = self.trial.slack - self.here.slack;
            let promised = self.here.predict(&self.trial.point) - self.here.slack;
            if gained > 0.0 && gained >= 0.1 * promised {
                std::mem::swap(&mut self.here, &mut self.trial);
                radius *= 2.0;
            } else {
                radius *= 0.25;
            }
            if radius <= 1e-9 * self.here.scale() || radius > 1e15 {
                break;
            }
        }
        false
    }

    /// From a point with slack to the cheapest one: steps along the linearised slack, each brought
    /// back to where there is slack.
    fn descend(&mut self, factual: &[f64], z: f64) {
        let cost = |point: &[f64]| self.task.cost.between(factual, point);
        let mut now = cost(&self.here.point);
        let mut best = self.here.point.clone();
        let mut radius = now.max(ROUNDING);
        for _ in 0..MAX_STEPS {
            if !self.propose(factual, radius, 0.0) {
                break;
            }
            let promised = now - self.task.cost.between(factual, &self.trial.point);
            if promised <= ROUNDING * now {
                break;
            }
            let then = self.bring_back(factual, z, radius);
            let saved = then.map_or(f64::NEG_INFINITY, |cost| now - cost);
            if saved >= 0.1 * promised {
                std::mem::swap(&mut self.here, &mut self.trial);
                best.copy_from_slice(&self.here.point);
                now -= saved;
                if saved >= 0.7 * promised {
                    radius *= 2.0;
                }
            } else {
                radius *= 0.4;
            }
            if radius <= ROUNDING * self.here.scale() {
                break;
            }
        }
        self.here.point.copy_from_slice(&best);
    }

    /// Raises what is asked of the linearised slack at `self.here` until there is slack at
    /// `self.trial`; the cost there, if that succeeds.
    fn bring_back(&mut self, factual: &[f64], z: f64, radius: f64) -> Option<f64> {
        let mut needed = 0.0;
        for _ in 0..12 {
            self.trial.look(&self.solver.rate, z);
            if self.trial.slack >= 0.0 {
                return Some(self.task.cost.between(factual, &self.trial.point));
            }
            needed += 0.1 * ROUNDING * self.here.scale() - self.trial.slack;
            if !self.propose(factual, radius, needed) {
                return None;
            }
        }
        None
    }

    /// The most robust point where `z` is out of reach, into `self.here`: bisects for the largest
    /// margin that is not. False if there is none.
    fn most_robust(&mut self, factual: &[f64], z: f64) -> bool {
        let (mut low, mut high) = (0.0, z);
        let mut best = None;
        for _ in 0..24 {
            let middle = 0.5 * (low + high);
            if self.enter(factual, middle) {
                low = middle;
                best = Some(self.here.point.clone());
            } else {
                high = middle;
            }
        }
        match best {
            Some(point) => self.here.point = point,
            // As close to favourable as it gets.
            None => _ = self.enter(factual, 0.0),
        }
        low > 0.0
    }

    /// The cheapest point that the model accepts as it is now, into `self.here`; false, and nothing
    /// done, if there is none. All points have about the same rate where a change of the model
    /// drowns
    /// the score.
    fn accept(&mut self, factual: &[f64]) -> bool {
        let Self { task, step, here, trial, .. } = self;
        let Some(linear) = task.model.as_linear() else { return false };
        let score = linear.score_row(factual);
        let needed = FAVOURABLE * score.abs().max(1.0);
        let interval = |j: usize| task.actions.interval(j, factual[j]);
        let subject = (factual, score);
        let found =
            step.cheapest(task, subject, linear.weights(), needed, interval, &mut trial.point);
        if found {
            std::mem::swap(here, trial);
        }
        found
    }
}

#[cfg(test)]
mod tests;
