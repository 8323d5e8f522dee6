//! What a change costs: a norm of the weighted moves.
//!
//! Moving feature $j$ by $\delta_j$ is a weighted move $m_j = c_j|\delta_j|$, with $c_j$ its cost
//! up or down. The cost of a change is the norm of $m$: `l1` adds the moves, `l2` is the root of
//! their squares, `linf` takes the largest. Each norm also has an exact solver for the cheapest
//! move that gains a given score within caps, which is all that an affine model needs, and one step
//! of the search on any other.

mod l1;
mod l2;
mod level;
mod linf;

pub(crate) use l1::take;

use crate::error::{Error, Result, require};
use crate::registry::{Entry, lookup};
use crate::schema::Group;

/// One feature's possible gain of score: a move $u \in [\text{start}, \text{cap}]$ in its helpful
/// direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// Score gained per unit of move; positive.
    pub gain: f64,
    /// Cost per unit of move; positive.
    pub weight: f64,
    /// The move that is required in any case (0, except for people outside strict bounds).
    pub start: f64,
    /// The furthest move allowed; may be infinite.
    pub cap: f64,
}

/// Buffers for [`Norm::prepare`] and [`Norm::cheapest`]; reused from person to person.
#[derive(Debug, Default, Clone)]
pub struct Scratch {
    events: Vec<level::Event>,
}

/// A norm on weighted moves, with its exact one-constraint solver.
///
/// Totals are kept in the norm's own additive scale: `add` folds one weighted move into a total
/// that starts at 0, and `finish` turns the total into the cost.
pub trait Norm: Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// Folds one weighted move into a running total.
    fn add(&self, total: f64, weighted_move: f64) -> f64;

    /// Joins two totals.
    fn join(&self, a: f64, b: f64) -> f64;

    /// The cost of a total.
    fn finish(&self, total: f64) -> f64;

    /// The total of a cost: the inverse of [`Norm::finish`].
    fn total_of(&self, cost: f64) -> f64;

    /// Sorts what must be sorted once for `items`. Items come in ascending order of weight / gain.
    fn prepare(&self, items: &[Item], scratch: &mut Scratch);

    /// The cheapest moves with $\sum_j \text{gain}_j u_j \ge$ `needed`; false (and everything at
    /// its cap) if there are none.
    ///
    /// Call [`Norm::prepare`] with the same items first; then any number of targets cost O(d) each.
    fn cheapest(&self, items: &[Item], scratch: &Scratch, needed: f64, moves: &mut [f64]) -> bool;

    /// The moves of largest gain whose total, joined with `spent`, stays within `budget` (a cost).
    fn furthest(&self, items: &[Item], spent: f64, budget: f64, moves: &mut [f64]);

    /// Whether totals add up, so that items can be priced one by one; an item's total then grows at
    /// least in proportion to its move, and at most with its square. If not, the total must be the
    /// largest weighted move: the exact solver with discrete parts knows no third kind.
    fn is_separable(&self) -> bool;

    /// Whether an item's total is proportional to its move.
    fn is_linear(&self) -> bool {
        false
    }

    /// The move that minimises its own total minus `price` × its gain; meaningful for separable
    /// norms only.
    fn response(&self, item: &Item, price: f64) -> f64;

    /// The move $u \ge 0$ that minimises the total of a move with this `weight`, less `gain`
    /// $\cdot u$ and plus `bend` $\cdot u^2/2$; infinite if there is no end. Meaningful for
    /// separable norms only.
    fn damped_response(&self, gain: f64, weight: f64, bend: f64) -> f64;

    /// Writes a subgradient of the cost at weighted moves `moves` with signs folded in by the
    /// caller.
    fn subgradient(&self, moves: &[f64], out: &mut [f64]);
}

/// All norms.
pub const NORMS: &[Entry<dyn Norm>] = &[l1::ENTRY, l2::ENTRY, linf::ENTRY];

/// A norm with each feature's cost per unit of scaled change, up and down.
#[derive(Clone)]
pub struct Cost {
    norm: &'static dyn Norm,
    up: Vec<f64>,
    down: Vec<f64>,
    /// Categories whose changes have their own costs.
    groups: Vec<Group>,
}

impl PartialEq for Cost {
    fn eq(&self, other: &Self) -> bool {
        self.norm.name() == other.norm.name()
            && self.up == other.up
            && self.down == other.down
            && self.groups == other.groups
    }
}

impl std::fmt::Debug for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cost")
            .field("norm", &self.norm.name())
            .field("up", &self.up)
            .field("down", &self.down)
            .finish()
    }
}

impl Cost {
    /// Unit costs for `n_features` features.
    pub fn uniform(norm: &str, n_features: usize) -> Result<Self> {
        Self::new(norm, vec![1.0; n_features], vec![1.0; n_features])
    }

    /// Fails unless the norm exists and every weight is positive and finite.
    pub fn new(norm: &str, up: Vec<f64>, down: Vec<f64>) -> Result<Self> {
        let norm = lookup("cost", NORMS, norm)?.item;
        if up.len() != down.len() {
            return Err(Error::Shape { what: "costs down", expected: up.len(), found: down.len() });
        }
        for (field, weights) in [("cost up", &up), ("cost down", &down)] {
            for (j, weight) in weights.iter().enumerate() {
                let name = format!("{field} of feature {j}");
                require(
                    *weight > 0.0 && weight.is_finite(),
                    &name,
                    "positive and finite",
                    *weight,
                )?;
            }
        }
        Ok(Self { norm, up, down, groups: Vec::new() })
    }

    /// The norm.
    pub fn norm(&self) -> &'static dyn Norm {
        self.norm
    }

    /// The same weights under another norm.
    pub fn with_norm(&self, norm: &str) -> Result<Self> {
        Ok(Self { norm: lookup("cost", NORMS, norm)?.item, ..self.clone() })
    }

    /// Adds the costs of `groups` whose changes have their own costs.
    #[must_use]
    pub fn with_groups(mut self, groups: &[Group]) -> Self {
        self.groups = groups.iter().filter(|group| group.cost(0, 0).is_some()).cloned().collect();
        self
    }

    /// The same with each feature's costs times a factor. Fails unless factors are positive and
    /// finite.
    pub fn times(&self, factors: &[f64]) -> Result<Self> {
        if factors.len() != self.up.len() {
            return Err(Error::Shape {
                what: "factors of costs",
                expected: self.up.len(),
                found: factors.len(),
            });
        }
        let scaled =
            |weights: &[f64]| weights.iter().zip(factors).map(|(w, factor)| w * factor).collect();
        let mut cost = Self::new(self.norm.name(), scaled(&self.up), scaled(&self.down))?;
        cost.groups = self
            .groups
            .iter()
            .map(|group| group.costs_times(factors[group.columns()[0]]))
            .collect();
        Ok(cost)
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.up.len()
    }

    /// The norm's total of a group's change from one option to another.
    pub fn of_choice(&self, group: &Group, from: usize, to: usize) -> f64 {
        let own = self.groups.iter().find(|own| own.columns() == group.columns()).unwrap_or(group);
        if let Some(cost) = own.cost(from, to) {
            return self.norm.add(0.0, cost);
        }
        let moves = group.columns().iter().zip(group.values(from)).zip(group.values(to));
        moves.fold(0.0, |total, ((&c, a), b)| {
            self.norm.add(total, self.weight(c, b - a) * (b - a).abs())
        })
    }

    /// Cost per unit of change of feature `j`, in the direction of `delta`'s sign.
    pub fn weight(&self, j: usize, delta: f64) -> f64 {
        if delta < 0.0 { self.down[j] } else { self.up[j] }
    }

    /// The norm's total of a change from `from` to `to`; see [`Norm`].
    pub fn total(&self, from: &[f64], to: &[f64]) -> f64 {
        if self.groups.is_empty() {
            self.add_columns(0.0, from, to, 0..from.len())
        } else {
            self.total_with_groups(from, to)
        }
    }

    /// A total with the changes of some columns.
    fn add_columns(
        &self,
        total: f64,
        from: &[f64],
        to: &[f64],
        columns: impl Iterator<Item = usize>,
    ) -> f64 {
        columns.fold(total, |total, j| {
            let delta = to[j] - from[j];
            self.norm.add(total, self.weight(j, delta) * delta.abs())
        })
    }

    /// [`Cost::between`] if only the columns `moved`, in ascending order, may differ. The bits are
    /// the same, because other columns add zero.
    pub(crate) fn between_moved(&self, from: &[f64], to: &[f64], moved: &[usize]) -> f64 {
        if self.groups.is_empty() {
            self.norm.finish(self.add_columns(0.0, from, to, moved.iter().copied()))
        } else {
            self.between(from, to)
        }
    }

    /// [`Cost::total`] if some categories have their own costs. Columns that match no option have
    /// the cost of single columns.
    fn total_with_groups(&self, from: &[f64], to: &[f64]) -> f64 {
        let (mut own, mut total) = (vec![true; from.len()], 0.0);
        for group in &self.groups {
            if let (Some(a), Some(b)) = (group.option_of(from), group.option_of(to)) {
                total = self.norm.join(total, self.of_choice(group, a, b));
                group.columns().iter().for_each(|&c| own[c] = false);
            }
        }
        self.add_columns(total, from, to, (0..from.len()).filter(|&j| own[j]))
    }

    /// The cost of a change from `from` to `to`.
    ///
    /// ```
    /// use probe_core::Cost;
    /// let cost = Cost::uniform("l2", 2)?;
    /// assert_eq!(cost.between(&[0.0, 0.0], &[3.0, -4.0]), 5.0);
    /// # Ok::<(), probe_core::Error>(())
    /// ```
    pub fn between(&self, from: &[f64], to: &[f64]) -> f64 {
        self.norm.finish(self.total(from, to))
    }

    /// Writes a subgradient of [`Cost::between`] with respect to `to`.
    pub fn subgradient(&self, from: &[f64], to: &[f64], out: &mut [f64]) {
        let moves: Vec<f64> = (0..from.len())
            .map(|j| self.weight(j, to[j] - from[j]) * (to[j] - from[j]).abs())
            .collect();
        self.norm.subgradient(&moves, out);
        for (j, o) in out.iter_mut().enumerate() {
            let delta = to[j] - from[j];
            *o *= if delta > 0.0 {
                self.up[j]
            } else if delta < 0.0 {
                -self.down[j]
            } else {
                0.0
            };
        }
    }
}
