//! Text tables, read block by block into owned runs of whole records.

use super::framing::{Frame, Framing};
use crate::content::{self, Content};
use crate::error::{Error, Place, Result};
use std::io::Read;
use std::sync::Arc;

/// Least number of bytes asked of the input at a time.
const READ: usize = 1 << 18;
/// Longest record: beyond this a quote or a brace was most likely left open.
const RECORD_LIMIT: usize = 16 << 20;

/// How large a chunk may grow. Output does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLimit {
    /// Most rows in a chunk.
    pub rows: usize,
    /// Bytes of input after which a chunk ends at the next row.
    pub bytes: usize,
}

impl Default for ChunkLimit {
    fn default() -> Self {
        Self { rows: 4096, bytes: 1 << 19 }
    }
}

impl ChunkLimit {
    /// Limits the values to what 32-bit offsets allow, and to at least one row.
    pub(crate) fn clamped(self) -> Self {
        Self { rows: self.rows.max(1), bytes: self.bytes.clamp(1, 64 << 20) }
    }
}

/// A run of whole records.
#[derive(Debug, Clone)]
pub(crate) struct RawText {
    pub(crate) data: Vec<u8>,
    /// Start and end of each record within `data`.
    pub(crate) records: Vec<(u32, u32)>,
    /// 0-based number of the first record.
    pub(crate) first_row: u64,
    /// 1-based line at which `data` starts.
    pub(crate) first_line: u64,
}

/// Reads runs of records.
pub(crate) struct RecordReader {
    file: Arc<str>,
    input: Box<dyn Read + Send>,
    framing: Framing,
    tail: Vec<u8>,
    fresh: bool,
    eof: bool,
    row: u64,
    line: u64,
    failed: Option<Error>,
}

impl std::fmt::Debug for RecordReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordReader")
            .field("file", &self.file)
            .field("row", &self.row)
            .finish_non_exhaustive()
    }
}

impl RecordReader {
    pub(crate) fn new(file: Arc<str>, input: Box<dyn Read + Send>, framing: Framing) -> Self {
        let (tail, failed) = (Vec::new(), None);
        Self { file, input, framing, tail, fresh: true, eof: false, row: 0, line: 1, failed }
    }

    /// The next run; `None` at the end. An error comes after the run of the good records before it.
    pub(crate) fn next(&mut self, limit: ChunkLimit) -> Result<Option<RawText>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut data = std::mem::take(&mut self.tail);
        if self.fresh {
            self.fresh = false;
            self.fill(&mut data, READ)?;
            self.check_content(&data)?;
            let mark = data.len() - content::without_mark(&data).len();
            data.drain(..mark);
        }
        let (mut records, mut pos) = (Vec::new(), 0);
        while records.len() < limit.rows && (pos < limit.bytes || records.is_empty()) {
            match self.framing.next(&data, pos, self.eof) {
                Frame::Record { start, end, next } => {
                    records.push((start as u32, end as u32));
                    pos = next;
                }
                Frame::Blank(next) => pos = next,
                Frame::Finished => break,
                Frame::More if data.len() - pos > RECORD_LIMIT => {
                    let what =
                        format!("longer than {} MiB (is a quote left open?)", RECORD_LIMIT >> 20);
                    self.fail(&data[..pos], records.len(), what);
                    break;
                }
                // A long record is framed again each time: reading ever larger pieces keeps that
                // linear.
                Frame::More => {
                    let want = READ.max(data.len() - pos);
                    if let Err(error) = self.fill(&mut data, want) {
                        self.failed = Some(error);
                        break;
                    }
                }
                Frame::Bad(what) => {
                    self.fail(&data[..pos], records.len(), what);
                    break;
                }
            }
        }
        if records.is_empty() {
            return self.failed.take().map_or(Ok(None), Err);
        }
        let mut tail = Vec::with_capacity(limit.bytes + 2 * READ);
        tail.extend_from_slice(&data[pos..]);
        data.truncate(pos);
        self.tail = tail;
        let run = RawText { first_row: self.row, first_line: self.line, records, data };
        self.row += run.records.len() as u64;
        self.line += count_lines(&run.data);
        Ok(Some(run))
    }

    /// The first record, which is the header and not a row.
    pub(crate) fn header(&mut self) -> Result<Option<RawText>> {
        let run = self.next(ChunkLimit { rows: 1, bytes: 1 })?;
        self.row = 0;
        Ok(run)
    }

    /// Continues with another source.
    pub(crate) fn set_framing(&mut self, framing: Framing) {
        self.framing = framing;
    }

    /// The first record, which stays in the stream.
    pub(crate) fn peek(&mut self) -> Result<Option<RawText>> {
        let framing = self.framing;
        let run = self.next(ChunkLimit { rows: 1, bytes: 1 })?;
        if let Some(run) = &run {
            let mut data = run.data.clone();
            data.append(&mut self.tail);
            self.tail = data;
            (self.framing, self.row, self.line) = (framing, run.first_row, run.first_line);
        }
        Ok(run)
    }

    fn fill(&mut self, data: &mut Vec<u8>, want: usize) -> Result<()> {
        let read = self.input.by_ref().take(want as u64).read_to_end(data);
        let read = read.map_err(|source| Error::io(&self.file, "read", source))?;
        self.eof = read < want;
        Ok(())
    }

    fn check_content(&self, data: &[u8]) -> Result<()> {
        match content::recognise(data) {
            Content::Empty => Err(Error::Empty { file: self.file.to_string() }),
            found @ (Content::Parquet
            | Content::Gzip
            | Content::Zip
            | Content::Utf16
            | Content::Pickle) => {
                Err(Error::file(&self.file, format!("expected text, found {found}")))
            }
            _ => Ok(()),
        }
    }

    fn fail(&mut self, before: &[u8], n_records: usize, what: String) {
        let line = !matches!(self.framing, Framing::Array(_));
        let place = Place {
            row: self.row + n_records as u64,
            line: line.then(|| self.line + count_lines(before)),
        };
        self.failed = Some(Error::Record { file: self.file.to_string(), place, what });
    }
}

/// Number of line ends in `data`.
pub(crate) fn count_lines(data: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', data).count() as u64
}
