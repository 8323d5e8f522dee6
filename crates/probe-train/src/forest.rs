//! Random forests: the mean of many trees, each grown on rows drawn with replacement, with each
//! split chosen among randomly drawn features (Breiman 2001).
//!
//! A tree is a [`Cart`]; the value of a leaf is the share of its rows that is favourable. The
//! margin is the mean of the leaves minus one half. This is scikit-learn's
//! `RandomForestClassifier`, whose `class_weight="balanced"` is `balanced`.
//!
//! Each tree has its own random stream, so that the bits do not depend on the threads.

use crate::design::check_finite;
use crate::error::{Result, both_classes, same_length};
use crate::metrics::class_weights;
use probe_core::error::require;
use probe_core::model::grow::{Cart, Levels};
use probe_core::model::{Aggregate, TreeRules, Trees};
use probe_core::{Key, ParamError, Purpose, Rows, Seed};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Names the streams of a forest among those of [`Purpose::Training`].
const FOREST_STREAM: u64 = 5;
/// More trees than this are probably a typing error.
pub(crate) const MOST_TREES: usize = 100_000;
/// The largest depth.
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
    /// Features that compete for a split; by default the square root of their number, rounded down.
    /// Constant ones do not count.
    pub features: Option<usize>,
    /// Whether each tree has its own rows, drawn with replacement; otherwise all rows.
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
/// assert!(model.score(&[0.5])? > 0.4);
/// assert!(model.score(&[0.1])? < -0.4 && model.score(&[0.9])? < -0.4);
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
    /// Fails without rows, with one class only, on lengths that differ, and on values that are not
    /// finite, naming row and feature. The same input and seed give the same bits on any number of
    /// threads.
    pub fn fit(
        &self,
        x: Rows<'_>,
        names: &[String],
        favourable: &[bool],
        seed: Seed,
    ) -> Result<Trees> {
        check_rows(x, names, favourable)?;
        let columns = Levels::of(x);
        let n_features = x.n_cols();
        let cart = Cart {
            columns: &columns,
            favourable,
            weights: class_weights(favourable, self.params.balanced),
            drawn: self.params.features.unwrap_or(n_features.isqrt()).clamp(1, n_features),
            depth: self.params.depth,
            min_leaf: self.params.min_leaf,
            bootstrap: self.params.bootstrap,
        };
        let trees = (0..self.params.trees).into_par_iter().map(|number| {
            let key = Key::default().word(FOREST_STREAM).word(number as u64).finish();
            cart.grow(seed.stream(Purpose::Training, key))
        });
        let rules = TreeRules { aggregate: Aggregate::Mean, ..TreeRules::default() };
        Ok(Trees::new(n_features, trees.collect(), rules, 0.0)?)
    }
}

/// Fails if the size of the ensemble is zero or too large.
pub(crate) fn check_size(trees: usize, depth: usize) -> Result<(), ParamError> {
    require(
        (1..=MOST_TREES).contains(&trees),
        "trees",
        "from 1 to a hundred thousand",
        trees as f64,
    )?;
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

#[cfg(test)]
pub(crate) mod tests;
