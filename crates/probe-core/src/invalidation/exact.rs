//! The true rate, by whatever gives it: Theorem 1 for linear models under Gaussian noise, the sum over residuals for observed noise, and
//! boxes for trees under noise that misses each feature on its own (Theorem 2 of Pawelczyk et al., ICLR 2023, arXiv:2203.06768).
//!
//! Boxes of an ensemble may be too many. The estimate then is an interval that holds the rate for certain, with
//! [`Estimate::exact`] false.

use super::boxes::{Boxes, Interval};
use super::{ClosedForm, Enumeration, Estimate, InvalidationRate, Query};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "exact",
    reference: "Theorems 1 and 2, arXiv:2203.06768",
    item: &Exact { boxes: 1 << 18 },
};

/// An interval at most this wide counts as a number.
const CLOSED: f64 = 1e-9;

/// The true rate.
#[derive(Debug, Clone, Copy)]
pub struct Exact {
    /// How many boxes an ensemble of trees may take.
    pub boxes: usize,
}

impl InvalidationRate for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn estimate(&self, query: &Query<'_>, confidence: f64, stream: &mut Stream) -> Result<Estimate> {
        if query.noise.as_residuals().is_some() {
            return Enumeration.estimate(query, confidence, stream);
        }
        if query.model.as_linear().is_some() {
            return ClosedForm.estimate(query, confidence, stream);
        }
        let model = query.model.as_trees().ok_or_else(|| Error::Unsupported {
            what: format!("the exact rate of a {} model", query.model.name()),
            why: "only linear models and trees have one; use monte-carlo".to_owned(),
        })?;
        let mut boxes = Boxes::new(model, query.noise).ok_or_else(|| Error::Unsupported {
            what: format!("the exact rate of trees under {} noise", query.noise.name()),
            why: "it needs features that are missed independently of one another; use monte-carlo".to_owned(),
        })?;
        let Interval { lower, upper, .. } = boxes.interval(query.point, query.active, self.boxes, 0.0);
        let exact = upper - lower <= CLOSED;
        let std_error = if exact { 0.0 } else { f64::NAN };
        Ok(Estimate { rate: 0.5 * (lower + upper), std_error, lower, upper, exact })
    }
}
