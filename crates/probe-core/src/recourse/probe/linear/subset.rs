//! Which features to change if each may move as far as it can: maximises the score minus the
//! requirement of the noise.
//!
//! With noise on the changed features only, changing the set $S$ gains $A(S) = \sum_S a_j$ and
//! requires $z\sqrt{V(S)}$ with $V(S) = \sum_S v_j$. $A - z\sqrt V$ is convex in $(A, V)$, so that
//! its maximum over all sets is at a corner of the convex hull of the points $(A(S), V(S))$. It
//! rises with $A$ and falls with $V$, so that this corner maximises $A - \lambda V$ for some
//! $\lambda \ge 0$. For given $\lambda$ the best set takes the largest positive $a_j - \lambda
//! v_j$, at most $K$ of them, and this set changes only where two of these lines cross. It is
//! enough to try one $\lambda$ between each two crossings.

use super::reduced::{Reduced, Requirement, Solution};

/// One thing that may be changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    /// Score gained.
    pub gain: f64,
    /// Variance of the noise that it adds.
    pub variance: f64,
    /// Already decided: it must change.
    pub forced: bool,
}

/// The set with the largest score minus requirement, as flags into `chosen`; returns that
/// difference.
pub(super) fn best(
    options: &[Change],
    limit: Option<usize>,
    base: (f64, f64),
    requirement: &Requirement,
    chosen: &mut Vec<bool>,
) -> f64 {
    let (base_score, base_variance) = base;
    let free: Vec<usize> =
        (0..options.len()).filter(|&i| !options[i].forced && options[i].gain > 0.0).collect();
    let forced = options.iter().filter(|o| o.forced).count();
    let room = limit.map_or(free.len(), |k| k.saturating_sub(forced).min(free.len()));
    if !requirement.depends_on_changes() {
        return best_without_noise(options, free, room, base_score, requirement, chosen);
    }
    let mut best_value = f64::NEG_INFINITY;
    let mut ranked = free.clone();
    let mut flags = vec![false; options.len()];
    for lambda in multipliers(options, &free, room < free.len()) {
        let value_at = |i: usize| {
            let o = &options[i];
            // An unbounded gain outweighs any noise.
            if o.gain.is_infinite() { o.gain } else { o.gain - lambda * o.variance }
        };
        ranked.sort_by(|&a, &b| value_at(b).total_cmp(&value_at(a)).then(a.cmp(&b)));
        flags.fill(false);
        let (mut score, mut variance) = (base_score, base_variance);
        let picked = ranked.iter().take(room).copied().filter(|&i| value_at(i) > 0.0);
        for i in picked.chain((0..options.len()).filter(|&i| options[i].forced)) {
            flags[i] = true;
            score += options[i].gain;
            variance += options[i].variance;
        }
        let value = score - requirement.score(variance);
        if value > best_value {
            best_value = value;
            chosen.clone_from(&flags);
        }
    }
    best_value
}

/// Without noise to weigh, the largest gains win.
fn best_without_noise(
    options: &[Change],
    mut free: Vec<usize>,
    room: usize,
    base_score: f64,
    requirement: &Requirement,
    chosen: &mut Vec<bool>,
) -> f64 {
    if room < free.len() {
        let by_gain =
            |a: &usize, b: &usize| options[*b].gain.total_cmp(&options[*a].gain).then(a.cmp(b));
        free.select_nth_unstable_by(room, by_gain);
        free.truncate(room);
    }
    chosen.clear();
    chosen.extend(options.iter().map(|o| o.forced));
    free.iter().for_each(|&i| chosen[i] = true);
    let gained: f64 =
        options.iter().zip(chosen.iter()).filter(|(_, c)| **c).map(|(o, _)| o.gain).sum();
    base_score + gained - requirement.score(0.0)
}

/// One multiplier from each interval between two crossings.
fn multipliers(options: &[Change], free: &[usize], limited: bool) -> Vec<f64> {
    let mut crossings = vec![0.0];
    for (n, &i) in free.iter().enumerate() {
        let a = &options[i];
        if a.variance > 0.0 && a.gain.is_finite() {
            crossings.push(a.gain / a.variance);
        }
        for &j in free[..n].iter().filter(|_| limited) {
            let b = &options[j];
            let lambda = (a.gain - b.gain) / (a.variance - b.variance);
            if lambda.is_finite() && lambda > 0.0 {
                crossings.push(lambda);
            }
        }
    }
    crossings.sort_by(f64::total_cmp);
    crossings.dedup();
    let last = crossings.last().copied().unwrap_or(0.0);
    let mut tried: Vec<f64> = crossings.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    tried.push(2.0 * last + 1.0);
    tried.push(0.0);
    tried
}

/// The changes that are possible if each goes as far as `reach` says (the move of an item, the
/// index of a group's choice).
pub(super) fn options_of(
    reduced: &Reduced,
    reach: impl Fn(usize) -> f64,
    pick: impl Fn(usize) -> Option<usize>,
) -> Vec<Change> {
    let items = reduced.items.iter().enumerate().map(|(i, it)| Change {
        gain: it.gain * reach(i),
        variance: reduced.variances[i],
        forced: it.start > 0.0,
    });
    let groups = reduced.choices.iter().enumerate().map(|(g, choices)| Change {
        gain: pick(g).map_or(0.0, |p| choices[p].gain),
        variance: 0.0,
        forced: false,
    });
    items.chain(groups).collect()
}

/// The most robust point that can be reached at any cost, into `solution`.
pub(super) fn most_robust(reduced: &Reduced, requirement: &Requirement, solution: &mut Solution) {
    // Choices are sorted by gain, so that the last one gains most.
    let strongest = |g: usize| reduced.choices[g].len().checked_sub(1);
    let options = options_of(reduced, |i| reduced.items[i].cap, strongest);
    let limit = reduced.max_changes.map(|k| k.saturating_sub(reduced.base_changes));
    let mut chosen = vec![false; options.len()];
    // Dinkelbach's method: the margin of the best set for z is the next z, until it stops growing.
    let mut z = 0.0;
    for _ in 0..100 {
        best(
            &options,
            limit,
            (reduced.base_score, reduced.base_variance),
            &requirement.with_z(z),
            &mut chosen,
        );
        let picked = || options.iter().zip(&chosen).filter(|(_, c)| **c).map(|(o, _)| o);
        let score = reduced.base_score + picked().map(|o| o.gain).sum::<f64>();
        let variance = reduced.base_variance + picked().map(|o| o.variance).sum::<f64>();
        let margin = score / variance.sqrt();
        let grows = margin > z && margin.is_finite();
        if !(grows && requirement.depends_on_changes()) {
            break;
        }
        z = margin;
    }
    for (i, it) in reduced.items.iter().enumerate() {
        solution.moves[i] = if chosen[i] { it.cap } else { it.start };
    }
    for g in 0..reduced.choices.len() {
        solution.picks[g] = if chosen[reduced.items.len() + g] { strongest(g) } else { None };
    }
}
