//! Changes of category that may fail: the rate over all outcomes.

use super::{Aim, DiscreteWorker, LEAST_RATE, LINES};
use crate::error::Result;
use crate::math::normal::upper_tail;
use crate::recourse::Verdict;

/// Searches that find the rate which leaves room for changes of category that fail.
const TURNS: usize = 6;

impl DiscreteWorker<'_> {
    /// The rate that the point itself must have so that the person, who may fail to change the
    /// categories of `self.person`, has that of `aim` all in all; `None` if there is none. Exact on
    /// affine scores, where a failure shifts the score by the same amount wherever it happens.
    pub(super) fn aim_of_success<'b>(
        &mut self,
        factual: &[f64],
        aim: Aim<'b>,
        rooms: &[Vec<(f64, f64)>],
    ) -> Result<Option<Aim<'b>>> {
        let outcomes = self.task.actions.outcomes(factual, &self.person);
        if outcomes.is_empty() {
            return Ok(Some(aim));
        }
        // What a gap costs depends on failures too, so it stays as usual.
        let rate = aim.usual();
        if let Some(linear) = self.task.model.as_linear().filter(|_| self.solver.exact) {
            let scores: Vec<(f64, f64)> =
                outcomes.iter().map(|(p, point)| (*p, linear.score_row(point))).collect();
            return Ok(success_on_line(&scores, self.solver.sd, rate).map(|rate| aim.exactly(rate)));
        }
        // Else by turns, from above: the point that this rate leads to, and how often failures are
        // refused there.
        let success = outcomes[0].0;
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

    /// About the rate of a point, failures included.
    pub(super) fn mixed_rate(
        &mut self,
        factual: &[f64],
        point: &[f64],
        lines: usize,
    ) -> Result<f64> {
        let mut outcomes = self.task.actions.outcomes(factual, point);
        if outcomes.is_empty() {
            outcomes.push((1.0, point.to_vec()));
        }
        let mut rate = 0.0;
        for (p, point) in &outcomes {
            rate += p * self.inner.rate_at(factual, point, lines)?;
        }
        Ok(rate)
    }
}

/// The rate that an affine score must have where everything succeeds, so that `outcomes`, of these
/// probabilities and scores, have `rate` together; `None` if they cannot. The score's noise has
/// standard deviation `sd`.
fn success_on_line(outcomes: &[(f64, f64)], sd: f64, rate: f64) -> Option<f64> {
    let own = outcomes[0].1;
    if sd == 0.0 {
        // Nothing that is free moves the score: it is refused or not.
        let refused: f64 = outcomes.iter().filter(|(_, score)| *score <= 0.0).map(|(p, _)| p).sum();
        return (refused <= rate).then_some(rate);
    }
    let mixed = |margin: f64| -> f64 {
        outcomes.iter().map(|(p, score)| p * upper_tail(margin + (score - own) / sd)).sum()
    };
    let (mut low, mut high) = (-8.0, 37.0);
    if mixed(high) > rate {
        return None;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if mixed(middle) <= rate { high = middle } else { low = middle }
    }
    Some(upper_tail(high))
}
