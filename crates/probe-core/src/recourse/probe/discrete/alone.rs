//! Steps of single features, with the categories at hand: without steps a search may end on a
//! interval that has none, and what is near a step may be out of its sight.

use super::branch::Best;
use super::{DiscreteWorker, LINES};
use crate::error::Result;
use crate::recourse::Report;
use std::sync::Arc;

/// Steps of one feature that are tried, and rates that are looked at: where there is no answer yet,
/// and where there is one.
const STEPS: usize = 64;
const LOOKS: usize = 24;
const FEW_LOOKS: usize = 2;

/// The name of this generator in an answer's source.
pub(in crate::recourse::probe) const SINGLE_STEP: &str = "single_step";

/// The most robust of the points that are accepted and fall short.
pub(super) type BestAccepted = Option<(f64, Vec<f64>)>;

impl DiscreteWorker<'_> {
    /// Offers the cheapest point within `rooms` that has at most `rate`, failures included, where
    /// one feature of `self.person` alone moves to a step; it must be cheaper than the best so far.
    /// The choice of categories costs `spent`. Returns the most robust one that is accepted, if
    /// none has this rate.
    pub(super) fn try_steps_alone(
        &mut self,
        factual: &[f64],
        rate: f64,
        spent: f64,
        rooms: &[Vec<(f64, f64)>],
        best: &mut Best,
    ) -> Result<BestAccepted> {
        let task = Arc::clone(&self.task);
        if task.left_out == Some(SINGLE_STEP) {
            return Ok(None);
        }
        let norm = task.cost.norm();
        // With their scores and totals.
        let mut points: Vec<(f64, f64, Vec<f64>)> = Vec::new();
        let mut offer = |point: &[f64], person: &[f64]| -> Result<()> {
            let total = norm.join(spent, task.cost.total(person, point));
            if total < best.total {
                let score = task.model.score(point)?;
                if score > 0.0 && task.actions.violations(factual, point).is_empty() {
                    points.push((score, total, point.to_vec()));
                }
            }
            Ok(())
        };
        let person = self.person.clone();
        if person != factual {
            offer(&person, &person)?;
        }
        let movable = self.within.max_changes != Some(0);
        for (j, grid) in (0..person.len()).filter_map(|j| Some((j, task.actions.grid(j)?))) {
            for room in rooms.iter().filter(|room| movable && room[j].0 < room[j].1) {
                let (low, high) = room[j];
                let steps = ((high - low) / grid.step + 1e-6).floor();
                let few = steps < STEPS as f64;
                if !few {
                    continue;
                }
                let mut point = person.clone();
                for k in 0..=steps as usize {
                    point[j] = (grid.above(low) + grid.step * k as f64).min(high);
                    if point[j] != person[j] {
                        self.snap(&mut point);
                        offer(&point, &person)?;
                    }
                }
            }
        }
        // The surest, the cheapest of them first.
        points.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.total_cmp(&b.1)));
        points.dedup();
        points.truncate(if best.total.is_finite() { FEW_LOOKS } else { LOOKS });
        points.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut best_accepted: BestAccepted = None;
        for (_, total, point) in points {
            let seen = self.mixed_rate(factual, &point, LINES)?;
            if seen <= rate {
                best.total = total;
                (best.aim, best.report) = (None, Report::of(SINGLE_STEP));
                best.point.copy_from_slice(&point);
                return Ok(None);
            }
            if best_accepted.as_ref().is_none_or(|(least, _)| seen < *least) {
                best_accepted = Some((seen, point));
            }
        }
        Ok(best_accepted)
    }
}
