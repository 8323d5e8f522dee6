//! Documents with answers worked out by hand, and random ones against steps and model taken one
//! after the other.

use super::*;
use probe_core::ModelInput;
use probe_core::model::{Aggregate, Tree};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

/// A document around `model`.
fn document(inputs: Value, columns: Value, model: Value) -> Value {
    json!({"format": "probe-pipeline", "version": 1, "source": "a test", "inputs": inputs,
        "columns": columns, "model": model})
}

fn load(document: &Value) -> Result<ModelFile> {
    ModelFile::parse(document.to_string().as_bytes(), "m.json")
}

fn message(document: &Value) -> String {
    load(document).map(|file| file.features).unwrap_err().to_string()
}

fn linear(weights: &[f64], bias: f64) -> Value {
    let names: Vec<String> = (0..weights.len()).map(|j| format!("c{j}")).collect();
    json!({"format": "probe-model", "version": 1, "kind": "linear", "features": names,
           "layers": [{"weight": [weights], "bias": [bias]}]})
}

/// A split of the only column at 0.5 into −1 and 1.
fn stump(split: &str, input: &str, threshold: f64, default_left: Option<bool>) -> Value {
    let mut tree = json!({"feature": [0, 0, 0], "threshold": [threshold, 0, 0], "left": [1, -1,
        -1], "right": [2, -1, -1],
                          "value": [0, -1, 1]});
    if let Some(side) = default_left {
        tree["default_left"] = json!([side, false, false]);
    }
    json!({"format": "probe-model", "version": 1, "kind": "trees", "features": ["c0"],
        "split": split,
           "aggregate": "sum", "input": input, "trees": [tree]})
}

#[test]
fn steps_before_a_linear_model_become_its_weights() {
    // 3 (age − 40) / 8 + 2 age − 1.5 [clerk] + 0.25, with age in two columns.
    let inputs = json!([{"name": "age"}, {"name": "job", "categories": ["boss", "clerk"],
        "encoding": "onehot"}]);
    let columns = json!([{"input": 0, "steps": [["subtract", 40], ["divide", 8]]}, {"input": 1,
        "category": 1}, {"input": 0}]);
    let file = load(&document(inputs, columns, linear(&[3.0, -1.5, 2.0], 0.25))).unwrap();
    assert_eq!(file.features, ["age", "job=boss", "job=clerk"]);
    let model = file.model.as_linear().unwrap();
    assert_eq!((model.weights(), model.bias()), (&[2.375, 0.0, -1.5][..], -14.75));
    assert_eq!(file.model.score(&[48.0, 0.0, 1.0]).unwrap(), 3.0 + 96.0 - 1.5 + 0.25);
    assert_eq!(file.input, ModelInput::Raw);
    assert_eq!(file.source.as_deref(), Some("probe-pipeline of a test, linear, 2 features"));
    let schema = file.schema.unwrap();
    assert_eq!(schema.features[1].categories, ["boss", "clerk"]);
    assert_eq!(schema.model_input, Some(ModelInput::Raw));
}

#[test]
fn numbers_alone_have_no_schema_and_unused_inputs_no_weight() {
    let file = load(&document(
        json!([{"name": "a"}, {"name": "b"}]),
        json!([{"input": 1, "steps": [["multiply", 2], ["add", 1]]}]),
        linear(&[3.0], 0.5),
    ))
    .unwrap();
    assert!(file.schema.is_none());
    let model = file.model.as_linear().unwrap();
    assert_eq!((model.weights(), model.bias()), (&[0.0, 6.0][..], 3.5));
}

#[test]
fn thresholds_of_the_inner_model_stay() {
    let mut inner = linear(&[1.0], 0.0);
    inner["threshold"] = json!(2.0);
    let file = load(&document(
        json!([{"name": "a"}]),
        json!([{"input": 0, "steps": [["add", 1]]}]),
        inner,
    ))
    .unwrap();
    assert_eq!((file.model.score(&[1.0]).unwrap(), file.model.threshold()), (0.0, 2.0));
}

#[test]
fn steps_before_a_network_are_part_of_its_first_layer() {
    let inner = json!({"format": "probe-model", "version": 1, "kind": "mlp", "features": ["p", "q",
        "r"], "activation": "relu",
        "layers": [{"weight": [[1, 2, 0], [0, -1, 4]], "bias": [0, 1]}, {"weight": [[1, 1]],
            "bias": [-0.5]}]});
    let columns = json!([{"input": 0, "steps": [["multiply", 0.5]]}, {"input": 1}, {"input": 0,
        "steps": [["subtract", 1]]}]);
    let inputs = json!([{"name": "x"}, {"name": "grade", "categories": ["low", "high"],
        "encoding": "binary"}]);
    let file = load(&document(inputs, columns, inner)).unwrap();
    assert_eq!(file.features, ["x", "grade"]);
    // Units: 0.5 x + 2 g and −g + 4 (x − 1) + 1; at (2, 1): 3 and 4.
    assert_eq!(file.model.score(&[2.0, 1.0]).unwrap(), 6.5);
    assert!(file.source.unwrap().contains("network of 1 hidden layers"));
}

#[test]
fn a_scaled_category_is_split_as_it_was() {
    let inputs = json!([{"name": "job", "categories": ["boss", "clerk"], "encoding": "onehot"}]);
    let columns = |steps: Value| json!([{"input": 0, "category": 0, "steps": steps}]);
    let scores = |steps: Value, threshold: f64| {
        let file =
            load(&document(inputs.clone(), columns(steps), stump("<=", "f64", threshold, None)))
                .unwrap();
        [file.model.score(&[0.0, 1.0]).unwrap(), file.model.score(&[1.0, 0.0]).unwrap()]
    };
    // (0 − 0.25) / 0.5 = −0.5 and 1.5.
    let scaled = json!([["subtract", 0.25], ["divide", 0.5]]);
    assert_eq!(scores(scaled.clone(), 0.0), [-1.0, 1.0]);
    assert_eq!(scores(scaled.clone(), -0.5), [-1.0, 1.0]);
    // Both on one side.
    assert_eq!(scores(scaled.clone(), 1.5), [-1.0, -1.0]);
    assert_eq!(scores(scaled, -0.6), [1.0, 1.0]);
    // Turned round.
    assert_eq!(scores(json!([["multiply", -1]]), -0.5), [1.0, -1.0]);
}

#[test]
fn ordinal_categories_are_their_numbers() {
    let inputs = json!([{"name": "size", "categories": ["s", "m", "l"], "encoding": "ordinal"}]);
    let file =
        load(&document(inputs, json!([{"input": 0}]), stump("<", "f32", 2.0, None))).unwrap();
    let score = |code: f64| file.model.score(&[code]).unwrap();
    assert_eq!([score(0.0), score(1.0), score(2.0)], [-1.0, -1.0, 1.0]);
    assert_eq!(file.schema.unwrap().features[0].encoding, Some(Coding::Ordinal));
}

#[test]
fn missing_values_keep_their_way_and_imputed_columns_refuse_them() {
    let score = |columns: Value, side: Option<bool>| {
        let file =
            load(&document(json!([{"name": "a"}]), columns, stump("<", "f32", 0.5, side))).unwrap();
        let takes = file.model.refuses_missing(0).is_none();
        takes.then(|| file.model.score(&[f64::NAN]).unwrap())
    };
    let scaled = |factor: f64| json!([{"input": 0, "steps": [["multiply", factor], ["add", 3]]}]);
    for factor in [2.0, -2.0] {
        assert_eq!(score(scaled(factor), Some(true)), Some(-1.0));
        assert_eq!(score(scaled(factor), Some(false)), Some(1.0));
        assert_eq!(score(scaled(factor), None), None);
    }
    assert_eq!(score(json!([{"input": 0, "imputed": true}]), Some(true)), None);
    assert_eq!(score(json!([{"input": 0, "imputed": false}]), Some(true)), Some(-1.0));
}

#[test]
fn other_libraries_files_are_models_too() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut tried = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or("");
        if !matches!(ending, "json" | "txt") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        // Some must be rejected.
        let Ok(inner) = ModelFile::parse(text.as_bytes(), "inner") else { continue };
        let n = inner.features.len();
        let inputs: Vec<Value> = (0..n).map(|j| json!({"name": format!("x{j}")})).collect();
        let columns: Vec<Value> = (0..n)
            .map(|j| {
                json!({"input": j, "steps": [["subtract", 0.3], ["divide",
                if j == 1 { -1.7 } else { 0.9 }]]})
            })
            .collect();
        let file = load(&document(json!(inputs), json!(columns), json!(text))).unwrap();
        for i in 0..200 {
            let raw: Vec<f64> =
                (0..n).map(|j| f64::from((i * 7 + j as i32 * 13) % 41) / 10.0 - 2.0).collect();
            let scale = |(j, x): (usize, &f64)| (x - 0.3) / if j == 1 { -1.7 } else { 0.9 };
            let scaled: Vec<f64> = raw.iter().enumerate().map(scale).collect();
            let (ours, theirs) =
                (file.model.score(&raw).unwrap(), inner.model.score(&scaled).unwrap());
            assert!(
                (ours - theirs).abs() <= 1e-12 * theirs.abs().max(1.0),
                "{path:?}: {ours} and {theirs}"
            );
        }
        tried += 1;
    }
    assert!(tried >= 10, "{tried}");
}

#[test]
fn what_is_not_a_pipeline_is_refused_with_its_path() {
    let good = || document(json!([{"name": "a"}]), json!([{"input": 0}]), linear(&[1.0], 0.0));
    let with = |change: &dyn Fn(&mut Value)| {
        let mut document = good();
        change(&mut document);
        message(&document)
    };
    assert!(load(&good()).is_ok());
    let cases: Vec<(&str, String)> = vec![
        ("$.version: expected 1", with(&|d| d["version"] = json!(2))),
        ("$.source: expected one line", with(&|d| d["source"] = json!("a\nb"))),
        ("$.extra: unknown field", with(&|d| d["extra"] = json!(1))),
        ("$.inputs: expected at least one", with(&|d| d["inputs"] = json!([]))),
        ("$.inputs[0].name: expected a text", with(&|d| d["inputs"] = json!([{"name": 1}]))),
        (
            "$.inputs: the feature name 'a'",
            with(&|d| d["inputs"] = json!([{"name": "a"}, {"name": "a"}])),
        ),
        (
            "$.inputs[0].encoding: an input without",
            with(&|d| d["inputs"][0]["encoding"] = json!("onehot")),
        ),
        (
            "$.inputs[0]: the field 'encoding'",
            with(&|d| d["inputs"][0]["categories"] = json!(["x"])),
        ),
        (
            "$.inputs: feature 'a': category 'x'",
            with(&|d| {
                d["inputs"] =
                    json!([{"name": "a", "categories": ["x", "x"], "encoding": "ordinal"}]);
            }),
        ),
        (
            "$.columns[0]: the field 'category'",
            with(&|d| {
                d["inputs"] = json!([{"name": "a", "categories": ["x", "y"], "encoding": "onehot"}])
            }),
        ),
        ("$.columns[0].category: only", with(&|d| d["columns"][0]["category"] = json!(0))),
        ("$.columns[0].input: expected an input", with(&|d| d["columns"][0]["input"] = json!(1))),
        ("$.columns[0].input: expected an input", with(&|d| d["columns"][0]["input"] = json!(-1))),
        ("$.columns[0].imputed: expected true", with(&|d| d["columns"][0]["imputed"] = json!(1))),
        (
            "$.columns: expected 1 (one per",
            with(&|d| d["columns"] = json!([{"input": 0}, {"input": 0}])),
        ),
        (
            "$.columns[0].steps[0]: division",
            with(&|d| d["columns"][0]["steps"] = json!([["divide", 0]])),
        ),
        (
            "$.columns[0].steps[0]: a factor",
            with(&|d| d["columns"][0]["steps"] = json!([["multiply", -0.0]])),
        ),
        (
            "$.columns[0].steps[1]: unknown step",
            with(&|d| d["columns"][0]["steps"] = json!([["round"], ["log"]])),
        ),
        (
            "$.columns[0].steps[0]: unknown step",
            with(&|d| d["columns"][0]["steps"] = json!([["round", 2]])),
        ),
        (
            "$.columns[0].steps[0][1]: expected",
            with(&|d| d["columns"][0]["steps"] = json!([["add", "1"]])),
        ),
        ("$.columns[0].steps[0]: expected", with(&|d| d["columns"][0]["steps"] = json!([[]]))),
        (
            "$.columns[0].steps[64]: more than",
            with(&|d| d["columns"][0]["steps"] = json!(vec![["round"]; 65])),
        ),
        ("$.model: expected a model", with(&|d| d["model"] = json!(3))),
        ("$.model: not a model file", with(&|d| d["model"] = json!("trees"))),
        ("$.model: a pipeline within", with(&|d| d["model"] = good())),
        ("$.model.layers[0].bias[0]", with(&|d| d["model"]["layers"][0]["bias"] = json!(["x"]))),
        (
            "$.model.schema: a schema",
            with(&|d| d["model"]["schema"] = json!({"version": 1, "feature": [{"name": "c0"}]})),
        ),
        (
            "$.columns: weight",
            with(&|d| d["columns"][0]["steps"] = json!([["multiply", 1e300], ["multiply", 1e300]])),
        ),
    ];
    for (expected, found) in cases {
        assert!(
            found.starts_with(&format!("m.json: {expected}")),
            "expected {expected}, found {found}"
        );
    }
}

#[test]
fn documents_that_are_cut_short_are_refused() {
    let text = document(
        json!([{"name": "job", "categories": ["boss", "clerk"], "encoding": "onehot"}]),
        json!([{"input": 0, "category": 0, "steps": [["subtract", 0.25]]}]),
        stump("<", "f32", 0.5, Some(true)),
    )
    .to_string();
    for end in 0..text.len() {
        assert!(ModelFile::parse(&text.as_bytes()[..end], "m").is_err(), "{end}");
    }
}

#[test]
fn a_layer_that_outgrows_its_document_is_refused() {
    let inputs: Vec<Value> = (0..8000).map(|j| json!({"name": j.to_string()})).collect();
    let inner = json!({"format": "probe-model", "version": 1, "kind": "mlp", "features": ["c"],
        "activation": "relu",
        "layers": [{"weight": vec![[0]; 8000], "bias": vec![0; 8000]}, {"weight": [vec![0; 8000]],
            "bias": [0]}]});
    assert!(message(&document(json!(inputs), json!([{"input": 0}]), inner)).contains("too large"));
}

/// One column's steps as a naive reader would take them.
fn naive(x: f64, steps: &[(usize, f64)]) -> f64 {
    steps.iter().fold(x, |x, &(kind, c)| match kind {
        0 => x + c,
        1 => x - c,
        2 => x * c,
        3 => x / c,
        _ => f64::from(x as f32),
    })
}

fn written(steps: &[(usize, f64)]) -> Value {
    let name = |kind: usize| ["add", "subtract", "multiply", "divide", "round"][kind];
    let one = |&(kind, c): &(usize, f64)| {
        if kind == 4 { json!(["round"]) } else { json!([name(kind), c]) }
    };
    json!(steps.iter().map(one).collect::<Vec<_>>())
}

/// Constants that are no round numbers, of either sign and not zero.
fn constant() -> impl Strategy<Value = f64> {
    prop_oneof![-50.0..-0.01, 0.01..50.0, Just(1e-3), Just(-3.0)]
}

/// Inputs: two numbers, one one-hot category of three, one ordinal of four; columns by number of
/// their source.
const SOURCES: usize = 6;

fn column(source: usize, steps: &[(usize, f64)]) -> Value {
    let mut column = match source {
        0 | 1 => json!({"input": source}),
        2..=4 => json!({"input": 2, "category": source - 2}),
        _ => json!({"input": 3}),
    };
    column["steps"] = written(steps);
    column
}

/// A person's columns: numbers, then three of which one is 1, then a code.
fn person(numbers: &[f64], option: usize, code: usize) -> Vec<f64> {
    let hot = |o: usize| if o == option { 1.0 } else { 0.0 };
    vec![numbers[0], numbers[1], hot(0), hot(1), hot(2), code as f64]
}

/// A tree of `splits` in a row: each has a leaf on one side and the next split on the other.
fn chain(splits: &[(usize, f64, bool, bool)], missing: bool) -> Tree {
    let mut tree = Tree::default();
    for (i, &(column, threshold, leaf_left, default_left)) in splits.iter().enumerate() {
        let at = tree.push_leaf(0.0);
        let leaf = tree.push_leaf(0.37 * (i as f64 + 1.0));
        let (next, leaf) = (at as i64 + 2, leaf as i64);
        (tree.feature[at], tree.threshold[at]) = (column, threshold);
        (tree.left[at], tree.right[at]) = if leaf_left { (leaf, next) } else { (next, leaf) };
        if missing {
            tree.default_left.extend([default_left, false]);
        }
    }
    tree.push_leaf(-1.0);
    if missing {
        tree.default_left.push(false);
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Trees: the same leaf, to the bit, for values around every cut.
    #[test]
    fn trees_are_those_of_steps_and_model_one_after_the_other(
        columns in vec((0..SOURCES, vec((0..5_usize, constant()), 0..4)), 1..6),
        splits in vec((any::<prop::sample::Index>(), -60.0..60.0, any::<bool>(), any::<bool>()),
            1..6),
        (below, single, missing) in (any::<bool>(), any::<bool>(), any::<bool>()),
        people in vec((vec(-60.0..60.0, 2), 0..3_usize, 0..4_usize), 1..4),
        gap in 0..4_usize,
    ) {
        // Thresholds that people's own columns are on.
        let on = |i: usize, column: usize, other: f64| {
            let (numbers, option, code) = &people[i % people.len()];
            let (source, steps) = &columns[column];
            let value = naive(person(numbers, *option, *code)[*source], steps);
            match i.is_multiple_of(3) || !value.is_finite() {
                true => other,
                false if single => f64::from(value as f32),
                false => value,
            }
        };
        let splits: Vec<_> = splits.iter().enumerate().map(|(i, (column, threshold, leaf_left,
            default_left))| {
            let column = column.index(columns.len());
            (column, on(i, column, *threshold), *leaf_left, *default_left)
        }).collect();
        let rules = TreeRules { split: if below { Split::Below } else { Split::AtMost },
            aggregate: Aggregate::Sum, base: 0.125, single };
        let inner = Trees::new(columns.len(), vec![chain(&splits, missing)], rules, 0.0).unwrap();
        let names: Vec<String> = (0..columns.len()).map(|j| format!("c{j}")).collect();
        let inner = ModelFile::new(names, Arc::new(inner), None).unwrap();
        let inputs = json!([{"name": "a"}, {"name": "b"},
            {"name": "k", "categories": ["x", "y", "z"], "encoding": "onehot"},
            {"name": "o", "categories": ["p", "q", "r", "s"], "encoding": "ordinal"}]);
        let listed: Vec<Value> = columns.iter().map(|(source, steps)| column(*source,
            steps)).collect();
        let whole: Value = serde_json::from_str(&inner.to_json().unwrap()).unwrap();
        let file = load(&document(inputs, json!(listed), whole)).unwrap();
        prop_assert_eq!(&file.features, &["a", "b", "k=x", "k=y", "k=z", "o"]);
        let mut rows = Vec::new();
        for (numbers, option, code) in &people {
            rows.push(person(numbers, *option, *code));
        }
        // On the moved thresholds, and next to them.
        for tree in file.model.as_trees().unwrap().trees() {
            for (at, feature) in splits_of(tree) {
                for x in [tree.threshold[at], tree.threshold[at].next_up(),
                    tree.threshold[at].next_down()] {
                    let mut row = rows[0].clone();
                    if feature < 2 && x.abs() < 1e30 {
                        row[feature] = x;
                        rows.push(row);
                    }
                }
            }
        }
        for mut row in rows {
            if missing && gap < 2 {
                row[gap] = f64::NAN;
            }
            let taken: Vec<f64> = columns.iter().map(|(source, steps)| naive(row[*source],
                steps)).collect();
            let (ours, theirs) = (file.model.score(&row).unwrap(),
                inner.model.score(&taken).unwrap());
            prop_assert_eq!(ours.to_bits(), theirs.to_bits(), "{:?} {} {}", row, ours, theirs);
        }
        for raw in 0..2 {
            let used = splits.iter().any(|split| columns[split.0].0 == raw);
            prop_assert_eq!(file.model.refuses_missing(raw).is_none(), missing || !used);
        }
    }

    /// Linear models: the same margin up to rounding.
    #[test]
    fn linear_models_are_those_of_steps_and_model_one_after_the_other(
        columns in vec((0..SOURCES, vec((0..4_usize, constant()), 0..3), -2.0..2.0), 1..8),
        numbers in vec(-60.0..60.0, 2),
        (option, code) in (0..3_usize, 0..4_usize),
    ) {
        let weights: Vec<f64> = columns.iter().map(|column| column.2).collect();
        let inputs = json!([{"name": "a"}, {"name": "b"},
            {"name": "k", "categories": ["x", "y", "z"], "encoding": "onehot"},
            {"name": "o", "categories": ["p", "q", "r", "s"], "encoding": "ordinal"}]);
        let listed: Vec<Value> = columns.iter().map(|(source, steps, _)| column(*source,
            steps)).collect();
        let file = load(&document(inputs, json!(listed), linear(&weights, 0.5))).unwrap();
        let row = person(&numbers, option, code);
        let ours = file.model.score(&row).unwrap();
        let (mut margin, mut size) = (0.5, 1.0);
        for (source, steps, weight) in &columns {
            margin += weight * naive(row[*source], steps);
            // Parts that may cancel: the source's and each constant's.
            let slope = naive(1.0, steps) - naive(0.0, steps);
            size += weight.abs() * (naive(0.0, steps).abs() + (slope * row[*source]).abs());
            size += steps.iter().map(|step| step.1.abs().max(1.0 / step.1.abs())).product::<f64>();
        }
        prop_assert!((ours - margin).abs() <= 1e-11 * size, "{} and {}", ours, margin);
    }
}
