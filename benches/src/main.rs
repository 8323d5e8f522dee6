//! Long studies on real data, comparisons with other programs, and the report writer: `cargo xtask
//! bench`.
//!
//! Timings are compared as ratios within one run, because machines differ.

mod board;
mod limits;
mod million;
mod networks;
mod offline;
mod peers;
mod people;
mod quality;
mod report;
mod resample;
mod scaling;
mod trees;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Long studies on real data, comparisons with other programs, and the report")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Arithmetic, sampling and files, compared with the limits of the machine
    Limits(limits::Options),
    /// How time grows with people, features, units, layers, trees, threads and smaller rates; draws
    /// pictures
    Scaling(scaling::Options),
    /// A million different people scored by the Adult network, in one command; a thousand answers
    /// are audited
    Million(million::Options),
    /// Networks on the paper's data: certificates, costs and speed; a full run writes
    /// docs/networks.md
    Networks(networks::Options),
    /// The same people answered by batched PyTorch searches, the paper's procedure and Python
    /// packages; a full run writes docs/peers.md
    Peers(peers::Options),
    /// Real people in raw form: rules, decisions and rates of printed rows, checked independently;
    /// a full run writes docs/people.md
    People(people::Options),
    /// Trees on real data: certificates, costs and speed, and exact rates; a full run writes
    /// docs/trees.md
    Trees(trees::Options),
    /// Every method on every data set and kind of model: answers, rates, costs, rules; a full run
    /// writes docs/quality.md
    Board(board::Options),
    /// What certified answers cost against the best known points, by brute force or a long search
    /// that is not the engine's; the freezing test
    Quality(quality::Options),
    /// Write measured parts into the documents, and the README's figures
    Report(report::Options),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    eprintln!("{}", probe_bench::clock::machine());
    match arguments.what {
        What::Limits(options) => limits::run(&options),
        What::Scaling(options) => scaling::run(&options),
        What::Million(options) => million::run(&options),
        What::Networks(options) => networks::run(&options),
        What::Peers(options) => peers::run(&options),
        What::People(options) => people::run(&options),
        What::Trees(options) => trees::run(&options),
        What::Board(options) => board::run(&options),
        What::Quality(options) => quality::run(&options),
        What::Report(options) => report::run(&options),
    }
}
