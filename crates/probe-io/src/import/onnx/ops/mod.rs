//! The supported operators. Any other one is rejected by name.

mod arithmetic;
mod encode;
mod layout;
mod matrix;
mod scores;
mod trees;

use super::curve::Function;
use super::graph::Graph;
use super::node::Node;
use super::value::Value;
use std::rc::Rc;

/// Inputs of an operator; `None` for one that is left out.
type Inputs<'v> = &'v [Option<Value>];

/// The outputs of an operator, or why it is not supported.
type Made = Result<Vec<Value>, String>;

/// Applies one operator.
pub(super) fn apply(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    if let Some(domain) = node.foreign_domain() {
        return Err(format!("operators of '{domain}' are not read"));
    }
    if node.is_ml() { learned(graph, node, inputs) } else { plain(graph, node, inputs) }
}

/// Operators of the default set.
fn plain(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let one = |value| Ok(vec![value]);
    match node.op() {
        "Constant" => one(Value::Constant(Rc::new(node.constant()?))),
        "Identity" | "Dropout" => layout::same(node, inputs),
        "Cast" => layout::cast(graph, node, inputs),
        "Reshape" => layout::reshape(graph, node, inputs),
        "Flatten" => layout::flatten(graph, node, inputs),
        "Squeeze" | "Unsqueeze" => layout::squeeze(graph, node, inputs),
        "Transpose" => layout::transpose(graph, node, inputs),
        "Concat" => layout::concat(graph, node, inputs),
        "Gather" => layout::gather(graph, node, inputs),
        "Gemm" => matrix::gemm(graph, node, inputs),
        "MatMul" => matrix::matmul(graph, inputs),
        "BatchNormalization" => matrix::batch_norm(graph, node, inputs),
        "Add" => arithmetic::add(graph, inputs),
        "Sub" => arithmetic::subtract(graph, inputs),
        "Mul" => arithmetic::multiply(graph, inputs),
        "Div" => arithmetic::divide(graph, inputs),
        "Neg" => arithmetic::negate(graph, inputs),
        "LeakyRelu" => {
            arithmetic::function(graph, inputs, Function::leaky(node.float("alpha", 0.01))?)
        }
        "Gelu" => arithmetic::gelu(graph, node, inputs),
        "Swish" => arithmetic::swish(graph, node, inputs),
        "Softmax" | "LogSoftmax" => scores::softmax(graph, node, inputs),
        "ArgMax" => one(Value::Label),
        "Abs" => scores::absolute(inputs),
        "ReduceSum" => scores::sum(node, inputs),
        op => match Function::named(op) {
            Some(function) => arithmetic::function(graph, inputs, function),
            None => Err("this operator is not read".to_owned()),
        },
    }
}

/// Operators of `ai.onnx.ml`.
fn learned(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    match node.op() {
        "Scaler" => encode::scaler(graph, node, inputs),
        "Imputer" => encode::imputer(graph, node, inputs),
        "OneHotEncoder" => encode::one_hot(graph, node, inputs),
        "LabelEncoder" => encode::label_encoder(graph, node, inputs),
        "FeatureVectorizer" => layout::feature_vectorizer(graph, node, inputs),
        "ArrayFeatureExtractor" => layout::array_feature_extractor(graph, inputs),
        "LinearClassifier" => scores::linear_classifier(graph, node, inputs),
        "LinearRegressor" => scores::linear_regressor(graph, node, inputs),
        "TreeEnsembleClassifier" => trees::classifier(graph, node, inputs),
        "TreeEnsembleRegressor" => trees::regressor(graph, node, inputs),
        "Normalizer" => scores::normalizer(node, inputs),
        "ZipMap" => scores::zip_map(inputs),
        "TreeEnsemble" => {
            Err("this form of trees (ai.onnx.ml 5) is not read: export for ai.onnx.ml 3 \
                 (TreeEnsembleClassifier)"
                .to_owned())
        }
        _ => Err("this operator is not read".to_owned()),
    }
}

/// Input `i`, which must be there.
fn need(inputs: Inputs<'_>, i: usize) -> Result<&Value, String> {
    inputs.get(i).and_then(Option::as_ref).ok_or_else(|| format!("input {i} is missing"))
}

/// Input `i`, which must be a constant.
fn constant(inputs: Inputs<'_>, i: usize) -> Result<&super::tensor::Tensor, String> {
    let value = need(inputs, i)?;
    value
        .constant()
        .ok_or_else(|| format!("its input {i} must be a constant and is {}", value.describe()))
}
