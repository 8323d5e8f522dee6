//! Table formats and their names.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How a table is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// Comma-separated values with a header line.
    #[default]
    Csv,
    /// One JSON array of objects (reading), or an object with `meta` and `rows` (writing).
    Json,
    /// One JSON object a line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Json, Self::Jsonl, Self::Parquet];

    /// The name users type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }

    /// The format of a file name's ending; CSV if the ending is unknown.
    pub fn of_path(path: impl AsRef<Path>) -> Self {
        Self::of_ending(path).unwrap_or_default()
    }

    /// The format of a file name's ending, if it is known.
    pub fn of_ending(path: impl AsRef<Path>) -> Option<Self> {
        let ending = path.as_ref().extension()?.to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "csv" | "txt" => Some(Self::Csv),
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "parquet" | "pq" => Some(Self::Parquet),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = probe_core::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|format| format.name() == name).ok_or_else(|| {
            probe_core::Error::UnknownName {
                kind: "format",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_names() {
        for (path, format) in [
            ("a.csv", Format::Csv),
            ("a.JSON", Format::Json),
            ("dir.parquet/a.ndjson", Format::Jsonl),
            ("a.pq", Format::Parquet),
            ("a", Format::Csv),
            ("-", Format::Csv),
        ] {
            assert_eq!(Format::of_path(path), format, "{path}");
        }
        for format in Format::ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
        }
        assert!(
            "xlsx".parse::<Format>().unwrap_err().to_string().contains("csv, json, jsonl, parquet")
        );
    }
}
