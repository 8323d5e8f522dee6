//! Row-major views of tables of `f64`, the form in which numbers enter and leave the engine.

use crate::error::{Error, Result};

/// A borrowed table: `n_rows` × `n_cols`, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    data: &'a [f64],
    n_cols: usize,
}

impl<'a> Rows<'a> {
    /// Views `data` as rows of `n_cols`. Fails unless the length is a multiple of `n_cols`.
    pub fn new(data: &'a [f64], n_cols: usize) -> Result<Self> {
        check_shape(data.len(), n_cols)?;
        Ok(Self { data, n_cols })
    }

    /// One row.
    pub fn single(row: &'a [f64]) -> Self {
        Self { data: row, n_cols: row.len().max(1) }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.data.len() / self.n_cols
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> &'a [f64] {
        &self.data[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// All rows in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'a, f64> {
        self.data.chunks_exact(self.n_cols)
    }

    /// The numbers behind the view.
    pub fn data(&self) -> &'a [f64] {
        self.data
    }
}

/// A table to be written: as [`Rows`], but mutable.
#[derive(Debug)]
pub struct RowsMut<'a> {
    data: &'a mut [f64],
    n_cols: usize,
}

impl<'a> RowsMut<'a> {
    /// Views `data` as rows of `n_cols`. Fails unless the length is a multiple of `n_cols`.
    pub fn new(data: &'a mut [f64], n_cols: usize) -> Result<Self> {
        check_shape(data.len(), n_cols)?;
        Ok(Self { data, n_cols })
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// All rows in order, writable.
    pub fn iter_mut(&mut self) -> std::slice::ChunksExactMut<'_, f64> {
        self.data.chunks_exact_mut(self.n_cols)
    }
}

fn check_shape(len: usize, n_cols: usize) -> Result<()> {
    if n_cols == 0 || !len.is_multiple_of(n_cols) {
        return Err(Error::Shape {
            what: "values in a table of full rows",
            expected: len.div_ceil(n_cols.max(1)) * n_cols,
            found: len,
        });
    }
    Ok(())
}
