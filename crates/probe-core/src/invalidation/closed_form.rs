//! Theorem 1 of Pawelczyk et al. (ICLR 2023, arXiv:2203.06768): $\Delta = \bar\Phi\big((s +
//! g^\top\mu)/\sqrt{g^\top\Sigma g}\big)$.
//!
//! Exact for affine scores under Gaussian noise. For any other model it is the first-order
//! approximation; [`Estimate::exact`] is then false, the interval is from 0 to 1, and the standard
//! error is NaN. Without noise along the gradient the rate is 0 or 1, and a tie is a rejection.

use super::shift::ShiftedClosedForm;
use super::{Estimate, InvalidationRate, Query};
use crate::error::{Error, Result};
use crate::model::ModelShift;
use crate::registry::Entry;
use crate::seed::Stream;
use crate::theory::first_order;

pub use crate::theory::affine_rate;

pub(super) const ENTRY: Entry<dyn InvalidationRate> =
    Entry { name: "closed-form", reference: "Theorem 1, arXiv:2203.06768", item: &ClosedForm };

/// The closed form.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClosedForm;

impl InvalidationRate for ClosedForm {
    fn name(&self) -> &'static str {
        "closed-form"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        _confidence: f64,
        _stream: &mut Stream,
    ) -> Result<Estimate> {
        let model = query.model.as_differentiable().ok_or_else(|| Error::Unsupported {
            what: format!("the closed-form rate of a {} model", query.model.name()),
            why: "it needs a gradient".to_owned(),
        })?;
        let gaussian = query.noise.as_gaussian().ok_or_else(|| Error::Unsupported {
            what: format!("the closed-form rate under {} noise", query.noise.name()),
            why: "it needs Gaussian noise; use monte-carlo".to_owned(),
        })?;
        let found = first_order(model, gaussian, query.active, query.point)?;
        let (rate, exact) = (found.rate, found.exact);
        // The error of a first-order approximation is unknown.
        let (std_error, lower, upper) =
            if exact { (0.0, rate, rate) } else { (f64::NAN, 0.0, 1.0) };
        Ok(Estimate { rate, std_error, lower, upper, exact })
    }

    fn under_shift(&self, shift: ModelShift) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(ShiftedClosedForm(shift)))
    }
}
