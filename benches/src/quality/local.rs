//! A long search for the cheapest point whose rate is low enough, by moves of single features and
//! exchanges between two, on draws that all points share. It shares no code with the engine's
//! search, and proves nothing: what it finds is an upper bound on the least cost.

use super::draws::{Judge, SCREEN};
use super::problem::Number;
use anyhow::Result;

/// A cost must fall by this share to be worth a step.
const WORTH: f64 = 1e-3;
/// Numbers without bounds are moved at most so far, in scaled units.
const FARTHEST: f64 = 4.0;
/// The first stop of a scan, in standard deviations of the noise, and how stops grow.
const FIRST: f64 = 0.5;
const GROWTH: f64 = 1.3;

/// A person and a target before a judge.
pub(super) struct Search<'a> {
    pub(super) judge: Judge<'a>,
    pub(super) person: &'a [f64],
    pub(super) r: f64,
    /// Rows that may be scored.
    pub(super) most_rows: u64,
}

/// A feature: a number or a category, by its place in the problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    Number(usize),
    Category(usize),
}

impl Search<'_> {
    pub(super) fn is_spent(&self) -> bool {
        self.judge.n_rows >= self.most_rows
    }

    pub(super) fn cost(&self, point: &[f64]) -> f64 {
        self.judge.problem.cost(self.person, point)
    }

    pub(super) fn holds(&mut self, point: &[f64], level: usize) -> Result<bool> {
        self.judge.holds(point, self.r, level)
    }

    /// Features that a point changes, the costliest first.
    pub(super) fn changed(&self, point: &[f64]) -> Vec<Part> {
        let problem = self.judge.problem;
        let now = self.cost(point);
        let numbers = (0..problem.numbers.len()).map(Part::Number);
        let parts = numbers.chain((0..problem.categories.len()).map(Part::Category));
        let mut found: Vec<(f64, Part)> = parts
            .filter_map(|part| {
                let less = self.without(point, part);
                (less != point).then(|| (self.cost(&less) - now, part))
            })
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.into_iter().map(|(_, part)| part).collect()
    }

    pub(super) fn columns(&self, part: Part) -> &[usize] {
        let problem = self.judge.problem;
        match part {
            Part::Number(k) => std::slice::from_ref(&problem.numbers[k].column),
            Part::Category(k) => &problem.categories[k].columns,
        }
    }

    /// A point with one feature as the person has it.
    pub(super) fn without(&self, point: &[f64], part: Part) -> Vec<f64> {
        let mut less = point.to_vec();
        self.columns(part).iter().for_each(|&c| less[c] = self.person[c]);
        less
    }

    /// How far a number may be moved from the person's value, up or down.
    pub(super) fn end(&self, number: &Number, sign: f64) -> f64 {
        let x = self.person[number.column];
        let (low, high) = number.limits(x);
        let most = FARTHEST * number.width;
        if sign < 0.0 { low.max(x - most) } else { high.min(x + most) }
    }

    /// The cheapest value of a number between the person's and `end` that lets `base` hold, as far
    /// as stops see; `None` where none does.
    fn least(
        &mut self,
        base: &[f64],
        number: &Number,
        end: f64,
        level: usize,
    ) -> Result<Option<f64>> {
        let (j, x) = (number.column, self.person[number.column]);
        let mut point = base.to_vec();
        point[j] = x;
        if self.holds(&point, level)? {
            return Ok(Some(x));
        }
        let first = FIRST * number.raw_sd().max(0.01 * number.width);
        let (mut step, mut last) = (first, x);
        while last != end {
            let v = if (end - last).abs() <= 1.2 * step { end } else { last + step.copysign(end - x) };
            let v = number.told(x, v);
            if v == last {
                if (end - last).abs() <= 1.2 * step {
                    break;
                }
                step *= GROWTH;
                continue;
            }
            point[j] = v;
            if self.holds(&point, level)? {
                return Ok(Some(self.bisect(&mut point, number, (last, v), level)?));
            }
            (last, step) = (v, step * GROWTH);
        }
        Ok(None)
    }

    /// The end of what holds between a value that does not and one that does.
    pub(super) fn bisect(
        &mut self,
        point: &mut [f64],
        number: &Number,
        (mut bad, mut good): (f64, f64),
        level: usize,
    ) -> Result<f64> {
        let (j, x) = (number.column, self.person[number.column]);
        for _ in 0..14 {
            let middle = number.told(x, 0.5 * (bad + good));
            let close = (good - bad).abs() <= 1e-3 * (good - x).abs();
            if middle == good || middle == bad || (close && number.step.is_none()) {
                break;
            }
            point[j] = middle;
            if self.holds(point, level)? { good = middle } else { bad = middle }
        }
        point[j] = good;
        Ok(good)
    }

    /// Every number alone, up and down, and every category alone: those that hold.
    pub(super) fn singles(&mut self, base: &[f64]) -> Result<Vec<Vec<f64>>> {
        let problem = self.judge.problem;
        let mut found = Vec::new();
        for number in problem.numbers.iter().filter(|number| number.mutable) {
            for sign in [-1.0, 1.0] {
                let end = number.told(self.person[number.column], self.end(number, sign));
                if let Some(v) = self.least(base, number, end, SCREEN)? {
                    let mut point = base.to_vec();
                    point[number.column] = v;
                    found.push(point);
                }
            }
        }
        for category in &problem.categories {
            let Some(own) = category.option_of(base) else { continue };
            for option in category.others(own) {
                let mut point = base.to_vec();
                category.set(option, &mut point);
                if self.holds(&point, SCREEN)? {
                    found.push(point);
                }
            }
        }
        found.sort_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        Ok(found)
    }

    /// A point near `start`, which holds, that no move of one or two features makes cheaper.
    pub(super) fn descend(&mut self, start: Vec<f64>, level: usize) -> Result<Vec<f64>> {
        let mut point = start;
        let mut amount = 0.25 * self.cost(&point);
        let smallest = 0.01 * amount;
        while !self.is_spent() {
            self.undo(&mut point, level)?;
            self.shrink(&mut point, level)?;
            if let Some(better) = self.exchange(&point, level)? {
                point = better;
                continue;
            }
            match self.trade(&point, amount, level)? {
                Some(better) => point = better,
                None if amount > smallest => amount *= 0.4,
                None => break,
            }
        }
        Ok(point)
    }

    /// Takes back changes that are not needed, the costliest first.
    fn undo(&mut self, point: &mut Vec<f64>, level: usize) -> Result<()> {
        for part in self.changed(point) {
            let less = self.without(point, part);
            if self.holds(&less, level)? {
                *point = less;
            }
        }
        Ok(())
    }

    /// Takes back as much of each number's change as is not needed.
    pub(super) fn shrink(&mut self, point: &mut [f64], level: usize) -> Result<()> {
        let problem = self.judge.problem;
        for part in self.changed(point) {
            let Part::Number(k) = part else { continue };
            let number = &problem.numbers[k];
            let now = point[number.column];
            let least = self.least(point, number, now, level)?;
            point[number.column] = least.unwrap_or(now);
        }
        Ok(())
    }

    /// Takes one change back and lets another feature make up for it.
    fn exchange(&mut self, point: &[f64], level: usize) -> Result<Option<Vec<f64>>> {
        let problem = self.judge.problem;
        let now = self.cost(point);
        for part in self.changed(point) {
            let less = self.without(point, part);
            let saved = now - self.cost(&less);
            for (k, number) in problem.numbers.iter().enumerate() {
                if Part::Number(k) == part || !number.mutable {
                    continue;
                }
                if let Some(better) = self.make_up(&less, number, saved, level)? {
                    return Ok(Some(better));
                }
            }
            for category in &problem.categories {
                let Some(own) = category.option_of(self.person) else { continue };
                for option in category.others(own) {
                    let mut other = less.clone();
                    category.set(option, &mut other);
                    let cheaper = self.cost(&other) < now * (1.0 - WORTH);
                    if cheaper && other != less && self.holds(&other, level)? {
                        return Ok(Some(other));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Moves a number further so that `less` holds, for at most a cost of `saved`.
    fn make_up(
        &mut self,
        less: &[f64],
        number: &Number,
        saved: f64,
        level: usize,
    ) -> Result<Option<Vec<f64>>> {
        let (j, x) = (number.column, self.person[number.column]);
        let now = self.cost(less) + saved;
        for sign in [1.0, -1.0] {
            // Outwards only: the way back to the person's value is searched when numbers shrink.
            if (less[j] - x) * sign < 0.0 {
                continue;
            }
            let reach = number.reach(sign, saved * (1.0 - 2.0 * WORTH));
            let end = self.end(number, sign);
            for share in [1.0, 0.5] {
                let far = less[j] + sign * reach * share;
                let far = number.told(x, if sign < 0.0 { far.max(end) } else { far.min(end) });
                let mut point = less.to_vec();
                point[j] = far;
                let cheaper = self.cost(&point) < now * (1.0 - WORTH);
                if far == less[j] || !cheaper || !self.holds(&point, level)? {
                    continue;
                }
                self.bisect(&mut point, number, (less[j], far), level)?;
                return Ok(Some(point));
            }
        }
        Ok(None)
    }

    /// Takes back some of one number's change and lets another make up for it.
    fn trade(&mut self, point: &[f64], amount: f64, level: usize) -> Result<Option<Vec<f64>>> {
        let problem = self.judge.problem;
        let now = self.cost(point);
        for part in self.changed(point) {
            let Part::Number(from) = part else { continue };
            let number = &problem.numbers[from];
            let (j, x) = (number.column, self.person[number.column]);
            let back = number.reach(point[j] - x, amount).min((point[j] - x).abs());
            let mut less = point.to_vec();
            less[j] = number.told(x, point[j] - back.copysign(point[j] - x));
            let saved = now - self.cost(&less);
            if saved <= 0.0 {
                continue;
            }
            for (k, other) in problem.numbers.iter().enumerate() {
                if k == from || !other.mutable {
                    continue;
                }
                if let Some(better) = self.make_up(&less, other, saved, level)? {
                    return Ok(Some(better));
                }
            }
        }
        Ok(None)
    }
}
