//! Recourse for affine scores under noise that grows with the change ([`crate::noise::Effort`]).
//!
//! The rate of a change has a closed form, and for fixed categories it is at most $r < 1/2$ iff one
//! concave function of the change is at least 0 (`program`). So the optimum is found by convex
//! optimisation, not by a search on samples. A limit on the number of changes, and noise that acts
//! on changed features only, make the problem discrete: branch and bound over the features that
//! change (`changes`). Categories and steps are chosen around it (`super::discrete`); groups stay
//! as they are here, and a change of category that was made there adds noise ([`Ask::origin`]).
//!
//! For $r \ge 1/2$ noise helps and the problem need not be convex unless $a = 0$: answers then hold
//! but are not always proven to be the cheapest.

mod changes;
mod program;

use super::super::ask::Posed;
use super::super::{Ask, Goal, Proposal, Reason, Solver, Task, Verdict, Worker};
use crate::error::{Error, Result};
use crate::invalidation::affine_rate;
use crate::math::normal::upper_quantile;
use crate::model::Linear;
use crate::noise::{Effort, NoiseOn};
use changes::Found;
use program::{Item, Program};
use std::sync::Arc;

/// A node of branch and bound takes as much of the budget as this many lines.
const LINES_OF_A_NODE: u64 = 16;
/// Scores above this, or this share of the person's, are favourable whatever rounding does.
const FAVOURABLE: f64 = 1e-9;

/// The solver, prepared for a task.
pub(super) struct EffortSolver {
    task: Arc<Task>,
}

impl EffortSolver {
    /// Fails unless the score is affine and the noise grows with the change.
    pub(super) fn new(task: &Arc<Task>) -> Result<Self> {
        parts(task)?;
        Ok(Self { task: Arc::clone(task) })
    }
}

/// The model and the noise as what this solver needs.
fn parts(task: &Task) -> Result<(&Linear, &Effort)> {
    match (task.model.as_linear(), task.noise.as_effort()) {
        (Some(linear), Some(effort)) => Ok((linear, effort)),
        _ => Err(Error::Unsupported {
            what: format!("{} noise on a {} model", task.noise.name(), task.model.name()),
            why: "this solver needs effort noise on a linear model".to_owned(),
        }),
    }
}

impl Solver for EffortSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(EffortWorker {
            task: Posed::new(&self.task),
            program: Program::default(),
            features: Vec::new(),
        })
    }
}

struct EffortWorker {
    task: Posed,
    program: Program,
    /// The feature of each item.
    features: Vec<usize>,
}

impl Worker for EffortWorker {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let goal = ask.aim();
        goal.check()?;
        self.task.turn_to(ask);
        let Goal::Rate(rate) = goal else {
            return Err(Error::Unsupported {
                what: "a budget in the inner solver for effort noise".to_owned(),
                why: "give a target rate instead".to_owned(),
            });
        };
        proposal.point.copy_from_slice(ask.factual);
        proposal.forget();
        if !self.pose(ask, rate)? {
            proposal.verdict = Verdict::Short(Reason::InfeasibleWithinBounds);
            proposal.proven = true;
            return Ok(());
        }
        let norm = self.task.cost.norm();
        let solved = changes::solve(&self.program, norm, self.task.actions.max_changes());
        ask.budget.spend(LINES_OF_A_NODE * solved.nodes as u64);
        for (&j, d) in self.features.iter().zip(&solved.change) {
            let x = ask.factual[j];
            if *d != 0.0
                && let Some((low, high)) = self.task.actions.interval(j, x)
            {
                proposal.point[j] = (x + d).clamp(low, high);
            }
        }
        proposal.proven = solved.proven;
        proposal.lower_bound = norm.finish(solved.bound) * (1.0 - FAVOURABLE);
        proposal.verdict = match solved.found {
            Found::Enough => Verdict::Reached,
            Found::Stopped => Verdict::Short(Reason::SearchLimit),
            Found::Nothing => Verdict::Short(self.why_short(&solved.change)),
        };
        Ok(())
    }

    fn rate_at(&mut self, from: &[f64], to: &[f64], _lines: usize) -> Result<f64> {
        let (linear, _) = parts(&self.task)?;
        let mut active = vec![false; to.len()];
        self.task.noise_on.active_into(&self.task.actions, from, to, &mut active);
        let Some(noise) = self.task.noise.at(from, to)? else { return Ok(1.0) };
        let along = linear.weights();
        let (mean, sd) =
            (noise.mean_along(along, |j| active[j]), noise.sd_along(along, |j| active[j]));
        Ok(affine_rate(linear.score_row(to), mean, sd))
    }

    fn serves_own_costs(&self) -> bool {
        true
    }
}

impl EffortWorker {
    /// Prepares the program of a person; false if no point is admissible.
    fn pose(&mut self, ask: &Ask<'_>, rate: f64) -> Result<bool> {
        let (task, factual) = (&*self.task, ask.factual);
        let origin = ask.origin.unwrap_or(factual);
        let (linear, effort) = parts(task)?;
        let score = linear.score_row(factual);
        let program = &mut self.program;
        program.items.clear();
        self.features.clear();
        (program.score, program.mean, program.variance) = (score, score, 0.0);
        program.least_score = (FAVOURABLE * score.abs().max(1.0)).max(ask.least_score);
        program.z = upper_quantile(rate);
        // What the noise acts on; on changed features only, this is decided per item.
        let mut active = vec![false; factual.len()];
        let if_changed = task.noise_on == NoiseOn::Changed;
        task.noise_on.active_into(&task.actions, origin, factual, &mut active);
        for (j, &w) in linear.weights().iter().enumerate() {
            let noisy = active[j] || if_changed && !task.actions.is_grouped(j);
            let on = f64::from(u8::from(noisy));
            let own = on * (w * effort.sd(j)).powi(2);
            let (gain, growth) =
                (w * (1.0 + on * effort.shift()), on * (w * effort.rho(j)).powi(2));
            let before = factual[j] - origin[j];
            program.mean += (gain - w) * before;
            program.variance += growth * before * before + if if_changed { 0.0 } else { own };
            if task.actions.is_grouped(j) {
                continue;
            }
            let Some((low, high)) = task.actions.interval(j, factual[j]) else { return Ok(false) };
            let (low, high) = (low - factual[j], high - factual[j]);
            let (forced, helps) = (low > 0.0 || high < 0.0, w != 0.0 && low < high);
            if forced || helps {
                let (up, down) = (task.cost.weight(j, 1.0), task.cost.weight(j, -1.0));
                let fixed = if if_changed { own } else { 0.0 };
                program.items.push(Item { score: w, gain, growth, fixed, low, high, up, down });
                self.features.push(j);
            }
        }
        let spread = (program.z.abs() * program.variance.sqrt()).max(score.abs());
        program.ulps = 32.0 * f64::EPSILON * spread.max(program.mean.abs());
        Ok(true)
    }

    /// Which constraint stands in the way, given the most robust change that was found.
    fn why_short(&self, most: &[f64]) -> Reason {
        let program = &self.program;
        let can_move = |it: &Item| (it.low < 0.0 || it.high > 0.0) && it.score != 0.0;
        let reached =
            program.items.iter().zip(most).fold(program.score, |s, (it, d)| s + it.score * d);
        let best = |it: &Item| (it.score * it.low).max(it.score * it.high);
        let all: f64 = program.items.iter().map(best).sum::<f64>() + program.score;
        if !program.items.iter().any(can_move) && program.score <= 0.0 {
            Reason::NoAdmissibleMove
        } else if reached > program.least_score {
            Reason::RateNotReachable
        } else if all > 0.0 && self.task.actions.max_changes().is_some() {
            Reason::InfeasibleWithinMaxChanges
        } else if all > 0.0 {
            Reason::RateNotReachable
        } else {
            Reason::InfeasibleWithinBounds
        }
    }
}
