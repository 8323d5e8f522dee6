//! The one error type of the engine. Every variant names the field and the value that was wrong.

use thiserror::Error as ThisError;

/// Result with the engine's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An ill-posed request. A person without an answer is not an error: see `Status`.
#[derive(Debug, Clone, PartialEq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A parameter breaks its rule.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// Two lengths that must agree do not.
    #[error("{what}: expected {expected}, found {found}")]
    Shape {
        /// What was counted.
        what: &'static str,
        /// The length that was needed.
        expected: usize,
        /// The length that was given.
        found: usize,
    },
    /// A person's value is not a finite number.
    #[error("row {row}, feature '{feature}': {value} is not a finite number")]
    NotFinite {
        /// 0-based row within the batch.
        row: usize,
        /// Feature name.
        feature: String,
        /// The offending value.
        value: f64,
    },
    /// A person's value is missing, and the model does not accept that.
    #[error("row {row}, feature '{feature}': a missing value is refused: {why}")]
    Missing {
        /// 0-based row within the batch.
        row: usize,
        /// Feature name.
        feature: String,
        /// Why the model does not accept it.
        why: &'static str,
    },
    /// A combination without a solver. It is rejected, not approximated.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The combination by name.
        what: String,
        /// Why, and what to do instead.
        why: String,
    },
    /// The caller has set the flag that ends the work ([`crate::Session::end_on`]).
    #[error("cancelled")]
    Cancelled,
    /// A name that is in no registry.
    #[error("unknown {kind} '{name}' (known: {known})")]
    UnknownName {
        /// The kind of entry that was looked up.
        kind: &'static str,
        /// The name that was given.
        name: String,
        /// All known names.
        known: String,
    },
}

/// A parameter outside its domain.
#[derive(Debug, Clone, PartialEq, ThisError)]
#[error("{field} must be {rule}, got {value}")]
pub struct ParamError {
    /// Parameter name, as the user knows it.
    pub field: String,
    /// The rule it must satisfy.
    pub rule: &'static str,
    /// The value given.
    pub value: f64,
}

/// Fails unless `holds`. Write the condition that must hold, so that NaN fails it.
pub fn require(holds: bool, field: &str, rule: &'static str, value: f64) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError { field: field.to_owned(), rule, value }) }
}
