//! Exact optima by brute force.
//!
//! For l1 and l2 every candidate of a complete list is tried: within one choice of options and one
//! set of changed columns, the needed score is a constant and the problem convex, so its optimum is
//!
//! - l1: a vertex of (cell of the box cut along the person's values) ∩ {score ≥ needed}: every
//!   column stays or is at an end of its interval, except one at most, which takes up the rest;
//! - l2: a KKT point: every column stays, is at an end, or moves by $\tau w_j/c_j^2$ with one
//!   common $\tau$.
//!
//! The cheapest feasible candidate is the optimum; no multiplier need be checked, since a feasible
//! candidate that is not optimal only loses. For linf the least level is found by bisection for
//! each set of changed columns. Columns are never sorted. [`solve_lp`] and [`solve_milp`] hand the
//! same problems to a general solver.
//!
//! Noise on changed columns: a column counted as changed that in fact stays only raises the needed
//! score (see [`Instance::faults`]), so taking each set's closure changes nothing.

#[cfg(test)]
mod dual;
mod lp;
mod milp;
mod reach;
mod view;

pub use lp::solve_lp;
pub use milp::solve_milp;
pub use reach::{Best, best_rate, max_robust};

use crate::instance::{Instance, Norm};
use view::{Setting, View, add, finish};

/// An optimum.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The least cost.
    pub cost: f64,
    /// A point that has it; others may tie.
    pub point: Vec<f64>,
}

/// Why a method does not apply to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutOfScope(pub String);

/// The cheapest admissible, favourable point with a low enough rate; `None` if there is none.
pub fn solve(instance: &Instance, norm: Norm) -> Option<Reference> {
    let view = View::new(instance)?;
    let mut best = Incumbent { total: f64::INFINITY, point: None };
    for setting in view.settings.iter().filter(|s| s.changes <= view.most) {
        let total = setting.moves.iter().fold(0.0, |t, &m| add(norm, t, m));
        if norm == Norm::Linf {
            level(&view, setting, total, &mut best);
        } else {
            let search = Search { view: &view, setting, norm };
            let mut values: Vec<f64> = view.columns.iter().map(|c| c.x).collect();
            let node =
                Node { score: setting.score, total, changes: setting.changes, set: 0, rest: 0 };
            search.branch(0, node, &mut values, &mut best);
        }
    }
    best.point.map(|point| Reference { cost: finish(norm, best.total), point })
}

/// The cheapest candidate so far.
struct Incumbent {
    total: f64,
    point: Option<Vec<f64>>,
}

impl Incumbent {
    fn offer(&mut self, total: f64, view: &View, setting: &Setting, values: &[f64]) {
        if total < self.total {
            let mut point = setting.point.clone();
            view.columns.iter().zip(values).for_each(|(c, v)| point[c.index] = *v);
            (self.total, self.point) = (total, Some(point));
        }
    }
}

/// A partly decided candidate: what the decided columns add up to, which changed, and which take up
/// the rest.
#[derive(Clone, Copy)]
struct Node {
    score: f64,
    total: f64,
    changes: usize,
    set: usize,
    rest: usize,
}

struct Search<'a> {
    view: &'a View,
    setting: &'a Setting,
    norm: Norm,
}

impl Search<'_> {
    /// Tries every state of column `k` and those after it.
    fn branch(&self, k: usize, node: Node, values: &mut [f64], best: &mut Incumbent) {
        if node.changes > self.view.most || node.total >= best.total {
            return;
        }
        let Some(column) = self.view.columns.get(k) else {
            return self.finish(node, values, best);
        };
        if column.may_stay() {
            values[k] = column.x;
            let score = node.score + column.weight * column.x;
            self.branch(k + 1, Node { score, ..node }, values, best);
        }
        let changed = Node { changes: node.changes + 1, set: node.set | 1 << k, ..node };
        for v in column.ends() {
            values[k] = v;
            let score = node.score + column.weight * v;
            let total = add(self.norm, node.total, column.move_to(v));
            self.branch(k + 1, Node { score, total, ..changed }, values, best);
        }
        let one_only = self.norm == Norm::L1;
        if column.weight != 0.0 && column.may_move() && !(one_only && node.rest != 0) {
            values[k] = column.x;
            let score = node.score + column.weight * column.x;
            self.branch(k + 1, Node { score, rest: node.rest | 1 << k, ..changed }, values, best);
        }
    }

    /// Lets the undecided columns take up the rest and offers the point if it is admissible.
    fn finish(&self, node: Node, values: &[f64], best: &mut Incumbent) {
        let needed = self.view.needed(node.set);
        if node.rest == 0 {
            if self.view.enough(node.score, needed) {
                best.offer(node.total, self.view, self.setting, values);
            }
            return;
        }
        let gap = needed - node.score;
        // For l2 all moves raise the score; a negative gap would make the costs used here the wrong
        // ones.
        if self.norm == Norm::L2 && gap < 0.0 {
            return;
        }
        let undecided =
            || self.view.columns.iter().enumerate().filter(|(k, _)| node.rest >> k & 1 == 1);
        // One column: a move of gap / w. Several: moves in proportion to w / c², with w'moves =
        // gap.
        let share = |weight: f64, cost: f64| {
            if self.norm == Norm::L1 { weight } else { weight / (cost * cost) }
        };
        let gain: f64 = undecided().map(|(_, c)| c.weight * share(c.weight, c.useful_cost())).sum();
        let (mut total, mut values) = (node.total, values.to_vec());
        for (k, column) in undecided() {
            let step = gap / gain * share(column.weight, column.useful_cost());
            let Some(v) = column.admit(column.x + step) else { return };
            values[k] = v;
            total = add(self.norm, total, column.move_to(v));
        }
        best.offer(total, self.view, self.setting, &values);
    }
}

/// The value of a column that helps most at a largest weighted move of `level`, which must let it
/// into its interval.
fn best_within(column: &view::Column, level: f64) -> f64 {
    let (up, down) = column.unit_costs();
    let (low, high) =
        (column.low.max(column.x - level / down), column.high.min(column.x + level / up));
    if column.weight > 0.0 {
        high.max(column.low)
    } else if column.weight < 0.0 {
        low.min(column.high)
    } else {
        column.x.max(column.low).min(column.high)
    }
}

/// Finds the least largest move for each set of changed columns by bisection.
fn level(view: &View, setting: &Setting, total: f64, best: &mut Incumbent) {
    let n = view.columns.len();
    for set in 0..1_usize << n {
        let changed = |k: usize| set >> k & 1 == 1;
        let possible =
            |(k, c): (usize, &view::Column)| if changed(k) { c.may_move() } else { c.may_stay() };
        if setting.changes + set.count_ones() as usize > view.most
            || !view.columns.iter().enumerate().all(possible)
        {
            continue;
        }
        let values = |level: f64| -> Vec<f64> {
            let at = |(k, c): (usize, &view::Column)| {
                if changed(k) { best_within(c, level) } else { c.x }
            };
            view.columns.iter().enumerate().map(at).collect()
        };
        let enough = |level: f64| {
            let terms = view.columns.iter().zip(values(level));
            // A column without weight may have an infinite interval.
            let gain =
                |(c, v): (&view::Column, f64)| if c.weight == 0.0 { 0.0 } else { c.weight * v };
            view.enough(setting.score + terms.map(gain).sum::<f64>(), view.needed(set))
        };
        // What strict bounds and groups force is spent in any case.
        let forced = |c: &view::Column| c.move_to(c.x.max(c.low).min(c.high));
        let (mut low, mut high) = (view.columns.iter().map(forced).fold(total, f64::max), f64::MAX);
        if low >= best.total || !enough(best.total.min(high)) {
            continue;
        }
        if enough(low) {
            high = low;
        }
        while high > low {
            // Halves the exponent first, then the number.
            let mid = if low < high / 4.0 {
                (low.max(1e-300)).sqrt() * high.sqrt()
            } else {
                low + 0.5 * (high - low)
            };
            if mid <= low || mid >= high {
                break;
            }
            if enough(mid) { high = mid } else { low = mid }
        }
        best.offer(high, view, setting, &values(high));
    }
}
