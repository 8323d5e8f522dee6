//! Black-box models, compared with the same models when their structure is known.

use super::shared::{audit, denied, plain_setup};
use probe_core::{
    BlackBox, Engine, Feature, Linear, Model, ModelInput, Rows, Schema, Setup, Status,
};
use std::sync::Arc;

/// The same scores, and nothing else.
fn hidden(model: Arc<dyn Model>) -> Arc<dyn Model> {
    let n = model.n_features();
    Arc::new(BlackBox::new(n, move |rows, scores| model.score_batch(rows, scores)).unwrap())
}

#[test]
fn a_hidden_network_is_served_nearly_as_cheaply() {
    const N: usize = 12;
    let (model, people) = denied(N);
    let d = model.n_features();
    let rows = || Rows::new(&people, d).unwrap();
    let open = Engine::new(plain_setup(model.clone(), 0.1)).unwrap().recourse(rows()).unwrap();
    let blind =
        Engine::new(plain_setup(hidden(model.clone()), 0.1)).unwrap().recourse(rows()).unwrap();
    let (mut cost, mut least) = (0.0, 0.0);
    for (answer, open) in blind.iter().zip(&open) {
        assert_eq!(answer.status, Status::Certified, "{answer:?}");
        let (rate, error) = audit(&*model, &answer.point, &vec![0.1; d], 100_000, 5);
        assert!(rate <= 0.1 + 4.0 * error, "{rate} {answer:?}");
        cost += answer.cost.unwrap();
        least += open.cost.unwrap();
    }
    assert!(cost <= 1.1 * least, "{cost} for {least}");
}

#[test]
fn a_hidden_line_is_found_exactly_enough() {
    // 2 a - b - 1 from the origin: a alone, up to 0.5 + 1.2816 · 0.1 · sqrt(5) / 2.
    let model: Arc<dyn Model> = Arc::new(Linear::new(vec![2.0, -1.0], -1.0, 0.0).unwrap());
    let answer = &Engine::new(plain_setup(hidden(model), 0.1))
        .unwrap()
        .recourse(Rows::single(&[0.0, 0.0]))
        .unwrap()[0];
    assert_eq!(answer.status, Status::Certified, "{answer:?}");
    let least = 0.5 + 1.281_551_565_544_6 * 0.1 * 5.0_f64.sqrt() / 2.0;
    let cost = answer.cost.unwrap();
    assert!(cost >= least * (1.0 - 1e-9) && cost <= 1.05 * least, "{cost} for {least}");
}

#[test]
fn raw_and_scaled_inputs_are_the_same_question() {
    // The same person in units of 1,000 and of 1.
    let scores = |unit: f64| {
        let model: Arc<dyn Model> =
            Arc::new(Linear::new(vec![2.0 / unit, -1.0 / unit], -1.0, 0.0).unwrap());
        let feature = |name: &str| Feature { scale: Some([0.0, unit]), ..Feature::numeric(name) };
        let mut schema = Schema::new(vec![feature("a"), feature("b")]);
        schema.model_input = Some(ModelInput::Raw);
        let mut setup = Setup::new(hidden(model), schema.names(), Some(&schema), 0.1).unwrap();
        setup.max_rate = 0.2;
        Engine::new(setup).unwrap().recourse(Rows::single(&[0.1 * unit, 0.4 * unit])).unwrap()[0]
            .clone()
    };
    let (one, thousand) = (scores(1.0), scores(1_024.0));
    assert_eq!((one.status, thousand.status), (Status::Certified, Status::Certified));
    // A power of two changes no digit.
    assert_eq!((one.cost, one.rate), (thousand.cost, thousand.rate));
}

#[test]
fn a_constant_score_ends_with_a_reason() {
    let model = Arc::new(
        BlackBox::new(2, |_, scores: &mut [f64]| {
            scores.fill(-1.0);
            Ok(())
        })
        .unwrap(),
    );
    let answer =
        &Engine::new(plain_setup(model, 0.1)).unwrap().recourse(Rows::single(&[0.0, 0.0])).unwrap()
            [0];
    assert!(answer.status == Status::None && answer.reason.is_some(), "{answer:?}");
}
