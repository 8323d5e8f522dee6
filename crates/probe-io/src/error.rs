//! The one error type of the crate. Every message names the file, and the row, column, path or
//! value that was wrong.

use std::fmt;
use std::io;
use thiserror::Error as ThisError;

/// Result with the crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The position of a record in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// 0-based row, the header not counted.
    pub row: u64,
    /// 1-based line, in formats that have lines.
    pub line: Option<u64>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "row {} (line {line})", self.row),
            None => write!(f, "row {}", self.row),
        }
    }
}

/// A file that cannot be read, understood or written.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// An error of the operating system.
    #[error("{file}: cannot {doing}: {source}")]
    Io {
        /// File as the user named it.
        file: String,
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The reader of standard output closed it. Programs ignore this error.
    #[error("standard output was closed by its reader")]
    BrokenPipe,
    /// The caller asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// A table without even a header.
    #[error("{file}: empty file: no header")]
    Empty {
        /// File as the user named it.
        file: String,
    },
    /// A file of the wrong kind.
    #[error("{file}: {what}")]
    File {
        /// File as the user named it.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// A place in a structured document (model or schema) that breaks a rule.
    #[error("{file}: {path}: {what}")]
    Document {
        /// File as the user named it.
        file: String,
        /// JSON path such as `$.layers[0].bias`.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// A column name that occurs twice.
    #[error("{file}: column '{column}' appears twice")]
    DuplicateColumn {
        /// File as the user named it.
        file: String,
        /// Column name.
        column: String,
    },
    /// A missing column.
    #[error("{file}: no column '{column}'{hint}")]
    MissingColumn {
        /// File as the user named it.
        file: String,
        /// Column name.
        column: String,
        /// Empty, or a guess at what was meant.
        hint: String,
    },
    /// An unexpected column.
    #[error("{file}: unexpected column '{column}': neither a feature nor an id")]
    UnexpectedColumn {
        /// File as the user named it.
        file: String,
        /// Column name.
        column: String,
    },
    /// A record with too many or too few cells.
    #[error(
        "{file}: {place}: expected {expected} cells (one per column of the header), found {found}"
    )]
    Ragged {
        /// File as the user named it.
        file: String,
        /// The record.
        place: Place,
        /// Number of columns in the header.
        expected: usize,
        /// Number of cells in the record.
        found: usize,
    },
    /// A cell that does not hold what its column must hold.
    #[error("{file}: {place}, column '{column}': '{value}' is not {wanted}")]
    Value {
        /// File as the user named it.
        file: String,
        /// The record.
        place: Place,
        /// Column name.
        column: String,
        /// The cell's text, shortened where long.
        value: String,
        /// The expected value.
        wanted: &'static str,
    },
    /// A cell that does not hold one of its feature's categories.
    #[error("{file}: {place}, column '{column}': '{value}' is not a category (known: {known})")]
    UnknownCategory {
        /// File as the user named it.
        file: String,
        /// The record.
        place: Place,
        /// Column name.
        column: String,
        /// The cell's text.
        value: String,
        /// The categories there are.
        known: String,
    },
    /// A cell without a value where there must be one.
    #[error("{file}: {place}, column '{column}': '{value}' is a missing value: {why}")]
    MissingValue {
        /// File as the user named it.
        file: String,
        /// The record.
        place: Place,
        /// Column name.
        column: String,
        /// The cell's text.
        value: String,
        /// Why it is rejected.
        why: &'static str,
    },
    /// A record that cannot be understood.
    #[error("{file}: {place}: {what}")]
    Record {
        /// File as the user named it.
        file: String,
        /// The record.
        place: Place,
        /// What is wrong.
        what: String,
    },
    /// The engine rejected the content of the file.
    #[error("{file}: {source}")]
    Core {
        /// File as the user named it.
        file: String,
        /// The engine's reason.
        source: probe_core::Error,
    },
    /// A batch that does not fit the declared output columns: a fault of the calling code.
    #[error("output column '{column}': {what}")]
    Output {
        /// Column name.
        column: String,
        /// What is wrong.
        what: String,
    },
}

impl Error {
    /// Whether a file is missing.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether standard output was closed by its reader.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::BrokenPipe)
    }

    pub(crate) fn io(file: &str, doing: &'static str, source: io::Error) -> Self {
        Self::Io { file: file.to_owned(), doing, source }
    }

    pub(crate) fn file(file: &str, what: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), what: what.into() }
    }
}

/// A cell's text for a message: at most 60 characters, invalid UTF-8 replaced.
pub(crate) fn excerpt(text: &[u8]) -> String {
    const LIMIT: usize = 60;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * LIMIT)]);
    match text.char_indices().nth(LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_are_short_and_never_split_a_character() {
        assert_eq!(excerpt(b"abc"), "abc");
        let long = "ä".repeat(500);
        assert_eq!(excerpt(long.as_bytes()), format!("{}…", "ä".repeat(60)));
        assert_eq!(excerpt(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn places_name_row_and_line() {
        assert_eq!(Place { row: 3, line: Some(5) }.to_string(), "row 3 (line 5)");
        assert_eq!(Place { row: 3, line: None }.to_string(), "row 3");
    }
}
