//! `linf` with discrete parts: the smallest largest move.
//!
//! Within a largest weighted move of $t$ every item may go to $\min(\text{cap}, t/w)$ and every
//! group may take its best option of cost at most $t$; whether some set of changes then gains
//! enough is the subset problem, solved exactly. That is monotone in $t$, so bisection finds the
//! optimum to the last bits. It is polynomial, unlike `l1` with groups.

use super::reduced::{Reduced, Requirement, Solution};
use super::subset;
use crate::cost::{Norm, Scratch};

/// Writes the optimum into `solution`; false if there is none.
pub(super) fn solve(
    norm: &dyn Norm,
    reduced: &Reduced,
    requirement: &Requirement,
    solution: &mut Solution,
) -> bool {
    if reduced.is_forced_too_far() {
        return false;
    }
    let limit = reduced.max_changes.map(|k| k.saturating_sub(reduced.base_changes));
    let base = (reduced.base_score, reduced.base_variance);
    let reach = |t: f64, i: usize| {
        let it = &reduced.items[i];
        (t / it.weight).min(it.cap).max(it.start)
    };
    // Options are kept in ascending cost and gain: the last affordable one is the best.
    let pick = |t: f64, g: usize| reduced.choices[g].iter().rposition(|c| c.total <= t);
    let mut chosen = Vec::new();
    let enough = |t: f64, chosen: &mut Vec<bool>| {
        let options = subset::options_of(reduced, |i| reach(t, i), |g| pick(t, g));
        subset::best(&options, limit, base, requirement, chosen) >= 0.0
    };
    let low = reduced.total_at_start(norm);
    let mut high = reduced.largest_move();
    if !high.is_finite() {
        high = low.max(1.0);
        while high < 1e300 && !enough(high, &mut chosen) {
            high *= 2.0;
        }
    }
    if !enough(high, &mut chosen) {
        return false;
    }
    if enough(low, &mut chosen) {
        high = low;
    }
    let (mut below, mut above) = (low, high);
    // The last bits come from the exact solution within the chosen set.
    while above - below > 1e-14 * above {
        let mid = 0.5 * (below + above);
        if enough(mid, &mut chosen) { above = mid } else { below = mid }
    }
    enough(above, &mut chosen);
    fill(norm, reduced, requirement, above, &chosen, |g| pick(above, g), solution);
    true
}

/// Among the points with largest move `t` that change what was chosen, one of least sum.
fn fill(
    norm: &dyn Norm,
    reduced: &Reduced,
    requirement: &Requirement,
    t: f64,
    chosen: &[bool],
    pick: impl Fn(usize) -> Option<usize>,
    solution: &mut Solution,
) {
    let n = reduced.items.len();
    let mut gained = reduced.base_score;
    for (g, choices) in reduced.choices.iter().enumerate() {
        solution.picks[g] = if chosen[n + g] { pick(g) } else { None };
        gained += solution.picks[g].map_or(0.0, |p| choices[p].gain);
    }
    let changed: Vec<usize> =
        (0..n).filter(|&i| chosen[i] || reduced.items[i].start > 0.0).collect();
    let variance =
        reduced.base_variance + changed.iter().map(|&i| reduced.variances[i]).sum::<f64>();
    let items: Vec<_> = changed
        .iter()
        .map(|&i| {
            let mut it = reduced.items[i];
            it.cap = (t / it.weight).min(it.cap).max(it.start);
            it
        })
        .collect();
    let (mut scratch, mut moves) = (Scratch::default(), vec![0.0; items.len()]);
    norm.prepare(&items, &mut scratch);
    norm.cheapest(&items, &scratch, requirement.score(variance) - gained, &mut moves);
    for (&i, u) in changed.iter().zip(moves) {
        solution.moves[i] = u;
    }
}
