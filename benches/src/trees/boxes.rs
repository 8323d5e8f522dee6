//! Exact rates of large ensembles of trees against Monte Carlo, on one thread.

use anyhow::Result;
use probe_bench::clock::best_of;
use probe_core::model::{Aggregate, Tree, TreeRules};
use probe_core::{
    Exact, Gaussian, InvalidationRate as _, MonteCarlo, Purpose, Query, Seed, Stream, Trees,
};

const FEATURES: usize = 10;
const POINTS: usize = 20;

pub(super) fn table() -> Result<String> {
    let mut text = "Random trees on 10 features, one thread, noise of deviation 0.1 on some of \
                    them, best of 3; means over 20 points.\n\n\
                    | trees | noisy features | ms a point | slowest | exact | widest interval | \
                    10,000 draws, ms |\n|---|---|---|---|---|---|---|\n"
        .to_owned();
    let noise = Gaussian::isotropic(FEATURES, 0.1)?;
    for (name, depth, aggregate) in [
        ("forest, 100 of depth 6", 6, Aggregate::Mean),
        ("forest by vote, 100 of depth 6", 6, Aggregate::Vote),
        ("boosting, 100 of depth 4", 4, Aggregate::Sum),
    ] {
        let mut stream = Seed(3).stream(Purpose::Data, depth as u64);
        let rules = TreeRules { aggregate, ..TreeRules::default() };
        let trees = (0..100).map(|_| random_tree(depth, aggregate, &mut stream)).collect();
        let model = Trees::new(FEATURES, trees, rules, 0.0)?;
        let points: Vec<Vec<f64>> =
            (0..POINTS).map(|_| (0..FEATURES).map(|_| stream.normal()).collect()).collect();
        for noisy in 1..=4 {
            let (mut total, mut slowest, mut closed, mut widest, mut drawn) =
                (0.0, 0.0_f64, 0, 0.0_f64, 0.0);
            for (i, point) in points.iter().enumerate() {
                let active: Vec<bool> = (0..FEATURES).map(|j| (j + i) % FEATURES < noisy).collect();
                let query = Query { model: &model, noise: &noise, active: &active, point };
                let ask =
                    |stream: &mut Stream| Exact { boxes: 1 << 18 }.estimate(&query, 0.95, stream);
                let found = ask(&mut stream)?;
                let took = best_of(3, || ask(&mut stream).map(|_| ()).map_err(Into::into))?;
                total += took;
                slowest = slowest.max(took);
                closed += usize::from(found.exact);
                widest = widest.max(found.upper - found.lower);
                let sampling = MonteCarlo { samples: 10_000 };
                drawn += best_of(1, || {
                    sampling.estimate(&query, 0.95, &mut stream).map(|_| ()).map_err(Into::into)
                })?;
            }
            let mean = |seconds: f64| 1e3 * seconds / POINTS as f64;
            text += &format!(
                "| {name} | {noisy} | {:.3} | {:.3} | {closed} of {POINTS} | \
                 {widest:.0e} | {:.1} |\n",
                mean(total),
                1e3 * slowest,
                mean(drawn)
            );
        }
    }
    Ok(text)
}

/// A full tree with cuts where people are, whose leaves follow a linear score of the cuts on their
/// way, roughly.
fn random_tree(depth: usize, aggregate: Aggregate, stream: &mut Stream) -> Tree {
    let mut tree = Tree::default();
    grow(depth, 0.0, aggregate, stream, &mut tree);
    tree
}

fn grow(
    depth: usize,
    lean: f64,
    aggregate: Aggregate,
    stream: &mut Stream,
    tree: &mut Tree,
) -> i64 {
    let at = tree.left.len();
    let (feature, threshold) = (stream.below(FEATURES), stream.normal());
    tree.feature.push(feature);
    tree.threshold.push(threshold);
    tree.left.push(-1);
    tree.right.push(-1);
    let score = lean + 0.3 * stream.normal();
    tree.value.push(match aggregate {
        Aggregate::Sum => 0.1 * score,
        Aggregate::Mean | Aggregate::Vote => 1.0 / (1.0 + (-score).exp()),
    });
    if depth > 0 {
        // Weights of alternating sign, smaller for later features.
        let weight = if feature % 2 == 0 { 1.0 } else { -1.0 } / (1.0 + feature as f64 / 3.0);
        tree.left[at] = grow(depth - 1, lean - weight, aggregate, stream, tree);
        tree.right[at] = grow(depth - 1, lean + weight, aggregate, stream, tree);
    }
    at as i64
}
