//! What can be wrong with training data. Everything else is the engine's own [`probe_core::Error`].

use probe_core::ParamError;
use thiserror::Error as ThisError;

/// Result with training's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Data that no model can be fitted to or judged on.
#[derive(Debug, Clone, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to learn from.
    #[error("no rows to {what}")]
    NoRows {
        /// What was to be done with them.
        what: &'static str,
    },
    /// A binary classifier needs rows of both classes.
    #[error("the target has one class only: all {n_rows} rows are {class}")]
    OneClass {
        /// Number of rows.
        n_rows: usize,
        /// The only class in the data.
        class: &'static str,
    },
    /// A score that cannot be compared.
    #[error("score of row {row}: {value} is not a number")]
    Score {
        /// 0-based row.
        row: usize,
        /// The score.
        value: f64,
    },
    /// Steps that were too long.
    #[error("the training ran off to infinity in epoch {epoch}; a smaller learning rate helps")]
    Diverged {
        /// 1-based; of boosting, the tree.
        epoch: usize,
    },
    /// Wrong shapes, parameters, names or values.
    #[error(transparent)]
    Core(#[from] probe_core::Error),
}

impl From<ParamError> for Error {
    fn from(error: ParamError) -> Self {
        Self::Core(error.into())
    }
}

/// Fails unless `found` is `expected`.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if found == expected {
        Ok(())
    } else {
        Err(probe_core::Error::Shape { what, expected, found }.into())
    }
}

/// Fails without rows and unless both classes occur; returns the number of favourable rows.
pub(crate) fn both_classes(favourable: &[bool], what: &'static str) -> Result<usize> {
    let (n_rows, n_yes) = (favourable.len(), favourable.iter().filter(|&&yes| yes).count());
    match n_yes {
        _ if n_rows == 0 => Err(Error::NoRows { what }),
        0 => Err(Error::OneClass { n_rows, class: "unfavourable" }),
        n if n == n_rows => Err(Error::OneClass { n_rows, class: "favourable" }),
        n => Ok(n),
    }
}
