//! Where the local search starts: single features, greedy climbs with features frozen, rows of the
//! training data, and points that others found. The best of what comes of them is moved to the
//! target rate and audited.

use super::draws::{AUDIT, Judge, LAND, REFINE, SCREEN};
use super::local::{Part, Search};
use anyhow::Result;
use probe_core::Stream;
use std::collections::BTreeSet;

/// Draws on which greedy climbs look.
const GLANCE: usize = 256;
/// Steps of a greedy climb, at most.
const STEPS: usize = 14;
/// Moves of one number that a climb compares, in standard deviations of the noise.
const MOVES: [f64; 6] = [1.0, 2.0, 4.0, 7.0, 12.0, 20.0];
/// Moves that a step of a climb looks at after the first, at most.
const LOOKED_AT: usize = 32;
/// Training rows that are looked at in a round, and of these the nearest ones that are tried.
const LOOK: usize = 400;
const NEAR: usize = 12;
/// Points this much more expensive than the best are still refined.
const WORSE: f64 = 1.1;
const REFINED: usize = 4;
/// Points that are moved to the target rate, at most.
const LANDED: usize = 2;
/// Shares of a standard error (of the draws that points land on) below the target that are tried.
const MARGINS: [f64; 5] = [0.0, 0.7, 1.5, 3.0, 6.0];
/// Random spread of what a climb thinks of a move.
const JITTER: f64 = 0.7;

/// A point that passed the audit.
#[derive(Debug, Clone)]
pub(super) struct Landed {
    pub(super) point: Vec<f64>,
    pub(super) cost: f64,
    pub(super) rate: f64,
}

impl Search<'_> {
    /// Searches from all kinds of starts but other programs' answers, until the rows are spent.
    pub(super) fn explore(
        &mut self,
        training: &[Vec<f64>],
        stream: &mut Stream,
    ) -> Result<Option<Landed>> {
        let mut pool = Vec::new();
        let person = self.person.to_vec();
        let singles = self.singles(&person)?;
        for single in singles.into_iter().take(2) {
            pool.push(self.descend(single, SCREEN)?);
        }
        let nobody = vec![false; person.len()];
        self.climb_and_keep(&person, &nobody, None, &mut pool)?;
        for row in self.near_rows(training, stream)?.into_iter().take(2) {
            pool.push(self.descend(row, SCREEN)?);
        }
        self.restart(training, stream, &mut pool)?;
        self.finish(pool)
    }

    /// Searches from points that others found.
    pub(super) fn follow(&mut self, starts: &[Vec<f64>]) -> Result<Option<Landed>> {
        let mut pool = Vec::new();
        for start in starts {
            if let Some(start) = self.raised(start, self.r, SCREEN)? {
                pool.push(self.descend(start, SCREEN)?);
            }
        }
        self.finish(pool)
    }

    /// Lands the cheapest of some points that are close to the best already.
    pub(super) fn settle(&mut self, points: Vec<Vec<f64>>) -> Result<Option<Landed>> {
        self.most_rows /= 4;
        self.finish(points)
    }

    /// Freezes what the best point changes, one by one, in pairs and all categories, and starts
    /// again from the person; then from random places.
    fn restart(
        &mut self,
        training: &[Vec<f64>],
        stream: &mut Stream,
        pool: &mut Vec<Vec<f64>>,
    ) -> Result<()> {
        let mut tried = BTreeSet::new();
        while !self.is_spent() {
            let best = self.best_of(pool);
            let next = best.as_ref().and_then(|best| {
                self.frozen_sets(best).into_iter().find(|set| !tried.contains(set))
            });
            if let (Some(set), Some(best)) = (next, best.as_ref()) {
                let mut frozen = vec![false; self.person.len()];
                let mut start = best.clone();
                for &part in &set {
                    start = self.without(&start, part);
                    self.columns(part).iter().for_each(|&c| frozen[c] = true);
                }
                // From what is left of the best, and from nothing.
                self.climb_and_keep(&start, &frozen, None, pool)?;
                if !self.is_spent() {
                    self.climb_and_keep(&self.person.to_vec(), &frozen, None, pool)?;
                }
                tried.insert(set);
                continue;
            }
            let from_row = stream.uniform() < 0.3;
            let rows = if from_row { self.near_rows(training, stream)? } else { Vec::new() };
            if let Some(row) = rows.into_iter().next() {
                pool.push(self.descend(row, SCREEN)?);
            }
            let share = 0.5 * stream.uniform();
            let frozen = self.some_frozen(share, stream);
            let before = self.judge.n_rows;
            self.climb_and_keep(&self.person.to_vec(), &frozen, Some(stream), pool)?;
            if self.judge.n_rows == before {
                break;
            }
        }
        Ok(())
    }

    /// Whole features, each frozen with this probability.
    fn some_frozen(&self, share: f64, stream: &mut Stream) -> Vec<bool> {
        let mut frozen = vec![false; self.person.len()];
        for part in self.parts() {
            let is = stream.uniform() < share;
            self.columns(part).iter().for_each(|&c| frozen[c] = is);
        }
        frozen
    }

    fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let problem = self.judge.problem;
        let numbers = (0..problem.numbers.len()).map(Part::Number);
        numbers.chain((0..problem.categories.len()).map(Part::Category))
    }

    /// What freezing tests freeze: each change, all categories that change, each pair.
    pub(super) fn frozen_sets(&self, point: &[f64]) -> Vec<Vec<Part>> {
        let changed = self.changed(point);
        let mut sets: Vec<Vec<Part>> = changed.iter().map(|part| vec![*part]).collect();
        let categories: Vec<Part> =
            self.parts().filter(|part| matches!(part, Part::Category(_))).collect();
        if !categories.is_empty() {
            sets.push(categories);
        }
        for (i, a) in changed.iter().enumerate() {
            sets.extend(changed[..i].iter().map(|b| vec![*b.min(a), *b.max(a)]));
        }
        sets
    }

    fn climb_and_keep(
        &mut self,
        start: &[f64],
        frozen: &[bool],
        jitter: Option<&mut Stream>,
        pool: &mut Vec<Vec<f64>>,
    ) -> Result<()> {
        if let Some(found) = self.climb(start, frozen, jitter)? {
            pool.push(self.descend(found, SCREEN)?);
        }
        Ok(())
    }

    /// Adds the change that gains most for its cost until the point holds; `None` where it does
    /// not get there.
    fn climb(
        &mut self,
        start: &[f64],
        frozen: &[bool],
        mut jitter: Option<&mut Stream>,
    ) -> Result<Option<Vec<f64>>> {
        let mut point = start.to_vec();
        let mut draws = GLANCE;
        let mut moves = self.moves(frozen);
        for step in 0..STEPS {
            let now = self.judge.quantile(&point, self.r, draws)?;
            if now > 0.0 {
                if self.holds(&point, SCREEN)? {
                    return Ok(Some(point));
                }
                draws = (2 * draws).min(SCREEN);
            }
            let (cost, lacking) = (self.cost(&point), (-now).max(1e-3 * now.abs()).max(1e-9));
            let mut best: Option<(f64, Vec<f64>)> = None;
            // What was worth little at first hardly is the best later.
            let most = if step == 0 { usize::MAX } else { LOOKED_AT };
            moves.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (last, values) in moves.iter_mut().take(most) {
                let mut other = point.clone();
                values.iter().for_each(|(column, value)| other[*column] = *value);
                if other == point {
                    continue;
                }
                let gain = self.judge.quantile(&other, self.r, draws)? - now;
                let price = (self.cost(&other) - cost).max(1e-6);
                *last = gain.min(1.2 * lacking) / price;
                let luck = jitter.as_mut().map_or(0.0, |stream| JITTER * stream.normal());
                let worth = *last * luck.exp();
                if gain > 0.0 && best.as_ref().is_none_or(|(most, _)| worth > *most) {
                    best = Some((worth, other));
                }
            }
            match best {
                Some((_, other)) if !self.is_spent() => point = other,
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// New values of single features, each with what it was worth when it was last looked at.
    fn moves(&self, frozen: &[bool]) -> Vec<(f64, Vec<(usize, f64)>)> {
        let problem = self.judge.problem;
        let mut found: Vec<Vec<(usize, f64)>> = Vec::new();
        for number in problem.numbers.iter().filter(|n| n.mutable && !frozen[n.column]) {
            let (j, x) = (number.column, self.person[number.column]);
            let unit = number.raw_sd().max(0.02 * number.width);
            for sign in [-1.0, 1.0] {
                let end = self.end(number, sign);
                for by in MOVES {
                    let v = x + sign * by * unit;
                    let v = number.told(x, if sign < 0.0 { v.max(end) } else { v.min(end) });
                    if v != x && found.last() != Some(&vec![(j, v)]) {
                        found.push(vec![(j, v)]);
                    }
                }
            }
        }
        for category in problem.categories.iter().filter(|c| !frozen[c.columns[0]]) {
            let Some(own) = category.option_of(self.person) else { continue };
            for option in category.others(own) {
                let values = category.columns.iter().zip(&category.options[option]);
                found.push(values.map(|(column, value)| (*column, *value)).collect());
            }
        }
        found.into_iter().map(|values| (f64::INFINITY, values)).collect()
    }

    /// Random training rows with everything that may not change as the person has it, as far as
    /// they hold, the nearest first.
    fn near_rows(&mut self, training: &[Vec<f64>], stream: &mut Stream) -> Result<Vec<Vec<f64>>> {
        if training.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows: Vec<Vec<f64>> = (0..LOOK.min(training.len()))
            .map(|_| self.reachable(&training[stream.below(training.len())]))
            .collect();
        rows.sort_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        let mut found = Vec::new();
        for row in rows {
            if found.len() == NEAR || self.is_spent() {
                break;
            }
            if self.holds(&row, SCREEN)? {
                found.push(row);
            }
        }
        Ok(found)
    }

    /// A row as near as the person can get to it.
    fn reachable(&self, row: &[f64]) -> Vec<f64> {
        let problem = self.judge.problem;
        let mut point = self.person.to_vec();
        for number in problem.numbers.iter().filter(|number| number.mutable) {
            let j = number.column;
            point[j] = number.told(self.person[j], row[j]);
        }
        for category in &problem.categories {
            if let (Some(from), Some(to)) = (category.option_of(&point), category.option_of(row))
                && category.others(from).any(|option| option == to)
            {
                category.set(to, &mut point);
            }
        }
        point
    }

    fn best_of(&self, pool: &[Vec<f64>]) -> Option<Vec<f64>> {
        pool.iter().min_by(|a, b| self.cost(a).total_cmp(&self.cost(b))).cloned()
    }

    /// Refines the best points on more draws, and lands the cheapest one that passes the audit.
    fn finish(&mut self, mut pool: Vec<Vec<f64>>) -> Result<Option<Landed>> {
        pool.sort_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        pool.dedup();
        let least = pool.first().map_or(f64::INFINITY, |first| self.cost(first));
        pool.retain(|point| self.cost(point) <= WORSE * least);
        pool.truncate(REFINED);
        // What was spent so far is not held against the last steps.
        self.most_rows = self.judge.n_rows + self.most_rows / 2;
        let mut refined = Vec::new();
        for point in pool {
            if let Some(point) = self.raised(&point, self.r, REFINE)? {
                refined.push(self.descend(point, REFINE)?);
            }
        }
        refined.sort_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        let mut best: Option<Landed> = None;
        let mut n_landed = 0;
        for point in refined {
            let most = best.as_ref().map_or(f64::INFINITY, |best| best.cost);
            if n_landed == LANDED || self.cost(&point) > 1.005 * most {
                break;
            }
            if let Some(landed) = self.land(&point)? {
                n_landed += 1;
                if landed.cost < most {
                    best = Some(landed);
                }
            }
        }
        Ok(best)
    }

    /// The point moved to the target rate, and audited.
    pub(super) fn land(&mut self, point: &[f64]) -> Result<Option<Landed>> {
        let error = (self.r * (1.0 - self.r) / LAND as f64).sqrt();
        for margin in MARGINS {
            let Some(point) = self.raised(point, self.r - margin * error, LAND)? else { continue };
            let rate = self.judge.audited(&point)?;
            let problem = self.judge.problem;
            if rate <= self.r
                && problem.score(&point)? > 0.0
                && problem.broken(self.person, &point).is_none()
            {
                return Ok(Some(Landed { cost: self.cost(&point), point, rate }));
            }
        }
        Ok(None)
    }

    /// The point with its numbers moved a little further, or back, until just a share `r` of the
    /// draws is refused; `None` where a little is not enough.
    fn raised(&mut self, point: &[f64], r: f64, level: usize) -> Result<Option<Vec<f64>>> {
        if self.judge.holds(point, r, level)? {
            let (mut bad, mut good) = (0.95, 1.0);
            let mut best = point.to_vec();
            for _ in 0..6 {
                let middle = 0.5 * (bad + good);
                let less = self.stretched(point, middle);
                if self.judge.holds(&less, r, level)? {
                    (good, best) = (middle, less);
                } else {
                    bad = middle;
                }
            }
            return Ok(Some(best));
        }
        if let Some(point) = self.one_step_more(point, r, level)? {
            return Ok(Some(point));
        }
        let (mut bad, mut good) = (1.0, 1.01);
        while !self.judge.holds(&self.stretched(point, good), r, level)? {
            (bad, good) = (good, 1.0 + 2.0 * (good - 1.0));
            if good > 1.7 {
                return Ok(None);
            }
        }
        for _ in 0..5 {
            let middle = 0.5 * (bad + good);
            let holds = self.judge.holds(&self.stretched(point, middle), r, level)?;
            *(if holds { &mut good } else { &mut bad }) = middle;
        }
        Ok(Some(self.stretched(point, good)))
    }

    /// The cheapest way to let the point hold by one more step of one number that moves by steps.
    fn one_step_more(&mut self, point: &[f64], r: f64, level: usize) -> Result<Option<Vec<f64>>> {
        let mut best: Option<Vec<f64>> = None;
        for number in &self.judge.problem.numbers {
            let Some(step) = number.step.filter(|_| number.mutable) else { continue };
            let (j, x) = (number.column, self.person[number.column]);
            for by in [step, -step] {
                let mut other = point.to_vec();
                other[j] = number.told(x, point[j] + by);
                let cheaper = best.as_ref().is_none_or(|best| self.cost(&other) < self.cost(best));
                if other[j] != point[j] && cheaper && self.judge.holds(&other, r, level)? {
                    best = Some(other);
                }
            }
        }
        Ok(best)
    }

    /// All numbers' changes times a factor, as far as they go.
    fn stretched(&self, point: &[f64], factor: f64) -> Vec<f64> {
        let mut other = point.to_vec();
        for number in &self.judge.problem.numbers {
            let (j, x) = (number.column, self.person[number.column]);
            if point[j] != x {
                other[j] = number.told(x, x + factor * (point[j] - x));
            }
        }
        other
    }
}

/// A point that somebody else found, if it is admissible and passes the audit or, where its rate
/// is known to be exact, does not fail it.
pub(super) fn audited(
    judge: &mut Judge<'_>,
    person: &[f64],
    point: &[f64],
) -> Result<Option<Landed>> {
    let problem = judge.problem;
    if !(problem.score(point)? > 0.0 && problem.broken(person, point).is_none()) {
        return Ok(None);
    }
    debug_assert!(AUDIT > LAND);
    let rate = judge.audited(point)?;
    Ok(Some(Landed { point: point.to_vec(), cost: problem.cost(person, point), rate }))
}
