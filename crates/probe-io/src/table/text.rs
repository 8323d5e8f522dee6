//! A decoded run of text records: one buffer, and the position of each cell in it.

use super::records::{RawText, count_lines};
use crate::error::Place;

/// Cells as text, row after row.
#[derive(Debug)]
pub(crate) struct TextCells {
    /// The records as read, then whatever had to be unescaped.
    data: Vec<u8>,
    records: Vec<(u32, u32)>,
    spans: Vec<(u32, u32)>,
    n_columns: usize,
    first_row: u64,
    first_line: Option<u64>,
}

impl TextCells {
    /// `spans` holds whole rows of cells within the run's data followed by `extra`; later records
    /// are dropped.
    pub(crate) fn new(
        raw: RawText,
        extra: &[u8],
        spans: Vec<(u32, u32)>,
        n_columns: usize,
        lines: bool,
    ) -> Self {
        let RawText { mut data, mut records, first_row, first_line } = raw;
        data.extend_from_slice(extra);
        records.truncate(spans.len() / n_columns.max(1));
        Self { data, records, spans, n_columns, first_row, first_line: lines.then_some(first_line) }
    }

    pub(crate) fn n_rows(&self) -> usize {
        self.records.len()
    }

    pub(crate) fn first_row(&self) -> u64 {
        self.first_row
    }

    /// The text of a cell by its column in the file.
    #[inline]
    pub(crate) fn cell(&self, row: usize, column: usize) -> &[u8] {
        let (start, end) = self.spans[row * self.n_columns + column];
        &self.data[start as usize..end as usize]
    }

    /// All cells of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> &[(u32, u32)] {
        &self.spans[row * self.n_columns..(row + 1) * self.n_columns]
    }

    /// The bytes that spans point into.
    #[inline]
    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }

    /// The position of a row in the file.
    pub(crate) fn place(&self, row: usize) -> Place {
        let start = self.records[row].0 as usize;
        let line = self.first_line.map(|first| first + count_lines(&self.data[..start]));
        Place { row: self.first_row + row as u64, line }
    }
}

/// The position of record `row` of an undecoded run in the file.
pub(crate) fn place_of(raw: &RawText, row: usize, lines: bool) -> Place {
    let start = raw.records[row].0 as usize;
    let line = lines.then(|| raw.first_line + count_lines(&raw.data[..start]));
    Place { row: raw.first_row + row as u64, line }
}
