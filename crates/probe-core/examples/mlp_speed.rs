//! Rows scored per second on one thread, against a plain loop over the same weights.
//!
//! `cargo run --release -p probe-core --example mlp_speed`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use probe_core::{Activation, Dense, Mlp, Model, Purpose, Result, Rows, Seed};
use std::time::Instant;

fn network(widths: &[usize]) -> Result<Mlp> {
    let mut stream = Seed(0).stream(Purpose::Data, 0);
    let mut layer = |pair: &[usize]| Dense {
        weight: (0..pair[0] * pair[1]).map(|_| stream.normal() / (pair[0] as f64).sqrt()).collect(),
        bias: vec![0.1; pair[1]],
    };
    Mlp::new(widths.windows(2).map(&mut layer).collect(), Activation::Relu, 0.0)
}

/// As one would write it down: a sum per unit, a row after the other.
fn plain(model: &Mlp, x: Rows<'_>, out: &mut [f64]) {
    for (row, score) in x.iter().zip(out) {
        let mut values = row.to_vec();
        for layer in model.hidden() {
            let unit = |j: usize| {
                let sum: f64 = layer.row(j).iter().zip(&values).map(|(w, v)| w * v).sum();
                (sum + layer.bias()[j]).max(0.0)
            };
            values = (0..layer.n_out()).map(unit).collect();
        }
        let (weights, bias) = model.output();
        *score = weights.iter().zip(&values).map(|(w, v)| w * v).sum::<f64>() + bias;
    }
}

/// Best seconds of five.
fn best(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let started = Instant::now();
        run();
        started.elapsed().as_secs_f64()
    };
    (0..5).map(time).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<()> {
    println!("{:<18} {:>14} {:>14} {:>7} {:>8}", "layers", "rows/s", "plain rows/s", "ratio", "GFLOP/s");
    for widths in [&[20, 50, 2][..], &[10, 50, 2], &[100, 256, 256, 2]] {
        let model = network(widths)?;
        let flops: usize = model.layers().iter().map(|layer| 2 * layer.weight().len()).sum();
        let n = (200_000_000 / flops).max(1000);
        let mut stream = Seed(1).stream(Purpose::Data, 0);
        let x: Vec<f64> = (0..n * widths[0]).map(|_| stream.uniform()).collect();
        let (x, mut scores) = (Rows::new(&x, widths[0])?, vec![0.0; n]);
        let mut failed = Ok(());
        let ours = best(|| failed = model.score_batch(x, &mut scores));
        failed?;
        let mut check = vec![0.0; n];
        let loops = best(|| plain(&model, x, &mut check));
        let gap = scores.iter().zip(&check).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-10, "the two disagree by {gap}");
        println!(
            "{:<18} {:>14.0} {:>14.0} {:>7.1} {:>8.1}",
            format!("{widths:?}"),
            n as f64 / ours,
            n as f64 / loops,
            loops / ours,
            (n * flops) as f64 / ours * 1e-9
        );
    }
    Ok(())
}
