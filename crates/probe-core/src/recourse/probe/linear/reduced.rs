//! One person's problem as items and choices that gain score.

use super::super::super::{Reason, Task};
use crate::cost::{Cost, Item, Norm, take};
use crate::schema::Actions;

/// The part of the problem that all people share: the items in ascending order of cost per score.
pub(super) struct Layout {
    /// Features that may help, cheapest score first.
    order: Vec<Slot>,
    /// Features that may not help but could be outside strict bounds.
    rest: Vec<usize>,
    /// Groups that may change.
    groups: Vec<usize>,
    weights: Vec<f64>,
    /// Whether the noise depends on which features change.
    noisy_changes: bool,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    feature: usize,
    upward: bool,
    gain: f64,
    weight: f64,
    /// Cost per score.
    price: f64,
    variance: f64,
}

impl Layout {
    /// The layout of a score with these `weights`. `variance` is the variance of the noise that a
    /// feature adds when it changes.
    pub(super) fn new(
        actions: &Actions,
        cost: &Cost,
        weights: &[f64],
        variance: impl Fn(usize) -> f64,
    ) -> Self {
        let mut order = Vec::with_capacity(weights.len());
        let mut rest = Vec::new();
        for (feature, &w) in weights.iter().enumerate() {
            if actions.is_grouped(feature) {
                continue;
            }
            if w == 0.0 || !actions.room(feature).mutable {
                rest.push(feature);
                continue;
            }
            let (gain, weight) = (w.abs(), cost.weight(feature, w));
            let (upward, variance) = (w > 0.0, variance(feature));
            order.push(Slot { feature, upward, gain, weight, price: weight / gain, variance });
        }
        order.sort_unstable_by(|a, b| a.price.total_cmp(&b.price).then(a.feature.cmp(&b.feature)));
        let groups = (0..actions.groups().len()).filter(|&g| actions.is_mutable_group(g)).collect();
        let noisy_changes = order.iter().any(|slot| slot.variance > 0.0);
        Self { order, rest, groups, weights: weights.to_vec(), noisy_changes }
    }

    /// Whether the noise does not depend on the changes, and all features are numbers.
    pub(super) fn is_plain(&self) -> bool {
        !self.noisy_changes && self.groups.is_empty()
    }

    /// Writes the point that gains `needed` by moving features in order of price, each as far as
    /// its `interval` allows; false if that is not enough. The intervals contain the person's own
    /// values. This is the optimum under `l1`: see [`crate::cost`].
    pub(super) fn fill(
        &self,
        factual: &[f64],
        needed: f64,
        interval: impl Fn(usize) -> Option<(f64, f64)>,
        point: &mut [f64],
    ) -> bool {
        point.copy_from_slice(factual);
        let mut rest = needed;
        for slot in &self.order {
            if rest <= 0.0 {
                break;
            }
            let x = factual[slot.feature];
            let Some((low, high)) = interval(slot.feature) else { return false };
            let (cap, bound) = if slot.upward { (high - x, high) } else { (x - low, low) };
            let (step, left) = take(slot.gain, cap, rest, needed);
            point[slot.feature] = moved(x, step, slot.upward, (cap, bound));
            rest = left;
        }
        rest <= 0.0
    }

    /// Reduces the problem of the person at `factual` with score `score`. `interval` has the values
    /// that each feature may take. Fails with the reason if the person has no admissible point at
    /// all.
    pub(super) fn reduce_into(
        &self,
        task: &Task,
        factual: &[f64],
        score: f64,
        interval: impl Fn(usize) -> Option<(f64, f64)>,
        out: &mut Reduced,
    ) -> Result<(), Reason> {
        out.reset(score, task.actions.max_changes());
        for slot in &self.order {
            let x = factual[slot.feature];
            let (low, high) = interval(slot.feature).ok_or(Reason::InfeasibleWithinBounds)?;
            let (start, cap) = if slot.upward { (low - x, high - x) } else { (x - high, x - low) };
            let bound = if slot.upward { high } else { low };
            if cap < 0.0 {
                // A move against the score is forced; nothing more to gain here.
                let gain = if slot.upward { slot.gain } else { -slot.gain };
                out.force(task, gain, slot.feature, x, bound, slot.variance);
                continue;
            }
            out.items.push(Item {
                gain: slot.gain,
                weight: slot.weight,
                start: start.max(0.0),
                cap,
            });
            out.slots.push((slot.feature, slot.upward, bound));
            out.variances.push(slot.variance);
        }
        for &feature in &self.rest {
            let x = factual[feature];
            let (low, high) = interval(feature).ok_or(Reason::InfeasibleWithinBounds)?;
            if x < low || x > high {
                out.force(task, self.weights[feature], feature, x, x.clamp(low, high), 0.0);
            }
        }
        for group in task.actions.groups() {
            group.option_of(factual).ok_or(Reason::NotOneHot)?;
        }
        for &g in self.groups.iter().filter(|&&g| task.actions.is_mutable_group(g)) {
            out.add_group(task, &self.weights, g, factual)?;
        }
        out.discrete = self.noisy_changes || !out.choices.is_empty() || out.limit_binds();
        Ok(())
    }
}

/// A change of a one-hot group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Choice {
    /// Option taken.
    pub option: usize,
    /// Score gained.
    pub gain: f64,
    /// Cost, in the norm's total.
    pub total: f64,
}

/// One person's problem.
#[derive(Debug, Default, Clone)]
pub(super) struct Reduced {
    /// The person's score.
    pub score: f64,
    /// Score after the moves that are forced against it.
    pub base_score: f64,
    /// Cost of those moves, in the norm's total.
    pub base_total: f64,
    /// Number of those moves.
    pub base_changes: usize,
    /// Variance of the noise that they add, under noise on changed features.
    pub base_variance: f64,
    /// Numeric features that can help.
    pub items: Vec<Item>,
    /// Variance of the noise that each adds when it changes, under noise on changed features.
    pub variances: Vec<f64>,
    /// Options of each group that may change; those that lose score are left out.
    pub choices: Vec<Vec<Choice>>,
    /// At most this many changes, if the limit can bind.
    pub max_changes: Option<usize>,
    /// Feature, direction and bound of each item.
    slots: Vec<(usize, bool, f64)>,
    /// Forced moves: feature and its new value.
    forced: Vec<(usize, f64)>,
    group_ids: Vec<usize>,
    discrete: bool,
}

impl Reduced {
    fn reset(&mut self, score: f64, max_changes: Option<usize>) {
        self.score = score;
        self.base_score = score;
        self.base_total = 0.0;
        self.base_changes = 0;
        self.base_variance = 0.0;
        self.items.clear();
        self.variances.clear();
        self.choices.clear();
        self.slots.clear();
        self.forced.clear();
        self.group_ids.clear();
        self.max_changes = max_changes;
        self.discrete = false;
    }

    fn force(&mut self, task: &Task, gain: f64, feature: usize, from: f64, to: f64, variance: f64) {
        let delta = to - from;
        self.base_score += gain * delta;
        let cost = task.cost.weight(feature, delta) * delta.abs();
        self.base_total = task.cost.norm().add(self.base_total, cost);
        self.base_changes += 1;
        self.base_variance += variance;
        self.forced.push((feature, to));
    }

    fn add_group(
        &mut self,
        task: &Task,
        weights: &[f64],
        g: usize,
        factual: &[f64],
    ) -> Result<(), Reason> {
        let group = &task.actions.groups()[g];
        let current = group.option_of(factual).ok_or(Reason::NotOneHot)?;
        let scored = |o: usize| -> f64 {
            group.columns().iter().zip(group.values(o)).map(|(&c, value)| weights[c] * value).sum()
        };
        let mut choices: Vec<Choice> = Vec::new();
        for option in (0..group.n_options()).filter(|&o| o != current && group.allows(current, o)) {
            let gain = scored(option) - scored(current);
            if gain > 0.0 {
                let total = task.cost.of_choice(group, current, option);
                choices.push(Choice { option, gain, total });
            }
        }
        // Only options that gain more than every cheaper one can be part of an optimum.
        choices.sort_by(|a, b| a.total.total_cmp(&b.total).then(b.gain.total_cmp(&a.gain)));
        let mut best = 0.0;
        choices.retain(|c| {
            c.gain > best && {
                best = c.gain;
                true
            }
        });
        if !choices.is_empty() {
            self.choices.push(choices);
            self.group_ids.push(g);
        }
        Ok(())
    }

    /// Whether the limit on changes can bind.
    fn limit_binds(&mut self) -> bool {
        let movable = self.base_changes
            + self.items.iter().filter(|it| it.cap > 0.0).count()
            + self.choices.len();
        self.max_changes = self.max_changes.filter(|&k| k < movable);
        self.max_changes.is_some()
    }

    /// Whether the norm's own solver suffices.
    pub(super) fn is_plain(&self) -> bool {
        !self.discrete
    }

    /// Whether nothing that may move can gain score.
    pub(super) fn is_stuck(&self) -> bool {
        self.choices.is_empty() && self.items.iter().all(|it| it.cap <= 0.0)
    }

    /// Whether more moves are forced than the limit on changes allows.
    pub(super) fn is_forced_too_far(&self) -> bool {
        let forced = self.base_changes + self.items.iter().filter(|it| it.start > 0.0).count();
        self.max_changes.is_some_and(|most| forced > most)
    }

    /// The largest gain without a limit on the number of changes.
    pub(super) fn gain_without_limit(&self) -> f64 {
        let options = self.choices.iter().map(|c| c.iter().map(|o| o.gain).fold(0.0, f64::max));
        self.items.iter().map(|it| it.gain * it.cap).chain(options).sum()
    }

    /// The largest weighted move that any item or group can make; infinite without caps.
    pub(super) fn largest_move(&self) -> f64 {
        let items = self.items.iter().map(|it| it.weight * it.cap);
        let groups = self.choices.iter().flatten().map(|c| c.total);
        items.chain(groups).fold(self.base_total, f64::max)
    }

    /// Total of the moves that are forced.
    pub(super) fn total_at_start(&self, norm: &dyn Norm) -> f64 {
        self.items.iter().fold(self.base_total, |t, it| norm.add(t, it.weight * it.start))
    }

    /// Writes `solution` onto the person's row.
    pub(super) fn write(&self, solution: &Solution, task: &Task, point: &mut [f64]) {
        for &(feature, value) in &self.forced {
            point[feature] = value;
        }
        for ((&(feature, upward, bound), it), &u) in
            self.slots.iter().zip(&self.items).zip(&solution.moves)
        {
            point[feature] = moved(point[feature], u, upward, (it.cap, bound));
        }
        for ((&g, choices), pick) in self.group_ids.iter().zip(&self.choices).zip(&solution.picks) {
            if let Some(pick) = pick {
                task.actions.groups()[g].set(choices[*pick].option, point);
            }
        }
    }
}

/// Where `x` ends after a step of `u` towards its bound, which is `cap` away.
fn moved(x: f64, u: f64, upward: bool, (cap, bound): (f64, f64)) -> f64 {
    if u <= 0.0 {
        x
    } else if u >= cap {
        bound
    } else if upward {
        (x + u).min(bound)
    } else {
        (x - u).max(bound)
    }
}

/// A solution of a [`Reduced`] problem.
#[derive(Debug, Default, Clone)]
pub(super) struct Solution {
    /// Move of each item.
    pub moves: Vec<f64>,
    /// Index into each group's choices, or `None` to stay.
    pub picks: Vec<Option<usize>>,
    /// Nodes that branch and bound visited.
    pub nodes: usize,
}

impl Solution {
    /// Only forced moves.
    pub(super) fn reset(&mut self, reduced: &Reduced) {
        self.moves.clear();
        self.moves.extend(reduced.items.iter().map(|it| it.start));
        self.picks.clear();
        self.picks.resize(reduced.choices.len(), None);
        self.nodes = 0;
    }

    /// Score of the solution.
    pub(super) fn score(&self, reduced: &Reduced) -> f64 {
        let moved: f64 = reduced.items.iter().zip(&self.moves).map(|(it, u)| it.gain * u).sum();
        let picked: f64 =
            reduced.choices.iter().zip(&self.picks).filter_map(|(c, p)| p.map(|p| c[p].gain)).sum();
        reduced.base_score + moved + picked
    }

    /// Cost of the solution.
    pub(super) fn cost(&self, norm: &dyn Norm, reduced: &Reduced) -> f64 {
        let moved = reduced
            .items
            .iter()
            .zip(&self.moves)
            .fold(reduced.base_total, |t, (it, u)| norm.add(t, it.weight * u));
        let picks =
            reduced.choices.iter().zip(&self.picks).filter_map(|(c, p)| p.map(|p| c[p].total));
        norm.finish(picks.fold(moved, |t, p| norm.join(t, p)))
    }
}

/// The score that the target rate requires.
#[derive(Debug, Clone, Copy)]
pub(super) struct Requirement {
    /// $z_r$.
    pub z: f64,
    sd: f64,
    shift: f64,
    /// The smallest score that counts as favourable, for rates that require less.
    favourable: f64,
    /// A score that must also be reached.
    least: f64,
    /// Noise on changed features: the deviation comes from the changes.
    changed: bool,
    /// A few ulps of the scores involved, so that rounding seldom leaves the printed row short.
    ulps: f64,
    /// Nodes that branch and bound may visit.
    pub max_nodes: usize,
}

/// Node limit: hundreds of times what any instance of the tests needs. It bounds the time of a
/// hostile instance.
const MAX_NODES: usize = 50_000;
/// Node limit if any good solution is enough.
const NODES_OF_A_GUESS: usize = 200;

impl Requirement {
    /// A rate with quantile `z` for a person who scores `score`.
    pub(super) fn new(z: f64, sd: f64, shift: f64, score: f64, changed: bool) -> Self {
        Self {
            z,
            sd,
            shift,
            favourable: 1e-9 * score.abs().max(1.0),
            least: f64::NEG_INFINITY,
            changed,
            ulps: 16.0 * f64::EPSILON * (score.abs() + (z * sd).abs()),
            max_nodes: MAX_NODES,
        }
    }

    /// The same requirement, if any good solution is enough.
    pub(super) fn guessed(self) -> Self {
        Self { max_nodes: NODES_OF_A_GUESS, ..self }
    }

    /// A score that must be reached, whatever the rate.
    pub(super) fn fixed(score: f64) -> Self {
        Self {
            z: 0.0,
            sd: 1.0,
            shift: -score,
            favourable: f64::NEG_INFINITY,
            least: f64::NEG_INFINITY,
            changed: false,
            ulps: 0.0,
            max_nodes: MAX_NODES,
        }
    }

    /// The same requirement with another least score.
    pub(super) fn at_least(self, least: f64) -> Self {
        Self { least, ..self }
    }

    /// The score that must be reached if the changed features add noise of this `variance` (0
    /// unless noise depends on the changes).
    pub(super) fn score(&self, variance: f64) -> f64 {
        let sd = if self.changed { variance.sqrt() } else { self.sd };
        let needed = self.z * sd - self.shift;
        let for_rate = if sd > 0.0 {
            if needed > 0.0 || self.favourable < 0.0 { needed + self.ulps } else { self.favourable }
        } else {
            // Without noise the mean itself must be positive, not just zero.
            (-self.shift).max(0.0) + self.favourable
        };
        if self.least == f64::NEG_INFINITY {
            return for_rate;
        }
        let beyond = if sd > 0.0 { self.ulps } else { self.favourable };
        for_rate.max(self.least + beyond.max(16.0 * f64::EPSILON * self.least.abs()))
    }

    /// The same with another $z$.
    pub(super) fn with_z(&self, z: f64) -> Self {
        Self { z, ..*self }
    }

    /// Whether the noise depends on which features change.
    pub(super) fn depends_on_changes(&self) -> bool {
        self.changed
    }

    /// Whether `score` is favourable, so that it is the rate which cannot be reached.
    pub(super) fn is_about_rate(&self, score: f64) -> bool {
        score >= self.favourable
    }
}
