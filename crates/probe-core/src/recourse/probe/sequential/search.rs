//! One thread's search: generators propose, one descent improves, a polish confirms.

use super::generators::{Covered, FURTHER, Generator, STAGES};
use super::incumbent::{Confirmed, Incumbent};
use super::margin::{Margin, Place};
use super::problem::{Precision, Problem};
use super::tuning::Tuning;
use super::{COARSE, DOUBT, GLANCE, SequentialSolver};
use crate::error::Result;
use crate::noise::NoiseOn;
use crate::recourse::ask::Posed;
use crate::recourse::probe::linear::Step;
use crate::recourse::{Proposal, Reason, Report, SearchEffort, Task, Verdict, infeasibility};

/// One thread's search.
pub(super) struct Search<'a> {
    solver: &'a SequentialSolver,
    pub task: Posed,
    pub margin: Box<dyn Margin + 'a>,
    pub tuning: Tuning,
    /// Where noise on changed features acts, and then what may change.
    pub support: Vec<bool>,
    pub step: Step,
    /// Gradient at the last point that was measured.
    pub gradient: Vec<f64>,
    /// A gradient of the margin from nearby, for the direction of lines; empty if there is none.
    pub hint: Vec<f64>,
    pub trial: Vec<f64>,
    /// Variance of the lines at the last point that was measured, and whether the model accepts
    /// that point.
    pub variance: f64,
    pub favourable: bool,
    /// Its margin less the target, whether or not the model accepts it.
    pub excess: f64,
    /// What was covered last, for the same person.
    pub covered: Option<Covered>,
}

impl<'a> Search<'a> {
    pub(super) fn new(solver: &'a SequentialSolver) -> Result<Self> {
        let task = &*solver.task;
        let n = task.model.n_features();
        let margin = solver.pool.margin(task, solver.noise(), solver.active.as_deref())?;
        let mut search = Self {
            solver,
            task: Posed::new(&solver.task),
            tuning: margin.tuning(),
            margin,
            support: solver.active.clone().unwrap_or_else(|| vec![true; n]),
            step: Step::default(),
            gradient: vec![0.0; n],
            hint: Vec::new(),
            trial: vec![0.0; n],
            variance: 0.0,
            favourable: false,
            excess: 0.0,
            covered: None,
        };
        if search.has_only_few_numbers() {
            search.tuning.stay_close();
        }
        Ok(search)
    }

    /// Finds the cheapest point of the problem's rate. Returns the rate it aimed at, which is
    /// closer to the target where that pays.
    pub(super) fn search(&mut self, problem: Problem<'_>, proposal: &mut Proposal) -> Result<f64> {
        let mut best =
            Incumbent::new(problem.factual, 5.0 * self.tuning.precision.max(self.tuning.noise));
        let mut found = Confirmed::new(problem);
        if problem.budget.is_first() {
            self.covered = None;
        }
        self.free_support();
        for stage in STAGES {
            self.run_stage(stage, problem, &mut best, &mut found)?;
            if found.reached {
                break;
            }
        }
        if found.reached && problem.effort == SearchEffort::Thorough {
            let mut further = Confirmed::new(problem);
            best.measure_again_at(
                &found.point,
                self.task.cost.between(problem.factual, &found.point),
            );
            self.run_stage(FURTHER, problem, &mut best, &mut further)?;
            found.take_cheaper(further, |x| self.task.cost.between(problem.factual, x));
        }
        proposal.verdict = match found.reached {
            true => Verdict::Reached,
            false => Verdict::Short(self.fall_short(problem, &best, &mut found.point)?),
        };
        proposal.report = Report::of(found.source);
        proposal.point.copy_from_slice(&found.point);
        Ok(found.rate)
    }

    /// Runs generators, then polishes the best of what they found until one of them is confirmed.
    fn run_stage(
        &mut self,
        stage: &[&dyn Generator],
        problem: Problem<'_>,
        best: &mut Incumbent,
        found: &mut Confirmed,
    ) -> Result<()> {
        let left_out = self.task.left_out;
        for generator in stage.iter().filter(|g| Some(g.name()) != left_out) {
            if best.may_begin(problem.budget) && generator.applies(self, problem, best) {
                best.begin(generator.name());
                generator.propose(self, problem, best)?;
            }
        }
        while !found.reached && best.next_unverified() {
            found.rate = problem.aim;
            found.reached = self.polish(problem, &mut found.rate, &mut found.point, best)?;
        }
        if found.reached {
            found.source = best.source;
            for generator in stage.iter().filter(|g| g.name() == best.last_polished) {
                generator.finish(self, problem, found.rate, &mut found.point)?;
            }
        }
        Ok(())
    }

    /// The point that comes nearest to the target, into `here`, and why it falls short.
    fn fall_short(
        &self,
        problem: Problem<'_>,
        best: &Incumbent,
        here: &mut [f64],
    ) -> Result<Reason> {
        here.copy_from_slice(&best.most_robust);
        let good = self.is_admissible(problem.factual, here) && self.task.model.score(here)? > 0.0;
        if !good && !best.best_accepted.1.is_empty() {
            here.copy_from_slice(&best.best_accepted.1);
        }
        self.infeasibility(problem.factual, here)
    }

    /// Why a search ended at `here`, short of its target.
    fn infeasibility(&self, factual: &[f64], here: &[f64]) -> Result<Reason> {
        let task = self.task();
        if task.model.score(here)? > 0.0 {
            return Ok(Reason::RateNotReachable);
        }
        if let Some(linear) = task.model.as_linear() {
            return Ok(infeasibility::of_affine(linear, factual, &task.actions));
        }
        Ok(self.margin.infeasibility(factual, &task.actions).unwrap_or(Reason::NotFound))
    }

    /// The most robust point within a budget: the same steps, with cost and margin in each other's
    /// place.
    pub(super) fn spend(
        &mut self,
        problem: Problem<'_>,
        budget: f64,
        proposal: &mut Proposal,
    ) -> Result<()> {
        self.free_support();
        let factual = problem.factual;
        let mut here = factual.to_vec();
        self.ascend(problem, budget, Precision::FirstOrder, &mut here)?;
        let mut slack = self.ascend(problem, budget, Precision::Lines(COARSE), &mut here)?;
        if self.depends_on_changes() {
            self.restrict_support(factual, &here);
            slack = self.ascend(problem, budget, Precision::Lines(COARSE), &mut here)?;
        }
        // From every single feature that gives more for the budget.
        let mut start = factual.to_vec();
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                let Some(room) = self.room(factual, j, way) else { continue };
                let u = room.min(budget / self.task.cost.weight(j, way));
                start.copy_from_slice(factual);
                start[j] += way * u;
                self.restrict_support(factual, &start);
                if !self.is_admissible(factual, &start)
                    || self.slack(problem, &start, Precision::Lines(GLANCE))? <= slack - DOUBT
                {
                    continue;
                }
                let more = self.ascend(problem, budget, Precision::Lines(COARSE), &mut start)?;
                if more > slack {
                    slack = more;
                    here.copy_from_slice(&start);
                }
            }
        }
        let stuck = slack.is_finite() && here == factual && budget > 0.0;
        proposal.verdict =
            if stuck { Verdict::Short(Reason::NoAdmissibleMove) } else { Verdict::Reached };
        proposal.point.copy_from_slice(&here);
        Ok(())
    }

    pub(super) fn task(&self) -> &Task {
        &self.task
    }

    pub(super) fn depends_on_changes(&self) -> bool {
        self.solver.active.is_none()
    }

    /// Whether [`Margin::rates_along`] knows rates.
    pub(super) fn has_profiles(&self) -> bool {
        self.margin.has_profiles() && !self.depends_on_changes()
    }

    /// Every feature may move.
    pub(super) fn free_support(&mut self) {
        let task = &self.task;
        if self.solver.active.is_none() {
            NoiseOn::Mutable.active_into(&task.actions, &[], &[], &mut self.support);
        }
        self.hint.clear();
    }

    /// Under noise on changed features, only those that differ may move from here on.
    pub(super) fn restrict_support(&mut self, factual: &[f64], to: &[f64]) {
        if self.solver.active.is_none() {
            let task = &self.task;
            task.noise_on.active_into(&task.actions, factual, to, &mut self.support);
            self.hint.clear();
        }
    }

    /// Margin less the problem's at `x`; its gradient goes to `self.gradient`. A point that is not
    /// favourable itself has no slack, whatever the rate: then score over deviation counts.
    pub(super) fn slack(
        &mut self,
        problem: Problem<'_>,
        x: &[f64],
        look: Precision,
    ) -> Result<f64> {
        let slack = self.slack_of(problem, x, look)?;
        if !(slack.is_finite() && self.gradient.iter().all(|g| g.is_finite())) {
            // Numbers too large for the model: nowhere to go from here.
            self.gradient.fill(0.0);
        }
        Ok(if slack.is_finite() { slack } else { -1e9 })
    }

    fn slack_of(&mut self, problem: Problem<'_>, x: &[f64], look: Precision) -> Result<f64> {
        let hint =
            (!self.hint.is_empty() && look != Precision::FirstOrder).then_some(&self.hint[..]);
        problem.budget.spend(self.tuning.lines_of(look));
        let place = Place { from: problem.origin, to: x, active: &self.support };
        let seen = self.margin.slack(place, problem.z, look, hint, &mut self.gradient)?;
        (self.variance, self.favourable) = (seen.variance, seen.favourable);
        self.excess = if seen.excess.is_nan() { -1e9 } else { seen.excess };
        Ok(seen.slack)
    }

    /// How far feature `j` alone may move, up or down; `None` if not at all.
    pub(super) fn room(&self, factual: &[f64], j: usize, way: f64) -> Option<f64> {
        let task = self.task();
        if !task.actions.is_mutable_numeric(j) || task.actions.max_changes() == Some(0) {
            return None;
        }
        let (low, high) = task.actions.interval_alone(j, factual)?;
        let room = if way > 0.0 { high - factual[j] } else { factual[j] - low };
        (room > 0.0).then_some(room)
    }

    pub(super) fn is_admissible(&self, factual: &[f64], x: &[f64]) -> bool {
        self.task().actions.violations(factual, x).is_empty()
    }

    /// What feature `j` may become within `radius` of `here`.
    pub(super) fn interval(
        &self,
        factual: &[f64],
        here: &[f64],
        radius: f64,
        j: usize,
    ) -> Option<(f64, f64)> {
        let (low, high) = self.task().actions.interval(j, factual[j])?;
        if self.depends_on_changes() && !self.support[j] {
            return Some((here[j], here[j]));
        }
        let (near, far) = ((here[j] - radius).max(low), (here[j] + radius).min(high));
        (near <= far).then_some((near, far))
    }
}
