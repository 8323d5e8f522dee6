//! Recourse for a network that may change: certified answers hold on independently drawn networks
//! and errors.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::noise::NoiseSpec;
use probe_core::{
    Activation, Answer, Dense, Engine, Mlp, Model, ModelShift, MonteCarlo, Purpose, Rows, Seed,
    Setup, Status, Stream,
};
use std::sync::Arc;

fn network() -> Mlp {
    let mut stream = Seed(2).stream(Purpose::Data, 0);
    let mut draw =
        |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| scale * stream.normal()).collect() };
    let hidden = Dense { weight: draw(4 * 8, 0.6), bias: draw(8, 0.3) };
    let output = Dense { weight: draw(8, 0.7), bias: vec![-0.6] };
    Mlp::new(vec![hidden, output], Activation::Relu, 0.0).unwrap()
}

#[test]
fn certified_answers_hold_for_newly_drawn_networks() {
    let model = network();
    let mut stream = Seed(3).stream(Purpose::Data, 0);
    let mut people = Vec::new();
    while people.len() < 4 * 6 {
        let person: Vec<f64> = (0..4).map(|_| 0.5 * stream.normal()).collect();
        if model.score(&person).unwrap() <= 0.0 {
            people.extend(person);
        }
    }
    let names = (0..4).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(Arc::new(model), names, None, 0.1).unwrap();
    setup.max_rate = 0.2;
    let fixed =
        Engine::new(setup.clone()).unwrap().recourse(Rows::new(&people, 4).unwrap()).unwrap();
    setup.shift = Some(ModelShift::Gaussian(0.03));
    let engine = Engine::new(setup).unwrap();
    let answers = engine.recourse(Rows::new(&people, 4).unwrap()).unwrap();
    assert!(answers.iter().filter(|a| a.status == Status::Certified).count() >= 5);
    let (mut expensive, mut cheap) = (0.0, 0.0);
    for (answer, fixed) in answers.iter().zip(&fixed).filter(|(a, _)| a.status == Status::Certified)
    {
        let audit = engine.rate(&answer.point, None, &MonteCarlo { samples: 40_000 }).unwrap();
        assert!(
            audit.rate <= 0.2 + 4.0 * audit.std_error,
            "{} with {}",
            audit.rate,
            audit.std_error
        );
        assert!(audit.rate >= 0.85 * 0.2, "too careful: {}", audit.rate);
        // 512 drawn networks: a mean of numbers in [0, 1] around 0.2 spreads by 0.4/√512 at most.
        let allowed = 4.0 * (0.4 / 512.0_f64.sqrt()).hypot(audit.std_error);
        assert!((answer.rate - audit.rate).abs() < allowed && answer.rate_upper <= 0.2);
        (expensive, cheap) = (expensive + answer.cost.unwrap(), cheap + fixed.cost.unwrap());
    }
    // More that can go wrong has its price.
    assert!(expensive > cheap, "{expensive} {cheap}");
}

#[test]
fn a_worst_case_over_networks_is_refused_by_name() {
    let names = (0..4).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(Arc::new(network()), names, None, 0.1).unwrap();
    setup.shift = Some(ModelShift::Bounded(0.1));
    let error = Engine::new(setup).err().unwrap().to_string();
    assert!(error.contains("bounded shift of a mlp model"), "{error}");
}

/// Finding 16 of an audit: rates under a model shift came from few networks shared by everybody,
/// with a standard deviation of 13 % between seeds that was not stated, and were cut off at r.
/// Whole networks are drawn here, weight by weight.
#[test]
fn finding_16_rates_under_a_shift_are_precise_and_state_their_error() {
    const R: f64 = 0.4;
    const SHARE: f64 = 0.05;
    const SEEDS: u64 = 8;
    const DRAWS: usize = 400_000;
    let model = network();
    let mut stream = Seed(4).stream(Purpose::Data, 0);
    // Two people who are accepted, the first of them clearly, and three who are not.
    let mut people: Vec<Vec<f64>> = Vec::new();
    while people.len() < 5 {
        let person: Vec<f64> = (0..4).map(|_| 0.5 * stream.normal()).collect();
        let score = model.score(&person).unwrap();
        let wanted = [0.10..0.14, 0.04..0.08, -0.5..-0.1, -0.5..-0.1, -0.9..-0.5];
        if wanted[people.len()].contains(&score) {
            people.push(person);
        }
    }
    let engine = |seed: u64| {
        let names = (0..4).map(|j| format!("x{j}")).collect();
        let mut setup = Setup::new(Arc::new(network()), names, None, 0.05).unwrap();
        let noise = NoiseSpec::parse("uniform:0.05").unwrap();
        setup.noise = noise.build(vec![0.05; 4]).unwrap();
        (setup.shift, setup.seed) = (Some(ModelShift::Relative(SHARE)), Seed(seed));
        setup.max_rate = R;
        Engine::new(setup).unwrap()
    };
    let rows: Vec<f64> = people.concat();
    let answers: Vec<Vec<Answer>> = (0..SEEDS)
        .map(|seed| engine(seed).recourse(Rows::new(&rows, 4).unwrap()).unwrap())
        .collect();
    let mut above = 0;
    for (k, (answer, seed)) in answers
        .iter()
        .zip(0..)
        .flat_map(|(all, seed)| all.iter().map(move |a| (a, seed)))
        .enumerate()
    {
        let error = answer.rate_std_error.unwrap();
        assert!(error <= 0.0151 * answer.rate.max(0.1 * R), "seed {seed}: {answer:?}");
        above += usize::from(answer.rate > R);
        assert!(answer.status == Status::Favourable || answer.rate_upper <= R, "{answer:?}");
        // One point of each seed, and the accepted people once.
        if k % 5 == seed % 5 || k < 2 {
            let (rate, own) = sampled_rate(&answer.point, SHARE, DRAWS, &mut stream);
            let off = (answer.rate - rate).abs();
            assert!(off <= 4.5 * error.hypot(own), "{off} with {error} and {own}, {answer:?}");
        }
    }
    for k in 0..2 {
        // Nobody moves, so that all seeds estimate the same rate, each with an error of 1.5 %. The
        // standard deviation of 8 estimates is at most twice theirs, but for one in 10,000.
        let rates: Vec<f64> = answers.iter().map(|all| all[k].rate).collect();
        let mean = rates.iter().sum::<f64>() / SEEDS as f64;
        let squares = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        let sd = (squares / (SEEDS - 1) as f64).sqrt();
        assert!(answers[0][k].status == Status::Favourable && mean > 0.02, "{rates:?}");
        assert!(sd <= 2.0 * 0.0151 * mean.max(0.1 * R), "{sd} of {mean}: {rates:?}");
        assert!(sd > 0.0, "every seed has its own draws");
    }
    eprintln!("{above} rates above r");
}

/// Share of networks, drawn weight by weight, that reject a point missed by uniform noise of
/// standard deviation 0.05, with its standard error.
fn sampled_rate(point: &[f64], share: f64, n: usize, stream: &mut Stream) -> (f64, f64) {
    let model = network();
    let layers: Vec<Dense> = model.dense().cloned().collect();
    let [hidden, output] = &layers[..] else { panic!("two layers") };
    let rms = |layer: &Dense| {
        let squares: f64 = layer.weight.iter().map(|w| w * w).sum();
        share * (squares / layer.weight.len() as f64).sqrt()
    };
    let (first, second) = (rms(hidden), rms(output));
    let half = 0.05 * 3.0_f64.sqrt();
    let mut refused = 0;
    for _ in 0..n {
        let x: Vec<f64> = point.iter().map(|x| x + half * (2.0 * stream.uniform() - 1.0)).collect();
        let mut score = output.bias[0] + second * stream.normal();
        for (unit, weights) in hidden.weight.chunks(4).enumerate() {
            let mut sum = hidden.bias[unit] + first * stream.normal();
            for (w, x) in weights.iter().zip(&x) {
                sum += (w + first * stream.normal()) * x;
            }
            score += (output.weight[unit] + second * stream.normal()) * sum.max(0.0);
        }
        refused += usize::from(score <= 0.0);
    }
    let rate = refused as f64 / n as f64;
    (rate, (rate * (1.0 - rate) / n as f64).sqrt())
}
