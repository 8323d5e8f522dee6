//! Networks and people that the tests share.

use probe_core::{Activation, Dense, Mlp, Model, Purpose, Rows, Seed, Setup, Stream};
use std::sync::Arc;

pub(crate) const ACTIVATIONS: [Activation; 7] = [
    Activation::Relu,
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::Gelu,
    Activation::Silu,
    Activation::Softplus,
    Activation::LeakyRelu,
];

/// A random network with the given widths; its score is shifted to be `score` at zero.
pub(crate) fn network(
    widths: &[usize],
    activation: Activation,
    stream: &mut Stream,
    score: f64,
) -> Mlp {
    let layer = |pair: &[usize], stream: &mut Stream| Dense {
        weight: (0..pair[0] * pair[1])
            .map(|_| stream.normal() * (2.0 / pair[0] as f64).sqrt())
            .collect(),
        bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect(),
    };
    let layers: Vec<Dense> = widths.windows(2).map(|pair| layer(pair, stream)).collect();
    let plain = Mlp::new(layers.clone(), activation, 0.0).unwrap();
    let at_zero = plain.score(&vec![0.0; widths[0]]).unwrap();
    Mlp::new(layers, activation, at_zero - score).unwrap()
}

/// A network of eight features that turned some people down, and those people.
pub(crate) fn denied(n: usize) -> (Arc<Mlp>, Vec<f64>) {
    let mut stream = Seed(9).stream(Purpose::Data, 0);
    let model = network(&[8, 20, 2], Activation::Relu, &mut stream, -0.4);
    let people = people_denied_by(&model, n, &mut stream);
    (Arc::new(model), people)
}

/// Random people whom `model` turned down.
pub(crate) fn people_denied_by(model: &Mlp, n: usize, stream: &mut Stream) -> Vec<f64> {
    let d = model.n_features();
    let mut people = Vec::new();
    while people.len() < n * d {
        let person: Vec<f64> = (0..d).map(|_| 0.4 * stream.normal()).collect();
        if model.score(&person).unwrap() <= 0.0 {
            people.extend(person);
        }
    }
    people
}

/// Every feature a free number, missed by 0.1 on all.
pub(crate) fn plain_setup(model: Arc<dyn Model>, max_rate: f64) -> Setup {
    let names = (0..model.n_features()).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(model, names, None, 0.1).unwrap();
    setup.max_rate = max_rate;
    setup
}

/// The share of `samples` noisy implementations of `point` that `model` rejects, with normal errors
/// of deviations `sd`, and its standard error. Draws, adds and counts by itself.
pub(crate) fn audit(
    model: &dyn Model,
    point: &[f64],
    sd: &[f64],
    samples: usize,
    seed: u64,
) -> (f64, f64) {
    const ROWS: usize = 500;
    let mut stream = Seed(seed).stream(Purpose::Data, 99);
    let d = point.len();
    let (mut rows, mut scores) = (vec![0.0; ROWS * d], vec![0.0; ROWS]);
    let mut accepted = 0;
    for _ in 0..samples / ROWS {
        for row in rows.chunks_exact_mut(d) {
            for j in 0..d {
                row[j] = point[j] + if sd[j] > 0.0 { sd[j] * stream.normal() } else { 0.0 };
            }
        }
        model.score_batch(Rows::new(&rows, d).unwrap(), &mut scores).unwrap();
        accepted += scores.iter().filter(|score| **score > 0.0).count();
    }
    let n = (samples / ROWS * ROWS) as f64;
    let rate = 1.0 - accepted as f64 / n;
    (rate, (rate * (1.0 - rate) / n).sqrt())
}
