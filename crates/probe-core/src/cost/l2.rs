//! The root of the squared weighted moves.
//!
//! Cheapest gain: $u_j = \mathrm{clip}(\nu g_j/w_j^2, s_j, c_j)$, KKT on a convex problem; see
//! `level`.

use super::{Item, Norm, Scratch, level};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Norm> =
    Entry { name: "l2", reference: "Euclidean norm of weighted moves", item: &L2 };

struct L2;

fn rate(item: &Item) -> f64 {
    item.gain / (item.weight * item.weight)
}

impl Norm for L2 {
    fn name(&self) -> &'static str {
        "l2"
    }

    fn add(&self, total: f64, weighted_move: f64) -> f64 {
        total + weighted_move * weighted_move
    }

    fn join(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    fn finish(&self, total: f64) -> f64 {
        total.sqrt()
    }

    fn total_of(&self, cost: f64) -> f64 {
        cost * cost
    }

    fn prepare(&self, items: &[Item], scratch: &mut Scratch) {
        level::prepare(items, rate, &mut scratch.events);
    }

    fn cheapest(&self, items: &[Item], scratch: &Scratch, needed: f64, moves: &mut [f64]) -> bool {
        let level = level::solve(items, rate, &scratch.events, needed);
        for (it, u) in items.iter().zip(moves.iter_mut()) {
            *u = level.map_or(it.cap, |nu| (nu * rate(it)).min(it.cap).max(it.start));
        }
        level.is_some()
    }

    fn furthest(&self, items: &[Item], spent: f64, budget: f64, moves: &mut [f64]) {
        let total = |nu: f64| {
            items.iter().fold(spent, |t, it| {
                self.add(t, it.weight * (nu * rate(it)).min(it.cap).max(it.start))
            })
        };
        // Without caps the level is exact. Caps only allow a higher one, which doubling finds.
        let allowed = self.total_of(budget);
        let (mut lo, mut hi) = (0.0, 1.0);
        while total(hi) < allowed && hi < 1e300 {
            (lo, hi) = (hi, hi * 2.0);
        }
        loop {
            let mid = 0.5 * (lo + hi);
            if mid <= lo || mid >= hi {
                break;
            }
            if total(mid) <= allowed { lo = mid } else { hi = mid }
        }
        for (it, u) in items.iter().zip(moves.iter_mut()) {
            *u = (lo * rate(it)).min(it.cap).max(it.start);
        }
    }

    fn is_separable(&self) -> bool {
        true
    }

    fn response(&self, item: &Item, price: f64) -> f64 {
        (0.5 * price * rate(item)).min(item.cap).max(item.start)
    }

    fn damped_response(&self, gain: f64, weight: f64, bend: f64) -> f64 {
        gain / (2.0 * weight * weight + bend)
    }

    fn subgradient(&self, moves: &[f64], out: &mut [f64]) {
        let norm = moves.iter().map(|m| m * m).sum::<f64>().sqrt();
        for (m, o) in moves.iter().zip(out) {
            *o = if norm > 0.0 { m / norm } else { 0.0 };
        }
    }
}
