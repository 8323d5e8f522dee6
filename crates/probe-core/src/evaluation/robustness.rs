//! How often a noisy implementation of the answer is rejected.

use super::effort::has_recourse;
use super::{Case, Metric};
use crate::error::{Error, Result};
use crate::invalidation::{Exact, InvalidationRate, LineSampling, MonteCarlo};
use crate::registry::Entry;

pub(super) const INVALIDATION: Entry<dyn Metric> = Entry {
    name: "invalidation-rate",
    reference: "the answer's true rate: exact where there is a way, else by lines, \
                else by 40,000 draws",
    item: &True,
};

pub(super) const SAMPLED_INVALIDATION: Entry<dyn Metric> = Entry {
    name: "sampled-invalidation-rate",
    reference: "share refused of 10,000 noisy implementations, as in the paper (AIR)",
    item: &Sampled,
};

/// Estimators from the exact to the general. The first one that supports model and noise is used.
const WAYS: [&dyn InvalidationRate; 3] =
    [&Exact { boxes: 1 << 12 }, &LineSampling { lines: 1_024 }, &MonteCarlo { samples: 40_000 }];

struct True;

impl Metric for True {
    fn name(&self) -> &'static str {
        "invalidation-rate"
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        if !has_recourse(case.answer) {
            return Ok(None);
        }
        for (i, way) in WAYS.iter().enumerate() {
            match case.engine.rate(&case.answer.point, Some(case.person), *way) {
                // Too many boxes: an interval, not a rate.
                Ok(found) if i == 0 && !found.exact => {}
                Ok(found) => return Ok(Some(found.rate)),
                Err(Error::Unsupported { .. }) if i + 1 < WAYS.len() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }
}

struct Sampled;

impl Metric for Sampled {
    fn name(&self) -> &'static str {
        "sampled-invalidation-rate"
    }

    fn measure(&self, case: &Case<'_>) -> Result<Option<f64>> {
        if !has_recourse(case.answer) {
            return Ok(None);
        }
        let estimator = MonteCarlo { samples: 10_000 };
        Ok(Some(case.engine.rate(&case.answer.point, Some(case.person), &estimator)?.rate))
    }
}
