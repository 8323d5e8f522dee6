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
/// How much of a change is taken back, as shares of the point's cost; sweeps for each share, and
/// passes over all of them, at most.
const AMOUNTS: [f64; 6] = [1.0, 0.4, 0.15, 0.06, 0.025, 0.01];
const SWEEPS: usize = 4;
const PASSES: usize = 4;
/// Features that are tried to make up for what was taken back, after a glance at so many draws; and
/// those of which pairs are tried.
const GLANCE: usize = 256;
const PROMISING: usize = 4;
const PAIRED: usize = 3;
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
            let v =
                if (end - last).abs() <= 1.2 * step { end } else { last + step.copysign(end - x) };
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

    /// A point near `start`, which holds, that no exchange between features makes cheaper.
    pub(super) fn descend(&mut self, start: Vec<f64>, level: usize) -> Result<Vec<f64>> {
        let mut point = start;
        for _ in 0..PASSES {
            let before = self.cost(&point);
            self.undo(&mut point, level)?;
            self.shrink(&mut point, level)?;
            for share in AMOUNTS {
                for _ in 0..SWEEPS {
                    let now = self.cost(&point);
                    self.sweep(&mut point, share * now, level)?;
                    if self.is_spent() || self.cost(&point) > now * (1.0 - WORTH) {
                        break;
                    }
                    self.shrink(&mut point, level)?;
                }
            }
            if self.is_spent() || self.cost(&point) > before * (1.0 - 10.0 * WORTH) {
                break;
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
    fn shrink(&mut self, point: &mut [f64], level: usize) -> Result<()> {
        let problem = self.judge.problem;
        for part in self.changed(point) {
            let Part::Number(k) = part else { continue };
            let number = &problem.numbers[k];
            let (x, now) = (self.person[number.column], point[number.column]);
            self.bisect(point, number, (x, now), level)?;
        }
        Ok(())
    }

    /// Takes some of each change back, at most `amount` of its cost, and lets the features make up
    /// for it that help most. Cheaper points replace `point`.
    fn sweep(&mut self, point: &mut Vec<f64>, amount: f64, level: usize) -> Result<()> {
        let problem = self.judge.problem;
        for part in self.changed(point).into_iter().rev() {
            if self.is_spent() {
                break;
            }
            let less = match part {
                Part::Number(k) => {
                    let number = &problem.numbers[k];
                    let (j, x) = (number.column, self.person[number.column]);
                    let by = point[j] - x;
                    let back = number.reach(by, amount).min(by.abs());
                    let mut less = point.clone();
                    less[j] = number.told(x, point[j] - back.copysign(by));
                    less
                }
                Part::Category(_) if amount >= self.cost(point) => self.without(point, part),
                Part::Category(_) => continue,
            };
            let saved = self.cost(point) - self.cost(&less);
            if saved > 0.0
                && let Some(better) = self.make_up(&less, part, saved, level)?
            {
                *point = better;
            }
        }
        Ok(())
    }

    /// Lets `less` hold again by moving other features further, for less than `saved`.
    fn make_up(
        &mut self,
        less: &[f64],
        part: Part,
        saved: f64,
        level: usize,
    ) -> Result<Option<Vec<f64>>> {
        let least = (self.cost(less) + saved) * (1.0 - WORTH);
        let mut tried = Vec::new();
        for (other, numbers) in self.ways_out(less, part, saved * (1.0 - 2.0 * WORTH)) {
            if other != less && self.cost(&other) < least {
                tried.push((self.judge.quantile(&other, self.r, GLANCE)?, other, numbers));
            }
        }
        tried.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Two that help, each for half of what was saved.
        let halves = self.halves(less, &tried);
        let some = tried.into_iter().take(PROMISING).map(|(_, other, numbers)| (other, numbers));
        for (mut other, numbers) in some.collect::<Vec<_>>().into_iter().chain(halves) {
            if !self.holds(&other, level)? {
                continue;
            }
            for k in numbers {
                let number = &self.judge.problem.numbers[k];
                let ends = (less[number.column], other[number.column]);
                self.bisect(&mut other, number, ends, level)?;
            }
            return Ok(Some(other));
        }
        Ok(None)
    }

    /// Points that differ from `less` in one more feature, by at most `saved` of cost, and the
    /// numbers that moved. What was taken back stays back.
    fn ways_out(&self, less: &[f64], part: Part, saved: f64) -> Vec<(Vec<f64>, Vec<usize>)> {
        let problem = self.judge.problem;
        let mut found = Vec::new();
        for (k, number) in problem.numbers.iter().enumerate() {
            if Part::Number(k) == part || !number.mutable {
                continue;
            }
            let (j, x) = (number.column, self.person[number.column]);
            // Outwards only: the way back to the person's value is another feature's turn.
            for sign in [1.0, -1.0].into_iter().filter(|sign| (less[j] - x) * sign >= 0.0) {
                let end = self.end(number, sign);
                let far = less[j] + sign * number.reach(sign, saved);
                let far = if sign < 0.0 { far.max(end) } else { far.min(end) };
                let mut point = less.to_vec();
                point[j] = number.told(x, far);
                if self.cost(&point) > self.cost(less) + saved
                    && let Some(step) = number.step
                {
                    // Rounded outwards too far.
                    point[j] = number.told(x, point[j] - sign * step);
                }
                if (point[j] - less[j]) * sign > 0.0 {
                    found.push((point, vec![k]));
                }
            }
        }
        for category in &problem.categories {
            let Some(own) = category.option_of(self.person) else { continue };
            for option in category.others(own) {
                let mut point = less.to_vec();
                category.set(option, &mut point);
                found.push((point, Vec::new()));
            }
        }
        found
    }

    /// Pairs of the most promising numbers, each moved half as far.
    fn halves(
        &self,
        less: &[f64],
        tried: &[(f64, Vec<f64>, Vec<usize>)],
    ) -> Vec<(Vec<f64>, Vec<usize>)> {
        let problem = self.judge.problem;
        let numbers: Vec<_> =
            tried.iter().filter(|(_, _, numbers)| !numbers.is_empty()).take(PAIRED).collect();
        let mut found = Vec::new();
        for (i, (_, one, of_one)) in numbers.iter().enumerate() {
            for (_, other, of_other) in &numbers[..i] {
                let mut point = less.to_vec();
                for (k, far) in [(of_one[0], one), (of_other[0], other)] {
                    let j = problem.numbers[k].column;
                    let half = 0.5 * (less[j] + far[j]);
                    // Rounded towards what was there, so that it is not too expensive.
                    let step = problem.numbers[k].step.unwrap_or(0.0);
                    let half = half - 0.99 * step.copysign(far[j] - less[j]);
                    point[j] = problem.numbers[k].told(self.person[j], half);
                }
                if of_one[0] != of_other[0] {
                    found.push((point, vec![of_one[0], of_other[0]]));
                }
            }
        }
        found
    }
}
