//! Actions in ascending order of the authors' own cost: the sum over the features of the shift in
//! percentiles of the reference rows.
//!
//! $$\min_a \sum_j \big|F_j(x_j + a_j) - F_j(x_j)\big| \quad\text{such that}\quad w^\top(x + a) +
//! b > 0$$
//!
//! Shifts are not linear in the number of steps, so that this is a knapsack problem instead of an
//! integer program with two variables per feature. With shifts rounded up to whole parts of
//! [`PARTS`], `gain[b]` is the most score that a total shift of `b` parts can gain, feature after
//! feature.

use super::program::{Grid, needed};
use crate::recourse::Task;
use crate::recourse::lime::Affine;
use crate::recourse::reach::Reach;

/// Number of parts into which the whole range of percentiles is divided.
const PARTS: f64 = 500.0;
/// The largest total shift, in parts: that of four features from one end to the other.
const MOST: usize = 2_000;

/// The order of people in each feature.
pub(in crate::recourse) struct Percentiles {
    /// Values of the reference rows, sorted; without rows the ends of the range.
    sorted: Vec<Vec<f64>>,
    /// Features that are 0 or 1 in every row, which jump.
    jumps: Vec<bool>,
}

/// A grid point of one feature.
#[derive(Debug, Clone, Copy)]
struct Item {
    parts: usize,
    gain: f64,
    to: f64,
}

/// One person's actions: what each total shift can gain.
pub(in crate::recourse) struct Actions {
    start: Vec<f64>,
    needed: f64,
    /// The most score that each total shift gains.
    gain: Vec<f64>,
    features: Vec<FeatureActions>,
}

/// The actions of one feature.
struct FeatureActions {
    j: usize,
    /// All its grid points that gain score, least gain first.
    items: Vec<Item>,
    /// The one it takes for each total shift, if any.
    taken: Vec<Option<Item>>,
}

impl Percentiles {
    pub(in crate::recourse) fn new(task: &Task) -> Self {
        let reference = &task.reference;
        let column = |(j, range): (usize, &[f64; 2])| {
            let rows = reference.rows();
            let mut values: Vec<f64> =
                rows.map_or_else(|| range.to_vec(), |rows| rows.iter().map(|row| row[j]).collect());
            values.sort_by(f64::total_cmp);
            values
        };
        let sorted = reference.ranges().iter().enumerate().map(column).collect();
        Self { sorted, jumps: reference.zero_or_one() }
    }

    /// Share of people at or below `x`; between the ends of a range in proportion where there are
    /// no people.
    fn share(&self, j: usize, x: f64) -> f64 {
        let values = &self.sorted[j];
        match values.as_slice() {
            [low, high] if high > low => ((x - low) / (high - low)).clamp(0.0, 1.0),
            _ => values.partition_point(|v| *v <= x) as f64 / values.len().max(1) as f64,
        }
    }

    /// What a person at `start` can do about an affine score.
    pub(in crate::recourse) fn actions(
        &self,
        model: &Affine,
        grids: &[Grid],
        reach: &Reach,
        start: &[f64],
    ) -> Actions {
        let mut gain = vec![0.0; MOST + 1];
        let mut features = Vec::new();
        for j in (0..start.len()).filter(|&j| reach.is_open(j) && model.weights[j] != 0.0) {
            let items = self.items(j, model.weights[j], &grids[j], (reach.ends(j), start[j]));
            let mut best = items.clone();
            best.sort_by(|a, b| a.parts.cmp(&b.parts).then(b.gain.total_cmp(&a.gain)));
            best.dedup_by_key(|item| item.parts);
            let before = gain.clone();
            let mut taken = vec![None; MOST + 1];
            for b in 0..=MOST {
                for item in best.iter().take_while(|item| item.parts <= b) {
                    let total = before[b - item.parts] + item.gain;
                    if total > gain[b] {
                        gain[b] = total;
                        taken[b] = Some(*item);
                    }
                }
            }
            features.push(FeatureActions { j, items, taken });
        }
        Actions { start: start.to_vec(), needed: needed(model, start), gain, features }
    }

    /// Grid points that gain score, least gain first.
    fn items(&self, j: usize, weight: f64, grid: &Grid, (ends, x): ((f64, f64), f64)) -> Vec<Item> {
        let step = if self.jumps[j] { grid.high - grid.low } else { grid.step };
        let mut items: Vec<Item> = Vec::new();
        if !(step > 0.0 && step.is_finite()) {
            return items;
        }
        let here = self.share(j, x);
        let steps = ((grid.high - grid.low) / step + 1e-9).floor() as usize;
        for k in 0..=steps {
            let to = grid.low + step * k as f64;
            let gain = weight * (to - x);
            if gain > 0.0 && (ends.0..=ends.1).contains(&to) {
                let parts = ((self.share(j, to) - here).abs() * PARTS).ceil().max(1.0) as usize;
                items.push(Item { parts, gain, to });
            }
        }
        items.sort_by(|a, b| a.gain.total_cmp(&b.gain));
        items
    }
}

impl Actions {
    /// Points of actions that the affine score accepts, smallest total shift first, each on another
    /// set of features than those before; at most `most`.
    pub(in crate::recourse) fn each(
        &self,
        most: usize,
        mut accepts: impl FnMut(&[f64]) -> crate::error::Result<bool>,
    ) -> crate::error::Result<bool> {
        let mut tried: Vec<Vec<usize>> = Vec::new();
        for b in 1..=MOST {
            if tried.len() == most {
                break;
            }
            if !(self.gain[b] > 0.0 && self.gain[b] >= self.needed) {
                continue;
            }
            let (point, set) = self.point(b);
            if tried.contains(&set) {
                continue;
            }
            tried.push(set);
            if accepts(&point)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The point of a total shift of `b` parts with its features. Of grid points that will do the
    /// nearest is taken, feature after feature. A point further beyond the boundary would not have
    /// a smaller shift.
    fn point(&self, b: usize) -> (Vec<f64>, Vec<usize>) {
        let (mut chosen, mut left) = (Vec::new(), b);
        for feature in self.features.iter().rev() {
            if let Some(item) = feature.taken[left] {
                chosen.push((feature, item));
                left -= item.parts;
            }
        }
        let mut total: f64 = chosen.iter().map(|(_, item)| item.gain).sum();
        let mut at = 0;
        while at < chosen.len() {
            let (feature, item) = chosen[at];
            let rest = total - item.gain;
            if rest >= self.needed && chosen.len() > 1 {
                total = rest;
                chosen.remove(at);
                continue;
            }
            if let Some(nearest) = feature.items.iter().find(|item| rest + item.gain >= self.needed)
            {
                total = rest + nearest.gain;
                chosen[at].1 = *nearest;
            }
            at += 1;
        }
        let mut point = self.start.clone();
        chosen.iter().for_each(|(feature, item)| point[feature.j] = item.to);
        (point, chosen.iter().map(|(feature, _)| feature.j).collect())
    }
}
