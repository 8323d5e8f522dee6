//! Any score: a function of rows, of which nothing else is known.

use super::Model;
use crate::error::{Error, Result};
use crate::rows::Rows;
use std::sync::Arc;

/// What scores rows.
type Score = dyn Fn(Rows<'_>, &mut [f64]) -> Result<()> + Send + Sync;

/// A model that is a function of rows. It is asked for every noisy row of a search and of a
/// certificate, some hundred thousand for each person, so that it should take many rows at once.
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
    /// A model of `n_features` columns whose `score` writes one number a row, favourable above
    /// zero. It must give the same number for the same row, however rows are put together. Fails
    /// without features.
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

    /// The same function with another decision: `negate` its numbers, and another cut-off on them.
    pub fn with_decision(&self, negate: bool, threshold: Option<f64>) -> Self {
        // What is cut off was on the scale of the numbers as they were.
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
