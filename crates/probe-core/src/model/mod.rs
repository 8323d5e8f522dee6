//! Score models. Favourable means a score above zero; a tie is unfavourable, always.

mod black_box;
pub mod grow;
mod linear;
mod mlp;
mod shift;
mod trees;

pub use black_box::BlackBox;
pub use linear::Linear;
pub use mlp::{Activation, Dense, LEAKY_SLOPE, Layer, Mlp};
pub use shift::ModelShift;
pub(crate) use trees::Node;
pub use trees::{Aggregate, Split, Tree, TreeRules, Trees};

use crate::error::Result;
use crate::rows::Rows;

/// A score $s(x)$ on the margin (log-odds) scale: favourable iff $s(x) > 0$.
///
/// A model with another cut-off shifts its score by [`Model::threshold`].
pub trait Model: Send + Sync {
    /// The kind's name, as in the model file.
    fn name(&self) -> &'static str;

    /// Number of model-input columns.
    fn n_features(&self) -> usize;

    /// Scores each row of `x` into `out`.
    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()>;

    /// The cut-off that was subtracted from the margin: margin = score + threshold.
    fn threshold(&self) -> f64 {
        0.0
    }

    /// The margin at which the favourable class has this `probability`: the log-odds, unless the
    /// margin has another scale.
    fn margin_at(&self, probability: f64) -> f64 {
        log_odds(probability)
    }

    /// The score of one row.
    fn score(&self, x: &[f64]) -> Result<f64> {
        let mut out = [0.0];
        self.score_batch(Rows::single(x), &mut out)?;
        Ok(out[0])
    }

    /// Why a missing value (NaN) of `feature` is rejected; `None` if the model accepts it.
    fn refuses_missing(&self, feature: usize) -> Option<&'static str> {
        let _ = feature;
        Some("only models of kind trees, with default directions, take missing values")
    }

    /// Gradients, if the model has them.
    fn as_differentiable(&self) -> Option<&dyn Differentiable> {
        None
    }

    /// The weights, if the score is affine in the input.
    fn as_linear(&self) -> Option<&Linear> {
        None
    }

    /// The layers, if the model is a fully connected network.
    fn as_mlp(&self) -> Option<&Mlp> {
        None
    }

    /// The trees, if the model consists of trees.
    fn as_trees(&self) -> Option<&Trees> {
        None
    }

    /// The function, if the model is only known as a function of rows.
    fn as_black_box(&self) -> Option<&BlackBox> {
        None
    }
}

fn log_odds(probability: f64) -> f64 {
    (probability / (1.0 - probability)).ln()
}

/// A model with gradients.
pub trait Differentiable: Model {
    /// Returns $s(x)$ and writes $\nabla s(x)$.
    fn score_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64>;

    /// `out` = $\nabla^2 s(x)\,v$. Zero for linear scores.
    fn hessian_vector(&self, x: &[f64], v: &[f64], out: &mut [f64]) -> Result<()>;
}
