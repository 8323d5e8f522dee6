//! Search on profiles: the margin at all values of a number, from one pass over the samples.
//!
//! Where a [`Ground`] knows them, no walk is needed: the cheapest answer along a number is read
//! off.
//!
//! A *trade* asks what every feature can do alone around a point, numbers by their profiles and
//! categories option by option. Taking gains and losses of two features as if they added up, it
//! predicts for every pair the cheapest combination that meets the target, be it an exchange (one
//! feature goes back towards the person and another makes up for it) or two changes at once. The
//! most promising ones are tried: one feature is set, and along the other the cheapest answer is
//! read off. A *mix* does the same for any number of features. Predictions only choose what to try.

use super::{Axis, Closeness, DOUBT, Ground, LEAST_GAIN, LEAST_MARGIN, Number, Sweep};
use crate::error::Result;
use crate::invalidation::Places;

/// Values of a number without steps that are looked at, and of one with steps at most.
const VALUES: usize = 256;
const STEPS: usize = 512;
/// How far a number without limits goes where there is no answer, and in standard deviations.
const FAR: f64 = 2.0;
const FAR_IN_DEVIATIONS: f64 = 40.0;
/// How often a value that looks good may fail a closer look.
const FAILURES: usize = 4;
/// What a profile counts as, in places.
const PLACES: usize = 2;
/// Numbers, at most, that are chosen by nested walks rather than by trades.
const NESTED: usize = 2;
/// Mixes of moves that are measured, each asking for what the one before missed, and features of
/// the last one that are chosen again.
const MIXES: usize = 3;
const ENDS: usize = 2;
/// What an answer may cost at most to be improved before it is given up, in totals of the best.
const RIVAL: f64 = 1.15;

/// Prices of a unit of margin between which the mix of moves is sought, and halvings.
const LEAST_PRICE: f64 = 1e-4;
const MOST_PRICE: f64 = 1e6;
const PRICES: usize = 24;

/// A value of a feature.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    Number(f64),
    Option(usize),
}

/// What a feature can do alone around a point: what it adds to the total and to the slack.
#[derive(Clone, Copy)]
struct Move {
    total: f64,
    gain: f64,
    value: Value,
}

/// Two moves, or one, that seem to meet the target together.
struct Trade {
    /// The total that they seem to lead to.
    total: f64,
    first: Option<(usize, Value)>,
    second: (usize, Value),
}

/// What every feature can do alone around a point.
pub(in super::super) struct Scan {
    base: Vec<f64>,
    /// Slack and total of the point.
    own: f64,
    spent: f64,
    moves: Vec<Vec<Move>>,
}

impl Sweep<'_> {
    /// Changes of one and two features of the person, and the mix of moves that seems cheapest.
    /// Returns what every feature can do alone.
    pub(in super::super) fn start_on_profiles(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
    ) -> Result<Scan> {
        let scan = self.scan(ground, axes, self.factual)?;
        self.trade(ground, axes, &scan)?;
        self.mix(ground, axes, &scan, None)?;
        Ok(scan)
    }

    /// Trades around the best point as long as that pays. Then every change of it is ruled out in
    /// turn, to see whether something else does better; `start` is the scan of the person.
    pub(in super::super) fn improve_on_profiles(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        start: &Scan,
    ) -> Result<()> {
        for _ in 0..self.reach.rounds {
            if self.best.0.is_infinite() || self.is_over(ground) {
                break;
            }
            let before = self.best.0;
            let scan = self.scan(ground, axes, &self.best.1.clone())?;
            if !self.trade(ground, axes, &scan)? {
                self.mix(ground, axes, &scan, None)?;
                for axis in self.changes(axes, &scan.base) {
                    self.rule_out(ground, (axes, axis), &scan, start)?;
                }
            }
            if self.best.0 >= before {
                break;
            }
        }
        Ok(())
    }

    /// Looks for the cheapest answer that differs from `base` in numbers along `axes`, in which
    /// `base` is as the person is.
    pub(in super::super) fn choose_numbers(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        base: &[f64],
    ) -> Result<()> {
        let mut x = base.to_vec();
        if axes.is_empty() || axes.len() > NESTED {
            return self.explore(ground, axes, base);
        }
        let mut all: Vec<&Axis> = axes.iter().collect();
        all.sort_by(|a, b| self.n_places(a).total_cmp(&self.n_places(b)));
        self.walk(ground, &all, &mut x)
    }

    /// Tries changes of one and two features of `base`, and a mix of moves from there.
    pub(in super::super) fn explore(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        base: &[f64],
    ) -> Result<()> {
        self.try_close(ground, base)?;
        let scan = self.scan(ground, axes, base)?;
        self.trade(ground, axes, &scan)?;
        self.mix(ground, axes, &scan, None)
    }

    fn scan(&mut self, ground: &mut dyn Ground, axes: &[Axis], base: &[f64]) -> Result<Scan> {
        let own = self.measure(ground, base, Closeness::Glance)?.slack;
        let mut moves = Vec::with_capacity(axes.len());
        for axis in axes {
            moves.push(best_moves(self.moves(ground, axis, base, own)?));
        }
        Ok(Scan { base: base.to_vec(), own, spent: self.total(base), moves })
    }

    /// Tries what seems cheapest of all changes of one or two features; says whether something was
    /// cheaper than the best answer.
    fn trade(&mut self, ground: &mut dyn Ground, axes: &[Axis], scan: &Scan) -> Result<bool> {
        let before = self.best.0;
        for trade in self.promising(scan) {
            if trade.total < (1.0 - LEAST_GAIN) * self.best.0 && !self.is_over(ground) {
                self.carry_out(ground, axes, &scan.base, &trade)?;
            }
        }
        Ok(self.best.0 < before)
    }

    /// The features that a point changes, by their numbers, those that cost most first.
    fn changes(&self, axes: &[Axis], point: &[f64]) -> Vec<usize> {
        let without = |i: usize| {
            let mut x = point.to_vec();
            axes[i].copy(self.factual, &mut x);
            self.total(&x)
        };
        let changed = (0..axes.len()).filter(|&i| axes[i].differs(point, self.factual));
        let mut changed: Vec<(f64, usize)> = changed.map(|i| (without(i), i)).collect();
        changed.sort_by(|a, b| a.0.total_cmp(&b.0));
        changed.truncate(self.reach.rivals);
        changed.into_iter().map(|(_, i)| i).collect()
    }

    /// Looks for an answer in which feature `axis` stays as it is, from the best one and from the
    /// person. One that costs little more is improved, too, before it is given up.
    fn rule_out(
        &mut self,
        ground: &mut dyn Ground,
        (axes, axis): (&[Axis], usize),
        around: &Scan,
        start: &Scan,
    ) -> Result<()> {
        let (total, point) = self.best.clone();
        let improved = self.improved;
        self.best.0 = RIVAL * total;
        self.mix(ground, axes, around, Some(axis))?;
        self.mix(ground, axes, start, Some(axis))?;
        if self.best.1 != point && self.best.0 >= total && !self.is_over(ground) {
            let scan = self.scan(ground, axes, &self.best.1.clone())?;
            self.trade(ground, axes, &scan)?;
        }
        if self.best.0 >= total {
            (self.best, self.improved) = ((total, point), improved);
        }
        Ok(())
    }

    /// Tries the moves of any number of features that seem cheapest together, perhaps with one
    /// feature as the person has it.
    fn mix(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        scan: &Scan,
        without: Option<usize>,
    ) -> Result<()> {
        let mut base = scan.base.clone();
        let mut own = scan.own;
        if let Some(i) = without.filter(|&i| axes[i].differs(&base, self.factual)) {
            axes[i].copy(self.factual, &mut base);
            own = self.measure(ground, &base, Closeness::Glance)?.slack;
        }
        let (mut needed, mut x) = (-own, base.clone());
        for _ in 0..MIXES {
            let Some(values) = cheapest_mix(&scan.moves, needed, without) else { return Ok(()) };
            x.copy_from_slice(&base);
            values.iter().for_each(|(i, value)| axes[*i].set(*value, &mut x));
            if self.total(&x) >= self.best.0 || self.is_over(ground) {
                return Ok(());
            }
            let slack = self.measure(ground, &x, Closeness::Glance)?.slack;
            if slack >= -DOUBT {
                break;
            }
            needed -= slack;
        }
        for i in self.changes(axes, &x).into_iter().take(ENDS) {
            if let Axis::Number(number) = &axes[i] {
                let mut end = x.clone();
                axes[i].copy(self.factual, &mut end);
                self.leap(ground, number, &mut end)?;
            }
        }
        self.try_close(ground, &x)?;
        Ok(())
    }

    /// Everything that one feature can do alone around `base`, whose slack is `own`.
    fn moves(
        &mut self,
        ground: &mut dyn Ground,
        axis: &Axis,
        base: &[f64],
        own: f64,
    ) -> Result<Vec<Move>> {
        let mut x = base.to_vec();
        let from = self.total(base);
        let mut found = Vec::new();
        match axis {
            Axis::Number(number) => {
                let spent = self.least_spent(axis, base);
                let Some(places) = self.places(number, spent) else { return Ok(found) };
                let mut slacks = Vec::new();
                self.left = self.left.saturating_sub(PLACES);
                ground.along(base, places, Closeness::Glance, &mut slacks)?;
                let least = LEAST_MARGIN - self.z;
                for (i, slack) in slacks.iter().enumerate() {
                    let (value, slack) = (number.clamped(places.at(i)), slack.max(least));
                    x[number.column] = value;
                    let total = self.total(&x) - from;
                    found.push(Move { total, gain: slack - own, value: Value::Number(value) });
                }
            }
            Axis::Category { group, options } => {
                let now = group.option_of(base);
                let back = group.option_of(self.factual);
                for &option in options.iter().chain(&back).filter(|o| Some(**o) != now) {
                    group.set(option, &mut x);
                    let total = self.total(&x);
                    if total >= self.best.0 || self.is_over(ground) {
                        continue;
                    }
                    let slack = self.measure(ground, &x, Closeness::Glance)?.slack;
                    let value = Value::Option(option);
                    found.push(Move { total: total - from, gain: slack - own, value });
                }
            }
        }
        Ok(found)
    }

    /// The total without one feature and without what then costs most.
    fn least_spent(&self, axis: &Axis, base: &[f64]) -> f64 {
        let mut x = base.to_vec();
        axis.copy(self.factual, &mut x);
        let mut least = self.total(&x);
        for j in 0..x.len() {
            let now = std::mem::replace(&mut x[j], self.factual[j]);
            // A category's columns one by one: the total is that of single columns then.
            if now != x[j] {
                least = least.min(self.total(&x));
            }
            x[j] = now;
        }
        if base == self.factual { 0.0 } else { least }
    }

    /// The most promising changes of one or two features, the best first.
    fn promising(&self, Scan { moves, spent, own, .. }: &Scan) -> Vec<Trade> {
        let limit = (1.0 - LEAST_GAIN) * self.best.0;
        // The cheapest of `among` that meets the target together with a gain.
        let enough = |among: &[Move], gain: f64| -> Option<Move> {
            let first = among.partition_point(|m| own + gain + m.gain < 0.0);
            among.get(first).copied()
        };
        let (mut alone, mut trades) = (Vec::new(), Vec::new());
        for (j, second) in moves.iter().enumerate() {
            if let Some(only) = enough(second, 0.0) {
                let total = spent + only.total;
                alone.push(Trade { total, first: None, second: (j, only.value) });
            }
            for (i, first) in moves.iter().enumerate().filter(|(i, _)| *i != j) {
                let pairs = first.iter().filter_map(|m| {
                    let other = enough(second, m.gain)?;
                    // Each pair of two advances once.
                    let once = m.total < 0.0 || (other.total >= 0.0 && i < j);
                    let total = spent + m.total + other.total;
                    (once && total < limit).then_some((total, m.value, other.value))
                });
                if let Some((total, a, b)) = pairs.min_by(|a, b| a.0.total_cmp(&b.0)) {
                    trades.push(Trade { total, first: Some((i, a)), second: (j, b) });
                }
            }
        }
        // Stable: of equals the first.
        trades.sort_by(|a, b| a.total.total_cmp(&b.total));
        trades.truncate(self.reach.trades);
        alone.sort_by(|a, b| a.total.total_cmp(&b.total));
        alone.extend(trades);
        alone
    }

    /// Tries a trade: sets one feature, and reads the other off along its values.
    fn carry_out(
        &mut self,
        ground: &mut dyn Ground,
        axes: &[Axis],
        base: &[f64],
        trade: &Trade,
    ) -> Result<()> {
        let mut x = base.to_vec();
        let (mut set, mut read) = (trade.first, trade.second);
        if let (Some(first), Value::Option(_)) = (set, read.1) {
            (set, read) = (Some(read), first);
        }
        if let Some((i, value)) = set {
            axes[i].set(value, &mut x);
        }
        match &axes[read.0] {
            Axis::Number(number) => {
                axes[read.0].copy(self.factual, &mut x);
                self.leap(ground, number, &mut x)?;
            }
            axis @ Axis::Category { .. } => {
                axis.set(read.1, &mut x);
                self.try_close(ground, &x)?;
            }
        }
        Ok(())
    }

    /// Reads the cheapest answer along a number off its profile; in `x` the number is as the person
    /// has it. `None` if the ground knows no profiles.
    pub(super) fn leap(
        &mut self,
        ground: &mut dyn Ground,
        number: &Number,
        x: &mut [f64],
    ) -> Result<Option<()>> {
        let from = self.factual[number.column];
        let spent = self.total(x);
        let Some(places) = self.places(number, spent) else { return Ok(Some(())) };
        let mut slacks = Vec::new();
        if !ground.along(x, places, Closeness::Close, &mut slacks)? {
            return Ok(None);
        }
        self.left = self.left.saturating_sub(PLACES);
        let stays = number.grid.is_some_and(|grid| !grid.has(from));
        if stays && spent > 0.0 && self.measure(ground, x, Closeness::Glance)?.slack >= -DOUBT {
            self.try_close(ground, x)?;
        }
        let mut order: Vec<(f64, usize)> = Vec::new();
        for i in (0..places.n).filter(|&i| slacks[i] >= 0.0) {
            x[number.column] = number.clamped(places.at(i));
            let total = self.total(x);
            if total > 0.0 && total < self.best.0 {
                order.push((total, i));
            }
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut failures, mut least, mut rejected) = (0, 0.0, None);
        for (_, i) in order {
            x[number.column] = number.clamped(places.at(i));
            // On few samples it looked better than it is: the next ones should look better still.
            if slacks[i] < least || failures == FAILURES || self.is_over(ground) {
                continue;
            }
            if rejected == Some(slacks[i]) || !ground.accepts(x)? {
                rejected = Some(slacks[i]);
                continue;
            }
            let before = self.best.0;
            let slack = self.try_close(ground, x)?;
            if self.best.0 < before {
                break;
            }
            failures += 1;
            least = slacks[i] - slack.min(0.0);
        }
        x[number.column] = from;
        Ok(Some(()))
    }

    /// The values of a number that an answer may have if `spent` are spent elsewhere; `None` if
    /// there are none.
    fn places(&self, number: &Number, spent: f64) -> Option<Places> {
        let from = self.factual[number.column];
        let far = FAR.max(FAR_IN_DEVIATIONS * number.sd);
        let known = self.best.0.is_finite();
        let range = |way: f64| {
            let range = self.range(number, way, spent);
            if known { range } else { range.min(far) }
        };
        let (low, high) = (from - range(-1.0), from + range(1.0));
        if !(low < high && low.is_finite() && high.is_finite()) {
            return None;
        }
        let feature = number.column;
        let Some(grid) = &number.grid else {
            let step = (high - low) / VALUES as f64;
            let first = from - step * ((from - low) / step).floor();
            let n = ((high - first) / step + 1e-9).floor() as usize + 1;
            return Some(Places { feature, first, step, n });
        };
        let first = grid.above(low);
        let n = ((high - first) / grid.step + 1e-6).floor();
        if n < 0.0 {
            return None;
        }
        let every = ((n + 1.0) / STEPS as f64).ceil();
        let n = (n / every).floor() as usize + 1;
        Some(Places { feature, first, step: grid.step * every, n })
    }
}

impl Axis {
    /// Gives `x` a value of the feature.
    fn set(&self, value: Value, x: &mut [f64]) {
        match (self, value) {
            (Self::Number(number), Value::Number(value)) => x[number.column] = value,
            (Self::Category { group, .. }, Value::Option(option)) => group.set(option, x),
            _ => {}
        }
    }
}

impl Number {
    fn clamped(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }
}

/// The moves that no other one beats in total and gain, in ascending order of both.
fn best_moves(mut moves: Vec<Move>) -> Vec<Move> {
    moves.sort_by(|a, b| a.total.total_cmp(&b.total).then(b.gain.total_cmp(&a.gain)));
    let mut most = f64::NEG_INFINITY;
    moves.retain(|m| {
        let keeps = m.gain > most;
        most = most.max(m.gain);
        keeps
    });
    moves
}

/// For every feature the move, if any, so that together they gain what is `needed` and seem cheap:
/// the best response to a price of the gain. `None` if all moves gain too little.
fn cheapest_mix(
    moves: &[Vec<Move>],
    needed: f64,
    without: Option<usize>,
) -> Option<Vec<(usize, Value)>> {
    let respond = |price: f64| -> Vec<(usize, Move)> {
        let worth = |m: &Move| m.total - price * m.gain;
        let best = |among: &Vec<Move>| {
            let best = among.iter().min_by(|a, b| worth(a).total_cmp(&worth(b))).copied();
            best.filter(|m| worth(m) < 0.0)
        };
        let axes = moves.iter().enumerate().filter(|(i, _)| Some(*i) != without);
        axes.filter_map(|(i, among)| Some((i, best(among)?))).collect()
    };
    let gain = |mix: &[(usize, Move)]| mix.iter().map(|(_, m)| m.gain).sum::<f64>();
    let (mut low, mut high) = (LEAST_PRICE, LEAST_PRICE);
    while gain(&respond(high)) < needed {
        low = high;
        high *= 4.0;
        if high > MOST_PRICE {
            return None;
        }
    }
    for _ in 0..PRICES {
        let middle = (low * high).sqrt();
        *(if gain(&respond(middle)) < needed { &mut low } else { &mut high }) = middle;
    }
    let mut mix = respond(high);
    // What is more than needed goes back where that saves most.
    let mut spare = gain(&mix) - needed;
    mix.sort_by(|a, b| b.1.total.total_cmp(&a.1.total));
    for (i, chosen) in &mut mix {
        let less = moves[*i].iter().find(|m| chosen.gain - m.gain <= spare);
        if let Some(less) = less.filter(|m| m.total < chosen.total) {
            spare -= chosen.gain - less.gain;
            *chosen = *less;
        }
    }
    Some(mix.into_iter().map(|(i, m)| (i, m.value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(total: f64, gain: f64) -> Move {
        Move { total, gain, value: Value::Number(total) }
    }

    /// Worked out by hand: 1 + 0.8 is the cheapest way to gain 1.5, and 3 + 0.8 gains most.
    #[test]
    fn a_mix_takes_the_cheapest_moves_together() {
        let moves = [
            best_moves(vec![at(3.0, 2.0), at(1.0, 1.0), at(2.0, 0.5)]),
            best_moves(vec![at(0.8, 0.5)]),
            // Worse than the first feature at any price.
            best_moves(vec![at(5.0, 1.0)]),
        ];
        assert_eq!(moves[0].len(), 2, "a move that costs more and gains less is left out");
        let mix = |needed: f64, without: Option<usize>| {
            let mut mix = cheapest_mix(&moves, needed, without)?;
            mix.sort_by_key(|(i, _)| *i);
            Some(mix.into_iter().map(|(i, v)| (i, v == moves[i][0].value)).collect::<Vec<_>>())
        };
        assert_eq!(mix(1.5, None), Some(vec![(0, true), (1, true)]));
        assert_eq!(mix(0.9, None), Some(vec![(0, true)]));
        assert_eq!(mix(2.5, None), Some(vec![(0, false), (1, true)]));
        assert_eq!(mix(1.2, Some(0)), Some(vec![(1, true), (2, true)]));
        assert_eq!(mix(4.0, None), None);
    }
}
