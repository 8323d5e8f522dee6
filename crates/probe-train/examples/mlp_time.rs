//! How long a network takes to train, and how good it gets.
//!
//! `cargo run --release -p probe-train --example mlp_time [ROWS [COLUMNS [EPOCHS]]]`, by default
//! 10,000, 20 and 20.

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{Purpose, Rows, Seed};
use probe_train::{MlpParams, MlpTrainer, Result};
use std::time::Instant;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>().ok());
    let mut next = |default: usize| arguments.next().flatten().unwrap_or(default);
    let (n, n_cols, epochs) = (next(10_000), next(20), next(20));
    let names: Vec<String> = (0..n_cols).map(|j| format!("x{j}")).collect();
    let mut stream = Seed(0).stream(Purpose::Data, 0);
    let x: Vec<f64> = (0..n * n_cols).map(|_| stream.uniform()).collect();
    // E (u - 0.3) u = 1/3 - 0.15 for uniform u: half of the rows are favourable.
    let mean = (1.0 / 3.0 - 0.15) * n_cols as f64;
    let mut favourable = Vec::with_capacity(n);
    for row in Rows::new(&x, n_cols)?.iter() {
        favourable
            .push(row.iter().map(|v| (v - 0.3) * v).sum::<f64>() + 0.3 * stream.normal() > mean);
    }
    let trainer = MlpTrainer::new(MlpParams { epochs, patience: 0, ..MlpParams::default() })?;
    let started = Instant::now();
    let fit = trainer.fit(Rows::new(&x, n_cols)?, &names, &favourable, Seed(0))?;
    let seconds = started.elapsed().as_secs_f64();
    let loss = |at: usize| fit.history.get(at).map_or(f64::NAN, |epoch| epoch.loss);
    println!(
        "{n} rows × {n_cols} columns, {epochs} epochs: {seconds:.3} s, loss {:.3} → {:.3}",
        loss(0),
        loss(fit.history.len() - 1)
    );
    Ok(())
}
