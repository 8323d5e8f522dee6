//! Which features change, where that matters: branch and bound.
//!
//! A node has decided for some items whether they change. Its relaxation lets all others change
//! without counting them and without the noise that any change of them adds, so that its cost is a
//! bound. A relaxed change that keeps the limit, and is enough with all of its noise, is the node's
//! optimum; otherwise an item that it changes is decided.

use super::program::{Program, Solved};
use crate::cost::Norm;

/// Nodes that one problem is worth.
const MAX_NODES: usize = 4_000;

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// With a change that is enough.
    Enough,
    /// With one, at the node limit.
    Stopped,
    /// With none.
    Nothing,
}

/// What was found.
pub(super) struct Change {
    pub found: Found,
    /// The change; the most robust one that is known where none is enough.
    pub change: Vec<f64>,
    /// Whether it is an optimum, or it is certain that none is enough.
    pub proven: bool,
    /// In the norm's total, no change that is enough has less.
    pub bound: f64,
    pub nodes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Open,
    Out,
    In,
}

/// The cheapest change of at most `max_changes` items that is enough.
pub(super) fn solve(program: &Program, norm: &dyn Norm, max_changes: Option<usize>) -> Change {
    let n = program.items.len();
    let forced = |k: usize| program.items[k].low > 0.0 || program.items[k].high < 0.0;
    let states: Vec<State> =
        (0..n).map(|k| if forced(k) { State::In } else { State::Open }).collect();
    let mut search = Search {
        program,
        norm,
        most: max_changes.unwrap_or(n),
        best: None,
        total: f64::INFINITY,
        nodes: 0,
        proven: true,
        bound: 0.0,
    };
    search.explore(&states);
    let stopped = search.nodes >= MAX_NODES;
    let Search { best, bound, nodes, proven, .. } = search;
    let found = match (&best, stopped) {
        (Some(_), false) => Found::Enough,
        (None, false) => Found::Nothing,
        (_, true) => Found::Stopped,
    };
    let change = best.unwrap_or_else(|| furthest(program, max_changes));
    Change { found, change, proven: proven && !stopped, bound, nodes }
}

/// A change that gains the most score, where none is enough.
fn furthest(program: &Program, max_changes: Option<usize>) -> Vec<f64> {
    let ends = |k: usize| {
        let it = &program.items[k];
        let end = if it.gain > 0.0 { it.high } else { it.low };
        if end.is_finite() && it.gain != 0.0 { end } else { 0.0_f64.clamp(it.low, it.high) }
    };
    let mut ranked: Vec<usize> = (0..program.items.len()).collect();
    let gain = |k: &usize| program.items[*k].gain * ends(*k);
    ranked.sort_by(|a, b| gain(b).total_cmp(&gain(a)).then(a.cmp(b)));
    let mut change: Vec<f64> =
        program.items.iter().map(|it| 0.0_f64.clamp(it.low, it.high)).collect();
    let most = max_changes.unwrap_or(ranked.len());
    ranked.iter().take(most).for_each(|&k| change[k] = ends(k));
    change
}

struct Search<'a> {
    program: &'a Program,
    norm: &'a dyn Norm,
    most: usize,
    best: Option<Vec<f64>>,
    total: f64,
    nodes: usize,
    proven: bool,
    /// The bound of the first node, which holds for all changes.
    bound: f64,
}

impl Search<'_> {
    /// The cheapest change where items that are out stay, and those that are in add their noise.
    fn relax(&mut self, states: &[State]) -> Solved {
        let mut program = self.program.clone();
        let mut fixed = 0.0;
        for (it, state) in program.items.iter_mut().zip(states) {
            match state {
                State::Out => (it.low, it.high) = (0.0, 0.0),
                State::In => fixed += it.fixed,
                State::Open => {}
            }
        }
        self.nodes += 1;
        program.cheapest(self.norm, fixed)
    }

    /// Takes a change if it is admissible, enough and cheaper than the best; whether it is enough.
    fn offer(&mut self, change: &[f64]) -> bool {
        let changed = change.iter().filter(|d| **d != 0.0).count();
        let items = self.program.items.iter().zip(change);
        let fixed: f64 = items.map(|(it, d)| if *d != 0.0 { it.fixed } else { 0.0 }).sum();
        let score = self.program.items.iter().zip(change);
        let score = score.fold(self.program.score, |sum, (it, d)| sum + it.score * d);
        // Solutions meet their constraint but for rounding.
        let near = self.program.ulps * 16.0;
        let enough = changed <= self.most
            && self.program.slack(change, fixed) >= -near
            && score >= self.program.least_score - near;
        let total = self.program.total(self.norm, change);
        if enough && total < self.total {
            (self.total, self.best) = (total, Some(change.to_vec()));
        }
        enough
    }

    fn explore(&mut self, states: &[State]) {
        let n_in = states.iter().filter(|state| **state == State::In).count();
        if self.nodes >= MAX_NODES || n_in > self.most {
            return;
        }
        let mut states = states.to_vec();
        if n_in == self.most {
            let open = states.iter_mut().filter(|state| **state == State::Open);
            open.for_each(|state| *state = State::Out);
        }
        let first = self.nodes == 0;
        let solved = self.relax(&states);
        self.proven &= solved.proven;
        if first {
            self.bound = if solved.bound.is_finite() { solved.bound } else { 0.0 };
        }
        let Some(change) = solved.change else { return };
        if solved.bound >= self.total * (1.0 - 1e-12) || self.offer(&change) {
            return;
        }
        let Some(k) = self.critical(&states, &change) else { return };
        self.round(&states, &change);
        for state in [State::In, State::Out] {
            states[k] = state;
            self.explore(&states);
        }
    }

    /// Offers the optimum for the items that a relaxed change moves most, in terms of score.
    fn round(&mut self, states: &[State], change: &[f64]) {
        let moved = |k: &usize| (self.program.items[*k].gain * change[*k]).abs();
        let mut open: Vec<usize> =
            (0..states.len()).filter(|&k| states[k] == State::Open && change[k] != 0.0).collect();
        open.sort_by(|a, b| moved(b).total_cmp(&moved(a)).then(a.cmp(b)));
        let n_in = states.iter().filter(|state| **state == State::In).count();
        open.truncate(self.most - n_in);
        let mut rounded: Vec<State> = (states.iter())
            .map(|state| if *state == State::Open { State::Out } else { *state })
            .collect();
        open.iter().for_each(|&k| rounded[k] = State::In);
        let solved = self.relax(&rounded);
        if let Some(change) = solved.change {
            self.offer(&change);
        }
    }

    /// The open item to decide: of those that the relaxed change moves, the one that adds most
    /// noise, else the one that gains most.
    fn critical(&self, states: &[State], change: &[f64]) -> Option<usize> {
        let worth = |k: usize| {
            let it = &self.program.items[k];
            (it.fixed, (it.gain * change[k]).abs())
        };
        (0..states.len()).filter(|&k| states[k] == State::Open && change[k] != 0.0).max_by(
            |&a, &b| {
                let (a_worth, b_worth) = (worth(a), worth(b));
                let order = a_worth.0.total_cmp(&b_worth.0);
                order.then(a_worth.1.total_cmp(&b_worth.1)).then(b.cmp(&a))
            },
        )
    }
}
