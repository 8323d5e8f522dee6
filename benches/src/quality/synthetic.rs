//! Small models of two to four numbers between 0 and 1, trained on random rules.

use super::problem::Problem;
use super::subject::{Case, Half};
use anyhow::Result;
use probe_core::{Activation, Model, Purpose, Rows, Seed, Setup, Stream};
use probe_train::{
    BoostedParams, BoostedTrainer, ForestParams, ForestTrainer, MlpParams, MlpTrainer,
};
use std::sync::Arc;

/// Models of a kind, and rows that each is trained on.
const MODELS: usize = 12;
const ROWS: usize = 600;
/// Among so many random people the denied ones are looked for.
const PEOPLE: usize = 2_000;
const SIGMAS: [f64; 2] = [0.1, 0.05];
/// Names the streams of these models among those of [`Purpose::Data`].
const STREAM: u64 = 0x73_6d61_6c6c;

/// Kinds of small models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Forest,
    Boosted,
    Network,
}

/// All models of a kind, each with its share of the people.
pub(super) fn cases(kind: Kind, half: Half, people: usize) -> Result<Vec<Case>> {
    let n = MODELS.min(people.max(1));
    let share = |i: usize| people * (i + 1) / n - people * i / n;
    (0..n).map(|i| case(kind, i, (half, share(i)))).collect()
}

fn case(kind: Kind, number: usize, which: (Half, usize)) -> Result<Case> {
    let d = 2 + number % 3;
    let sigma = SIGMAS[number / 3 % SIGMAS.len()];
    let mut stream = Seed(0).stream(Purpose::Data, STREAM + 1_000 * kind as u64 + number as u64);
    let rule = Rule::new(d, &mut stream);
    let points = |n: usize, stream: &mut Stream| -> Vec<Vec<f64>> {
        (0..n).map(|_| (0..d).map(|_| stream.uniform()).collect()).collect()
    };
    let rows = points(ROWS, &mut stream);
    let mut values: Vec<f64> = rows.iter().map(|row| rule.value(row)).collect();
    let mut order = values.clone();
    order.sort_by(f64::total_cmp);
    // About a third is favourable.
    let cut = order[ROWS * 13 / 20];
    values.iter_mut().for_each(|value| *value -= cut);
    let favourable: Vec<bool> = values.iter().map(|value| *value > 0.0).collect();
    let names: Vec<String> = (0..d).map(|j| format!("x{j}")).collect();
    let model = train(kind, number, &names, (&rows.concat(), &favourable))?;
    let mut setup = Setup::new(Arc::clone(&model), names, None, sigma)?;
    setup.actions.intersect(0.0, 1.0)?;
    let problem = Problem::free(model, sigma, Some((0.0, 1.0)));
    let people = points(PEOPLE, &mut stream);
    Case::new(format!("{kind:?} {number}"), (problem, setup), &people, which)
}

fn train(
    kind: Kind,
    number: usize,
    names: &[String],
    (x, favourable): (&[f64], &[bool]),
) -> Result<Arc<dyn Model>> {
    let (rows, seed) = (Rows::new(x, names.len())?, Seed(number as u64));
    Ok(match kind {
        Kind::Forest => {
            let (trees, depth) = ([2, 5, 10, 20][number % 4], 3 + number % 3);
            let params = ForestParams { trees, depth, ..ForestParams::default() };
            Arc::new(ForestTrainer::new(params)?.fit(rows, names, favourable, seed)?)
        }
        Kind::Boosted => {
            let (trees, depth) = ([5, 10, 20, 40][number % 4], 2 + number % 3);
            let params = BoostedParams {
                trees,
                depth,
                bins: 24,
                learning_rate: 0.3,
                ..BoostedParams::default()
            };
            Arc::new(BoostedTrainer::new(params)?.fit(rows, names, favourable, seed)?.model)
        }
        Kind::Network => {
            let activations =
                [Activation::Relu, Activation::Tanh, Activation::Gelu, Activation::Sigmoid];
            let layers = 1 + number % 4;
            let params = MlpParams {
                hidden: vec![if layers == 1 { 16 } else { 8 }; layers],
                activation: activations[number / 2 % 4],
                epochs: 150,
                batch: 32,
                learning_rate: 0.01,
                patience: 0,
                ..MlpParams::default()
            };
            Arc::new(MlpTrainer::new(params)?.fit(rows, names, favourable, seed)?.model)
        }
    })
}

/// A random smooth function.
struct Rule {
    /// Direction, phase and height of waves.
    waves: Vec<(Vec<f64>, f64, f64)>,
}

impl Rule {
    fn new(d: usize, stream: &mut Stream) -> Self {
        let wave = |stream: &mut Stream| {
            let direction = (0..d).map(|_| 5.0 * stream.normal()).collect();
            (direction, 6.3 * stream.uniform(), stream.normal())
        };
        Self { waves: (0..5).map(|_| wave(stream)).collect() }
    }

    fn value(&self, row: &[f64]) -> f64 {
        let wave = |(direction, phase, height): &(Vec<f64>, f64, f64)| {
            let at: f64 = direction.iter().zip(row).map(|(w, x)| w * x).sum();
            height * (at + phase).sin()
        };
        self.waves.iter().map(wave).sum()
    }
}
