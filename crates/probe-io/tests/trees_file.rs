//! Model files of trees: what is read, what is refused with which tree and node, and what is
//! written back.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::model::{Aggregate, Split, Tree, TreeRules, Trees};
use probe_io::ModelFile;
use proptest::prelude::*;
use std::sync::Arc;

/// A stump on income, and a tree of depth 2. What leaves and splits ignore is -2, as scikit-learn
/// writes it, or null.
const GOOD: &str = concat!(
    r#"{"format": "probe-model", "version": 1, "kind": "trees", "features": ["age", "income"],
 "split": "<=", "aggregate": "sum", "base": 0.25, "input": "f32",
 "trees": [{"feature": [1, -2, -2], "threshold": [0.5, -2.0, null], "left": [1, -1, -1], "#,
    r#""right": [2, -1, -1],
            "value": [null, -1.0, 1.0], "default_left": [true, false, false]},
           {"feature": [0, 0, 1, 0, 0], "threshold": [30, 0, 0.75, 0, 0], "left": [2, -1, "#,
    r#"3, -1, -1],
            "right": [1, -1, 4, -1, -1], "value": [0, 0.5, 0, -0.5, 0.125]}],
 "threshold": 0.0}"#
);

fn parse(text: &str) -> Result<ModelFile, String> {
    ModelFile::parse(text.as_bytes(), "model.json").map_err(|error| error.to_string())
}

/// The message for [`GOOD`] with `from` replaced by `to`.
fn message(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    parse(&GOOD.replacen(from, to, 1)).unwrap_err()
}

#[test]
fn scores_are_as_worked_out() {
    let file = parse(GOOD).unwrap();
    let score = |age: f64, income: f64| file.model.score(&[age, income]).unwrap();
    assert_eq!(score(40.0, 0.5), 0.25 - 1.0 + 0.5);
    assert_eq!(score(40.0, 0.6), 0.25 + 1.0 + 0.5);
    assert_eq!(score(30.0, 0.75), 0.25 + 1.0 - 0.5);
    assert_eq!(score(30.0, 0.8), 0.25 + 1.0 + 0.125);
    // Rounded to f32 this is 0.5 and goes left.
    assert_eq!(score(40.0, 0.5 + 1e-9), 0.25 - 1.0 + 0.5);
    let trees = file.model.as_trees().unwrap();
    assert_eq!(trees.trees().len(), 2);
    // The first tree says where a missing income goes; the second does not.
    assert!(!trees.takes_missing(1) && trees.trees()[0].default_left == [true, false, false]);
}

#[test]
fn what_is_not_said_has_its_default() {
    let short = GOOD
        .replace("\"base\": 0.25, \"input\": \"f32\",", "")
        .replace(",\n \"threshold\": 0.0}", "}");
    let file = parse(&short).unwrap();
    let rules = file.model.as_trees().unwrap().rules();
    let expected =
        TreeRules { split: Split::AtMost, aggregate: Aggregate::Sum, base: 0.0, single: false };
    assert_eq!((rules, file.model.threshold()), (expected, 0.0));
    // Compared as it is, a value just above goes right.
    assert_eq!(file.model.score(&[40.0, 0.5 + 1e-9]).unwrap(), 1.5);
    let below = parse(&short.replace("\"<=\"", "\"<\"")).unwrap();
    assert_eq!(below.model.score(&[40.0, 0.5]).unwrap(), 1.5);
    let mean = parse(&short.replace("\"sum\"", "\"mean\"")).unwrap();
    assert_eq!(mean.model.score(&[40.0, 0.5]).unwrap(), -0.25 - 0.5);
    let vote = parse(&short.replace("\"sum\"", "\"vote\"")).unwrap();
    assert_eq!(vote.model.score(&[40.0, 0.6]).unwrap(), 0.0);
}

#[test]
fn faults_of_the_model_name_their_path() {
    assert_eq!(message("\"split\": \"<=\",", ""), "model.json: $: the field 'split' is missing");
    assert_eq!(
        message("\"aggregate\": \"sum\",", ""),
        "model.json: $: the field 'aggregate' is missing"
    );
    assert_eq!(message("\"<=\"", "\">\""), "model.json: $.split: unknown split '>' (known: <=, <)");
    assert_eq!(
        message("\"sum\"", "\"max\""),
        "model.json: $.aggregate: unknown aggregate 'max' (known: sum, mean, vote)"
    );
    assert_eq!(
        message("\"f32\"", "\"f16\""),
        "model.json: $.input: unknown input 'f16' (known: f64, f32)"
    );
    assert_eq!(
        message("\"sum\"", "\"mean\""),
        "model.json: $.base: expected 0 with aggregate \"mean\" (only sums have a base), found 0.25"
    );
    assert_eq!(
        message("0.25", "\"x\""),
        "model.json: $.base: expected a finite number, found \"x\""
    );
    assert_eq!(
        message("\"input\"", "\"objective\""),
        "model.json: $.objective: unknown field (known: format, version, kind, features, schema, \
         threshold, trees, split, aggregate, base, input)"
    );
    let empty = GOOD.split("\"trees\": [").next().unwrap().to_owned() + "\"trees\": []}";
    assert_eq!(parse(&empty).unwrap_err(), "model.json: $.trees: expected at least one tree");
}

#[test]
fn faults_of_a_tree_name_tree_and_node() {
    let both = "[2, -1, 3, -1, -1]";
    let child = "expected a node (a whole number from 1 to 4), or -1 at a leaf, found";
    // A cycle to the root, and one below it.
    assert_eq!(
        message(both, "[2, -1, 0, -1, -1]"),
        format!("model.json: $.trees[1].left[2]: {child} 0")
    );
    assert_eq!(
        message(both, "[2, -1, 2, -1, -1]"),
        "model.json: $.trees[1].left[2]: node 2 is a child of node 0 already: this is not a tree"
    );
    assert_eq!(
        message("[1, -1, 4, -1, -1]", "[1, -1, 3, -1, -1]"),
        "model.json: $.trees[1].right[2]: node 3 is a child of node 2 already: this is not a tree"
    );
    // A cycle that the root does not reach.
    let apart = GOOD
        .replace("[2, -1, 3, -1, -1]", "[1, -1, -1, 4, 3, -1, -1]")
        .replace("[1, -1, 4, -1, -1]", "[2, -1, -1, 5, 6, -1, -1]")
        .replace("[0, 0, 1, 0, 0]", "[0, 0, 0, 0, 0, 0, 0]")
        .replace("[30, 0, 0.75, 0, 0]", "[30, 0, 0, 1, 1, 0, 0]");
    let message_apart = parse(&apart).unwrap_err();
    assert_eq!(
        message_apart,
        "model.json: $.trees[1].left[3]: node 3 is on a cycle: this is not a tree"
    );
    for wrong in ["5", "-2", "3.0", "3.5", "1e30", "\"3\"", "true", "9223372036854775808"] {
        let text = message(both, &format!("[2, -1, {wrong}, -1, -1]"));
        assert!(text.starts_with(&format!("model.json: $.trees[1].left[2]: {child} ")), "{text}");
    }
    assert_eq!(
        message(both, "[2, -1, -1, -1, -1]"),
        "model.json: $.trees[1].left[2]: node 2 has one child only: expected two, \
         or -1 and -1 at a leaf"
    );
    assert_eq!(
        message("[1, -1, 4, -1, -1]", "[1, -1, -1, -1, -1]"),
        "model.json: $.trees[1].right[2]: node 2 has one child only: expected two, \
         or -1 and -1 at a leaf"
    );
    let feature = "expected a feature (a whole number from 0 to 1), found";
    for wrong in ["2", "-1", "0.5", "null"] {
        let text = message("[0, 0, 1, 0, 0]", &format!("[0, 0, {wrong}, 0, 0]"));
        assert_eq!(text, format!("model.json: $.trees[1].feature[2]: {feature} {wrong}"));
    }
    assert_eq!(
        message("[30, 0, 0.75, 0, 0]", "[30, 0, null, 0, 0]"),
        "model.json: $.trees[1].threshold[2]: expected a finite number, found null"
    );
    assert_eq!(
        message("[30, 0, 0.75, 0, 0]", "[30, 0, 0.75, \"x\", 0]"),
        "model.json: $.trees[1].threshold[3]: expected a finite number, found \"x\""
    );
    assert!(message("0.75", "NaN").starts_with("model.json: "));
    assert!(message("0.75", "1e999").starts_with("model.json: "));
    assert_eq!(
        message("-0.5, 0.125", "null, 0.125"),
        "model.json: $.trees[1].value[3]: expected a finite number, found null"
    );
    assert_eq!(
        message("[null, -1.0, 1.0]", "[null, -1.0]"),
        "model.json: $.trees[0].value: expected 3 entries (one per node), found 2"
    );
    assert_eq!(
        message("[2, -1, -1]", "[2, -1, -1, -1]"),
        "model.json: $.trees[0].right: expected 3 entries (one per node), found 4"
    );
    assert_eq!(
        message("[true, false, false]", "[true, false]"),
        "model.json: $.trees[0].default_left: expected 3 entries (one per node), found 2"
    );
    assert_eq!(
        message("[true, false, false]", "[true, 0, false]"),
        "model.json: $.trees[0].default_left[1]: expected true or false, found 0"
    );
    assert_eq!(
        message("\"left\": [1, -1, -1],", ""),
        "model.json: $.trees[0]: the field 'left' is missing"
    );
    assert_eq!(
        message("\"default_left\"", "\"cover\""),
        "model.json: $.trees[0].cover: unknown field \
         (known: feature, threshold, left, right, value, default_left)"
    );
    assert_eq!(
        message("[1, -1, -1]", "3"),
        "model.json: $.trees[0].left: expected an array, found 3"
    );
    let bare = GOOD.split("\"trees\": [").next().unwrap().to_owned();
    let one = |n: &str| {
        let tree = r#"{"feature": [], "threshold": [], "left": [N], "right": [], "value": []}"#
            .replace('N', n);
        parse(&format!("{bare}\"trees\": [{tree}]}}")).unwrap_err()
    };
    assert_eq!(one(""), "model.json: $.trees[0].left: expected at least one node");
    assert_eq!(
        one("1"),
        "model.json: $.trees[0].left[0]: expected -1, as the tree has one node, found 1"
    );
}

#[test]
fn another_decision_negates_the_leaves_and_moves_the_cut() {
    let file = parse(GOOD).unwrap();
    let x = [40.0, 0.6];
    assert_eq!(file.with_decision(true, None).unwrap().score(&x).unwrap(), -1.75);
    assert_eq!(file.with_decision(false, Some(1.0)).unwrap().score(&x).unwrap(), 0.75);
    assert_eq!(file.with_decision(true, Some(-2.0)).unwrap().score(&x).unwrap(), 0.25);
    assert!(file.with_decision(false, Some(f64::NAN)).is_err());
}

#[test]
fn a_model_that_was_made_here_is_written_and_read() {
    // Unused values may be anything in memory; a file cannot hold them.
    let stump = Tree {
        feature: vec![0, 7, 7],
        threshold: vec![0.1, f64::NAN, f64::INFINITY],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![f64::NAN, 0.25, 0.75],
        default_left: vec![],
    };
    let rules =
        TreeRules { split: Split::Below, aggregate: Aggregate::Mean, ..TreeRules::default() };
    let model = Trees::new(1, vec![stump], rules, 0.125).unwrap();
    let file = ModelFile::new(vec!["a".to_owned()], Arc::new(model), None).unwrap();
    assert_eq!((file.model.name(), file.model.threshold()), ("trees", 0.125));
    assert_eq!(file.model.as_trees().unwrap().rules(), rules);
    assert_eq!(file.model.score(&[0.1]).unwrap(), 0.125);
    assert_eq!(file.model.score(&[0.09]).unwrap(), -0.375);
    assert!(!file.to_json().unwrap().contains("default_left"));
}

proptest! {
    #[test]
    fn trees_round_trip_bit_for_bit(
        bits in prop::collection::vec(any::<u64>(), 40),
        splits in prop::collection::vec((0usize..100, 0usize..3, any::<bool>()), 0..6),
        sides in any::<bool>(),
        single in any::<bool>(),
    ) {
        let numbers: Vec<f64> =
            bits.iter().map(|&bits| f64::from_bits(bits)).filter(|v| v.is_finite()).collect();
        prop_assume!(!numbers.is_empty());
        let mut next = numbers.iter().copied().cycle();
        let mut take = || next.next().unwrap();
        // Grown by splitting a leaf at a time.
        let (mut left, mut right, mut feature, mut leaves) = (vec![-1i64], vec![-1i64], vec![0],
            vec![0]);
        for (which, on, _) in &splits {
            let at = leaves.swap_remove(which % leaves.len());
            let n = left.len();
            (left[at], right[at], feature[at]) = (n as i64 + 1, n as i64, *on);
            left.extend([-1, -1]);
            right.extend([-1, -1]);
            feature.extend([0, 0]);
            leaves.extend([n, n + 1]);
        }
        let n = left.len();
        let tree = Tree {
            threshold: (0..n).map(|_| take()).collect(),
            value: (0..n).map(|_| take()).collect(),
            default_left: if sides { (0..n).map(|i| i % 3 == 0).collect() } else { vec![] },
            feature,
            left,
            right,
        };
        let rules = TreeRules { base: take(), single, ..TreeRules::default() };
        let threshold = take();
        let model = Trees::new(3, vec![tree.clone(), tree.clone()], rules, threshold).unwrap();
        let names = (0..3).map(|j| format!("x{j}")).collect();
        let file = ModelFile::new(names, Arc::new(model), None).unwrap();
        let text = file.to_json().unwrap();
        let back = ModelFile::parse(text.as_bytes(), "m").unwrap();
        prop_assert_eq!(back.to_json().unwrap(), text);
        let trees = back.model.as_trees().unwrap();
        let bits_of = |tree: &Tree| {
            tree.threshold.iter().chain(&tree.value).map(|v| v.to_bits()).collect::<Vec<_>>()
        };
        for read in trees.trees() {
            prop_assert_eq!(bits_of(read), bits_of(&tree));
            prop_assert_eq!(read, &tree);
        }
        prop_assert_eq!(trees.trees().len(), 2);
        let found = (trees.rules().base.to_bits(), trees.rules().single,
            back.model.threshold().to_bits());
        prop_assert_eq!(found, (rules.base.to_bits(), single, threshold.to_bits()));
    }
}
