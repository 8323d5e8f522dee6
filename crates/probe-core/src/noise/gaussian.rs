//! $\varepsilon \sim N(\mu, \Sigma)$ with isotropic, diagonal or full covariance.

use super::{Independent, Noise, NoiseFamily, check_options};
use crate::error::{Error, Result, require};
use crate::math::cholesky;
use crate::registry::Entry;
use crate::rows::RowsMut;
use crate::seed::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn NoiseFamily> = Entry {
    name: "gaussian",
    reference: "independent normal errors; the paper's noise",
    item: &Family,
};

struct Family;

impl NoiseFamily for Family {
    fn build(&self, sd: Vec<f64>, options: &BTreeMap<String, f64>) -> Result<Arc<dyn Noise>> {
        check_options("option of gaussian noise", &[], options)?;
        Ok(Arc::new(Gaussian::new(vec![0.0; sd.len()], Covariance::Diagonal(sd))?))
    }
}

/// The covariance of a [`Gaussian`].
#[derive(Debug, Clone, PartialEq)]
pub enum Covariance {
    /// The same standard deviation for every feature.
    Isotropic(f64),
    /// One standard deviation per feature; zero for a feature without noise.
    Diagonal(Vec<f64>),
    /// The full matrix, row-major.
    Full(Vec<f64>),
}

/// Gaussian noise.
#[derive(Debug, Clone)]
pub struct Gaussian {
    dim: usize,
    mean: Vec<f64>,
    covariance: Covariance,
    /// Lower Cholesky factor of a full covariance.
    factor: Vec<f64>,
}

impl Gaussian {
    /// Zero mean, standard deviation `sigma` on each of `dim` features. Fails unless `sigma` is
    /// positive and finite.
    pub fn isotropic(dim: usize, sigma: f64) -> Result<Self> {
        Self::new(vec![0.0; dim], Covariance::Isotropic(sigma))
    }

    /// A Gaussian approximation of `noise`, for searches that need a Gaussian. It has the mean and
    /// the covariance of 4,096 draws, plus a tiny independent variance if that is needed.
    pub(crate) fn like(noise: &dyn Noise, stream: &mut Stream) -> Result<Self> {
        const N: usize = 4_096;
        let d = noise.dim();
        let mut draws = vec![0.0; N * d];
        noise.sample_into(stream, RowsMut::new(&mut draws, d)?);
        let mean: Vec<f64> =
            (0..d).map(|j| draws.iter().skip(j).step_by(d).sum::<f64>() / N as f64).collect();
        let mut covariance = vec![0.0; d * d];
        for row in draws.chunks_exact(d) {
            for (i, into) in covariance.chunks_exact_mut(d).enumerate() {
                let share = (row[i] - mean[i]) / N as f64;
                into.iter_mut().zip(row).zip(&mean).for_each(|((c, x), m)| *c += share * (x - m));
            }
        }
        // Rounding makes the matrix slightly asymmetric.
        for i in 0..d {
            for j in 0..i {
                covariance[i * d + j] = covariance[j * d + i];
            }
        }
        // With fewer distinct errors than features the matrix is singular, and rounding can make
        // it slightly indefinite. A growing diagonal repairs that.
        let variance = (0..d).map(|j| covariance[j * d + j]).sum::<f64>() / d.max(1) as f64;
        let mut more = 1e-12 * variance;
        loop {
            let found = Self::new(mean.clone(), Covariance::Full(covariance.clone()));
            if found.is_ok() || !(more > 0.0 && more < variance) {
                return found;
            }
            (0..d).for_each(|j| covariance[j * d + j] += more);
            more *= 10.0;
        }
    }

    /// Fails on non-finite numbers, a non-positive isotropic σ, a negative standard deviation,
    /// wrong lengths, and a matrix that is not symmetric positive semi-definite.
    pub fn new(mean: Vec<f64>, covariance: Covariance) -> Result<Self> {
        let dim = mean.len();
        for (j, m) in mean.iter().enumerate() {
            require(m.is_finite(), &format!("noise mean {j}"), "finite", *m)?;
        }
        let mut factor = Vec::new();
        match &covariance {
            Covariance::Isotropic(sigma) => {
                require(*sigma > 0.0 && sigma.is_finite(), "sigma", "positive and finite", *sigma)?;
            }
            Covariance::Diagonal(sd) => {
                check_len("noise standard deviations", dim, sd.len())?;
                for (j, s) in sd.iter().enumerate() {
                    require(
                        *s >= 0.0 && s.is_finite(),
                        &format!("noise sd {j}"),
                        "at least 0 and finite",
                        *s,
                    )?;
                }
            }
            Covariance::Full(matrix) => {
                check_len("entries of the noise covariance", dim * dim, matrix.len())?;
                factor = factor_of(matrix, dim)?;
            }
        }
        Ok(Self { dim, mean, covariance, factor })
    }

    /// $\mu$.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// $\Sigma$.
    pub fn covariance(&self) -> &Covariance {
        &self.covariance
    }

    /// Standard deviation of feature `j`.
    pub fn sd(&self, j: usize) -> f64 {
        match &self.covariance {
            Covariance::Isotropic(sigma) => *sigma,
            Covariance::Diagonal(sd) => sd[j],
            Covariance::Full(matrix) => matrix[j * self.dim + j].max(0.0).sqrt(),
        }
    }

    /// $\Sigma_{ij}$.
    pub fn covariance_of(&self, i: usize, j: usize) -> f64 {
        match &self.covariance {
            Covariance::Full(matrix) => matrix[i * self.dim + j],
            _ if i == j => self.sd(j) * self.sd(j),
            _ => 0.0,
        }
    }

    /// Whether features are independent.
    pub fn is_diagonal(&self) -> bool {
        !matches!(self.covariance, Covariance::Full(_))
    }

    /// $\sqrt{v_A^\top \Sigma_{AA} v_A}$ over the active features $A$.
    pub fn sd_along(&self, v: &[f64], active: impl Fn(usize) -> bool) -> f64 {
        let masked = |j: usize| if active(j) { v[j] } else { 0.0 };
        // Terms are scaled by the largest, so that squares neither overflow nor vanish.
        let norm = |term: &dyn Fn(usize) -> f64| {
            let largest = (0..self.dim).map(|k| term(k).abs()).fold(0.0, f64::max);
            if largest > 0.0 && largest.is_finite() {
                largest * (0..self.dim).map(|k| (term(k) / largest).powi(2)).sum::<f64>().sqrt()
            } else {
                largest
            }
        };
        match &self.covariance {
            // ||L' v||: a sum of squares, so that rounding cannot make it negative.
            Covariance::Full(_) => {
                let n = self.dim;
                norm(&|k| (k..n).map(|i| self.factor[i * n + k] * masked(i)).sum::<f64>())
            }
            _ => norm(&|j| masked(j) * self.sd(j)),
        }
    }

    /// $v_A^\top \mu_A$ over the active features $A$.
    pub fn mean_along(&self, v: &[f64], active: impl Fn(usize) -> bool) -> f64 {
        (0..self.dim).filter(|&j| active(j)).map(|j| v[j] * self.mean[j]).sum()
    }

    /// `out` = $Lz$ with $LL^\top = \Sigma$: a draw without its mean, from standard normals `z`.
    pub fn factor_times(&self, z: &[f64], out: &mut [f64]) {
        let n = self.dim;
        for (i, o) in out.iter_mut().enumerate() {
            *o = match &self.covariance {
                Covariance::Full(_) => {
                    crate::math::dot(&self.factor[i * n..i * n + i + 1], &z[..=i])
                }
                _ => self.sd(i) * z[i],
            };
        }
    }

    /// [`Gaussian::factor_times`] of several `z` side by side: row `j` holds feature `j` of each.
    pub(crate) fn factor_times_lanes<const N: usize>(&self, z: &[[f64; N]], out: &mut [[f64; N]]) {
        let n = self.dim;
        for (i, o) in out.iter_mut().enumerate() {
            if let Covariance::Full(_) = &self.covariance {
                *o = [0.0; N];
                for (l, z) in self.factor[i * n..i * n + i + 1].iter().zip(z) {
                    o.iter_mut().zip(z).for_each(|(o, z)| *o += l * z);
                }
            } else {
                *o = z[i].map(|z| self.sd(i) * z);
            }
        }
    }

    /// `out` = $L^\top v$.
    pub fn factor_transpose_times(&self, v: &[f64], out: &mut [f64]) {
        let n = self.dim;
        for (k, o) in out.iter_mut().enumerate() {
            *o = match &self.covariance {
                Covariance::Full(_) => (k..n).map(|i| self.factor[i * n + k] * v[i]).sum(),
                _ => self.sd(k) * v[k],
            };
        }
    }

    /// `out` = $\Sigma v$.
    pub fn covariance_times(&self, v: &[f64], out: &mut [f64]) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = match &self.covariance {
                Covariance::Full(matrix) => {
                    crate::math::dot(&matrix[i * self.dim..(i + 1) * self.dim], v)
                }
                _ => self.sd(i) * self.sd(i) * v[i],
            };
        }
    }
}

impl Noise for Gaussian {
    fn name(&self) -> &'static str {
        "gaussian"
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn sample_into(&self, stream: &mut Stream, mut out: RowsMut<'_>) {
        let n = self.dim;
        for row in out.iter_mut() {
            for z in row.iter_mut() {
                *z = stream.normal();
            }
            match &self.covariance {
                Covariance::Full(_) => {
                    // In place from the last row of L upwards: row i only needs z_0..=z_i.
                    for i in (0..n).rev() {
                        row[i] = crate::math::dot(&self.factor[i * n..i * n + i + 1], &row[..=i]);
                    }
                }
                _ => {
                    for (j, z) in row.iter_mut().enumerate() {
                        *z *= self.sd(j);
                    }
                }
            }
            for (z, m) in row.iter_mut().zip(&self.mean) {
                *z += m;
            }
        }
    }

    fn as_gaussian(&self) -> Option<&Gaussian> {
        Some(self)
    }

    fn as_independent(&self) -> Option<&dyn Independent> {
        self.is_diagonal().then_some(self as &dyn Independent)
    }
}

fn check_len(what: &'static str, expected: usize, found: usize) -> Result<()> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

fn factor_of(matrix: &[f64], dim: usize) -> Result<Vec<f64>> {
    for i in 0..dim {
        for j in 0..dim {
            let (a, b) = (matrix[i * dim + j], matrix[j * dim + i]);
            let close = (a - b).abs() <= 1e-12 * (a.abs() + b.abs());
            require(
                a.is_finite() && close,
                &format!("noise covariance [{i}][{j}]"),
                "finite and symmetric",
                a,
            )?;
        }
    }
    cholesky::semidefinite(matrix, dim).ok_or_else(|| Error::Unsupported {
        what: "this noise covariance".to_owned(),
        why: "the matrix is not positive semi-definite".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};

    const FULL: [f64; 9] = [0.04, 0.01, -0.012, 0.01, 0.09, 0.0, -0.012, 0.0, 0.01];

    #[test]
    fn samples_have_the_mean_and_covariance_they_were_given() {
        let cases = [
            Covariance::Isotropic(0.3),
            Covariance::Diagonal(vec![0.1, 0.0, 2.0]),
            Covariance::Full(FULL.to_vec()),
        ];
        for covariance in cases {
            let noise = Gaussian::new(vec![0.5, -1.0, 0.0], covariance).unwrap();
            let n = 200_000;
            let mut draws = vec![0.0; n * 3];
            noise.sample_into(
                &mut Seed(1).stream(Purpose::Rate, 7),
                RowsMut::new(&mut draws, 3).unwrap(),
            );
            for i in 0..3 {
                let mean = draws.chunks(3).map(|row| row[i]).sum::<f64>() / n as f64;
                assert!(
                    (mean - noise.mean()[i]).abs() <= 4.0 * noise.sd(i) / (n as f64).sqrt() + 1e-12
                );
                for j in 0..3 {
                    let product =
                        |row: &[f64]| (row[i] - noise.mean()[i]) * (row[j] - noise.mean()[j]);
                    let estimate = draws.chunks(3).map(product).sum::<f64>() / n as f64;
                    // Var(e_i e_j) = S_ii S_jj + S_ij^2 for centred normals.
                    let (expected, scale) = (noise.covariance_of(i, j), noise.sd(i) * noise.sd(j));
                    let error = ((scale * scale + expected * expected) / n as f64).sqrt();
                    assert!(
                        (estimate - expected).abs() <= 4.0 * error + 1e-12,
                        "{i} {j} {estimate} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn deviation_along_a_direction_is_the_quadratic_form_over_active_features() {
        let noise = Gaussian::new(vec![0.1, 0.2, 0.3], Covariance::Full(FULL.to_vec())).unwrap();
        let v = [1.0, -2.0, 3.0];
        // By hand: 0.04 + 4*0.09 + 9*0.01 + 2*(-2*0.01) + 2*(3*-0.012) = 0.378; without feature 1:
        // 0.058.
        assert!((noise.sd_along(&v, |_| true).powi(2) - 0.378).abs() < 1e-14);
        assert!((noise.sd_along(&v, |j| j != 1).powi(2) - 0.058).abs() < 1e-14);
        assert!((noise.mean_along(&v, |j| j != 1) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn bad_parameters_name_themselves() {
        let message = |result: Result<Gaussian>| result.unwrap_err().to_string();
        assert_eq!(
            message(Gaussian::isotropic(2, -0.1)),
            "sigma must be positive and finite, got -0.1"
        );
        assert_eq!(
            message(Gaussian::isotropic(2, f64::NAN)),
            "sigma must be positive and finite, got NaN"
        );
        assert!(
            message(Gaussian::new(vec![0.0], Covariance::Diagonal(vec![-1.0])))
                .contains("noise sd 0")
        );
        assert!(
            message(Gaussian::new(vec![0.0; 2], Covariance::Full(vec![1.0, 0.5, 0.2, 1.0])))
                .contains("[0][1]")
        );
        assert!(
            message(Gaussian::new(vec![0.0; 2], Covariance::Full(vec![1.0, 2.0, 2.0, 1.0])))
                .contains("semi-definite")
        );
    }
}
