//! Reduces an ensemble to what matters around one noisy point. Splits on features without noise are
//! resolved, and leaves that the noise cannot reach are removed. Each remaining tree has its leaves
//! sorted by value, so that the first and the last of a set of leaves bound the tree's output.

use super::bits::Bits;
use super::marginal::{End, Marginals};
use crate::model::{Aggregate, Node, Trees};

/// A split that the noise may send to either side.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// Index among the noisy features.
    feature: u32,
    /// Index among the remaining trees.
    tree: u32,
    cut: f64,
    end: End,
    /// Its leaves, in order of visit: the first on the left, the first on the right, one past the
    /// last.
    leaves: [u32; 3],
}

enum Step {
    Visit(u32),
    /// The left side of a split is done: node, its end, first leaf, upper cut to restore.
    Right(u32, End, u32, f64),
    /// Both sides are done: node, its end, first leaf of each side, lower cut to restore.
    Close(u32, End, [u32; 2], f64),
}

/// What is left of a tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// A single value.
    Fixed(f64),
    /// A tree, by its index among the remaining ones.
    Live(u32),
}

/// Remaining trees with several leaves, and buffers to find them.
#[derive(Default)]
pub(super) struct Collapsed {
    /// What is left of every tree of the model, in order.
    pub(super) parts: Vec<Part>,
    /// Leaves of the remaining trees; those of each tree in ascending order of value.
    pub(super) values: Vec<f64>,
    /// Index of each tree's first value, and the number of values.
    pub(super) first: Vec<u32>,
    /// Index in `ends` of each noisy feature's first end, and the number of ends.
    pub(super) rows: Vec<u32>,
    /// Ends of each noisy feature: the lowest, its cuts in ascending order, the highest.
    pub(super) ends: Vec<End>,
    /// Positions of the ends.
    pub(super) marks: Vec<f64>,
    /// Density of the noisy feature at the ends.
    pub(super) densities: Vec<f64>,
    /// Index in the model of each noisy feature.
    pub(super) features: Vec<u32>,
    /// Cut of each split, as an index among its feature's ends.
    pub(super) cuts: Vec<u32>,
    splits: Vec<Split>,
    /// Rank by value of each leaf, in order of visit.
    places: Vec<u32>,
    noisy: Vec<u32>,
    range: Vec<[f64; 2]>,
    steps: Vec<Step>,
    order: Vec<u32>,
}

/// A split, with the leaves of its tree on its left and right side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<const W: usize> {
    pub(super) tree: u32,
    pub(super) feature: u32,
    pub(super) place: u32,
    pub(super) left: Bits<W>,
    pub(super) right: Bits<W>,
}

/// The term of a leaf in the sum of the trees; a vote is 0 or 1.
fn leaf_term(leaf: &Node, vote: bool) -> f64 {
    if vote { f64::from(u8::from(leaf.adds > 0.5)) } else { leaf.adds }
}

impl Collapsed {
    /// Number of noisy features with remaining splits.
    pub(super) fn n_features(&self) -> usize {
        self.rows.len() - 1
    }

    /// The largest number of leaves of a tree.
    pub(super) fn most_leaves(&self) -> usize {
        self.first.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
    }

    /// Reduces `model` around the noisy point `features`.
    pub(super) fn set(&mut self, model: &Trees, features: &Marginals<'_>) {
        let d = features.n_features();
        self.range.clear();
        self.range.resize(d, [f64::NEG_INFINITY, f64::INFINITY]);
        self.parts.clear();
        self.values.clear();
        self.places.clear();
        self.splits.clear();
        self.first.clear();
        self.first.push(0);
        let vote = model.rules().aggregate == Aggregate::Vote;
        for &root in model.roots() {
            let (from, splits) = (self.values.len(), self.splits.len());
            self.visit(model, features, root, vote);
            let values = &mut self.values[from..];
            if let [value] = *values {
                self.parts.push(Part::Fixed(value));
                self.values.truncate(from);
                continue;
            }
            let tree = self.first.len() as u32 - 1;
            self.parts.push(Part::Live(tree));
            for split in &mut self.splits[splits..] {
                split.tree = tree;
            }
            self.order.clear();
            self.order.extend(0..values.len() as u32);
            self.order.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
            self.places.resize(from + values.len(), 0);
            for (place, &leaf) in self.order.iter().enumerate() {
                self.places[from + leaf as usize] = place as u32;
            }
            values.sort_by(f64::total_cmp);
            self.first.push(self.values.len() as u32);
        }
        self.number(d);
    }

    /// Computes the densities at all ends, for derivatives.
    pub(super) fn find_densities(&mut self, features: &Marginals<'_>) {
        self.densities.clear();
        for (row, &j) in self.rows.windows(2).zip(&self.features) {
            let marks = &self.marks[row[0] as usize..row[1] as usize];
            let density = |&mark: &f64| {
                if mark.is_finite() { features.density(j as usize, mark) } else { 0.0 }
            };
            self.densities.extend(marks.iter().map(density));
        }
    }

    /// Collects the leaves and splits of one tree that the noise can reach.
    fn visit(&mut self, model: &Trees, features: &Marginals<'_>, root: u32, vote: bool) {
        let from = self.values.len() as u32;
        self.steps.clear();
        self.steps.push(Step::Visit(root));
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Visit(mut at) => loop {
                    let node = &model.nodes()[at as usize];
                    if node.left == node.right {
                        self.values.push(leaf_term(node, vote));
                        break;
                    }
                    let j = node.feature as usize;
                    let left = match features.certain(j) {
                        Some(x) => Some(Trees::goes_left(node, x)),
                        None if node.cut >= self.range[j][1] => Some(true),
                        None if node.cut <= self.range[j][0] => Some(false),
                        None => None,
                    };
                    if let Some(left) = left {
                        at = if left { node.left } else { node.right };
                        continue;
                    }
                    let end = features.end(j, node.cut);
                    if end.nothing_above() || end.nothing_below() {
                        at = if end.nothing_above() { node.left } else { node.right };
                        continue;
                    }
                    let first = self.values.len() as u32;
                    self.steps.push(Step::Right(at, end, first, self.range[j][1]));
                    self.range[j][1] = node.cut;
                    at = node.left;
                },
                Step::Right(at, end, first, upper) => {
                    let node = &model.nodes()[at as usize];
                    let range = &mut self.range[node.feature as usize];
                    range[1] = upper;
                    self.steps.push(Step::Close(
                        at,
                        end,
                        [first, self.values.len() as u32],
                        range[0],
                    ));
                    range[0] = node.cut;
                    self.steps.push(Step::Visit(node.right));
                }
                Step::Close(at, end, [first, middle], lower) => {
                    let node = &model.nodes()[at as usize];
                    self.range[node.feature as usize][0] = lower;
                    let last = self.values.len() as u32;
                    let same = last == first + 2
                        && self.values[first as usize].to_bits()
                            == self.values[middle as usize].to_bits();
                    if same {
                        self.values.pop();
                    } else {
                        let leaves = [first - from, middle - from, last - from];
                        let split =
                            Split { feature: node.feature, tree: 0, cut: node.cut, end, leaves };
                        self.splits.push(split);
                    }
                }
            }
        }
    }

    /// Sorts splits by feature and cut, and gives both their indices.
    fn number(&mut self, d: usize) {
        self.splits.sort_by(|a, b| a.feature.cmp(&b.feature).then(a.cut.total_cmp(&b.cut)));
        self.noisy.clear();
        self.noisy.resize(d, u32::MAX);
        self.rows.clear();
        self.ends.clear();
        self.marks.clear();
        self.features.clear();
        self.cuts.clear();
        let mut last = None;
        for split in &mut self.splits {
            let j = split.feature as usize;
            if self.noisy[j] == u32::MAX {
                self.noisy[j] = self.rows.len() as u32;
                if last.is_some() {
                    self.ends.push(End::HIGHEST);
                    self.marks.push(f64::INFINITY);
                }
                self.features.push(split.feature);
                self.rows.push(self.ends.len() as u32);
                self.ends.push(End::LOWEST);
                self.marks.push(f64::NEG_INFINITY);
                last = None;
            }
            // −0 and 0 are the same cut.
            if last != Some(split.cut) {
                self.ends.push(split.end);
                self.marks.push(split.cut);
                last = Some(split.cut);
            }
            split.feature = self.noisy[j];
            let row = self.rows.last().copied().unwrap_or(0);
            self.cuts.push(self.ends.len() as u32 - 1 - row);
        }
        if last.is_some() {
            self.ends.push(End::HIGHEST);
            self.marks.push(f64::INFINITY);
        }
        self.rows.push(self.ends.len() as u32);
    }

    /// The splits with their sets of leaves, sorted by feature and cut. No tree may have more than
    /// $64 W$ leaves.
    pub(super) fn cuts_into<const W: usize>(&self, out: &mut Vec<Cut<W>>) {
        out.clear();
        out.extend(self.splits.iter().zip(&self.cuts).map(|(split, &place)| {
            let from = self.first[split.tree as usize];
            let set = |range: std::ops::Range<u32>| {
                let mut set = Bits::EMPTY;
                let places =
                    &self.places[(from + range.start) as usize..(from + range.end) as usize];
                places.iter().for_each(|&place| set.insert(place as usize));
                set
            };
            let [first, middle, last] = split.leaves;
            let (left, right) = (set(first..middle), set(middle..last));
            Cut { tree: split.tree, feature: split.feature, place, left, right }
        }));
    }
}
