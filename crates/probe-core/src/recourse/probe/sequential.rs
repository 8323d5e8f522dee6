//! Recourse for differentiable models: sequential linear programming on the smoothed margin.
//!
//! The problem is to minimise cost subject to $M(x) \ge z_r$, where $M = \Phi^{-1}(1-\Delta)$ is the smoothed margin: the true
//! invalidation rate, not its first-order approximation, is constrained. Each step linearises $M$ at the current point and solves the
//! rest exactly with the linear solver ([`super::linear`]): same costs, bounds, directions, groups and limits, inside a
//! trust region. $M$ and its gradient come from lines on common random numbers, so the search sees a smooth function; the
//! samples of the search never enter a certificate. A search is local, so single features are tried from the person's own
//! point afterwards: on real networks the best known answers change one feature or two.

use super::super::{Goal, Proposal, Reason, Solver, Task, Verdict, Worker};
use super::linear::Step;
use crate::error::{Error, Result};
use crate::invalidation::{Query, SmoothedMargin};
use crate::math::normal::upper_quantile;
use crate::noise::{Gaussian, NoiseOn};
use crate::seed::Purpose;
use std::sync::Arc;

/// Lines of a search step, and of its last corrections.
const COARSE: usize = 128;
const FINE: usize = 512;
const MAX_STEPS: usize = 40;

/// The search, prepared for a task.
pub(crate) struct SequentialSolver {
    task: Arc<Task>,
    /// Standard normals shared by all people and all steps.
    draws: Vec<f64>,
}

impl SequentialSolver {
    /// Fails if the model has no gradient, the noise is not Gaussian, or the noise depends on the changes.
    pub(crate) fn new(task: &Arc<Task>) -> Result<Self> {
        let unsupported = |what: String, why: &str| Err(Error::Unsupported { what, why: why.to_owned() });
        if task.model.as_differentiable().is_none() {
            return unsupported(
                format!("method probe on a {} model", task.model.name()),
                "the model has no gradient",
            );
        }
        if task.noise.as_gaussian().is_none() {
            let what =
                format!("method probe on a {} model under {} noise", task.model.name(), task.noise.name());
            return unsupported(what, "the noise must be Gaussian");
        }
        if task.noise_on == NoiseOn::Changed {
            let what = format!("noise on changed features only with a {} model", task.model.name());
            return unsupported(what, "use noise on all or mutable features");
        }
        let mut stream = task.seed.stream(Purpose::Search, 0);
        let draws = (0..FINE * task.model.n_features()).map(|_| stream.normal()).collect();
        Ok(Self { task: Arc::clone(task), draws })
    }
}

impl Solver for SequentialSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let n = self.task.model.n_features();
        let mut active = vec![false; n];
        self.task.noise_on.active_into(&self.task.actions, &[], &[], &mut active);
        Box::new(SequentialWorker {
            solver: self,
            active,
            step: Step::default(),
            gradient: vec![0.0; n],
            point: vec![0.0; n],
            trial: vec![0.0; n],
        })
    }
}

struct SequentialWorker<'a> {
    solver: &'a SequentialSolver,
    active: Vec<bool>,
    step: Step,
    gradient: Vec<f64>,
    point: Vec<f64>,
    trial: Vec<f64>,
}

/// The best feasible point so far.
struct Incumbent {
    point: Vec<f64>,
    cost: f64,
}

impl Worker for SequentialWorker<'_> {
    fn find(&mut self, factual: &[f64], goal: Goal, proposal: &mut Proposal) -> Result<()> {
        goal.check()?;
        let Goal::Rate(rate) = goal else {
            return Err(Error::Unsupported {
                what: format!("a budget with a {} model", self.solver.task.model.name()),
                why: "give a target rate instead".to_owned(),
            });
        };
        let z = upper_quantile(rate);
        let mut best = Incumbent { point: factual.to_vec(), cost: f64::INFINITY };
        let most = self.descend(factual, z, &mut best)?;
        self.try_single_features(factual, z, &mut best)?;
        if best.cost.is_finite() {
            self.settle(factual, z, &mut best)?;
            proposal.point.copy_from_slice(&best.point);
            proposal.verdict = Verdict::Reached;
        } else {
            proposal.point.copy_from_slice(&most);
            let stuck = most == factual;
            proposal.verdict =
                Verdict::Short(if stuck { Reason::NoAdmissibleMove } else { Reason::RateNotReachable });
        }
        Ok(())
    }
}

impl SequentialWorker<'_> {
    fn gaussian(&self) -> Result<&Gaussian> {
        self.solver.task.noise.as_gaussian().ok_or_else(|| Error::Unsupported {
            what: "the search".to_owned(),
            why: "the noise must be Gaussian".to_owned(),
        })
    }

    /// The smoothed margin at `x`; its gradient goes to `self.gradient`.
    fn margin(&mut self, x: &[f64], lines: usize) -> Result<f64> {
        let solver = self.solver;
        let mut gradient = std::mem::take(&mut self.gradient);
        let query =
            Query { model: &*solver.task.model, noise: &*solver.task.noise, active: &self.active, point: x };
        let margin = SmoothedMargin::new(self.gaussian()?, &solver.draws).margin_and_gradient(
            &query,
            lines,
            &mut gradient,
        );
        self.gradient = gradient;
        margin
    }

    /// Steps from the person towards the cheapest point with margin `z`; returns the most robust point seen.
    fn descend(&mut self, factual: &[f64], z: f64, best: &mut Incumbent) -> Result<Vec<f64>> {
        let task = &self.solver.task;
        self.point.copy_from_slice(factual);
        let (mut radius, mut most) = (0.5_f64, (f64::NEG_INFINITY, factual.to_vec()));
        let mut here = self.point.clone();
        let mut margin = self.margin(&here, COARSE)?;
        let mut weight = 0.0_f64;
        for _ in 0..MAX_STEPS {
            if margin > most.0 {
                most = (margin, here.clone());
            }
            let cost = task.cost.between(factual, &here);
            if margin >= z && cost < best.cost {
                *best = Incumbent { point: here.clone(), cost };
            }
            // The margin's linearisation, as seen from the person.
            let offset: f64 = (0..here.len()).map(|j| self.gradient[j] * (factual[j] - here[j])).sum();
            let interval = |j: usize| {
                let (low, high) = task.actions.interval(j, factual[j])?;
                let (near, far) = ((here[j] - radius).max(low), (here[j] + radius).min(high));
                (near <= far).then_some((near, far))
            };
            let gradient = std::mem::take(&mut self.gradient);
            let reached =
                self.step.cheapest(task, (factual, margin + offset), &gradient, z, interval, &mut self.trial);
            // A multiplier above the price of margin: the dearest feature that moves.
            for j in (0..here.len()).filter(|&j| self.trial[j] != factual[j] && gradient[j] != 0.0) {
                let price = task.cost.weight(j, self.trial[j] - factual[j]) / gradient[j].abs();
                weight = weight.max(1.5 * price.min(1e6));
            }
            let trial = self.trial.clone();
            let predicted = margin + (0..here.len()).map(|j| gradient[j] * (trial[j] - here[j])).sum::<f64>();
            self.gradient = gradient;
            let moved = (0..here.len()).map(|j| (trial[j] - here[j]).abs()).fold(0.0, f64::max);
            if moved <= 1e-7 {
                break;
            }
            let merit = |cost: f64, margin: f64| cost + weight * (z - margin).max(0.0);
            let before = merit(cost, margin);
            let new_cost = task.cost.between(factual, &trial);
            let saved = self.gradient.clone();
            let new_margin = self.margin(&trial, COARSE)?;
            let actual = before - merit(new_cost, new_margin);
            let promised = (before - merit(new_cost, predicted)).max(1e-300);
            if actual >= 0.1 * promised || (!reached && new_margin > margin) {
                here.copy_from_slice(&trial);
                margin = new_margin;
                if actual >= 0.7 * promised {
                    radius *= 1.8;
                }
                if reached && promised <= 1e-5 * before {
                    break;
                }
            } else {
                self.gradient = saved;
                radius *= 0.4;
                if radius < 1e-6 {
                    break;
                }
            }
        }
        if margin > most.0 {
            most = (margin, here.clone());
        }
        self.point.copy_from_slice(&here);
        let cost = task.cost.between(factual, &here);
        if margin >= z && cost < best.cost {
            *best = Incumbent { point: here, cost };
        } else if margin >= z - 0.5 && best.cost.is_infinite() {
            // Close: the last corrections start from here.
            *best = Incumbent { point: here, cost };
        }
        Ok(most.1)
    }

    /// The cheapest change of one feature alone, where it beats the best so far.
    fn try_single_features(&mut self, factual: &[f64], z: f64, best: &mut Incumbent) -> Result<()> {
        let task = &self.solver.task;
        if task.actions.max_changes() == Some(0) {
            return Ok(());
        }
        for j in (0..factual.len()).filter(|&j| task.actions.is_mutable_numeric(j)) {
            let Some((low, high)) = task.actions.interval(j, factual[j]) else { continue };
            for direction in [1.0, -1.0] {
                let room = if direction > 0.0 { high - factual[j] } else { factual[j] - low };
                let affordable = best.cost.min(1e3) / task.cost.weight(j, direction);
                let mut far = room.min(affordable);
                if far <= 0.0 {
                    continue;
                }
                let at = |worker: &mut Self, u: f64| {
                    let mut x = factual.to_vec();
                    x[j] = factual[j] + direction * u;
                    worker.margin(&x, COARSE)
                };
                if at(self, far)? < z {
                    continue;
                }
                let mut near = 0.0;
                for _ in 0..30 {
                    let middle = 0.5 * (near + far);
                    if at(self, middle)? >= z {
                        far = middle
                    } else {
                        near = middle
                    }
                    if far - near <= 1e-5 * far {
                        break;
                    }
                }
                let mut x = factual.to_vec();
                x[j] = factual[j] + direction * far;
                let cost = task.cost.between(factual, &x);
                if cost < best.cost && task.actions.violations(factual, &x).is_empty() {
                    *best = Incumbent { point: x, cost };
                }
            }
        }
        Ok(())
    }

    /// Moves the best point onto the target as seen by more lines: outward where it is short, back where there is slack.
    fn settle(&mut self, factual: &[f64], z: f64, best: &mut Incumbent) -> Result<()> {
        let task = &self.solver.task;
        let scaled = |share: f64| -> Vec<f64> {
            let along = |j: usize| {
                let target = factual[j] + share * (best.point[j] - factual[j]);
                match task.actions.interval(j, factual[j]) {
                    Some((low, high)) if !task.actions.is_grouped(j) => target.clamp(low, high),
                    _ => best.point[j],
                }
            };
            (0..factual.len()).map(along).collect()
        };
        let (mut inside, mut outside) = (0.0, 1.0);
        for share in [1.0, 1.02, 1.1, 1.3] {
            outside = share;
            if self.margin(&scaled(share), FINE)? >= z {
                break;
            }
            inside = share;
        }
        if inside == 0.0 {
            // Feasible as it is: how much can be taken back?
            for share in [0.99, 0.9] {
                if self.margin(&scaled(share), FINE)? < z {
                    inside = share;
                    break;
                }
                outside = share;
            }
        }
        for _ in 0..12 {
            let middle = 0.5 * (inside + outside);
            if self.margin(&scaled(middle), FINE)? >= z { outside = middle } else { inside = middle }
        }
        let point = scaled(outside);
        best.cost = task.cost.between(factual, &point);
        best.point = point;
        Ok(())
    }
}
