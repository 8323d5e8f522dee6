//! One method on the people of one data set and classifier. Tables and figures are made from such
//! cells, each of which is stored in a file.

use crate::paper_data::Error;
use probe_core::evaluation::{Measured, Summary};
use probe_core::{Key, Seed};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Part of every cell's name, with the crate's version: raise it in a change after which cells
/// of older programs must not be reused. A kept cell is also tried on a few of its people before it
/// is used ([`Cell::agrees`]), so that a change of numbers is noticed where this was forgotten.
const REVISION: u64 = 2;

/// A classifier of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Logistic regression.
    Linear,
    /// The network [d, 50, 2].
    Network,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Network];

    /// As the paper calls it.
    pub fn short(self) -> &'static str {
        match self {
            Self::Linear => "LR",
            Self::Network => "NN",
        }
    }
}

/// How many people a run needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// All there are, at most 1,000.
    Table,
    /// A point of a figure: the same, fewer in a quick reproduction.
    Figure,
    /// Some whom the classifier denies among the rows that it was trained on: to choose settings
    /// on, never to report.
    Training,
}

/// What is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The data set, by its short name.
    pub data: &'static str,
    /// The classifier.
    pub kind: Kind,
    /// The method.
    pub method: &'static str,
    /// Its settings, `name=value`.
    pub options: Vec<String>,
    /// Target rate.
    pub rate: f64,
    /// Variance of the noise.
    pub variance: f64,
    /// How many people.
    pub size: Size,
}

impl Run {
    /// A name for files and tables, without the parts that the subject's key has.
    pub fn name(&self) -> String {
        let options: String =
            self.options.iter().map(|o| format!("-{}", o.replace('=', ""))).collect();
        let (data, kind) = (self.data, self.kind.short().to_lowercase());
        let rows = if self.size == Size::Training { "-training" } else { "" };
        format!("{data}-{kind}-{}{options}-r{}-v{}{rows}", self.method, self.rate, self.variance)
    }
}

/// The results of a run: one number per person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Seconds of the search, for all people together.
    pub seconds: f64,
    /// Whether the person got a favourable point.
    pub accuracy: Vec<Option<f64>>,
    /// Share of 10,000 draws that are rejected.
    pub sampled_rate: Vec<Option<f64>>,
    /// The true rate.
    pub rate: Vec<Option<f64>>,
    /// l1 cost.
    pub cost: Vec<Option<f64>>,
    /// Features changed.
    pub changed: Vec<Option<f64>>,
    /// Broken rules.
    pub violations: Vec<Option<f64>>,
    /// Proposition 4's value.
    pub bound: Vec<Option<f64>>,
}

impl Cell {
    /// From measures, the bounds and the time.
    pub fn new(measured: &[Measured], bound: Vec<Option<f64>>, seconds: f64) -> Self {
        let of = |name: &str| {
            measured.iter().find(|m| m.metric == name).map(|m| m.values.clone()).unwrap_or_default()
        };
        Self {
            seconds,
            accuracy: of("recourse-accuracy"),
            sampled_rate: of("sampled-invalidation-rate"),
            rate: of("invalidation-rate"),
            cost: of("cost"),
            changed: of("changed"),
            violations: of("violations"),
            bound,
        }
    }

    /// Whether `few`, computed again for the people at `places`, has the same numbers to the bit.
    /// Times may differ.
    pub(super) fn agrees(&self, few: &Self, places: &[usize]) -> bool {
        let bits = |value: &Option<f64>| value.map(f64::to_bits);
        self.columns().into_iter().zip(few.columns()).all(|(kept, new)| {
            places
                .iter()
                .zip(new)
                .all(|(&i, new)| kept.get(i).is_some_and(|kept| bits(kept) == bits(new)))
        })
    }

    fn columns(&self) -> [&[Option<f64>]; 7] {
        let Self { seconds: _, accuracy, sampled_rate, rate, cost, changed, violations, bound } =
            self;
        [accuracy, sampled_rate, rate, cost, changed, violations, bound]
    }
}

/// Mean, deviation and interval of one of a cell's columns.
pub(super) fn summary(values: &[Option<f64>]) -> Summary {
    Summary::of("", values.iter().copied(), Seed(0))
}

/// A hash of everything that a stored item depends on.
fn key(revision: u64, name: &str, parts: &[u64]) -> u64 {
    let version = env!("CARGO_PKG_VERSION").bytes().map(u64::from);
    let words = [revision].into_iter().chain(version).chain(parts.iter().copied());
    words.chain(name.bytes().map(u64::from)).fold(Key::default(), Key::word).finish()
}

/// Cells on disk; without a folder, nothing is kept.
#[derive(Debug, Clone)]
pub(super) struct Store {
    folder: Option<PathBuf>,
}

impl Store {
    /// In a folder, which is created.
    pub(super) fn new(folder: Option<&Path>) -> Result<Self, Error> {
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(|source| Error::file(folder, source))?;
        }
        Ok(Self { folder: folder.map(Path::to_owned) })
    }

    /// The file of an item called `name` that depends on `parts`.
    pub(super) fn path(&self, name: &str, parts: &[u64]) -> Option<PathBuf> {
        let key = key(REVISION, name, parts);
        self.folder.as_ref().map(|folder| folder.join(format!("{name}-{key:016x}.json")))
    }

    /// A stored cell, or `None` if there is none or it cannot be read.
    pub(super) fn read(path: Option<&Path>) -> Option<Cell> {
        let text = std::fs::read_to_string(path?).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Stores a cell, completely or not at all.
    pub(super) fn write(path: Option<&Path>, cell: &Cell) -> Result<(), Error> {
        use std::io::Write as _;
        let Some(path) = path else { return Ok(()) };
        let text = serde_json::to_string(cell).map_err(|e| Error::file(path, e.into()))?;
        let mut out = probe_io::AtomicOutput::create(path)?;
        out.write_all(text.as_bytes()).map_err(|source| out.error(source))?;
        Ok(out.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_depend_on_revision_name_and_parts() {
        let keys = [key(1, "a", &[1]), key(2, "a", &[1]), key(1, "b", &[1]), key(1, "a", &[2])];
        for (i, one) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|other| other != one), "{keys:?}");
        }
        assert_eq!(keys[0], key(1, "a", &[1]));
    }

    #[test]
    fn a_cell_agrees_with_itself_to_the_bit_and_not_with_other_numbers() {
        let column = |values: [f64; 3]| values.map(Some).to_vec();
        let cell = |cost: [f64; 3], seconds| Cell {
            seconds,
            accuracy: column([1.0; 3]),
            sampled_rate: column([0.1, 0.2, 0.3]),
            rate: column([0.1, 0.2, 0.3]),
            cost: column(cost),
            changed: column([1.0; 3]),
            violations: column([0.0; 3]),
            bound: vec![None; 3],
        };
        let few = |cell: &Cell| {
            let end = |values: &[Option<f64>]| vec![values[0], values[2]];
            Cell {
                seconds: 9.0,
                accuracy: end(&cell.accuracy),
                sampled_rate: end(&cell.sampled_rate),
                rate: end(&cell.rate),
                cost: end(&cell.cost),
                changed: end(&cell.changed),
                violations: end(&cell.violations),
                bound: end(&cell.bound),
            }
        };
        let kept = cell([0.5, 0.6, 0.7], 1.0);
        assert!(kept.agrees(&few(&kept), &[0, 2]), "times do not matter");
        let next = 0.7f64.next_up();
        assert!(!kept.agrees(&few(&cell([0.5, 0.6, next], 1.0)), &[0, 2]));
        assert!(!kept.agrees(&few(&kept), &[0, 3]), "a cell that is too short");
    }
}
