//! Models of other libraries: read exactly, or refused with what stands in the way. A new format is
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

/// A model as another library saved it.
pub(crate) struct Imported {
    /// Model-input columns, in order.
    pub features: Vec<String>,
    /// Its margin; favourable is class 1.
    pub model: Arc<dyn Model>,
    /// What the file knows of raw features, where it encodes them itself: categories and their
    /// columns. Without it, columns are numbers.
    pub schema: Option<Schema>,
    /// What it is, for people: version, objective and size, to stand after the format's name.
    pub about: String,
}

/// One format: its name, how it is told, and how it is read.
pub(crate) struct Format {
    /// As messages name it.
    pub name: &'static str,
    /// Whether the first bytes look like it.
    pub is: fn(&[u8]) -> bool,
    /// Reads the whole file; `origin` names it in errors.
    pub read: fn(bytes: &[u8], origin: &str) -> Result<Imported>,
}

/// Every format there is.
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
