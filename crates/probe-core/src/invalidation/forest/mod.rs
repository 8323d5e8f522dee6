//! Evaluates trees for a fixed set of errors, many errors at once.
//!
//! Errors are drawn once for all people and stored as *ranks*. At a cut $c$ an error goes left if
//! $\varepsilon_j \le c - x_j$. Equivalently, its rank among all $\varepsilon_j$ is below the
//! number of errors that go left. For a given point every cut is therefore one small integer. Cuts
//! that send all errors to the same side disappear. The remaining trees are evaluated from the
//! leaves upwards, for many errors side by side: one comparison and one selection per split, in
//! 16-bit integers.
//!
//! For this, leaves are rounded to 16 bits. If rounding could change the decision about an error,
//! the model itself scores that error again. Decisions are therefore exact.

mod batch;
mod errors;
mod profile;
mod program;

pub use batch::{NoisyScores, RankedErrors};
pub(crate) use errors::{Draws, Errors, STRATA};
pub use profile::Places;

use crate::math::vectorised;
use crate::model::{Aggregate, Model, Trees};
use program::{LANES, Program};

/// A node, from which programs are compiled. It is packed in eight bytes, because memory latency
/// dominates the time to walk a tree. The left child is the next node.
#[derive(Clone, Copy)]
struct Part {
    /// Index of the right child; 0 at a leaf.
    right: u32,
    /// Index of the cut among all cuts. At a leaf, its value in units of `1/scale`.
    cut_or_leaf: i32,
}

/// Trees, possibly reduced.
#[derive(Default)]
struct Parts {
    nodes: Vec<Part>,
    roots: Vec<u32>,
    todo: Vec<(u32, u32)>,
}

impl Parts {
    /// Sets the trees to those of `model`, with the splits on `fixed` features resolved by `point`.
    /// `cuts_and_leaves` has [`Part::cut_or_leaf`] of each node.
    fn prune(&mut self, model: &Trees, cuts_and_leaves: &[i32], point: &[f64], fixed: &[bool]) {
        /// Marker for the parent of a node that is not a right child.
        const NONE: u32 = u32::MAX;
        let Self { nodes, roots, todo } = self;
        nodes.clear();
        roots.clear();
        for &root in model.roots() {
            roots.push(nodes.len() as u32);
            todo.push((root, NONE));
            while let Some((mut at, parent)) = todo.pop() {
                let mut node = model.nodes()[at as usize];
                while node.left != at && fixed[node.feature as usize] {
                    let left = Trees::goes_left(&node, point[node.feature as usize]);
                    at = if left { node.left } else { node.right };
                    node = model.nodes()[at as usize];
                }
                let here = nodes.len() as u32;
                if let Some(parent) = nodes.get_mut(parent as usize) {
                    parent.right = here;
                }
                if node.left != at {
                    todo.extend([(node.right, here), (node.left, NONE)]);
                }
                nodes.push(Part { right: 0, cut_or_leaf: cuts_and_leaves[at as usize] });
            }
        }
    }
}

/// An ensemble prepared for sets of errors.
pub(crate) struct Forest<'a> {
    model: &'a Trees,
    /// Distinct cuts, feature by feature in ascending order; those of feature `j` start at
    /// `first[j]`.
    cuts: Vec<f64>,
    first: Vec<usize>,
    /// Feature of each cut.
    feature_of: Vec<u32>,
    /// For each node of the model, the index of its cut among all cuts, or its leaf minus the
    /// middle of its tree, in units of `1/scale`.
    cuts_and_leaves: Vec<i32>,
    whole: Parts,
    /// The trees of the current person, if some features are fixed.
    pruned: Option<Parts>,
    /// Features with remaining splits.
    live: Vec<bool>,
    scale: f64,
    /// The term that is added to the sum of the leaves, in the same units.
    offset: f64,
    /// The interval of sums of leaves for which rounding could change the decision.
    doubtful: (i32, i32),
    /// For each cut, how many errors go left at the current point.
    places: Vec<i16>,
    /// The set of errors and its stretch for which `places` were computed.
    aimed: (u64, f64),
    /// The value of each feature, and whether it is noisy, for which `places` were computed.
    aimed_at: Vec<(f64, bool)>,
    program: Program,
    /// How many of the first errors have known sums; `None` if the program does not belong to
    /// `places`.
    known: Option<usize>,
    scratch: program::Scratch,
    profile: profile::Scratch,
    row: Vec<f64>,
}

/// The distinct cuts of all trees, sorted by feature and then by value.
struct Cuts {
    cuts: Vec<f64>,
    /// Index of each feature's first cut, and the number of cuts at the end.
    first: Vec<usize>,
    /// Feature of each cut.
    feature_of: Vec<u32>,
    /// Index of each node's cut; 0 at leaves.
    cut_of: Vec<i32>,
}

impl Cuts {
    fn of(model: &Trees) -> Self {
        let (nodes, d) = (model.nodes(), model.n_features());
        let mut by_feature = vec![Vec::new(); d];
        for (i, node) in nodes.iter().enumerate().filter(|(i, node)| node.left != *i as u32) {
            by_feature[node.feature as usize].push((node.cut, i));
        }
        let (mut cuts, mut first, mut cut_of) =
            (Vec::new(), Vec::with_capacity(d + 1), vec![0; nodes.len()]);
        let mut feature_of = Vec::new();
        for (j, splits) in (0..).zip(&mut by_feature) {
            first.push(cuts.len());
            splits.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for &(cut, i) in splits.iter() {
                if cuts.len() == first[first.len() - 1] || cuts[cuts.len() - 1] != cut {
                    cuts.push(cut);
                    feature_of.push(j);
                }
                cut_of[i] = cuts.len() as i32 - 1;
            }
        }
        first.push(cuts.len());
        Self { cuts, first, feature_of, cut_of }
    }
}

impl<'a> Forest<'a> {
    pub(crate) fn new(model: &'a Trees) -> Self {
        let (nodes, d) = (model.nodes(), model.n_features());
        let is_split = |i: usize| nodes[i].left != i as u32;
        let Cuts { cuts, first, feature_of, cut_of } = Cuts::of(model);
        let n_trees = model.roots().len() as f64;
        let adds = |value: f64| match model.rules().aggregate {
            Aggregate::Sum => value,
            Aggregate::Mean => value / n_trees,
            Aggregate::Vote => f64::from(u8::from(value > 0.5)) / n_trees,
        };
        // Leaves minus the middle of their tree make the best use of 16 bits.
        let mut middle = vec![0.0; nodes.len()];
        let (mut widest, mut middles) = (0.0_f64, 0.0);
        for (t, &root) in model.roots().iter().enumerate() {
            let end = model.roots().get(t + 1).map_or(nodes.len(), |&next| next as usize);
            let own = root as usize..end;
            let values = own.clone().filter(|&i| !is_split(i)).map(|i| adds(nodes[i].adds));
            let (low, high) =
                values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
            let centre = 0.5 * (low + high);
            middle[own].fill(centre);
            widest = widest.max(high - centre);
            middles += centre;
        }
        // The sum of all trees must fit 32 bits.
        let most = f64::from(i16::MAX).min((f64::from(i32::MAX) / n_trees).floor());
        let scale = if widest > 0.0 { most / widest } else { 1.0 };
        let mut cuts_and_leaves = cut_of;
        for i in (0..nodes.len()).filter(|&i| !is_split(i)) {
            let leaf = ((adds(nodes[i].adds) - middle[i]) * scale).round();
            cuts_and_leaves[i] = i32::from(leaf as i16);
        }
        let mut whole = Parts::default();
        whole.prune(model, &cuts_and_leaves, &[], &vec![false; d]);
        // The score of a forest whose leaves are all zero.
        let half =
            if model.rules().aggregate == Aggregate::Sum { model.rules().base } else { -0.5 };
        let offset = (middles + half - model.threshold()) * scale;
        let magnitude = (middles.abs() + half.abs() + model.threshold().abs()) * scale;
        let doubt = 0.5 * n_trees + 1.0 + 1e-12 * (magnitude + n_trees * f64::from(i16::MAX));
        // Rounded outwards. If the offset is not finite, every sum is doubtful.
        let doubtful = match offset.is_finite() {
            true => ((-offset - doubt).floor() as i32, (doubt - offset).ceil() as i32),
            false => (i32::MIN, i32::MAX),
        };
        Self {
            places: vec![0; cuts.len()],
            aimed: (0, 1.0),
            aimed_at: vec![(0.0, false); d],
            row: vec![0.0; d],
            program: Program::default(),
            known: None,
            scratch: program::Scratch::default(),
            profile: profile::Scratch::default(),
            model,
            cuts,
            first,
            feature_of,
            cuts_and_leaves,
            whole,
            pruned: None,
            live: vec![true; d],
            scale,
            offset,
            doubtful,
        }
    }

    /// Scores with a variance below this count as constant. It is far below the effect of rounding
    /// the leaves.
    pub(crate) fn least_variance(&self) -> f64 {
        (1e-5 / self.scale).powi(2)
    }

    /// Cuts of feature `j`, ascending.
    pub(crate) fn cuts_of(&self, j: usize) -> &[f64] {
        &self.cuts[self.first[j]..self.first[j + 1]]
    }

    /// Prepares for points with the values of `point` in the `fixed` features, which must be
    /// without noise.
    pub(crate) fn prune(&mut self, point: &[f64], fixed: &[bool]) {
        let pruned = self.pruned.get_or_insert_default();
        pruned.prune(self.model, &self.cuts_and_leaves, point, fixed);
        // Places of fixed features are not updated, so that all are computed again next time.
        self.aimed.0 = 0;
        self.known = None;
        self.live.iter_mut().zip(fixed).for_each(|(live, fixed)| *live = !fixed);
    }

    /// Prepares for `errors` around `point`. They act on the `active` features, multiplied by
    /// `stretch`.
    pub(crate) fn aim(&mut self, errors: &Errors, point: &[f64], active: &[bool], stretch: f64) {
        self.place(errors, point, active, stretch);
        if self.known.is_none() {
            let parts = self.pruned.as_ref().unwrap_or(&self.whole);
            let n = errors.len() as i16;
            self.program.compile(parts, &parts.roots, &self.feature_of, &self.places, n);
            self.known = Some(0);
        }
    }

    /// Counts how many errors go left at each cut.
    fn place(&mut self, errors: &Errors, point: &[f64], active: &[bool], stretch: f64) {
        let n = errors.len() as i16;
        let aimed = std::mem::replace(&mut self.aimed, (errors.number(), stretch))
            == (errors.number(), stretch);
        for j in (0..point.len()).filter(|&j| self.live[j]) {
            let at = (point[j], active[j]);
            if std::mem::replace(&mut self.aimed_at[j], at) == at && aimed {
                continue;
            }
            self.known = None;
            let own = self.first[j]..self.first[j + 1];
            for (place, cut) in self.places[own.clone()].iter_mut().zip(&self.cuts[own]) {
                *place = match active[j] {
                    true => errors.n_up_to(j, (cut - point[j]) / stretch) as i16,
                    false if point[j] <= *cut => n,
                    false => 0,
                };
            }
        }
    }

    /// Drops the cached results of the last point.
    fn forget(&mut self) {
        self.known = None;
    }

    /// Computes the sums of leaves of `n` errors, a multiple of [`LANES`], starting with error
    /// number `from`. Known sums of the first errors are reused, because a search evaluates the
    /// same point again with more errors.
    fn sums_into(&mut self, errors: &Errors, from: usize, n: usize, sums: &mut Vec<i32>) {
        let known = if from == 0 { self.known.unwrap_or(0) } else { 0 };
        if known < n {
            sums.resize(n, 0);
            self.program.run(errors, from + known, &mut self.scratch.waiting, &mut sums[known..]);
            self.known = Some(if from == 0 { n } else { 0 });
        }
    }

    /// Finds which errors are rejected, starting with number `from`. `scores` receives approximate
    /// scores unless it is empty. `from` and the length are multiples of [`LANES`]. Call
    /// [`Forest::aim`] with the same arguments first.
    pub(crate) fn refused(
        &mut self,
        errors: &Errors,
        from: usize,
        (point, active, stretch): (&[f64], &[bool], f64),
        refused: &mut [bool],
        scores: &mut [f64],
    ) {
        let mut sums = std::mem::take(&mut self.scratch.sums);
        self.sums_into(errors, from, refused.len(), &mut sums);
        let (offset, scale) = (self.offset, self.scale);
        vectorised(
            #[inline(always)]
            || {
                for (score, sum) in scores.iter_mut().zip(&sums) {
                    *score = (f64::from(*sum) + offset) / scale;
                }
            },
        );
        let (least, most) = self.doubtful;
        let blocks = sums.as_chunks::<LANES>().0.iter().zip(refused.as_chunks_mut::<LANES>().0);
        for (block, (sums, refused)) in blocks.enumerate() {
            let all_sure = vectorised(
                #[inline(always)]
                || {
                    let mut all_sure = true;
                    for (refused, sum) in refused.iter_mut().zip(sums) {
                        *refused = *sum < least;
                        all_sure &= (*sum < least) | (*sum > most);
                    }
                    all_sure
                },
            );
            for i in (0..LANES).filter(|&i| !all_sure && (least..=most).contains(&sums[i])) {
                let error = errors.row(from + block * LANES + i);
                for (j, x) in self.row.iter_mut().enumerate() {
                    *x = point[j] + if active[j] { stretch * error[j] } else { 0.0 };
                }
                // NaN counts as a rejection.
                let favourable = self.model.score_row(&self.row) > 0.0;
                refused[i] = !favourable;
            }
        }
        self.scratch.sums = sums;
    }
}

#[cfg(test)]
mod tests;
