//! Laplace noise, for errors that are mostly small and sometimes large: density
//! $e^{-\sqrt2\,|t|}/\sqrt2$ in standard units, independent over features.

use super::independent::{Shape, Shaped};
use super::{Noise, NoiseFamily, check_options};
use crate::error::Result;
use crate::registry::Entry;
use std::collections::BTreeMap;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn NoiseFamily> =
    Entry { name: "laplace", reference: "independent double-exponential errors", item: &Family };

struct Family;

impl NoiseFamily for Family {
    fn build(&self, sd: Vec<f64>, options: &BTreeMap<String, f64>) -> Result<Arc<dyn Noise>> {
        check_options("option of laplace noise", &[], options)?;
        Ok(Arc::new(Shaped::new("laplace", sd, Laplace)?))
    }
}

/// Laplace with scale $1/\sqrt2$.
struct Laplace;

impl Shape for Laplace {
    fn cdf(&self, t: f64) -> f64 {
        self.upper_tail(-t)
    }

    fn upper_tail(&self, t: f64) -> f64 {
        if t >= 0.0 { 0.5 * libm::exp(-SQRT_2 * t) } else { 1.0 - 0.5 * libm::exp(SQRT_2 * t) }
    }

    fn density(&self, t: f64) -> f64 {
        FRAC_1_SQRT_2 * libm::exp(-SQRT_2 * t.abs())
    }

    fn quantile(&self, p: f64) -> f64 {
        // 1 - p is exact above one half.
        if p <= 0.5 {
            FRAC_1_SQRT_2 * libm::log(2.0 * p)
        } else {
            -FRAC_1_SQRT_2 * libm::log(2.0 * (1.0 - p))
        }
    }
}
