//! Rectifier networks of any depth along a line: values and slopes of all units, and the next kink of any of them.

use super::follow::Profile;

/// One dense layer, row-major `[outputs][inputs]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layer<'a> {
    pub weight: &'a [f64],
    pub bias: &'a [f64],
    pub n_in: usize,
}

/// A rectifier network restricted to a line $y + tv$. The last layer has one output and no rectifier.
pub(super) struct Deep<'a> {
    layers: &'a [Layer<'a>],
    /// Taken off the score.
    threshold: f64,
    leak: f64,
    base: &'a [f64],
    direction: &'a [f64],
    /// Distance to the next kink, from the last evaluation.
    next: f64,
    values: Vec<f64>,
    slopes: Vec<f64>,
    outputs: Vec<(f64, f64)>,
}

impl<'a> Deep<'a> {
    pub(super) fn new(
        layers: &'a [Layer<'a>],
        leak: f64,
        threshold: f64,
        base: &'a [f64],
        direction: &'a [f64],
    ) -> Self {
        Self {
            layers,
            threshold,
            leak,
            base,
            direction,
            next: f64::INFINITY,
            values: Vec::new(),
            slopes: Vec::new(),
            outputs: Vec::new(),
        }
    }
}

impl Profile for Deep<'_> {
    fn value_and_slope(&mut self, t: f64) -> (f64, f64) {
        self.values.clear();
        self.values.extend(self.base.iter().zip(self.direction).map(|(b, v)| b + t * v));
        self.slopes.clear();
        self.slopes.extend_from_slice(self.direction);
        self.next = f64::INFINITY;
        for (depth, layer) in self.layers.iter().enumerate() {
            let (values, slopes) = (&self.values, &self.slopes);
            self.outputs.clear();
            self.outputs.extend(
                layer
                    .weight
                    .chunks_exact(layer.n_in)
                    .zip(layer.bias)
                    .map(|(row, bias)| (crate::math::dot(row, values) + bias, crate::math::dot(row, slopes))),
            );
            if depth + 1 == self.layers.len() {
                break;
            }
            for (z, dz) in &mut self.outputs {
                if *z * *dz < 0.0 {
                    self.next = self.next.min(-*z / *dz);
                }
                // At a kink the slope to the right counts.
                if *z < 0.0 || (*z == 0.0 && *dz <= 0.0) {
                    *z *= self.leak;
                    *dz *= self.leak;
                }
            }
            self.values.clear();
            self.values.extend(self.outputs.iter().map(|o| o.0));
            self.slopes.clear();
            self.slopes.extend(self.outputs.iter().map(|o| o.1));
        }
        self.outputs.first().map_or((0.0, 0.0), |&(z, dz)| (z - self.threshold, dz))
    }

    fn next_kink(&self) -> Option<f64> {
        Some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalidation::line::follow::refused_mass;
    use crate::invalidation::line::shallow::Shallow;
    use crate::seed::{Purpose, Seed};

    #[test]
    fn one_hidden_layer_agrees_with_its_own_kernel() {
        let mut stream = Seed(4).stream(Purpose::Data, 0);
        for case in 0..200 {
            let (d, h) = (3, 12);
            let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| stream.normal()).collect() };
            let (weight, bias, output, base, direction) = (draw(d * h), draw(h), draw(h), draw(d), draw(d));
            let (constant, leak) = (draw(1), if case % 2 == 0 { 0.0 } else { 0.1 });
            let layers = [
                Layer { weight: &weight, bias: &bias, n_in: d },
                Layer { weight: &output, bias: &constant, n_in: h },
            ];
            let mut roots = Vec::new();
            let deep = refused_mass(&mut Deep::new(&layers, leak, 0.0, &base, &direction), &mut roots);
            let times =
                |v: &[f64]| -> Vec<f64> { weight.chunks(d).map(|row| crate::math::dot(row, v)).collect() };
            let p: Vec<f64> = times(&base).iter().zip(&bias).map(|(a, b)| a + b).collect();
            let net = Shallow { output, bias: constant[0], leak };
            let mut expected_roots = Vec::new();
            let expected = net.refused_mass(&p, &times(&direction), &mut Vec::new(), &mut expected_roots);
            // Kinks within the step are merged.
            assert!((deep - expected).abs() < 1e-10, "{deep} {expected}");
            assert_eq!(roots.len(), expected_roots.len());
        }
    }
}
