//! What the answer requires of the person.

use super::{Case, Metric};
use crate::engine::{Answer, Status};
use crate::error::Result;
use crate::registry::Entry;

pub(super) const COST: Entry<dyn Metric> = Entry {
    name: "cost",
    reference: "cost of the printed answer, over answers given (AC)",
    item: &Cost,
};

pub(super) const CHANGED: Entry<dyn Metric> =
    Entry { name: "changed", reference: "features changed, over answers given", item: &Changed };

/// Whether the answer has a recourse.
pub(super) fn has_recourse(answer: &Answer) -> bool {
    matches!(answer.status, Status::Certified | Status::Found)
}

struct Cost;

impl Metric for Cost {
    fn name(&self) -> &'static str {
        "cost"
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        Ok(case.answer.cost.filter(|_| has_recourse(case.answer)))
    }
}

struct Changed;

impl Metric for Changed {
    fn name(&self) -> &'static str {
        "changed"
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        Ok(has_recourse(case.answer).then_some(case.answer.changed as f64))
    }
}
