//! How far from what the machine can do: the arithmetic of an answer for a network against a
//! matrix product, sampled rates against noise and scores alone, and files against reading numbers
//! from memory. What lies between is found by leaving parts out.

mod network;
mod sampling;
mod table;

use anyhow::Result;
use probe_bench::part::{BENCHMARKS, Figures, Part};
use probe_bench::say;
use std::path::PathBuf;

/// Options of `probe-bench limits`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// People scored by each network
    #[arg(long, default_value_t = 500)]
    people: usize,
    /// People in the file
    #[arg(long, default_value_t = 300_000)]
    rows: usize,
    /// The `probe` command
    #[arg(long, default_value = "target/release/probe")]
    probe: PathBuf,
    /// A look at a tenth of the people; nothing is written
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let share = if options.quick { 10 } else { 1 };
    let product = network::product()?;
    let networks = network::measure((options.people / share).max(20))?;
    let sampled = sampling::measure(if options.quick { 5 } else { 30 })?;
    let table = table::measure(&options.probe, (options.rows / share).max(1_000))?;
    let text =
        [network::render(&networks, product), sampling::render(&sampled), table::render(&table)]
            .join("\n");
    say(&text);
    if options.quick {
        return Ok(());
    }
    let mut figures = Figures::new();
    network::quote(&networks, product, &mut figures);
    sampling::quote(&sampled, &mut figures);
    table::quote(&table, &mut figures);
    Part {
        id: "limits".into(),
        command: "limits".into(),
        document: BENCHMARKS.into(),
        title: Some("Limits of the machine".into()),
        text,
        figures,
        ..Part::default()
    }
    .store()
}
