//! Layers: matrix products and batch normalisation.

use super::super::graph::Graph;
use super::super::node::Node;
use super::super::tensor::Tensor;
use super::super::value::Value;
use super::{Inputs, Made, constant, need};

pub(super) fn gemm(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    if node.int("transA", 0) != 0 {
        return Err("transA: the rows of the table would be its columns".to_owned());
    }
    let (alpha, beta) = (node.float("alpha", 1.0), node.float("beta", 1.0));
    let matrix = constant(inputs, 1)?;
    let matrix = if node.int("transB", 0) != 0 { &matrix.transposed()? } else { matrix };
    let (_, n) = matrix.matrix()?;
    let bias = match inputs.get(2) {
        Some(Some(_)) => {
            constant(inputs, 2)?.per_column(n)?.into_iter().map(|b| beta * b).collect()
        }
        _ => vec![0.0; n],
    };
    layer(graph, need(inputs, 0)?, matrix, alpha, &bias)
}

pub(super) fn matmul(graph: &mut Graph, inputs: Inputs<'_>) -> Made {
    let matrix = constant(inputs, 1)?;
    let (_, n) = matrix.matrix()?;
    layer(graph, need(inputs, 0)?, matrix, 1.0, &vec![0.0; n])
}

fn layer(graph: &mut Graph, x: &Value, matrix: &Tensor, alpha: f64, bias: &[f64]) -> Made {
    let affine = graph.affine(x)?;
    let (rows, n) = matrix.matrix()?;
    if rows != affine.n() {
        return Err(format!("a matrix of {rows} rows takes {} columns", affine.n()));
    }
    graph.spend(n.saturating_mul(affine.width))?;
    let mut numbers = matrix.numbers()?;
    numbers.iter_mut().for_each(|w| *w *= alpha);
    Ok(vec![Value::units(affine.through(&numbers, n, bias))])
}

/// As it predicts, with the mean and the variance of the training.
pub(super) fn batch_norm(graph: &mut Graph, node: &Node<'_>, inputs: Inputs<'_>) -> Made {
    if node.int("training_mode", 0) != 0 {
        return Err("training_mode: it depends on the other rows".to_owned());
    }
    let affine = graph.affine(need(inputs, 0)?)?;
    graph.spend_like(&affine)?;
    let of = |i: usize| constant(inputs, i)?.per_column(affine.n());
    let (scale, shift, mean, variance) = (of(1)?, of(2)?, of(3)?, of(4)?);
    let epsilon = node.float("epsilon", 1e-5);
    let factor = |i: usize| scale[i] / (variance[i] + epsilon).sqrt();
    Ok(vec![Value::units(affine.mapped(factor, |i| shift[i] - mean[i] * factor(i)))])
}
