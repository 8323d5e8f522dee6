//! Answers as NumPy columns. They are allocated in full length, and each worker writes its own
//! rows. pandas uses them without a copy.

use anyhow::{Context as _, Result, bail};
use numpy::{PyArray1, PyArrayMethods as _, PyReadwriteArray1};
use probe_io::{Batch, Column, Field, FieldKind, check_columns, check_distinct};
use pyo3::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A column for Python: its name, its values and, for a column of texts, the distinct texts that
/// the values are indices of.
pub(crate) type Whole<'py> = (String, Bound<'py, PyAny>, Option<Vec<Option<String>>>);

/// The columns of a table of known length. Floats and whole numbers with gaps have NaN for them.
pub(crate) struct Sheet<'py> {
    fields: Vec<Field>,
    arrays: Vec<Array<'py>>,
}

/// The memory of a column, not yet written.
enum Array<'py> {
    Integers(PyReadwriteArray1<'py, i64>),
    Floats(PyReadwriteArray1<'py, f64>),
    Booleans(PyReadwriteArray1<'py, bool>),
}

/// Rows of a column that are one worker's.
enum Part<'a> {
    Integers(&'a mut [i64]),
    Floats(&'a mut [f64]),
    Booleans(&'a mut [bool]),
}

/// A table that workers write to, each its own rows.
pub(crate) struct Parts<'a> {
    fields: &'a [Field],
    /// Parts that no worker has taken yet, by their first row.
    free: Mutex<BTreeMap<usize, Vec<Part<'a>>>>,
    /// For each column of texts, the distinct texts with their indices.
    texts: Vec<Mutex<Texts>>,
}

type Texts = BTreeMap<Option<String>, i64>;

/// Number of texts that are remembered per part, and searched before the shared table.
const FEW: usize = 8;

impl<'py> Sheet<'py> {
    pub(crate) fn new(py: Python<'py>, fields: Vec<Field>, n_rows: usize) -> Result<Self> {
        check_distinct(&fields)?;
        let array = |field: &Field| match (field.kind(), field.is_optional()) {
            (FieldKind::Float, _) | (FieldKind::Integer, true) => {
                Array::Floats(PyArray1::zeros(py, n_rows, false).readwrite())
            }
            (FieldKind::Boolean, _) => {
                Array::Booleans(PyArray1::zeros(py, n_rows, false).readwrite())
            }
            _ => Array::Integers(PyArray1::zeros(py, n_rows, false).readwrite()),
        };
        Ok(Self { arrays: fields.iter().map(array).collect(), fields })
    }

    /// The table for workers, all of it free.
    pub(crate) fn parts(&mut self) -> Result<Parts<'_>> {
        let whole = self.arrays.iter_mut().map(|array| {
            Ok(match array {
                Array::Integers(values) => Part::Integers(values.as_slice_mut()?),
                Array::Floats(values) => Part::Floats(values.as_slice_mut()?),
                Array::Booleans(values) => Part::Booleans(values.as_slice_mut()?),
            })
        });
        let free = Mutex::new(BTreeMap::from([(0, whole.collect::<Result<_>>()?)]));
        Ok(Parts {
            fields: &self.fields,
            free,
            texts: self.fields.iter().map(|_| Mutex::default()).collect(),
        })
    }

    /// The columns; `texts` are the distinct texts that workers found.
    pub(crate) fn into_columns(
        self,
        texts: Vec<Option<Vec<Option<String>>>>,
    ) -> PyResult<Vec<Whole<'py>>> {
        let columns =
            self.fields.iter().zip(self.arrays).zip(texts).map(|((field, array), texts)| {
                let values = match array {
                    Array::Integers(values) => values.as_any().clone(),
                    // Whole numbers stay whole if none is missing.
                    Array::Floats(values)
                        if field.kind() == FieldKind::Integer
                            && !values.as_array().iter().any(|v| v.is_nan()) =>
                    {
                        values.cast_array::<i64>(false)?.into_any()
                    }
                    Array::Floats(values) => values.as_any().clone(),
                    Array::Booleans(values) => values.as_any().clone(),
                };
                Ok((field.name().to_owned(), values, texts))
            });
        columns.collect()
    }
}

impl<'a> Parts<'a> {
    /// Writes rows from `first` on; no other thread writes them.
    pub(crate) fn put(&self, first: usize, batch: Batch<'_>) -> Result<()> {
        let Batch::Columns(columns) = batch else { bail!("rows that are no columns") };
        let n_rows = check_columns(&columns, self.fields)?;
        let part =
            self.take(first, n_rows).context("rows that are not there, or not there any more")?;
        for ((part, column), texts) in part.into_iter().zip(&columns).zip(&self.texts) {
            match (part, column) {
                (Part::Floats(out), Column::Numbers(values)) => {
                    fill(
                        out,
                        values
                            .iter()
                            .map(|value| if value.is_finite() { *value } else { f64::NAN }),
                    );
                }
                (Part::Floats(out), Column::Floats(cells)) => {
                    fill(out, cells.iter().map(|cell| cell.value().unwrap_or(f64::NAN)));
                }
                (Part::Floats(out), Column::Integers(cells)) => {
                    fill(out, cells.iter().map(|cell| cell.map_or(f64::NAN, |value| value as f64)));
                }
                // Checked: there are no gaps.
                (Part::Integers(out), Column::Integers(cells)) => {
                    fill(out, cells.iter().map(|cell| cell.unwrap_or_default()));
                }
                (Part::Integers(out), Column::Texts(cells)) => number(out, cells, texts)?,
                (Part::Booleans(out), Column::Booleans(values)) => out.copy_from_slice(values),
                _ => bail!("a column of another kind than its field"),
            }
        }
        Ok(())
    }

    /// For each column of texts, the distinct texts in the order of their indices.
    pub(crate) fn into_texts(self) -> Vec<Option<Vec<Option<String>>>> {
        let found = |(texts, field): (Mutex<Texts>, &Field)| {
            let texts = texts.into_inner().unwrap_or_default();
            let mut by_number: Vec<(i64, Option<String>)> =
                texts.into_iter().map(|(text, number)| (number, text)).collect();
            by_number.sort_unstable_by_key(|(number, _)| *number);
            (field.kind() == FieldKind::Text)
                .then(|| by_number.into_iter().map(|(_, text)| text).collect())
        };
        self.texts.into_iter().zip(self.fields).map(found).collect()
    }

    /// Takes free rows.
    fn take(&self, first: usize, n_rows: usize) -> Option<Vec<Part<'a>>> {
        if n_rows == 0 {
            return Some(Vec::new());
        }
        let mut free = self.free.lock().ok()?;
        let start = *free.range(..=first).next_back()?.0;
        let (before, rest) = split(free.remove(&start)?, first - start)?;
        let (part, after) = split(rest, n_rows)?;
        free.insert(start, before);
        free.insert(first + n_rows, after);
        Some(part)
    }
}

/// The first `n` rows and the others.
fn split(parts: Vec<Part<'_>>, n: usize) -> Option<(Vec<Part<'_>>, Vec<Part<'_>>)> {
    let halves = parts.into_iter().map(|part| {
        Some(match part {
            Part::Integers(values) => {
                let (a, b) = values.split_at_mut_checked(n)?;
                (Part::Integers(a), Part::Integers(b))
            }
            Part::Floats(values) => {
                let (a, b) = values.split_at_mut_checked(n)?;
                (Part::Floats(a), Part::Floats(b))
            }
            Part::Booleans(values) => {
                let (a, b) = values.split_at_mut_checked(n)?;
                (Part::Booleans(a), Part::Booleans(b))
            }
        })
    });
    Some(halves.collect::<Option<Vec<_>>>()?.into_iter().unzip())
}

fn fill<T>(out: &mut [T], values: impl Iterator<Item = T>) {
    out.iter_mut().zip(values).for_each(|(out, value)| *out = value);
}

/// Writes the indices of the texts; a new text gets a new index.
fn number(out: &mut [i64], cells: &[Option<Cow<'_, str>>], texts: &Mutex<Texts>) -> Result<()> {
    // Words such as a status are static, so that they can be recognised by their address without
    // being compared.
    let mut met: Vec<(Option<&str>, i64)> = Vec::new();
    for (out, cell) in out.iter_mut().zip(cells) {
        let text = cell.as_deref();
        let known = met.iter().find(|(known, _)| match (known, text) {
            (Some(known), Some(text)) => std::ptr::eq(*known, text),
            (None, None) => true,
            _ => false,
        });
        *out = match known {
            Some((_, number)) => *number,
            None => {
                let mut texts = texts.lock().ok().context("a worker that failed")?;
                let next = texts.len() as i64;
                let number = *texts.entry(text.map(str::to_owned)).or_insert(next);
                if met.len() < FEW {
                    met.push((text, number));
                }
                number
            }
        };
    }
    Ok(())
}
