//! Other programs for the same answers, in the same run: batched PyTorch searches, the paper's own
//! procedure, and packages that a user would try.
//!
//! The scripts lie in `benches/peers`. They get model and people as files, and write points with
//! the time they took; the points are audited here by what audits ours. Times are processor seconds
//! on one thread, in turns with ours.

mod linear;
mod networks;
mod packages;
mod paper;
mod script;
mod turns;

use anyhow::Result;
use clap::ValueEnum as _;
use probe_bench::{clock, python, say};

pub(crate) const OUTPUT: &str = "docs/peers.md";
/// The headings, in their order.
pub(crate) const TITLES: [&str; 4] =
    ["Linear models", "Networks", "The paper's procedure", "Packages"];
const SIGMA: f64 = 0.1;
/// Where the scripts lie, under `benches`.
const FOLDER: &str = "peers";

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Parts to measure; default: all
    #[arg(long = "part", value_enum)]
    parts: Vec<Section>,
    /// Times that each is run, in turns
    #[arg(long, default_value_t = REPEATS)]
    repeats: usize,
    /// Few people and few models: a look in about two minutes, which writes no document
    #[arg(long)]
    quick: bool,
    /// Processor seconds after which a package is asked about nobody else, per model and question
    #[arg(long, default_value_t = TIMEOUT)]
    timeout: f64,
    /// Only packages whose model, name and method contain this, such as "forest, dice-ml"
    #[arg(long, default_value = "")]
    only: String,
}

const REPEATS: usize = 3;
const TIMEOUT: f64 = 5.0;

impl Options {
    /// Whether this is a run that the document is written from.
    fn is_full(&self) -> bool {
        !self.quick && self.repeats == REPEATS && self.timeout == TIMEOUT && self.only.is_empty()
    }

    fn repeats(&self) -> usize {
        if self.quick { 1 } else { self.repeats.max(1) }
    }
}

/// A section of the document.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Section {
    /// Linear models, by descent and by hand
    Linear,
    /// Networks, by batched searches
    Networks,
    /// The paper's procedure, as released and as stated
    Paper,
    /// Packages of the Python registry
    Packages,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let python = match python::environment(FOLDER) {
        Ok(python) => python,
        Err(error) => {
            say(&format!("no peers: {error:#}"));
            say(&python::needs(FOLDER));
            return Ok(());
        }
    };
    for part in Section::value_variants() {
        if !options.parts.is_empty() && !options.parts.contains(part) {
            continue;
        }
        let published = match part {
            Section::Linear => linear::section(&python, options)?,
            Section::Networks => networks::section(&python, options)?,
            Section::Paper => paper::section(&python, options)?,
            Section::Packages => packages::section(options)?,
        };
        say(&format!(
            "## {}\n\n{}",
            published.title.as_deref().unwrap_or_default(),
            published.text
        ));
        if options.is_full() {
            published.store()?;
        }
    }
    Ok(())
}

/// What the sections share.
pub(crate) fn introduction() -> String {
    format!(
        "# The same people by other programs\n\n\
         Written by `cargo xtask bench peers` on {}, each section by itself (`--part`). Same \
         models, same people, σ = {SIGMA} on every column, l1 cost, one thread each; processor \
         seconds. Programs take turns with ours; ratios of speed are medians, in brackets the \
         smallest and the largest of the repeats. The scripts are in `benches/peers`.\n",
        clock::machine()
    )
}
