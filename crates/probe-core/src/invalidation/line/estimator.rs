//! Line sampling as an estimator of the rate, with independent lines.

use super::{LANES, LineMode, Lines, Spread};
use crate::error::Result;
use crate::invalidation::certificate::UpperBound;
use crate::invalidation::{Estimate, InvalidationRate, Query};
use crate::registry::Entry;
use crate::seed::Stream;

pub(in crate::invalidation) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "line",
    reference: "conditional Monte Carlo along the gradient (line sampling)",
    item: &LineSampling { lines: 1_024 },
};

/// Line sampling with independent lines.
///
/// The interval is an empirical-Bernstein bound, which is valid for any distribution of the masses
/// on [0, 1]. At confidence $1 - \delta$ such a bound is never narrower than $\ln(2/\delta)/n$,
/// even if all masses are equal. `std_error` shows the typical error.
#[derive(Debug, Clone, Copy)]
pub struct LineSampling {
    /// Number of lines; rounded up to a multiple of 8.
    pub lines: usize,
}

impl InvalidationRate for LineSampling {
    fn name(&self) -> &'static str {
        "line"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        let mut lines = Lines::new(query.model, query.noise, Some(query.active))?;
        lines.aim(query.point, None)?;
        let delta = 0.5 * (1.0 - confidence);
        let (mut upper, mut lower) = (UpperBound::new(delta)?, UpperBound::new(delta)?);
        let mut spread = Spread::default();
        let mut masses = [0.0; LANES];
        for _ in 0..self.lines.div_ceil(LANES).max(1) {
            let block = lines.block(1, |row| lines.law.draw(stream, row));
            lines.masses(&block, LineMode::Whole, &mut masses)?;
            for mass in masses {
                spread.add(mass);
                upper.observe(mass);
                lower.observe(1.0 - mass);
            }
        }
        let rate = spread.mean();
        let exact = query.model.as_linear().is_some();
        if exact {
            // Every line has the same mass up to rounding.
            return Ok(Estimate { rate, std_error: 0.0, lower: rate, upper: rate, exact });
        }
        let std_error = spread.std_error();
        Ok(Estimate {
            rate,
            std_error,
            lower: (1.0 - lower.upper()).max(0.0),
            upper: upper.upper(),
            exact,
        })
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(Self { lines: samples }))
    }
}
