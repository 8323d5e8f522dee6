//! Short measurements of speed and memory, for everyday work on the engine, and what all
//! measurements share. Long studies, comparisons with other programs and the report writer are in
//! the workspace `benches`.

#![allow(missing_docs, reason = "only the two bench programs use this crate")]

pub mod clock;
pub mod counts;
pub mod folders;
pub mod frames;
pub mod generated;
pub mod kernels;
pub mod latency;
pub mod library;
pub mod models;
pub mod part;
pub mod process;
pub mod python;
pub mod search;
pub mod service;
pub mod stats;
pub mod stream;
pub mod subjects;
pub mod throughput;

/// Prints a line of the result.
pub fn say(text: &str) {
    use std::io::Write as _;
    // A closed stdout is ignored.
    let _ = writeln!(std::io::stdout(), "{text}");
}
