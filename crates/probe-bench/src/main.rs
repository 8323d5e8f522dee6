//! What is claimed about speed and memory, measured side by side in one run: `cargo xtask bench`.
//!
//! Timings are the best of a few runs and are compared as ratios within this run; machines differ.

mod library;
mod stream;

use anyhow::Result;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Instant;

/// A line of the result.
pub(crate) fn say(text: &str) {
    // Nobody listening is not an error.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Best time of `n` runs, in seconds.
pub(crate) fn best_of(n: usize, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..n {
        let started = Instant::now();
        run()?;
        best = best.min(started.elapsed().as_secs_f64());
    }
    Ok(best)
}

fn main() -> Result<()> {
    let mut people = 1_000_000;
    let mut binary = PathBuf::from("target/release/probe");
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        match (flag.as_str(), arguments.next()) {
            ("--people", Some(n)) => people = n.parse()?,
            ("--probe", Some(path)) => binary = path.into(),
            _ => anyhow::bail!("usage: bench [--people N] [--probe PATH]"),
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    say(&format!("{cores} cores, {} build", if cfg!(debug_assertions) { "debug" } else { "release" }));
    library::run()?;
    stream::run(&binary, people)
}
