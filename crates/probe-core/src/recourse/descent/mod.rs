//! The paper's algorithms: descent on equation 3 until a point is robust enough.
//!
//! $$\mathcal{L}(x') = \lambda_1\max(0, \hat\Delta(x') - r) + \lambda_2\,\ell\big(s(x')\big) +
//! \lambda_3\,d_c(x, x')$$
//!
//! from $x' = x$, for one $\lambda_3$ after the other, until $\hat\Delta(x') \le r$ and $s(x') >
//! 0$. They differ in $\hat\Delta$ only: [`super::probe_gradient`] has Theorem 1,
//! [`super::probe_mc`] the sigmoid estimate, [`super::probe_tree`] Theorem 2 on a tree distilled
//! from the model. They are for comparisons: each stops at its first acceptable iterate, however
//! expensive it is, and its rate is not the true one.
//!
//! Source: PROBE, arXiv:2203.06768, equation 3, Algorithms 1 and 2; defaults are those of the
//! authors' released procedure ($\lambda_1 = 3$, squared error of the probability, Adam with
//! AMSGrad at 0.07, 1,000 steps). What differs and why:
//! - The loop continues while the rate is too high *or* the score is not favourable, as in the
//!   paper's text. The printed algorithm ends at the first change of label; `loop=printed` does so.
//! - $\lambda_3$ takes the values of the paper's grid, largest first, each starting from $x$; it
//!   never becomes negative, which would reward distance.
//! - The rate that ends the loop is the rate in the objective, compared with $r$ itself; there are
//!   no fresh samples in between and no allowance.
//! - Steps are counted, not timed. If they end without success, the answer says so.
//! - Each iterate is projected onto the action space; one-hot groups stay as they are.
//!
//! `preset=paper-text` is the paper's appendix: $\lambda_1 = 2$, $\lambda_2 = 1$, squared error of
//! the score to $s = 0$. Its loss pulls the score to the boundary while the hinge pushes it away;
//! for an affine score the two balance at the margin $m$ with $\lambda_1\varphi(m)/m = 2\lambda_2
//! q^2$, so that most targets cannot be reached (`tests::paper_text_balances_short_of_the_target`).
//!
//! Cost per step: one gradient and one Hessian-vector product (Algorithm 1), one gradient per
//! sample (Algorithm 2), or one walk through the tree.

mod params;

pub(super) use params::{Loss, NAMES, Params};

use super::reach::Reach;
use super::{Ask, Goal, Proposal, Reason, Task, Verdict, Worker};
use crate::error::{Error, Result};
use crate::math::adam::Adam;
use crate::model::Differentiable;
use params::{Keep, Loop};

/// Score and rate of a point, with their gradients.
pub(super) struct Local {
    pub(super) score: f64,
    pub(super) rate: f64,
    pub(super) score_gradient: Vec<f64>,
    pub(super) rate_gradient: Vec<f64>,
}

/// Where the rate in the objective comes from.
pub(super) trait RateSource {
    /// Called once per person.
    fn begin(&mut self, factual: &[f64]) -> Result<()>;

    /// Fills in `local` at `point`, with noise on the `active` features.
    fn evaluate(&mut self, point: &[f64], active: &[bool], local: &mut Local) -> Result<()>;
}

/// Fails if a descent along the model's gradient cannot solve the task.
pub(super) fn check(method: &str, task: &Task) -> Result<()> {
    check_limits(method, task)?;
    differentiable(method, task).map(drop)
}

/// Fails if the task limits the number of changes, which the method does not support.
pub(super) fn check_limits(method: &str, task: &Task) -> Result<()> {
    task.check()?;
    if task.actions.max_changes().is_some() {
        return Err(Error::Unsupported {
            what: format!("a limit on the number of changes with method {method}"),
            why: "the method has none; use method probe".to_owned(),
        });
    }
    Ok(())
}

/// The model's gradient. Fails where it has none.
pub(super) fn differentiable<'a>(method: &str, task: &'a Task) -> Result<&'a dyn Differentiable> {
    task.model.as_differentiable().ok_or_else(|| Error::Unsupported {
        what: format!("method {method} on a {} model", task.model.name()),
        why: "the model has no gradient".to_owned(),
    })
}

/// One thread's descent.
pub(super) struct Descent<'a, S> {
    task: &'a Task,
    params: &'a Params,
    source: S,
    adam: Adam,
    local: Local,
    active: Vec<bool>,
    gradient: Vec<f64>,
    cost_gradient: Vec<f64>,
    reach: Reach,
    point: Vec<f64>,
}

impl<'a, S: RateSource> Descent<'a, S> {
    pub(super) fn new(task: &'a Task, params: &'a Params, source: S) -> Self {
        let n = task.model.n_features();
        let zeros = || vec![0.0; n];
        Self {
            task,
            params,
            source,
            adam: Adam::amsgrad(n, params.learning_rate),
            local: Local { score: 0.0, rate: 1.0, score_gradient: zeros(), rate_gradient: zeros() },
            active: vec![false; n],
            gradient: zeros(),
            cost_gradient: zeros(),
            reach: Reach::new(n),
            point: zeros(),
        }
    }

    /// Starts a person; fails with the reason if no change is admissible.
    fn make_room(&mut self, factual: &[f64]) -> Result<(), Reason> {
        self.reach.turn_to(&self.task.actions, factual)?;
        if self.reach.allows_a_move(factual) { Ok(()) } else { Err(Reason::NoAdmissibleMove) }
    }

    /// Equation 3 at `self.point`; its gradient goes to `self.gradient`, zero where a feature may
    /// not move.
    fn objective(&mut self, factual: &[f64], target: f64, lambda3: f64) -> Result<f64> {
        let Self { task, params, local, .. } = self;
        task.noise_on.active_into(&task.actions, factual, &self.point, &mut self.active);
        self.source.evaluate(&self.point, &self.active, local)?;
        let (loss, slope) = params.loss.at(local.score);
        let excess = local.rate - target;
        let hinge = if excess > 0.0 { params.lambda1 } else { 0.0 };
        task.cost.subgradient(factual, &self.point, &mut self.cost_gradient);
        for (j, g) in self.gradient.iter_mut().enumerate() {
            *g = if self.reach.is_open(j) {
                hinge * local.rate_gradient[j]
                    + params.lambda2 * slope * local.score_gradient[j]
                    + lambda3 * self.cost_gradient[j]
            } else {
                0.0
            };
        }
        let cost = task.cost.between(factual, &self.point);
        Ok(params.lambda1 * excess.max(0.0) + params.lambda2 * loss + lambda3 * cost)
    }

    /// Whether the loop may end at `self.local`.
    fn may_stop(&self, target: f64) -> bool {
        let (robust, favourable) = (self.local.rate <= target, self.local.score > 0.0);
        match self.params.stop {
            Loop::Text => robust && favourable,
            Loop::Printed => robust || favourable,
        }
    }

    /// Steps from `factual` for one $\lambda_3$, remembering what it meets in `seen`.
    fn descend(
        &mut self,
        factual: &[f64],
        target: f64,
        lambda3: f64,
        seen: &mut Seen,
    ) -> Result<()> {
        self.point.copy_from_slice(factual);
        self.reach.confine(&mut self.point);
        self.adam.reset();
        for step in 0..=self.params.steps {
            self.objective(factual, target, lambda3)?;
            seen.note_robust(&self.local, &self.point);
            if self.may_stop(target) {
                let cost = self.task.cost.between(factual, &self.point);
                let reached = self.local.rate <= target && self.local.score > 0.0;
                seen.note_accepted(cost, reached, self.local.rate, &self.point);
                if self.params.keep == Keep::First {
                    return Ok(());
                }
            }
            let flat = step == 0 && self.gradient.iter().all(|g| *g == 0.0);
            if flat || self.gradient.iter().any(|g| !g.is_finite()) {
                // The gradient is zero, or not finite.
                return Ok(());
            }
            if step < self.params.steps {
                self.adam.step(&mut self.point, &self.gradient);
                self.reach.confine(&mut self.point);
            }
        }
        Ok(())
    }
}

impl<S: RateSource> Worker for Descent<'_, S> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let (factual, goal) = (ask.factual, ask.aim());
        goal.check()?;
        let Goal::Rate(target) = goal else {
            return Err(Error::Unsupported {
                what: "a budget with a method that descends to a rate".to_owned(),
                why: "give a target rate instead, or use method probe".to_owned(),
            });
        };
        if let Err(reason) = self.make_room(factual) {
            proposal.point.copy_from_slice(factual);
            proposal.verdict = Verdict::Short(reason);
            proposal.report.claimed_rate = None;
            return Ok(());
        }
        self.source.begin(factual)?;
        let mut seen = Seen::default();
        let params = self.params;
        for &lambda3 in &params.lambda3 {
            self.descend(factual, target, lambda3, &mut seen)?;
            if params.keep == Keep::First && seen.accepted.is_some() {
                break;
            }
        }
        let (reached, rate, point) = match seen.accepted {
            Some(Accepted { reached, rate, point, .. }) => (reached, Some(rate), point),
            None => match seen.robust {
                Some((_, rate, point)) => (false, Some(rate), point),
                None => (false, None, factual.to_vec()),
            },
        };
        proposal.point.copy_from_slice(&point);
        proposal.verdict =
            if reached { Verdict::Reached } else { Verdict::Short(Reason::NotFound) };
        proposal.report.claimed_rate = rate;
        Ok(())
    }

    fn retries(&self) -> bool {
        false
    }
}

/// What a search has found so far.
#[derive(Default)]
struct Seen {
    /// Score, rate and point of the most robust iterate: favourable with the lowest rate, else with
    /// the highest score.
    robust: Option<(f64, f64, Vec<f64>)>,
    /// The cheapest iterate at which the loop may end.
    accepted: Option<Accepted>,
}

struct Accepted {
    cost: f64,
    /// Whether it meets the goal.
    reached: bool,
    rate: f64,
    point: Vec<f64>,
}

impl Seen {
    fn note_robust(&mut self, local: &Local, point: &[f64]) {
        let (score, rate) = (local.score, local.rate);
        match &mut self.robust {
            Some((best_score, best_rate, best)) => {
                let better = match (score > 0.0, *best_score > 0.0) {
                    (true, true) => rate < *best_rate,
                    (favourable, was) if favourable == was => score > *best_score,
                    (favourable, _) => favourable,
                };
                if better {
                    (*best_score, *best_rate) = (score, rate);
                    best.copy_from_slice(point);
                }
            }
            none => *none = Some((score, rate, point.to_vec())),
        }
    }

    fn note_accepted(&mut self, cost: f64, reached: bool, rate: f64, point: &[f64]) {
        match &mut self.accepted {
            Some(best) => {
                if cost < best.cost {
                    (best.cost, best.reached, best.rate) = (cost, reached, rate);
                    best.point.copy_from_slice(point);
                }
            }
            none => *none = Some(Accepted { cost, reached, rate, point: point.to_vec() }),
        }
    }
}

#[cfg(test)]
mod tests;
