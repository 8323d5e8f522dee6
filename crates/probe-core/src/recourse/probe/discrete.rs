//! Steps and categories: branch and bound over a solver of everything else.
//!
//! Without steps the problem is a relaxation: its cost is a bound for every point on the grid. Where its answer lies between two steps of
//! a feature, the problem splits in two, at most the lower step and at least the upper one, and the better half is looked at first.
//! Categories are chosen in ascending order of what the choice itself costs, which is a bound too, unless the solver knows how to choose
//! them. Over an exact solver the result is an optimum; over a search it is as good as the search, within a number of tries.

mod choices;

use super::super::{Goal, Proposal, Reason, Solver, Task, Verdict, Worker};
use crate::error::{Error, Result};
use crate::math::normal::upper_tail;
use crate::schema::Within;
use choices::Choices;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Relaxations that one person is worth: of an exact solver, and of a search.
const EXACT_NODES: usize = 20_000;
const SEARCHED_NODES: usize = 160;
/// Searches for one choice of categories.
const NODES_OF_A_CHOICE: usize = 48;
/// Steps of the bisection that spends a budget.
const BISECTIONS: usize = 14;

/// The solver, prepared for a task.
pub(super) struct DiscreteSolver {
    task: Arc<Task>,
    inner: Box<dyn Solver>,
    /// Whether relaxations are solved exactly, categories included.
    exact: bool,
}

impl DiscreteSolver {
    pub(super) fn new(
        task: &Arc<Task>,
        exact: bool,
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
        Ok(Self { inner: inner(&Arc::new(relaxed))?, task: Arc::clone(task), exact })
    }
}

impl Solver for DiscreteSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let n = self.task.actions.n_features();
        let limits = vec![(f64::NEG_INFINITY, f64::INFINITY); n];
        Box::new(DiscreteWorker {
            solver: self,
            inner: self.inner.worker(),
            within: Within {
                limits,
                frozen: !self.exact,
                max_changes: self.task.actions.max_changes(),
                hasty: false,
            },
            found: Proposal::new(n),
            person: vec![0.0; n],
        })
    }
}

struct DiscreteWorker<'a> {
    solver: &'a DiscreteSolver,
    inner: Box<dyn Worker + 'a>,
    within: Within,
    found: Proposal,
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
}

impl DiscreteWorker<'_> {
    /// Relaxations that one person is worth.
    fn nodes(&self) -> usize {
        if self.solver.exact { EXACT_NODES } else { SEARCHED_NODES }
    }

    /// The cheapest point on the grid of at most this rate.
    fn reach(&mut self, factual: &[f64], rate: f64, proposal: &mut Proposal) -> Result<()> {
        let task = &*self.solver.task;
        proposal.point.copy_from_slice(factual);
        proposal.verdict = Verdict::Short(Reason::NotOneHot);
        proposal.claimed = None;
        let Some(mut choices) = Choices::new(task, factual, !self.solver.exact) else { return Ok(()) };
        let (total, nodes) = (f64::INFINITY, self.nodes());
        let mut best = Best { total, point: factual.to_vec(), nodes, stopped: false };
        let mut first = true;
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
            self.within.max_changes = task.actions.max_changes().map(|most| most - choice.n_changed);
            self.branch(rate, choice.total, &mut best)?;
            if first && best.total.is_infinite() {
                // Why nothing is found without another category, and how near it comes.
                proposal.point.copy_from_slice(&self.found.point);
                proposal.verdict = match self.found.verdict {
                    Verdict::Reached => Verdict::Short(Reason::RateNotReachable),
                    short => short,
                };
                task.actions.project(factual, &mut proposal.point);
            }
            first = false;
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

    /// The best point on the grid with the categories of `self.person`, whose choice costs `spent`. What the first relaxation
    /// finds stays in `self.found` where nothing better does.
    fn branch(&mut self, rate: f64, spent: f64, best: &mut Best) -> Result<()> {
        let task = &*self.solver.task;
        let norm = task.cost.norm();
        let mut root = Proposal::new(0);
        let mut heap = BinaryHeap::new();
        let mut number = 0;
        let most = if self.solver.exact { usize::MAX } else { NODES_OF_A_CHOICE };
        let mut used = 0;
        heap.push(Node { bound: spent, number, limits: self.outer_limits() });
        while let Some(node) = heap.pop() {
            if node.bound >= best.total {
                break;
            }
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
                self.within.hasty = best.nodes + 1 < self.nodes();
                self.inner.confine(&self.within)?;
                self.inner.find(&self.person, Goal::Rate(rate), &mut self.found)?;
                if number == 0 && root.point.is_empty() {
                    root = self.found.clone();
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
                (limits[j], other[j]) =
                    if outward { ((above, high), (low, below)) } else { ((low, below), (above, high)) };
                if other[j].0 <= other[j].1 {
                    number += 1;
                    heap.push(Node { bound: total, number, limits: other });
                }
                if limits[j].0 > limits[j].1 {
                    break;
                }
            }
        }
        if best.total.is_infinite() {
            self.found = root;
        }
        Ok(())
    }

    /// What each feature may become, cut to its outermost steps.
    fn outer_limits(&self) -> Vec<(f64, f64)> {
        let actions = &self.solver.task.actions;
        let cut = |j: usize| {
            let x = self.person[j];
            let (low, high) = actions.interval(j, x).unwrap_or((x, x));
            let Some(grid) = actions.grid(j) else { return (low, high) };
            let from = if low.is_finite() { grid.above(low).max(low).min(x) } else { low };
            let to = if high.is_finite() { grid.below(high).min(high).max(x) } else { high };
            (from, to)
        };
        (0..self.person.len()).map(cut).collect()
    }

    /// The feature that is furthest between two of its steps, in terms of what it costs, with these steps.
    fn between_steps(&self) -> Option<(usize, f64, f64)> {
        let task = &*self.solver.task;
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
        let actions = &self.solver.task.actions;
        for (j, (to, &from)) in point.iter_mut().zip(&self.person).enumerate() {
            if let Some(grid) = actions.grid(j).filter(|_| *to != from) {
                let (low, high) = actions.interval(j, from).unwrap_or((from, from));
                *to = (grid.zero + grid.step * ((*to - grid.zero) / grid.step).round()).clamp(low, high);
            }
        }
    }

    /// The most robust point that the budget pays: bisection over what the cheapest point of a rate costs.
    fn spend(&mut self, factual: &[f64], budget: f64, proposal: &mut Proposal) -> Result<()> {
        let task = &*self.solver.task;
        let mut best: Option<Proposal> = None;
        let (mut low, mut high) = (-6.0_f64, 6.0_f64);
        for _ in 0..BISECTIONS {
            let z = 0.5 * (low + high);
            self.reach(factual, upper_tail(z).clamp(1e-9, 1.0 - 1e-9), proposal)?;
            let reached = matches!(proposal.verdict, Verdict::Reached | Verdict::Short(Reason::SearchLimit));
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
