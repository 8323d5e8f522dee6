//! Any function of rows as a model.

use super::Model;
use crate::error::{Error, Result};
use crate::rows::Rows;
use std::sync::Arc;

/// A function that scores rows.
type Score = dyn Fn(Rows<'_>, &mut [f64]) -> Result<()> + Send + Sync;

/// A model that is a function of rows. Searches and certificates call it for several hundred
/// thousand noisy rows per person, many rows at a time.
///
/// ```
/// use probe_core::{BlackBox, Model, Rows};
/// let model = BlackBox::new(2, |rows: Rows<'_>, scores: &mut [f64]| {
///     rows.iter().zip(scores).for_each(|(x, score)| *score = x[0] * x[1] - 1.0);
///     Ok(())
/// })?;
/// assert_eq!(model.score(&[2.0, 3.0])?, 5.0);
/// # Ok::<(), probe_core::Error>(())
/// ```
#[derive(Clone)]
pub struct BlackBox {
    n_features: usize,
    score: Arc<Score>,
    negate: bool,
    threshold: f64,
}

impl BlackBox {
    /// A model of `n_features` columns. `score` writes one number per row; positive numbers are
    /// favourable. It must give the same number for the same row in every batch. Fails without
    /// features.
    pub fn new(
        n_features: usize,
        score: impl Fn(Rows<'_>, &mut [f64]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Self> {
        if n_features == 0 {
            return Err(Error::Shape {
                what: "features of a model (at least)",
                expected: 1,
                found: 0,
            });
        }
        Ok(Self { n_features, score: Arc::new(score), negate: false, threshold: 0.0 })
    }

    /// The same function with another decision: its numbers negated if `negate`, and another
    /// cut-off on them.
    pub fn with_decision(&self, negate: bool, threshold: Option<f64>) -> Self {
        // The old cut-off is on the scale of the numbers before negation.
        let own = if negate { -self.threshold } else { self.threshold };
        Self { negate: self.negate != negate, threshold: threshold.unwrap_or(own), ..self.clone() }
    }
}

impl Model for BlackBox {
    fn name(&self) -> &'static str {
        "black-box"
    }

    fn n_features(&self) -> usize {
        self.n_features
    }

    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()> {
        if x.n_cols() != self.n_features {
            let (expected, found) = (self.n_features, x.n_cols());
            return Err(Error::Shape { what: "columns of the input", expected, found });
        }
        if out.len() != x.n_rows() {
            return Err(Error::Shape { what: "scores", expected: x.n_rows(), found: out.len() });
        }
        (self.score)(x, out)?;
        if self.negate {
            out.iter_mut().for_each(|score| *score = -*score);
        }
        if self.threshold != 0.0 {
            out.iter_mut().for_each(|score| *score -= self.threshold);
        }
        Ok(())
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn as_black_box(&self) -> Option<&BlackBox> {
        Some(self)
    }
}
