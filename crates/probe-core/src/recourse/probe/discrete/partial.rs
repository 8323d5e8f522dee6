//! Categories that may fail, before an affine score: branch and bound over which of them change.
//!
//! There are exponentially many choices, so they are not tried one by one. A node decides some of
//! the categories. Its relaxation lets the solver choose the others, as if those could not fail: no
//! choice below the node costs less. What the relaxation chooses is tried in earnest, and the node
//! splits by a category that it would change. Where a category stays, so does every other one that
//! gains no more, costs no less and fails no less often: exchanging the two is no worse.

use super::branch::Best;
use super::{Aim, DiscreteWorker};
use crate::cost::Norm;
use crate::error::Result;
use crate::invalidation::Shifts;
use crate::recourse::{Proposal, Reason, Task, Verdict};
use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

/// Decided changes whose failures a bound counts; more of them make better bounds and more work.
const FAILURES_OF_A_BOUND: usize = 10;

/// A category that may fail to change.
pub(super) struct Risky {
    group: usize,
    p_fail: f64,
    /// Changes that gain score, each more than all that cost less.
    changes: Vec<Change>,
}

struct Change {
    option: usize,
    /// In the norm's total.
    total: f64,
    gain: f64,
}

impl Risky {
    /// Whether a change of this category is no worse than any change of the other.
    fn dominates(&self, other: &Self) -> bool {
        let beaten = |theirs: &Change| {
            self.changes.iter().any(|own| own.gain >= theirs.gain && own.total <= theirs.total)
        };
        self.p_fail <= other.p_fail && other.changes.iter().all(beaten)
    }
}

/// What is decided about a category.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Open,
    Stays,
    /// Makes the change of this number.
    Changes(usize),
}

/// A part of the problem that was not looked at yet.
#[derive(PartialEq)]
struct Node {
    bound: f64,
    /// Of nodes with the same bound the latest is looked at first.
    number: usize,
    states: Vec<State>,
}

impl Eq for Node {}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl DiscreteWorker<'_> {
    /// Whether categories that may fail are decided here.
    pub(super) fn decides_failing(&self) -> bool {
        let actions = &self.task.actions;
        self.solver.exact && actions.has_failures() && actions.ties().is_empty()
    }

    /// The cheapest point of the rate, into `best`; what comes nearest where there is none, into
    /// `proposal`.
    pub(super) fn decide_failing(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        nearest: &mut Option<(bool, f64)>,
        best: &mut Best,
        proposal: &mut Proposal,
    ) -> Result<()> {
        let risky = self.risky(factual);
        let held = self.within.held.clone();
        self.within.frozen = false;
        let mut tried = BTreeSet::new();
        let root = Node { bound: 0.0, number: 0, states: vec![State::Open; risky.len()] };
        let (mut heap, mut number) = (BinaryHeap::from([root]), 0);
        while let Some(mut node) = heap.pop().filter(|node| node.bound < best.total) {
            if best.nodes == 0 || number > 0 && aim.budget.is_exhausted() {
                best.stopped = true;
                break;
            }
            let Some(relaxed) = self.bound(factual, aim, (&risky, &held), &mut node, best)? else {
                if best.total.is_infinite() {
                    self.roots = vec![self.found.clone()];
                    self.keep_nearest(factual, nearest, proposal)?;
                }
                continue;
            };
            if node.bound >= best.total {
                continue;
            }
            if tried.insert(relaxed.clone()) && best.nodes > 0 {
                self.try_states(factual, aim, (&risky, &held, &relaxed), best)?;
                if best.total.is_infinite() {
                    self.keep_nearest(factual, nearest, proposal)?;
                }
            }
            if let Some(i) = critical(&risky, &node.states, &relaxed) {
                for states in split(&risky, &node.states, i) {
                    number += 1;
                    heap.push(Node { bound: node.bound, number, states });
                }
            }
        }
        self.within.held = held;
        self.within.frozen = self.solver.chosen;
        Ok(())
    }

    /// Categories that may change and fail to.
    pub(super) fn risky(&self, factual: &[f64]) -> Vec<Risky> {
        let task: &Task = &self.task;
        let Some(linear) = task.model.as_linear() else { return Vec::new() };
        let may_fail = |g: &usize| {
            let group = &task.actions.groups()[*g];
            group.p_fail() > 0.0 && task.actions.is_mutable_group(*g) && !self.holds_group(*g)
        };
        let risky = |g: usize| {
            let group = &task.actions.groups()[g];
            let current = group.option_of(factual)?;
            let scored = |o: usize| -> f64 {
                let columns = group.columns().iter().zip(group.values(o));
                columns.map(|(&c, value)| linear.weights()[c] * value).sum()
            };
            let others = (0..group.n_options()).filter(|&o| o != current);
            let mut changes: Vec<Change> = others
                .filter(|&option| group.allows(current, option))
                .map(|option| Change {
                    option,
                    total: task.cost.of_choice(group, current, option),
                    gain: scored(option) - scored(current),
                })
                .collect();
            changes.sort_by(|a, b| a.total.total_cmp(&b.total).then(b.gain.total_cmp(&a.gain)));
            let mut most = 0.0;
            changes.retain(|change| {
                let better = change.gain > most;
                most = change.gain.max(most);
                better
            });
            Some(Risky { group: g, p_fail: group.p_fail(), changes })
        };
        (0..task.actions.groups().len()).filter(may_fail).filter_map(risky).collect()
    }

    /// Turns to the decided categories; the total of their changes, or `None` if they are more than
    /// may change.
    fn turn_to(
        &mut self,
        factual: &[f64],
        (risky, held): (&[Risky], &[bool]),
        states: &[State],
    ) -> Option<f64> {
        let task = Arc::clone(&self.task);
        let norm: &dyn Norm = task.cost.norm();
        self.person.copy_from_slice(factual);
        self.within.held.clear();
        self.within.held.extend_from_slice(held);
        self.within.held.resize(factual.len(), false);
        let (mut spent, mut n_changed) = (0.0, 0);
        for (category, state) in risky.iter().zip(states) {
            let group = &task.actions.groups()[category.group];
            if *state != State::Open {
                group.columns().iter().for_each(|&c| self.within.held[c] = true);
            }
            if let State::Changes(k) = *state {
                group.set(category.changes[k].option, &mut self.person);
                spent = norm.join(spent, category.changes[k].total);
                n_changed += 1;
            }
        }
        self.within.max_changes = match task.actions.max_changes() {
            Some(most) => Some(usize::checked_sub(most, n_changed)?),
            None => None,
        };
        self.within.limits = self.outer_limits();
        Some(spent)
    }

    /// Solves the relaxation of a node, raises its bound, and returns what it chooses; `None` if
    /// nothing below the node reaches the rate.
    fn bound(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        (risky, held): (&[Risky], &[bool]),
        node: &mut Node,
        best: &mut Best,
    ) -> Result<Option<Vec<State>>> {
        let Some(spent) = self.turn_to(factual, (risky, held), &node.states) else {
            return Ok(None);
        };
        let changes = risky.iter().zip(&node.states).filter_map(|(category, state)| match *state {
            State::Changes(k) => Some((category.p_fail, -category.changes[k].gain)),
            State::Open | State::Stays => None,
        });
        let mut changes: Vec<(f64, f64)> = changes.collect();
        changes.sort_by(|a, b| (a.0 * a.1).total_cmp(&(b.0 * b.1)));
        changes.truncate(FAILURES_OF_A_BOUND);
        let aim = match changes.is_empty() {
            true => aim,
            false => self.aim_under(&Shifts::new(&changes), aim),
        };
        best.nodes -= 1;
        self.relax(aim)?;
        match self.found.verdict {
            Verdict::Reached => {
                let total = self.task.cost.total(&self.person, &self.found.point);
                node.bound = node.bound.max(self.task.cost.norm().join(spent, total));
            }
            Verdict::Short(Reason::SearchLimit) => best.stopped = true,
            Verdict::Short(_) => return Ok(None),
        }
        let actions = &self.task.actions;
        let chosen = |(category, state): (&Risky, &State)| match *state {
            State::Open => {
                let option = actions.groups()[category.group].option_of(&self.found.point);
                let made = category.changes.iter().position(|change| Some(change.option) == option);
                made.map_or(State::Stays, State::Changes)
            }
            decided => decided,
        };
        Ok(Some(risky.iter().zip(&node.states).map(chosen).collect()))
    }

    /// The cheapest point of the rate with all categories decided, their failures counted.
    fn try_states(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        (risky, held, states): (&[Risky], &[bool], &[State]),
        best: &mut Best,
    ) -> Result<()> {
        self.roots.clear();
        let changes = states.iter().filter(|state| matches!(state, State::Changes(_))).count();
        if changes > FAILURES_OF_A_BOUND {
            // The failures that matter most tell cheaply whether the others are worth a look.
            let mut node = Node { bound: 0.0, number: 0, states: states.to_vec() };
            let relaxed = self.bound(factual, aim, (risky, held), &mut node, best)?;
            if relaxed.is_none() || node.bound >= best.total || best.nodes == 0 {
                self.roots.push(self.found.clone());
                return Ok(());
            }
        }
        let Some(spent) = self.turn_to(factual, (risky, held), states) else { return Ok(()) };
        let rooms = vec![self.within.limits.clone()];
        match self.aim_of_success(factual, aim, &rooms)? {
            Some(aim) => self.branch(aim, spent, rooms, best),
            None => Ok(()),
        }
    }
}

/// The open category to split by: of those that the relaxation changes the one whose failures take
/// most, else the one that may gain most. `None` where none is left.
fn critical(risky: &[Risky], states: &[State], relaxed: &[State]) -> Option<usize> {
    let worth = |i: usize| match relaxed[i] {
        State::Changes(k) => (true, risky[i].p_fail * risky[i].changes[k].gain),
        State::Open | State::Stays => (false, risky[i].changes.last().map_or(0.0, |c| c.gain)),
    };
    (0..risky.len()).filter(|&i| states[i] == State::Open && !risky[i].changes.is_empty()).max_by(
        |&a, &b| {
            let (a_worth, b_worth) = (worth(a), worth(b));
            a_worth.0.cmp(&b_worth.0).then(a_worth.1.total_cmp(&b_worth.1)).then(b.cmp(&a))
        },
    )
}

/// The parts of a node in which category `i` stays, or makes one of its changes.
fn split(risky: &[Risky], states: &[State], i: usize) -> Vec<Vec<State>> {
    let mut stays = states.to_vec();
    stays[i] = State::Stays;
    for j in (0..risky.len()).filter(|&j| states[j] == State::Open && j != i) {
        if risky[i].dominates(&risky[j]) {
            stays[j] = State::Stays;
        }
    }
    let changes = (0..risky[i].changes.len()).map(|k| {
        let mut changes = states.to_vec();
        changes[i] = State::Changes(k);
        changes
    });
    std::iter::once(stays).chain(changes).collect()
}
