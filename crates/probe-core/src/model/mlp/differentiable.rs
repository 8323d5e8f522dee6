//! Gradients by backpropagation, and Hessian-vector products by differentiating forward and
//! backward pass along $v$ (the R-operator of Pearlmutter 1994): exact, and no step size.

use super::{Layer, Mlp};
use crate::error::Result;
use crate::math::vectorised;
use crate::model::Differentiable;

impl Mlp {
    /// Writes each hidden layer's $z$ and $\phi(z)$, one layer after the other, and returns the
    /// score.
    #[inline(always)]
    fn forward(&self, x: &[f64], before: &mut [f64], after: &mut [f64]) -> f64 {
        let (mut start, mut input) = (0, 0..0);
        for (index, layer) in self.hidden().iter().enumerate() {
            let here = start..start + layer.stride();
            let (done, rest) = after.split_at_mut(here.start);
            let values = if index == 0 { x } else { &done[input] };
            layer.forward(values, values.len(), &mut before[here.clone()], true);
            let target = &mut rest[..layer.stride()];
            target.copy_from_slice(&before[here.clone()]);
            self.activation.apply(target);
            start = here.end;
            input = here;
        }
        let (weights, bias) = self.output();
        self.finish(weights, bias, if self.hidden().is_empty() { x } else { &after[input] })
    }

    /// Buffers for all hidden layers of one row.
    fn room(&self) -> usize {
        self.hidden().iter().map(Layer::stride).sum()
    }

    #[inline(always)]
    fn gradient(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let room = self.room();
        let mut scratch = vec![0.0; 2 * room + 2 * self.widest()];
        let (before, rest) = scratch.split_at_mut(room);
        let (after, rest) = rest.split_at_mut(room);
        let (mut delta, mut next) = rest.split_at_mut(self.widest());
        let score = self.forward(x, before, after);
        let mut end = room;
        for (index, layer) in self.hidden().iter().enumerate().rev() {
            let n = layer.n_out();
            // Of the layer above: the output's weights, or its weights times its own slopes.
            match index + 2 == self.layers.len() {
                true => next[..n].copy_from_slice(self.output().0),
                false => self.layers[index + 1].transposed_times(delta, &mut next[..n]),
            }
            std::mem::swap(&mut delta, &mut next);
            let start = end - layer.stride();
            for (d, z) in delta[..n].iter_mut().zip(&before[start..]) {
                *d *= self.activation.derivative(*z);
            }
            end = start;
        }
        match self.hidden().first() {
            Some(first) => first.transposed_times(delta, gradient),
            None => gradient.copy_from_slice(self.output().0),
        }
        score
    }

    /// As [`Mlp::gradient`], with every quantity's derivative along `v`.
    #[inline(always)]
    fn product(&self, x: &[f64], v: &[f64], out: &mut [f64]) {
        let (room, widest) = (self.room(), self.widest());
        let mut scratch = vec![0.0; 4 * room + 4 * widest];
        let (before, rest) = scratch.split_at_mut(room);
        let (after, rest) = rest.split_at_mut(room);
        let (before_v, rest) = rest.split_at_mut(room);
        let (after_v, rest) = rest.split_at_mut(room);
        let (deltas, nexts) = rest.split_at_mut(2 * widest);
        let (mut delta, mut delta_v) = deltas.split_at_mut(widest);
        let (mut next, mut next_v) = nexts.split_at_mut(widest);
        self.forward(x, before, after);

        let (mut start, mut input) = (0, 0..0);
        for (index, layer) in self.hidden().iter().enumerate() {
            let here = start..start + layer.stride();
            let (done, rest) = after_v.split_at_mut(here.start);
            let values = if index == 0 { v } else { &done[input] };
            layer.forward(values, values.len(), &mut before_v[here.clone()], false);
            for ((a, z_v), z) in
                rest.iter_mut().zip(&before_v[here.clone()]).zip(&before[here.clone()])
            {
                *a = self.activation.derivative(*z) * z_v;
            }
            start = here.end;
            input = here;
        }

        let mut end = room;
        for (index, layer) in self.hidden().iter().enumerate().rev() {
            let n = layer.n_out();
            if index + 2 == self.layers.len() {
                next[..n].copy_from_slice(self.output().0);
                next_v[..n].fill(0.0);
            } else {
                self.layers[index + 1].transposed_times(delta, &mut next[..n]);
                self.layers[index + 1].transposed_times(delta_v, &mut next_v[..n]);
            }
            std::mem::swap(&mut delta, &mut next);
            std::mem::swap(&mut delta_v, &mut next_v);
            let start = end - layer.stride();
            for j in 0..n {
                let (z, z_v) = (before[start + j], before_v[start + j]);
                let slope = self.activation.derivative(z);
                delta_v[j] =
                    slope * delta_v[j] + self.activation.second_derivative(z) * z_v * delta[j];
                delta[j] *= slope;
            }
            end = start;
        }
        if let Some(first) = self.hidden().first() {
            first.transposed_times(delta_v, out);
        }
    }
}

impl Differentiable for Mlp {
    fn score_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.check("columns of the input", x.len())?;
        self.check("gradient entries", gradient.len())?;
        Ok(vectorised(
            #[inline(always)]
            || self.gradient(x, gradient),
        ))
    }

    fn hessian_vector(&self, x: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        self.check("columns of the input", x.len())?;
        self.check("entries of the direction", v.len())?;
        self.check("entries of the product", out.len())?;
        if self.activation.is_piecewise_linear() || self.hidden().is_empty() {
            out.fill(0.0);
            return Ok(());
        }
        vectorised(
            #[inline(always)]
            || self.product(x, v, out),
        );
        Ok(())
    }
}
