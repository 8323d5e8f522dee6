//! Changes of category that may fail: the rate over all outcomes.

use super::{ANY_RATE, Aim, DiscreteWorker, LEAST_RATE, LINES};
use crate::error::Result;
use crate::invalidation::Shifts;
use crate::recourse::Verdict;

/// Searches that find the rate which leaves room for changes of category that fail.
const TURNS: usize = 6;
/// Values of a shifted score that are worth a line of the budget.
const VALUES_OF_A_LINE: u64 = 8;

impl DiscreteWorker<'_> {
    /// What to aim at where everything succeeds, so that the person, who may fail to change the
    /// categories of `self.person`, has the rate of `aim` all in all; `None` if nothing leads
    /// there. Exact on affine scores, where a failure shifts the score by the same amount wherever
    /// it happens.
    pub(super) fn aim_of_success<'b>(
        &mut self,
        factual: &[f64],
        aim: Aim<'b>,
        rooms: &[Vec<(f64, f64)>],
    ) -> Result<Option<Aim<'b>>> {
        if self.solver.exact {
            let person = self.person.clone();
            return Ok(Some(match self.shifts(factual, &person)? {
                Some(shifts) => self.aim_under(&shifts, aim),
                None => aim,
            }));
        }
        let outcomes = self.task.actions.outcomes(factual, &self.person);
        if outcomes.is_empty() {
            return Ok(Some(aim));
        }
        // What a gap costs depends on failures too, so it stays as usual.
        let rate = aim.usual();
        // By turns, from above: the point that this rate leads to, and how often failures are
        // refused there.
        let success = outcomes.points[0].0;
        let mut asked = rate;
        for _ in 0..TURNS {
            let mut least = f64::INFINITY;
            for limits in rooms {
                self.within.limits.copy_from_slice(limits);
                self.relax(aim.exactly(asked).quick())?;
                if self.found.verdict == Verdict::Reached {
                    let point = self.found.point.clone();
                    least = least.min(self.mixed_rate(factual, &point, LINES)? - success * asked);
                }
            }
            let left = (rate - least) / success;
            if left >= 0.99 * asked {
                return Ok(Some(aim.exactly(asked)));
            }
            if least.is_infinite() || asked < LEAST_RATE {
                return Ok(None);
            }
            asked = if left > 0.0 { 0.998 * left } else { 0.2 * asked };
        }
        Ok(Some(aim.exactly(asked)))
    }

    /// The aim under which failures that shift an affine score like this leave the rate of `aim`.
    pub(super) fn aim_under<'b>(&self, shifts: &Shifts, aim: Aim<'b>) -> Aim<'b> {
        aim.budget.spend(shifts.len() as u64 / VALUES_OF_A_LINE);
        let least_score = shifts.score_of(aim.usual(), self.solver.noise).max(aim.least_score);
        Aim { least_score, ..aim.exactly(ANY_RATE) }
    }

    /// How failures shift an affine score on the way to `point`; `None` where nothing can fail.
    fn shifts(&self, factual: &[f64], point: &[f64]) -> Result<Option<Shifts>> {
        let Some(linear) = self.task.model.as_linear().filter(|_| self.solver.exact) else {
            return Ok(None);
        };
        Shifts::between(&self.task.actions, (factual, point), |row| Ok(linear.score_row(row)))
    }

    /// About the rate of a point, failures included.
    pub(super) fn mixed_rate(
        &mut self,
        factual: &[f64],
        point: &[f64],
        lines: usize,
    ) -> Result<f64> {
        if let Some(shifts) = self.shifts(factual, point)? {
            return Ok(shifts.rate(self.task.model.score(point)?, self.solver.noise));
        }
        let outcomes = self.task.actions.outcomes(factual, point);
        if outcomes.is_empty() {
            return self.inner.rate_at(factual, point, lines);
        }
        let mut rate = outcomes.rest;
        for (p, point) in &outcomes.points {
            rate += p * self.inner.rate_at(factual, point, lines)?;
        }
        Ok(rate)
    }
}
