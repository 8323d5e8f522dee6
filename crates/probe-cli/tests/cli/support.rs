//! A folder of its own for every test, the binary run inside it, and what came out.

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// `2 a + b - 2 > 0`, no schema.
pub(crate) const MODEL: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "linear", "#,
    r#""features": ["a", "b"],
    "layers": [{"weight": [[2.0, 1.0]], "bias": [-2.0]}]}"#
);

/// The standard normal quantile of 0.9.
pub(crate) const Z10: f64 = 1.281_551_565_544_600_4;

/// P(N(0, 1) > x).
pub(crate) fn upper_tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / std::f64::consts::SQRT_2)
}

/// Asserts that two numbers are the same up to rounding.
#[track_caller]
pub(crate) fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-12 * expected.abs().max(1e-3),
        "{found} is not {expected}"
    );
}

/// A temporary folder with `model.json` in it; commands run inside.
pub(crate) struct Folder(TempDir);

/// What a command did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) err: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("model.json", MODEL);
        folder
    }

    /// With `people.csv` too.
    pub(crate) fn with_people(text: &str) -> Self {
        let folder = Self::new();
        folder.write("people.csv", text);
        folder
    }

    pub(crate) fn dir(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Names of all files, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.dir()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Runs `probe` with the words of `line`.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.run_with(line, "")
    }

    /// As [`Folder::run`], with standard input.
    pub(crate) fn run_with(&self, line: &str, input: &str) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
        let output = command
            .current_dir(self.dir())
            .args(line.split_whitespace())
            .write_stdin(input.to_owned())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            out: output.stdout,
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command that must succeed, and reads its standard output as CSV.
    #[track_caller]
    pub(crate) fn table(&self, line: &str) -> Csv {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "{line}: {}", ran.err);
        Csv::parse(&ran.text())
    }
}

impl Ran {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.out.clone()).unwrap()
    }

    /// Asserts a failure with this status, nothing on standard output, and one line on standard
    /// error that has every one of `words`. What the parser of flags adds to its line (usage,
    /// possible values, a pointer to `--help`) does not count.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.out.is_empty(), "{}", self.text());
        let added = ["Usage: ", "For more information", "  [possible values"];
        let counts =
            |line: &&str| !line.is_empty() && !added.iter().any(|start| line.starts_with(start));
        let lines: Vec<&str> = self.err.lines().filter(counts).collect();
        assert_eq!(lines.len(), 1, "{}", self.err);
        assert!(lines[0].starts_with("error: "), "{}", self.err);
        for word in words {
            assert!(lines[0].contains(word), "no '{word}' in: {}", self.err);
        }
    }
}

/// A CSV table without quotes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Csv {
    pub(crate) header: Vec<String>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Csv {
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        assert!(!text.contains('"'), "quotes are not read here: {text}");
        let mut lines =
            text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let header: Vec<String> = lines.next().expect("a header");
        let rows: Vec<Vec<String>> = lines.collect();
        assert!(rows.iter().all(|row| row.len() == header.len()), "{text}");
        Self { header, rows }
    }

    #[track_caller]
    pub(crate) fn get(&self, row: usize, column: &str) -> &str {
        let at = self.header.iter().position(|name| name == column);
        &self.rows[row][at.unwrap_or_else(|| panic!("no column {column} in {:?}", self.header))]
    }

    #[track_caller]
    pub(crate) fn number(&self, row: usize, column: &str) -> f64 {
        let cell = self.get(row, column);
        cell.parse().unwrap_or_else(|_| panic!("row {row}, {column}: '{cell}'"))
    }
}

/// A generator of numbers in [0, 1), the same in every run (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// In [low, high).
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.next()
    }
}
