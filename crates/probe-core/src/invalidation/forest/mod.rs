//! Trees on a fixed set of errors, scored many at once.
//!
//! Errors are drawn once and read by everybody, as *ranks*: the error $\varepsilon_j$ goes left at a cut $c$ where $\varepsilon_j \le c - x_j$, that is, where
//! its rank among all $\varepsilon_j$ is below the number of those that do. A point therefore turns every cut into one small number, cuts that no error
//! of the set gets across disappear, and what is left of a tree is evaluated from its leaves up, for many errors side by side: a comparison and a
//! choice for each split, in 16-bit integers.
//!
//! Leaves are rounded to 16 bits for that. Sums within the rounding of the cut-off are scored again as the model scores them: whether an
//! error is refused is exact.

mod batch;
mod errors;
mod program;

pub use batch::{NoisyScores, RankedErrors};
pub(crate) use errors::{Draws, Errors, STRATA};

use crate::math::vectorised;
use crate::model::{Aggregate, Model, Node, Trees};
use program::{LANES, Program};

/// Trees, or what is left of them.
#[derive(Default)]
struct Parts {
    nodes: Vec<Node>,
    roots: Vec<u32>,
    /// Cut of each node, as a number among all cuts.
    cut_of: Vec<u32>,
    /// Leaves in units of `1/scale`, each less the middle of its tree.
    leaves: Vec<i16>,
    todo: Vec<(u32, u32, bool)>,
}

impl Parts {
    /// Becomes `whole` with the splits on `fixed` features taken as `point` takes them.
    fn prune(&mut self, whole: &Self, point: &[f64], fixed: &[bool]) {
        let Self { nodes, roots, cut_of, leaves, todo } = self;
        nodes.clear();
        cut_of.clear();
        leaves.clear();
        roots.clear();
        for &root in &whole.roots {
            roots.push(nodes.len() as u32);
            todo.push((root, u32::MAX, false));
            while let Some((mut at, parent, right)) = todo.pop() {
                let mut node = whole.nodes[at as usize];
                while node.left != at && fixed[node.feature as usize] {
                    let left = Trees::goes_left(&node, point[node.feature as usize]);
                    at = if left { node.left } else { node.right };
                    node = whole.nodes[at as usize];
                }
                let here = nodes.len() as u32;
                if let Some(parent) = nodes.get_mut(parent as usize) {
                    *(if right { &mut parent.right } else { &mut parent.left }) = here;
                }
                cut_of.push(whole.cut_of[at as usize]);
                leaves.push(whole.leaves[at as usize]);
                if node.left == at {
                    (node.left, node.right) = (here, here);
                } else {
                    todo.extend([(node.right, here, true), (node.left, here, false)]);
                }
                nodes.push(node);
            }
        }
    }
}

/// An ensemble prepared for sets of errors.
pub(crate) struct Forest<'a> {
    model: &'a Trees,
    /// Distinct cuts, feature by feature in ascending order; those of feature `j` start at `first[j]`.
    cuts: Vec<f64>,
    first: Vec<usize>,
    whole: Parts,
    /// The trees of the person at hand, where some features are fixed.
    pruned: Option<Parts>,
    /// Features that splits are left on.
    live: Vec<bool>,
    scale: f64,
    /// What is added to the sum of the leaves, in the same units.
    offset: f64,
    /// Sums closer to zero than this are not to be trusted.
    doubt: f64,
    /// Where the point puts each cut: how many errors are on its left.
    places: Vec<i16>,
    /// What the places are for: the set of errors with its stretch, and for each feature the value, if noisy or if not.
    aimed: (u64, f64),
    aimed_at: Vec<(f64, bool)>,
    program: Program,
    scratch: program::Scratch,
    row: Vec<f64>,
}

impl<'a> Forest<'a> {
    pub(crate) fn new(model: &'a Trees) -> Self {
        let (nodes, d) = (model.nodes(), model.n_features());
        let is_split = |i: usize| nodes[i].left != i as u32;
        let mut by_feature = vec![Vec::new(); d];
        for (i, node) in nodes.iter().enumerate().filter(|(i, _)| is_split(*i)) {
            by_feature[node.feature as usize].push((node.cut, i));
        }
        let (mut cuts, mut first, mut cut_of) = (Vec::new(), Vec::with_capacity(d + 1), vec![0; nodes.len()]);
        for splits in &mut by_feature {
            first.push(cuts.len());
            splits.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            for &(cut, i) in splits.iter() {
                if cuts.len() == first[first.len() - 1] || cuts[cuts.len() - 1] != cut {
                    cuts.push(cut);
                }
                cut_of[i] = cuts.len() as u32 - 1;
            }
        }
        first.push(cuts.len());
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
        let leaves = nodes
            .iter()
            .zip(&middle)
            .map(|(node, middle)| ((adds(node.adds) - middle) * scale).round() as i16)
            .collect();
        // The score without its leaves: what a forest of zeros would say.
        let half = if model.rules().aggregate == Aggregate::Sum { model.rules().base } else { -0.5 };
        let offset = (middles + half - model.threshold()) * scale;
        let magnitude = (middles.abs() + half.abs() + model.threshold().abs()) * scale;
        let doubt = 0.5 * n_trees + 1.0 + 1e-12 * (magnitude + n_trees * f64::from(i16::MAX));
        Self {
            places: vec![0; cuts.len()],
            aimed: (0, 1.0),
            aimed_at: vec![(0.0, false); d],
            row: vec![0.0; d],
            program: Program::default(),
            scratch: program::Scratch::default(),
            model,
            cuts,
            first,
            whole: Parts {
                nodes: nodes.to_vec(),
                roots: model.roots().to_vec(),
                cut_of,
                leaves,
                todo: Vec::new(),
            },
            pruned: None,
            live: vec![true; d],
            scale,
            offset,
            doubt,
        }
    }

    /// Scores that vary less than this do not vary: far below what rounding the leaves leaves of them.
    pub(crate) fn least_variance(&self) -> f64 {
        (1e-5 / self.scale).powi(2)
    }

    /// Cuts of feature `j`, ascending.
    pub(crate) fn cuts_of(&self, j: usize) -> &[f64] {
        &self.cuts[self.first[j]..self.first[j + 1]]
    }

    /// Prepares for points that have the values of `point` in the `fixed` features, where no noise acts either.
    pub(crate) fn prune(&mut self, point: &[f64], fixed: &[bool]) {
        let pruned = self.pruned.get_or_insert_default();
        pruned.prune(&self.whole, point, fixed);
        // Places of features that are fixed are not kept.
        self.aimed.0 = 0;
        self.live.iter_mut().zip(fixed).for_each(|(live, fixed)| *live = !fixed);
    }

    /// Prepares for `errors` around `point`, acting on the `active` features, `stretch` times as far as they are.
    pub(crate) fn aim(&mut self, errors: &Errors, point: &[f64], active: &[bool], stretch: f64) {
        let n = errors.len() as i16;
        let aimed =
            std::mem::replace(&mut self.aimed, (errors.number(), stretch)) == (errors.number(), stretch);
        for j in (0..point.len()).filter(|&j| self.live[j]) {
            let at = (point[j], active[j]);
            if std::mem::replace(&mut self.aimed_at[j], at) == at && aimed {
                continue;
            }
            let own = self.first[j]..self.first[j + 1];
            for (place, cut) in self.places[own.clone()].iter_mut().zip(&self.cuts[own]) {
                *place = match active[j] {
                    true => errors.n_up_to(j, (cut - point[j]) / stretch) as i16,
                    false if point[j] <= *cut => n,
                    false => 0,
                };
            }
        }
        let Parts { nodes, roots, cut_of, leaves, .. } = self.pruned.as_ref().unwrap_or(&self.whole);
        let places = &self.places;
        self.program.compile(nodes, roots, leaves, n, |i| places[cut_of[i] as usize]);
    }

    /// Sums of the leaves of errors number `from` and on, a whole number of lanes of them.
    fn sums(&mut self, errors: &Errors, from: usize, sums: &mut [i32]) {
        self.program.run(errors, from, &mut self.scratch.waiting, sums);
    }

    /// Writes which of the errors number `from` and on are refused, with their scores, if there is room for them: the latter nearly. `from` and
    /// the length are multiples of [`LANES`]. The errors are those aimed with.
    pub(crate) fn refused(
        &mut self,
        errors: &Errors,
        from: usize,
        (point, active, stretch): (&[f64], &[bool], f64),
        refused: &mut [bool],
        scores: &mut [f64],
    ) {
        let mut sums = std::mem::take(&mut self.scratch.sums);
        sums.clear();
        sums.resize(refused.len(), 0);
        self.sums(errors, from, &mut sums);
        let (offset, scale, doubt) = (self.offset, self.scale, self.doubt);
        vectorised(
            #[inline(always)]
            || {
                for (score, sum) in scores.iter_mut().zip(&sums) {
                    *score = (f64::from(*sum) + offset) / scale;
                }
            },
        );
        let blocks = sums.as_chunks::<LANES>().0.iter().zip(refused.as_chunks_mut::<LANES>().0);
        for (block, (sums, refused)) in blocks.enumerate() {
            // A sum that is not a number is in doubt, too.
            let is_sure = |sum: i32| (f64::from(sum) + offset).abs() > doubt;
            let all_sure = vectorised(
                #[inline(always)]
                || {
                    let mut all_sure = true;
                    for (refused, sum) in refused.iter_mut().zip(sums) {
                        *refused = f64::from(*sum) + offset <= 0.0;
                        all_sure &= is_sure(*sum);
                    }
                    all_sure
                },
            );
            for i in (0..LANES).filter(|&i| !all_sure && !is_sure(sums[i])) {
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
