//! Theorem 1 of Pawelczyk et al. (ICLR 2023, arXiv:2203.06768): $\Delta = \bar\Phi\big((s + g^\top\mu)/\sqrt{g^\top\Sigma g}\big)$.
//!
//! Exact for affine scores under Gaussian noise; for any other model it is the first-order approximation, and says so
//! through [`Estimate::exact`]. With no noise along the gradient the rate is 0 or 1, ties refused.

use super::{Estimate, InvalidationRate, Query};
use crate::error::{Error, Result};
use crate::math::normal::upper_tail;
use crate::registry::Entry;
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> =
    Entry { name: "closed-form", reference: "Theorem 1, arXiv:2203.06768", item: &ClosedForm };

/// The closed form.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedForm;

/// The rate of an affine score `s` whose noise has mean `shift` and standard deviation `sd`, both in score units.
///
/// ```
/// use probe_core::affine_rate;
/// assert_eq!(affine_rate(0.0, 0.0, 1.0), 0.5);
/// assert_eq!(affine_rate(0.0, 0.0, 0.0), 1.0); // a tie is refused
/// ```
pub fn affine_rate(score: f64, shift: f64, sd: f64) -> f64 {
    let mean = score + shift;
    if sd > 0.0 {
        upper_tail(mean / sd)
    } else if mean > 0.0 {
        0.0
    } else {
        1.0
    }
}

impl InvalidationRate for ClosedForm {
    fn name(&self) -> &'static str {
        "closed-form"
    }

    fn estimate(&self, query: &Query<'_>, _confidence: f64, _stream: &mut Stream) -> Result<Estimate> {
        let model = query.model.as_differentiable().ok_or_else(|| Error::Unsupported {
            what: format!("the closed-form rate of a {} model", query.model.name()),
            why: "it needs a gradient".to_owned(),
        })?;
        let gaussian = query.noise.as_gaussian().ok_or_else(|| Error::Unsupported {
            what: format!("the closed-form rate under {} noise", query.noise.name()),
            why: "it needs Gaussian noise; use monte-carlo".to_owned(),
        })?;
        let mut gradient = vec![0.0; query.point.len()];
        let score = model.score_and_gradient(query.point, &mut gradient)?;
        let active = |j: usize| query.active[j];
        let rate =
            affine_rate(score, gaussian.mean_along(&gradient, active), gaussian.sd_along(&gradient, active));
        let exact = query.model.as_linear().is_some();
        Ok(Estimate { rate, std_error: 0.0, lower: rate, upper: rate, exact })
    }
}
