//! Trees on a fixed set of errors, scored many at once.
//!
//! Errors are drawn once and read by everybody, as *ranks*: the error $\varepsilon_j$ goes left at
//! a cut $c$ where $\varepsilon_j \le c - x_j$, that is, where its rank among all $\varepsilon_j$
//! is below the number of those that do. A point therefore turns every cut into one small number,
//! cuts that no error of the set gets across disappear, and the remaining tree is evaluated
//! from its leaves up, for many errors side by side: a comparison and a choice for each split, in
//! 16-bit integers.
//!
//! Leaves are rounded to 16 bits for that. Sums within the rounding of the cut-off are scored again
//! as the model scores them: whether an error is refused is exact.

mod batch;
mod errors;
mod program;

pub use batch::{NoisyScores, RankedErrors};
pub(crate) use errors::{Draws, Errors, STRATA};

use crate::math::vectorised;
use crate::model::{Aggregate, Model, Trees};
use program::{LANES, Program};

/// A node as programs are made from it, in eight bytes: walking down trees is waiting for memory.
/// Its left child follows it.
#[derive(Clone, Copy)]
struct Part {
    /// Child on the right; 0 at a leaf.
    right: u32,
    /// The cut as a number among all cuts; at a leaf its value, in units of `1/scale`.
    what: i32,
}

/// Trees, possibly reduced.
#[derive(Default)]
struct Parts {
    nodes: Vec<Part>,
    roots: Vec<u32>,
    todo: Vec<(u32, u32)>,
}

impl Parts {
    /// Becomes the `model` with the splits on `fixed` features taken as `point` takes them; `what`
    /// are the nodes' cuts and leaves.
    fn prune(&mut self, model: &Trees, what: &[i32], point: &[f64], fixed: &[bool]) {
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
                nodes.push(Part { right: 0, what: what[at as usize] });
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
    /// Of each of the model's nodes, its cut as a number among all cuts, or its leaf in units of
    /// `1/scale`, less the middle of its tree.
    what: Vec<i32>,
    whole: Parts,
    /// The trees of the current person, if some features are fixed.
    pruned: Option<Parts>,
    /// Features that splits are left on.
    live: Vec<bool>,
    scale: f64,
    /// What is added to the sum of the leaves, in the same units.
    offset: f64,
    /// Sums of leaves from which to which it is in doubt what the model says.
    doubtful: (i32, i32),
    /// Where the point puts each cut: how many errors are on its left.
    places: Vec<i16>,
    /// What the places are for: the set of errors with its stretch, and for each feature the value,
    /// if noisy or if not.
    aimed: (u64, f64),
    aimed_at: Vec<(f64, bool)>,
    program: Program,
    /// How many errors of the set have their sums known, from the first; `None` where the program
    /// is not that of the places.
    known: Option<usize>,
    scratch: program::Scratch,
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
        // Leaves less the middle of their tree use the bits best.
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
        // However many trees there are, their sum fits 32 bits.
        let most = f64::from(i16::MAX).min((f64::from(i32::MAX) / n_trees).floor());
        let scale = if widest > 0.0 { most / widest } else { 1.0 };
        let mut what = cut_of;
        for i in (0..nodes.len()).filter(|&i| !is_split(i)) {
            what[i] = i32::from(((adds(nodes[i].adds) - middle[i]) * scale).round() as i16);
        }
        let mut whole = Parts::default();
        whole.prune(model, &what, &[], &vec![false; d]);
        // The score without its leaves: what a forest of zeros would say.
        let half =
            if model.rules().aggregate == Aggregate::Sum { model.rules().base } else { -0.5 };
        let offset = (middles + half - model.threshold()) * scale;
        let magnitude = (middles.abs() + half.abs() + model.threshold().abs()) * scale;
        let doubt = 0.5 * n_trees + 1.0 + 1e-12 * (magnitude + n_trees * f64::from(i16::MAX));
        // Outwards, and everywhere where it is not a number.
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
            model,
            cuts,
            first,
            feature_of,
            what,
            whole,
            pruned: None,
            live: vec![true; d],
            scale,
            offset,
            doubtful,
        }
    }

    /// Scores that vary less than this do not vary: far below what rounding the leaves leaves of
    /// them.
    pub(crate) fn least_variance(&self) -> f64 {
        (1e-5 / self.scale).powi(2)
    }

    /// Cuts of feature `j`, ascending.
    pub(crate) fn cuts_of(&self, j: usize) -> &[f64] {
        &self.cuts[self.first[j]..self.first[j + 1]]
    }

    /// Prepares for points that have the values of `point` in the `fixed` features, where no noise
    /// acts either.
    pub(crate) fn prune(&mut self, point: &[f64], fixed: &[bool]) {
        let pruned = self.pruned.get_or_insert_default();
        pruned.prune(self.model, &self.what, point, fixed);
        // Places of features that are fixed are not kept.
        self.aimed.0 = 0;
        self.known = None;
        self.live.iter_mut().zip(fixed).for_each(|(live, fixed)| *live = !fixed);
    }

    /// Prepares for `errors` around `point`, acting on the `active` features, `stretch` times as
    /// far as they are.
    pub(crate) fn aim(&mut self, errors: &Errors, point: &[f64], active: &[bool], stretch: f64) {
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
        if self.known.is_none() {
            let parts = self.pruned.as_ref().unwrap_or(&self.whole);
            self.program.compile(parts, &self.feature_of, &self.places, n);
            self.known = Some(0);
        }
    }

    /// Drops the cached results of the last point.
    fn forget(&mut self) {
        self.known = None;
    }

    /// Makes `sums` those of the leaves of `n` errors, from number `from` on, a whole number of
    /// lanes of them. A search evaluates a point more precisely the second time: existing sums
    /// from the first errors on are not made again.
    fn sums_into(&mut self, errors: &Errors, from: usize, n: usize, sums: &mut Vec<i32>) {
        let known = if from == 0 { self.known.unwrap_or(0) } else { 0 };
        if known < n {
            sums.resize(n, 0);
            self.program.run(errors, from + known, &mut self.scratch.waiting, &mut sums[known..]);
            self.known = Some(if from == 0 { n } else { 0 });
        }
    }

    /// Writes which of the errors number `from` and on are refused, with their scores, if there is
    /// room for them: the latter nearly. `from` and the length are multiples of [`LANES`]. The
    /// errors are those aimed with.
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
                // A score that is not a number is no yes.
                let favourable = self.model.score_row(&self.row) > 0.0;
                refused[i] = !favourable;
            }
        }
        self.scratch.sums = sums;
    }
}

#[cfg(test)]
mod tests;
