//! Refusals along one feature: at many of its values, from one pass over the errors.
//!
//! A point moves along feature $j$, and the errors stay. The score of the point with error $i$ is a
//! step function of $x_j + \varepsilon_{ij}$, which jumps at the cuts of feature $j$ alone. So it
//! is evaluated once between each two of these cuts. Only trees that split on $j$ differ from one
//! interval to the next, and each of them only at its own cuts. An error changes sides at the
//! values $c - \varepsilon_{ij}$ of the cuts $c$ at which its decision changes; adding these
//! changes up gives the number of refusals at every value.

use super::{Errors, Forest, LANES};
use crate::math::vectorised;

/// Evenly spaced values of a feature.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Places {
    /// Index of the feature.
    pub feature: usize,
    /// The lowest value.
    pub first: f64,
    /// Distance between two values; positive.
    pub step: f64,
    /// Number of values.
    pub n: usize,
}

impl Places {
    /// Value number `i`.
    pub fn at(&self, i: usize) -> f64 {
        self.first + self.step * i as f64
    }

    /// The number of the first value above `limit`; `n` if there is none.
    fn first_above(&self, limit: f64) -> usize {
        // NaN becomes 0.
        let guess = ((limit - self.first) / self.step).floor() + 1.0;
        let mut i = (guess.max(0.0) as usize).min(self.n);
        while i > 0 && self.at(i - 1) > limit {
            i -= 1;
        }
        while i < self.n && self.at(i) <= limit {
            i += 1;
        }
        i
    }
}

/// Buffers.
#[derive(Default)]
pub(super) struct Scratch {
    /// Sums of leaves of each error, at the values below the first cut at first.
    sums: Vec<i32>,
    /// Cut by cut, what crossing it adds to the sum of each error.
    jumps: Vec<i32>,
    /// Which cuts have jumps.
    jumping: Vec<bool>,
    /// A tree's leaves on one side of a cut, and on the other.
    before: Vec<i32>,
    after: Vec<i32>,
    refused: Vec<bool>,
    /// Roots of trees that do not split on the feature.
    roots: Vec<u32>,
    /// A tree's cuts.
    own: Vec<usize>,
    /// Value by value, how the number of refusals changes there.
    changes: Vec<i32>,
}

impl Forest<'_> {
    /// How many of the first `n` errors are refused with the feature of `places` at each of them,
    /// and everything else as in `point`; errors act on the `active` features. `n` is a multiple of
    /// [`LANES`]. Leaves are rounded, so that a score next to zero may be on the wrong side.
    pub(crate) fn refusals_along(
        &mut self,
        errors: &Errors,
        (point, active): (&[f64], &[bool]),
        places: Places,
        n: usize,
        refusals: &mut Vec<u32>,
    ) {
        debug_assert!(n.is_multiple_of(LANES) && n <= errors.len());
        refusals.clear();
        if places.n == 0 {
            return;
        }
        let j = places.feature;
        self.place(errors, point, active, 1.0);
        let mut scratch = std::mem::take(&mut self.profile);
        let live = self.live_cuts(errors, active[j], places);
        // Where the feature is, is not in the places of its cuts from here on.
        self.aimed_at[j].0 = f64::NAN;
        self.known = None;
        self.jumps_into(errors, live.clone(), n, &mut scratch);
        let Scratch { sums, jumps, jumping, refused, changes, .. } = &mut scratch;
        let limit = (-self.offset).floor().clamp(f64::from(i32::MIN), f64::from(i32::MAX));
        let limit = limit as i32;
        refused.clear();
        refused.extend(sums.iter().map(|sum| *sum <= limit));
        changes.clear();
        changes.resize(places.n + 1, 0);
        changes[0] = refused.iter().filter(|refused| **refused).count() as i32;
        for (k, jumps) in jumps.chunks_exact(n).enumerate().filter(|(k, _)| jumping[*k]) {
            vectorised(
                #[inline(always)]
                || sums.iter_mut().zip(jumps).for_each(|(sum, jump)| *sum += jump),
            );
            let cut = self.cuts[live.start + k];
            for i in 0..n {
                let now = sums[i] <= limit;
                if now != refused[i] {
                    refused[i] = now;
                    let error = if active[j] { errors.row(i)[j] } else { 0.0 };
                    changes[places.first_above(cut - error)] += if now { 1 } else { -1 };
                }
            }
        }
        let mut count = 0;
        refusals.extend(changes[..places.n].iter().map(|change| {
            count += change;
            count as u32
        }));
        self.profile = scratch;
    }

    /// The cuts of the feature of `places` that split errors somewhere along them. Others are set
    /// to the side that all errors take, and these so that all errors are on their left.
    fn live_cuts(
        &mut self,
        errors: &Errors,
        active: bool,
        places: Places,
    ) -> std::ops::Range<usize> {
        let j = places.feature;
        let own = self.first[j]..self.first[j + 1];
        let all = errors.len();
        let n_left = |cut: f64, at: f64| match active {
            true => errors.n_up_to(j, cut - at),
            false if at <= cut => all,
            false => 0,
        };
        let (low, high) = (places.at(0), places.at(places.n - 1));
        let cuts = &self.cuts[own.clone()];
        let start = own.start + cuts.partition_point(|cut| n_left(*cut, low) == 0);
        let end = own.start + cuts.partition_point(|cut| n_left(*cut, high) < all);
        let end = end.max(start);
        self.places[own.start..start].fill(0);
        self.places[start..own.end].fill(all as i16);
        start..end
    }

    /// The sums of leaves below the cuts `live`, and what crossing each of them adds.
    fn jumps_into(
        &mut self,
        errors: &Errors,
        live: std::ops::Range<usize>,
        n: usize,
        scratch: &mut Scratch,
    ) {
        let Scratch { sums, jumps, jumping, before, after, roots, own, .. } = scratch;
        let all = errors.len() as i16;
        jumps.clear();
        jumps.resize(live.len() * n, 0);
        jumping.clear();
        jumping.resize(live.len(), false);
        for buffer in [&mut *sums, &mut *before, &mut *after] {
            buffer.clear();
            buffer.resize(n, 0);
        }
        let parts = self.pruned.as_ref().unwrap_or(&self.whole);
        roots.clear();
        for (t, &root) in parts.roots.iter().enumerate() {
            let end = parts.roots.get(t + 1).map_or(parts.nodes.len(), |next| *next as usize);
            own.clear();
            for node in parts.nodes[root as usize..end].iter().filter(|node| node.right != 0) {
                let cut = node.cut_or_leaf as usize;
                if live.contains(&cut) {
                    own.push(cut);
                }
            }
            if own.is_empty() {
                roots.push(root);
                continue;
            }
            own.sort_unstable();
            own.dedup();
            let mut run = |places: &[i16], values: &mut [i32]| {
                self.program.compile(parts, &[root], &self.feature_of, places, all);
                self.program.run(errors, 0, &mut self.scratch.waiting, values);
            };
            run(&self.places, before);
            sums.iter_mut().zip(&*before).for_each(|(sum, value)| *sum += value);
            for &cut in own.iter() {
                self.places[cut] = 0;
                run(&self.places, after);
                let k = cut - live.start;
                let jumps = &mut jumps[k * n..(k + 1) * n];
                vectorised(
                    #[inline(always)]
                    || {
                        for ((jump, after), before) in jumps.iter_mut().zip(&*after).zip(&*before) {
                            *jump += after - before;
                        }
                    },
                );
                jumping[k] = true;
                std::mem::swap(before, after);
            }
            own.iter().for_each(|&cut| self.places[cut] = all);
        }
        self.program.compile(parts, roots, &self.feature_of, &self.places, all);
        self.program.run(errors, 0, &mut self.scratch.waiting, before);
        sums.iter_mut().zip(&*before).for_each(|(sum, value)| *sum += value);
    }
}
