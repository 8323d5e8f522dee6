//! An ensemble around one noisy point: splits on features without noise are resolved, what the
//! noise cannot reach is gone, and each tree that is left has its leaves in order of value, so that
//! the first and the last of a set of leaves bound what the tree says.

use super::bits::Bits;
use super::marginal::{End, Marginals};
use crate::model::{Aggregate, Node, Trees};

/// A split that the noise may send to either side.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// Among the noisy features.
    feature: u32,
    /// Among the trees that are left.
    tree: u32,
    cut: f64,
    end: End,
    /// Its leaves, in order of visit: from, middle, to.
    leaves: [u32; 3],
}

enum Step {
    Visit(u32),
    /// The left side of a split is done: node, first leaf, what the upper cut was.
    Right(u32, End, u32, f64),
    /// The right side, too: node, first leaf, first leaf of the right side, what the lower cut was.
    Close(u32, End, [u32; 2], f64),
}

/// The remaining tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// A number.
    Fixed(f64),
    /// A tree, by its place among those that are left.
    Live(u32),
}

/// Remaining trees with several leaves, and buffers to find them.
#[derive(Default)]
pub(super) struct Collapsed {
    /// What every tree of the model came to, in order.
    pub(super) parts: Vec<Part>,
    /// Leaves of the trees that are left, each tree's in ascending order of value.
    pub(super) values: Vec<f64>,
    /// Where a tree's values begin, and where the last one's end.
    pub(super) first: Vec<u32>,
    /// Where a noisy feature's ends begin in `ends`, and where the last one's end.
    pub(super) rows: Vec<u32>,
    /// Ends of each noisy feature: the lowest, its cuts in order, the highest.
    pub(super) ends: Vec<End>,
    /// Where the ends are, and the density of the noisy feature there.
    pub(super) marks: Vec<f64>,
    pub(super) densities: Vec<f64>,
    /// The model's number of each noisy feature.
    pub(super) features: Vec<u32>,
    /// Cut of each split, by its place among its feature's ends.
    pub(super) cuts: Vec<u32>,
    splits: Vec<Split>,
    /// Place in order of value of each leaf, by order of visit.
    places: Vec<u32>,
    noisy: Vec<u32>,
    range: Vec<[f64; 2]>,
    steps: Vec<Step>,
    order: Vec<u32>,
}

/// A split as boxes use it: which leaves of its tree are on its left and right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut<const W: usize> {
    pub(super) tree: u32,
    pub(super) feature: u32,
    pub(super) place: u32,
    pub(super) left: Bits<W>,
    pub(super) right: Bits<W>,
}

/// What a leaf adds to the sum; a vote is 0 or 1.
fn said(leaf: &Node, vote: bool) -> f64 {
    if vote { f64::from(u8::from(leaf.adds > 0.5)) } else { leaf.adds }
}

impl Collapsed {
    /// Number of noisy features that splits are left on.
    pub(super) fn n_features(&self) -> usize {
        self.rows.len() - 1
    }

    /// The most leaves that a tree has.
    pub(super) fn most_leaves(&self) -> usize {
        self.first.windows(2).map(|pair| (pair[1] - pair[0]) as usize).max().unwrap_or(0)
    }

    /// Collapses `model` around the point where `features` are.
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

    /// Finds the densities at all ends, for derivatives.
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
                        self.values.push(said(node, vote));
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

    /// Sorts splits by feature and cut, and numbers both.
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
            // −0 and 0 are one cut.
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

    /// The splits with their sets of leaves, by feature and cut. No tree may have more than $64 W$
    /// leaves.
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
