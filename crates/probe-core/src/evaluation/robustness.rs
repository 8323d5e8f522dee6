//! How often a noisy implementation of the answer is refused.

use super::effort::has_recourse;
use super::{Case, Metric};
use crate::error::Result;
use crate::invalidation::{ClosedForm, InvalidationRate, MonteCarlo};
use crate::registry::Entry;

pub(super) const INVALIDATION: Entry<dyn Metric> = Entry {
    name: "invalidation-rate",
    reference: "closed-form invalidation rate of the answer (exact for linear models)",
    item: &Invalidation { name: "invalidation-rate", estimator: &ClosedForm },
};

pub(super) const SAMPLED_INVALIDATION: Entry<dyn Metric> = Entry {
    name: "sampled-invalidation-rate",
    reference: "share refused of 10,000 noisy implementations, as in the paper (AIR)",
    item: &Invalidation { name: "sampled-invalidation-rate", estimator: &MonteCarlo { samples: 10_000 } },
};

struct Invalidation {
    name: &'static str,
    estimator: &'static dyn InvalidationRate,
}

impl Metric for Invalidation {
    fn name(&self) -> &'static str {
        self.name
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        if !has_recourse(case.answer) {
            return Ok(None);
        }
        Ok(Some(case.engine.rate(&case.answer.point, Some(case.person), self.estimator)?.rate))
    }
}
