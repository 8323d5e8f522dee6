//! The lowest rate anyone can reach, without and with a budget.
//!
//! Within one choice of options and one set of changed columns the noise is fixed, so the lowest
//! rate is where the score is highest: without a budget at ends of the rooms, with one at a vertex
//! (l1), a KKT point (l2) or, for linf, with every column as far as the budget lets it.

use super::best_within;
use super::view::{Column, ROUNDING, Setting, View, add};
use crate::instance::{Instance, Norm};

/// The lowest rate within reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Best {
    /// The rate; where nothing favourable is in reach under noise on changed columns it is the best
    /// of the candidates only, since then more noise helps and the infimum need not be attained.
    pub rate: f64,
    /// The score there.
    pub score: f64,
    /// Mean of the noisy score over its standard deviation; infinite without noise.
    pub margin: f64,
    /// Whether the score is at least [`Instance::least_score`], up to rounding.
    pub favourable: bool,
    /// The point; `None` where the rate 0 is only approached, ever further out.
    pub point: Option<Vec<f64>>,
}

/// The lowest rate over all admissible points; `None` if there is no admissible point.
pub fn best_rate(instance: &Instance) -> Option<Best> {
    let view = View::new(instance)?;
    let forced = view.columns.iter().filter(|c| !c.may_stay()).count();
    let endless = view.columns.iter().any(|c| {
        let changes = forced + usize::from(c.may_stay());
        c.weight != 0.0 && c.useful_end().is_infinite() && changes <= view.most
    });
    if endless {
        let (score, margin) = (f64::INFINITY, f64::INFINITY);
        return Some(Best { rate: 0.0, score, margin, favourable: true, point: None });
    }
    search(&view, f64::INFINITY, Norm::L1)
}

/// The lowest rate over all admissible points that cost at most `budget`; `None` if there is no
/// such point.
pub fn max_robust(instance: &Instance, budget: f64, norm: Norm) -> Option<Best> {
    search(&View::new(instance)?, budget, norm)
}

fn search(view: &View, budget: f64, norm: Norm) -> Option<Best> {
    let mut best = None;
    let allowed = if norm == Norm::L2 { budget * budget } else { budget };
    for setting in view.settings.iter().filter(|s| s.changes <= view.most) {
        let spent = setting.moves.iter().fold(0.0, |t, &m| add(norm, t, m));
        let reach = Reach { view, setting, norm, allowed };
        if norm == Norm::Linf {
            reach.every_set(spent, &mut best);
        } else {
            let mut values: Vec<f64> = view.columns.iter().map(|c| c.x).collect();
            reach.branch(
                0,
                Node { total: spent, changes: setting.changes, set: 0, rest: 0 },
                &mut values,
                &mut best,
            );
        }
    }
    best
}

/// A partly decided candidate.
#[derive(Clone, Copy)]
struct Node {
    total: f64,
    changes: usize,
    set: usize,
    rest: usize,
}

struct Reach<'a> {
    view: &'a View,
    setting: &'a Setting,
    norm: Norm,
    allowed: f64,
}

impl Reach<'_> {
    fn affordable(&self, total: f64) -> bool {
        total <= self.allowed * (1.0 + ROUNDING)
    }

    fn branch(&self, k: usize, node: Node, values: &mut [f64], best: &mut Option<Best>) {
        if node.changes > self.view.most || !self.affordable(node.total) {
            return;
        }
        let Some(column) = self.view.columns.get(k) else {
            return self.finish(node, values, best);
        };
        if column.may_stay() {
            values[k] = column.x;
            self.branch(k + 1, node, values, best);
        }
        let changed = Node { changes: node.changes + 1, set: node.set | 1 << k, ..node };
        for v in column.ends() {
            values[k] = v;
            let total = add(self.norm, node.total, column.move_to(v));
            self.branch(k + 1, Node { total, ..changed }, values, best);
        }
        let one_only = self.norm == Norm::L1;
        let budgeted = self.allowed.is_finite() && column.weight != 0.0 && column.may_move();
        if budgeted && !(one_only && node.rest != 0) {
            self.branch(k + 1, Node { rest: node.rest | 1 << k, ..changed }, values, best);
        }
    }

    /// Spends the rest of the budget on the undecided columns.
    fn finish(&self, node: Node, values: &[f64], best: &mut Option<Best>) {
        let left = (self.allowed - node.total).max(0.0);
        let undecided =
            || self.view.columns.iter().enumerate().filter(|(k, _)| node.rest >> k & 1 == 1);
        // Moves in proportion to w / c² (l2), whose weighted moves w / c have this sum of squares.
        let squares: f64 = undecided().map(|(_, c)| (c.weight / c.useful_cost()).powi(2)).sum();
        let mut values = values.to_vec();
        for (k, column) in undecided() {
            let cost = column.useful_cost();
            let step = match self.norm {
                Norm::L2 => (left / squares).sqrt() * column.weight / (cost * cost),
                _ => (left / cost).copysign(column.weight),
            };
            let Some(v) = column.admit(column.x + step) else { return };
            values[k] = v;
        }
        self.offer(node.set, &values, best);
    }

    /// For linf: every column of each set as far as the budget lets it.
    fn every_set(&self, spent: f64, best: &mut Option<Best>) {
        let columns = || self.view.columns.iter().enumerate();
        for set in 0..1_usize << self.view.columns.len() {
            let changed = |k: usize| set >> k & 1 == 1;
            let fits = columns().all(|(k, c)| if changed(k) { c.may_move() } else { c.may_stay() });
            if !fits || self.setting.changes + set.count_ones() as usize > self.view.most {
                continue;
            }
            let at = |k: usize| {
                let c = &self.view.columns[k];
                if changed(k) { best_within(c, self.allowed) } else { c.x }
            };
            let values: Vec<f64> = (0..self.view.columns.len()).map(at).collect();
            // Only what is forced can be too expensive; the rest is cut to the budget, up to the
            // rounding of x + move.
            let forced = |c: &Column| c.move_to(c.x.max(c.low).min(c.high));
            if self.affordable(columns().fold(spent, |t, (_, c)| add(self.norm, t, forced(c)))) {
                self.offer(set, &values, best);
            }
        }
    }

    fn offer(&self, set: usize, values: &[f64], best: &mut Option<Best>) {
        let terms = self.view.columns.iter().zip(values);
        let score = self.setting.score + terms.clone().map(|(c, v)| c.weight * v).sum::<f64>();
        let (shift, sd) = self.view.noise(set);
        let mean = score + shift;
        let margin = if sd > 0.0 {
            mean / sd
        } else if mean > 0.0 {
            f64::INFINITY
        } else {
            f64::NEG_INFINITY
        };
        let favourable = self.view.enough(score, self.view.least);
        let better =
            |old: &Best| (favourable, margin, score) > (old.favourable, old.margin, old.score);
        if best.as_ref().is_none_or(better) {
            let rate = 0.5 * libm::erfc(margin * std::f64::consts::FRAC_1_SQRT_2);
            let mut point = self.setting.point.clone();
            terms.for_each(|(c, v)| point[c.index] = *v);
            *best = Some(Best { rate, score, margin, favourable, point: Some(point) });
        }
    }
}
