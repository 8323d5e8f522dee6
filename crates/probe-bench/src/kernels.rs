//! Scoring rows in batches: our loops against the same layers by a maintained matrix product
//! (`matrixmultiply`) and against plain loops, on one thread.

use crate::clock::best_of;
use crate::say;
use anyhow::{Result, ensure};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use probe_core::{Activation, Dense, Mlp, Model as _, Purpose, Rows, Seed};

const SHAPES: [&[usize]; 3] = [&[20, 50, 2], &[10, 50, 2], &[100, 256, 256, 2]];
/// Rows that the product takes at a time, the best of a few that were tried: small enough to stay
/// in cache.
const BLOCKS: [usize; 4] = [64, 256, 1024, 4096];

pub fn run() -> Result<()> {
    say("scoring rows in batches, one thread, best of 40 in turns; \
         the product with the best of its block sizes\n");
    say("| layers | ns per row | GFLOP/s | matrix product, ns | ratio | plain loops, ns | ratio |");
    say("|---|---|---|---|---|---|---|");
    for widths in SHAPES {
        let model = network(widths)?;
        let flops: usize = model.layers().iter().map(|layer| 2 * layer.weight().len()).sum();
        let n = (40_000_000 / flops).max(4096);
        let mut stream = Seed(1).stream(Purpose::Data, 0);
        let x: Vec<f64> = (0..n * widths[0]).map(|_| stream.uniform()).collect();
        let mut scores = vec![0.0; n];
        let product = Product::of(&model)?;
        let view = ArrayView2::from_shape((n, widths[0]), &x)?;
        let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
        let mut check = vec![0.0; n];
        // In turns, so that other work on the machine meets both.
        for _ in 0..5 {
            ours = ours.min(best_of(8, || {
                Ok(model.score_batch(Rows::new(&x, widths[0])?, &mut scores)?)
            })?);
            for block in BLOCKS {
                theirs = theirs.min(best_of(2, || {
                    product.score(view, block, &mut check);
                    Ok(())
                })?);
            }
        }
        let mut loops = vec![0.0; n];
        let plainly = best_of(3, || {
            plain(&model, view, &mut loops);
            Ok(())
        })?;
        let others = check.iter().zip(&loops);
        let gap = scores.iter().zip(others).map(|(s, (a, b))| (s - a).abs().max((s - b).abs()));
        let gap = gap.fold(0.0, f64::max);
        ensure!(gap < 1e-10, "the two disagree by {gap}");
        let per_row = 1e9 / n as f64;
        say(&format!(
            "| {widths:?} | {:.1} | {:.1} | {:.1} | {:.2} | {:.1} | {:.2} |",
            ours * per_row,
            (n * flops) as f64 / ours * 1e-9,
            theirs * per_row,
            theirs / ours,
            plainly * per_row,
            plainly / ours
        ));
    }
    Ok(())
}

fn network(widths: &[usize]) -> Result<Mlp> {
    let mut stream = Seed(0).stream(Purpose::Data, 0);
    let mut layer = |pair: &[usize]| Dense {
        weight: (0..pair[0] * pair[1]).map(|_| stream.normal() / (pair[0] as f64).sqrt()).collect(),
        bias: vec![0.1; pair[1]],
    };
    Ok(Mlp::new(widths.windows(2).map(&mut layer).collect(), Activation::Relu, 0.0)?)
}

/// As one would write it down: a sum per unit, a row after the other.
fn plain(model: &Mlp, x: ArrayView2<'_, f64>, out: &mut [f64]) {
    for (row, score) in x.rows().into_iter().zip(out) {
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

/// The same network as matrices.
struct Product {
    hidden: Vec<(Array2<f64>, Array1<f64>)>,
    output: (Array1<f64>, f64),
}

impl Product {
    fn of(model: &Mlp) -> Result<Self> {
        let hidden = model
            .hidden()
            .iter()
            .map(|layer| {
                let weight =
                    Array2::from_shape_vec((layer.n_out(), layer.n_in()), layer.weight().to_vec())?;
                Ok((weight.reversed_axes(), Array1::from_vec(layer.bias().to_vec())))
            })
            .collect::<Result<_>>()?;
        let (weights, bias) = model.output();
        Ok(Self { hidden, output: (Array1::from_vec(weights.to_vec()), bias) })
    }

    fn score(&self, x: ArrayView2<'_, f64>, block: usize, out: &mut [f64]) {
        for (x, out) in x.axis_chunks_iter(Axis(0), block).zip(out.chunks_mut(block)) {
            let mut values: Option<Array2<f64>> = None;
            for (weight, bias) in &self.hidden {
                let input = values.as_ref().map_or(x, |values| values.view());
                let mut next = Array2::zeros((x.nrows(), bias.len()));
                for mut row in next.rows_mut() {
                    row.assign(bias);
                }
                ndarray::linalg::general_mat_mul(1.0, &input, weight, 1.0, &mut next);
                next.mapv_inplace(|v| v.max(0.0));
                values = Some(next);
            }
            let (weights, bias) = &self.output;
            let input = values.as_ref().map_or(x, |values| values.view());
            for (row, score) in input.rows().into_iter().zip(out) {
                *score = row.dot(weights) + bias;
            }
        }
    }
}
