//! Systematic search over few features at a time, for margins that steps cannot follow.
//!
//! Along one feature the search walks outward from the person. The smoothed margin
//! $M = \Phi^{-1}(1-\Delta)$ changes by at most one per standard deviation of the noise (it is
//! 1-Lipschitz in the whitened move), so where $M$ misses the target by $m$, the next $m$
//! deviations hold no answer and are skipped. Over several features the walks are nested, and a
//! place is left as soon as the cost that is still allowed cannot buy the margin that is missing
//! there. Categories are walked option by option.
//!
//! This is a search, not a proof: samples have errors, noise other than Gaussian has no such limit,
//! [`Reach::steepest`] may be below one, steps have a least length, and places are counted.

mod profile;
mod reach;
mod scatter;

use crate::cost::Cost;
use crate::error::Result;
use crate::invalidation::Places;
use crate::recourse::Task;
use crate::schema::{Grid, Group};
use crate::seed::Stream;

pub(super) use reach::Reach;

/// A margin that misses the target by no more than this on few samples is measured again on more.
const DOUBT: f64 = 0.12;
/// No margin is believed to be lower than this: few samples cannot show it.
const LEAST_MARGIN: f64 = -2.0;
/// Halvings that move an answer back towards the person.
const HALVINGS: usize = 8;
/// Places within one step of a walk at which the model is asked whether it accepts the point.
const BETWEEN: usize = 16;
/// Places that are measured at least once points are scattered.
const SCATTERED: usize = 2_000;
/// What a cheaper answer must save, as a share of the cost.
const LEAST_GAIN: f64 = 2e-3;

/// How closely a place is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closeness {
    /// On few samples.
    Glance,
    /// On enough samples to offer the place as an answer.
    Close,
}

/// Lines that a profile is worth, or as many samples: few where it only tells what to try.
pub(super) fn lines_of_profile(closeness: Closeness) -> usize {
    match closeness {
        Closeness::Glance => 8,
        Closeness::Close => 32,
    }
}

/// What was measured at a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    /// Margin less the target.
    pub slack: f64,
    /// Whether the model accepts the point itself.
    pub favourable: bool,
}

/// What the search walks on.
pub(super) trait Ground {
    /// Measures `x`.
    fn measure(&mut self, x: &[f64], closeness: Closeness) -> Result<Measured>;

    /// Whether the model accepts `x`, without noise.
    fn accepts(&self, x: &[f64]) -> Result<bool>;

    /// The slacks at `places` of one number, and elsewhere as in `x`. Says whether it knows them.
    fn along(
        &mut self,
        x: &[f64],
        places: Places,
        closeness: Closeness,
        slacks: &mut Vec<f64>,
    ) -> Result<bool> {
        let _ = (x, places, closeness, slacks);
        Ok(false)
    }

    /// Whether nothing is left of the budget.
    fn is_exhausted(&self) -> bool;
}

/// A feature to walk along.
#[derive(Debug, Clone)]
pub(super) enum Axis {
    /// A number within limits.
    Number(Number),
    /// Options of a category other than the person's, the cheapest first.
    Category { group: Group, options: Vec<usize> },
}

/// A number to walk along.
#[derive(Debug, Clone)]
pub(super) struct Number {
    pub column: usize,
    pub low: f64,
    pub high: f64,
    /// The values that it may take, if not all.
    pub grid: Option<Grid>,
    /// Standard deviation of its noise; 0 for none.
    pub sd: f64,
}

impl Axis {
    /// Whether the feature differs between two points.
    fn differs(&self, a: &[f64], b: &[f64]) -> bool {
        match self {
            Self::Number(number) => a[number.column] != b[number.column],
            Self::Category { group, .. } => group.columns().iter().any(|&c| a[c] != b[c]),
        }
    }

    /// Gives `x` the feature's value of `from`.
    fn copy(&self, from: &[f64], x: &mut [f64]) {
        match self {
            Self::Number(number) => x[number.column] = from[number.column],
            Self::Category { group, .. } => {
                group.columns().iter().for_each(|&c| x[c] = from[c]);
            }
        }
    }
}

impl Number {
    /// The first admissible value at `distance` or further from `from` in direction `way`, and
    /// further than `beyond`; the limit itself if only that is left. `None` beyond the limit.
    fn outward(&self, from: f64, way: f64, distance: f64, beyond: f64) -> Option<f64> {
        let end = if way > 0.0 { self.high } else { self.low };
        let room = (end - from) * way;
        if beyond >= room {
            return None;
        }
        let at = from + way * distance.min(room);
        let Some(grid) = &self.grid else { return Some(at) };
        let (near, next) = match way > 0.0 {
            true => (grid.above(at), grid.above(from + way * beyond) + grid.step),
            false => (grid.below(at), grid.below(from + way * beyond) - grid.step),
        };
        let value = if (near - from) * way > beyond * (1.0 + 1e-9) { near } else { next };
        ((value - from) * way <= room + 1e-6 * grid.step).then(|| value.clamp(self.low, self.high))
    }

    /// A walk's least step: a share of the noise, or of what is to be walked.
    fn least(&self, finest: f64, range: f64) -> f64 {
        let least = if self.sd > 0.0 { finest * self.sd } else { range / 64.0 };
        self.grid.map_or(least, |grid| least.max(grid.step))
    }
}

/// The search for one person.
pub(super) struct Sweep<'s> {
    task: &'s Task,
    factual: &'s [f64],
    /// The margin that is asked for.
    z: f64,
    reach: Reach,
    left: usize,
    /// The best answer's total and point; a point of infinite total is none.
    pub best: (f64, Vec<f64>),
    pub improved: bool,
    /// Robust on few samples but not on more, or not accepted: the largest slack of an accepted
    /// point, with the point.
    pub nearest: Option<(f64, Vec<f64>)>,
    /// Margin gained per cost by each axis alone.
    worth: Vec<f64>,
}

impl<'s> Sweep<'s> {
    /// Looks for points cheaper than `best`, given by its norm's total, or for any.
    pub(super) fn new(
        task: &'s Task,
        factual: &'s [f64],
        z: f64,
        reach: Reach,
        best: Option<(f64, Vec<f64>)>,
    ) -> Self {
        let best = best.unwrap_or((f64::INFINITY, factual.to_vec()));
        let left = reach.most;
        Self {
            task,
            factual,
            z,
            reach,
            left,
            best,
            improved: false,
            nearest: None,
            worth: Vec::new(),
        }
    }

    /// Searches single features, pairs of the most promising ones, and exchanges around the best
    /// point; or everything, where features are few.
    pub(super) fn run(&mut self, ground: &mut dyn Ground, axes: &[Axis]) -> Result<()> {
        let mut x = self.factual.to_vec();
        let own = self.measure(ground, &x, Closeness::Glance)?.slack;
        for axis in axes {
            self.worth.push(0.0);
            self.walk_from(ground, &[axis], &mut x, Some(own))?;
        }
        let mut order: Vec<usize> = (0..axes.len()).collect();
        order.sort_by(|&a, &b| self.worth[b].total_cmp(&self.worth[a]).then(a.cmp(&b)));
        order.truncate(self.reach.paired);
        for (i, &a) in order.iter().enumerate() {
            for &b in &order[..i] {
                self.walk_pair(ground, (&axes[a], &axes[b]), &mut x)?;
            }
        }
        self.exchange_all(ground, axes)?;
        if axes.len() <= self.reach.whole {
            let mut all: Vec<&Axis> = axes.iter().collect();
            all.sort_by(|a, b| self.n_places(a).total_cmp(&self.n_places(b)));
            self.walk(ground, &all, &mut x)?;
        }
        Ok(())
    }

    /// Whether moves along `axes` from `x`, whose total is `spent`, may be a cheaper answer.
    pub(super) fn may_hold(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        x: &[f64],
        spent: f64,
    ) -> Result<bool> {
        let axes: Vec<&Axis> = axes.iter().collect();
        let own = self.measure(ground, x, Closeness::Glance)?.slack;
        Ok(-own - DOUBT <= self.margin_in_reach(&axes, spent))
    }

    /// Whether the search is over.
    fn is_over(&self, ground: &dyn Ground) -> bool {
        self.left == 0 || ground.is_exhausted()
    }

    /// [`Sweep::run`] where there is no answer at all: then also from points anywhere.
    pub(super) fn run_far(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        stream: &mut Stream,
    ) -> Result<()> {
        self.run(ground, axes)?;
        if self.best.0.is_infinite() {
            self.left = self.left.max(SCATTERED);
            if self.scatter(ground, axes, self.reach.scattered, stream)? {
                self.exchange_all(ground, axes)?;
            }
        }
        Ok(())
    }

    fn exchange_all(&mut self, ground: &mut dyn Ground, axes: &[Axis]) -> Result<()> {
        for _ in 0..self.reach.rounds {
            if !self.exchange(ground, axes)? {
                break;
            }
        }
        Ok(())
    }

    /// Around the best point: each of its changes is taken back, and it and one other feature at a
    /// time are chosen again. Says whether that saved something.
    fn exchange(&mut self, ground: &mut dyn Ground, axes: &[Axis]) -> Result<bool> {
        let (before, base) = self.best.clone();
        if before.is_infinite() {
            return Ok(false);
        }
        let changed: Vec<usize> =
            (0..axes.len()).filter(|&i| axes[i].differs(&base, self.factual)).collect();
        for &i in &changed {
            for k in 0..axes.len() {
                // Pairs of changed features come once.
                if k == i || (k < i && changed.contains(&k)) || self.is_over(ground) {
                    continue;
                }
                let mut x = base.clone();
                axes[i].copy(self.factual, &mut x);
                axes[k].copy(self.factual, &mut x);
                self.walk_pair(ground, (&axes[i], &axes[k]), &mut x)?;
            }
        }
        Ok(self.best.0 < before)
    }

    /// Walks over two features, with the one of fewer places outside.
    fn walk_pair(
        &mut self,
        ground: &mut dyn Ground,
        (a, b): (&Axis, &Axis),
        x: &mut Vec<f64>,
    ) -> Result<()> {
        let (outer, inner) = if self.n_places(a) <= self.n_places(b) { (a, b) } else { (b, a) };
        self.walk(ground, &[outer, inner], x)
    }

    /// About how many places a walk along an axis has.
    fn n_places(&self, axis: &Axis) -> f64 {
        match axis {
            Axis::Category { options, .. } => options.len() as f64,
            Axis::Number(number) => {
                let range = self.range(number, 1.0, 0.0) + self.range(number, -1.0, 0.0);
                range / number.least(self.reach.coarsest, range).max(f64::MIN_POSITIVE)
            }
        }
    }

    /// How far a number may move in one direction for what the best answer costs, if `spent` of the
    /// norm's total are spent.
    fn range(&self, number: &Number, way: f64, spent: f64) -> f64 {
        let from = self.factual[number.column];
        let room = if way > 0.0 { number.high - from } else { from - number.low };
        let cost = &self.task.cost;
        let most = match cost.norm().is_separable() {
            true => cost.norm().finish((self.best.0 - spent).max(0.0)),
            false => cost.norm().finish(self.best.0),
        };
        room.max(0.0).min(most / cost.weight(number.column, way))
    }

    /// The most margin that moves along `axes` can buy before the total reaches the best one's.
    fn margin_in_reach(&self, axes: &[&Axis], spent: f64) -> f64 {
        let separable = self.task.cost.norm().is_separable();
        let mut most = 0.0_f64;
        for axis in axes {
            let Axis::Number(number) = axis else { return f64::INFINITY };
            let range = self.range(number, 1.0, spent).max(self.range(number, -1.0, spent));
            if range > 0.0 {
                let gain = self.reach.steepest * range / number.sd;
                most = if separable { most.max(gain) } else { most.hypot(gain) };
            }
        }
        most
    }

    /// [`Sweep::walk_from`] from a place that was not measured yet.
    fn walk(&mut self, ground: &mut dyn Ground, axes: &[&Axis], x: &mut Vec<f64>) -> Result<()> {
        self.walk_from(ground, axes, x, None)
    }

    /// Looks for cheaper answers that differ from `x` in `axes` alone, in which `x` is as the
    /// person is. `own` is the slack of `x`, if it is known.
    fn walk_from(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[&Axis],
        x: &mut Vec<f64>,
        own: Option<f64>,
    ) -> Result<()> {
        let Some((axis, rest)) = axes.split_first() else { return Ok(()) };
        let spent = self.total(x);
        if spent >= self.best.0 || self.is_over(ground) {
            return Ok(());
        }
        if let [Axis::Number(number)] = axes
            && self.leap(ground, number, x)?.is_some()
        {
            return Ok(());
        }
        let own = match own {
            Some(own) => own,
            None => self.measure(ground, x, Closeness::Glance)?.slack,
        };
        if own >= -DOUBT && spent > 0.0 {
            self.try_close(ground, x)?;
        }
        if -own - DOUBT > self.margin_in_reach(axes, spent) {
            return Ok(());
        }
        if !rest.is_empty() {
            self.walk_from(ground, rest, x, Some(own))?;
        }
        match axis {
            Axis::Category { group, options } => {
                for &option in options {
                    group.set(option, x);
                    self.stop(ground, rest, x, (own, spent))?;
                }
            }
            Axis::Number(number) => {
                for way in [1.0, -1.0] {
                    self.walk_number(ground, (number, way), rest, x, own)?;
                }
            }
        }
        axis.copy(self.factual, x);
        Ok(())
    }

    /// Looks at `x`, and from there along `rest`; returns its slack, and whether it or something
    /// along `rest` is an answer. `own` is the slack and the total of the place without this move.
    fn stop(
        &mut self,
        ground: &mut dyn Ground,
        rest: &[&Axis],
        x: &mut Vec<f64>,
        own: (f64, f64),
    ) -> Result<(f64, bool)> {
        let total = self.total(x);
        if total >= self.best.0 || self.is_over(ground) {
            return Ok((0.0, true));
        }
        let mut slack = self.measure(ground, x, Closeness::Glance)?.slack;
        if let Some(worth) = self.worth.last_mut().filter(|_| rest.is_empty()) {
            let gain = (slack.min(0.0) - own.0) / (total - own.1).max(1e-9);
            *worth = worth.max(gain);
        }
        let before = self.best.0;
        if slack >= -DOUBT {
            slack = self.try_close(ground, x)?;
        }
        if !rest.is_empty() && self.best.0 == before {
            self.walk_from(ground, rest, x, Some(slack))?;
        }
        Ok((slack, self.best.0 < before))
    }

    /// Walks along a number in one direction, as long as that is cheaper than the best answer.
    fn walk_number(
        &mut self,
        ground: &mut dyn Ground,
        (number, way): (&Number, f64),
        rest: &[&Axis],
        x: &mut Vec<f64>,
        own: f64,
    ) -> Result<()> {
        let from = self.factual[number.column];
        x[number.column] = from;
        let spent = self.total(x);
        let range = self.range(number, way, spent);
        if range <= 0.0 {
            return Ok(());
        }
        let finest = if rest.is_empty() { self.reach.finest } else { self.reach.coarsest };
        let least = number.least(finest, range.min(1e3));
        let (mut at, mut slack) = (0.0, own);
        while !self.is_over(ground) {
            let spare = self.margin_in_reach(rest, spent);
            let missing = -slack - DOUBT - spare;
            let skip = (missing / self.reach.steepest).max(0.0) * number.sd;
            let Some(value) = number.outward(from, way, at + skip.max(least), at) else { break };
            if slack >= -DOUBT
                && rest.is_empty()
                && self.find_accepted(ground, number, at, value, x)?
            {
                break;
            }
            x[number.column] = value;
            if self.total(x) >= self.best.0 {
                break;
            }
            let (seen, found) = self.stop(ground, rest, x, (own, spent))?;
            if found {
                if rest.is_empty() && self.improved && self.best.1[number.column] == value {
                    self.move_back(ground, number, at, x)?;
                }
                if rest.is_empty() {
                    break;
                }
            }
            (at, slack) = ((value - from).abs(), seen);
        }
        x[number.column] = from;
        Ok(())
    }

    /// Between two places of a walk, of which the first is robust and rejected: tries the first
    /// place that the model accepts. Says whether that is an answer.
    fn find_accepted(
        &mut self,
        ground: &mut dyn Ground,
        number: &Number,
        at: f64,
        to: f64,
        x: &mut [f64],
    ) -> Result<bool> {
        let from = self.factual[number.column];
        let way = (to - from).signum();
        let far = (to - from).abs();
        let mut last = at;
        for i in 1..BETWEEN {
            let distance = at + (far - at) * i as f64 / BETWEEN as f64;
            let Some(value) = number.outward(from, way, distance, last) else { break };
            last = (value - from).abs();
            if last >= far {
                break;
            }
            x[number.column] = value;
            if self.total(x) >= self.best.0 {
                break;
            }
            if ground.accepts(x)? {
                let before = self.best.0;
                self.try_close(ground, x)?;
                return Ok(self.best.0 < before);
            }
        }
        Ok(false)
    }

    /// Moves the best answer, which is `x`, towards the person along a number, at most to distance
    /// `near`.
    fn move_back(
        &mut self,
        ground: &mut dyn Ground,
        number: &Number,
        near: f64,
        x: &mut [f64],
    ) -> Result<()> {
        let from = self.factual[number.column];
        let way = (x[number.column] - from).signum();
        let (mut missed, mut met) = (near, (x[number.column] - from).abs());
        for _ in 0..HALVINGS {
            if met - missed <= LEAST_GAIN * met || self.is_over(ground) {
                break;
            }
            let middle = 0.5 * (missed + met);
            let Some(value) = number.outward(from, way, middle, missed) else { break };
            let distance = (value - from).abs();
            if distance >= met {
                break;
            }
            x[number.column] = value;
            let before = self.best.0;
            self.try_close(ground, x)?;
            if self.best.0 < before { met = distance } else { missed = distance }
        }
        Ok(())
    }

    fn measure(
        &mut self,
        ground: &mut dyn Ground,
        x: &[f64],
        closeness: Closeness,
    ) -> Result<Measured> {
        self.left = self.left.saturating_sub(1);
        let mut seen = ground.measure(x, closeness)?;
        seen.slack = seen.slack.max(LEAST_MARGIN - self.z);
        Ok(seen)
    }

    /// Measures `x` closely and keeps it if it is an answer; returns its slack.
    pub(super) fn try_close(&mut self, ground: &mut dyn Ground, x: &[f64]) -> Result<f64> {
        if !self.task.actions.violations(self.factual, x).is_empty() {
            return Ok(0.0);
        }
        let seen = self.measure(ground, x, Closeness::Close)?;
        let total = self.total(x);
        if seen.slack >= 0.0 && seen.favourable && total < (1.0 - LEAST_GAIN) * self.best.0 {
            self.best.0 = total;
            self.best.1.copy_from_slice(x);
            self.improved = true;
        } else if seen.favourable && self.nearest.as_ref().is_none_or(|n| seen.slack > n.0) {
            self.nearest = Some((seen.slack, x.to_vec()));
        }
        Ok(seen.slack)
    }

    fn total(&self, x: &[f64]) -> f64 {
        Cost::total(&self.task.cost, self.factual, x)
    }
}
