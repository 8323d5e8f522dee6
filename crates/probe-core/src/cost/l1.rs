//! The sum of the weighted moves.
//!
//! Cheapest gain: fill items in ascending order of weight / gain up to their caps (an exchange
//! argument, or LP duality: the multiplier is the last item's weight / gain). The order does not
//! depend on the person.

use super::{Item, Norm, Scratch};
use crate::registry::Entry;

pub(super) const ENTRY: Entry<dyn Norm> =
    Entry { name: "l1", reference: "sum of weighted moves; the paper's cost", item: &L1 };

struct L1;

/// Fills items in order, none beyond a weighted move of `limit`, until `needed` is gained; returns
/// what is missing.
pub(super) fn fill(items: &[Item], limit: f64, needed: f64, moves: &mut [f64]) -> f64 {
    let mut rest = needed - items.iter().map(|it| it.gain * it.start).sum::<f64>();
    for (it, u) in items.iter().zip(moves.iter_mut()) {
        let room = (limit / it.weight).min(it.cap).max(it.start) - it.start;
        let (step, left) = take(it.gain, room, rest, needed);
        *u = it.start + step;
        rest = left;
    }
    rest
}

/// How far an item with this `gain` and `room` moves if `rest` of `needed` is still to
/// be gained, and what is missing then.
#[inline]
pub(crate) fn take(gain: f64, room: f64, rest: f64, needed: f64) -> (f64, f64) {
    let step = if rest > 0.0 { (rest / gain).min(room) } else { 0.0 };
    let left = rest - gain * step;
    // A remainder that is only rounding must not move another feature.
    let done = step < room || left <= 4.0 * f64::EPSILON * needed.abs();
    (step, if done { left.min(0.0) } else { left })
}

impl Norm for L1 {
    fn name(&self) -> &'static str {
        "l1"
    }

    fn add(&self, total: f64, weighted_move: f64) -> f64 {
        total + weighted_move
    }

    fn join(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    fn finish(&self, total: f64) -> f64 {
        total
    }

    fn total_of(&self, cost: f64) -> f64 {
        cost
    }

    fn prepare(&self, items: &[Item], _scratch: &mut Scratch) {
        debug_assert!(
            items.is_sorted_by(|a, b| a.weight * b.gain <= b.weight * a.gain * (1.0 + 1e-12))
        );
    }

    fn cheapest(&self, items: &[Item], _scratch: &Scratch, needed: f64, moves: &mut [f64]) -> bool {
        fill(items, f64::INFINITY, needed, moves) <= 0.0
    }

    fn furthest(&self, items: &[Item], spent: f64, budget: f64, moves: &mut [f64]) {
        let mut rest = budget - spent - items.iter().map(|it| it.weight * it.start).sum::<f64>();
        for (it, u) in items.iter().zip(moves.iter_mut()) {
            let step = (rest.max(0.0) / it.weight).min(it.cap - it.start);
            rest -= it.weight * step;
            *u = it.start + step;
        }
    }

    fn is_separable(&self) -> bool {
        true
    }

    fn is_linear(&self) -> bool {
        true
    }

    fn response(&self, item: &Item, price: f64) -> f64 {
        if price * item.gain > item.weight { item.cap } else { item.start }
    }

    fn damped_response(&self, gain: f64, weight: f64, bend: f64) -> f64 {
        if gain > weight { (gain - weight) / bend } else { 0.0 }
    }

    fn subgradient(&self, _moves: &[f64], out: &mut [f64]) {
        out.fill(1.0);
    }
}
