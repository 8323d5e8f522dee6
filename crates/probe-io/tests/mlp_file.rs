//! Model files of networks: what is read, what is refused with which path, and what is written
//! back.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::{Activation, Dense, Linear, Mlp};
use probe_io::ModelFile;
use proptest::prelude::*;
use std::sync::Arc;

/// The example of the interface.
const GOOD: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "mlp", "#,
    r#""features": ["age", "income"],
 "activation": "relu",
 "layers": [{"weight": [[0.1, 0.2], [0.3, 0.4]], "bias": [0.0, 0.1]},
            {"weight": [[1.0, -1.0], [-1.0, 1.0]], "bias": [0.0, 0.0]}],
 "threshold": 0.0}"#
);

fn parse(text: &str) -> Result<ModelFile, String> {
    ModelFile::parse(text.as_bytes(), "model.json").map_err(|error| error.to_string())
}

/// The message for [`GOOD`] with `from` replaced by `to`.
fn message(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    parse(&GOOD.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn the_example_of_the_interface_scores_as_worked_out() {
    let file = parse(GOOD).unwrap();
    // At (1, 2): hidden (0.5, 1.2), logits (-0.7, 0.7), margin 1.4.
    assert!((file.model.score(&[1.0, 2.0]).unwrap() - 1.4).abs() < 1e-15);
    let mlp = file.model.as_mlp().unwrap();
    assert_eq!(
        (mlp.activation(), mlp.last().n_out(), mlp.n_parameters()),
        (Activation::Relu, 2, 12)
    );
}

#[test]
fn faults_name_their_path() {
    assert_eq!(
        message(" \"activation\": \"relu\",\n", ""),
        "model.json: $: the field 'activation' is missing"
    );
    assert_eq!(
        message("relu", "swish"),
        "model.json: $.activation: unknown activation 'swish' \
         (known: relu, tanh, sigmoid, gelu, silu, softplus, leaky_relu)"
    );
    assert_eq!(
        message("[0.3, 0.4]", "[0.3]"),
        "model.json: $.layers[0].weight[1]: expected 2 numbers (one per feature), found 1"
    );
    assert_eq!(
        message("[0.0, 0.1]", "[0.0]"),
        "model.json: $.layers[0].bias: expected 2 numbers (one per output), found 1"
    );
    assert_eq!(
        message("[-1.0, 1.0]", "[-1.0, 1.0, 2.0]"),
        "model.json: $.layers[1].weight[1]: expected 2 numbers (one per output of the \
         layer before), found 3"
    );
    assert_eq!(
        message("[-1.0, 1.0]], \"bias\": [0.0, 0.0]", "[0, 1], [2, 3]], \"bias\": [0, 0, 0]"),
        "model.json: $.layers[1].weight: expected 1 or 2 outputs, found 3"
    );
    assert_eq!(
        message(
            "{\"weight\": [[0.1, 0.2], [0.3, 0.4]], \"bias\": [0.0, 0.1]}",
            "{\"weight\": [], \"bias\": []}"
        ),
        "model.json: $.layers[0].weight: expected at least one output"
    );
    assert_eq!(
        message("0.4", "null"),
        "model.json: $.layers[0].weight[1][1]: expected a finite number, found null"
    );
    assert_eq!(
        message("[0.0, 0.1]", "[0.0, 0.1], \"norm\": 1"),
        "model.json: $.layers[0].norm: unknown field (known: weight, bias)"
    );
    assert_eq!(
        message("[[1.0, -1.0], [-1.0, 1.0]]", "[[1e308, 0.0], [-1e308, 0.0]]"),
        "model.json: $.layers: weight [1][0] - weight [0][0] of layer 1 must be finite, got -inf"
    );
    let empty = GOOD.split("\"layers\"").next().unwrap().to_owned() + "\"layers\": []}";
    assert_eq!(parse(&empty).unwrap_err(), "model.json: $.layers: expected at least one layer");
}

#[test]
fn another_decision_negates_the_last_layer_and_moves_the_cut() {
    let file = parse(GOOD).unwrap();
    let x = [1.0, 2.0];
    let negated = file.with_decision(true, None).unwrap();
    assert_eq!(negated.score(&x).unwrap(), -file.model.score(&x).unwrap());
    assert_eq!(negated.as_mlp().unwrap().last().weight(), [-1.0, 1.0, 1.0, -1.0]);
    assert_eq!(negated.as_mlp().unwrap().hidden(), file.model.as_mlp().unwrap().hidden());
    let cut = file.with_decision(false, Some(1.0)).unwrap();
    assert!((cut.score(&x).unwrap() - 0.4).abs() < 1e-15);
    let both = file.with_decision(true, Some(-2.0)).unwrap();
    assert!((both.score(&x).unwrap() - 0.6).abs() < 1e-15);
    assert!(file.with_decision(false, Some(f64::NAN)).is_err());
}

#[test]
fn a_network_without_hidden_layers_stays_a_network() {
    let logits = Dense { weight: vec![1.0, 2.0, 3.0, 4.0], bias: vec![0.5, 0.25] };
    let model = Mlp::new(vec![logits.clone()], Activation::Tanh, 0.0).unwrap();
    let names = vec!["a".to_owned(), "b".to_owned()];
    let file = ModelFile::new(names.clone(), Arc::new(model), None).unwrap();
    assert_eq!((file.model.name(), file.model.as_mlp().unwrap().last().dense()), ("mlp", &logits));
    let negated = file.with_decision(true, None).unwrap();
    assert_eq!((negated.name(), negated.score(&[1.0, 1.0]).unwrap()), ("mlp", -3.75));
    let linear =
        ModelFile::new(names, Arc::new(Linear::new(vec![1.0, 2.0], 0.0, 0.0).unwrap()), None)
            .unwrap();
    assert_eq!(linear.model.name(), "linear");
}

proptest! {
    #[test]
    fn networks_round_trip_bit_for_bit(
        bits in prop::collection::vec(any::<u64>(), 60),
        hidden in 1usize..5,
        outputs in 1usize..3,
        activation in prop::sample::select(Activation::ALL.to_vec()),
    ) {
        // Any finite number but the largest, whose differences overflow.
        let numbers: Vec<f64> =
            bits.iter().map(|&bits| f64::from_bits(bits)).filter(|v| v.abs() < 1e300).collect();
        let mut next = numbers.iter().copied().cycle();
        prop_assume!(!numbers.is_empty());
        let mut take = |n: usize| next.by_ref().take(n).collect::<Vec<f64>>();
        let layers = vec![
            Dense { weight: take(3 * hidden), bias: take(hidden) },
            Dense { weight: take(hidden * 2), bias: take(2) },
            Dense { weight: take(2 * outputs), bias: take(outputs) },
        ];
        let threshold = take(1)[0];
        let model = Mlp::new(layers.clone(), activation, threshold).unwrap();
        let names = (0..3).map(|j| format!("x{j}")).collect();
        let file = ModelFile::new(names, Arc::new(model), None).unwrap();
        let text = file.to_json().unwrap();
        let back = ModelFile::parse(text.as_bytes(), "m").unwrap();
        prop_assert_eq!(back.to_json().unwrap(), text);
        let bits_of = |layer: &Dense| {
            layer.weight.iter().chain(&layer.bias).map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        let mlp = back.model.as_mlp().unwrap();
        prop_assert_eq!(mlp.dense().map(bits_of).collect::<Vec<_>>(),
            layers.iter().map(bits_of).collect::<Vec<_>>());
        prop_assert_eq!((mlp.activation(), back.model.threshold().to_bits()), (activation,
            threshold.to_bits()));
    }
}
