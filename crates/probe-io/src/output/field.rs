//! The declared columns of an output.

use crate::error::{Error, Result};

/// What an output column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// 64-bit integers.
    Integer,
    /// 64-bit floats.
    Float,
    /// UTF-8 texts.
    Text,
    /// `true` or `false`.
    Boolean,
}

/// A declared output column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    name: String,
    kind: FieldKind,
    optional: bool,
}

impl Field {
    /// A column without gaps.
    pub fn new(name: &str, kind: FieldKind) -> Self {
        Self { name: name.to_owned(), kind, optional: false }
    }

    /// An integer column.
    pub fn integer(name: &str) -> Self {
        Self::new(name, FieldKind::Integer)
    }

    /// A float column.
    pub fn float(name: &str) -> Self {
        Self::new(name, FieldKind::Float)
    }

    /// A text column.
    pub fn text(name: &str) -> Self {
        Self::new(name, FieldKind::Text)
    }

    /// A column of truth values, which has no gaps.
    pub fn boolean(name: &str) -> Self {
        Self::new(name, FieldKind::Boolean)
    }

    /// The same column with gaps allowed: empty in CSV, null elsewhere.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Column name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its content.
    pub fn kind(&self) -> FieldKind {
        self.kind
    }

    /// Whether gaps are allowed.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    pub(crate) fn error(&self, what: impl Into<String>) -> Error {
        Error::Output { column: self.name.clone(), what: what.into() }
    }
}

/// Fails on a name that occurs twice.
pub fn check_distinct(fields: &[Field]) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    match fields.iter().find(|field| !seen.insert(field.name())) {
        Some(field) => Err(field.error("the output would have two columns of this name")),
        None => Ok(()),
    }
}
