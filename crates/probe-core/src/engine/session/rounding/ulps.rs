//! Moves the printed row by ulps, if rounding missed the target or exceeded the budget.

use super::Rounding;
use crate::cost::Cost;
use crate::error::Result;

/// Rows are moved by at most two to the power of this many ulps.
const DOUBLINGS: u32 = 40;

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
        let nudges = self.nudges(person, point);
        if !nudges.is_empty() {
            return self.nudge(person, &nudges, met);
        }
        for doubling in 0..DOUBLINGS {
            let mut moved = false;
            for j in 0..first.len() {
                // A move that is too small to change the raw value still has a direction.
                let delta = point[j] - self.from[j];
                // Bounds can force a feature to move against the score. It must not go further.
                let helps = self.weights.is_none_or(|weights| weights[j] * delta > 0.0);
                if delta == 0.0 || !helps || self.is_tied(j) {
                    continue;
                }
                if self.is_continuous(j) {
                    self.move_by_ulps((j, delta), doubling, person, first[j]);
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

    /// The same for a row that is the person's: moves one feature alone.
    fn nudge<T>(
        &mut self,
        person: &[f64],
        nudges: &[(usize, f64)],
        mut met: impl FnMut(&Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let first = self.row.clone();
        for doubling in 0..DOUBLINGS {
            for &(j, way) in nudges {
                self.move_by_ulps((j, way), doubling, person, first[j]);
                if self.row[j] == first[j] {
                    continue;
                }
                self.moved.clear();
                self.moved.push(j);
                self.rescale();
                if let Some(found) = met(self)? {
                    return Ok(Some(found));
                }
                self.row[j] = first[j];
            }
        }
        self.moved.clear();
        self.set(&first);
        Ok(None)
    }

    /// Moves feature `j` from `first` in direction `way`, by two to the power of `doubling` ulps.
    fn move_by_ulps(&mut self, (j, way): (usize, f64), doubling: u32, person: &[f64], first: f64) {
        let ulps = f64::EPSILON * (1u64 << doubling) as f64;
        let step = ulps * first.abs().max((first - person[j]).abs());
        self.row[j] = self.within_bounds(j, person[j], first + step.copysign(way));
    }

    /// Moves the changed features back by ulps until the cost is within the budget.
    pub(in crate::engine::session) fn step_inward(
        &mut self,
        person: &[f64],
        budget: f64,
        cost: &Cost,
    ) {
        let first = self.row.clone();
        for doubling in 0..DOUBLINGS {
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

    /// The features of which one may move, and in which direction, if the method proposed no change
    /// at all. This happens because the method works in scaled units, and the score of a model of
    /// raw units is rounded differently. For a linear model it is the feature that matters most.
    fn nudges(&self, person: &[f64], point: &[f64]) -> Vec<(usize, f64)> {
        let still = point.iter().zip(&self.from).all(|(to, from)| to == from);
        if !still || self.setup.actions.max_changes() == Some(0) {
            return Vec::new();
        }
        let may =
            |j: usize, way: f64| self.is_continuous(j) && self.setup.may_improve(j, person[j], way);
        let Some(weights) = self.weights else {
            let ways = (0..point.len()).flat_map(|j| [(j, -1.0), (j, 1.0)]);
            return ways.filter(|&(j, way)| !self.is_tied(j) && may(j, way)).collect();
        };
        let strongest = (0..weights.len())
            .filter(|&j| weights[j] != 0.0 && may(j, weights[j]))
            .max_by(|&a, &b| weights[a].abs().total_cmp(&weights[b].abs()));
        strongest.map(|j| (j, weights[j])).into_iter().collect()
    }
}
