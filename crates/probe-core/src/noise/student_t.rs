//! Heavy-tailed errors: $\sigma_j\sqrt{(\nu-2)/\nu}\,T_\nu$ with Student's $T_\nu$, $\nu > 2$
//! (option `df`), independent over features.
//!
//! Draws come from Bailey's polar method (*Mathematics of Computation* 62, 1994): with $(U, V)$
//! uniform on the unit disc and $W = U^2 + V^2$, $U\sqrt{\nu(W^{-2/\nu} - 1)/W}$ has exactly
//! Student's distribution, for any real $\nu$.

use super::independent::{Shape, Shaped};
use super::{Noise, NoiseFamily, check_options};
use crate::error::{Result, require};
use crate::math::student::{MAX_DF, QuickStudentT, StudentT};
use crate::registry::Entry;
use crate::seed::Stream;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn NoiseFamily> = Entry {
    name: "student-t",
    reference: "independent Student t errors; df=4 unless given, above 2",
    item: &Family,
};

const DEFAULT_DF: f64 = 4.0;

struct Family;

impl NoiseFamily for Family {
    fn build(&self, sd: Vec<f64>, options: &BTreeMap<String, f64>) -> Result<Arc<dyn Noise>> {
        check_options("option of student-t noise", &["df"], options)?;
        let df = options.get("df").copied().unwrap_or(DEFAULT_DF);
        require(
            df > 2.0 && df <= MAX_DF,
            "df",
            "above 2 (else there is no standard deviation) and at most 1e6",
            df,
        )?;
        let t = StudentT::new(df)?;
        let shape =
            Standardised { t, quick: QuickStudentT::new(t), unit: ((df - 2.0) / df).sqrt() };
        Ok(Arc::new(Shaped::new("student-t", sd, shape)?))
    }
}

/// Student's t divided by its standard deviation; `unit` is the factor.
struct Standardised {
    t: StudentT,
    quick: QuickStudentT,
    unit: f64,
}

impl Shape for Standardised {
    fn cdf(&self, t: f64) -> f64 {
        self.upper_tail(-t)
    }

    fn upper_tail(&self, t: f64) -> f64 {
        self.t.upper_tail(t / self.unit)
    }

    fn density(&self, t: f64) -> f64 {
        self.t.pdf(t / self.unit) / self.unit
    }

    fn quick_cdf_and_density(&self, t: f64) -> (f64, f64) {
        let (tail, density) = self.quick.upper_tail_and_pdf(-t / self.unit);
        (tail, density / self.unit)
    }

    fn quantile(&self, p: f64) -> f64 {
        -self.unit * self.quick.upper_quantile(p)
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        let df = self.t.df();
        loop {
            let (u, v) = (2.0 * stream.uniform() - 1.0, 2.0 * stream.uniform() - 1.0);
            let w = u * u + v * v;
            if w > 0.0 && w < 1.0 {
                // W^{-2/ν} - 1 without cancellation.
                let excess = libm::expm1(-2.0 / df * libm::log(w));
                return self.unit * u * (df * excess / w).sqrt();
            }
        }
    }
}
