//! Graphs made by hand: what is read and what is refused, with known answers.

use super::*;
use crate::error::Error;
use proto::{
    Attribute, Dimension, Entry, Graph, Model, Node, Opset, Shape, Tensor, TensorType, Type,
    ValueInfo,
};

/// An input of `columns`; element 1 is float, 7 int64, 8 text.
pub(super) fn input(name: &str, element: i32, columns: i64) -> ValueInfo {
    let dim = vec![Dimension { dim_value: None }, Dimension { dim_value: Some(columns) }];
    let tensor_type = Some(TensorType { elem_type: element, shape: Some(Shape { dim }) });
    ValueInfo { name: name.to_owned(), r#type: Some(Type { tensor_type }) }
}

pub(super) fn floats(name: &str, dims: &[i64], values: &[f32]) -> Tensor {
    let (name, dims, float_data) = (name.to_owned(), dims.to_vec(), values.to_vec());
    Tensor { name, dims, data_type: 1, float_data, ..Tensor::default() }
}

pub(super) fn node(op: &str, input: &[&str], output: &[&str]) -> Node {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Node {
        op_type: op.to_owned(),
        name: format!("the {op}"),
        input: names(input),
        output: names(output),
        ..Node::default()
    }
}

pub(super) fn learned(
    op: &str,
    input: &[&str],
    output: &[&str],
    attribute: Vec<Attribute>,
) -> Node {
    Node { domain: "ai.onnx.ml".to_owned(), attribute, ..node(op, input, output) }
}

pub(super) fn of_floats(name: &str, floats: &[f32]) -> Attribute {
    Attribute { name: name.to_owned(), floats: floats.to_vec(), ..Attribute::default() }
}

pub(super) fn of_ints(name: &str, ints: &[i64]) -> Attribute {
    Attribute { name: name.to_owned(), ints: ints.to_vec(), ..Attribute::default() }
}

pub(super) fn of_texts(name: &str, texts: &[&str]) -> Attribute {
    let strings = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
    Attribute { name: name.to_owned(), strings, ..Attribute::default() }
}

pub(super) fn of_text(name: &str, text: &str) -> Attribute {
    Attribute { name: name.to_owned(), s: Some(text.as_bytes().to_vec()), ..Attribute::default() }
}

pub(super) fn of_float(name: &str, f: f32) -> Attribute {
    Attribute { name: name.to_owned(), f: Some(f), ..Attribute::default() }
}

pub(super) fn of_int(name: &str, i: i64) -> Attribute {
    Attribute { name: name.to_owned(), i: Some(i), ..Attribute::default() }
}

pub(super) fn model(
    input: Vec<ValueInfo>,
    initializer: Vec<Tensor>,
    node: Vec<Node>,
    output: &str,
) -> Model {
    let output = vec![ValueInfo { name: output.to_owned(), r#type: None }];
    let graph = Graph { node, initializer, input, output };
    let sets = [("", 17), ("ai.onnx.ml", 3), ("com.microsoft", 1)];
    let set = |(domain, version): (&str, i64)| Opset { domain: domain.to_owned(), version };
    let opset_import = sets.map(set).to_vec();
    Model { graph: Some(graph), opset_import, ..Model::default() }
}

pub(super) fn bytes(model: &Model) -> Vec<u8> {
    // The version, which is not read, comes first in files.
    let mut bytes = vec![0x08, 8];
    bytes.extend(model.encode_to_vec());
    bytes
}

pub(super) fn import(model: &Model) -> Result<Imported> {
    let bytes = bytes(model);
    assert!(looks_like(&bytes));
    read(&bytes, "m.onnx")
}

fn message(model: &Model) -> String {
    import(model).map(|found| found.features).unwrap_err().to_string()
}

/// Two columns through one layer of two units and a last one: `w` = [[1, −1], [2, 0.5]], `v` = [1,
/// −2].
fn two_layers(between: Vec<Node>) -> Model {
    let constants =
        vec![floats("w", &[2, 2], &[1.0, -1.0, 2.0, 0.5]), floats("v", &[2, 1], &[1.0, -2.0])];
    let mut nodes = vec![node("MatMul", &["x", "w"], &["t"])];
    nodes.extend(between);
    nodes.push(node("MatMul", &["u", "v"], &["y"]));
    model(vec![input("x", 1, 2)], constants, nodes, "y")
}

#[test]
fn a_dense_network_is_read() {
    let found = import(&two_layers(vec![node("Relu", &["t"], &["u"])])).unwrap();
    assert_eq!(found.features, ["x_0", "x_1"]);
    // t = (1 + 2·3, −1 + 0.5·3) = (7, 0.5); 7 − 2·0.5.
    assert_eq!(found.model.score(&[1.0, 3.0]).unwrap(), 6.0);
    // t = (−1, 1), of which the second is left.
    assert_eq!(found.model.score(&[-1.0, 0.0]).unwrap(), -2.0);
    assert!(found.model.as_mlp().is_some_and(|mlp| mlp.hidden().len() == 1));
}

#[test]
fn a_product_with_factors_and_a_bias_is_one_layer() {
    let constants = vec![floats("w", &[1, 2], &[1.0, -2.0]), floats("b", &[1], &[4.0])];
    let mut gemm = node("Gemm", &["x", "w", "b"], &["y"]);
    // A number that is named and left out is zero.
    let left_out = Attribute { name: "beta".to_owned(), ..Attribute::default() };
    gemm.attribute = vec![of_int("transB", 1), of_float("alpha", 0.5), left_out];
    let found = import(&model(vec![input("x", 1, 2)], constants, vec![gemm.clone()], "y")).unwrap();
    let linear = found.model.as_linear().unwrap();
    assert_eq!((linear.weights(), linear.bias()), (&[0.5, -1.0][..], 0.0));
    gemm.attribute.push(of_int("transA", 1));
    let constants = vec![floats("w", &[1, 2], &[1.0, -2.0]), floats("b", &[1], &[4.0])];
    assert!(message(&model(vec![input("x", 1, 2)], constants, vec![gemm], "y")).contains("transA"));
}

#[test]
fn affine_maps_in_a_row_are_one() {
    let found = import(&two_layers(vec![node("Identity", &["t"], &["u"])])).unwrap();
    // x · w · v = x · (1 + 2, 2 − 1).
    assert_eq!(found.model.as_linear().unwrap().weights(), [3.0, 1.0]);
}

#[test]
fn a_layer_of_one_unit_has_a_bias_too() {
    let constants = vec![
        floats("w", &[2, 1], &[1.0, 2.0]),
        floats("b", &[1], &[0.5]),
        floats("v", &[1, 1], &[-3.0]),
    ];
    let nodes = vec![
        node("MatMul", &["x", "w"], &["s"]),
        node("Add", &["s", "b"], &["t"]),
        node("Sigmoid", &["t"], &["p"]),
        node("Mul", &["t", "p"], &["u"]),
        node("MatMul", &["u", "v"], &["y"]),
    ];
    let found = import(&model(vec![input("x", 1, 2)], constants, nodes, "y")).unwrap();
    // t = 0.25 + 0.25 + 0.5 = 1, and −3 of its silu.
    let silu = 1.0 / (1.0 + f64::exp(-1.0));
    assert!((found.model.score(&[0.25, 0.125]).unwrap() + 3.0 * silu).abs() < 1e-15);
}

#[test]
fn whole_numbers_are_compared_as_float32_and_categories_not_at_all() {
    let whole = model(
        vec![input("x", 7, 2)],
        vec![],
        vec![stump(0, "BRANCH_LEQ", [0.25, 1.0], vec![])],
        "p",
    );
    let found = import(&whole).unwrap();
    assert_eq!(
        (found.model.score(&[0.0, 0.0]).unwrap(), found.model.score(&[1.0, 0.0]).unwrap()),
        (-0.25, 0.5)
    );
    assert_eq!(found.schema.unwrap().features[0].kind, probe_core::schema::Kind::Integer);
    // Cut to whole numbers, a column is good for categories only.
    let mut cut = node("Cast", &["z"], &["x"]);
    cut.attribute.push(of_int("to", 7));
    let nodes = vec![cut, stump(0, "BRANCH_LEQ", [0.25, 1.0], vec![])];
    let refusal = message(&model(vec![input("z", 1, 2)], vec![], nodes, "p"));
    assert!(refusal.contains("a category is used as a number"), "{refusal}");
}

#[test]
fn operators_that_are_not_read_are_named() {
    let refusal = message(&two_layers(vec![node("Elu", &["t"], &["u"])]));
    assert_eq!(refusal, "m.onnx: node 'the Elu' (Elu): this operator is not read");
    let mut foreign = node("Relu", &["t"], &["u"]);
    foreign.domain = "com.microsoft".to_owned();
    assert!(
        message(&two_layers(vec![foreign])).contains("operators of 'com.microsoft' are not read")
    );
    let mut leaky = node("LeakyRelu", &["t"], &["u"]);
    leaky.attribute.push(of_float("alpha", 0.25));
    assert!(
        message(&two_layers(vec![leaky])).contains("(LeakyRelu): alpha is 0.25; only 0.01 is read")
    );
    let mut gelu = node("Gelu", &["t"], &["u"]);
    gelu.attribute.push(of_text("approximate", "tanh"));
    assert!(message(&two_layers(vec![gelu])).contains("approximate = \"tanh\""));
}

#[test]
fn what_the_score_does_not_need_is_not_refused() {
    let mut model = two_layers(vec![node("Relu", &["t"], &["u"]), node("Mystery", &["t"], &["z"])]);
    assert!(import(&model).is_ok());
    // As a label beside the score it is none; as numbers it may be what decides.
    model.graph.as_mut().unwrap().output.push(input("z", 7, 1));
    assert!(import(&model).is_ok());
    model.graph.as_mut().unwrap().output[1] = input("z", 1, 1);
    assert!(message(&model).contains("node 'the Mystery' (Mystery): this operator is not read"));
}

#[test]
fn connections_that_skip_and_second_activations_are_refused() {
    let skip = vec![node("Relu", &["t"], &["s"]), node("Add", &["s", "t"], &["u"])];
    // relu(t) + t is a function of t, but no activation.
    assert!(message(&two_layers(skip)).contains("no activation that is read"));
    let skip = vec![node("Relu", &["t"], &["s"]), node("Add", &["s", "x"], &["u"])];
    assert!(message(&two_layers(skip)).contains("(Add): it joins different layers"));
    let two = vec![node("Relu", &["t"], &["r"]), node("Tanh", &["r"], &["u"])];
    let refusal = message(&two_layers(two));
    assert!(refusal.contains("activation tanh") && refusal.contains("relu"), "{refusal}");
}

#[test]
fn a_graph_that_is_none_is_refused() {
    let missing = message(&two_layers(vec![node("Relu", &["nowhere"], &["u"])]));
    assert!(missing.contains("node 'the Relu' (Relu): its input 'nowhere'"), "{missing}");
    // A cycle: each needs what the other computes.
    let cycle = vec![node("Relu", &["u"], &["s"]), node("Identity", &["s"], &["u"])];
    assert!(message(&two_layers(cycle)).contains("its input 'u' is neither"));
    let twice = vec![node("Relu", &["t"], &["u"]), node("Tanh", &["t"], &["u"])];
    assert!(message(&two_layers(twice)).contains("'u' is computed twice"));
    let mut without = two_layers(vec![node("Relu", &["t"], &["u"])]);
    without.graph.as_mut().unwrap().initializer.remove(1);
    assert!(message(&without).contains("its input 'v' is neither"));
    let mut elsewhere = two_layers(vec![node("Relu", &["t"], &["u"])]);
    let tensor = &mut elsewhere.graph.as_mut().unwrap().initializer[0];
    tensor.external_data.push(Entry { key: "location".to_owned(), value: "w.bin".to_owned() });
    assert!(message(&elsewhere).contains("initializer 'w': its data are in another file"));
}

#[test]
fn operator_sets_must_be_declared_and_not_too_old() {
    let mut none = two_layers(vec![node("Relu", &["t"], &["u"])]);
    none.opset_import.clear();
    assert!(message(&none).contains("node 'the MatMul' (MatMul): the file does not declare"));
    let mut old = two_layers(vec![node("Relu", &["t"], &["u"])]);
    old.opset_import[0].version = 6;
    assert!(message(&old).contains("version 6 of the operators is older than 7"));
}

#[test]
fn sizes_that_the_file_only_claims_are_refused() {
    let mut large = two_layers(vec![node("Relu", &["t"], &["u"])]);
    large.graph.as_mut().unwrap().initializer[0].dims = vec![1 << 40, 1 << 40];
    assert!(message(&large).contains("has 4 entries"));
    let nodes = vec![node("Sigmoid", &["x"], &["y"])];
    let wide = model(vec![input("x", 1, 1 << 40)], vec![], nodes, "y");
    assert!(message(&wide).contains("input 'x': 1099511627776 columns"));
    // Many copies of a wide input, each by a node of a few bytes.
    let mut nodes: Vec<Node> =
        (0..2000).map(|i| node("Neg", &["x"], &[&format!("n{i}")])).collect();
    nodes.push(node("Add", &["x", "n1999"], &["y"]));
    let many = model(vec![input("x", 1, 1 << 16)], vec![], nodes, "y");
    assert!(message(&many).contains("too large"));
}

#[test]
fn classes_are_two() {
    let three = vec![floats("w", &[2, 3], &[1.0; 6])];
    let nodes = vec![node("MatMul", &["x", "w"], &["t"]), node("Softmax", &["t"], &["y"])];
    let refusal = message(&model(vec![input("x", 1, 2)], three, nodes, "y"));
    assert!(refusal.contains("(Softmax): 3 classes"), "{refusal}");
}

/// A stump on column `feature` of its input with leaves of these weights.
fn stump(feature: i64, mode: &str, weights: [f32; 2], more: Vec<Attribute>) -> Node {
    let mut attributes = vec![
        of_ints("nodes_treeids", &[0, 0, 0]),
        of_ints("nodes_nodeids", &[0, 1, 2]),
        of_ints("nodes_featureids", &[feature, 0, 0]),
        of_texts("nodes_modes", &[mode, "LEAF", "LEAF"]),
        of_floats("nodes_values", &[0.5, 0.0, 0.0]),
        of_ints("nodes_truenodeids", &[1, 0, 0]),
        of_ints("nodes_falsenodeids", &[2, 0, 0]),
        of_ints("class_treeids", &[0, 0]),
        of_ints("class_nodeids", &[1, 2]),
        of_ints("class_ids", &[0, 0]),
        of_floats("class_weights", &weights),
        of_ints("classlabels_int64s", &[0, 1]),
    ];
    for attribute in more {
        attributes.retain(|known| known.name != attribute.name);
        attributes.push(attribute);
    }
    learned("TreeEnsembleClassifier", &["x"], &["label", "p"], attributes)
}

fn stump_model(stump: Node) -> Model {
    model(vec![input("x", 1, 2)], vec![], vec![stump], "p")
}

#[test]
fn splits_are_below_or_at_most() {
    for (mode, at) in [("BRANCH_LEQ", -1.0), ("BRANCH_LT", 2.0)] {
        let logistic =
            vec![of_text("post_transform", "LOGISTIC"), of_floats("base_values", &[0.25])];
        let found = import(&stump_model(stump(1, mode, [-1.0, 2.0], logistic))).unwrap();
        let score = |x: f64| found.model.score(&[9.0, x]).unwrap();
        assert_eq!((score(0.4), score(0.5), score(0.6)), (-0.75, at + 0.25, 2.25), "{mode}");
        assert!(found.model.as_trees().unwrap().rules().single);
        // No node says where missing values go.
        assert!(found.model.refuses_missing(1).is_some());
    }
    assert!(
        message(&stump_model(stump(1, "BRANCH_GT", [-1.0, 2.0], vec![])))
            .contains("nodes_modes: BRANCH_GT")
    );
}

#[test]
fn probabilities_and_margins_are_told_apart() {
    // No negative weight: a probability, its margin is what it has above one half.
    let found = import(&stump_model(stump(0, "BRANCH_LEQ", [0.25, 1.0], vec![]))).unwrap();
    assert_eq!(found.model.score(&[0.0, 0.0]).unwrap(), -0.25);
    assert_eq!(found.model.score(&[1.0, 0.0]).unwrap(), 0.5);
    let found = import(&stump_model(stump(0, "BRANCH_LEQ", [-0.25, 1.0], vec![]))).unwrap();
    assert_eq!(found.model.score(&[0.0, 0.0]).unwrap(), -0.25);
    assert_eq!(found.model.score(&[1.0, 0.0]).unwrap(), 1.0);
}

#[test]
fn missing_values_go_where_the_file_says() {
    let tracks = vec![of_ints("nodes_missing_value_tracks_true", &[1, 0, 0])];
    let found = import(&stump_model(stump(0, "BRANCH_LEQ", [0.25, 1.0], tracks.clone()))).unwrap();
    assert_eq!(found.model.refuses_missing(0), None);
    assert_eq!(found.model.score(&[f64::NAN, 0.0]).unwrap(), -0.25);
    // A split between missing and present values.
    let mut apart = tracks.clone();
    apart.push(of_floats("nodes_values", &[f32::NEG_INFINITY, 0.0, 0.0]));
    let found = import(&stump_model(stump(0, "BRANCH_LEQ", [0.25, 1.0], apart))).unwrap();
    assert_eq!(found.model.score(&[f64::NAN, 0.0]).unwrap(), -0.25);
    assert_eq!(found.model.score(&[-1e30, 0.0]).unwrap(), 0.5);
    // Behind a negative factor the other branch is the left one; the missing value still takes the
    // same leaf.
    let mut behind = stump(0, "BRANCH_LEQ", [0.25, 1.0], tracks.clone());
    behind.input = vec!["z".to_owned()];
    let nodes = vec![node("Neg", &["x"], &["z"]), behind];
    let found = import(&model(vec![input("x", 1, 2)], vec![], nodes, "p")).unwrap();
    assert_eq!(found.model.score(&[f64::NAN, 0.0]).unwrap(), -0.25);
    assert_eq!(found.model.score(&[-0.5, 0.0]).unwrap(), -0.25);
    assert_eq!(found.model.score(&[-0.6, 0.0]).unwrap(), 0.5);
    // An imputer replaces them by something that is not kept: they are refused.
    let mut behind = stump(0, "BRANCH_LEQ", [0.25, 1.0], tracks);
    behind.input = vec!["z".to_owned()];
    let imputer =
        vec![of_floats("imputed_value_floats", &[0.0]), of_float("replaced_value_float", f32::NAN)];
    let nodes = vec![learned("Imputer", &["x"], &["z"], imputer), behind];
    let found = import(&model(vec![input("x", 1, 2)], vec![], nodes, "p")).unwrap();
    assert!(found.model.refuses_missing(0).is_some());
}

#[test]
fn trees_that_are_none_are_refused() {
    let broken =
        |more: Attribute| message(&stump_model(stump(0, "BRANCH_LEQ", [0.25, 1.0], vec![more])));
    assert!(
        broken(of_ints("nodes_truenodeids", &[0, 0, 0]))
            .contains("number of ways to node 0 of tree 0")
    );
    assert!(broken(of_ints("nodes_truenodeids", &[2, 0, 0])).contains("number of ways to node 2"));
    assert!(broken(of_ints("nodes_truenodeids", &[7, 0, 0])).contains("tree 0 has no node 7"));
    assert!(
        broken(of_ints("nodes_nodeids", &[0, 1, 1])).contains("node 1 of tree 0 is given twice")
    );
    assert!(
        broken(of_ints("nodes_featureids", &[-1, 0, 0]))
            .contains("nodes_featureids: -1 of 2 columns")
    );
    assert!(
        broken(of_ints("nodes_featureids", &[0, 0])).contains("nodes_featureids has 2 entries")
    );
    assert!(broken(of_ints("class_nodeids", &[0, 2])).contains("node 0 of tree 0 is no leaf"));
    assert!(broken(of_ints("class_ids", &[0, 2])).contains("class_ids: 2"));
    assert!(broken(of_floats("nodes_values", &[f32::NAN, 0.0, 0.0])).contains("nodes_values: NaN"));
    assert!(broken(of_floats("class_weights", &[f32::INFINITY, 0.0])).contains("finite"));
    assert!(broken(of_ints("classlabels_int64s", &[0, 1, 2])).contains("3 classes"));
}

#[test]
fn categories_become_columns_and_a_schema() {
    let encoder = learned(
        "OneHotEncoder",
        &["job"],
        &["hot"],
        vec![of_texts("cats_strings", &["none", "boss"])],
    );
    let shape = Tensor {
        name: "shape".to_owned(),
        dims: vec![2],
        data_type: 7,
        int64_data: vec![-1, 2],
        ..Tensor::default()
    };
    let linear = vec![
        of_floats("coefficients", &[-1.0, -3.0, -0.5, 1.0, 3.0, 0.5]),
        of_floats("intercepts", &[-2.0, 2.0]),
        of_ints("classlabels_ints", &[0, 1]),
        of_text("post_transform", "LOGISTIC"),
    ];
    let mut join = node("Concat", &["flat", "age"], &["all"]);
    join.attribute.push(of_int("axis", 1));
    let nodes = vec![
        encoder,
        node("Reshape", &["hot", "shape"], &["flat"]),
        join,
        learned("LinearClassifier", &["all"], &["label", "p"], linear),
    ];
    let found =
        import(&model(vec![input("age", 1, 1), input("job", 8, 1)], vec![shape], nodes, "p"))
            .unwrap();
    assert_eq!(found.features, ["age", "job=none", "job=boss"]);
    assert_eq!(found.model.as_linear().unwrap().weights(), [0.5, 1.0, 3.0]);
    assert_eq!(found.model.as_linear().unwrap().bias(), 2.0);
    let schema = found.schema.unwrap();
    assert_eq!(schema.features[1].categories, ["none", "boss"]);
}

#[test]
fn other_files_are_not_taken_for_it() {
    for bytes in [
        &b"{\"format\""[..],
        b"",
        b"\x08",
        b"{L\0\0",
        b"tree\nversion=v4",
        b"\x80\x04\x95",
        b"\x08\x00\x12",
    ] {
        assert!(!looks_like(bytes), "{bytes:?}");
    }
    let error = read(b"\x08\x08", "m.onnx").map(|found| found.features).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}
