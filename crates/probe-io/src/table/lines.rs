//! JSON Lines that arrive piece by piece, as over a network: cut into chunks without waiting for
//! more than is there.

use super::json;
use super::plan::{ColumnPlan, Columns, check_distinct};
use super::reader::RawChunk;
use super::records::{ChunkLimit, RawText, count_lines};
use crate::error::{Error, Place, Result};
use crate::output::FieldKind;
use memchr::memchr;
use std::sync::Arc;

/// Collects bytes and cuts them into chunks of whole lines. The first line sets the columns.
#[derive(Debug)]
pub struct Lines {
    file: Arc<str>,
    wanted: Columns,
    plan: Option<Arc<ColumnPlan>>,
    waiting: Vec<u8>,
    /// How far `waiting` was searched for a line end without finding one.
    searched: usize,
    longest: usize,
    row: u64,
    line: u64,
}

impl Lines {
    /// No bytes yet; `name` is the source's name in errors. A line longer than `longest` bytes is
    /// an error.
    pub fn new(name: &str, wanted: Columns, longest: usize) -> Self {
        Self {
            file: name.into(),
            wanted,
            plan: None,
            waiting: Vec::new(),
            searched: 0,
            longest,
            row: 0,
            line: 1,
        }
    }

    /// Which columns are read; `None` before the first row.
    pub fn plan(&self) -> Option<&ColumnPlan> {
        self.plan.as_deref()
    }

    /// Number of bytes that wait to be cut.
    pub fn n_waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Rows handed out so far.
    pub fn n_rows(&self) -> u64 {
        self.row
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The next rows of which all bytes are there; `None` if there are none. With `ended`, nothing
    /// will follow, and a last line needs no line end.
    pub fn next_raw(&mut self, limit: ChunkLimit, ended: bool) -> Result<Option<RawChunk>> {
        loop {
            let Some(end) = self.end_of_whole_lines(limit, ended)? else { return Ok(None) };
            let data: Vec<u8> = self.waiting.drain(..end).collect();
            self.searched = 0;
            let (first_line, n_lines) = (self.line, count_lines(&data));
            self.line += n_lines;
            let mut records = Vec::new();
            let mut start = 0;
            while start < data.len() {
                let next = memchr(b'\n', &data[start..]).map_or(data.len(), |at| start + at + 1);
                let line = data[start..next].trim_ascii_end();
                if !line.is_empty() {
                    records.push((start as u32, (start + line.len()) as u32));
                }
                start = next;
            }
            if records.is_empty() {
                continue;
            }
            let text = RawText { data, records, first_row: self.row, first_line };
            self.row += text.records.len() as u64;
            let plan = self.plan_for(&text)?;
            return Ok(Some(RawChunk::lines(plan, text)));
        }
    }

    /// Where a run of whole lines within the limit ends.
    fn end_of_whole_lines(&mut self, limit: ChunkLimit, ended: bool) -> Result<Option<usize>> {
        let limit = limit.clamped();
        let (mut end, mut rows) = (0, 0);
        while rows < limit.rows && end < limit.bytes {
            let from = end.max(self.searched);
            match memchr(b'\n', &self.waiting[from..]) {
                Some(at) => end = from + at + 1,
                None if ended && end < self.waiting.len() => end = self.waiting.len(),
                None => {
                    self.searched = self.waiting.len();
                    break;
                }
            }
            rows += 1;
        }
        let longest =
            if rows > 1 { 0 } else { end.max(self.waiting.len() * usize::from(end == 0)) };
        if longest > self.longest {
            let place = Place { row: self.row, line: Some(self.line) };
            let what = format!("longer than {} bytes", self.longest);
            return Err(Error::Record { file: self.file.to_string(), place, what });
        }
        Ok((end > 0).then_some(end))
    }

    fn plan_for(&mut self, text: &RawText) -> Result<Arc<ColumnPlan>> {
        if let Some(plan) = &self.plan {
            return Ok(Arc::clone(plan));
        }
        let header = json::header(text, &self.file, true)?;
        check_distinct(&header, &self.file)?;
        let plan = ColumnPlan::new(&self.file, &header, &self.wanted, |_| FieldKind::Text)?;
        let plan = Arc::new(plan);
        self.plan = Some(Arc::clone(&plan));
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Columns {
        Columns { ids: vec!["id".to_owned()], ..Columns::features(&["a".to_owned()]) }
    }

    #[test]
    fn any_cutting_of_the_bytes_gives_the_same_rows() {
        let text = "{\"id\": 1, \"a\": 1.5}\n\n{\"a\": 2, \"id\": \"x\"}\r\n{\"id\": 3, \"a\": -3}";
        for step in [1, 2, 7, 100] {
            let mut lines = Lines::new("body", wanted(), 100);
            let (mut numbers, mut all, mut rows) = (Vec::new(), Vec::new(), Vec::new());
            let mut take = |raw: RawChunk| {
                let (chunk, error) = raw.decode();
                assert!(error.is_none());
                chunk.numbers_into(&mut numbers).unwrap();
                all.extend_from_slice(&numbers);
                rows.extend((0..chunk.n_rows()).map(|row| chunk.place(row).to_string()));
            };
            for piece in text.as_bytes().chunks(step) {
                lines.push(piece);
                while let Some(raw) = lines.next_raw(ChunkLimit::default(), false).unwrap() {
                    take(raw);
                }
            }
            while let Some(raw) = lines.next_raw(ChunkLimit::default(), true).unwrap() {
                take(raw);
            }
            assert_eq!(all, [1.5, 2.0, -3.0], "step {step}");
            assert_eq!(rows, ["row 0 (line 1)", "row 1 (line 3)", "row 2 (line 4)"]);
            assert_eq!((lines.n_rows(), lines.n_waiting()), (3, 0));
        }
    }

    #[test]
    fn chunks_keep_to_their_limit() {
        let mut lines = Lines::new("body", Columns::features(&["a".to_owned()]), 100);
        lines.push(b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
        let two = ChunkLimit { rows: 2, ..ChunkLimit::default() };
        let mut next = || {
            let raw = lines.next_raw(two, false).unwrap();
            raw.map(|raw| raw.decode().0.n_rows())
        };
        assert_eq!([next(), next(), next()], [Some(2), Some(1), None]);
    }

    #[test]
    fn a_line_without_end_is_an_error_before_it_fills_the_memory() {
        let mut lines = Lines::new("body", wanted(), 10);
        lines.push(b"{\"a\": 1,");
        assert!(lines.next_raw(ChunkLimit::default(), false).unwrap().is_none());
        lines.push(b"\"id\": 1");
        let error = lines.next_raw(ChunkLimit::default(), false).unwrap_err();
        assert!(error.to_string().contains("row 0 (line 1): longer than 10 bytes"), "{error}");
    }
}
