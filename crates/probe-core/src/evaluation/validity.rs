//! Is the answer a recourse at all, and an admissible one?

use super::{Case, Metric};
use crate::engine::Status;
use crate::error::Result;
use crate::registry::Entry;

pub(super) const ACCURACY: Entry<dyn Metric> = Entry {
    name: "recourse-accuracy",
    reference: "share of people who get a favourable point (RA)",
    item: &Accuracy,
};

pub(super) const VIOLATIONS: Entry<dyn Metric> = Entry {
    name: "violations",
    reference: "broken rules of the action space per answer",
    item: &Violations,
};

struct Accuracy;

impl Metric for Accuracy {
    fn name(&self) -> &'static str {
        "recourse-accuracy"
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        if case.answer.status == Status::Favourable {
            return Ok(None);
        }
        let given = case.answer.status != Status::None;
        let favourable = given && case.engine.score(&case.answer.point)? > 0.0;
        Ok(Some(if favourable { 1.0 } else { 0.0 }))
    }
}

struct Violations;

impl Metric for Violations {
    fn name(&self) -> &'static str {
        "violations"
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        if !super::effort::has_recourse(case.answer) {
            return Ok(None);
        }
        let setup = case.engine.setup();
        let scaled = |raw: &[f64]| {
            let mut out = vec![0.0; raw.len()];
            setup.space.scale_into(raw, &mut out);
            out
        };
        let broken = setup.actions.violations(&scaled(case.person), &scaled(&case.answer.point));
        Ok(Some(broken.len() as f64))
    }
}
