//! Networks along a line, from the first layer's pre-activations on.

use super::crossing::{Marginal, Root};
use super::follow::{self, Profile};
use crate::math::dot;
use crate::model::{Activation, Mlp, Model};

/// Any network but a shallow one of rectifiers; its image is the first layer before the activation.
pub(super) struct Network<'a> {
    mlp: &'a Mlp,
}

/// Values and slopes of the layer at hand.
#[derive(Default)]
pub(super) struct Scratch {
    values: Vec<f64>,
    slopes: Vec<f64>,
    outputs: Vec<(f64, f64)>,
    /// Pre-activations of all hidden layers, one after the other.
    before: Vec<f64>,
    roots: Vec<Root>,
    at_root: Vec<f64>,
    at_root_slopes: Vec<f64>,
}

impl<'a> Network<'a> {
    pub(super) fn new(mlp: &'a Mlp) -> Self {
        Self { mlp }
    }

    /// The score at an image, and its slopes with respect to the image.
    pub(super) fn score_and_slopes(&self, image: &[f64], slopes: &mut [f64], scratch: &mut Scratch) -> f64 {
        let activation = self.mlp.activation();
        let layers = self.mlp.layers();
        let Scratch { values, before, slopes: delta, .. } = scratch;
        before.clear();
        before.extend_from_slice(image);
        let mut from = 0;
        for layer in &layers[1..layers.len() - 1] {
            values.clear();
            values.extend(before[from..].iter().map(|&z| activation.value(z)));
            from = before.len();
            before.extend((0..layer.n_out()).map(|i| dot(layer.row(i), values) + layer.bias()[i]));
        }
        values.clear();
        values.extend(before[from..].iter().map(|&z| activation.value(z)));
        let (weights, bias) = self.mlp.output();
        let score = dot(weights, values) + (bias - self.mlp.threshold());
        delta.clear();
        delta.extend(weights.iter().zip(&before[from..]).map(|(w, &z)| w * activation.derivative(z)));
        for layer in layers[1..layers.len() - 1].iter().rev() {
            from -= layer.n_in();
            values.clear();
            values.resize(layer.n_in(), 0.0);
            for (i, d) in delta.iter().enumerate().filter(|(_, d)| **d != 0.0) {
                values.iter_mut().zip(layer.row(i)).for_each(|(v, w)| *v += d * w);
            }
            let here = &before[from..from + layer.n_in()];
            delta.clear();
            delta.extend(values.iter().zip(here).map(|(v, &z)| v * activation.derivative(z)));
        }
        slopes.copy_from_slice(delta);
        score
    }

    /// The refused mass of the line `p + t q`; its roots add to `sums`, if there are any.
    pub(super) fn mass(
        &self,
        p: &[f64],
        q: &[f64],
        marginal: Marginal<'_>,
        sums: Option<&mut [f64]>,
        scratch: &mut Scratch,
    ) -> f64 {
        let mut roots = std::mem::take(&mut scratch.roots);
        let piecewise = self.mlp.activation().is_piecewise_linear();
        let mut along = Along { net: self, p, q, next: piecewise.then_some(f64::INFINITY), scratch };
        let mass = follow::refused_mass(&mut along, marginal, &mut roots);
        if let Some(sums) = sums {
            let mut at = std::mem::take(&mut scratch.at_root);
            let mut slopes = std::mem::take(&mut scratch.at_root_slopes);
            slopes.resize(p.len(), 0.0);
            for root in &roots {
                at.clear();
                at.extend(p.iter().zip(q).map(|(p, q)| p + root.at * q));
                self.score_and_slopes(&at, &mut slopes, scratch);
                let weight = -marginal.density(root.at) / root.slope.abs();
                if weight.is_finite() {
                    sums.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += weight * slope);
                }
            }
            (scratch.at_root, scratch.at_root_slopes) = (at, slopes);
        }
        scratch.roots = roots;
        mass
    }
}

struct Along<'a> {
    net: &'a Network<'a>,
    p: &'a [f64],
    q: &'a [f64],
    /// For rectifiers, distance to the next kink from the last evaluation.
    next: Option<f64>,
    scratch: &'a mut Scratch,
}

impl Profile for Along<'_> {
    fn value_and_slope(&mut self, t: f64) -> (f64, f64) {
        let mlp = self.net.mlp;
        let activation = mlp.activation();
        let leak = activation.derivative(-1.0);
        let Scratch { values, slopes, outputs, .. } = &mut *self.scratch;
        outputs.clear();
        outputs.extend(self.p.iter().zip(self.q).map(|(p, q)| (p + t * q, *q)));
        let piecewise = matches!(activation, Activation::Relu | Activation::LeakyRelu);
        let mut next = f64::INFINITY;
        for layer in &mlp.layers()[1..] {
            values.clear();
            slopes.clear();
            for &(z, dz) in outputs.iter() {
                let (value, slope) = if piecewise {
                    if z * dz < 0.0 {
                        next = next.min(-z / dz);
                    }
                    // At a kink the slope to the right counts.
                    let off = z < 0.0 || (z == 0.0 && dz <= 0.0);
                    let share = if off { leak } else { 1.0 };
                    (share * z, share * dz)
                } else {
                    (activation.value(z), activation.derivative(z) * dz)
                };
                values.push(value);
                slopes.push(slope);
            }
            outputs.clear();
            outputs.extend((0..layer.n_out()).map(|i| {
                let row = layer.row(i);
                (dot(row, values) + layer.bias()[i], dot(row, slopes))
            }));
        }
        self.next = piecewise.then_some(next);
        outputs.first().map_or((0.0, 0.0), |&(z, dz)| (z - mlp.threshold(), dz))
    }

    fn next_kink(&self) -> Option<f64> {
        self.next
    }
}
