//! Slopes by features that are missed together.

use crate::math::cholesky;
use crate::noise::Gaussian;

/// What is added to each variance, as a share of it, so that features which are always missed alike
/// can be told apart.
const RIDGE: f64 = 1e-6;

/// A full covariance, and the factor of its part where noise acts.
pub(super) struct Correlated {
    covariance: Vec<f64>,
    d: usize,
    active: Vec<bool>,
    /// The features that noise acts on, and the lower triangle of their factor, row by row.
    which: Vec<usize>,
    factor: Vec<f64>,
}

impl Correlated {
    pub(super) fn new(noise: &Gaussian) -> Self {
        let d = noise.mean().len();
        let covariance = (0..d * d).map(|at| noise.covariance_of(at / d, at % d)).collect();
        Self { covariance, d, active: Vec::new(), which: Vec::new(), factor: Vec::new() }
    }

    /// Turns covariances with the errors into slopes by the errors, over the `active` features; 0
    /// for the others.
    pub(super) fn solve(&mut self, active: &[bool], slopes: &mut [f64]) {
        if self.active != active {
            self.factorise(active);
        }
        let n = self.which.len();
        let mut z: Vec<f64> = self.which.iter().map(|&j| slopes[j]).collect();
        slopes.fill(0.0);
        let row = |i: usize| &self.factor[i * n..(i + 1) * n];
        for i in 0..n {
            let rest: f64 = row(i)[..i].iter().zip(&z).map(|(l, z)| l * z).sum();
            z[i] = if row(i)[i] > 0.0 { (z[i] - rest) / row(i)[i] } else { 0.0 };
        }
        for i in (0..n).rev() {
            let rest: f64 = (i + 1..n).map(|k| row(k)[i] * z[k]).sum();
            z[i] = if row(i)[i] > 0.0 { (z[i] - rest) / row(i)[i] } else { 0.0 };
            slopes[self.which[i]] = z[i];
        }
    }

    fn factorise(&mut self, active: &[bool]) {
        self.active.clear();
        self.active.extend_from_slice(active);
        self.which.clear();
        self.which
            .extend((0..self.d).filter(|&j| active[j] && self.covariance[j * self.d + j] > 0.0));
        let n = self.which.len();
        let mut part = vec![0.0; n * n];
        for (i, &a) in self.which.iter().enumerate() {
            for (k, &b) in self.which.iter().enumerate() {
                part[i * n + k] =
                    self.covariance[a * self.d + b] * if i == k { 1.0 + RIDGE } else { 1.0 };
            }
        }
        self.factor = cholesky::semidefinite(&part, n).unwrap_or_else(|| {
            // Not to be had to rounding: the features one by one.
            (0..n * n).map(|at| if at / n == at % n { part[at].sqrt() } else { 0.0 }).collect()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Covariance;

    #[test]
    fn slopes_of_two_features_that_are_missed_together() {
        // Σ = [[4, 2, 0], [2, 3, 0], [0, 0, 0]]; Σ (1, -2) = (0, -4).
        let covariance = Covariance::Full(vec![4.0, 2.0, 0.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
        let noise = Gaussian::new(vec![0.0; 3], covariance).unwrap();
        let mut correlated = Correlated::new(&noise);
        let mut slopes = [0.0, -4.0, 7.0];
        correlated.solve(&[true; 3], &mut slopes);
        assert!(
            (slopes[0] - 1.0).abs() < 1e-5 && (slopes[1] + 2.0).abs() < 1e-5 && slopes[2] == 0.0,
            "{slopes:?}"
        );
        // Alone, the second is its covariance over its variance.
        let mut slopes = [5.0, -6.0, 7.0];
        correlated.solve(&[false, true, true], &mut slopes);
        assert!(
            slopes[0] == 0.0 && (slopes[1] + 2.0).abs() < 1e-5 && slopes[2] == 0.0,
            "{slopes:?}"
        );
    }
}
