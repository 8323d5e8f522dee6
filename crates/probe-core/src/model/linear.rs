//! Affine scores $s(x) = w^\top x + b - \xi$: logistic regression, linear SVMs, scorecards.

use super::{Differentiable, Model};
use crate::error::{Error, Result, require};
use crate::math::dot;
use crate::rows::Rows;
use crate::schema::Space;

/// $s(x) = w^\top x + b - \xi$ with cut-off $\xi$.
///
/// ```
/// use probe_core::{Linear, Model};
/// let model = Linear::new(vec![1.0, -2.0], 0.5, 0.0)?;
/// assert_eq!(model.score(&[1.0, 0.25])?, 1.0);
/// # Ok::<(), probe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Linear {
    weights: Vec<f64>,
    bias: f64,
    threshold: f64,
}

impl Linear {
    /// Fails unless every number is finite and there is at least one weight.
    pub fn new(weights: Vec<f64>, bias: f64, threshold: f64) -> Result<Self> {
        if weights.is_empty() {
            return Err(Error::Shape { what: "weights of a linear model", expected: 1, found: 0 });
        }
        for (j, weight) in weights.iter().enumerate() {
            require(weight.is_finite(), &format!("weight {j}"), "finite", *weight)?;
        }
        require(bias.is_finite(), "bias", "finite", bias)?;
        require(threshold.is_finite(), "threshold", "finite", threshold)?;
        Ok(Self { weights, bias, threshold })
    }

    /// $w$.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// $b$.
    pub fn bias(&self) -> f64 {
        self.bias
    }

    /// The model with another decision: `negate` if its class 0 is the favourable
    /// one, and another cut-off. A tie stays unfavourable. Fails unless the cut-off is finite.
    pub fn with_decision(&self, negate: bool, threshold: Option<f64>) -> Result<Self> {
        let sign = if negate { -1.0 } else { 1.0 };
        let weights = self.weights.iter().map(|w| sign * w).collect();
        Self::new(weights, sign * self.bias, threshold.unwrap_or(sign * self.threshold))
    }

    /// The same score as a function of scaled inputs, for a model that takes raw ones: $x_j = o_j +
    /// d_j y_j$.
    pub fn rescaled(&self, space: &Space) -> Self {
        let weights = self.weights.iter().enumerate().map(|(j, w)| w * space.width(j)).collect();
        let offset: f64 = self.weights.iter().enumerate().map(|(j, w)| w * space.offset(j)).sum();
        Self { weights, bias: self.bias + offset, threshold: self.threshold }
    }

    /// $s(x)$ for one row of the right length.
    pub(crate) fn score_row(&self, x: &[f64]) -> f64 {
        dot(&self.weights, x) + (self.bias - self.threshold)
    }

    fn check(&self, what: &'static str, found: usize) -> Result<()> {
        let expected = self.weights.len();
        if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    }
}

impl Model for Linear {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn n_features(&self) -> usize {
        self.weights.len()
    }

    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()> {
        self.check("columns of the input", x.n_cols())?;
        if out.len() != x.n_rows() {
            return Err(Error::Shape { what: "scores", expected: x.n_rows(), found: out.len() });
        }
        for (row, score) in x.iter().zip(out) {
            *score = self.score_row(row);
        }
        Ok(())
    }

    fn score(&self, x: &[f64]) -> Result<f64> {
        self.check("columns of the input", x.len())?;
        Ok(self.score_row(x))
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn as_differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn as_linear(&self) -> Option<&Linear> {
        Some(self)
    }
}

impl Differentiable for Linear {
    fn score_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.check("columns of the input", x.len())?;
        self.check("gradient entries", gradient.len())?;
        gradient.copy_from_slice(&self.weights);
        Ok(self.score_row(x))
    }

    fn hessian_vector(&self, _x: &[f64], _v: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(0.0);
        Ok(())
    }
}
