//! Gradient boosting for the logistic loss, with leaves of second order (Friedman 2001; Chen and
//! Guestrin 2016).
//!
//! Starts from the log-odds of the classes. Each tree is fitted to the slope $g_i$ and the
//! curvature $h_i$ of the rows' losses: a leaf with sums $G$ and $H$ has the value
//! $-\eta\, G / (H + \lambda)$, and a split gains
//! $\tfrac12 \bigl( \tfrac{G_L^2}{H_L + \lambda} + \tfrac{G_R^2}{H_R + \lambda} -
//! \tfrac{G^2}{H + \lambda} \bigr)$. The margin is the start and the sum of the leaves: the
//! log-odds of the favourable class. This is XGBoost's `hist` method.
//!
//! Columns are put into bins of about as many rows each; a column with no more different values
//! than bins has one bin each. Cuts lie midway between values of neighbouring bins. Sums over a
//! node's rows are one feature's work, in the order of the rows, so the bits do not depend on the
//! threads. A tree costs about $n\,d$ additions per two levels.

use crate::error::{Error, Result};
use crate::forest::{check_rows, check_size};
use crate::metrics::{RowLoss, class_weights};
use probe_core::error::require;
use probe_core::model::grow::{Levels, partition};
use probe_core::model::{Tree, TreeRules, Trees};
use probe_core::{Key, ParamError, Purpose, Rows, Seed, Stream};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Names the streams of boosting among those of [`Purpose::Training`].
const BOOSTED_STREAM: u64 = 6;
/// A bin's number has 8 bits.
const MOST_BINS: usize = 256;
/// Gains below this are rounding, as in XGBoost.
const LEAST_GAIN: f64 = 1e-6;
/// Number of additions for which another thread pays.
const WORTH_A_THREAD: usize = 1 << 15;
/// Rows that are scored by one thread at a time.
const BLOCK: usize = 4096;

/// Settings of gradient boosting.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BoostedParams {
    /// Number of trees.
    pub trees: usize,
    /// Splits between root and leaf, at most.
    pub depth: usize,
    /// Part of a tree's step that is taken, $\eta$.
    pub learning_rate: f64,
    /// Penalty $\lambda \ge 0$ on the squared leaves.
    pub l2: f64,
    /// Curvature in a leaf, at least.
    pub min_child_weight: f64,
    /// Share of the rows that each tree is fitted to, drawn again for each tree, without
    /// replacement.
    pub rows: f64,
    /// Share of the features that each tree may split on, drawn again for each tree.
    pub columns: f64,
    /// Bins per feature, at most; up to 256.
    pub bins: usize,
    /// Whether both classes weigh the same in total, however many rows they have.
    pub balanced: bool,
}

impl Default for BoostedParams {
    fn default() -> Self {
        Self {
            trees: 100,
            depth: 4,
            learning_rate: 0.1,
            l2: 1.0,
            min_child_weight: 1.0,
            rows: 1.0,
            columns: 1.0,
            bins: MOST_BINS,
            balanced: false,
        }
    }
}

/// Gradient boosting, ready to be fitted.
///
/// ```
/// use probe_core::{Model, Rows, Seed};
/// use probe_train::{BoostedParams, BoostedTrainer};
/// // Favourable in the middle: no linear score can say that.
/// let x: Vec<f64> = (0..400).map(|i| f64::from(i) / 400.0).collect();
/// let favourable: Vec<bool> = x.iter().map(|x| (0.3..0.7).contains(x)).collect();
/// let boosted = BoostedTrainer::new(BoostedParams::default())?;
/// let fit = boosted.fit(Rows::new(&x, 1)?, &["x".into()], &favourable, Seed(0))?;
/// assert!(fit.model.score(&[0.5])? > 2.0);
/// assert!(fit.model.score(&[0.1])? < -2.0 && fit.model.score(&[0.9])? < -2.0);
/// # Ok::<(), probe_train::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoostedTrainer {
    params: BoostedParams,
}

/// A fitted ensemble.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BoostedFit {
    /// The log-odds of the favourable class, cut at 0.
    pub model: Trees,
    /// Mean loss of the rows, by their class weights, after each tree.
    pub history: Vec<f64>,
}

impl BoostedTrainer {
    /// Fails on parameters outside their domain.
    pub fn new(params: BoostedParams) -> Result<Self, ParamError> {
        check_size(params.trees, params.depth)?;
        let rate = params.learning_rate;
        require(rate > 0.0 && rate.is_finite(), "learning_rate", "positive and finite", rate)?;
        for (name, value) in [("l2", params.l2), ("min_child_weight", params.min_child_weight)] {
            require(value >= 0.0 && value.is_finite(), name, "at least 0 and finite", value)?;
        }
        for (name, value) in [("rows", params.rows), ("columns", params.columns)] {
            require(value > 0.0 && value <= 1.0, name, "above 0 and at most 1", value)?;
        }
        let bins = params.bins;
        require((2..=MOST_BINS).contains(&bins), "bins", "from 2 to 256", bins as f64)?;
        Ok(Self { params })
    }

    /// Fits trees to the rows of `x`, whose columns are called `names`, to predict `favourable`.
    ///
    /// Fails without rows, with one class only, on lengths that differ, on values that are not
    /// finite, naming row and feature, and where the scores run off to infinity. The same input and
    /// seed give the same bits on any number of threads.
    pub fn fit(
        &self,
        x: Rows<'_>,
        names: &[String],
        favourable: &[bool],
        seed: Seed,
    ) -> Result<BoostedFit> {
        let n_yes = check_rows(x, names, favourable)?;
        let n = favourable.len();
        let weights = class_weights(favourable, self.params.balanced);
        let base = libm::log((weights[1] * n_yes as f64) / (weights[0] * (n - n_yes) as f64));
        let columns: Vec<Bins> = Levels::of(x)
            .into_par_iter()
            .map(|levels| Bins::of(&levels, self.params.bins))
            .collect();
        let mut scores = vec![base; n];
        let (mut pairs, _) = losses(&scores, favourable, weights);
        let (mut trees, mut history) = (Vec::new(), Vec::new());
        for number in 0..self.params.trees {
            let key = Key::default().word(BOOSTED_STREAM).word(number as u64).finish();
            let mut stream = seed.stream(Purpose::Training, key);
            let growing = Growing {
                columns: &columns,
                features: draw(x.n_cols(), self.params.columns, &mut stream),
                pairs: &pairs,
                params: &self.params,
                rows: draw(n, self.params.rows, &mut stream),
                bins: Vec::new(),
                tree: Tree::default(),
            };
            let (tree, bins) = growing.grow();
            let add = |(block, scores): (usize, &mut [f64])| {
                for (row, score) in (block * BLOCK..).zip(scores) {
                    *score += leaf_of(&tree, &bins, &columns, row);
                }
            };
            scores.par_chunks_mut(BLOCK).enumerate().for_each(add);
            let loss;
            (pairs, loss) = losses(&scores, favourable, weights);
            if !loss.is_finite() {
                return Err(Error::Diverged { epoch: number + 1 });
            }
            history.push(loss);
            trees.push(tree);
        }
        let model = Trees::new(x.n_cols(), trees, TreeRules { base, ..TreeRules::default() }, 0.0)?;
        Ok(BoostedFit { model, history })
    }
}

/// Slope and curvature of every row's loss, and the mean of the losses, all by class weights.
fn losses(scores: &[f64], favourable: &[bool], weights: [f64; 2]) -> (Vec<[f64; 2]>, f64) {
    let one = |(&score, &yes): (&f64, &bool)| {
        let (loss, weight) = (RowLoss::at(score, yes), weights[usize::from(yes)]);
        ([weight * loss.slope, weight * loss.curvature], weight * loss.value)
    };
    let (pairs, values): (_, Vec<f64>) =
        (scores, favourable).into_par_iter().with_min_len(BLOCK).map(one).unzip();
    (pairs, values.iter().sum::<f64>() / scores.len() as f64)
}

/// A share of 0..n, at least one, ascending; nothing is drawn where all are taken.
fn draw(n: usize, share: f64, stream: &mut Stream) -> Vec<u32> {
    let mut all: Vec<u32> = (0..n as u32).collect();
    let wanted = ((share * n as f64).round() as usize).clamp(1, n);
    if wanted < n {
        for k in 0..wanted {
            all.swap(k, k + stream.below(n - k));
        }
        all.truncate(wanted);
        all.sort_unstable();
    }
    all
}

/// One column in bins.
struct Bins {
    /// A cut above each bin but the last.
    cuts: Vec<f64>,
    /// The bin of each row.
    codes: Vec<u8>,
}

impl Bins {
    fn of(levels: &Levels, most: usize) -> Self {
        let n_levels = levels.values.len();
        let mut sizes = vec![0usize; n_levels];
        levels.codes.iter().for_each(|&code| sizes[code as usize] += 1);
        // A bin ends once it has its share of the remaining rows. A frequent value then fills its
        // own bin, and the others are still spread evenly.
        let (mut bin_of, mut cuts) = (vec![0u8; n_levels], Vec::new());
        let (mut left, mut inside) = (levels.codes.len(), 0);
        for (level, &size) in sizes.iter().enumerate() {
            bin_of[level] = cuts.len() as u8;
            inside += size;
            let bins_left = most - cuts.len();
            let full = n_levels <= most || inside * bins_left >= left;
            if full && level + 1 < n_levels && bins_left > 1 {
                cuts.push(levels.cut(level as u32, level as u32 + 1));
                left -= inside;
                inside = 0;
            }
        }
        Self { cuts, codes: levels.codes.iter().map(|&code| bin_of[code as usize]).collect() }
    }
}

/// Slope, curvature and number of some rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    slope: f64,
    curvature: f64,
    n: u32,
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.slope += other.slope;
        self.curvature += other.curvature;
        self.n += other.n;
    }

    fn less(self, other: Self) -> Self {
        match self.n - other.n {
            0 => Self::default(),
            n => Self {
                slope: self.slope - other.slope,
                curvature: self.curvature - other.curvature,
                n,
            },
        }
    }

    /// Twice what a leaf gains; 0 where there is no curvature to divide by.
    fn gain(self, l2: f64) -> f64 {
        let below = self.curvature + l2;
        if below > 0.0 { self.slope * self.slope / below } else { 0.0 }
    }
}

/// Sums by bin, of each feature that may be split on.
type Histograms = Vec<Vec<Sums>>;

/// A place to split at.
struct Cut {
    gain: f64,
    feature: u32,
    /// The last bin that goes left.
    bin: u8,
    left: Sums,
}

/// A leaf that may be split.
struct Open {
    node: usize,
    from: usize,
    to: usize,
    depth: usize,
    sums: Sums,
    histograms: Histograms,
}

/// One tree as it grows.
struct Growing<'a> {
    columns: &'a [Bins],
    /// Features that may be split on.
    features: Vec<u32>,
    /// Slope and curvature of every row.
    pairs: &'a [[f64; 2]],
    params: &'a BoostedParams,
    /// Rows in the order of the nodes that hold them.
    rows: Vec<u32>,
    /// The last bin that goes left, by node.
    bins: Vec<u8>,
    tree: Tree,
}

impl Growing<'_> {
    /// The tree, with the last bin that goes left at each node.
    fn grow(mut self) -> (Tree, Vec<u8>) {
        let n = self.rows.len();
        let mut sums = Sums::default();
        self.rows.iter().for_each(|&row| sums.add(self.sums_of(row)));
        let node = self.leaf(sums);
        let histograms = self.histograms(0, n);
        let mut todo = vec![Open { node, from: 0, to: n, depth: 0, sums, histograms }];
        while let Some(open) = todo.pop() {
            if let Some(cut) = self.best_cut(&open) {
                todo.extend(self.split(open, &cut));
            }
        }
        (self.tree, self.bins)
    }

    fn sums_of(&self, row: u32) -> Sums {
        let [slope, curvature] = self.pairs[row as usize];
        Sums { slope, curvature, n: 1 }
    }

    fn leaf(&mut self, sums: Sums) -> usize {
        let below = sums.curvature + self.params.l2;
        let step = if below > 0.0 { -sums.slope / below } else { 0.0 };
        self.bins.push(0);
        self.tree.push_leaf(self.params.learning_rate * step)
    }

    fn histograms(&self, from: usize, to: usize) -> Histograms {
        let one = |&feature: &u32| {
            let column = &self.columns[feature as usize];
            let mut sums = vec![Sums::default(); column.cuts.len() + 1];
            for &row in &self.rows[from..to] {
                sums[usize::from(column.codes[row as usize])].add(self.sums_of(row));
            }
            sums
        };
        if (to - from) * self.features.len() < WORTH_A_THREAD {
            return self.features.iter().map(one).collect();
        }
        self.features.par_iter().map(one).collect()
    }

    fn best_cut(&self, open: &Open) -> Option<Cut> {
        let BoostedParams { l2, min_child_weight, .. } = *self.params;
        let whole = open.sums.gain(l2);
        let mut best: Option<Cut> = None;
        for (&feature, sums) in self.features.iter().zip(&open.histograms) {
            let mut left = Sums::default();
            for (bin, here) in (0u8..=u8::MAX).zip(sums) {
                if here.n == 0 {
                    continue;
                }
                left.add(*here);
                let right = open.sums.less(left);
                if right.n == 0 || right.curvature < min_child_weight {
                    break;
                }
                if left.curvature < min_child_weight {
                    continue;
                }
                let gain = 0.5 * (left.gain(l2) + right.gain(l2) - whole);
                if gain > best.as_ref().map_or(LEAST_GAIN, |best| best.gain) {
                    best = Some(Cut { gain, feature, bin, left });
                }
            }
        }
        best
    }

    /// Turns a leaf into a split; returns its leaves, where they may be split in turn.
    fn split(&mut self, open: Open, cut: &Cut) -> Vec<Open> {
        let column = &self.columns[cut.feature as usize];
        let goes_left = |row: u32| column.codes[row as usize] <= cut.bin;
        let middle = open.from + partition(&mut self.rows[open.from..open.to], goes_left);
        let right_sums = open.sums.less(cut.left);
        let (left, right) = (self.leaf(cut.left), self.leaf(right_sums));
        self.bins[open.node] = cut.bin;
        self.tree.feature[open.node] = cut.feature as usize;
        self.tree.threshold[open.node] = column.cuts[usize::from(cut.bin)];
        self.tree.left[open.node] = left as i64;
        self.tree.right[open.node] = right as i64;
        self.tree.value[open.node] = 0.0;
        let depth = open.depth + 1;
        if depth == self.params.depth {
            return Vec::new();
        }
        // Sums the smaller side only; the sums of the other side are the difference.
        let left_smaller = middle - open.from <= open.to - middle;
        let smaller = if left_smaller {
            self.histograms(open.from, middle)
        } else {
            self.histograms(middle, open.to)
        };
        let mut larger = open.histograms;
        for (sums, other) in larger.iter_mut().flatten().zip(smaller.iter().flatten()) {
            *sums = sums.less(*other);
        }
        let (left_part, right_part) =
            if left_smaller { (smaller, larger) } else { (larger, smaller) };
        let child =
            |node, from, to, sums, histograms| Open { node, from, to, depth, sums, histograms };
        vec![
            child(right, middle, open.to, right_sums, right_part),
            child(left, open.from, middle, cut.left, left_part),
        ]
    }
}

/// The output of the tree for a row, which need not be among those that it was fitted to.
fn leaf_of(tree: &Tree, bins: &[u8], columns: &[Bins], row: usize) -> f64 {
    let mut node = 0;
    while tree.left[node] >= 0 {
        let goes_left = columns[tree.feature[node]].codes[row] <= bins[node];
        node = if goes_left { tree.left[node] } else { tree.right[node] } as usize;
    }
    tree.value[node]
}

#[cfg(test)]
mod tests;
