//! How people miss the advice they were given.

mod gaussian;

pub use gaussian::{Covariance, Gaussian};

use crate::rows::RowsMut;
use crate::schema::Actions;
use crate::seed::Stream;
use serde::{Deserialize, Serialize};

/// A distribution of implementation errors $\varepsilon$ in scaled space.
pub trait Noise: Send + Sync {
    /// The family's name.
    fn name(&self) -> &'static str;

    /// Number of features.
    fn dim(&self) -> usize;

    /// Fills each row of `out` with one draw of $\varepsilon$ over all features; see [`NoiseOn`] for which of them act.
    fn sample_into(&self, stream: &mut Stream, out: RowsMut<'_>);

    /// Mean and covariance, where the noise is Gaussian: then linear models have exact rates.
    fn as_gaussian(&self) -> Option<&Gaussian> {
        None
    }
}

/// Which features the noise acts on; the others are carried out exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoiseOn {
    /// Every column, as in the paper.
    #[default]
    All,
    /// Mutable numeric features.
    Mutable,
    /// Numeric features whose value differs from the person's.
    Changed,
}

impl NoiseOn {
    /// Writes which features are noisy when a person at `from` aims at `to`.
    pub fn active_into(self, actions: &Actions, from: &[f64], to: &[f64], active: &mut [bool]) {
        match self {
            Self::All => active.fill(true),
            Self::Mutable => {
                for (j, flag) in active.iter_mut().enumerate() {
                    *flag = actions.is_mutable_numeric(j);
                }
            }
            Self::Changed => {
                for (j, flag) in active.iter_mut().enumerate() {
                    // Any difference in the printed value counts as a change, however small.
                    *flag = from[j] != to[j] && !actions.is_grouped(j);
                }
            }
        }
    }
}
