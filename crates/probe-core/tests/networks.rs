//! Networks: line sampling against plain sampling, and recourse whose rate somebody else would measure.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use probe_core::{
    Activation, Covariance, Dense, Engine, Estimate, Gaussian, InvalidationRate, LineSampling, Mlp, Model,
    MonteCarlo, NoiseOn, Purpose, Query, Reason, Rows, Seed, Setup, Status, Stream,
};
use rayon::prelude::*;
use std::sync::Arc;

const ACTIVATIONS: [Activation; 7] = [
    Activation::Relu,
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::Gelu,
    Activation::Silu,
    Activation::Softplus,
    Activation::LeakyRelu,
];

/// A random network with the given widths; its score is shifted to be `score` at zero.
fn network(widths: &[usize], activation: Activation, stream: &mut Stream, score: f64) -> Mlp {
    let layer = |pair: &[usize], stream: &mut Stream| Dense {
        weight: (0..pair[0] * pair[1]).map(|_| stream.normal() * (2.0 / pair[0] as f64).sqrt()).collect(),
        bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect(),
    };
    let layers: Vec<Dense> = widths.windows(2).map(|pair| layer(pair, stream)).collect();
    let plain = Mlp::new(layers.clone(), activation, 0.0).unwrap();
    let at_zero = plain.score(&vec![0.0; widths[0]]).unwrap();
    Mlp::new(layers, activation, at_zero - score).unwrap()
}

fn estimate(
    rate: &dyn InvalidationRate,
    model: &Mlp,
    noise: &Gaussian,
    point: &[f64],
    seed: u64,
) -> Estimate {
    let active = vec![true; point.len()];
    let query = Query { model, noise, active: &active, point };
    rate.estimate(&query, 0.99, &mut Seed(seed).stream(Purpose::Rate, 1)).unwrap()
}

#[test]
fn lines_agree_with_plain_samples_for_all_activations_and_depths() {
    let shapes: [&[usize]; 4] = [&[4, 12, 1], &[4, 10, 8, 1], &[4, 8, 8, 6, 2], &[3, 6, 6, 6, 6, 1]];
    let cases: Vec<(usize, &[usize], Activation)> = ACTIVATIONS
        .iter()
        .flat_map(|&a| shapes.iter().map(move |&s| (s, a)))
        .enumerate()
        .map(|(i, (s, a))| (i, s, a))
        .collect();
    cases.par_iter().for_each(|&(i, shape, activation)| {
        let mut stream = Seed(20).stream(Purpose::Data, i as u64);
        let model = network(shape, activation, &mut stream, 0.1);
        let d = shape[0];
        let noise = match i % 3 {
            0 => Gaussian::isotropic(d, 0.3).unwrap(),
            1 => Gaussian::new(vec![0.05; d], Covariance::Diagonal((0..d).map(|j| 0.1 * j as f64).collect()))
                .unwrap(),
            _ => {
                let a: Vec<f64> = (0..d * d).map(|_| 0.2 * stream.normal()).collect();
                let full =
                    (0..d * d).map(|k| (0..d).map(|m| a[k / d * d + m] * a[k % d * d + m]).sum()).collect();
                Gaussian::new(vec![0.0; d], Covariance::Full(full)).unwrap()
            }
        };
        let point: Vec<f64> = (0..d).map(|_| 0.2 * stream.normal()).collect();
        let lines = estimate(&LineSampling { lines: 4_000 }, &model, &noise, &point, 1);
        let plain = estimate(&MonteCarlo { samples: 200_000 }, &model, &noise, &point, 2);
        let error = (lines.std_error.powi(2) + plain.std_error.powi(2)).sqrt();
        assert!(
            (lines.rate - plain.rate).abs() <= 4.0 * error + 1e-12,
            "{activation:?} {shape:?}: {lines:?} {plain:?}"
        );
        assert!(lines.lower <= plain.upper && plain.lower <= lines.upper);
    });
}

#[test]
fn a_line_is_worth_many_plain_samples() {
    let mut stream = Seed(3).stream(Purpose::Data, 0);
    let model = network(&[20, 50, 2], Activation::Relu, &mut stream, 0.3);
    let noise = Gaussian::isotropic(20, 0.1).unwrap();
    let point = vec![0.0; 20];
    let lines = estimate(&LineSampling { lines: 1_000 }, &model, &noise, &point, 1);
    let plain_variance = lines.rate * (1.0 - lines.rate) / 1_000.0;
    assert!(plain_variance / lines.std_error.powi(2) > 20.0, "{lines:?}");
}

/// A network that turned some people down, and those people.
fn denied(n: usize) -> (Arc<Mlp>, Vec<f64>) {
    let d = 8;
    let mut stream = Seed(9).stream(Purpose::Data, 0);
    let model = network(&[d, 20, 2], Activation::Relu, &mut stream, -0.4);
    let mut people = Vec::new();
    while people.len() < n * d {
        let person: Vec<f64> = (0..d).map(|_| 0.4 * stream.normal()).collect();
        if model.score(&person).unwrap() <= 0.0 {
            people.extend(person);
        }
    }
    (Arc::new(model), people)
}

fn setup(model: &Arc<Mlp>, max_rate: f64) -> Setup {
    let names = (0..model.n_features()).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(model.clone(), names, None, 0.1).unwrap();
    setup.max_rate = max_rate;
    setup
}

#[test]
fn certified_answers_hold_when_somebody_else_samples() {
    let (model, people) = denied(24);
    let d = model.n_features();
    for max_rate in [0.35, 0.1] {
        let engine = Engine::new(setup(&model, max_rate)).unwrap();
        let answers = engine.recourse(Rows::new(&people, d).unwrap()).unwrap();
        let certified: Vec<_> = answers.iter().filter(|a| a.status == Status::Certified).collect();
        assert!(certified.len() >= 23, "r {max_rate}: {} of 24 certified", certified.len());
        let mut mean = 0.0;
        for answer in &certified {
            assert!(answer.rate_upper <= max_rate && answer.cost.unwrap() > 0.0);
            assert!(model.score(&answer.point).unwrap() > 0.0);
            // 200,000 plain samples: more than four standard errors above r would be a broken promise.
            let audit = engine.rate(&answer.point, None, &MonteCarlo { samples: 200_000 }).unwrap();
            assert!(audit.rate <= max_rate + 4.0 * audit.std_error, "{} > {max_rate}", audit.rate);
            mean += audit.rate / certified.len() as f64;
        }
        assert!(mean >= 0.85 * max_rate, "r {max_rate}: mean rate {mean} is needlessly low");
    }
}

#[test]
fn limits_are_kept_and_hopeless_people_hear_why() {
    let (model, people) = denied(12);
    let d = model.n_features();
    let rows = Rows::new(&people, d).unwrap();
    let mut bounded = setup(&model, 0.2);
    bounded.actions.fix(0);
    bounded.actions.intersect(-1.0, 1.0).unwrap();
    bounded.actions = bounded.actions.clone().with_max_changes(Some(2));
    bounded.noise_on = NoiseOn::Mutable;
    let engine = Engine::new(bounded).unwrap();
    for (person, answer) in rows.iter().zip(engine.recourse(rows).unwrap()) {
        assert!(answer.changed <= 2 && answer.point[0] == person[0]);
        assert!(engine.setup().actions.violations(person, &answer.point).is_empty());
        assert_eq!(answer.reason.is_none(), answer.status == Status::Certified);
    }
    let mut stuck = setup(&model, 0.2);
    (0..d).for_each(|j| stuck.actions.fix(j));
    let answers = Engine::new(stuck).unwrap().recourse(rows).unwrap();
    assert!(answers.iter().all(|a| a.status == Status::None && a.reason == Some(Reason::NoAdmissibleMove)));
    // A dead network: no gradient anywhere, refused everywhere.
    let dead = Dense { weight: vec![0.0; 3 * d], bias: vec![-1.0; 3] };
    let out = Dense { weight: vec![1.0; 3], bias: vec![-1.0] };
    let dead = Arc::new(Mlp::new(vec![dead, out], Activation::Relu, 0.0).unwrap());
    let answers = Engine::new(setup(&dead, 0.2)).unwrap().recourse(rows).unwrap();
    assert!(answers.iter().all(|a| a.status == Status::None && a.reason.is_some() && a.rate == 1.0));
}

#[test]
fn the_same_bits_on_one_thread_and_two() {
    let (model, people) = denied(10);
    let engine = Engine::new(setup(&model, 0.2)).unwrap();
    let rows = Rows::new(&people, model.n_features()).unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| engine.recourse(rows).unwrap())
    };
    assert_eq!(run(1), run(2));
}
