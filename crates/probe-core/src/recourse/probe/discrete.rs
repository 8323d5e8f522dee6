//! Steps and categories: branch and bound over a solver of everything else.
//!
//! Without steps the problem is a relaxation: its cost is a bound for every point on the grid.
//! Where its answer lies between two steps of a feature, the problem splits in two, at most the
//! lower step and at least the upper one, and the better half is looked at first. Categories are
//! chosen in ascending order of what the choice itself costs, which is a bound too, unless the
//! solver knows how to choose them. Over an exact solver the result is an optimum; over a search it
//! is as good as the search, within a number of tries.

mod alone;
mod branch;
mod choices;
mod conditions;
mod failures;
mod guess;
mod partial;
mod profiled;
mod walks;

pub(super) use alone::SINGLE_STEP;
pub(super) use walks::MIXED_WALKS;

use super::super::ask::Posed;
use super::super::{
    Ask, Budget, Goal, Proposal, Reason, SearchEffort, Solver, Task, Verdict, Worker,
};
use super::ANY_RATE;
use crate::error::{Error, Result};
use crate::math::normal::upper_tail;
use crate::noise::{Gaussian, Noise as _, NoiseOn};
use crate::schema::{Restriction, Tie};
use crate::seed::Purpose;
use branch::Best;
use choices::Choices;
use std::sync::Arc;

/// Relaxations that one person is worth: of an exact solver, and of a search.
const EXACT_NODES: usize = 20_000;
const SEARCHED_NODES: usize = 160;
/// Changes that may fail, at most, whose rate together is exact.
const EXACT_FAILURES: usize = 10;
/// The least rate that is asked for where changes of category may fail.
const LEAST_RATE: f64 = 1e-4;
/// Lines that tell a rate where it matters little how well.
const LINES: usize = 64;
/// A rate that nobody reaches who does not go as far as they can.
const FAR: f64 = 1e-200;
/// Steps of the bisections that spend a budget and that look for the least rate.
const BISECTIONS: usize = 14;
const EXACT_BISECTIONS: usize = 36;
/// The largest rate for solvers of small rates, and log-odds that are as good as equal.
const BELOW_HALF: f64 = 0.5 - 1e-9;
const CLOSE: f64 = 1e-3;

/// The solver, prepared for a task.
pub(super) struct DiscreteSolver {
    task: Arc<Task>,
    inner: Box<dyn Solver>,
    /// Whether relaxations are solved exactly.
    exact: bool,
    /// Mean and standard deviation of an affine score's noise.
    noise: (f64, f64),
    /// Whether categories are chosen here, and not by the solver of relaxations.
    chosen: bool,
    /// Standard deviation of each feature's noise, 0 where none acts; empty over an exact solver.
    sds: Vec<f64>,
    /// Guesses categories where there may be too many choices to try.
    guesser: Option<Box<dyn Solver>>,
}

impl DiscreteSolver {
    pub(super) fn new(
        task: &Arc<Task>,
        (exact, chosen): (bool, bool),
        inner: impl Fn(&Arc<Task>) -> Result<Box<dyn Solver>>,
    ) -> Result<Self> {
        if task.actions.is_strict() && task.actions.has_grids() {
            return Err(Error::Unsupported {
                what: "strict bounds with features that move by steps".to_owned(),
                why: "leave out the steps, or let people stay outside the bounds".to_owned(),
            });
        }
        let mut relaxed = Task::clone(task);
        relaxed.actions = relaxed.actions.without_grids();
        let active = task.noise_on.fixed(&task.actions).unwrap_or_default();
        let noise = match (task.model.as_linear(), task.noise.as_gaussian()) {
            (Some(linear), Some(gaussian)) if !active.is_empty() => (
                gaussian.mean_along(linear.weights(), |j| active[j]),
                gaussian.sd_along(linear.weights(), |j| active[j]),
            ),
            _ => (0.0, 0.0),
        };
        let sds = if exact { Vec::new() } else { deviations(task)? };
        let inner = inner(&Arc::new(relaxed))?;
        let guesser = if exact && chosen { guess::solver(task)? } else { None };
        Ok(Self { inner, guesser, task: Arc::clone(task), exact, noise, chosen, sds })
    }
}

/// Standard deviation of each feature's noise where it acts, else 0.
fn deviations(task: &Task) -> Result<Vec<f64>> {
    let like;
    let gaussian = match task.noise.as_gaussian() {
        Some(gaussian) => gaussian,
        None => {
            like = Gaussian::like(&*task.noise, &mut task.seed.stream(Purpose::Search, 1))?;
            &like
        }
    };
    let active = task.noise_on.fixed(&task.actions);
    let acts = |j: usize| active.as_ref().is_none_or(|active| active[j]);
    Ok((0..gaussian.dim()).map(|j| if acts(j) { gaussian.sd(j) } else { 0.0 }).collect())
}

impl Solver for DiscreteSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let n = self.task.actions.n_features();
        let limits = vec![(f64::NEG_INFINITY, f64::INFINITY); n];
        Box::new(DiscreteWorker {
            solver: self,
            task: Posed::new(&self.task),
            inner: self.inner.worker(),
            guesser: self.guesser.as_ref().map(|guesser| guesser.worker()),
            within: Restriction {
                limits,
                held: Vec::new(),
                frozen: self.chosen,
                max_changes: self.task.actions.max_changes(),
            },
            found: Proposal::new(n),
            roots: Vec::new(),
            person: vec![0.0; n],
            origin: vec![0.0; n],
        })
    }
}

struct DiscreteWorker<'a> {
    solver: &'a DiscreteSolver,
    task: Posed,
    inner: Box<dyn Worker + 'a>,
    guesser: Option<Box<dyn Worker + 'a>>,
    within: Restriction,
    found: Proposal,
    /// What was found first in each room.
    roots: Vec<Proposal>,
    /// The person with the categories that are tried.
    person: Vec<f64>,
    /// The person as they are.
    origin: Vec<f64>,
}

impl Worker for DiscreteWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        ask.aim().check()?;
        self.origin.copy_from_slice(ask.factual);
        // Limits and categories are this solver's own business.
        self.task.turn_to(&Ask { restriction: None, ..*ask });
        self.within.held.clear();
        if let Some(restriction) = ask.restriction {
            self.within.held.extend_from_slice(&restriction.held);
        }
        match ask.goal {
            Goal::Rate(rate) => {
                self.reach(ask.factual, Aim::new(ask, rate), proposal)?;
                conditions::weaken_proof(&self.task, ask.factual, proposal);
                Ok(())
            }
            Goal::Budget(budget) => self.spend(ask.factual, Aim::new(ask, 0.5), budget, proposal),
        }
    }

    fn n_lines(&self) -> u64 {
        self.inner.n_lines()
    }

    fn serves_own_costs(&self) -> bool {
        self.inner.serves_own_costs()
    }
}

/// The rate that relaxations are asked for, and how much work they are worth.
#[derive(Clone, Copy)]
struct Aim<'b> {
    rate: f64,
    /// How far below it the answer usually is, where a search may choose that ([`Ask::gap`]).
    gap: Option<f64>,
    /// What the score must be besides ([`Ask::least_score`]).
    least_score: f64,
    effort: SearchEffort,
    budget: &'b Budget<'b>,
}

impl<'b> Aim<'b> {
    fn new(ask: &Ask<'b>, rate: f64) -> Self {
        let Ask { gap, least_score, effort, budget, .. } = *ask;
        Self { rate, gap, least_score, effort, budget }
    }

    /// Another rate, without a gap to choose.
    fn exactly(self, rate: f64) -> Self {
        Self { rate, gap: None, ..self }
    }

    /// The same rate for the work that a relaxation after the first is worth.
    fn less(self) -> Self {
        match self.effort {
            SearchEffort::Thorough => Self { effort: SearchEffort::Normal, ..self },
            SearchEffort::Normal | SearchEffort::Quick => self.quick(),
        }
    }

    /// The same rate for as little work as possible.
    fn quick(self) -> Self {
        Self { effort: SearchEffort::Quick, ..self }
    }

    /// The rate less the usual gap.
    fn usual(self) -> f64 {
        self.rate - self.gap.unwrap_or(0.0)
    }
}

/// A point that is accepted and misses the rate.
fn short_of_rate(point: Vec<f64>) -> Proposal {
    Proposal { point, verdict: Verdict::Short(Reason::RateNotReachable), ..Proposal::new(0) }
}

impl DiscreteWorker<'_> {
    /// Whether feature `j` stays as it is.
    fn holds(&self, j: usize) -> bool {
        self.within.held.get(j).copied().unwrap_or(false)
    }

    fn holds_group(&self, g: usize) -> bool {
        self.task.actions.groups()[g].columns().iter().any(|&c| self.holds(c))
    }

    /// Solves the relaxation within `self.within`, for the categories of `self.person`, into
    /// `self.found`.
    fn relax(&mut self, aim: Aim<'_>) -> Result<()> {
        let ask = Ask {
            origin: Some(&self.origin),
            gap: aim.gap,
            cost: self.task.own_cost(),
            restriction: Some(&self.within),
            least_score: aim.least_score,
            effort: aim.effort,
            ..Ask::new(&self.person, Goal::Rate(aim.rate), aim.budget)
        };
        self.inner.find(&ask, &mut self.found)
    }

    /// Relaxations that one person is worth.
    fn nodes(&self, effort: SearchEffort) -> usize {
        if self.solver.exact { EXACT_NODES } else { SEARCHED_NODES * effort.times_nodes() }
    }

    /// The cheapest point on the grid of at most this rate; where an exact solver has none, the
    /// most robust one.
    fn reach(&mut self, factual: &[f64], aim: Aim<'_>, proposal: &mut Proposal) -> Result<()> {
        let normal = Aim { effort: aim.effort.min(SearchEffort::Normal), ..aim };
        self.find_cheapest(factual, normal, proposal)?;
        if aim.effort > normal.effort && !self.solver.exact {
            self.look_further(factual, aim, proposal)?;
        }
        let missed = match proposal.verdict {
            Verdict::Short(reason) => !matches!(reason, Reason::SearchLimit | Reason::NotOneHot),
            Verdict::Reached => false,
        };
        if missed && self.solver.exact {
            self.approach(factual, aim, proposal)?;
        }
        Ok(())
    }

    /// The same with more work, from the start; what it finds is taken only if it costs less.
    fn look_further(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        proposal: &mut Proposal,
    ) -> Result<()> {
        let mut further = Proposal::new(factual.len());
        self.find_cheapest(factual, aim, &mut further)?;
        let cost = |found: &Proposal| match found.verdict {
            Verdict::Reached => self.task.cost.between(factual, &found.point),
            Verdict::Short(_) => f64::INFINITY,
        };
        if cost(&further) < cost(proposal) {
            proposal.clone_from(&further);
        }
        Ok(())
    }

    /// The most robust favourable point, where the rate is out of reach: bisection over what the
    /// cheapest point of a rate has.
    fn approach(&mut self, factual: &[f64], aim: Aim<'_>, proposal: &mut Proposal) -> Result<()> {
        let rate = aim.usual();
        let odds = |rate: f64| (rate / (1.0 - rate)).ln();
        let mut found = Proposal::new(factual.len());
        // Solvers of these serve rates below one half, and under a shift any rate.
        let below_half = self.task.noise_on == NoiseOn::Changed;
        let any_rate = if below_half { BELOW_HALF } else { ANY_RATE };
        let largest = if below_half || self.task.shift.is_some() { BELOW_HALF } else { ANY_RATE };
        let (mut least, mut missed, mut asked) = (f64::INFINITY, rate, any_rate);
        let actions = &self.task.actions;
        if actions.violations(factual, &proposal.point).is_empty()
            && self.task.model.score(&proposal.point)? > 0.0
        {
            // What is nearest without steps is on them already, or near them.
            let rate = self
                .mixed_rate(factual, &proposal.point, LINES)?
                .clamp(missed, any_rate.max(missed));
            (least, asked) = (rate, largest.min(rate * (1.0 - CLOSE)));
            proposal.verdict = Verdict::Short(Reason::RateNotReachable);
        }
        for _ in 0..BISECTIONS {
            self.find_cheapest(factual, aim.exactly(asked), &mut found)?;
            match found.verdict {
                Verdict::Reached => {
                    let rate = self
                        .mixed_rate(factual, &found.point, LINES)?
                        .clamp(missed, any_rate.max(missed));
                    if rate < least {
                        least = rate;
                        proposal.point.copy_from_slice(&found.point);
                        proposal.verdict = Verdict::Short(Reason::RateNotReachable);
                    }
                }
                Verdict::Short(_) if least.is_infinite() && below_half => break,
                Verdict::Short(reason) if least.is_infinite() => {
                    let not_even_a_yes = reason == Reason::RateNotReachable;
                    let reason =
                        if not_even_a_yes { Reason::InfeasibleWithinBounds } else { reason };
                    proposal.verdict = Verdict::Short(reason);
                    break;
                }
                Verdict::Short(_) => missed = asked,
            }
            let (low, high) = (odds(missed), odds(least));
            if high - low < CLOSE {
                break;
            }
            asked = largest.min(1.0 / (1.0 + (-0.5 * (low + high)).exp()));
            if asked <= missed {
                break;
            }
        }
        Ok(())
    }

    /// The cheapest point on the grid of at most this rate.
    fn find_cheapest(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        proposal: &mut Proposal,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        proposal.point.copy_from_slice(factual);
        proposal.verdict = Verdict::Short(Reason::NotOneHot);
        proposal.forget();
        let partial = self.decides_failing();
        let chosen = |g| self.solver.chosen && !partial && !self.holds_group(g);
        let Some(mut choices) = Choices::new(&task, factual, chosen) else {
            proposal.proven = true;
            return Ok(());
        };
        proposal.verdict = Verdict::Short(Reason::NoAdmissibleMove);
        let mut best = Best::new(factual, self.nodes(aim.effort));
        // Whether it is refused itself, and its rate.
        let mut nearest: Option<(bool, f64)> = None;
        if partial {
            self.decide_failing(factual, aim, &mut nearest, &mut best, proposal)?;
        }
        self.guess(factual, aim, &mut best)?;
        let found = self.find_on_profiles(factual, aim, &mut best)?;
        if found && aim.effort == SearchEffort::Quick {
            proposal.point.copy_from_slice(&best.point);
            (proposal.aim, proposal.report) = (best.aim, best.report);
            proposal.verdict = Verdict::Reached;
            return Ok(());
        }
        let mut walked = self.solver.exact;
        let mut tried = 0;
        while let Some(choice) = choices.next().filter(|_| !partial) {
            if choice.total >= best.total {
                break;
            }
            let begun = best.nodes < self.nodes(aim.effort);
            // Choices that are not worth a relaxation count too.
            if best.nodes == 0 || tried == EXACT_NODES || begun && aim.budget.is_exhausted() {
                best.stopped = true;
                break;
            }
            tried += 1;
            self.person.copy_from_slice(factual);
            choices.set(&choice, &mut self.person);
            self.roots.clear();
            if !walked || self.may_pay(factual, aim, choice.total, &best)? {
                self.try_choice(factual, aim, (choice.total, choice.n_changed), &mut best)?;
            }
            if !walked {
                walked = true;
                let accepted = self.walk(factual, aim, &mut best)?;
                self.roots.extend(accepted.map(short_of_rate));
            }
            if best.total.is_infinite() {
                self.keep_nearest(factual, &mut nearest, proposal)?;
            }
        }
        // Rates of more changes that may fail are upper bounds.
        let exact_rates = !partial || self.risky(factual).len() <= EXACT_FAILURES;
        proposal.proven = self.solver.exact && best.proven && !best.stopped && exact_rates;
        if best.total.is_finite() {
            proposal.point.copy_from_slice(&best.point);
            (proposal.aim, proposal.report) = (best.aim, best.report);
            proposal.verdict = match best.stopped && self.solver.exact {
                true => Verdict::Short(Reason::SearchLimit),
                false => Verdict::Reached,
            };
        } else if best.stopped && self.solver.exact {
            proposal.verdict = Verdict::Short(Reason::SearchLimit);
        }
        Ok(())
    }

    /// Searches with the categories of `self.person`, of which `n_changed` change for a `total`.
    /// The most robust point in each room goes to `self.roots`.
    fn try_choice(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        (total, n_changed): (f64, usize),
        best: &mut Best,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        self.within.max_changes = task.actions.max_changes().map(|most| most - n_changed);
        let Some(rooms) =
            conditions::rooms(&task.actions, factual, &self.person, self.outer_limits())
        else {
            return Ok(());
        };
        let rooms = self.with_ties_held(factual, rooms);
        match self.aim_of_success(factual, aim, &rooms)? {
            Some(aim) => self.branch(aim, total, rooms.clone(), best)?,
            // Whatever else is done, the changes of category fail too often.
            None => {
                best.nodes -= 1;
                self.go_far(aim, &rooms)?;
            }
        }
        if !self.solver.exact {
            let accepted = self.try_steps_alone(factual, aim.usual(), total, &rooms, best)?;
            self.roots.extend(accepted.map(|(_, point)| short_of_rate(point)));
        }
        Ok(())
    }

    /// Where nothing is found: keeps why, and how near it comes, by the categories and in the room
    /// that come nearest. `nearest` says whether that point is rejected itself, and its rate.
    fn keep_nearest(
        &mut self,
        factual: &[f64],
        nearest: &mut Option<(bool, f64)>,
        proposal: &mut Proposal,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        for mut root in std::mem::take(&mut self.roots) {
            task.actions.project(factual, &mut root.point);
            // An exact solver's may be on a step but for rounding.
            let admissible =
                self.solver.exact || task.actions.violations(factual, &root.point).is_empty();
            let refused = !(admissible && task.model.score(&root.point)? > 0.0);
            let seen = (refused, self.mixed_rate(factual, &root.point, LINES)?);
            if nearest.is_none_or(|so_far| seen < so_far) {
                *nearest = Some(seen);
                proposal.point.copy_from_slice(&root.point);
                proposal.verdict = match root.verdict {
                    Verdict::Reached => Verdict::Short(Reason::RateNotReachable),
                    short => short,
                };
            }
        }
        Ok(())
    }

    /// The most robust point of each room with the categories of `self.person`, into `self.roots`.
    fn go_far(&mut self, aim: Aim<'_>, rooms: &[Vec<(f64, f64)>]) -> Result<()> {
        self.roots.clear();
        for limits in rooms {
            self.within.limits.copy_from_slice(limits);
            let far = aim.exactly(if self.solver.exact { FAR } else { LEAST_RATE });
            self.relax(far.quick())?;
            self.found.verdict = Verdict::Short(Reason::RateNotReachable);
            self.roots.push(self.found.clone());
        }
        Ok(())
    }

    /// Another room where features of limited sums stay as they are: a search may lose its way
    /// among steps that do not fit together.
    fn with_ties_held(
        &self,
        factual: &[f64],
        mut rooms: Vec<Vec<(f64, f64)>>,
    ) -> Vec<Vec<(f64, f64)>> {
        if self.solver.exact || !self.task.actions.has_sums() {
            return rooms;
        }
        let mut held = rooms[0].clone();
        for tie in self.task.actions.ties().iter().filter(|tie| matches!(tie, Tie::Sum { .. })) {
            tie.columns().into_iter().for_each(|c| held[c] = (factual[c], factual[c]));
        }
        rooms.push(held);
        rooms
    }

    /// What each feature may become, cut to its outermost steps.
    fn outer_limits(&self) -> Vec<(f64, f64)> {
        let actions = &self.task.actions;
        let cut = |j: usize| {
            let x = self.person[j];
            if self.holds(j) {
                return (x, x);
            }
            let (low, high) = actions.interval(j, x).unwrap_or((x, x));
            let Some(grid) = actions.grid(j) else { return (low, high) };
            let from = if low.is_finite() { grid.above(low).max(low).min(x) } else { low };
            let to = if high.is_finite() { grid.below(high).min(high).max(x) } else { high };
            (from, to)
        };
        (0..self.person.len()).map(cut).collect()
    }

    /// The most robust point that the budget pays: bisection over what the cheapest point of a rate
    /// costs.
    fn spend(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        budget: f64,
        proposal: &mut Proposal,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        let mut best: Option<Proposal> = None;
        let (mut low, mut high) = (-6.0_f64, 6.0_f64);
        let steps = if self.solver.exact { EXACT_BISECTIONS } else { BISECTIONS };
        for _ in 0..steps {
            let z = 0.5 * (low + high);
            let rate = upper_tail(z).clamp(1e-9, 1.0 - 1e-9);
            self.find_cheapest(factual, aim.exactly(rate), proposal)?;
            let reached =
                matches!(proposal.verdict, Verdict::Reached | Verdict::Short(Reason::SearchLimit));
            if reached && task.cost.between(factual, &proposal.point) <= budget {
                best = Some(proposal.clone());
                low = z;
            } else {
                high = z;
            }
        }
        match best {
            Some(found) => proposal.clone_from(&found),
            None => {
                proposal.point.copy_from_slice(factual);
                proposal.verdict = Verdict::Short(Reason::BudgetExhausted);
            }
        }
        proposal.proven = false;
        Ok(())
    }
}
