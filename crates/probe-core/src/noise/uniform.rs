//! Errors that are equally likely up to a bound: uniform on $\pm\sqrt3\,\sigma_j$, independent over
//! features.

use super::independent::{Shape, Shaped};
use super::{Noise, NoiseFamily, check_options};
use crate::error::Result;
use crate::registry::Entry;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn NoiseFamily> = Entry {
    name: "uniform",
    reference: "independent uniform errors: nobody misses by more than √3 sd",
    item: &Family,
};

struct Family;

impl NoiseFamily for Family {
    fn build(&self, sd: Vec<f64>, options: &BTreeMap<String, f64>) -> Result<Arc<dyn Noise>> {
        check_options("option of uniform noise", &[], options)?;
        Ok(Arc::new(Shaped::new("uniform", sd, Uniform)?))
    }
}

/// Half the width at unit variance.
const ROOT_3: f64 = 1.732_050_807_568_877_2;

/// Uniform on $[-\sqrt3, \sqrt3]$.
struct Uniform;

impl Shape for Uniform {
    fn cdf(&self, t: f64) -> f64 {
        self.upper_tail(-t)
    }

    fn upper_tail(&self, t: f64) -> f64 {
        ((ROOT_3 - t) / (2.0 * ROOT_3)).clamp(0.0, 1.0)
    }

    fn density(&self, t: f64) -> f64 {
        if t.abs() <= ROOT_3 { 0.5 / ROOT_3 } else { 0.0 }
    }

    fn quantile(&self, p: f64) -> f64 {
        ROOT_3 * (2.0 * p - 1.0)
    }
}
