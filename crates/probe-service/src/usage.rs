//! Mistakes in what was typed that the parser of flags cannot see, and errors in one line.

use std::fmt;

/// A flag that cannot be meant, alone or beside the others.
#[derive(Debug)]
pub struct Usage(String);

impl Usage {
    /// Exit status of wrong usage, the parser's own.
    pub const STATUS: u8 = 2;

    /// A mistake in words, naming the flag.
    pub fn new(what: impl fmt::Display) -> Self {
        Self(what.to_string())
    }

    /// A mistake in the value of `flag`.
    pub fn of(flag: &str, what: impl fmt::Display) -> Self {
        Self(format!("{flag}: {what}"))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The error and its causes, each said once.
pub fn one_line(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if line.is_empty() {
            line = cause;
        } else if !line.contains(&cause) {
            line.push_str(": ");
            line.push_str(&cause);
        }
    }
    line.replace(['\n', '\r'], " ")
}
