//! What is claimed about speed, memory and cost, measured side by side in one run: `cargo xtask
//! bench`.
//!
//! Timings are compared as ratios within one run; machines differ.

mod board;
mod clock;
mod counts;
mod folders;
mod frames;
mod generated;
mod kernels;
mod latency;
mod library;
mod limits;
mod million;
mod models;
mod networks;
mod offline;
mod peers;
mod people;
mod process;
mod python;
mod report;
mod resample;
mod scaling;
mod stats;
mod stream;
mod throughput;
mod trees;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::io::Write as _;
use std::path::PathBuf;

/// A line of the result.
pub(crate) fn say(text: &str) {
    // Nobody listening is not an error.
    let _ = writeln!(std::io::stdout(), "{text}");
}

#[derive(Parser)]
#[command(about = "What is claimed about speed, memory and cost, measured in one run")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// The exact linear solver, without I/O
    Library,
    /// `probe recourse` from CSV to CSV, and its memory
    Stream {
        /// People in the larger file
        #[arg(long, default_value_t = stream::PEOPLE)]
        people: usize,
        /// The `probe` command
        #[arg(long, default_value = "target/release/probe")]
        probe: PathBuf,
    },
    /// Many people at once: certified or not, and frontiers, on one thread and on all
    Throughput(throughput::Options),
    /// One person at a time: percentiles of the time that a certified answer takes, in the library,
    /// by the command and from Python
    Latency(latency::Options),
    /// How far from what the machine can do: arithmetic, sampling, files
    Limits(limits::Options),
    /// How time grows with people, features, units, layers, trees, threads and smaller rates; makes
    /// pictures
    Scaling(scaling::Options),
    /// Instructions of a handful of kernels under valgrind, against those stored in
    /// benches/counts.json
    Counts(counts::Options),
    /// A million different people through the Adult network by one command, and a thousand of the
    /// answers audited
    Million(million::Options),
    /// Networks on the paper's data: certificates, costs and speed; a full run writes
    /// docs/networks.md
    Networks(networks::Options),
    /// The same people by batched PyTorch searches, the paper's procedure and packages of the
    /// registry; a full run writes docs/peers.md
    Peers(peers::Options),
    /// Real people in raw form: rules, flips and rates of printed rows, checked anew; a full run
    /// writes docs/people.md
    People(people::Options),
    /// Models of XGBoost and LightGBM as we read them, against the library itself, on ten thousand
    /// rows each
    Models,
    /// The Python package on data frames, against the library itself, and its memory
    Frames(frames::Options),
    /// Scoring rows in batches, against a matrix product
    Kernels,
    /// Trees on real data: certificates, costs and speed, and exact rates; a full run writes
    /// docs/trees.md
    Trees(trees::Options),
    /// Every method on every data set and kind of model: answers, rates, costs, rules; a full run
    /// writes docs/quality.md
    Board(board::Options),
    /// The README's figures, from those that were measured
    Report(report::Options),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    eprintln!("{}", clock::machine());
    match arguments.what {
        What::Library => library::run(),
        What::Stream { people, probe } => stream::run(&probe, people),
        What::Throughput(options) => throughput::run(&options),
        What::Latency(options) => latency::run(&options),
        What::Limits(options) => limits::run(&options),
        What::Scaling(options) => scaling::run(&options),
        What::Counts(options) => counts::run(&options),
        What::Million(options) => million::run(&options),
        What::Networks(options) => networks::run(&options),
        What::Peers(options) => peers::run(&options),
        What::People(options) => people::run(&options),
        What::Models => models::run(),
        What::Frames(options) => frames::run(&options),
        What::Kernels => kernels::run(),
        What::Trees(options) => trees::run(&options),
        What::Board(options) => board::run(&options),
        What::Report(options) => report::run(&options),
    }
}
