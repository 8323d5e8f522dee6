//! A batch of output rows.

use super::field::{Field, FieldKind};
use super::json;
use crate::error::{Error, Result};
use serde_json::Value;
use std::borrow::Cow;

/// A float, or the input's own text for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'c> {
    /// No value.
    Empty,
    /// A number, written as the shortest text that reads back to it. NaN and infinities are written
    /// as no value.
    Number(f64),
    /// A whole number, written as one.
    Whole(i64),
    /// A number that keeps its original text, which may be a missing value; see
    /// [`crate::Chunk::unchanged`].
    Verbatim(Verbatim<'c>),
}

/// A number and its text in the input.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Verbatim<'c> {
    pub(super) text: &'c [u8],
    pub(super) value: f64,
}

impl<'c> Cell<'c> {
    /// `text` must be a number's, or that of a missing one: it is written without quoting.
    #[inline]
    pub(crate) fn verbatim(text: &'c [u8], value: f64) -> Self {
        Self::Verbatim(Verbatim { text, value })
    }

    /// The number, where there is a finite one.
    pub fn value(&self) -> Option<f64> {
        match self {
            Self::Empty => None,
            Self::Whole(value) => Some(*value as f64),
            Self::Number(value) | Self::Verbatim(Verbatim { value, .. }) => {
                Some(*value).filter(|value| value.is_finite())
            }
        }
    }
}

impl From<f64> for Cell<'_> {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Empty, Self::Number)
    }
}

/// The cells of one output column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column<'c> {
    /// Integers.
    Integers(Vec<Option<i64>>),
    /// Floats.
    Floats(Vec<Cell<'c>>),
    /// Plain floats; values that are not finite are gaps. Fast, for columns with millions of rows.
    Numbers(Vec<f64>),
    /// Texts.
    Texts(Vec<Option<Cow<'c, str>>>),
    /// Truth values.
    Booleans(Vec<bool>),
}

impl<'c> Column<'c> {
    /// Integers, each an `i64` or an `Option<i64>`.
    pub fn integers(values: impl IntoIterator<Item = impl Into<Option<i64>>>) -> Self {
        Self::Integers(values.into_iter().map(Into::into).collect())
    }

    /// Floats, each an `f64`, an `Option<f64>` or a [`Cell`].
    pub fn floats(values: impl IntoIterator<Item = impl Into<Cell<'c>>>) -> Self {
        Self::Floats(values.into_iter().map(Into::into).collect())
    }

    /// Plain floats, with gaps.
    pub fn numbers(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        Self::Numbers(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
    }

    /// Texts without gaps.
    pub fn texts(values: impl IntoIterator<Item = impl Into<Cow<'c, str>>>) -> Self {
        Self::Texts(values.into_iter().map(|text| Some(text.into())).collect())
    }

    /// Texts with gaps.
    pub fn optional_texts<T: Into<Cow<'c, str>>>(
        values: impl IntoIterator<Item = Option<T>>,
    ) -> Self {
        Self::Texts(values.into_iter().map(|text| text.map(Into::into)).collect())
    }

    /// Truth values.
    pub fn booleans(values: impl IntoIterator<Item = bool>) -> Self {
        Self::Booleans(values.into_iter().collect())
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(cells) => cells.len(),
            Self::Floats(cells) => cells.len(),
            Self::Numbers(values) => values.len(),
            Self::Texts(cells) => cells.len(),
            Self::Booleans(values) => values.len(),
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn kind(&self) -> FieldKind {
        match self {
            Self::Integers(_) => FieldKind::Integer,
            Self::Floats(_) | Self::Numbers(_) => FieldKind::Float,
            Self::Texts(_) => FieldKind::Text,
            Self::Booleans(_) => FieldKind::Boolean,
        }
    }

    fn has_gap(&self) -> bool {
        match self {
            Self::Integers(cells) => cells.iter().any(Option::is_none),
            Self::Floats(cells) => cells.iter().any(|cell| cell.value().is_none()),
            Self::Numbers(values) => values.iter().any(|value| !value.is_finite()),
            Self::Texts(cells) => cells.iter().any(Option::is_none),
            Self::Booleans(_) => false,
        }
    }

    /// One cell in JSON.
    pub(super) fn json(&self, row: usize) -> Value {
        match self {
            Self::Integers(cells) => cells[row].into(),
            Self::Floats(cells) => cells[row].value().into(),
            Self::Numbers(values) => Some(values[row]).filter(|value| value.is_finite()).into(),
            Self::Texts(cells) => cells[row].as_deref().into(),
            Self::Booleans(values) => values[row].into(),
        }
    }
}

/// Output rows that belong to one input chunk: any number of them.
#[derive(Debug, Clone, PartialEq)]
pub enum Batch<'c> {
    /// One column per declared field, all of the same length.
    Columns(Vec<Column<'c>>),
    /// One JSON value per row, for the JSON formats when rows are nested.
    Objects(Vec<Value>),
    /// The same, already written as text, without a tree of values.
    Json(JsonRows),
    /// One text per row, for [`TableWriter::create_prose`](super::TableWriter::create_prose).
    Prose(Vec<String>),
}

impl Batch<'_> {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Columns(columns) => columns.first().map_or(0, Column::len),
            Self::Objects(objects) => objects.len(),
            Self::Json(rows) => rows.ends.len(),
            Self::Prose(texts) => texts.len(),
        }
    }
}

/// Rows as JSON texts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonRows {
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    /// What closes each row.
    last: Vec<u8>,
}

impl JsonRows {
    /// No rows yet. `meta` becomes the last field of each row, written once and copied.
    pub fn new(meta: Option<&Value>) -> Result<Self> {
        let mut last = Vec::new();
        if let Some(meta) = meta {
            last.extend_from_slice(b"\"meta\":");
            json::append(&mut last, meta)?;
        }
        last.push(b'}');
        Ok(Self { bytes: Vec::new(), ends: Vec::new(), last })
    }

    /// Appends a row. Fails unless it is written as an object.
    pub fn push<T: serde::Serialize + ?Sized>(&mut self, row: &T) -> Result<()> {
        let start = self.bytes.len();
        json::append(&mut self.bytes, row)?;
        if self.bytes.get(start) != Some(&b'{') || self.bytes.pop() != Some(b'}') {
            return Err(Error::Output {
                column: "all".to_owned(),
                what: "a row is not an object".to_owned(),
            });
        }
        if self.last.len() > 1 && self.bytes.len() > start + 1 {
            self.bytes.push(b',');
        }
        self.bytes.extend_from_slice(&self.last);
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// The rows, each a JSON text.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|row| self.row(row))
    }

    pub(super) fn n_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// One row's text.
    pub(super) fn row(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }
}

/// Fails unless the columns are what `fields` declare.
pub fn check_columns(columns: &[Column<'_>], fields: &[Field]) -> Result<usize> {
    if columns.len() != fields.len() {
        let what =
            format!("the batch has {} columns, {} are declared", columns.len(), fields.len());
        return Err(Error::Output {
            column: fields.first().map_or("", Field::name).to_owned(),
            what,
        });
    }
    let n_rows = columns.first().map_or(0, Column::len);
    for (column, field) in columns.iter().zip(fields) {
        if column.len() != n_rows {
            return Err(field.error(format!("{} cells in a batch of {n_rows} rows", column.len())));
        }
        if column.kind() != field.kind() {
            return Err(field.error(format!(
                "{:?} cells in a {:?} column",
                column.kind(),
                field.kind()
            )));
        }
        if !field.is_optional() && column.has_gap() {
            return Err(field.error("a cell without a value in a column without gaps"));
        }
    }
    Ok(n_rows)
}
