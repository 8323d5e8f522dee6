//! Noise that grows with the size of the change.
//!
//! For a prescribed change $\delta = x' - x$, independently over features,
//!
//! $$\varepsilon_j \sim N\big(a\,\delta_j,\ \sigma_j^2 + \rho_j^2\delta_j^2\big) ,$$
//!
//! with $\rho$ the relative error of carrying out a change and $a$ the systematic part: $a < 0$ if
//! people stop short, $a > 0$ if they go too far. For each change the noise is Gaussian, so that
//! rates of given points have the same closed form; see [`Noise::at`]. It differs from point to
//! point, so that a solver for fixed noise rejects it.

use super::{Covariance, Gaussian, Noise, NoiseFamily, check_options};
use crate::error::{Error, Result, require};
use crate::registry::Entry;
use crate::rows::RowsMut;
use crate::seed::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn NoiseFamily> = Entry {
    name: "effort",
    reference: "normal errors that grow with the change: sd √(SD² + rho² change²), mean a·change; \
                rho=0.2, a=0 unless given",
    item: &Family,
};

const DEFAULT_RHO: f64 = 0.2;

struct Family;

impl NoiseFamily for Family {
    fn build(&self, sd: Vec<f64>, options: &BTreeMap<String, f64>) -> Result<Arc<dyn Noise>> {
        check_options("option of effort noise", &["rho", "a"], options)?;
        let rho = options.get("rho").copied().unwrap_or(DEFAULT_RHO);
        let shift = options.get("a").copied().unwrap_or(0.0);
        let rho = vec![rho; sd.len()];
        Ok(Arc::new(Effort::new(sd, rho, shift)?))
    }
}

/// Effort-proportional noise.
#[derive(Debug, Clone)]
pub struct Effort {
    rho: Vec<f64>,
    shift: f64,
    /// The noise of a person who changes nothing.
    still: Gaussian,
}

impl Effort {
    /// Standard deviations `sd` without a change, relative errors `rho` and relative shift `shift`
    /// ($a$) of a change. Fails on numbers that are not finite, on negative `sd` and `rho`, and on
    /// different lengths.
    pub fn new(sd: Vec<f64>, rho: Vec<f64>, shift: f64) -> Result<Self> {
        if sd.len() != rho.len() {
            return Err(Error::Shape {
                what: "relative errors rho",
                expected: sd.len(),
                found: rho.len(),
            });
        }
        for r in &rho {
            require(*r >= 0.0 && r.is_finite(), "rho", "at least 0 and finite", *r)?;
        }
        require(shift.is_finite(), "a", "finite", shift)?;
        Ok(Self {
            rho,
            shift,
            still: Gaussian::new(vec![0.0; sd.len()], Covariance::Diagonal(sd))?,
        })
    }

    /// $\sigma_j$, the standard deviation without a change.
    pub fn sd(&self, j: usize) -> f64 {
        self.still.sd(j)
    }

    /// $\rho_j$.
    pub fn rho(&self, j: usize) -> f64 {
        self.rho[j]
    }

    /// $a$.
    pub fn shift(&self) -> f64 {
        self.shift
    }

    /// The noise of the change from `from` to `to`.
    pub(crate) fn of_change(&self, from: &[f64], to: &[f64]) -> Result<Gaussian> {
        for found in [from.len(), to.len()] {
            if found != self.dim() {
                return Err(Error::Shape {
                    what: "features of a move",
                    expected: self.dim(),
                    found,
                });
            }
        }
        let change = |j: usize| to[j] - from[j];
        let mean = (0..self.dim()).map(|j| self.shift * change(j)).collect();
        let sd =
            (0..self.dim()).map(|j| libm::hypot(self.sd(j), self.rho[j] * change(j))).collect();
        Gaussian::new(mean, Covariance::Diagonal(sd))
    }
}

impl Noise for Effort {
    fn name(&self) -> &'static str {
        "effort"
    }

    fn dim(&self) -> usize {
        self.still.dim()
    }

    /// Draws for a person who changes nothing. For a change, use [`Noise::at`].
    fn sample_into(&self, stream: &mut Stream, out: RowsMut<'_>) {
        self.still.sample_into(stream, out);
    }

    fn as_effort(&self) -> Option<&Effort> {
        Some(self)
    }

    fn at(&self, from: &[f64], to: &[f64]) -> Result<Option<Gaussian>> {
        self.of_change(from, to).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_follow_the_change() {
        let noise = Effort::new(vec![0.3, 0.1], vec![0.2, 0.5], -0.1).unwrap();
        let moved = noise.at(&[1.0, 2.0], &[3.0, 2.0]).unwrap().unwrap();
        // By hand: δ = (2, 0); mean -0.1·2; sd √(0.09 + 0.16) = 0.5, and 0.1 without a change.
        assert!((moved.mean()[0] + 0.2).abs() < 1e-16 && moved.mean()[1].abs() <= 0.0);
        assert!((moved.sd(0) - 0.5).abs() < 1e-15 && (moved.sd(1) - 0.1).abs() < 1e-16);
        assert!(noise.as_gaussian().is_none() && noise.as_independent().is_none());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Effort::new(vec![0.1], vec![-0.2], 0.0).is_err());
        assert!(Effort::new(vec![0.1], vec![0.2], f64::NAN).is_err());
        assert!(Effort::new(vec![0.1], vec![0.2, 0.2], 0.0).is_err());
        let noise = Effort::new(vec![0.1], vec![0.2], 0.0).unwrap();
        assert!(
            noise.at(&[0.0], &[f64::INFINITY]).is_err() && noise.at(&[0.0; 2], &[1.0]).is_err()
        );
    }
}
