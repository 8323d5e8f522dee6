//! Decision trees and their ensembles: single trees, random forests, gradient boosting.
//!
//! A file may split by `<` or `<=`, and compare values as `f64` or after rounding to `f32`. Here
//! every split is $x_j \le c$ on `f64`, with a cut $c$ for which every $x_j$ takes the same branch
//! as in the file.

mod missing;
mod reach;

use super::{Model, log_odds};
use crate::error::{Error, Result, require};
use crate::rows::Rows;
use crate::schema::Space;
use std::str::FromStr;

/// One tree as in files: arrays indexed by node. Node 0 is the root.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tree {
    /// Feature that a node splits on; ignored at a leaf.
    pub feature: Vec<usize>,
    /// The threshold of a split; ignored at a leaf.
    pub threshold: Vec<f64>,
    /// Child on the left, −1 at a leaf.
    pub left: Vec<i64>,
    /// Child on the right, −1 at a leaf.
    pub right: Vec<i64>,
    /// The value of a leaf; ignored at a split.
    pub value: Vec<f64>,
    /// Whether a missing value goes left; empty if the tree has no default directions.
    pub default_left: Vec<bool>,
}

/// When the left branch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Split {
    /// If the value is at most the threshold.
    #[default]
    AtMost,
    /// If the value is below the threshold.
    Below,
}

/// How leaves become a margin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Aggregate {
    /// Base plus the sum of the leaves: gradient boosting.
    #[default]
    Sum,
    /// Mean of the leaves, which are probabilities, minus one half: forests by mean probability.
    Mean,
    /// Share of the trees whose leaf is above one half, minus one half: forests by vote.
    Vote,
}

impl Split {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::Below => "<",
        }
    }
}

impl FromStr for Split {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::AtMost, Self::Below].into_iter().find(|split| split.name() == name).ok_or_else(
            || Error::UnknownName {
                kind: "split",
                name: name.to_owned(),
                known: "<=, <".to_owned(),
            },
        )
    }
}

impl Aggregate {
    /// As in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Vote => "vote",
        }
    }
}

impl FromStr for Aggregate {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        [Self::Sum, Self::Mean, Self::Vote].into_iter().find(|rule| rule.name() == name).ok_or_else(
            || Error::UnknownName {
                kind: "aggregate",
                name: name.to_owned(),
                known: "sum, mean, vote".to_owned(),
            },
        )
    }
}

/// What all trees of an ensemble share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TreeRules {
    /// When the left branch is taken.
    pub split: Split,
    /// How leaves become a margin.
    pub aggregate: Aggregate,
    /// Added to the sum of the leaves; 0 for the other aggregates.
    pub base: f64,
    /// Whether values are rounded to `f32` before they are compared.
    pub single: bool,
}

/// A node with its split on `f64`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// The left branch is taken if the feature is at most this.
    pub cut: f64,
    pub feature: u32,
    /// Children, from the same array; the node itself at a leaf.
    pub left: u32,
    pub right: u32,
    /// The term of a leaf in the score.
    pub adds: f64,
    default_left: Option<bool>,
}

/// An ensemble of trees.
///
/// ```
/// use probe_core::model::{Tree, TreeRules, Trees};
/// use probe_core::Model;
/// // 1 where the first feature is above 0.5, else −1.
/// let stump = Tree {
///     feature: vec![0, 0, 0],
///     threshold: vec![0.5, 0.0, 0.0],
///     left: vec![1, -1, -1],
///     right: vec![2, -1, -1],
///     value: vec![0.0, -1.0, 1.0],
///     default_left: vec![],
/// };
/// let model = Trees::new(2, vec![stump], TreeRules::default(), 0.0)?;
/// assert_eq!((model.score(&[0.5, 9.0])?, model.score(&[0.6, 9.0])?), (-1.0, 1.0));
/// # Ok::<(), probe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Trees {
    n_features: usize,
    trees: Vec<Tree>,
    rules: TreeRules,
    threshold: f64,
    nodes: Vec<Node>,
    roots: Vec<u32>,
    /// For each feature, whether the model accepts missing values.
    takes_missing: Vec<bool>,
}

impl Trees {
    /// Fails unless the arrays form trees, and features, thresholds and leaves are valid. The error
    /// names tree and node.
    pub fn new(
        n_features: usize,
        trees: Vec<Tree>,
        rules: TreeRules,
        threshold: f64,
    ) -> Result<Self> {
        require(!trees.is_empty(), "number of trees", "at least 1", 0.0)?;
        require(n_features > 0, "number of features", "at least 1", n_features as f64)?;
        require(rules.base.is_finite(), "base", "finite", rules.base)?;
        require(threshold.is_finite(), "threshold", "finite", threshold)?;
        let no_base = rules.base == 0.0 || rules.aggregate == Aggregate::Sum;
        require(no_base, "base of trees that are not summed", "0", rules.base)?;
        let (mut nodes, mut roots) = (Vec::new(), Vec::new());
        for (number, tree) in trees.iter().enumerate() {
            tree.check(number, n_features)?;
            let first = nodes.len();
            require(
                first + tree.left.len() < u32::MAX as usize,
                "number of nodes",
                "below 2^32",
                first as f64,
            )?;
            roots.push(first as u32);
            for i in 0..tree.left.len() {
                let leaf = tree.left[i] < 0;
                let child = |child: i64| {
                    if leaf { (first + i) as u32 } else { first as u32 + child as u32 }
                };
                nodes.push(Node {
                    cut: if leaf { 0.0 } else { rules.cut(tree.threshold[i]) },
                    feature: if leaf { 0 } else { tree.feature[i] as u32 },
                    left: child(tree.left[i]),
                    right: child(tree.right[i]),
                    adds: if leaf { tree.value[i] } else { 0.0 },
                    default_left: tree.default_left.get(i).copied(),
                });
            }
        }
        let takes_missing = Self::places_for_missing(n_features, &nodes);
        Ok(Self { n_features, trees, rules, threshold, nodes, roots, takes_missing })
    }

    /// The trees as they were given.
    pub fn trees(&self) -> &[Tree] {
        &self.trees
    }

    /// The rules that all trees share.
    pub fn rules(&self) -> TreeRules {
        self.rules
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn roots(&self) -> &[u32] {
        &self.roots
    }

    /// The model with another decision: `negate` if its class 0 is the favourable
    /// one, and another cut-off. A tie stays unfavourable. Fails unless the cut-off is finite.
    pub fn with_decision(&self, negate: bool, threshold: Option<f64>) -> Result<Self> {
        let sign = if negate { -1.0 } else { 1.0 };
        let mut trees = self.trees.clone();
        if negate {
            for value in trees.iter_mut().flat_map(|tree| &mut tree.value) {
                *value = match self.rules.aggregate {
                    Aggregate::Sum => -*value,
                    Aggregate::Mean => 1.0 - *value,
                    Aggregate::Vote => f64::from(u8::from(*value <= 0.5)),
                };
            }
        }
        let rules = TreeRules { base: sign * self.rules.base, ..self.rules };
        Self::new(self.n_features, trees, rules, threshold.unwrap_or(sign * self.threshold))
    }

    /// The same score as a function of scaled inputs, for a model that takes raw ones: $x_j = o_j +
    /// d_j y_j$ with $d_j > 0$. Cuts are rounded like values that are scaled.
    pub fn rescaled(&self, space: &Space) -> Self {
        let mut scaled = self.clone();
        for node in &mut scaled.nodes {
            node.cut = space.to_scaled(node.feature as usize, node.cut);
        }
        scaled
    }

    /// Whether `x` goes left at a split. A missing value takes the default direction, if there is
    /// one, else it goes right.
    #[inline(always)]
    pub(crate) fn goes_left(node: &Node, x: f64) -> bool {
        x <= node.cut || (x.is_nan() && node.default_left == Some(true))
    }

    /// The value of the leaf that `x` reaches in tree `number`.
    fn leaf(&self, number: usize, x: &[f64]) -> f64 {
        let mut at = self.roots[number];
        loop {
            let node = &self.nodes[at as usize];
            let next = if Self::goes_left(node, x[node.feature as usize]) {
                node.left
            } else {
                node.right
            };
            if next == at {
                return node.adds;
            }
            at = next;
        }
    }

    /// The score from the values of the trees' leaves, in order.
    pub(crate) fn aggregate(&self, leaves: impl Iterator<Item = f64>) -> f64 {
        let margin = match self.rules.aggregate {
            Aggregate::Sum => leaves.fold(self.rules.base, |sum, leaf| sum + leaf),
            Aggregate::Mean => leaves.sum::<f64>() / self.trees.len() as f64 - 0.5,
            Aggregate::Vote => {
                let votes = leaves.filter(|leaf| *leaf > 0.5).count();
                votes as f64 / self.trees.len() as f64 - 0.5
            }
        };
        margin - self.threshold
    }

    /// $s(x)$ for one row of the right length.
    pub(crate) fn score_row(&self, x: &[f64]) -> f64 {
        self.aggregate((0..self.roots.len()).map(|number| self.leaf(number, x)))
    }
}

impl TreeRules {
    /// The largest `f64` that takes the left branch at a threshold.
    fn cut(self, threshold: f64) -> f64 {
        if !self.single {
            return match self.split {
                Split::AtMost => threshold,
                Split::Below => threshold.next_down(),
            };
        }
        // The largest f32 that takes the left branch.
        let nearest = threshold as f32;
        let takes = |x: f32| match self.split {
            Split::AtMost => f64::from(x) <= threshold,
            Split::Below => f64::from(x) < threshold,
        };
        let last = if takes(nearest) { nearest } else { nearest.next_down() };
        // Values up to halfway to the next one are rounded to it; halfway, to the even one of the
        // two.
        let next = last.next_up();
        if !next.is_finite() || !last.is_finite() {
            return f64::from(last);
        }
        let halfway = 0.5 * (f64::from(last) + f64::from(next));
        if halfway as f32 == last { halfway } else { halfway.next_down() }
    }
}

impl Tree {
    /// Adds a leaf; returns its number.
    pub fn push_leaf(&mut self, value: f64) -> usize {
        self.feature.push(0);
        self.threshold.push(0.0);
        self.left.push(-1);
        self.right.push(-1);
        self.value.push(value);
        self.value.len() - 1
    }

    /// Fails unless the arrays make one tree on these features.
    fn check(&self, number: usize, n_features: usize) -> Result<()> {
        let n = self.left.len();
        let lengths = [
            ("features of a tree's nodes", self.feature.len()),
            ("thresholds of a tree's nodes", self.threshold.len()),
            ("right children of a tree's nodes", self.right.len()),
            ("values of a tree's nodes", self.value.len()),
            (
                "default directions of a tree's nodes",
                if self.default_left.is_empty() { n } else { self.default_left.len() },
            ),
        ];
        for (what, found) in lengths {
            if found != n {
                return Err(Error::Shape { what, expected: n, found });
            }
        }
        require(n > 0, &format!("number of nodes of tree {number}"), "at least 1", 0.0)?;
        let mut seen = vec![false; n];
        let mut todo = vec![0];
        while let Some(i) = todo.pop() {
            let at = |what: &str| format!("{what} of node {i} of tree {number}");
            if std::mem::replace(&mut seen[i], true) {
                let field = format!("number of ways to node {i} of tree {number}");
                require(false, &field, "1", 2.0)?;
            }
            let (left, right) = (self.left[i], self.right[i]);
            if left == -1 && right == -1 {
                require(self.value[i].is_finite(), &at("value"), "finite", self.value[i])?;
                continue;
            }
            for (what, child) in [("left child", left), ("right child", right)] {
                let inside = child >= 0 && (child as usize) < n;
                require(
                    inside,
                    &at(what),
                    "a node of the tree, or both children -1",
                    child as f64,
                )?;
                todo.push(child as usize);
            }
            let feature = self.feature[i];
            require(
                feature < n_features,
                &at("feature"),
                "a feature of the model",
                feature as f64,
            )?;
            require(self.threshold[i].is_finite(), &at("threshold"), "finite", self.threshold[i])?;
        }
        Ok(())
    }
}

impl Model for Trees {
    fn name(&self) -> &'static str {
        "trees"
    }

    fn n_features(&self) -> usize {
        self.n_features
    }

    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()> {
        if x.n_cols() != self.n_features {
            return Err(Error::Shape {
                what: "columns",
                expected: self.n_features,
                found: x.n_cols(),
            });
        }
        if out.len() != x.n_rows() {
            return Err(Error::Shape { what: "scores", expected: x.n_rows(), found: out.len() });
        }
        for (i, score) in out.iter_mut().enumerate() {
            *score = self.score_row(x.row(i));
        }
        Ok(())
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn margin_at(&self, probability: f64) -> f64 {
        match self.rules.aggregate {
            Aggregate::Sum => log_odds(probability),
            Aggregate::Mean | Aggregate::Vote => probability - 0.5,
        }
    }

    fn refuses_missing(&self, feature: usize) -> Option<&'static str> {
        (!self.takes_missing(feature))
            .then_some("the model has splits on this feature without a default direction")
    }

    fn as_trees(&self) -> Option<&Trees> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
