//! Changes of several features once more without one of them: where scores jump, steps may come to
//! rest with a feature beyond a place that the others get across by themselves, and no short step
//! takes it back.

use super::{Incumbent, MAX_STEPS, Precision, Search};
use crate::error::Result;
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

impl Search<'_> {
    /// Whether the best so far may move a feature that it does not need.
    pub(super) fn may_drop_features(&self, factual: &[f64], best: &Incumbent) -> bool {
        self.margin.screens()
            && best.cost.is_finite()
            && !self.depends_on_changes()
            && !self.task.actions.is_hasty()
            && best.point.iter().zip(factual).filter(|(to, from)| to != from).count() >= SEVERAL
    }

    /// Takes one feature of the best so far back altogether, where what is missing then seems to
    /// cost less by others, and lets steps find out; and another one, where that paid.
    pub(super) fn drop_features(
        &mut self,
        factual: &[f64],
        z: f64,
        coarse: Precision,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        self.most_steps = STEPS;
        let result = self.do_without_some(factual, z, coarse, here, best);
        self.most_steps = MAX_STEPS;
        result
    }

    fn do_without_some(
        &mut self,
        factual: &[f64],
        z: f64,
        coarse: Precision,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let near = self.margin.largest_sd();
        for _ in 0..ROUNDS {
            let enough = (1.0 - WORTH) * best.cost;
            for (expected, start) in
                self.starts_without(factual, z, coarse, best)?.into_iter().take(TRIES)
            {
                if best.cost < enough || expected >= enough {
                    break;
                }
                here.copy_from_slice(&start);
                self.hint.clear();
                self.descend(factual, z, coarse, near, here, best)?;
            }
            if best.cost >= enough || !self.may_drop_features(factual, best) {
                break;
            }
        }
        Ok(())
    }

    /// The best so far without one of its changes, each with what it seems to cost once others have
    /// made up for that; the cheapest first.
    fn starts_without(
        &mut self,
        factual: &[f64],
        z: f64,
        coarse: Precision,
        best: &Incumbent,
    ) -> Result<Vec<(f64, Vec<f64>)>> {
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
            let missing = -self.slack(&start, z, coarse)?;
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
