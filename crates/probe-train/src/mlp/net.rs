//! A network in training: all parameters in one vector, the loss of some rows and its gradient.

use crate::error::Result;
use crate::metrics::RowLoss;
use probe_core::math::vectorised;
use probe_core::{Activation, Dense, Mlp, Stream};

/// Per layer, the weights as `[inputs][outputs]`, so that inner loops run over outputs, then the
/// biases.
#[derive(Debug, Clone)]
pub(super) struct Net {
    pub(super) parameters: Vec<f64>,
    shapes: Vec<Shape>,
    activation: Activation,
}

/// The position of a layer among the parameters.
#[derive(Debug, Clone, Copy)]
struct Shape {
    start: usize,
    n_in: usize,
    n_out: usize,
}

impl Shape {
    /// The weights and the biases of this layer in `all`.
    fn of<'a>(&self, all: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        let n_weights = self.n_in * self.n_out;
        all[self.start..self.start + n_weights + self.n_out].split_at(n_weights)
    }

    fn of_mut<'a>(&self, all: &'a mut [f64]) -> (&'a mut [f64], &'a mut [f64]) {
        let n_weights = self.n_in * self.n_out;
        all[self.start..self.start + n_weights + self.n_out].split_at_mut(n_weights)
    }
}

/// Buffers for a batch.
#[derive(Debug)]
pub(super) struct Workspace {
    /// Per layer, $z$ of each row.
    before: Vec<Vec<f64>>,
    /// Per hidden layer, $\phi(z)$ of each row.
    after: Vec<Vec<f64>>,
    /// Per layer, the derivative of the loss by $z$.
    delta: Vec<Vec<f64>>,
}

impl Workspace {
    pub(super) fn new(net: &Net, n_rows: usize) -> Self {
        let all =
            || net.shapes.iter().map(|shape| vec![0.0; n_rows * shape.n_out]).collect::<Vec<_>>();
        Self { before: all(), after: all(), delta: all() }
    }
}

impl Net {
    /// A network with layers of these widths, the input's first, at its start.
    pub(super) fn new(widths: &[usize], activation: Activation, stream: &mut Stream) -> Self {
        let (mut parameters, mut shapes) = (Vec::new(), Vec::new());
        for (index, pair) in widths.windows(2).enumerate() {
            let (n_in, n_out) = (pair[0], pair[1]);
            shapes.push(Shape { start: parameters.len(), n_in, n_out });
            let last = index + 2 == widths.len();
            let variance = match activation {
                Activation::Tanh | Activation::Sigmoid => 2.0 / (n_in + n_out) as f64,
                _ if last => 2.0 / (n_in + n_out) as f64,
                _ => 2.0 / n_in as f64,
            };
            parameters.extend((0..n_in * n_out).map(|_| variance.sqrt() * stream.normal()));
            parameters.extend((0..n_out).map(|_| 0.0));
        }
        Self { parameters, shapes, activation }
    }

    /// The network as a model of the engine.
    pub(super) fn model(&self) -> Result<Mlp> {
        let dense = |shape: &Shape| {
            let (weight, bias) = shape.of(&self.parameters);
            let row = |j: usize| (0..shape.n_in).map(move |k| weight[k * shape.n_out + j]);
            Dense { weight: (0..shape.n_out).flat_map(row).collect(), bias: bias.to_vec() }
        };
        Ok(Mlp::new(self.shapes.iter().map(dense).collect(), self.activation, 0.0)?)
    }

    /// Writes the gradient of the mean loss of some rows; returns the sum of their losses.
    pub(super) fn gradient(
        &self,
        x: &[f64],
        favourable: &[bool],
        class_weights: [f64; 2],
        workspace: &mut Workspace,
        gradient: &mut [f64],
    ) -> f64 {
        vectorised(
            #[inline(always)]
            || {
                self.forward(x, favourable.len(), workspace);
                let loss = self.loss(favourable, class_weights, workspace);
                self.backward(x, favourable.len(), workspace, gradient);
                loss
            },
        )
    }

    /// Adds the gradient of `penalty` / 2 times the sum of the squared weights, biases excepted.
    pub(super) fn add_penalty(&self, penalty: f64, gradient: &mut [f64]) {
        for shape in self.shapes.iter().filter(|_| penalty > 0.0) {
            let weights = shape.of(&self.parameters).0;
            shape.of_mut(gradient).0.iter_mut().zip(weights).for_each(|(g, w)| *g += penalty * w);
        }
    }

    #[inline(always)]
    fn forward(&self, x: &[f64], n_rows: usize, workspace: &mut Workspace) {
        for (index, shape) in self.shapes.iter().enumerate() {
            let (weight, bias) = shape.of(&self.parameters);
            let input = if index == 0 { x } else { &workspace.after[index - 1] };
            let z = &mut workspace.before[index][..n_rows * shape.n_out];
            for (values, z) in input.chunks_exact(shape.n_in).zip(z.chunks_exact_mut(shape.n_out)) {
                z.copy_from_slice(bias);
                for (value, weights) in values.iter().zip(weight.chunks_exact(shape.n_out)) {
                    add_scaled(z, *value, weights);
                }
            }
            if index + 1 < self.shapes.len() {
                let after = &mut workspace.after[index][..z.len()];
                after.copy_from_slice(z);
                self.activation.apply(after);
            }
        }
    }

    /// The sum of the losses; their derivatives by the outputs, divided by the number of rows, go
    /// to the last delta.
    #[inline(always)]
    fn loss(&self, favourable: &[bool], class_weights: [f64; 2], workspace: &mut Workspace) -> f64 {
        let last = self.shapes.len() - 1;
        let n_out = self.shapes[last].n_out;
        let share = 1.0 / favourable.len() as f64;
        let mut total = 0.0;
        let rows = workspace.before[last]
            .chunks_exact(n_out)
            .zip(workspace.delta[last].chunks_exact_mut(n_out));
        for ((z, delta), &yes) in rows.zip(favourable) {
            let weight = class_weights[usize::from(yes)];
            let margin = if n_out == 2 { z[1] - z[0] } else { z[0] };
            let loss = RowLoss::at(margin, yes);
            total += weight * loss.value;
            let slope = weight * loss.slope * share;
            if n_out == 2 {
                delta[0] = -slope;
            }
            delta[n_out - 1] = slope;
        }
        total
    }

    #[inline(always)]
    fn backward(&self, x: &[f64], n_rows: usize, workspace: &mut Workspace, gradient: &mut [f64]) {
        for (index, shape) in self.shapes.iter().enumerate().rev() {
            let (below, here) = workspace.delta.split_at_mut(index);
            let delta = &here[0][..n_rows * shape.n_out];
            let input = if index == 0 { x } else { &workspace.after[index - 1] };
            let (weight_gradient, bias_gradient) = shape.of_mut(gradient);
            weight_gradient.fill(0.0);
            bias_gradient.fill(0.0);
            for (values, delta) in
                input.chunks_exact(shape.n_in).zip(delta.chunks_exact(shape.n_out))
            {
                add_scaled(bias_gradient, 1.0, delta);
                for (value, g) in values.iter().zip(weight_gradient.chunks_exact_mut(shape.n_out)) {
                    // Units that are off, and scaled inputs at their lower end.
                    if *value != 0.0 {
                        add_scaled(g, *value, delta);
                    }
                }
            }
            let Some(below) = below.last_mut() else { continue };
            let weight = shape.of(&self.parameters).0;
            let rows = below
                .chunks_exact_mut(shape.n_in)
                .zip(workspace.before[index - 1].chunks_exact(shape.n_in));
            for ((below, z), delta) in rows.zip(delta.chunks_exact(shape.n_out)) {
                for ((b, z), weights) in
                    below.iter_mut().zip(z).zip(weight.chunks_exact(shape.n_out))
                {
                    *b = self.activation.derivative(*z) * probe_core::math::dot(weights, delta);
                }
            }
        }
    }
}

#[inline(always)]
fn add_scaled(sum: &mut [f64], factor: f64, terms: &[f64]) {
    sum.iter_mut().zip(terms).for_each(|(s, t)| *s += factor * t);
}

#[cfg(test)]
mod tests;
