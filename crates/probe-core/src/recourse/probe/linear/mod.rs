//! Exact recourse for affine scores.
//!
//! With $s(x) = w^\top x + b$ and $\varepsilon \sim N(\mu, \Sigma)$ the rate at $x + \delta$ is at
//! most $r$ iff $w^\top\delta \ge z_r\sqrt{w^\top\Sigma w} - w^\top\mu - s(x)$, with $z_r =
//! \Phi^{-1}(1-r)$: one linear inequality. Each feature then is an item with a gain $|w_j|$ per
//! unit, a cost and a cap (`reduced`). Without discrete parts the norm itself knows the cheapest
//! way ([`crate::cost::Norm::cheapest`], O(d) or one sort). With one-hot groups, a limit on the
//! number of changes, or noise on the changed features only (then the right side depends on which
//! features change), `l1` and `l2` are solved by branch and bound (`branch`) and `linf` by
//! bisection over exact subset problems (`minimax`). All of them return an optimum, not an
//! approximation.

mod branch;
mod minimax;
mod program;
mod reduced;
mod step;
mod subset;

use super::super::ask::Posed;
use super::super::{Ask, Goal, Proposal, Reason, Solver, Task, Verdict, Worker};
use crate::cost::{Cost, Norm, Scratch};
use crate::error::{Error, Result};
use crate::invalidation::affine_rate;
use crate::math::normal::upper_quantile;
use crate::noise::NoiseOn;
use reduced::{Layout, Reduced, Requirement, Solution};
use std::sync::Arc;
pub(super) use step::Step;

/// A node of branch and bound takes as much of the budget as this many lines.
const LINES_OF_A_NODE: u64 = 4;

/// The exact solver, prepared for a task.
pub struct LinearSolver {
    task: Arc<Task>,
    layout: Layout,
    /// Standard deviation and mean of the score's noise; the deviation depends on the changes under
    /// [`NoiseOn::Changed`].
    sd: f64,
    shift: f64,
}

impl LinearSolver {
    /// Fails if the model is not affine, the noise not Gaussian, or the combination has no exact
    /// solver.
    pub fn new(task: &Arc<Task>) -> Result<Self> {
        let unsupported =
            |what: String, why: &str| Error::Unsupported { what, why: why.to_owned() };
        let linear = task.model.as_linear().ok_or_else(|| {
            unsupported(
                format!("the exact linear solver on a {} model", task.model.name()),
                "the score must be affine",
            )
        })?;
        let gaussian = task.noise.as_gaussian().ok_or_else(|| {
            unsupported(
                format!("the exact linear solver under {} noise", task.noise.name()),
                "the noise must be Gaussian",
            )
        })?;
        let (mut sd, mut shift) = (0.0, 0.0);
        if task.noise_on == NoiseOn::Changed {
            if gaussian.mean().iter().any(|&m| m != 0.0) {
                return Err(unsupported(
                    "noise with a mean on changed features only".to_owned(),
                    "an arbitrarily small change would buy the whole mean, so no cheapest answer \
                     exists; use noise on all or mutable features",
                ));
            }
            if !gaussian.is_diagonal() {
                return Err(unsupported(
                    "correlated noise on changed features only".to_owned(),
                    "an arbitrarily small change of a feature with offsetting noise would lower \
                     the rate, so no cheapest answer may exist; use independent noise, or noise on \
                     all or mutable features",
                ));
            }
        } else {
            let mut active = vec![false; linear.weights().len()];
            task.noise_on.active_into(&task.actions, &[], &[], &mut active);
            sd = gaussian.sd_along(linear.weights(), |j| active[j]);
            shift = gaussian.mean_along(linear.weights(), |j| active[j]);
        }
        Ok(Self { layout: layout_of(task, &task.cost), task: Arc::clone(task), sd, shift })
    }

    /// The score that a `rate` with quantile `z` requires, for a person whose score is `score` now.
    /// It is at least `least`.
    fn requirement(&self, (rate, z): (f64, f64), score: f64, least: f64) -> Result<Requirement> {
        let changed = self.task.noise_on == NoiseOn::Changed;
        if changed && rate >= 0.5 {
            return Err(Error::Unsupported {
                what: format!("r = {rate} with noise on changed features only"),
                why: "it needs r < 0.5".to_owned(),
            });
        }
        Ok(Requirement::new(z, self.sd, self.shift, score, changed).at_least(least))
    }
}

impl Solver for LinearSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(LinearWorker {
            solver: self,
            task: Posed::new(&self.task),
            layout: None,
            reduced: Reduced::default(),
            scratch: Scratch::default(),
            solution: Solution::default(),
            quantile: (f64::NAN, f64::NAN),
            least_score: f64::NEG_INFINITY,
        })
    }
}

struct LinearWorker<'a> {
    solver: &'a LinearSolver,
    task: Posed,
    /// For a person with their own costs.
    layout: Option<Layout>,
    reduced: Reduced,
    scratch: Scratch,
    solution: Solution,
    /// The last rate that was asked for, and its quantile.
    quantile: (f64, f64),
    /// The last [`Ask::least_score`].
    least_score: f64,
}

impl Worker for LinearWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let (factual, goal) = (ask.factual, ask.aim());
        goal.check()?;
        self.pose(ask);
        if let Goal::Rate(rate) = goal
            && self.fill_in_order(factual, rate, proposal)?
        {
            return Ok(());
        }
        if let Err(reason) = self.reduce(factual) {
            return self.impossible(factual, reason, proposal);
        }
        if self.task.actions.has_sums() {
            return self.find_tied(factual, goal, proposal);
        }
        match goal {
            Goal::Rate(rate) => self.reach(factual, rate, proposal)?,
            Goal::Budget(budget) => self.spend(factual, budget, proposal)?,
        }
        ask.budget.spend(LINES_OF_A_NODE * self.solution.nodes as u64);
        Ok(())
    }

    fn frontier(
        &mut self,
        ask: &Ask<'_>,
        rates: &[f64],
        proposal: &mut Proposal,
        each: &mut dyn FnMut(usize, &mut Proposal) -> Result<()>,
    ) -> Result<()> {
        let factual = ask.factual;
        self.pose(ask);
        // One reduction and one sort serve every rate.
        let impossible = self.reduce(factual).err();
        for (i, &rate) in rates.iter().enumerate() {
            Goal::Rate(rate).check()?;
            match impossible {
                Some(reason) => self.impossible(factual, reason, proposal)?,
                None if self.task.actions.has_sums() => {
                    self.find_tied(factual, Goal::Rate(rate), proposal)?;
                }
                None => self.reach(factual, rate, proposal)?,
            }
            each(i, proposal)?;
        }
        Ok(())
    }

    fn rate_at(&mut self, from: &[f64], to: &[f64], _lines: usize) -> Result<f64> {
        let (Some(linear), Some(gaussian)) =
            (self.task.model.as_linear(), self.task.noise.as_gaussian())
        else {
            return Ok(1.0);
        };
        let score = linear.score_row(to);
        if self.task.noise_on != NoiseOn::Changed {
            return Ok(affine_rate(score, self.solver.shift, self.solver.sd));
        }
        let mut active = vec![false; to.len()];
        self.task.noise_on.active_into(&self.task.actions, from, to, &mut active);
        Ok(affine_rate(score, 0.0, gaussian.sd_along(linear.weights(), |j| active[j])))
    }

    fn serves_own_costs(&self) -> bool {
        true
    }
}

impl LinearWorker<'_> {
    fn pose(&mut self, ask: &Ask<'_>) {
        self.least_score = ask.least_score;
        if self.task.turn_to(ask) {
            self.layout = Some(layout_of(&self.solver.task, &self.task.cost));
        }
    }

    /// `rate` with its quantile, which is cached because all people ask for the same rate.
    fn quantile(&mut self, rate: f64) -> (f64, f64) {
        if rate != self.quantile.0 {
            self.quantile = (rate, upper_quantile(rate));
        }
        self.quantile
    }

    /// A fast path of [`LinearWorker::reach`] that gives the same bits: moves features one by one,
    /// in an order that is the same for all people, until the requirement is met. Does nothing and
    /// returns false if this does not apply or is not enough.
    fn fill_in_order(
        &mut self,
        factual: &[f64],
        rate: f64,
        proposal: &mut Proposal,
    ) -> Result<bool> {
        let quantile = self.quantile(rate);
        let Self { solver, task, layout, least_score, .. } = self;
        let layout = layout.as_ref().unwrap_or(&solver.layout);
        let Some(linear) = task.model.as_linear() else { return Ok(false) };
        if !(task.actions.is_plain() && task.cost.norm().is_linear() && layout.is_plain()) {
            return Ok(false);
        }
        let score = linear.score_row(factual);
        let needed = solver.requirement(quantile, score, *least_score)?.score(0.0) - score;
        let reached = layout.fill(
            factual,
            needed,
            |j| task.actions.interval(j, factual[j]),
            &mut proposal.point,
        );
        if reached {
            (proposal.verdict, proposal.proven) = (Verdict::Reached, true);
        }
        Ok(reached)
    }

    /// Reduces the person to items, sorted once.
    fn reduce(&mut self, factual: &[f64]) -> Result<(), Reason> {
        let Self { solver, task, layout, reduced, scratch, .. } = self;
        let layout = layout.as_ref().unwrap_or(&solver.layout);
        let score = task.model.as_linear().map_or(f64::NAN, |linear| linear.score_row(factual));
        let interval = |j: usize| task.actions.interval(j, factual[j]);
        layout.reduce_into(task, factual, score, interval, reduced)?;
        if reduced.is_plain() {
            task.cost.norm().prepare(&reduced.items, scratch);
        }
        Ok(())
    }

    /// [`Worker::find`] where sums of features are limited.
    fn find_tied(&mut self, factual: &[f64], goal: Goal, proposal: &mut Proposal) -> Result<()> {
        let quantile = match goal {
            Goal::Rate(rate) => self.quantile(rate),
            Goal::Budget(_) => self.quantile,
        };
        let task = &*self.task;
        let Some(linear) = task.model.as_linear() else { return Ok(()) };
        let (weights, score) = (linear.weights(), self.reduced.score);
        let interval = |j: usize| task.actions.interval(j, factual[j]);
        // With switches, the search may stop at its node limit.
        let complete = task.actions.max_changes().is_none();
        (proposal.proven, proposal.lower_bound) = (false, 0.0);
        let mut needed = f64::INFINITY;
        let budget = match goal {
            Goal::Rate(_) => {
                let least = self.least_score;
                needed = self.solver.requirement(quantile, score, least)?.score(0.0) - score;
                let found = program::cheapest(
                    task,
                    factual,
                    weights,
                    needed,
                    interval,
                    &mut proposal.point,
                );
                if found != Found::Nothing {
                    proposal.verdict = Verdict::Reached;
                    let cost = task.cost.between(factual, &proposal.point);
                    proposal.proven = complete && task.cost.norm().is_linear();
                    proposal.lower_bound = if complete { program::least(task, cost) } else { 0.0 };
                    return Ok(());
                }
                f64::INFINITY
            }
            Goal::Budget(budget) => budget,
        };
        let solved =
            program::furthest(task, factual, weights, budget, interval, &mut proposal.point);
        let reached = linear.score_row(&proposal.point) > 0.0;
        let gained = linear.score_row(&proposal.point) - score;
        proposal.proven = solved && complete && gained < needed - 1e-6 * (1.0 + needed.abs());
        proposal.verdict = match goal {
            Goal::Budget(_) if reached => Verdict::Reached,
            Goal::Budget(_) => Verdict::Short(Reason::BudgetExhausted),
            Goal::Rate(_) if proposal.point == factual => Verdict::Short(Reason::NoAdmissibleMove),
            Goal::Rate(_) if reached => Verdict::Short(Reason::RateNotReachable),
            Goal::Rate(_) => Verdict::Short(Reason::InfeasibleWithinBounds),
        };
        Ok(())
    }

    fn impossible(&self, factual: &[f64], reason: Reason, proposal: &mut Proposal) -> Result<()> {
        proposal.point.copy_from_slice(factual);
        (proposal.verdict, proposal.proven) = (Verdict::Short(reason), true);
        Ok(())
    }

    fn reach(&mut self, factual: &[f64], rate: f64, proposal: &mut Proposal) -> Result<()> {
        let quantile = self.quantile(rate);
        let requirement =
            self.solver.requirement(quantile, self.reduced.score, self.least_score)?;
        let found = self.solve(&requirement);
        proposal.verdict = match found {
            Found::Optimal => Verdict::Reached,
            Found::Stopped { .. } => Verdict::Short(Reason::SearchLimit),
            Found::Nothing => {
                self.most_robust(&requirement);
                Verdict::Short(self.why_short(&requirement))
            }
        };
        (proposal.proven, proposal.lower_bound) = match found {
            Found::Stopped { bound } => (false, self.solver.task.cost.norm().finish(bound)),
            Found::Optimal | Found::Nothing => (true, 0.0),
        };
        self.write(factual, proposal);
        Ok(())
    }

    /// The cheapest solution that meets `requirement`, into `self.solution`.
    fn solve(&mut self, requirement: &Requirement) -> Found {
        let Self { solver, reduced, scratch, solution, .. } = self;
        solve(solver.task.cost.norm(), reduced, scratch, requirement, solution)
    }

    /// The most robust admissible point, whatever it costs.
    fn most_robust(&mut self, requirement: &Requirement) {
        self.solution.reset(&self.reduced);
        subset::most_robust(&self.reduced, requirement, &mut self.solution);
    }

    /// Which constraint stands in the way, given that `self.solution` is the most robust point.
    fn why_short(&mut self, requirement: &Requirement) -> Reason {
        let reached = self.solution.score(&self.reduced);
        if self.reduced.is_forced_too_far() {
            Reason::InfeasibleWithinMaxChanges
        } else if self.reduced.is_stuck() {
            Reason::NoAdmissibleMove
        } else if reached > 0.0 && requirement.is_about_rate(reached) {
            Reason::RateNotReachable
        } else if self.reduced.max_changes.is_some()
            && self.reduced.gain_without_limit() + self.reduced.base_score > 0.0
        {
            Reason::InfeasibleWithinMaxChanges
        } else {
            Reason::InfeasibleWithinBounds
        }
    }

    fn spend(&mut self, factual: &[f64], budget: f64, proposal: &mut Proposal) -> Result<()> {
        let norm = self.solver.task.cost.norm();
        self.solution.reset(&self.reduced);
        if norm.finish(self.reduced.total_at_start(norm)) > budget {
            // The moves that strict bounds force exceed the budget.
            return self.impossible(factual, Reason::BudgetExhausted, proposal);
        }
        if self.reduced.is_plain() {
            norm.furthest(
                &self.reduced.items,
                self.reduced.base_total,
                budget,
                &mut self.solution.moves,
            );
        } else {
            self.spend_on_choices(budget);
        }
        let stuck = self.solution.score(&self.reduced) <= 0.0;
        proposal.verdict =
            if stuck { Verdict::Short(Reason::BudgetExhausted) } else { Verdict::Reached };
        proposal.proven = false;
        self.write(factual, proposal);
        Ok(())
    }

    fn spend_on_choices(&mut self, budget: f64) {
        let Self { solver, reduced, scratch, solution, .. } = self;
        let changed = solver.task.noise_on == NoiseOn::Changed;
        let score = reduced.score;
        // Under noise on the changed features the level is z itself, else the score that must be
        // reached.
        let requirement = |level: f64| match changed {
            true => Requirement::new(level, 0.0, 0.0, score, true),
            false => Requirement::fixed(level),
        };
        let low = if changed { 0.0 } else { reduced.base_score };
        let norm = solver.task.cost.norm();
        spend_by_bisection(norm, reduced, scratch, budget, (low, 1.0), requirement, solution);
    }

    fn write(&self, factual: &[f64], proposal: &mut Proposal) {
        proposal.point.copy_from_slice(factual);
        self.reduced.write(&self.solution, &self.solver.task, &mut proposal.point);
    }
}

/// What all people share whose costs are `cost`.
fn layout_of(task: &Task, cost: &Cost) -> Layout {
    let weights = task.model.as_linear().map_or(&[][..], |linear| linear.weights());
    let changed = task.noise.as_gaussian().filter(|_| task.noise_on == NoiseOn::Changed);
    Layout::new(&task.actions, cost, weights, |j| {
        changed.map_or(0.0, |gaussian| (weights[j] * gaussian.sd(j)).powi(2))
    })
}

/// The cheapest solution that meets `requirement`. Plain problems must have been prepared.
fn solve(
    norm: &dyn Norm,
    reduced: &Reduced,
    scratch: &Scratch,
    requirement: &Requirement,
    solution: &mut Solution,
) -> Found {
    solution.reset(reduced);
    let solved = if reduced.is_plain() {
        let needed = requirement.score(0.0) - reduced.base_score;
        norm.cheapest(&reduced.items, scratch, needed, &mut solution.moves)
    } else if norm.is_separable() {
        return branch::solve(norm, reduced, requirement, solution);
    } else {
        minimax::solve(norm, reduced, requirement, solution)
    };
    if solved { Found::Optimal } else { Found::Nothing }
}

/// Spends a budget with discrete parts. The cost of a requirement is monotone in its level, so that
/// bisection, starting at `low` in steps of `step`, finds the hardest requirement within the
/// budget.
fn spend_by_bisection(
    norm: &dyn Norm,
    reduced: &Reduced,
    scratch: &Scratch,
    budget: f64,
    (mut low, mut step): (f64, f64),
    requirement: impl Fn(f64) -> Requirement,
    solution: &mut Solution,
) {
    let mut best = solution.clone();
    let mut affords = |level: f64| {
        let found = solve(norm, reduced, scratch, &requirement(level), solution) != Found::Nothing;
        let fits = found && solution.cost(norm, reduced) <= budget * (1.0 + 1e-15);
        if fits {
            best.clone_from(solution);
        }
        fits
    };
    if affords(low) {
        while step < 1e12 && affords(low + step) {
            low += step;
            step *= 2.0;
        }
        let mut high = low + step;
        for _ in 0..100 {
            let mid = 0.5 * (low + high);
            if mid <= low || mid >= high {
                break;
            }
            if affords(mid) { low = mid } else { high = mid }
        }
    }
    solution.clone_from(&best);
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Found {
    /// With a proven optimum.
    Optimal,
    /// With a solution, at the node limit, before the proof was complete.
    Stopped {
        /// No solution has a smaller total.
        bound: f64,
    },
    /// With the proof that there is none.
    Nothing,
}
