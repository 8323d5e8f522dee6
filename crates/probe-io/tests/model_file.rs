//! Model files: what is read, what is refused and how the refusal reads.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::{Feature, Linear, Schema};
use probe_io::ModelFile;
use proptest::prelude::*;
use std::sync::Arc;

const GOOD: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "linear", "features": ["age", "income", "#,
    r#""debt"],
 "layers": [{"weight": [[0.5, -0.25, 2.0]], "bias": [0.125]}], "threshold": 0.5}"#
);

fn parse(text: &str) -> Result<ModelFile, String> {
    ModelFile::parse(text.as_bytes(), "model.json").map_err(|error| error.to_string())
}

/// The message for [`GOOD`] with `from` replaced by `to`.
fn message(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    parse(&GOOD.replace(from, to)).unwrap_err()
}

#[test]
fn one_output_is_the_margin() {
    let file = parse(GOOD).unwrap();
    assert_eq!(file.features, ["age", "income", "debt"]);
    let linear = file.model.as_linear().unwrap();
    assert_eq!((linear.weights(), linear.bias()), (&[0.5, -0.25, 2.0][..], 0.125));
    assert_eq!(file.model.threshold(), 0.5);
    // 0.5 - 0.5 + 2 + 0.125 - 0.5
    assert_eq!(file.model.score(&[1.0, 2.0, 1.0]).unwrap(), 1.625);
    // Computed with another SHA-256 over the same bytes: printf '%s' "$GOOD" | sha256sum
    assert_eq!(file.hash, "c39e593c6eb3fdc65c8fba26d50155cff0e2aef55988670b565186d9e92a1dd3");
}

#[test]
fn two_outputs_are_folded_into_their_difference() {
    let text = GOOD
        .replace("[[0.5, -0.25, 2.0]]", "[[1.0, 0.0, -1.0], [0.5, 2.0, 3.0]]")
        .replace("[0.125]", "[0.25, 1.0]")
        .replace(", \"threshold\": 0.5", "");
    let file = parse(&text).unwrap();
    let linear = file.model.as_linear().unwrap();
    assert_eq!((linear.weights(), linear.bias()), (&[-0.5, 2.0, 4.0][..], 0.75));
    assert_eq!(file.model.threshold(), 0.0);
}

#[test]
fn wrong_shapes_name_their_path() {
    assert_eq!(
        message("[[0.5, -0.25, 2.0]]", "[[0.5, -0.25]]"),
        "model.json: $.layers[0].weight[0]: expected 3 numbers (one per feature), found 2"
    );
    assert_eq!(
        message("[0.125]", "[0.125, 1]"),
        "model.json: $.layers[0].bias: expected 1 numbers (one per output), found 2"
    );
    assert_eq!(
        message("[[0.5, -0.25, 2.0]]", "[[1,2,3],[1,2,3],[1,2,3]]"),
        "model.json: $.layers[0].bias: expected 3 numbers (one per output), found 1"
    );
    let three = GOOD
        .replace("[[0.5, -0.25, 2.0]]", "[[1,2,3],[1,2,3],[1,2,3]]")
        .replace("[0.125]", "[1,2,3]");
    assert_eq!(
        parse(&three).unwrap_err(),
        "model.json: $.layers[0].weight: expected 1 or 2 outputs, found 3"
    );
    assert_eq!(
        message("\"layers\": [{", "\"layers\": [{}, {"),
        "model.json: $.layers: a linear model has exactly 1 layer, found 2"
    );
    assert_eq!(
        message("-0.25", "\"x\""),
        "model.json: $.layers[0].weight[0][1]: expected a finite number, found \"x\""
    );
    assert_eq!(
        message(", \"bias\": [0.125]", ""),
        "model.json: $.layers[0]: the field 'bias' is missing"
    );
}

#[test]
fn numbers_that_are_not_finite_are_refused() {
    let found = message("-0.25", "1e999");
    assert!(
        found.starts_with("model.json: $.layers[0].weight[0][1]: number out of range"),
        "{found}"
    );
    // Finite logits whose difference is not.
    let text = GOOD
        .replace("[[0.5, -0.25, 2.0]]", "[[-1e308, 0, 0], [1e308, 0, 0]]")
        .replace("[0.125]", "[0.0, 0.0]");
    assert_eq!(
        parse(&text).unwrap_err(),
        "model.json: $.layers[0]: weight 0 must be finite, got inf"
    );
}

#[test]
fn unknown_fields_kinds_and_versions_are_refused() {
    assert_eq!(
        message("\"kind\"", "\"colour\": 1, \"kind\""),
        "model.json: $.colour: unknown field (known: format, version, kind, features, \
         schema, threshold, layers)"
    );
    assert_eq!(
        message("\"bias\"", "\"scale\": 1, \"bias\""),
        "model.json: $.layers[0].scale: unknown field (known: weight, bias)"
    );
    assert_eq!(
        message("\"linear\"", "\"quantum\""),
        "model.json: $.kind: unknown kind 'quantum' (known: linear, mlp, trees)"
    );
    assert_eq!(
        message("\"version\": 1", "\"version\": 2"),
        "model.json: $.version: expected 1, found 2"
    );
    assert_eq!(
        message("probe-model", "other"),
        "model.json: $.format: expected \"probe-model\", found \"other\""
    );
    assert!(message("\"format\": \"probe-model\", ", "").contains("'format' is missing"));
    assert!(
        message("\"version\"", "\"kind\": \"linear\", \"version\"")
            .contains("'kind' appears twice")
    );
}

#[test]
fn feature_names_are_distinct_texts() {
    assert_eq!(
        message("\"income\"", "\"age\""),
        "model.json: $.features[1]: the feature name 'age' appears twice"
    );
    assert_eq!(
        message("\"income\"", "\"\""),
        "model.json: $.features[1]: the feature name '' is empty"
    );
    assert_eq!(message("\"income\"", "7"), "model.json: $.features[1]: expected a text, found 7");
    assert!(message("[\"age\", \"income\", \"debt\"]", "[]").contains("at least one feature name"));
}

#[test]
fn files_that_are_not_json_are_described() {
    let found = |bytes: &[u8]| ModelFile::parse(bytes, "m").unwrap_err().to_string();
    let cases: [(&[u8], &str); 3] = [
        (b"", "an empty file"),
        (b"a,b\n1,2\n", "text starting with 'a,b'"),
        (b"\x80\x04\x95\x00", "a Python pickle"),
    ];
    for (bytes, what) in cases {
        let message = found(bytes);
        assert!(
            message.starts_with("m: not a model file: expected JSON or a model of "),
            "{message}"
        );
        assert!(message.ends_with(&format!(", found {what}")), "{message}");
    }
    assert!(found(b"{\"format\": ").starts_with("m: $.format: EOF"), "{}", found(b"{\"format\": "));
    assert_eq!(found(b"{\"learner\": {}}"), "m: $: the field 'version' is missing");
    assert!(
        found(b"{\"name\": \"tree\", \"tree_info\": []}").contains("a dump of a LightGBM model")
    );
    let missing = ModelFile::load("no/such/model.json").unwrap_err();
    assert!(missing.is_not_found());
    assert!(missing.to_string().starts_with("no/such/model.json: cannot read: "));
}

#[test]
fn an_inline_schema_must_know_every_feature() {
    let with = |schema: &str| {
        GOOD.replace("\"threshold\"", &format!("\"schema\": {schema}, \"threshold\""))
    };
    let schema = concat!(
        r#"{"version": 1, "feature": [{"name": "debt"}, {"name": "age"}, {"name": "income", "#,
        r#""min": 0}]}"#
    );
    let file = parse(&with(schema)).unwrap();
    assert_eq!(file.schema.unwrap().feature("income").unwrap().min, Some(0.0));
    let lacking = schema.replace("{\"name\": \"age\"}, ", "");
    assert_eq!(
        parse(&with(&lacking)).unwrap_err(),
        "model.json: $.schema: no feature 'age', which the model needs"
    );
    let wrong = schema.replace("\"min\": 0", "\"min\": \"low\"");
    let message = parse(&with(&wrong)).unwrap_err();
    assert!(message.starts_with("model.json: $.schema.feature[2].min: invalid type"), "{message}");
}

#[test]
fn saved_files_are_whole_and_load_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.json");
    let names = vec!["a".to_owned(), "b \"quoted\"".to_owned()];
    let schema = Schema::new(vec![
        Feature { min: Some(0.1), unit: Some("EUR".to_owned()), ..Feature::numeric("a") },
        Feature::numeric("b \"quoted\""),
    ]);
    let model = Linear::new(vec![0.1, -0.0], 1e-300, 0.25).unwrap();
    let file = ModelFile::new(names, Arc::new(model), Some(schema)).unwrap();
    file.save(&path).unwrap();
    let back = ModelFile::load(&path).unwrap();
    assert_eq!(
        (&back.features, &back.schema, &back.hash),
        (&file.features, &file.schema, &file.hash)
    );
    assert_eq!(back.model.as_linear(), file.model.as_linear());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), back.to_json().unwrap());

    let lone = Linear::new(vec![1.0], 0.0, 0.0).unwrap();
    let error =
        ModelFile::new(vec!["a".to_owned(), "b".to_owned()], Arc::new(lone), None).unwrap_err();
    assert!(error.to_string().contains("expected 2 numbers (one per feature), found 1"), "{error}");
}

proptest! {
    #[test]
    fn linear_models_round_trip_bit_for_bit(bits in prop::collection::vec(any::<u64>(), 3..8)) {
        let all = bits.iter().map(|&bits| f64::from_bits(bits));
        let numbers: Vec<f64> = all.filter(|v| v.is_finite()).collect();
        prop_assume!(numbers.len() >= 3);
        let (weights, bias, threshold) = (numbers[2..].to_vec(), numbers[0], numbers[1]);
        let names = (0..weights.len()).map(|j| format!("x{j}")).collect();
        let file = ModelFile::new(names, Arc::new(Linear::new(weights.clone(), bias,
            threshold).unwrap()), None).unwrap();
        let back = ModelFile::parse(file.to_json().unwrap().as_bytes(), "m").unwrap();
        let linear = back.model.as_linear().unwrap();
        let bits_of = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits_of(linear.weights()), bits_of(&weights));
        prop_assert_eq!(bits_of(&[linear.bias(), back.model.threshold()]), bits_of(&[bias,
            threshold]));
    }
}
