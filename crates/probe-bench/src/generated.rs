//! Models and people without data: what sizes are varied on.

use anyhow::{Context as _, Result};
use probe_core::model::{Tree, TreeRules};
use probe_core::{
    Activation, Dense, Engine, Linear, Mlp, Model, Purpose, Rows, Seed, Setup, Trees,
};
use probe_train::{BoostedParams, BoostedTrainer};
use std::sync::Arc;

const SEED: Seed = Seed(10);
pub const SIGMA: f64 = 0.1;
/// People behind the cut-off of a model.
const JUDGED: usize = 1_001;

/// A network of random weights that denies half of the people: features, hidden units layer by
/// layer, and two outputs.
pub fn network(widths: &[usize]) -> Result<Mlp> {
    let layers = || {
        let mut stream = SEED.stream(Purpose::Data, 1);
        let mut layer = |pair: &[usize]| Dense {
            weight: (0..pair[0] * pair[1])
                .map(|_| stream.normal() / (pair[0] as f64).sqrt())
                .collect(),
            bias: vec![0.1; pair[1]],
        };
        widths.windows(2).map(&mut layer).collect()
    };
    let threshold = middle(&Mlp::new(layers(), Activation::Relu, 0.0)?)?;
    Ok(Mlp::new(layers(), Activation::Relu, threshold)?)
}

/// A linear score of random weights that denies half of the people.
pub fn linear(d: usize) -> Result<Linear> {
    let mut stream = SEED.stream(Purpose::Data, 2);
    let weights: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
    let threshold = middle(&Linear::new(weights.clone(), 0.0, 0.0)?)?;
    Ok(Linear::new(weights, 0.0, threshold)?)
}

/// Boosting of so many trees, fitted to what a network of random weights decides.
pub fn boosted(trees: usize, d: usize) -> Result<Trees> {
    const ROWS: usize = 4_000;
    let teacher = network(&[d, 20, 2])?;
    let mut stream = SEED.stream(Purpose::Data, 3);
    let x: Vec<f64> = (0..ROWS * d).map(|_| stream.uniform()).collect();
    let mut scores = vec![0.0; ROWS];
    teacher.score_batch(Rows::new(&x, d)?, &mut scores)?;
    let favourable: Vec<bool> = scores.iter().map(|score| *score > 0.0).collect();
    let trainer = BoostedTrainer::new(BoostedParams { trees, ..BoostedParams::default() });
    let fit = trainer.map_err(probe_train::Error::from)?.fit(
        Rows::new(&x, d)?,
        &names(d),
        &favourable,
        SEED,
    )?;
    Ok(fit.model)
}

/// Complete trees of random cuts, whose leaves are the higher the more of the path leads to larger
/// values. Made without training.
pub fn complete_trees(n: usize, depth: u32, d: usize) -> Result<Trees> {
    let mut stream = SEED.stream(Purpose::Data, 4);
    let inner = 2_usize.pow(depth) - 1;
    let trees = (0..n).map(|_| {
        let nodes = 2 * inner + 1;
        let child = |i: usize, k: usize| if i < inner { (2 * i + k) as i64 } else { -1 };
        let mut value = vec![0.0; nodes];
        (1..nodes)
            .for_each(|i| value[i] = value[(i - 1) / 2] + if i % 2 == 0 { 0.1 } else { -0.1 });
        Tree {
            feature: (0..nodes).map(|_| stream.below(d)).collect(),
            threshold: (0..nodes).map(|_| 0.2 + 0.6 * stream.uniform()).collect(),
            left: (0..nodes).map(|i| child(i, 1)).collect(),
            right: (0..nodes).map(|i| child(i, 2)).collect(),
            value,
            default_left: vec![],
        }
    });
    Ok(Trees::new(d, trees.collect(), TreeRules::default(), 0.0)?)
}

fn names(d: usize) -> Vec<String> {
    (0..d).map(|j| format!("x{j}")).collect()
}

/// The middle of the scores.
fn middle(model: &dyn Model) -> Result<f64> {
    let d = model.n_features();
    let mut stream = SEED.stream(Purpose::Data, 5);
    let x: Vec<f64> = (0..JUDGED * d).map(|_| stream.uniform()).collect();
    let mut scores = vec![0.0; JUDGED];
    model.score_batch(Rows::new(&x, d)?, &mut scores)?;
    Ok(crate::stats::median(&mut scores))
}

/// So many people whom the model denies, row after row.
pub fn denied(model: &dyn Model, n: usize) -> Result<Vec<f64>> {
    let d = model.n_features();
    let mut stream = SEED.stream(Purpose::Data, 6);
    let mut people = Vec::with_capacity(n * d);
    let mut person = vec![0.0; d];
    for _ in 0..1_000 * (n + 10) {
        if people.len() == n * d {
            return Ok(people);
        }
        person.fill_with(|| stream.uniform());
        if model.score(&person)? <= 0.0 {
            people.extend_from_slice(&person);
        }
    }
    (people.len() == n * d).then_some(people).context("the model denies hardly anybody")
}

/// An engine for a model: every column free, noise on all of them, l1 cost.
pub fn engine(model: Arc<dyn Model>, r: f64) -> Result<Engine> {
    let names = names(model.n_features());
    let mut setup = Setup::new(model, names, None, SIGMA)?;
    setup.max_rate = r;
    Ok(Engine::new(setup)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_deny_about_half_and_those_whom_they_should() {
        let models: [Box<dyn Model>; 2] =
            [Box::new(network(&[6, 10, 10, 2]).unwrap()), Box::new(linear(6).unwrap())];
        for model in models {
            let mut stream = Seed(77).stream(Purpose::Data, 0);
            let x: Vec<f64> = (0..6 * 2_000).map(|_| stream.uniform()).collect();
            let no = x.chunks_exact(6).filter(|row| model.score(row).unwrap() <= 0.0).count();
            assert!((800..1_200).contains(&no), "{no}");
            let people = denied(&*model, 50).unwrap();
            assert!(people.chunks_exact(6).all(|row| model.score(row).unwrap() <= 0.0));
        }
    }

    #[test]
    fn leaves_are_higher_the_more_values_are_above_their_cuts() {
        let trees = complete_trees(3, 2, 4).unwrap();
        // All the way right: 0.1 for each of two steps, in each of three trees.
        assert!((trees.score(&[1.0; 4]).unwrap() - 0.6).abs() < 1e-12);
        assert!((trees.score(&[0.0; 4]).unwrap() + 0.6).abs() < 1e-12);
    }
}
