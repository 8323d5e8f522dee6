//! Changes of one feature to an interval on which the model accepts the person.
//!
//! A descent follows slopes, so it does not cross a flat or rejected region. Where nothing else
//! found an answer, the accepted intervals are found without noise (`intervals`), and then the
//! nearest point of each that meets the target.

use super::super::LEAST_GAIN;
use super::super::incumbent::Incumbent;
use super::super::intervals::Interval;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::recourse::{Reason, SearchEffort};
use std::sync::Arc;

/// Intervals that are looked at.
const MOST: usize = 32;
/// Halvings that find where on an interval the target is met.
const HALVINGS: usize = 12;
/// Where on an interval the target is looked for, in standard deviations from its nearer end.
const INWARD: [f64; 7] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

pub(super) struct AcceptedIntervals;

impl Generator for AcceptedIntervals {
    fn name(&self) -> &'static str {
        "accepted_intervals"
    }

    fn applies(&self, _: &Search<'_>, problem: Problem<'_>, _: &Incumbent) -> bool {
        problem.effort != SearchEffort::Quick
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        best.cost = f64::INFINITY;
        if search.try_accepted_intervals(problem, best)? {
            let mut here = best.point.clone();
            search.restrict_support(problem.factual, &here);
            let near = 0.5 * search.margin.largest_sd();
            search.descend(problem, problem.coarse, near, &mut here, best)?;
            best.ask_for_polish();
        }
        Ok(())
    }
}

impl Search<'_> {
    /// The cheapest change of one feature alone, wherever it leads; says whether there is one.
    fn try_accepted_intervals(
        &mut self,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<bool> {
        let factual = problem.factual;
        let why = self.margin.infeasibility(factual, &self.task.actions);
        if why.is_some_and(|why| why != Reason::NotFound) {
            return Ok(false);
        }
        let mut improved = false;
        for interval in self.intervals(factual)?.into_iter().take(MOST) {
            if interval.bound < (1.0 - LEAST_GAIN) * best.cost {
                improved |= self.try_interval(problem, interval, best)?;
            }
        }
        Ok(improved)
    }

    /// Looks for the nearest point of an interval that meets the target, and offers it; says
    /// whether there is one.
    fn try_interval(
        &mut self,
        problem: Problem<'_>,
        interval: Interval,
        best: &mut Incumbent,
    ) -> Result<bool> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let Interval { j, way, near: start, far: end, .. } = interval;
        let (weight, coarse) = (task.cost.weight(j, way), self.tuning.coarse);
        let width = end - start;
        let (middle, sd) = (start + 0.5 * width, self.margin.sd(j));
        let mut x = factual.to_vec();
        // Off the edge, to the precision that rows are printed with.
        let off = (1e-4 * width.min(if sd > 0.0 { sd } else { 1.0 }))
            .max(1e-7 * (factual[j].abs() + start))
            .min(0.5 * width);
        let mut places = vec![start + off, middle, end - off.min(0.25 * width)];
        places.extend(INWARD.iter().map(|k| start + k * sd).filter(|u| *u < end));
        places.sort_by(f64::total_cmp);
        places.dedup();
        let (mut missed, mut met) = (start, None);
        for u in places {
            x[j] = factual[j] + way * u;
            if weight * u >= best.cost || !self.is_admissible(factual, &x) {
                continue;
            }
            let slack = self.slack_on_interval(problem, &x, coarse)?;
            if self.favourable && slack >= 0.0 {
                met = Some((u, slack));
                break;
            }
            missed = u;
            best.offer_accepted(&x, slack, self.favourable);
        }
        let Some((mut far, mut slack)) = met else { return Ok(false) };
        for _ in 0..HALVINGS {
            if slack <= 5.0 * self.tuning.precision || far - missed <= LEAST_GAIN * far {
                break;
            }
            let u = 0.5 * (missed + far);
            x[j] = factual[j] + way * u;
            let seen = self.slack_on_interval(problem, &x, coarse)?;
            if self.favourable && seen >= 0.0 && self.is_admissible(factual, &x) {
                (far, slack) = (u, seen);
            } else {
                missed = u;
            }
        }
        x[j] = factual[j] + way * far;
        let cost = task.cost.between(factual, &x);
        let improves = best.offer_undescended(&x, cost, slack);
        best.offer_accepted(&x, slack, true);
        Ok(improves)
    }

    fn slack_on_interval(&mut self, problem: Problem<'_>, x: &[f64], lines: usize) -> Result<f64> {
        let factual = problem.factual;
        self.restrict_support(factual, x);
        self.hint.clear();
        self.slack(problem, x, Precision::Lines(lines))
    }
}
