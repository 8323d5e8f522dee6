//! Changes of several features once more without one of them: where scores jump, steps may come to
//! rest with a feature beyond a place that the others get across by themselves, and no short step
//! takes it back.

use super::super::descent::Pace;
use super::super::incumbent::Incumbent;
use super::super::problem::Problem;
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::recourse::SearchEffort;
use std::sync::Arc;

/// Changes of fewer features are not looked at again: every single feature is tried from the
/// person.
const SEVERAL: usize = 3;
/// What must be gained, as a share of the cost.
const WORTH: f64 = 0.01;
/// Features that are taken back at most, one after the other, and for how many of them steps find
/// out whether it pays, each time.
const ROUNDS: usize = 4;
const TRIES: usize = 2;
/// Steps of each: most of what there is to gain shows in the first ones, and the last steps go on
/// anyway.
const STEPS: usize = 10;

pub(super) struct DropFeature;

impl Generator for DropFeature {
    fn name(&self) -> &'static str {
        "drop_feature"
    }

    fn applies(&self, search: &Search<'_>, problem: Problem<'_>, best: &Incumbent) -> bool {
        search.may_drop_features(problem, best)
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        best.keep_as_fallback();
        search.drop_features(problem, best)
    }
}

impl Search<'_> {
    /// Whether the best so far may move a feature that it does not need.
    fn may_drop_features(&self, problem: Problem<'_>, best: &Incumbent) -> bool {
        self.tuning.screens
            && best.cost.is_finite()
            && !self.depends_on_changes()
            && problem.effort != SearchEffort::Quick
            && problem.n_changed(&best.point) >= SEVERAL
    }

    /// Takes one feature of the best so far back altogether, where what is missing then seems to
    /// cost less by others, and lets a descent find out; and another one, where that paid.
    fn drop_features(&mut self, problem: Problem<'_>, best: &mut Incumbent) -> Result<()> {
        let near = self.margin.largest_sd();
        let pace = Pace { precision: problem.coarse, radius: near, most_steps: STEPS };
        for _ in 0..ROUNDS {
            let enough = (1.0 - WORTH) * best.cost;
            let starts = self.starts_without(problem, best)?;
            for (expected, mut start) in starts.into_iter().take(TRIES) {
                if best.cost < enough || expected >= enough {
                    break;
                }
                self.hint.clear();
                self.descend_at(problem, pace, &mut start, best)?;
            }
            if best.cost >= enough || !self.may_drop_features(problem, best) {
                break;
            }
        }
        Ok(())
    }

    /// The best so far without one of its changes, each with what it seems to cost once others have
    /// made up for that; the cheapest first.
    fn starts_without(
        &mut self,
        problem: Problem<'_>,
        best: &Incumbent,
    ) -> Result<Vec<(f64, Vec<f64>)>> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let (cost, actions) = (&task.cost, &task.actions);
        let mut starts = Vec::new();
        for j in (0..factual.len()).filter(|&j| best.point[j] != factual[j]) {
            let mut start = best.point.clone();
            start[j] = factual[j];
            let left = cost.between(factual, &start);
            if !actions.is_mutable_numeric(j)
                || left > (1.0 - WORTH) * best.cost
                || !self.is_admissible(factual, &start)
            {
                continue;
            }
            let missing = -self.slack(problem, &start, problem.coarse)?;
            // The cheapest margin that is sold there.
            let price = (0..factual.len())
                .filter(|&k| self.gradient[k] != 0.0 && actions.is_mutable_numeric(k))
                .map(|k| cost.weight(k, self.gradient[k]) / self.gradient[k].abs())
                .fold(f64::INFINITY, f64::min);
            let expected = if missing > 0.0 { left + price * missing } else { left };
            starts.push((expected, start));
        }
        // Stable: of equals the first.
        starts.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(starts)
    }
}
