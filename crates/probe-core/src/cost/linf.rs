//! The largest weighted move.
//!
//! Cheapest gain: the smallest $t$ at which moving every item as far as $t$ allows gains enough;
//! see `level`. Among the many optima the one of least sum is returned: items are filled in the
//! order of `l1` within $t$.

use super::{Item, Norm, Scratch, l1, level};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Norm> =
    Entry { name: "linf", reference: "largest weighted move", item: &Linf };

struct Linf;

fn rate(item: &Item) -> f64 {
    1.0 / item.weight
}

impl Norm for Linf {
    fn name(&self) -> &'static str {
        "linf"
    }

    fn add(&self, total: f64, weighted_move: f64) -> f64 {
        total.max(weighted_move)
    }

    fn join(&self, a: f64, b: f64) -> f64 {
        a.max(b)
    }

    fn finish(&self, total: f64) -> f64 {
        total
    }

    fn total_of(&self, cost: f64) -> f64 {
        cost
    }

    fn prepare(&self, items: &[Item], scratch: &mut Scratch) {
        level::prepare(items, rate, &mut scratch.events);
    }

    fn cheapest(&self, items: &[Item], scratch: &Scratch, needed: f64, moves: &mut [f64]) -> bool {
        let level = level::solve(items, rate, &scratch.events, needed);
        match level {
            Some(t) => {
                let forced = items.iter().fold(0.0, |m: f64, it| m.max(it.weight * it.start));
                l1::fill(items, t.max(forced), needed, moves);
            }
            None => moves.iter_mut().zip(items).for_each(|(u, it)| *u = it.cap),
        }
        level.is_some()
    }

    fn furthest(&self, items: &[Item], _spent: f64, budget: f64, moves: &mut [f64]) {
        for (it, u) in items.iter().zip(moves.iter_mut()) {
            *u = (budget / it.weight).min(it.cap).max(it.start);
        }
    }

    fn is_separable(&self) -> bool {
        false
    }

    fn response(&self, item: &Item, _price: f64) -> f64 {
        item.start
    }

    fn damped_response(&self, gain: f64, _weight: f64, bend: f64) -> f64 {
        if gain > 0.0 { gain / bend } else { 0.0 }
    }

    fn subgradient(&self, moves: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let largest = moves.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        if let Some((j, m)) = largest
            && *m > 0.0
        {
            out[j] = 1.0;
        }
    }
}
