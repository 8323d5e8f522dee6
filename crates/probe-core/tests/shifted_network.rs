//! Recourse for a network that may change: certified answers hold on independently drawn networks
//! and errors.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::{
    Activation, Dense, Engine, Mlp, Model, ModelShift, MonteCarlo, Purpose, Rows, Seed, Setup,
    Status,
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
fn certified_answers_hold_for_networks_drawn_anew() {
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
