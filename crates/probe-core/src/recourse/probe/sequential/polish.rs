//! The last corrections: as many lines as it takes to land where the certificate wants the answer.

use super::incumbent::Incumbent;
use super::margin::Place;
use super::problem::{Precision, Problem};
use super::search::Search;
use crate::error::Result;
use crate::math::normal::{pdf, upper_quantile};
use std::sync::Arc;

/// Least and most lines, and how many a first closer look takes.
const FINE: usize = 64;
const CLOSER: usize = 128;
pub(super) const FINEST: usize = 2_048;
/// Corrections at most.
const CORRECTIONS: usize = 6;
/// A margin that misses by less than this is straight in between: what a step of that length leaves
/// is its square at most.
const STRAIGHT: f64 = 0.01;
/// The largest and the smallest gap under a target, as multiples of the usual one, where it is
/// chosen by what it costs and saves.
const MOST_GAP: f64 = 1.5;
const LEAST_GAP: f64 = 0.1;

impl Search<'_> {
    /// The last steps, from the best point so far: out of a rejected region, then on more lines.
    /// Says whether `rate` is reached at `here`.
    pub(super) fn polish(
        &mut self,
        problem: Problem<'_>,
        rate: &mut f64,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<bool> {
        let problem = problem.with_margin(upper_quantile(*rate));
        here.copy_from_slice(best.found());
        self.restrict_support(problem.factual, here);
        self.step_out(problem, here)?;
        if let Some(lines) = self.tuning.closer {
            // Steps on few samples end where their noise is as large as what is left to gain.
            best.measure_again();
            let near = 0.5 * self.margin.largest_sd();
            self.descend(problem, Precision::Lines(lines), near, here, best)?;
            here.copy_from_slice(best.found());
        }
        self.meet_rate(problem, rate, here)
    }

    /// Moves `here` to the point of this `rate` as measured on more lines, changing no further
    /// feature; says whether it is reached. With a target to stay below, the rate is taken closer
    /// to it where that pays.
    fn meet_rate(
        &mut self,
        mut problem: Problem<'_>,
        rate: &mut f64,
        here: &mut [f64],
    ) -> Result<bool> {
        let target = problem.target;
        let mut lines = self.fine_lines(*rate, target);
        // Few lines give the gradient well enough, where more are cheaper without it.
        let closer = self.margin.looks_closer();
        let first = Precision::Lines(lines.min(if closer { FINE } else { FINEST }));
        let mut slack = self.slack(problem, here, first)?;
        if closer {
            lines = CLOSER;
            slack = self.closer_slack(problem, here, lines)?;
        }
        if let (Some(target), true) = (target, self.favourable) {
            *rate = target - self.fair_gap(problem.factual, here, target, target - *rate);
            slack += problem.z - upper_quantile(*rate);
            problem = problem.with_margin(upper_quantile(*rate));
        }
        if self.fine_lines(*rate, target) > lines {
            // The lines here spread more than those of the search did, or closer to the target
            // less error can be tolerated.
            lines = self.fine_lines(*rate, target);
            slack = self.closer_slack(problem, here, lines)?;
        }
        let mut favourable = self.favourable;
        for _ in 0..CORRECTIONS {
            if (-self.tuning.precision..=2.0 * self.tuning.precision).contains(&slack)
                || !slack.is_finite()
            {
                return Ok(slack >= -self.tuning.precision);
            }
            let reached = self.correct(problem, here, slack);
            let trial = std::mem::take(&mut self.trial);
            let moved = trial != here;
            let short = reached && moved && favourable && slack.abs() <= STRAIGHT;
            if short && self.task.model.score(&trial)? > 0.0 {
                // The margin is as good as linear over so short a step: no need to measure again.
                here.copy_from_slice(&trial);
                self.trial = trial;
                return Ok(true);
            }
            let new = if moved { self.closer_slack(problem, &trial, lines)? } else { slack };
            // Do not leave the accepted region, outside of which the slack has another meaning.
            let better = new.abs() < 0.5 * slack.abs() && (self.favourable || !favourable);
            favourable = if better { self.favourable } else { favourable };
            if better {
                here.copy_from_slice(&trial);
                slack = new;
            }
            self.trial = trial;
            if !better {
                break;
            }
        }
        self.scale_back(problem, lines, here, slack)
    }

    /// The point near `here` that meets the linearised target and changes no further feature, into
    /// `self.trial`; says whether it meets it.
    fn correct(&mut self, problem: Problem<'_>, here: &[f64], slack: f64) -> bool {
        let (task, factual, n) = (Arc::clone(&self.task), problem.factual, here.len());
        let gradient = self.gradient.clone();
        let offset: f64 = (0..n).map(|j| gradient[j] * (factual[j] - here[j])).sum();
        // No further than the slack asks for: beyond that the linearisation is not reliable.
        let changed = (0..n).filter(|&j| here[j] != factual[j]);
        let steepest = changed.map(|j| gradient[j].abs()).fold(0.0, f64::max);
        let near = 2.0 * slack.abs() / steepest;
        let interval = |j: usize| match here[j] == factual[j] {
            true => Some((here[j], here[j])),
            false => {
                let (low, high) = task.actions.interval(j, factual[j])?;
                Some(((here[j] - near).max(low), (here[j] + near).min(high)))
            }
        };
        let value = (factual, slack + offset);
        self.step.cheapest(&task, value, &gradient, 0.0, interval, &mut self.trial)
    }

    /// [`Search::slack`] on many lines. Where lines bend the gradient stays that of before, which
    /// costs far more than the slack.
    pub(super) fn closer_slack(
        &mut self,
        problem: Problem<'_>,
        x: &[f64],
        lines: usize,
    ) -> Result<f64> {
        let z = problem.z;
        let hint = (!self.hint.is_empty()).then_some(&self.hint[..]);
        let place = Place { from: problem.origin, to: x, active: &self.support };
        match self.margin.closer_slack(place, z, lines, hint)? {
            Some((slack, variance)) => {
                problem.budget.spend(lines as u64);
                self.favourable = true;
                self.variance = variance;
                Ok(slack)
            }
            None => self.slack(problem, x, Precision::Lines(lines)),
        }
    }

    /// How far under the target `rate` to stay, where `gap` is usual: less where that adds much to
    /// the cost, at the price of margin that was last seen. More lines will be needed then, within
    /// reason.
    fn fair_gap(&self, factual: &[f64], here: &[f64], rate: f64, gap: f64) -> f64 {
        let cost = &self.task().cost;
        // The cheapest margin that the changed features sell.
        let price = (0..here.len())
            .filter(|&j| here[j] != factual[j] && self.gradient[j] != 0.0)
            .map(|j| cost.weight(j, here[j] - factual[j]) / self.gradient[j].abs())
            .fold(f64::INFINITY, f64::min);
        if self.margin.bends() {
            let worth = self.tuning.worth_of_cost(rate);
            let slope = price / (pdf(upper_quantile(rate)) * cost.between(factual, here));
            let least = least_work(rate, self.variance, worth * slope);
            let most = (MOST_GAP * gap).min(gap.max(0.5 * rate));
            let fair = if least.is_finite() { least.clamp(LEAST_GAP * gap, most) } else { gap };
            return fair.max(self.resolved().min(gap));
        }
        let margin = upper_quantile(rate - gap) - upper_quantile(rate);
        let surcharge = price * margin / cost.between(factual, here);
        let fair = self.tuning.surcharges;
        let fair = if surcharge > fair.expensive { fair.cheap } else { fair.fair };
        if !(surcharge > fair && surcharge.is_finite()) {
            return gap;
        }
        // A bet that is limited by the spread of the lines takes about 2 ln(1/δ) variance/gap² of
        // them.
        let affordable = (14.0 * self.variance / self.tuning.fair_samples).sqrt();
        (gap * (fair / surcharge).max(0.1)).max(affordable).max(self.resolved()).min(gap)
    }

    /// The smallest gap that the most lines of a polish resolve, where gaps are smaller than usual:
    /// twice their standard error, as evenly spread lines are worth three independent ones at
    /// least.
    fn resolved(&self) -> f64 {
        if !self.tuning.stays_close {
            return 0.0;
        }
        2.0 * (self.variance / (3 * FINEST) as f64).sqrt()
    }

    /// Lines that tell the rate well enough, given the variance that was last seen: to two fifths
    /// of what it stays under its target, and in any case to half a percent at 0.35 and no closer
    /// than a quarter; where lines bend and are cheap in places, to a quarter of it, to half a
    /// percent again, and no closer than an eighth. Evenly spread lines are worth three independent
    /// ones at least.
    fn fine_lines(&self, rate: f64, target: Option<f64>) -> usize {
        let (closest, widest, share) =
            if self.margin.bends() { (0.00125, 4.0, 0.25) } else { (0.0025, 2.0, 0.4) };
        let closest = closest * (0.35 * rate).sqrt();
        let error = target
            .map_or(closest, |target| (share * (target - rate)).clamp(closest, widest * closest));
        let needed = self.variance / (error * error) / 3.0;
        (needed.min(1e9) as usize).next_power_of_two().clamp(FINE, FINEST)
    }

    /// [`Search::meet_rate`] along the straight line from the person, where steps do not get there.
    fn scale_back(
        &mut self,
        problem: Problem<'_>,
        lines: usize,
        here: &mut [f64],
        slack: f64,
    ) -> Result<bool> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let actions = &task.actions;
        let whole = here.to_vec();
        let scaled = |share: f64| -> Vec<f64> {
            let along = |j: usize| {
                let target = factual[j] + share * (whole[j] - factual[j]);
                match actions.interval(j, factual[j]) {
                    Some((low, high)) if !actions.is_grouped(j) => target.clamp(low, high),
                    _ => whole[j],
                }
            };
            (0..whole.len()).map(along).collect()
        };
        let (mut inside, mut outside) = (0.0, 1.0);
        if slack < 0.0 {
            let mut reached = false;
            for share in [1.02, 1.1, 1.3, 2.0] {
                inside = outside;
                outside = share;
                let beyond = scaled(share);
                reached = self.closer_slack(problem, &beyond, lines)? >= 0.0
                    && self.is_admissible(factual, &beyond);
                if reached {
                    break;
                }
            }
            if !reached {
                return Ok(false);
            }
        }
        for _ in 0..14 {
            let middle = 0.5 * (inside + outside);
            let slack = self.closer_slack(problem, &scaled(middle), lines)?;
            if slack >= 0.0 {
                outside = middle
            } else {
                inside = middle
            }
            if (0.0..=2.0 * self.tuning.precision).contains(&slack) {
                break;
            }
        }
        here.copy_from_slice(&scaled(outside));
        Ok(true)
    }
}

/// The gap under a target `rate` at which a certificate's lines and what the gap adds to the cost,
/// at `price` lines for a unit of the rate, are least together; not a number where the price is
/// none. A bet takes ln(1/δ)(1 - r)/gap lines whatever their spread, as its stake is limited, and 2
/// ln(1/δ) variance/gap² more for that.
fn least_work(rate: f64, variance: f64, price: f64) -> f64 {
    let (bound, spread) = (7.0 * (1.0 - rate), 14.0 * variance);
    // The root of price·gap³ = bound·gap + 2·spread, by Newton steps from above it, where the
    // difference is convex.
    let mut gap = (bound / price).sqrt() + libm::cbrt(2.0 * spread / price);
    for _ in 0..6 {
        let square = price * gap * gap;
        gap -= (gap * (square - bound) - 2.0 * spread) / (3.0 * square - bound);
    }
    gap
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against all gaps on a fine grid.
    #[test]
    fn the_least_work_is_no_more_than_that_of_any_other_gap() {
        for (rate, variance, price) in [
            (0.35, 1.3e-3, 1e6),
            (0.35, 2e-2, 3e6),
            (0.1, 5e-4, 4e5),
            (0.05, 0.0, 1e5),
            (0.2, 1e-6, 1e7),
        ] {
            let work =
                |gap: f64| 7.0 * (1.0 - rate) / gap + 14.0 * variance / (gap * gap) + price * gap;
            let least = least_work(rate, variance, price);
            for i in 1..4_000 {
                let gap = 1e-5 * f64::from(i);
                assert!(
                    work(least) <= work(gap) * (1.0 + 1e-9),
                    "{rate} {variance}: {least} {gap}"
                );
            }
        }
        assert!(!least_work(0.35, 1e-3, f64::INFINITY).is_finite());
        assert!(!least_work(0.35, 1e-3, 0.0).is_finite());
        assert!(!least_work(0.35, 1e-3, f64::NAN).is_finite());
    }
}
