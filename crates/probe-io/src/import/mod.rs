//! Models of other libraries: imported exactly, or rejected with the reason. A new format is
//! one file here and one line in [`FORMATS`].

mod columns;
mod grown;
mod lightgbm;
mod onnx;
mod order;
mod pipeline;
mod ubjson;
mod xgboost;

use crate::error::Result;
use probe_core::{Model, Schema};
use std::sync::Arc;

/// A model of another library.
pub(crate) struct Imported {
    /// Model-input columns, in order.
    pub features: Vec<String>,
    /// Its margin; favourable is class 1.
    pub model: Arc<dyn Model>,
    /// Raw features, if the file encodes them itself: categories and their
    /// columns. Without it, columns are numbers.
    pub schema: Option<Schema>,
    /// Description: version, objective and size, printed after the format's name.
    pub about: String,
}

/// One format: its name, how to detect it, and how to read it.
pub(crate) struct Format {
    /// Its name in messages.
    pub name: &'static str,
    /// Whether the first bytes look like it.
    pub is: fn(&[u8]) -> bool,
    /// Reads the whole file; `origin` names it in errors.
    pub read: fn(bytes: &[u8], origin: &str) -> Result<Imported>,
}

/// All formats.
pub(crate) const FORMATS: &[Format] = &[
    xgboost::JSON,
    xgboost::UBJSON,
    xgboost::BINARY,
    lightgbm::TEXT,
    onnx::FORMAT,
    pipeline::FORMAT,
];

/// The format of a file that starts with these bytes, if it is one of another library.
pub(crate) fn format_of(head: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.is)(head))
}
