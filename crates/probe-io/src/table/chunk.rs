//! A decoded chunk of rows.

use super::plan::ColumnPlan;
use super::text::TextCells;
use super::typed::TypedCells;
use crate::error::{Error, Place, Result, excerpt};
use crate::number;
use crate::output::{Cell, Column, FieldKind};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The cells, in the form of their format.
#[derive(Debug)]
pub(crate) enum Cells {
    Csv(TextCells),
    Json(TextCells),
    Typed(TypedCells),
}

/// Rows of a table, with the plan that says which columns are wanted.
#[derive(Debug)]
pub struct Chunk {
    plan: Arc<ColumnPlan>,
    cells: Cells,
}

/// The value of an id column.
#[derive(Debug, Clone, PartialEq)]
pub enum Id<'c> {
    /// No value.
    Null,
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
    /// A text.
    Text(Cow<'c, str>),
    /// Any other JSON value.
    Json(Value),
}

impl Id<'_> {
    /// Whether there is no value: null, NaN, or the text of a missing number.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Float(value) => value.is_nan(),
            Self::Text(text) => number::is_missing(text.as_bytes()),
            Self::Integer(_) | Self::Json(_) => false,
        }
    }

    /// The value in JSON.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Integer(value) => (*value).into(),
            Self::Float(value) => (*value).into(),
            Self::Text(text) => text.as_ref().into(),
            Self::Json(value) => value.clone(),
        }
    }
}

impl Chunk {
    pub(crate) fn new(plan: Arc<ColumnPlan>, cells: Cells) -> Self {
        Self { plan, cells }
    }

    /// Which columns are wanted.
    pub fn plan(&self) -> &ColumnPlan {
        &self.plan
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match &self.cells {
            Cells::Csv(text) | Cells::Json(text) => text.n_rows(),
            Cells::Typed(cells) => cells.n_rows,
        }
    }

    /// 0-based row of the file at which the chunk starts.
    pub fn first_row(&self) -> u64 {
        match &self.cells {
            Cells::Csv(text) | Cells::Json(text) => text.first_row(),
            Cells::Typed(cells) => cells.first_row,
        }
    }

    /// The position of a row in the file.
    pub fn place(&self, row: usize) -> Place {
        match &self.cells {
            Cells::Csv(text) | Cells::Json(text) => text.place(row),
            Cells::Typed(cells) => Place { row: cells.first_row + row as u64, line: None },
        }
    }

    /// The features as numbers, row after row in the plan's order, replacing what `out` held; NaN
    /// where a value is missing and may be; categories as the columns of the plan's encoding. Fails
    /// on the first other cell, in row order, that is not a finite number or a category of its
    /// feature.
    pub fn numbers_into(&self, out: &mut Vec<f64>) -> Result<()> {
        self.features_into(out)?;
        let Some(encoding) = self.plan.encoding() else { return Ok(()) };
        let mut columns = vec![0.0; self.n_rows() * encoding.n_columns()];
        let rows = out
            .chunks_exact(self.plan.n_features())
            .zip(columns.chunks_exact_mut(encoding.n_columns()));
        rows.for_each(|(row, columns)| encoding.encode_into(row, columns));
        *out = columns;
        Ok(())
    }

    /// The features, a category as its number.
    pub fn features_into(&self, out: &mut Vec<f64>) -> Result<()> {
        let n_features = self.plan.n_features();
        out.clear();
        out.reserve(self.n_rows() * n_features);
        match &self.cells {
            Cells::Csv(text) => self.parse_into(text, number::parse, number::is_missing, out),
            Cells::Json(text) => self.parse_into(text, json_number, |cell| cell == b"null", out),
            Cells::Typed(cells) => {
                let refused = |(at, value): (usize, &f64)| {
                    !(value.is_finite()
                        || (value.is_nan() && self.plan.may_be_missing(at % n_features)))
                };
                match cells.numbers.iter().enumerate().position(refused) {
                    None => {
                        out.extend_from_slice(&cells.numbers);
                        Ok(())
                    }
                    Some(at) => {
                        let value = cells.numbers[at];
                        let text = match cells.unknown(at) {
                            Some(text) => {
                                return Err(self.no_category(
                                    at / n_features,
                                    at % n_features,
                                    text,
                                ));
                            }
                            None if cells.is_null(at) => "null".to_owned(),
                            None => value.to_string(),
                        };
                        Err(self.not_a_number(
                            at / n_features,
                            at % n_features,
                            text,
                            value.is_nan(),
                        ))
                    }
                }
            }
        }
    }

    fn parse_into(
        &self,
        text: &TextCells,
        parse: fn(&[u8]) -> Option<f64>,
        is_missing: fn(&[u8]) -> bool,
        out: &mut Vec<f64>,
    ) -> Result<()> {
        let data = text.data();
        for row in 0..text.n_rows() {
            let spans = text.row(row);
            for (j, &column) in self.plan.feature_columns().iter().enumerate() {
                let (start, end) = spans[column];
                let cell = &data[start as usize..end as usize];
                let categories = self.plan.categories(j);
                if !categories.is_empty() {
                    out.push(self.option(cell, categories).ok_or_else(|| {
                        self.no_category(row, j, String::from_utf8_lossy(cell).into_owned())
                    })?);
                    continue;
                }
                match parse(cell) {
                    Some(value) => out.push(value),
                    None if is_missing(cell) && self.plan.may_be_missing(j) => out.push(f64::NAN),
                    None => return Err(self.not_a_number(row, j, excerpt(cell), is_missing(cell))),
                }
            }
        }
        Ok(())
    }

    /// The number of the category that a cell of text holds.
    fn option(&self, cell: &[u8], categories: &[String]) -> Option<f64> {
        let text = match &self.cells {
            Cells::Json(_) => id_text(json_id(cell)?)?,
            _ => utf8(cell)?,
        };
        let text = text.trim_matches([' ', '\t']);
        categories.iter().position(|category| category == text).map(|option| option as f64)
    }

    fn no_category(&self, row: usize, feature: usize, value: String) -> Error {
        Error::UnknownCategory {
            file: self.plan.file().to_owned(),
            place: self.place(row),
            column: self.plan.feature(feature).to_owned(),
            value,
            known: self.plan.categories(feature).join(", "),
        }
    }

    fn not_a_number(&self, row: usize, feature: usize, value: String, missing: bool) -> Error {
        let (file, column) = (self.plan.file().to_owned(), self.plan.feature(feature).to_owned());
        let place = self.place(row);
        match self.plan.refuses_missing(feature).filter(|_| missing) {
            Some(why) => Error::MissingValue { file, place, column, value, why },
            None => Error::Value { file, place, column, value, wanted: "a finite number" },
        }
    }

    /// Whether cells came as texts, which what does not change keeps.
    pub fn has_texts(&self) -> bool {
        !matches!(self.cells, Cells::Typed(_))
    }

    /// The text of a category's cell, as it came.
    pub fn category_text(&self, row: usize, feature: usize) -> Option<Cow<'_, str>> {
        let column = self.plan.feature_columns()[feature];
        match &self.cells {
            Cells::Csv(text) => utf8(text.cell(row, column)),
            Cells::Json(text) => id_text(json_id(text.cell(row, column))?),
            Cells::Typed(_) => None,
        }
    }

    /// The text of a feature's cell, in formats that keep numbers as text.
    pub fn cell_text(&self, row: usize, feature: usize) -> Option<&[u8]> {
        let column = self.plan.feature_columns()[feature];
        match &self.cells {
            Cells::Csv(text) => Some(text.cell(row, column)),
            Cells::Json(text) => {
                Some(text.cell(row, column)).filter(|cell| number::parse(cell).is_some())
            }
            Cells::Typed(_) => None,
        }
    }

    /// An output cell for a feature that kept its `value`: the file's own text where there is one,
    /// so that what a person did not change comes back byte for byte.
    #[inline]
    pub fn unchanged(&self, row: usize, feature: usize, value: f64) -> Cell<'_> {
        match self.cell_text(row, feature) {
            Some(text) => Cell::verbatim(text, value),
            None => Cell::Number(value),
        }
    }

    /// The value of id column `k`.
    pub fn id(&self, row: usize, k: usize) -> Result<Id<'_>> {
        let column = self.plan.id_columns()[k];
        match &self.cells {
            Cells::Csv(text) => utf8(text.cell(row, column)).map(Id::Text),
            Cells::Json(text) => json_id(text.cell(row, column)),
            Cells::Typed(cells) => cells.id(row, k),
        }
        .ok_or_else(|| Error::Value {
            file: self.plan.file().to_owned(),
            place: self.place(row),
            column: self.plan.id(k).to_owned(),
            value: match &self.cells {
                Cells::Csv(text) | Cells::Json(text) => excerpt(text.cell(row, column)),
                Cells::Typed(_) => "bytes".to_owned(),
            },
            wanted: "UTF-8 text",
        })
    }

    /// Id column `k` as an output column, once for each of `rows`: repeats and gaps are allowed.
    pub fn id_column(&self, k: usize, rows: impl Iterator<Item = usize>) -> Result<Column<'_>> {
        let ids = rows.map(|row| self.id(row, k)).collect::<Result<Vec<_>>>()?;
        Ok(match self.plan.id_kind(k) {
            FieldKind::Integer => Column::Integers(
                ids.into_iter()
                    .map(|id| if let Id::Integer(value) = id { Some(value) } else { None })
                    .collect(),
            ),
            FieldKind::Float => {
                Column::Floats(
                    ids.into_iter()
                        .map(|id| {
                            if let Id::Float(value) = id {
                                Cell::Number(value)
                            } else {
                                Cell::Empty
                            }
                        })
                        .collect(),
                )
            }
            FieldKind::Text | FieldKind::Boolean => {
                Column::Texts(ids.into_iter().map(id_text).collect())
            }
        })
    }
}

fn id_text(id: Id<'_>) -> Option<Cow<'_, str>> {
    match id {
        Id::Null => None,
        Id::Text(text) => Some(text),
        other => Some(other.to_json().to_string().into()),
    }
}

fn utf8(bytes: &[u8]) -> Option<Cow<'_, str>> {
    std::str::from_utf8(bytes).ok().map(Cow::Borrowed)
}

/// JSON has booleans as well as numbers; texts that look like numbers stay texts.
fn json_number(text: &[u8]) -> Option<f64> {
    match text {
        b"true" => Some(1.0),
        b"false" => Some(0.0),
        _ => number::parse(text),
    }
}

fn json_id(text: &[u8]) -> Option<Id<'_>> {
    match text {
        b"null" => Some(Id::Null),
        [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => {
            utf8(inner).map(Id::Text)
        }
        _ => match serde_json::from_slice(text).ok()? {
            Value::String(text) => Some(Id::Text(text.into())),
            value => Some(value.as_i64().map_or(Id::Json(value), Id::Integer)),
        },
    }
}
