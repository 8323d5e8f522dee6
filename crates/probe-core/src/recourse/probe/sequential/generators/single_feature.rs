//! Single features, from the person's own point: on real networks the best known answers change one
//! feature or two, and a local search may have missed them.

use super::super::incumbent::Incumbent;
use super::super::margin::Place;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::super::{DOUBT, GLANCE, LEAST_GAIN};
use super::Generator;
use crate::error::Result;
use std::sync::Arc;

/// How much steeper than at the person a margin may be on the way, and what it may gain besides,
/// where features are screened by slopes.
const STEEPER: f64 = 3.0;
const SLIGHT: f64 = 0.3;

pub(super) struct SingleFeature;

impl Generator for SingleFeature {
    fn name(&self) -> &'static str {
        "single_feature"
    }

    fn applies(&self, _: &Search<'_>, _: Problem<'_>, _: &Incumbent) -> bool {
        true
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        search.try_single_features(problem, best).map(|_| ())
    }
}

impl Search<'_> {
    /// The cheapest change of one feature alone, where it beats the best so far; says whether one
    /// did.
    pub(super) fn try_single_features(
        &mut self,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<bool> {
        let Problem { factual, z, .. } = problem;
        let mut improved = false;
        let mut hint = std::mem::take(&mut self.hint);
        if hint.is_empty() {
            self.slack(problem, &best.most_robust, Precision::FirstOrder)?;
            hint.extend_from_slice(&self.gradient);
        }
        let here = Place { from: problem.origin, to: factual, active: &self.support };
        let coarse = self.tuning.coarse;
        problem.budget.spend(coarse as u64);
        let own = self.margin.anchor(here, Some(&hint), coarse)? - z;
        let mut slopes = Vec::new();
        if self.tuning.screens && !self.depends_on_changes() && own < 0.0 && best.cost.is_finite() {
            self.slack(problem, factual, Precision::Lines(coarse))?;
            slopes.extend_from_slice(&self.gradient);
        }
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                if let Some(room) = self.room(factual, j, way) {
                    if problem.budget.is_exhausted() {
                        break;
                    }
                    if slopes.get(j).is_some_and(|slope| {
                        self.support[j] && self.is_vain((j, way, room), slope * way, own, best)
                    }) {
                        continue;
                    }
                    improved |= self.try_single_feature(problem, (j, way, room), own, best)?;
                }
            }
        }
        self.hint = hint;
        Ok(improved)
    }

    /// Whether a feature has so small a `slope` that all it may move at a lower cost does not make
    /// up for what is missing, nor would several times as much.
    fn is_vain(
        &self,
        (j, way, room): (usize, f64, f64),
        slope: f64,
        own: f64,
        best: &Incumbent,
    ) -> bool {
        let far = room.min(best.cost / self.task.cost.weight(j, way));
        STEEPER * slope.max(0.0) * far + SLIGHT < -own
    }

    /// [`Search::try_single_features`] for one feature and direction; `own` is the slack of no
    /// move.
    fn try_single_feature(
        &mut self,
        problem: Problem<'_>,
        (j, way, room): (usize, f64, f64),
        own: f64,
        best: &mut Incumbent,
    ) -> Result<bool> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let cost = &task.cost;
        let (weight, coarse) = (cost.weight(j, way), self.tuning.coarse);
        // Worth it only if clearly cheaper; without an answer so far, look further and further out.
        let known = best.cost.is_finite();
        let mut far =
            if known { room.min((1.0 - LEAST_GAIN) * best.cost / weight) } else { room.min(0.25) };
        if own >= 0.0 {
            // The noise alone meets the target: only the point itself must become favourable, and
            // the nearest such place may be small.
            let mut closer = far;
            for _ in 0..8 {
                closer /= 3.0;
                if self.slack_of_single(problem, (j, way * closer), GLANCE)? >= -DOUBT {
                    far = closer;
                }
            }
        }
        let (mut near, mut missed) = (0.0, own);
        while self.slack_of_single(problem, (j, way * far), GLANCE)? < -DOUBT {
            if known || far >= room || far > 1e3 {
                return Ok(false);
            }
            near = far;
            missed = f64::NAN;
            far = (2.0 * far).min(room);
        }
        let mut met = self.slack_of_single(problem, (j, way * far), coarse)?;
        if met < 0.0 {
            return Ok(false);
        }
        // Find where the target is met, by secants kept inside the bracket.
        for _ in 0..12 {
            if met <= 5.0 * self.tuning.precision || far - near <= LEAST_GAIN * far {
                break;
            }
            let secant = near + (far - near) * missed / (missed - met);
            let u = if secant > near && secant < far { secant } else { 0.5 * (near + far) };
            let slack = self.slack_of_single(problem, (j, way * u), coarse)?;
            if slack >= 0.0 {
                (far, met) = (u, slack);
            } else {
                (near, missed) = (u, slack);
            }
        }
        let mut x = factual.to_vec();
        x[j] += way * far;
        let improves = self.is_admissible(factual, &x) && cost.between(factual, &x) < best.cost;
        if improves {
            best.offer_undescended(&x, cost.between(factual, &x), met);
        }
        Ok(improves)
    }

    /// [`Search::slack`] of a change of one feature, from the anchored person; without gradient.
    fn slack_of_single(
        &mut self,
        problem: Problem<'_>,
        (j, change): (usize, f64),
        lines: usize,
    ) -> Result<f64> {
        let Problem { factual, z, .. } = problem;
        if let Some(slack) = self.margin.slack_of_single((j, change), z, lines)? {
            problem.budget.spend(lines as u64);
            return Ok(slack);
        }
        let mut x = factual.to_vec();
        x[j] += change;
        self.restrict_support(factual, &x);
        self.slack(problem, &x, Precision::Lines(lines))
    }
}
