//! The columns of a regression, centred and divided by their spread, so that the solver sees
//! well-conditioned numbers whatever the units. The fitted function is the same: the penalty is
//! rescaled with the column.

use crate::error::{Result, same_length};
use probe_core::error::require;
use probe_core::{Error, Rows};

/// A spread below this cannot be squared; such a column counts as constant.
const SMALLEST_SPREAD: f64 = 1e-150;

/// Standardised columns.
#[derive(Debug)]
pub(crate) struct Design {
    /// Row-major, `n_cols` numbers a row.
    pub(crate) values: Vec<f64>,
    pub(crate) n_cols: usize,
    mean: Vec<f64>,
    /// Standard deviation; 0 for a constant column.
    spread: Vec<f64>,
}

impl Design {
    /// Fails on a value that is not finite, naming row and feature, and on numbers too large to
    /// average.
    pub(crate) fn new(x: Rows<'_>, names: &[String]) -> Result<Self> {
        let n_cols = x.n_cols();
        same_length("feature names, one per column", n_cols, names.len())?;
        check_finite(x, names)?;
        let n = x.n_rows() as f64;
        let mut mean = vec![0.0; n_cols];
        let mut spread = vec![0.0; n_cols];
        for j in 0..n_cols {
            let column = || x.iter().map(move |row| row[j]);
            mean[j] = column().sum::<f64>() / n;
            let constant = column().all(|value| value == x.row(0)[j]);
            let sd = (column().map(|value| (value - mean[j]) * (value - mean[j])).sum::<f64>() / n)
                .sqrt();
            require(
                sd.is_finite(),
                &format!("standard deviation of feature '{}'", names[j]),
                "finite",
                sd,
            )?;
            spread[j] = if constant || sd < SMALLEST_SPREAD { 0.0 } else { sd };
        }
        let mut values = Vec::with_capacity(x.data().len());
        for row in x.iter() {
            let standardised =
                |j: usize| if spread[j] > 0.0 { (row[j] - mean[j]) / spread[j] } else { 0.0 };
            values.extend((0..n_cols).map(standardised));
        }
        Ok(Self { values, n_cols, mean, spread })
    }

    /// Penalty on each standardised weight that equals `l2` on the weight itself.
    pub(crate) fn penalties(&self, l2: f64) -> Vec<f64> {
        // A constant column has gradient 0, so any penalty keeps its weight at exactly 0.
        self.spread.iter().map(|s| if *s > 0.0 { l2 / (s * s) } else { 1.0 }).collect()
    }

    /// Weights and bias on the columns as they were given, from `beta`: standardised weights, then
    /// intercept.
    pub(crate) fn unstandardise(&self, beta: &[f64]) -> (Vec<f64>, f64) {
        let per_unit = |(b, s): (&f64, &f64)| if *s > 0.0 { b / s } else { 0.0 };
        let weights: Vec<f64> = beta.iter().zip(&self.spread).map(per_unit).collect();
        let shift: f64 = weights.iter().zip(&self.mean).map(|(w, m)| w * m).sum();
        (weights, beta[self.n_cols] - shift)
    }
}

/// Fails on the first value that is not finite.
pub(crate) fn check_finite(x: Rows<'_>, names: &[String]) -> Result<()> {
    match x.data().iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => {
            let (row, feature) = (at / x.n_cols(), names[at % x.n_cols()].clone());
            Err(Error::NotFinite { row, feature, value: x.data()[at] }.into())
        }
    }
}
