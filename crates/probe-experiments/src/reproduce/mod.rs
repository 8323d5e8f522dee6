//! The paper's figures and tables, with the paper's values next to ours: one file per entry.
//!
//! An entry says which runs it is made from; a [`Laboratory`] makes or finds them, and the entry
//! turns them into texts and pictures, which the caller writes. The same seed gives the same
//! bytes, apart from times.

mod cell;
mod classifiers;
mod figures;
mod lab;
mod methods;
mod moons;
mod page;
mod plane;
mod published;
mod settings;
mod tables;
mod trees;

pub use cell::{Cell, Kind, Run, Size};
pub use lab::{Laboratory, Progress, Subject};
pub use page::page;

use crate::paper_data::Error;
use probe_core::Seed;
use probe_core::registry::{Entry, lookup};
use std::path::PathBuf;

/// The input of an experiment.
#[derive(Debug, Clone, Default)]
pub struct Inputs {
    /// Folder of the paper's data sets, for what needs them.
    pub data: Option<PathBuf>,
    /// Seed of everything random.
    pub seed: Seed,
    /// Folder for cells and classifiers, to be found again; without it nothing is kept.
    pub cells: Option<PathBuf>,
    /// Few people, for a quick run.
    pub quick: bool,
    /// At most so many people of each data set and classifier.
    pub people: Option<usize>,
}

/// A displayed table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    /// A short description.
    pub title: String,
    /// Column heads; all but the first column are numbers, unless they are among `words`.
    pub header: Vec<&'static str>,
    /// Heads of further columns that hold words.
    pub words: &'static [&'static str],
    /// Whether the last column holds sentences: a page sets them below their rows.
    pub sentences: bool,
    /// Rows of cells.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Columns of numbers.
    pub fn numbers(&self) -> Vec<usize> {
        let end = self.header.len() - usize::from(self.sentences);
        (1..end).filter(|&i| !self.words.contains(&self.header[i])).collect()
    }
}

/// The result of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// To be printed.
    pub tables: Vec<Table>,
    /// Notes below the tables.
    pub remarks: Vec<String>,
    /// Names and contents of files to be written.
    pub files: Vec<(&'static str, String)>,
}

/// One of the paper's figures or tables.
pub trait Experiment: Send + Sync {
    /// Classifiers that it needs in addition to those of its runs.
    fn subjects(&self) -> Vec<(&'static str, Kind)> {
        Vec::new()
    }

    /// Runs that it is made from.
    fn runs(&self) -> Vec<Run> {
        Vec::new()
    }

    /// Makes it, in a laboratory in which its runs are prepared.
    fn make(&self, lab: &Laboratory) -> Result<Made, Error>;
}

/// All that can be reproduced.
pub const EXPERIMENTS: &[Entry<dyn Experiment>] = &[
    classifiers::ENTRY,
    settings::ENTRY,
    tables::TABLE_1,
    tables::SIGMA_025,
    figures::MOTIVATION,
    figures::LOAN,
    figures::NAVIGATION,
    figures::SIGMOID,
    figures::PARETO,
    figures::BOUNDS,
    figures::BASELINES,
    figures::ACHIEVED,
    figures::TRADEOFF,
    trees::ENTRY,
];

/// Names for groups of experiments, in addition to `all`.
const TABLES: [&str; 4] = ["classifiers", "settings", "table1", "sigma025"];

/// The experiments called `what`: one of them, `figures` or `all`.
pub fn experiments(what: &str) -> probe_core::Result<Vec<&'static Entry<dyn Experiment>>> {
    match what {
        "all" => Ok(EXPERIMENTS.iter().collect()),
        "figures" => Ok(EXPERIMENTS.iter().filter(|entry| !TABLES.contains(&entry.name)).collect()),
        name => Ok(vec![lookup("experiment", EXPERIMENTS, name)?]),
    }
}

/// A number for a file; empty where there is none.
fn number(value: f64) -> String {
    if value.is_finite() { value.to_string() } else { String::new() }
}

/// A file of numbers.
fn csv(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = header.join(",") + "\n";
    rows.for_each(|row| out += &(row.join(",") + "\n"));
    out
}

#[cfg(test)]
mod tests;
