//! Wrong usage of flags that only the command line has. Other flags are checked as fields of a
//! request.

use std::fmt;

/// A wrong flag, or flags that exclude each other.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    /// Exit status of wrong usage, the same as clap's.
    pub(crate) const STATUS: u8 = 2;

    /// A mistake, with a message that names the flag.
    pub(crate) fn new(what: impl fmt::Display) -> Self {
        Self(what.to_string())
    }

    /// A mistake in the value of `flag`.
    pub(crate) fn of(flag: &str, what: impl fmt::Display) -> Self {
        Self(format!("{flag}: {what}"))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}
