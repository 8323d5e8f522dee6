//! Moves the printed row by ulps, if rounding missed the target or exceeded the budget.

use super::Rounding;
use crate::cost::Cost;
use crate::error::Result;

impl Rounding<'_> {
    /// Moves the changed features further by 1, 2, 4, … ulps until `met` returns a value. If
    /// nothing helps, restores the printed row and returns `None`.
    pub(in crate::engine::session) fn step_outward<T>(
        &mut self,
        person: &[f64],
        point: &[f64],
        mut met: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let first = self.row.clone();
        let nudged = self.nudged(person, point);
        // A feature is nudged only if no other moves, so that `moved` was empty.
        self.moved.extend(nudged.map(|(j, _)| j));
        // A move that is too small to change the raw value still has a direction.
        let way = |from: &[f64], j: usize| match nudged {
            Some((nudged, way)) if nudged == j => way,
            _ => point[j] - from[j],
        };
        for doubling in 0..40 {
            let ulps = f64::EPSILON * (1u64 << doubling) as f64;
            let mut moved = false;
            for j in 0..first.len() {
                let delta = way(&self.from, j);
                // Bounds can force a feature to move against the score. It must not go further.
                let helps = self.weights.is_none_or(|weights| weights[j] * delta > 0.0);
                if delta == 0.0 || !helps || self.is_tied(j) {
                    continue;
                }
                if self.is_continuous(j) {
                    let step = ulps * first[j].abs().max((first[j] - person[j]).abs());
                    let further = first[j] + step.copysign(delta);
                    self.row[j] = self.within_bounds(j, person[j], further);
                    moved |= self.row[j] != first[j];
                }
            }
            self.rescale();
            if let Some(found) = met(self)? {
                return Ok(Some(found));
            }
            if !moved && doubling > 2 {
                break;
            }
        }
        self.set(&first);
        Ok(None)
    }

    /// Moves the changed features back by ulps until the cost is within the budget.
    pub(in crate::engine::session) fn step_inward(
        &mut self,
        person: &[f64],
        budget: f64,
        cost: &Cost,
    ) {
        let first = self.row.clone();
        for doubling in 0..40 {
            if cost.between(&self.from, &self.scaled) <= budget {
                break;
            }
            let kept = 1.0 - f64::EPSILON * (1u64 << doubling) as f64;
            for j in 0..first.len() {
                if first[j] != person[j] && self.is_continuous(j) {
                    self.row[j] =
                        self.within_bounds(j, person[j], person[j] + kept * (first[j] - person[j]));
                }
            }
            self.rescale();
        }
    }

    /// The feature to move and its direction, if the method proposed no change at all. This happens
    /// because the method works in scaled units, and the score of a model of raw units is rounded
    /// differently.
    fn nudged(&self, person: &[f64], point: &[f64]) -> Option<(usize, f64)> {
        let still = point.iter().zip(&self.from).all(|(to, from)| to == from);
        if !still || self.setup.actions.max_changes() == Some(0) {
            return None;
        }
        let weights = self.weights?;
        let may = |&j: &usize| {
            weights[j] != 0.0
                && self.is_continuous(j)
                && self.setup.may_improve(j, person[j], weights[j])
        };
        let strongest = (0..weights.len())
            .filter(may)
            .max_by(|&a, &b| weights[a].abs().total_cmp(&weights[b].abs()));
        strongest.map(|j| (j, weights[j]))
    }
}
