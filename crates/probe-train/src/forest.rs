//! Random forests: the mean of many trees, each grown on rows drawn with replacement, each split on features drawn anew
//! (Breiman 2001).
//!
//! A tree is a CART: every split has the least Gini impurity among all cuts of the features drawn, midway between
//! neighbouring values of the node's rows; a leaf says the share of its rows that is favourable. The margin is the mean
//! of the leaves less one half. This is scikit-learn's `RandomForestClassifier`, whose `class_weight="balanced"` is
//! `balanced`.
//!
//! Rows are counted in whole numbers and each tree has a stream of its own, so the bits do not depend on the threads.

use crate::design::check_finite;
use crate::error::{Result, both_classes, same_length};
use crate::levels::Levels;
use crate::metrics::class_weights;
use probe_core::error::require;
use probe_core::model::{Aggregate, Tree, TreeRules, Trees};
use probe_core::{Key, ParamError, Purpose, Rows, Seed, Stream};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Names the streams of a forest among those of [`Purpose::Training`].
const FOREST_STREAM: u64 = 5;
/// More trees than this are a typing error.
pub(crate) const MOST_TREES: usize = 100_000;
/// A tree deeper than this is a list.
pub(crate) const MOST_DEPTH: usize = 64;
/// Rows are numbered in 32 bits.
pub(crate) const MOST_ROWS: usize = 1 << 31;

/// Settings of a forest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ForestParams {
    /// Number of trees.
    pub trees: usize,
    /// Splits between root and leaf, at most.
    pub depth: usize,
    /// Rows in a leaf, at least.
    pub min_leaf: usize,
    /// Features that compete for a split; by default the square root of their number, rounded down. Constant ones do not count.
    pub features: Option<usize>,
    /// Whether each tree has rows of its own, drawn with replacement; otherwise all rows.
    pub bootstrap: bool,
    /// Whether both classes weigh the same in total, however many rows they have.
    pub balanced: bool,
}

impl Default for ForestParams {
    fn default() -> Self {
        Self { trees: 100, depth: 6, min_leaf: 1, features: None, bootstrap: true, balanced: false }
    }
}

/// A random forest, ready to be grown.
///
/// ```
/// use probe_core::{Model, Rows, Seed};
/// use probe_train::{ForestParams, ForestTrainer};
/// // Favourable in the middle: no linear score can say that.
/// let x: Vec<f64> = (0..400).map(|i| f64::from(i) / 400.0).collect();
/// let favourable: Vec<bool> = x.iter().map(|x| (0.3..0.7).contains(x)).collect();
/// let forest = ForestTrainer::new(ForestParams { trees: 20, ..ForestParams::default() })?;
/// let model = forest.fit(Rows::new(&x, 1)?, &["x".into()], &favourable, Seed(0))?;
/// assert!(model.score(&[0.5])? > 0.4 && model.score(&[0.1])? < -0.4 && model.score(&[0.9])? < -0.4);
/// # Ok::<(), probe_train::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForestTrainer {
    params: ForestParams,
}

impl ForestTrainer {
    /// Fails on parameters outside their domain.
    pub fn new(params: ForestParams) -> Result<Self, ParamError> {
        check_size(params.trees, params.depth)?;
        require(params.min_leaf >= 1, "min_leaf", "at least 1", params.min_leaf as f64)?;
        require(params.features != Some(0), "features", "at least 1", 0.0)?;
        Ok(Self { params })
    }

    /// Grows trees on the rows of `x`, whose columns are called `names`, to predict `favourable`.
    ///
    /// Fails without rows, with one class only, on lengths that differ, and on values that are not finite, naming row and
    /// feature. The same input and seed give the same bits on any number of threads.
    pub fn fit(&self, x: Rows<'_>, names: &[String], favourable: &[bool], seed: Seed) -> Result<Trees> {
        check_rows(x, names, favourable)?;
        let columns = Levels::of(x);
        let n_features = x.n_cols();
        let drawn = self.params.features.unwrap_or(n_features.isqrt()).clamp(1, n_features);
        let weights = class_weights(favourable, self.params.balanced);
        let data = Data { columns: &columns, favourable, weights, drawn };
        let trees = (0..self.params.trees).into_par_iter().map(|number| {
            let key = Key::default().word(FOREST_STREAM).word(number as u64).finish();
            Growing::new(&data, &self.params, seed.stream(Purpose::Training, key)).grow()
        });
        let rules = TreeRules { aggregate: Aggregate::Mean, ..TreeRules::default() };
        Ok(Trees::new(n_features, trees.collect(), rules, 0.0)?)
    }
}

/// Fails on an ensemble of no sensible size.
pub(crate) fn check_size(trees: usize, depth: usize) -> Result<(), ParamError> {
    require((1..=MOST_TREES).contains(&trees), "trees", "from 1 to a hundred thousand", trees as f64)?;
    require((1..=MOST_DEPTH).contains(&depth), "depth", "from 1 to 64", depth as f64)
}

/// Fails on rows that no trees can be grown on; returns how many are favourable.
pub(crate) fn check_rows(x: Rows<'_>, names: &[String], favourable: &[bool]) -> Result<usize> {
    same_length("values of the target, one per row", x.n_rows(), favourable.len())?;
    same_length("feature names, one per column", x.n_cols(), names.len())?;
    require(x.n_rows() <= MOST_ROWS, "number of rows", "at most 2^31", x.n_rows() as f64)?;
    let n_yes = both_classes(favourable, "fit a model to")?;
    check_finite(x, names)?;
    Ok(n_yes)
}

/// What all trees grow on.
struct Data<'a> {
    columns: &'a [Levels],
    favourable: &'a [bool],
    /// Weight of an unfavourable and of a favourable row.
    weights: [f64; 2],
    /// Features that compete for a split.
    drawn: usize,
}

/// How many rows are unfavourable and favourable.
type Counts = [u32; 2];

/// A place to split at.
struct Cut {
    /// The larger, the purer the two sides.
    purity: f64,
    feature: usize,
    /// Levels on both sides of it.
    low: u32,
    high: u32,
}

/// One tree as it grows.
struct Growing<'a> {
    data: &'a Data<'a>,
    params: &'a ForestParams,
    stream: Stream,
    /// Rows that were drawn, in the order of the nodes that hold them.
    rows: Vec<u32>,
    /// How often each row was drawn.
    times: Vec<u32>,
    /// Features in a random order.
    order: Vec<usize>,
    /// Rows by level; zero between uses.
    by_level: Vec<Counts>,
    /// Levels of a node's rows, ascending.
    tally: Vec<(u32, Counts)>,
    tree: Tree,
}

impl<'a> Growing<'a> {
    fn new(data: &'a Data<'a>, params: &'a ForestParams, mut stream: Stream) -> Self {
        let n = data.favourable.len();
        let mut times = vec![u32::from(!params.bootstrap); n];
        if params.bootstrap {
            (0..n).for_each(|_| times[stream.below(n)] += 1);
        }
        let rows = (0u32..).zip(&times).filter(|(_, times)| **times > 0).map(|(row, _)| row).collect();
        let most_levels = data.columns.iter().map(|column| column.values.len()).max().unwrap_or(0);
        Self {
            data,
            params,
            stream,
            rows,
            times,
            order: (0..data.columns.len()).collect(),
            by_level: vec![[0; 2]; most_levels],
            tally: Vec::new(),
            tree: Tree::default(),
        }
    }

    fn grow(mut self) -> Tree {
        let root = self.leaf(0, self.rows.len());
        let mut todo = vec![(root, 0, self.rows.len(), 0)];
        while let Some((node, from, to, depth)) = todo.pop() {
            if depth == self.params.depth {
                continue;
            }
            let Some(cut) = self.best_cut(from, to) else { continue };
            let column = &self.data.columns[cut.feature];
            let middle =
                from + partition(&mut self.rows[from..to], |row| column.codes[row as usize] <= cut.low);
            let (left, right) = (self.leaf(from, middle), self.leaf(middle, to));
            self.tree.feature[node] = cut.feature;
            self.tree.threshold[node] = column.cut(cut.low, cut.high);
            self.tree.left[node] = left as i64;
            self.tree.right[node] = right as i64;
            self.tree.value[node] = 0.0;
            todo.push((right, middle, to, depth + 1));
            todo.push((left, from, middle, depth + 1));
        }
        self.tree
    }

    /// A new leaf for some of the rows.
    fn leaf(&mut self, from: usize, to: usize) -> usize {
        let [no, yes] = self.weigh(self.count(from, to));
        push_leaf(&mut self.tree, yes / (no + yes))
    }

    fn count(&self, from: usize, to: usize) -> Counts {
        let mut counts = [0; 2];
        for &row in &self.rows[from..to] {
            counts[usize::from(self.data.favourable[row as usize])] += self.times[row as usize];
        }
        counts
    }

    fn weigh(&self, [no, yes]: Counts) -> [f64; 2] {
        [self.data.weights[0] * f64::from(no), self.data.weights[1] * f64::from(yes)]
    }

    /// The best cut of the features drawn; `None` if there is nothing to split.
    fn best_cut(&mut self, from: usize, to: usize) -> Option<Cut> {
        let total = self.count(from, to);
        if total[0] == 0 || total[1] == 0 || (total[0] + total[1]) as usize / 2 < self.params.min_leaf {
            return None;
        }
        let (mut best, mut seen) = (None, 0);
        for k in 0..self.order.len() {
            let other = k + self.stream.below(self.order.len() - k);
            self.order.swap(k, other);
            let feature = self.order[k];
            self.tally(feature, from, to);
            if self.tally.len() > 1 {
                self.improve(feature, total, &mut best);
                seen += 1;
            }
            // As scikit-learn: on with the next feature until one can be split.
            if seen >= self.data.drawn && best.is_some() {
                break;
            }
        }
        best
    }

    /// Counts the rows of a node by their level of `feature`.
    fn tally(&mut self, feature: usize, from: usize, to: usize) {
        let Self { data, rows, times, by_level, tally, .. } = self;
        let (column, rows) = (&data.columns[feature], &rows[from..to]);
        tally.clear();
        let class = |row: u32| usize::from(data.favourable[row as usize]);
        // Few rows of a column with many levels are sorted, others counted. The outcome is the same.
        if column.values.len() > 8 * rows.len() {
            let entry = |&row: &u32| {
                let mut counts = [0; 2];
                counts[class(row)] = times[row as usize];
                (column.codes[row as usize], counts)
            };
            tally.extend(rows.iter().map(entry));
            tally.sort_unstable_by_key(|(code, _)| *code);
            tally.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 = [kept.1[0] + next.1[0], kept.1[1] + next.1[1]];
                }
                same
            });
            return;
        }
        for &row in rows {
            by_level[column.codes[row as usize] as usize][class(row)] += times[row as usize];
        }
        for (counts, code) in by_level[..column.values.len()].iter_mut().zip(0u32..) {
            if *counts != [0; 2] {
                tally.push((code, std::mem::take(counts)));
            }
        }
    }

    /// Puts the best cut of the tallied feature in the place of `best`, if it is better.
    fn improve(&self, feature: usize, total: Counts, best: &mut Option<Cut>) {
        let mut left = [0; 2];
        for pair in self.tally.windows(2) {
            let (low, counts) = pair[0];
            left = [left[0] + counts[0], left[1] + counts[1]];
            let right = [total[0] - left[0], total[1] - left[1]];
            if ((left[0] + left[1]).min(right[0] + right[1]) as usize) < self.params.min_leaf {
                continue;
            }
            let purity = purity(self.weigh(left)) + purity(self.weigh(right));
            if best.as_ref().is_none_or(|best| purity > best.purity) {
                *best = Some(Cut { purity, feature, low, high: pair[1].0 });
            }
        }
    }
}

/// Weight less Gini impurity times weight, up to a factor: $(a^2 + b^2) / (a + b)$.
fn purity([no, yes]: [f64; 2]) -> f64 {
    (no * no + yes * yes) / (no + yes)
}

/// Rows that go left to the front; returns their number.
pub(crate) fn partition(rows: &mut [u32], goes_left: impl Fn(u32) -> bool) -> usize {
    let mut n = 0;
    for i in 0..rows.len() {
        if goes_left(rows[i]) {
            rows.swap(i, n);
            n += 1;
        }
    }
    n
}

/// Adds a leaf; returns its number.
pub(crate) fn push_leaf(tree: &mut Tree, value: f64) -> usize {
    tree.feature.push(0);
    tree.threshold.push(0.0);
    tree.left.push(-1);
    tree.right.push(-1);
    tree.value.push(value);
    tree.value.len() - 1
}

#[cfg(test)]
pub(crate) mod tests;
