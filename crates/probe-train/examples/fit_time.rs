//! How long a logistic regression takes.
//!
//! `cargo run --release -p probe-train --example fit_time [ROWS [COLUMNS]]`, by default 100,000
//! and 20.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{Purpose, Rows, Seed};
use probe_train::{Logistic, LogisticParams, Result};
use std::time::Instant;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().ok());
    let n = arguments.next().flatten().unwrap_or(100_000);
    let n_cols = arguments.next().flatten().unwrap_or(20);
    let names: Vec<String> = (0..n_cols).map(|j| format!("x{j}")).collect();
    let mut stream = Seed(0).stream(Purpose::Data, 0);
    let x: Vec<f64> = (0..n * n_cols).map(|_| stream.normal()).collect();
    let mut favourable = Vec::with_capacity(n);
    for row in Rows::new(&x, n_cols)?.iter() {
        favourable.push(row.iter().sum::<f64>() + 2.0 * stream.normal() > 0.0);
    }
    let logistic = Logistic::new(LogisticParams::default())?;
    let started = Instant::now();
    let fit = logistic.fit(Rows::new(&x, n_cols)?, &names, &favourable)?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{n} rows × {n_cols} columns: {seconds:.3} s, {} steps, converged: {}",
        fit.iterations, fit.converged
    );
    Ok(())
}
