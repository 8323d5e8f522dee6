//! The paper's figures and tables, with the paper's values beside ours: one file per entry.
//!
//! An entry makes texts and pictures; whoever calls it writes them. The same seed gives the same bytes.

mod moons;
mod trees;

use crate::paper_data::Error;
use probe_core::Seed;
use probe_core::registry::{Entry, lookup};
use std::path::PathBuf;

/// What an experiment is made from.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Folder of the paper's data sets, for what needs them.
    pub data: Option<PathBuf>,
    /// Seed of everything random.
    pub seed: Seed,
}

/// A table for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// What it is about, in a few words.
    pub title: String,
    /// Column heads; all but the first column are numbers.
    pub header: Vec<&'static str>,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// To be printed.
    pub tables: Vec<Table>,
    /// To be said after the tables.
    pub remarks: Vec<String>,
    /// Names and contents of files to be written.
    pub files: Vec<(&'static str, String)>,
}

/// One of the paper's figures or tables.
pub trait Experiment: Send + Sync {
    /// Makes it anew.
    fn make(&self, inputs: &Inputs) -> Result<Made, Error>;
}

/// All that can be reproduced.
pub const EXPERIMENTS: &[Entry<dyn Experiment>] = &[trees::ENTRY];

/// The experiment called `name`.
pub fn experiment(name: &str) -> probe_core::Result<&'static Entry<dyn Experiment>> {
    lookup("experiment", EXPERIMENTS, name)
}

#[cfg(test)]
mod tests;
