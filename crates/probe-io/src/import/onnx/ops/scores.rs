//! From scores to what a classifier says of two classes: the margin is that of the second one.

use super::super::graph::Graph;
use super::super::node::Node;
use super::super::value::{Scores, Units, Value};
use super::{Inputs, Made, need};
use std::rc::Rc;

/// The difference of two logits.
pub(super) fn softmax(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let axis = node.int("axis", if graph.opset < 13 { 1 } else { -1 });
    if !matches!(axis, 1 | -1) {
        return Err(format!("along axis {axis}"));
    }
    let logits = graph.affine(need(inputs, 0)?)?;
    check_two(logits.n())?;
    let margin = logits.pick(&[1]).plus(&logits.pick(&[0]), -1.0);
    Ok(vec![Value::Scores(Scores::Affine(Rc::new(margin)))])
}

/// Two classes, or why not.
pub(super) fn check_two(n: usize) -> Result<(), String> {
    match n {
        2 => Ok(()),
        1 => Err("one class: two are needed".to_owned()),
        n => Err(format!("{n} classes: a model of more than two is not read")),
    }
}

/// The size of probabilities, which they are themselves.
pub(super) fn absolute(inputs: Inputs<'_>) -> Made {
    match need(inputs, 0)? {
        Value::Units(units) if units.curve.sigmoid().is_some() => {
            Ok(vec![Value::Units(units.clone())])
        }
        _ => Err("only probabilities have a size that is read".to_owned()),
    }
}

pub(super) fn sum(node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let axes = match inputs.get(1) {
        Some(Some(_)) => super::constant(inputs, 1)?.wholes()?.to_vec(),
        _ => node.ints("axes").to_vec(),
    };
    match need(inputs, 0)? {
        Value::Units(units) if matches!(axes[..], [1 | -1]) && node.int("keepdims", 1) == 1 => {
            Ok(vec![Value::Sum(units.clone())])
        }
        other => Err(format!("a sum of {} along {axes:?}", other.describe())),
    }
}

/// Probabilities of two classes sum to one already.
pub(super) fn normalizer(node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let norm = node.text("norm", "MAX");
    match need(inputs, 0)? {
        Value::Scores(scores) if norm == "L1" => Ok(vec![Value::Scores(scores.clone())]),
        other => {
            Err(format!("norm {norm} of {}: every column would depend on all", other.describe()))
        }
    }
}

/// Names for probabilities.
pub(super) fn zip_map(inputs: Inputs<'_>) -> Made {
    Ok(vec![need(inputs, 0)?.clone()])
}

/// Number of class labels of a classifier.
pub(super) fn n_classes(node: &Node<'_>, wholes: &str) -> Result<usize, String> {
    Ok(node.ints(wholes).len().max(node.texts("classlabels_strings")?.len()))
}

pub(super) fn linear_classifier(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    check_two(n_classes(node, "classlabels_ints")?)?;
    let scores = linear(graph, node, inputs)?;
    let transform = node.text("post_transform", "NONE");
    let opposite = scores.root.n() == 2 && scores.root.is_opposite();
    let margin = match (scores.root.n(), transform.as_str()) {
        (1, "LOGISTIC" | "NONE") => scores.root.pick(&[0]),
        (2, "LOGISTIC" | "NONE") if opposite => scores.root.pick(&[1]),
        (2, "SOFTMAX") => scores.root.pick(&[1]).plus(&scores.root.pick(&[0]), -1.0),
        (2, "LOGISTIC" | "NONE") => {
            return Err(format!(
                "post_transform {transform} of two scores that are not each other's negative"
            ));
        }
        (n, _) => return Err(format!("post_transform {transform} of {n} score(s)")),
    };
    Ok(vec![Value::Label, Value::Scores(Scores::Affine(Rc::new(margin)))])
}

pub(super) fn linear_regressor(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    let transform = node.text("post_transform", "NONE");
    let scores = linear(graph, node, inputs)?;
    match (scores.root.n(), transform.as_str()) {
        (1, "NONE") => Ok(vec![Value::Units(scores)]),
        (n, _) => Err(format!("post_transform {transform} of {n} target(s): only NONE of one")),
    }
}

/// Scores of a linear model, one or two.
fn linear(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Result<Units, String> {
    let affine = graph.affine(need(inputs, 0)?)?;
    let (coefficients, mut intercepts) = (node.floats("coefficients"), node.floats("intercepts"));
    let d = affine.n();
    let n = coefficients.len() / d.max(1);
    if !matches!(n, 1 | 2) || coefficients.len() != n * d {
        return Err(format!("{} coefficients for {d} columns", coefficients.len()));
    }
    if intercepts.is_empty() {
        intercepts = vec![0.0; n];
    }
    if intercepts.len() != n {
        return Err(format!("{} intercepts for {n} score(s)", intercepts.len()));
    }
    graph.spend(n.saturating_mul(affine.width))?;
    let by_column: Vec<f64> = (0..d)
        .flat_map(|j| (0..n).map(move |i| (i, j)))
        .map(|(i, j)| coefficients[i * d + j])
        .collect();
    Ok(Units::plain(affine.through(&by_column, n, &intercepts)))
}
