//! Small models, and one person's answer by a method.

use probe_core::{
    Activation, Answer, Dense, Engine, Linear, MethodOptions, Mlp, Model, Rows, Setup,
};
use std::sync::Arc;

pub(crate) fn linear(weights: &[f64], bias: f64) -> Arc<dyn Model> {
    Arc::new(Linear::new(weights.to_vec(), bias, 0.0).unwrap())
}

/// $s(x) = \tanh(a^\top x) - c$: curved, with the flat level sets of a linear score, so that
/// answers are known.
pub(crate) fn curved(weights: &[f64], cut: f64) -> Arc<dyn Model> {
    let layers = vec![
        Dense { weight: weights.to_vec(), bias: vec![0.0] },
        Dense { weight: vec![1.0], bias: vec![-cut] },
    ];
    Arc::new(Mlp::new(layers, Activation::Tanh, 0.0).unwrap())
}

/// Noise of 0.1 on every feature, l1, r = 0.1.
pub(crate) fn setup(model: &Arc<dyn Model>, method: &str, options: &[&str]) -> Setup {
    let names = (0..model.n_features()).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(Arc::clone(model), names, None, 0.1).unwrap();
    setup.method = method.to_owned();
    setup.options = MethodOptions::parse(options.iter().copied()).unwrap();
    setup.certify = false;
    setup
}

pub(crate) fn answer(setup: Setup, person: &[f64]) -> Answer {
    Engine::new(setup).unwrap().recourse(Rows::single(person)).unwrap().remove(0)
}

pub(crate) fn refusal(setup: Setup) -> String {
    Engine::new(setup).err().map(|error| error.to_string()).unwrap_or_default()
}

pub(crate) fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(near && found.len() == expected.len(), "{found:?} is not {expected:?}");
}
