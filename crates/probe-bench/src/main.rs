//! Short measurements of speed and memory: `cargo xtask bench`.
//!
//! Timings are compared as ratios within one run, because machines differ.

use anyhow::Result;
use clap::{Parser, Subcommand};
use probe_bench::{
    clock, counts, frames, kernels, latency, library, models, search, service, stream, throughput,
};
use std::path::PathBuf;

#[derive(Parser)]
#[command(about = "Short measurements of speed and memory, for everyday work on the engine")]
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
    /// One person at a time: percentiles of the time for a certified answer, in the library, by
    /// the command and from Python
    Latency(latency::Options),
    /// Instructions of a few kernels under valgrind, compared with benches/counts.json
    Counts(counts::Options),
    /// Models of other libraries as imported by Probe, compared with the library itself on ten
    /// thousand rows each
    Models,
    /// The Python package on data frames, compared with the Rust library, and its memory
    Frames(frames::Options),
    /// Scoring rows in batches, compared with a matrix product
    Kernels,
    /// Generators of the search: how often each gave the answer, and what it saves and takes
    Search(search::Options),
    /// The HTTP service: throughput, latencies, a stream; or memory under load for a while
    Service(service::Options),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    eprintln!("{}", clock::machine());
    match arguments.what {
        What::Library => library::run(),
        What::Stream { people, probe } => stream::run(&probe, people),
        What::Throughput(options) => throughput::run(&options),
        What::Latency(options) => latency::run(&options),
        What::Counts(options) => counts::run(&options),
        What::Models => models::run(),
        What::Frames(options) => frames::run(&options),
        What::Kernels => kernels::run(),
        What::Search(options) => search::run(&options),
        What::Service(options) => service::run(&options),
    }
}
