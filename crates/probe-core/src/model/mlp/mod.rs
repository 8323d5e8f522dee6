//! Fully connected networks: $s(x) = w^\top \phi(W_k \cdots \phi(W_1 x + b_1) \cdots + b_k) + b -
//! \xi$.
//!
//! Any depth and width, one activation between all layers and none after the last. One output is
//! the margin itself; two are softmax logits, whose difference $z_1 - z_0$ is the margin: they are
//! folded into one row when the model is built. The original layer is kept as well, so that a file
//! is written back as it was read. A single layer is an affine score, and is treated as one.
//!
//! Scores cost $2 \sum_l n_l n_{l-1}$ operations a row, a gradient twice, a Hessian-vector product
//! four times that.

mod activation;
mod differentiable;
mod layer;

pub use activation::{Activation, LEAKY_SLOPE};
pub use layer::{Dense, Layer};

use super::{Differentiable, Linear, Model};
use crate::error::{Error, Result, require};
use crate::math::{dot, vectorised};
use crate::rows::Rows;
use crate::schema::Space;

/// Rows that go through the layers together, so that weights are fetched once for many rows.
const BLOCK: usize = 64;

/// A fully connected network.
///
/// ```
/// use probe_core::{Model, model::{Activation, Dense, Mlp}};
/// // |x| - 1, of two relu units.
/// let hidden = Dense { weight: vec![1.0, -1.0], bias: vec![0.0, 0.0] };
/// let output = Dense { weight: vec![1.0, 1.0], bias: vec![-1.0] };
/// let model = Mlp::new(vec![hidden, output], Activation::Relu, 0.0)?;
/// assert_eq!((model.score(&[-3.0])?, model.score(&[0.5])?), (2.0, -0.5));
/// # Ok::<(), probe_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mlp {
    /// All layers, the last one folded into a single output.
    layers: Vec<Layer>,
    /// The last layer as given, with its one or two outputs.
    last: Layer,
    activation: Activation,
    threshold: f64,
    /// The same score, where there is no hidden layer.
    affine: Option<Linear>,
}

impl Mlp {
    /// A network of `layers`, the first of which takes the features. Fails, naming layer and index,
    /// unless the sizes of successive layers match, the last has 1 or 2 outputs and every number is
    /// finite.
    pub fn new(layers: Vec<Dense>, activation: Activation, threshold: f64) -> Result<Self> {
        require(threshold.is_finite(), "threshold", "finite", threshold)?;
        let Some(first) = layers.first() else {
            return Err(Error::Shape {
                what: "layers of a network (at least)",
                expected: 1,
                found: 0,
            });
        };
        let mut n_in = first.weight.len() / first.bias.len().max(1);
        if n_in == 0 {
            return Err(Error::Shape {
                what: "inputs of layer 0 (at least)",
                expected: 1,
                found: 0,
            });
        }
        let mut checked = Vec::with_capacity(layers.len());
        for (index, dense) in layers.into_iter().enumerate() {
            let layer = Layer::new(dense, n_in, index)?;
            n_in = layer.n_out();
            checked.push(layer);
        }
        let index = checked.len() - 1;
        let last = checked.remove(index);
        let output = Layer::new(layer::fold(&last, index)?, last.n_in(), index)?;
        let affine = match checked.is_empty() {
            true => Some(Linear::new(output.weight().to_vec(), output.bias()[0], threshold)?),
            false => None,
        };
        checked.push(output);
        Ok(Self { layers: checked, last, activation, threshold, affine })
    }

    /// All layers in order. The last one is folded: it has one output, the margin.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The layers between input and last layer.
    pub fn hidden(&self) -> &[Layer] {
        &self.layers[..self.layers.len() - 1]
    }

    /// The weights and the bias of the margin, functions of the last hidden layer.
    pub fn output(&self) -> (&[f64], f64) {
        let layer = &self.layers[self.layers.len() - 1];
        (layer.weight(), layer.bias()[0])
    }

    /// The last layer as given, with one or two outputs.
    pub fn last(&self) -> &Layer {
        &self.last
    }

    /// The activation between the layers.
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// Number of weights and biases, as given.
    pub fn n_parameters(&self) -> usize {
        let count = |layer: &Layer| layer.weight().len() + layer.bias().len();
        self.hidden().iter().map(count).sum::<usize>() + count(&self.last)
    }

    /// The layers as given.
    pub fn dense(&self) -> impl Iterator<Item = &Dense> {
        self.hidden().iter().chain([&self.last]).map(Layer::dense)
    }

    /// The model with another decision: `negate` if its class 0 is the favourable
    /// one, and another cut-off. A tie stays unfavourable. Fails unless the cut-off is finite.
    pub fn with_decision(&self, negate: bool, threshold: Option<f64>) -> Result<Self> {
        let mut layers: Vec<Dense> = self.dense().cloned().collect();
        let sign = if negate { -1.0 } else { 1.0 };
        if let Some(last) = layers.last_mut().filter(|_| negate) {
            last.weight.iter_mut().chain(&mut last.bias).for_each(|value| *value = -*value);
        }
        Self::new(layers, self.activation, threshold.unwrap_or(sign * self.threshold))
    }

    /// The same score as a function of $y$, where $x_j = o_j + d_j y_j$: the map becomes part of
    /// the first layer. Fails on lengths other than the number of features and on weights that
    /// overflow.
    pub fn with_input(&self, offset: &[f64], width: &[f64]) -> Result<Self> {
        let n = self.n_features();
        for found in [offset.len(), width.len()] {
            if found != n {
                return Err(Error::Shape {
                    what: "entries of a map of the input",
                    expected: n,
                    found,
                });
            }
        }
        let mut layers: Vec<Dense> = self.dense().cloned().collect();
        if let Some(first) = layers.first_mut() {
            for (row, bias) in first.weight.chunks_exact_mut(n).zip(&mut first.bias) {
                *bias += dot(row, offset);
                row.iter_mut().zip(width).for_each(|(w, d)| *w *= d);
            }
        }
        Self::new(layers, self.activation, self.threshold)
    }

    /// The same score as a function of scaled inputs, for a model that takes raw ones.
    pub fn rescaled(&self, space: &Space) -> Result<Self> {
        let features = 0..self.n_features();
        let offset: Vec<f64> = features.clone().map(|j| space.offset(j)).collect();
        let width: Vec<f64> = features.map(|j| space.width(j)).collect();
        self.with_input(&offset, &width)
    }

    fn check(&self, what: &'static str, found: usize) -> Result<()> {
        let expected = self.n_features();
        if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
    }

    /// The largest buffer length of a row of any hidden layer.
    fn widest(&self) -> usize {
        self.hidden().iter().map(Layer::stride).max().unwrap_or(0)
    }

    /// Scores some rows with `room` for two layers of them.
    #[inline(always)]
    fn score_block(&self, x: &[f64], room: &mut [f64], out: &mut [f64]) {
        let n_rows = out.len();
        let (mut values, mut next) = room.split_at_mut(room.len() / 2);
        let mut stride = self.n_features();
        for (index, layer) in self.hidden().iter().enumerate() {
            let target = &mut next[..n_rows * layer.stride()];
            layer.forward(if index == 0 { x } else { values }, stride, target, true);
            self.activation.apply(target);
            stride = layer.stride();
            std::mem::swap(&mut values, &mut next);
        }
        let (weights, bias) = self.output();
        let values = if self.hidden().is_empty() { x } else { values };
        for (row, score) in values.chunks_exact(stride).zip(out) {
            *score = self.finish(weights, bias, row);
        }
    }

    /// The score from the last hidden layer.
    #[inline(always)]
    fn finish(&self, weights: &[f64], bias: f64, values: &[f64]) -> f64 {
        dot(weights, &values[..weights.len()]) + (bias - self.threshold)
    }
}

impl Model for Mlp {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn n_features(&self) -> usize {
        self.layers[0].n_in()
    }

    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()> {
        self.check("columns of the input", x.n_cols())?;
        if out.len() != x.n_rows() {
            return Err(Error::Shape { what: "scores", expected: x.n_rows(), found: out.len() });
        }
        let mut room = vec![0.0; 2 * BLOCK.min(out.len()) * self.widest()];
        vectorised(
            #[inline(always)]
            || {
                for (x, out) in x.data().chunks(BLOCK * x.n_cols()).zip(out.chunks_mut(BLOCK)) {
                    self.score_block(x, &mut room, out);
                }
            },
        );
        Ok(())
    }

    fn threshold(&self) -> f64 {
        self.threshold
    }

    fn as_differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }

    fn as_linear(&self) -> Option<&Linear> {
        self.affine.as_ref()
    }

    fn as_mlp(&self) -> Option<&Mlp> {
        Some(self)
    }
}

#[cfg(test)]
mod tests;
