//! Branch and bound over boxes, where few numbers may change and rates are exact.
//!
//! Under Gaussian noise with standard deviations $\sigma_j$, $M = \Phi^{-1}(1-\Delta)$ satisfies
//! $M(x) \le M(c) + R$ in a box with centre $c$ and half-widths $h_j$, with $R^2 = \sum_j
//! (h_j/\sigma_j)^2$: it is 1-Lipschitz in units of the noise ([`crate::theory`]). A box with
//! $M(c) + R < z_r$ holds no answer. Boxes are divided in ascending order of the cost of their
//! nearest point, so that the cost of the first one that is left is a lower bound whenever the
//! search stops. If none is left, there is no answer. Relations, steps and the limit on changes
//! are ignored, which can only lower the bound.

use super::{Bound, Make, Person};
use crate::engine::outcome::Proof;
use crate::error::Result;
use crate::math::normal::upper_quantile;
use crate::recourse::{Reason, Task};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Numbers that may change, at most.
const MOST_AXES: usize = 3;
/// Exact rates that are computed for a person, at most.
const MOST_RATES: usize = 128;
/// Boxes are divided until the bound is within this share of the answer's cost.
const GAP: f64 = 0.01;
/// Bounds on margins are raised, and costs lowered, by this, to be on the safe side of rounding.
const ROUNDING: f64 = 1e-9;

pub(super) const MAKE: Make = |engine| {
    let task = engine.task();
    let active = task.noise_on.fixed(&task.actions)?;
    let gaussian = task.noise.as_gaussian()?;
    let sd = |j: usize| if active[j] { gaussian.sd(j) } else { 0.0 };
    let axis = |column| Axis { column, sd: sd(column) };
    let n = active.len();
    let axes: Vec<Axis> =
        (0..n).filter(|&j| task.actions.is_mutable_numeric(j)).map(axis).collect();
    let small = (1..=MOST_AXES).contains(&axes.len()) && axes.iter().all(|axis| axis.sd > 0.0);
    let serves = small && gaussian.is_diagonal() && !task.actions.has_choices();
    serves.then(|| Box::new(Space { task, axes }) as _)
};

struct Space<'e> {
    task: &'e Task,
    axes: Vec<Axis>,
}

/// A number that may change, and the standard deviation of its noise.
#[derive(Debug, Clone, Copy)]
struct Axis {
    column: usize,
    sd: f64,
}

/// A box, with the cost of its nearest point.
struct Part {
    least: f64,
    number: usize,
    ends: Vec<(f64, f64)>,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Part {}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Part {
    /// The largest is the one of the least cost; of equals, the first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.least.total_cmp(&self.least).then(other.number.cmp(&self.number))
    }
}

impl Bound for Space<'_> {
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()> {
        let most = person.answer_cost.unwrap_or(f64::INFINITY);
        if proof.certain >= (1.0 - GAP) * most || !person.judge.expects_exact_rates() {
            return Ok(());
        }
        let Some(all) = self.all(person) else { return Ok(()) };
        let Some(least) = self.least(person, all, (1.0 - GAP) * most)? else {
            if person.answer_cost.is_none() {
                proof.none = Some(Reason::RateNotReachable);
            }
            return Ok(());
        };
        *proof = proof.and(&Proof::certain(least.min(most) * (1.0 - ROUNDING)));
        Ok(())
    }
}

impl Space<'_> {
    /// Everything within reach; `None` if it has no ends and there is no answer either, or if a
    /// number has no admissible value.
    fn all(&self, person: &Person<'_, '_>) -> Option<Vec<(f64, f64)>> {
        let from = person.rounding.from();
        let ends = |axis: &Axis| {
            let (x, j) = (from[axis.column], axis.column);
            let (low, high) = self.task.actions.interval(j, x)?;
            let far = |way| match person.answer_cost {
                Some(cost) => cost / person.cost.weight(j, way) * (1.0 + ROUNDING),
                None => f64::INFINITY,
            };
            let (low, high) = (low.max(x - far(-1.0)), high.min(x + far(1.0)));
            (low <= high && (high - low).is_finite()).then_some((low, high))
        };
        self.axes.iter().map(ends).collect()
    }

    /// A lower bound on the cost of all answers among `all`, of no use above `enough`; `None` if
    /// there are none.
    fn least(
        &self,
        person: &mut Person<'_, '_>,
        all: Vec<(f64, f64)>,
        enough: f64,
    ) -> Result<Option<f64>> {
        let (z, from) = (upper_quantile(person.max_rate), person.rounding.from().to_vec());
        let delta = 1.0 - person.engine.setup().confidence;
        let mut parts = BinaryHeap::new();
        parts.push(Part { least: 0.0, number: 0, ends: all });
        let mut n_parts = 1;
        for _ in 0..MOST_RATES {
            let Some(part) = parts.pop() else { return Ok(None) };
            if part.least >= enough {
                return Ok(Some(part.least));
            }
            let mut centre = from.clone();
            let mut square = 0.0;
            for (axis, (low, high)) in self.axes.iter().zip(&part.ends) {
                centre[axis.column] = low + 0.5 * (high - low);
                square += (0.5 * (high - low) / axis.sd).powi(2);
            }
            let known = person.judge.margin_at_most(&centre, delta)?;
            if !known.certain {
                // Boxes turned out to be too many here.
                return Ok(Some(part.least));
            }
            let radius = f64::sqrt(square) * (1.0 + ROUNDING);
            if known.margin + radius + ROUNDING < z {
                continue;
            }
            for ends in self.halves(&part.ends, &from) {
                let least = self.least_cost(person, &from, &ends).max(part.least);
                parts.push(Part { least, number: n_parts, ends });
                n_parts += 1;
            }
        }
        Ok(parts.peek().map(|part| part.least))
    }

    /// Halves of a box across its longest side, in deviations; at the person's value if it is
    /// inside.
    fn halves(&self, ends: &[(f64, f64)], from: &[f64]) -> [Vec<(f64, f64)>; 2] {
        let width = |i: usize| (ends[i].1 - ends[i].0) / self.axes[i].sd;
        let longest = (0..ends.len()).max_by(|&a, &b| width(a).total_cmp(&width(b))).unwrap_or(0);
        let ((low, high), own) = (ends[longest], from[self.axes[longest].column]);
        let middle = if low < own && own < high { own } else { low + 0.5 * (high - low) };
        [(low, middle), (middle, high)].map(|half| {
            let mut ends = ends.to_vec();
            ends[longest] = half;
            ends
        })
    }

    /// The cost of the nearest point of a box.
    fn least_cost(&self, person: &Person<'_, '_>, from: &[f64], ends: &[(f64, f64)]) -> f64 {
        let mut nearest = from.to_vec();
        for (axis, (low, high)) in self.axes.iter().zip(ends) {
            nearest[axis.column] = nearest[axis.column].clamp(*low, *high);
        }
        person.cost.between(from, &nearest)
    }
}
