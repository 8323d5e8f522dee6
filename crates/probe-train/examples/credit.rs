//! The built-in data set from a bird's eye: a few applicants, the model that is fitted to them, and
//! how good it is.
//!
//! `cargo run --release -p probe-train --example credit [ROWS [SEED]]`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::Seed;
use probe_train::{FitParams, Result, credit, fit_model};
use std::time::Instant;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>().ok());
    let n = arguments.next().flatten().map_or(credit::DEFAULT_ROWS, |n| n as usize);
    let seed = Seed(arguments.next().flatten().unwrap_or(0));
    let data = credit::generate(n, seed);
    for row in 0..n.min(5) {
        println!("{:>3} {:?}", data.approved_text(row), data.person(row));
    }

    let started = Instant::now();
    let trained =
        fit_model(&data.labelled()?, Some(&credit::schema()), &FitParams::default(), seed)?;
    let seconds = started.elapsed().as_secs_f64();

    println!("\n{:<21} {:>10} {:>10} {:>8}", "feature", "low", "high", "weight");
    let weights = trained.model.as_linear().map_or(&[][..], |linear| linear.weights());
    for (feature, weight) in trained.schema.features.iter().zip(weights) {
        let [low, high] = feature.range.unwrap_or_default();
        println!("{:<21} {low:>10} {high:>10} {weight:>8.3}", feature.name);
    }
    let report = &trained.report;
    println!(
        "\n{:.1} % approved; {} Newton steps, {seconds:.3} s",
        100.0 * report.share_favourable,
        report.iterations
    );
    for (part, metrics) in [("train", Some(report.train)), ("test", report.test)] {
        if let Some(m) = metrics {
            let (auc, balanced) =
                (m.auc.unwrap_or(f64::NAN), m.balanced_accuracy.unwrap_or(f64::NAN));
            println!(
                "{part:<5} AUC {auc:.3}, accuracy {:.3}, \
                 balanced accuracy {balanced:.3}, log loss {:.3}",
                m.accuracy, m.log_loss
            );
        }
    }
    Ok(())
}
