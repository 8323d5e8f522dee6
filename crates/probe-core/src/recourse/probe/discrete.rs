//! Steps and categories: branch and bound over a solver of everything else.
//!
//! Without steps the problem is a relaxation: its cost is a bound for every point on the grid.
//! Where its answer lies between two steps of a feature, the problem splits in two, at most the
//! lower step and at least the upper one, and the better half is looked at first. Categories are
//! chosen in ascending order of what the choice itself costs, which is a bound too, unless the
//! solver knows how to choose them. Over an exact solver the result is an optimum; over a search it
//! is as good as the search, within a number of tries.

mod alone;
mod choices;
mod conditions;

use super::super::{Goal, Proposal, Reason, SearchEffort, Solver, Task, Verdict, Worker};
use crate::cost::Cost;
use crate::error::{Error, Result};
use crate::math::normal::upper_tail;
use crate::noise::NoiseOn;
use crate::schema::{Restriction, Tie};
use choices::Choices;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Relaxations that one person is worth: of an exact solver, and of a search.
const EXACT_NODES: usize = 20_000;
const SEARCHED_NODES: usize = 160;
/// Searches for one choice of categories.
const NODES_OF_A_CHOICE: usize = 48;
/// Searches that find the rate which leaves room for changes of category that fail, and the least
/// such rate.
const TURNS: usize = 6;
const LEAST_RATE: f64 = 1e-4;
/// A rate that nobody reaches who does not go as far as they can.
const FAR: f64 = 1e-200;
/// Steps of the bisections that spend a budget and that look for the least rate.
const BISECTIONS: usize = 14;
const EXACT_BISECTIONS: usize = 36;
/// A rate that every favourable point has, the largest for solvers of small rates, and log-odds
/// that are as good as equal.
const ANY_RATE: f64 = 1.0 - 1e-12;
const BELOW_HALF: f64 = 0.5 - 1e-9;
const CLOSE: f64 = 1e-3;

/// The solver, prepared for a task.
pub(super) struct DiscreteSolver {
    task: Arc<Task>,
    inner: Box<dyn Solver>,
    /// Whether relaxations are solved exactly.
    exact: bool,
    /// Standard deviation of an affine score's noise.
    sd: f64,
    /// Whether categories are chosen here, and not by the solver of relaxations.
    chosen: bool,
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
        let sd = match (task.model.as_linear(), task.noise.as_gaussian()) {
            (Some(linear), Some(gaussian)) if !active.is_empty() => {
                gaussian.sd_along(linear.weights(), |j| active[j])
            }
            _ => 0.0,
        };
        Ok(Self { inner: inner(&Arc::new(relaxed))?, task: Arc::clone(task), exact, sd, chosen })
    }
}

impl Solver for DiscreteSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let n = self.task.actions.n_features();
        let limits = vec![(f64::NEG_INFINITY, f64::INFINITY); n];
        Box::new(DiscreteWorker {
            solver: self,
            task: Arc::clone(&self.task),
            inner: self.inner.worker(),
            within: Restriction {
                limits,
                held: Vec::new(),
                frozen: self.chosen,
                max_changes: self.task.actions.max_changes(),
            },
            found: Proposal::new(n),
            roots: Vec::new(),
            person: vec![0.0; n],
        })
    }
}

struct DiscreteWorker<'a> {
    solver: &'a DiscreteSolver,
    /// The solver's, but for costs of a person's own.
    task: Arc<Task>,
    inner: Box<dyn Worker + 'a>,
    within: Restriction,
    found: Proposal,
    /// What was found first in each room.
    roots: Vec<Proposal>,
    /// The person with the categories that are tried.
    person: Vec<f64>,
}

/// The best point on the grid so far.
struct Best {
    /// In the norm's total.
    total: f64,
    point: Vec<f64>,
    nodes: usize,
    stopped: bool,
}

/// A part of the problem that was not looked at yet.
struct Node {
    bound: f64,
    /// Breaks ties, so that the order is always the same.
    number: usize,
    limits: Vec<(f64, f64)>,
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl Worker for DiscreteWorker<'_> {
    fn find(&mut self, factual: &[f64], goal: Goal, proposal: &mut Proposal) -> Result<()> {
        goal.check()?;
        match goal {
            Goal::Rate(rate) => self.reach(factual, rate, proposal),
            Goal::Budget(budget) => self.spend(factual, budget, proposal),
        }
    }

    fn confine(&mut self, within: &Restriction, _: SearchEffort) -> Result<()> {
        // Limits and categories are this solver's own business.
        self.within.held.clone_from(&within.held);
        Ok(())
    }

    fn reprice(&mut self, cost: &Cost) -> Result<()> {
        self.task = Arc::new(Task { cost: cost.clone(), ..Task::clone(&self.task) });
        self.inner.reprice(cost)
    }
}

impl DiscreteWorker<'_> {
    /// Whether feature `j` stays as it is.
    fn holds(&self, j: usize) -> bool {
        self.within.held.get(j).copied().unwrap_or(false)
    }

    fn holds_group(&self, g: usize) -> bool {
        self.task.actions.groups()[g].columns().iter().any(|&c| self.holds(c))
    }

    /// Relaxations that one person is worth.
    fn nodes(&self) -> usize {
        if self.solver.exact { EXACT_NODES } else { SEARCHED_NODES }
    }

    /// The cheapest point on the grid of at most this rate; where an exact solver has none, the
    /// most robust one.
    fn reach(&mut self, factual: &[f64], rate: f64, proposal: &mut Proposal) -> Result<()> {
        self.find_cheapest(factual, rate, proposal)?;
        let missed = matches!(proposal.verdict, Verdict::Short(reason) if reason != Reason::SearchLimit && reason != Reason::NotOneHot);
        if missed && self.solver.exact {
            self.approach(factual, rate, proposal)?;
        }
        Ok(())
    }

    /// The most robust favourable point, where `rate` is out of reach: bisection over what the
    /// cheapest point of a rate has.
    fn approach(&mut self, factual: &[f64], rate: f64, proposal: &mut Proposal) -> Result<()> {
        let odds = |rate: f64| (rate / (1.0 - rate)).ln();
        let mut found = Proposal::new(factual.len());
        // Solvers of these serve rates below one half alone.
        let below_half = self.task.shift.is_some() || self.task.noise_on == NoiseOn::Changed;
        let any_rate = if below_half { BELOW_HALF } else { ANY_RATE };
        let (mut least, mut missed, mut asked) = (f64::INFINITY, rate, any_rate);
        let actions = &self.task.actions;
        if actions.violations(factual, &proposal.point).is_empty()
            && self.task.model.score(&proposal.point)? > 0.0
        {
            // What is nearest without steps is on them already, or near them.
            let rate =
                self.mixed_rate(factual, &proposal.point)?.clamp(missed, any_rate.max(missed));
            (least, asked) = (rate, rate * (1.0 - CLOSE));
            proposal.verdict = Verdict::Short(Reason::RateNotReachable);
        }
        for _ in 0..BISECTIONS {
            self.find_cheapest(factual, asked, &mut found)?;
            match found.verdict {
                Verdict::Reached => {
                    let rate =
                        self.mixed_rate(factual, &found.point)?.clamp(missed, any_rate.max(missed));
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
            asked = 1.0 / (1.0 + (-0.5 * (low + high)).exp());
        }
        Ok(())
    }

    /// The cheapest point on the grid of at most this rate.
    fn find_cheapest(&mut self, factual: &[f64], rate: f64, proposal: &mut Proposal) -> Result<()> {
        let task = Arc::clone(&self.task);
        proposal.point.copy_from_slice(factual);
        proposal.verdict = Verdict::Short(Reason::NotOneHot);
        proposal.claimed = None;
        let Some(mut choices) =
            Choices::new(&task, factual, |g| self.solver.chosen && !self.holds_group(g))
        else {
            return Ok(());
        };
        proposal.verdict = Verdict::Short(Reason::NoAdmissibleMove);
        let (total, nodes) = (f64::INFINITY, self.nodes());
        let mut best = Best { total, point: factual.to_vec(), nodes, stopped: false };
        // Whether it is refused itself, and its rate.
        let mut nearest: Option<(bool, f64)> = None;
        while let Some(choice) = choices.next() {
            if choice.total >= best.total {
                break;
            }
            if task.actions.max_changes().is_some_and(|most| choice.n_changed > most) {
                continue;
            }
            if best.nodes == 0 {
                best.stopped = true;
                break;
            }
            self.person.copy_from_slice(factual);
            choices.set(&choice, &mut self.person);
            self.within.max_changes =
                task.actions.max_changes().map(|most| most - choice.n_changed);
            let Some(rooms) =
                conditions::rooms(&task.actions, factual, &self.person, self.outer_limits())
            else {
                continue;
            };
            let rooms = self.with_ties_held(factual, rooms);
            match self.rate_of_success(factual, rate, &rooms)? {
                Some(rate) => self.branch(rate, choice.total, rooms.clone(), &mut best)?,
                // Whatever else is done, the changes of category fail too often.
                None => self.go_far(&rooms)?,
            }
            if !self.solver.exact {
                let liked = self.try_steps_alone(factual, rate, choice.total, &rooms, &mut best)?;
                self.roots.extend(liked.map(|(_, point)| Proposal {
                    point,
                    verdict: Verdict::Short(Reason::RateNotReachable),
                    claimed: None,
                    source: "single_step",
                }));
            }
            if best.total.is_infinite() {
                // Why nothing is found, and how near it comes, by the categories and in the room
                // that come nearest.
                for mut root in std::mem::take(&mut self.roots) {
                    task.actions.project(factual, &mut root.point);
                    // An exact solver's may be on a step but for rounding.
                    let refused = !self.solver.exact && {
                        let admissible = task.actions.violations(factual, &root.point).is_empty();
                        !(admissible && task.model.score(&root.point)? > 0.0)
                    };
                    let seen = (refused, self.mixed_rate(factual, &root.point)?);
                    if nearest.is_none_or(|so_far| seen < so_far) {
                        nearest = Some(seen);
                        proposal.point.copy_from_slice(&root.point);
                        proposal.verdict = match root.verdict {
                            Verdict::Reached => Verdict::Short(Reason::RateNotReachable),
                            short => short,
                        };
                    }
                }
            }
        }
        if best.total.is_finite() {
            proposal.point.copy_from_slice(&best.point);
            proposal.verdict = match best.stopped && self.solver.exact {
                true => Verdict::Short(Reason::SearchLimit),
                false => Verdict::Reached,
            };
        }
        Ok(())
    }

    /// The best point on the grid with the categories of `self.person`, whose choice costs `spent`.
    /// What is found first in each room goes to `self.roots`.
    fn branch(
        &mut self,
        rate: f64,
        spent: f64,
        rooms: Vec<Vec<(f64, f64)>>,
        best: &mut Best,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        let norm = task.cost.norm();
        let n_rooms = rooms.len();
        self.roots.clear();
        let mut heap = BinaryHeap::new();
        let mut number = 0;
        let most = if self.solver.exact { usize::MAX } else { NODES_OF_A_CHOICE };
        let mut used = 0;
        for limits in rooms {
            heap.push(Node { bound: spent, number, limits });
            number += 1;
        }
        while let Some(node) = heap.pop() {
            if node.bound >= best.total {
                break;
            }
            let mut is_root = node.number < n_rooms;
            let mut limits = node.limits;
            loop {
                if best.nodes == 0 || used >= most {
                    best.stopped |= best.nodes == 0;
                    break;
                }
                best.nodes -= 1;
                used += 1;
                self.within.limits.copy_from_slice(&limits);
                // Far and wide only where nothing was tried yet.
                let first = best.nodes + 1 == self.nodes();
                let effort = if first { SearchEffort::Normal } else { SearchEffort::Quick };
                self.inner.confine(&self.within, effort)?;
                self.inner.find(&self.person, Goal::Rate(rate), &mut self.found)?;
                if is_root {
                    self.roots.push(self.found.clone());
                    is_root = false;
                }
                match self.found.verdict {
                    Verdict::Reached => {}
                    Verdict::Short(Reason::SearchLimit) => best.stopped = true,
                    Verdict::Short(_) => break,
                }
                let total = norm.join(spent, task.cost.total(&self.person, &self.found.point));
                if total >= best.total {
                    break;
                }
                let Some((j, below, above)) = self.between_steps() else {
                    best.total = total;
                    best.point.copy_from_slice(&self.found.point);
                    self.snap(&mut best.point);
                    break;
                };
                let (low, high) = limits[j];
                // A limit is a step, if not to the bit.
                let near = 1e-6 * task.actions.grid(j).map_or(0.0, |grid| grid.step);
                let above = if above > high && above <= high + near { high } else { above };
                let below = if below < low && below >= low - near { low } else { below };
                let mut other = limits.clone();
                let outward = self.found.point[j] > self.person[j];
                (limits[j], other[j]) = if outward {
                    ((above, high), (low, below))
                } else {
                    ((low, below), (above, high))
                };
                if other[j].0 <= other[j].1 {
                    number += 1;
                    heap.push(Node { bound: total, number, limits: other });
                }
                if limits[j].0 > limits[j].1 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The most robust point of each room with the categories of `self.person`, into `self.roots`.
    fn go_far(&mut self, rooms: &[Vec<(f64, f64)>]) -> Result<()> {
        self.roots.clear();
        for limits in rooms {
            self.within.limits.copy_from_slice(limits);
            self.inner.confine(&self.within, SearchEffort::Quick)?;
            self.inner.find(
                &self.person,
                Goal::Rate(if self.solver.exact { FAR } else { LEAST_RATE }),
                &mut self.found,
            )?;
            self.found.verdict = Verdict::Short(Reason::RateNotReachable);
            self.roots.push(self.found.clone());
        }
        Ok(())
    }

    /// The rate that the point itself must have so that the person, who may fail to change the
    /// categories of `self.person`, has `rate` all in all; `None` if there is none. Exact on affine
    /// scores, where a failure shifts the score by the same amount wherever it happens.
    fn rate_of_success(
        &mut self,
        factual: &[f64],
        rate: f64,
        rooms: &[Vec<(f64, f64)>],
    ) -> Result<Option<f64>> {
        let outcomes = self.task.actions.outcomes(factual, &self.person);
        if outcomes.is_empty() {
            return Ok(Some(rate));
        }
        if let Some(linear) = self.task.model.as_linear().filter(|_| self.solver.exact) {
            let scores: Vec<(f64, f64)> =
                outcomes.iter().map(|(p, point)| (*p, linear.score_row(point))).collect();
            return Ok(success_on_line(&scores, self.solver.sd, rate));
        }
        // Else by turns, from above: the point that this rate leads to, and how often failures are
        // refused there.
        let success = outcomes[0].0;
        let mut asked = rate;
        for _ in 0..TURNS {
            let mut least = f64::INFINITY;
            for limits in rooms {
                self.within.limits.copy_from_slice(limits);
                self.inner.confine(&self.within, SearchEffort::Quick)?;
                self.inner.find(&self.person, Goal::Rate(asked), &mut self.found)?;
                if self.found.verdict == Verdict::Reached {
                    let point = self.found.point.clone();
                    least = least.min(self.mixed_rate(factual, &point)? - success * asked);
                }
            }
            let left = (rate - least) / success;
            if left >= 0.99 * asked {
                return Ok(Some(asked));
            }
            if least.is_infinite() || asked < LEAST_RATE {
                return Ok(None);
            }
            asked = if left > 0.0 { 0.998 * left } else { 0.2 * asked };
        }
        Ok(Some(asked))
    }

    /// About the rate of a point, failures included.
    fn mixed_rate(&mut self, factual: &[f64], point: &[f64]) -> Result<f64> {
        let mut outcomes = self.task.actions.outcomes(factual, point);
        if outcomes.is_empty() {
            outcomes.push((1.0, point.to_vec()));
        }
        let mut rate = 0.0;
        for (p, point) in &outcomes {
            rate += p * self.inner.rate_at(factual, point)?;
        }
        Ok(rate)
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

    /// The feature that is furthest between two of its steps, in terms of what it costs, with these
    /// steps.
    fn between_steps(&self) -> Option<(usize, f64, f64)> {
        let task = &*self.task;
        let mut most: Option<(f64, (usize, f64, f64))> = None;
        for (j, (&to, &from)) in self.found.point.iter().zip(&self.person).enumerate() {
            let Some(grid) = task.actions.grid(j).filter(|grid| to != from && !grid.has(to)) else {
                continue;
            };
            let (mut below, mut above) = (grid.below(to), grid.above(to));
            // Where the person is now is as good as a step.
            if to > from {
                below = below.max(from);
            } else {
                above = above.min(from);
            }
            let off = task.cost.weight(j, to - from) * (to - below).min(above - to);
            if most.as_ref().is_none_or(|(so_far, _)| off > *so_far) {
                most = Some((off, (j, below, above)));
            }
        }
        most.map(|(_, found)| found)
    }

    /// Puts what lies on a step but for rounding on it.
    fn snap(&self, point: &mut [f64]) {
        let actions = &self.task.actions;
        for (j, (to, &from)) in point.iter_mut().zip(&self.person).enumerate() {
            if let Some(grid) = actions.grid(j).filter(|_| *to != from) {
                let (low, high) = actions.interval(j, from).unwrap_or((from, from));
                *to = (grid.zero + grid.step * ((*to - grid.zero) / grid.step).round())
                    .clamp(low, high);
            }
        }
    }

    /// The most robust point that the budget pays: bisection over what the cheapest point of a rate
    /// costs.
    fn spend(&mut self, factual: &[f64], budget: f64, proposal: &mut Proposal) -> Result<()> {
        let task = Arc::clone(&self.task);
        let mut best: Option<Proposal> = None;
        let (mut low, mut high) = (-6.0_f64, 6.0_f64);
        let steps = if self.solver.exact { EXACT_BISECTIONS } else { BISECTIONS };
        for _ in 0..steps {
            let z = 0.5 * (low + high);
            self.find_cheapest(factual, upper_tail(z).clamp(1e-9, 1.0 - 1e-9), proposal)?;
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
        Ok(())
    }
}

/// The rate that an affine score must have where everything succeeds, so that `outcomes`, of these
/// probabilities and scores, have `rate` together; `None` if they cannot. The score's noise has
/// standard deviation `sd`.
fn success_on_line(outcomes: &[(f64, f64)], sd: f64, rate: f64) -> Option<f64> {
    let own = outcomes[0].1;
    if sd == 0.0 {
        // Nothing that is free moves the score: it is refused or not.
        let refused: f64 = outcomes.iter().filter(|(_, score)| *score <= 0.0).map(|(p, _)| p).sum();
        return (refused <= rate).then_some(rate);
    }
    let mixed = |margin: f64| -> f64 {
        outcomes.iter().map(|(p, score)| p * upper_tail(margin + (score - own) / sd)).sum()
    };
    let (mut low, mut high) = (-8.0, 37.0);
    if mixed(high) > rate {
        return None;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if mixed(middle) <= rate { high = middle } else { low = middle }
    }
    Some(upper_tail(high))
}
