//! Small spaces by brute force: at most four numbers that may change, and every combination of
//! categories that is not too expensive by itself.
//!
//! The noisy numbers' space is cut into cells on each of which the score keeps its sign: along the
//! cuts of trees, exactly; into a fine lattice for other models, where a cell on the boundary
//! counts as rejected in part. The rate of a point is the sum over rejected cells of the products
//! of the axes' normal masses.
//!
//! One contraction per axis gives the rates of all points of a grid. Finer and finer grids are then
//! placed around the cheapest points.

use super::problem::{Number, Problem};
use anyhow::Result;
use probe_core::Rows;
use probe_core::math::normal::cdf;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Most numbers that may change.
const MOST_AXES: usize = 4;
/// Cells in all, at most.
const MOST_CELLS: f64 = 1.5e6;
/// Cells of an axis where the model is no tree.
const LATTICE: usize = 400;
/// Points of an axis on the first grid, by the number of axes; windows have fewer.
const FIRST_GRID: [usize; MOST_AXES] = [400, 80, 32, 20];
const WINDOW: usize = 7;
/// How often windows are made smaller, where rates are exact and where they are not; the number of
/// windows in all; and the share of the cost that a window must save to be moved once more before
/// it is made smaller.
const ZOOMS: [usize; 2] = [8, 3];
const WINDOWS: usize = 30;
const LEAST_SAVING: f64 = 2e-3;
/// Points of the first grid around which finer grids are placed, and how many times the target
/// their rate may be.
const KEPT: usize = 6;
const RATE_FACTOR: f64 = 1.15;
/// Standard deviations beyond which noise is left out of lattices.
const BEYOND: f64 = 5.0;
/// Cells of at most this mass are left out.
const LEAST_MASS: f64 = 1e-13;
/// Masks that are kept, and combinations of categories that are tried for a person, at most.
const MASKS: usize = 512;
pub(super) const MOST_CHOICES: usize = 20_000;

/// One number's cells, in units of the model's input: ends and middles.
struct Axis {
    ends: Vec<f64>,
    middles: Vec<f64>,
}

/// The rejected share of each cell, the last axis fastest.
struct Mask {
    shape: Vec<usize>,
    refused: Vec<f32>,
}

/// A problem whose space is small.
pub(super) struct Small<'a> {
    problem: &'a Problem,
    numbers: Vec<&'a Number>,
    axes: Vec<Axis>,
    masks: Mutex<BTreeMap<Vec<u64>, Arc<Mask>>>,
    /// Whether rates are exact.
    pub(super) is_exact: bool,
}

impl<'a> Small<'a> {
    /// `None` where the space is not small.
    pub(super) fn new(problem: &'a Problem) -> Option<Self> {
        let numbers: Vec<&Number> = problem.numbers.iter().filter(|n| n.mutable).collect();
        let bounded = numbers.iter().all(|n| n.low.is_finite() && n.high.is_finite());
        if numbers.is_empty() || numbers.len() > MOST_AXES || !bounded {
            return None;
        }
        let cells = |axes: &[Axis]| axes.iter().map(|a| a.middles.len() as f64).product::<f64>();
        let of_trees = problem.model.as_trees().map(|trees| {
            numbers.iter().map(|number| Axis::of_trees(trees, number.column)).collect::<Vec<_>>()
        });
        let of_trees = of_trees.filter(|axes| cells(axes) <= MOST_CELLS);
        let is_exact = of_trees.is_some();
        let per_axis = MOST_CELLS.powf(1.0 / numbers.len() as f64) as usize;
        let lattice = |number: &&Number| Axis::lattice(problem, number, per_axis.min(LATTICE));
        let axes = of_trees.unwrap_or_else(|| numbers.iter().map(lattice).collect());
        Some(Self { problem, numbers, axes, masks: Mutex::default(), is_exact })
    }

    /// The cheapest points, with rates at most `r` where they are exact and about `r` where not;
    /// cheaper than `most`.
    pub(super) fn cheapest(&self, person: &[f64], r: f64, most: f64) -> Result<Vec<Vec<f64>>> {
        let mut least = most;
        let mut found: Vec<(f64, Vec<f64>)> = Vec::new();
        for (cost, base) in self.choices(person) {
            if cost >= least {
                break;
            }
            let mask = self.mask(&base)?;
            for (cost, point) in self.of_choice(person, &base, &mask, (r, least))? {
                least = least.min(cost);
                found.push((cost, point));
            }
        }
        found.sort_by(|a, b| a.0.total_cmp(&b.0));
        found.truncate(KEPT);
        Ok(found.into_iter().map(|(_, point)| point).collect())
    }

    /// Every combination of categories, the cheapest first.
    fn choices(&self, person: &[f64]) -> Vec<(f64, Vec<f64>)> {
        let mut all = vec![(0.0_f64, person.to_vec())];
        for category in &self.problem.categories {
            let Some(own) = category.option_of(person) else { continue };
            for i in 0..all.len() {
                for option in category.others(own) {
                    let (cost, mut row) = all[i].clone();
                    category.set(option, &mut row);
                    all.push((cost + category.cost(own, option), row));
                }
            }
            // The cheapest ones matter most.
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            all.truncate(MOST_CHOICES);
        }
        all
    }

    /// The rejected share of each cell, for rows that agree with `base` in all other columns.
    fn mask(&self, base: &[f64]) -> Result<Arc<Mask>> {
        let is_axis = |j: usize| self.numbers.iter().any(|number| number.column == j);
        let key: Vec<u64> =
            (0..base.len()).filter(|&j| !is_axis(j)).map(|j| base[j].to_bits()).collect();
        if let Ok(masks) = self.masks.lock()
            && let Some(mask) = masks.get(&key)
        {
            return Ok(Arc::clone(mask));
        }
        let mask = Arc::new(self.new_mask(base)?);
        if let Ok(mut masks) = self.masks.lock() {
            if masks.len() >= MASKS {
                masks.clear();
            }
            masks.insert(key, Arc::clone(&mask));
        }
        Ok(mask)
    }

    fn new_mask(&self, base: &[f64]) -> Result<Mask> {
        let shape: Vec<usize> = self.axes.iter().map(|axis| axis.middles.len()).collect();
        let n: usize = shape.iter().product();
        let d = base.len();
        let mut input = vec![0.0; d];
        self.problem.input_into(base, None, &mut input);
        let mut scores = vec![0.0; n];
        let block = shape[shape.len() - 1];
        let last = self.numbers.len() - 1;
        let mut rows: Vec<f64> = input.repeat(block);
        for (line, scores) in scores.chunks_exact_mut(block).enumerate() {
            let mut rest = line;
            for axis in (0..last).rev() {
                input[self.numbers[axis].column] = self.axes[axis].middles[rest % shape[axis]];
                rest /= shape[axis];
            }
            for (row, middle) in rows.chunks_exact_mut(d).zip(&self.axes[last].middles) {
                row.copy_from_slice(&input);
                row[self.numbers[last].column] = *middle;
            }
            self.problem.model.score_batch(Rows::new(&rows, d)?, scores)?;
        }
        let refused = if self.is_exact {
            scores.iter().map(|score| if *score > 0.0 { 0.0 } else { 1.0 }).collect()
        } else {
            shares(&scores, &shape)
        };
        Ok(Mask { shape, refused })
    }

    /// The cheapest points with the categories of `base`.
    fn of_choice(
        &self,
        person: &[f64],
        base: &[f64],
        mask: &Mask,
        (r, most): (f64, f64),
    ) -> Result<Vec<(f64, Vec<f64>)>> {
        let spent = self.problem.cost(person, base);
        let n = FIRST_GRID[self.numbers.len() - 1];
        let values: Vec<Vec<f64>> =
            self.numbers.iter().map(|number| first_grid(number, person, n, most - spent)).collect();
        let rates = self.table(mask, &values);
        let spacing: Vec<f64> = self
            .numbers
            .iter()
            .map(|number| (number.high - number.low) / n as f64)
            .map(|width| width.max(f64::MIN_POSITIVE))
            .collect();
        let mut centres: Vec<(f64, Vec<f64>)> = Vec::new();
        for (i, _) in rates.iter().enumerate().filter(|(_, rate)| **rate <= RATE_FACTOR * r) {
            let point = self.point(base, &values, i);
            let cost = self.problem.cost(person, &point);
            // Finer grids may save up to one step of this one.
            let steps: f64 = self.numbers.iter().zip(&spacing).map(|(n, s)| n.cost(0.0, *s)).sum();
            if cost - steps < most {
                centres.push((cost, point));
            }
        }
        centres.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut chosen: Vec<Vec<f64>> = Vec::new();
        for (_, point) in centres {
            let near = |other: &Vec<f64>| {
                self.numbers
                    .iter()
                    .zip(&spacing)
                    .all(|(n, by)| (point[n.column] - other[n.column]).abs() <= 1.5 * by)
            };
            if chosen.len() < KEPT && !chosen.iter().any(near) {
                chosen.push(point);
            }
        }
        let mut found = Vec::new();
        let mut least = most;
        for centre in chosen {
            if let Some((cost, point)) = self.zoom(person, centre, mask, (r, &spacing))?
                && cost < least
            {
                least = cost;
                found.push((cost, point));
            }
        }
        Ok(found)
    }

    /// Finer and finer grids around a point.
    fn zoom(
        &self,
        person: &[f64],
        mut centre: Vec<f64>,
        mask: &Mask,
        (r, spacing): (f64, &[f64]),
    ) -> Result<Option<(f64, Vec<f64>)>> {
        let mut best: Option<(f64, Vec<f64>)> = None;
        let mut spacing = spacing.to_vec();
        let mut zooms = 0;
        for _ in 0..WINDOWS {
            if zooms == ZOOMS[usize::from(!self.is_exact)] {
                break;
            }
            let before = best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
            let values: Vec<Vec<f64>> = self
                .numbers
                .iter()
                .zip(&spacing)
                .map(|(number, by)| window(number, person, centre[number.column], *by))
                .collect();
            let rates = self.table(mask, &values);
            let mut order: Vec<(f64, usize)> = (0..rates.len())
                .filter(|&i| rates[i] <= r)
                .map(|i| (self.problem.cost(person, &self.point(&centre, &values, i)), i))
                .collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut next = None;
            for (cost, i) in order {
                let point = self.point(&centre, &values, i);
                if self.problem.score(&point)? > 0.0 {
                    next = Some((cost, point));
                    break;
                }
            }
            match next {
                Some((cost, point)) => {
                    centre.clone_from(&point);
                    if best.as_ref().is_none_or(|(least, _)| cost < *least) {
                        best = Some((cost, point));
                    }
                }
                None => {
                    let lowest = (0..rates.len()).min_by(|&a, &b| rates[a].total_cmp(&rates[b]));
                    centre = self.point(&centre, &values, lowest.unwrap_or(0));
                }
            }
            // A window that gained much is moved once more before it is made smaller.
            let now = best.as_ref().map_or(f64::INFINITY, |(cost, _)| *cost);
            let moved = now < before * (1.0 - LEAST_SAVING);
            if !moved {
                spacing.iter_mut().for_each(|by| *by *= 0.45);
                zooms += 1;
            }
        }
        Ok(best)
    }

    /// `base` with the values of entry `i` of a table.
    fn point(&self, base: &[f64], values: &[Vec<f64>], mut i: usize) -> Vec<f64> {
        let mut point = base.to_vec();
        for (number, values) in self.numbers.iter().zip(values).rev() {
            point[number.column] = values[i % values.len()];
            i /= values.len();
        }
        point
    }

    /// The rates of all points of a grid, the last axis fastest.
    fn table(&self, mask: &Mask, values: &[Vec<f64>]) -> Vec<f64> {
        let mut masses = Vec::new();
        let mut ranges = Vec::new();
        for ((axis, number), values) in self.axes.iter().zip(&self.numbers).zip(values) {
            let of: Vec<Vec<f64>> =
                values.iter().map(|v| axis.masses(self.problem, number, *v)).collect();
            let matters = |cell: &usize| of.iter().any(|masses| masses[*cell] > LEAST_MASS);
            let first = (0..axis.middles.len()).find(matters).unwrap_or(0);
            let last = (0..axis.middles.len()).rfind(matters).unwrap_or(first);
            ranges.push(first..last + 1);
            masses.push(of);
        }
        let mut now = mask.part(&ranges);
        let (mut before, mut after) = (1, now.len());
        for (range, masses) in ranges.iter().zip(&masses) {
            after /= range.len();
            now = contract(&now, (before, range.clone(), after), masses);
            before *= masses.len();
        }
        now
    }
}

/// Sums over the middle one of three axes, once with each of these weights.
fn contract(
    from: &[f64],
    (before, range, after): (usize, Range<usize>, usize),
    masses: &[Vec<f64>],
) -> Vec<f64> {
    let mut sums = vec![0.0; before * masses.len() * after];
    let blocks = from.chunks_exact(range.len() * after);
    for (sums, block) in sums.chunks_exact_mut(masses.len() * after).zip(blocks) {
        for (sums, masses) in sums.chunks_exact_mut(after).zip(masses) {
            for (cells, mass) in block.chunks_exact(after).zip(&masses[range.clone()]) {
                if *mass > LEAST_MASS {
                    sums.iter_mut().zip(cells).for_each(|(sum, cell)| *sum += mass * cell);
                }
            }
        }
    }
    sums
}

impl Mask {
    /// The cells within a range on each axis.
    fn part(&self, ranges: &[Range<usize>]) -> Vec<f64> {
        let mut offsets = vec![0];
        for (n, range) in self.shape.iter().zip(ranges) {
            offsets = offsets
                .iter()
                .flat_map(|offset| range.clone().map(move |cell| offset * n + cell))
                .collect();
        }
        offsets.iter().map(|&i| f64::from(self.refused[i])).collect()
    }
}

impl Axis {
    fn of_trees(trees: &probe_core::Trees, column: usize) -> Self {
        let mut ends: Vec<f64> = Vec::new();
        for tree in trees.trees() {
            let splits = (0..tree.left.len()).filter(|&i| tree.left[i] >= 0);
            ends.extend(splits.filter(|&i| tree.feature[i] == column).map(|i| tree.threshold[i]));
        }
        ends.sort_by(f64::total_cmp);
        ends.dedup();
        let (first, last) = (ends.first().copied().unwrap_or(0.0), ends.last().copied());
        let mut middles = vec![first - 1.0];
        middles.extend(ends.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])));
        middles.extend(last.map(|last| last + 1.0));
        Self { ends, middles }
    }

    fn lattice(problem: &Problem, number: &Number, n: usize) -> Self {
        let beyond = BEYOND * number.raw_sd();
        let at = |share: f64| {
            let (low, high) = (number.low - beyond, number.high + beyond);
            problem.input(number, low + share * (high - low))
        };
        Self {
            ends: (1..n).map(|i| at(i as f64 / n as f64)).collect(),
            middles: (0..n).map(|i| at((i as f64 + 0.5) / n as f64)).collect(),
        }
    }

    /// The probability of each cell for somebody who aims at `value`.
    fn masses(&self, problem: &Problem, number: &Number, value: f64) -> Vec<f64> {
        let at = problem.input(number, value);
        let sd = problem.input_sd(number);
        let below = |end: &f64| match sd > 0.0 {
            true => cdf((end - at) / sd),
            false => f64::from(u8::from(at <= *end)),
        };
        let mut last = 0.0;
        let mut masses = Vec::with_capacity(self.middles.len());
        for end in self.ends.iter().map(below).chain([1.0]) {
            masses.push(end - last);
            last = end;
        }
        masses
    }
}

/// The rejected share of each cell, taking the score as linear within it.
fn shares(scores: &[f64], shape: &[usize]) -> Vec<f32> {
    let mut squares = vec![0.0; scores.len()];
    let mut stride = scores.len();
    for &n in shape {
        stride /= n;
        for i in 0..scores.len() {
            let at = i / stride % n;
            let (low, high) =
                (if at > 0 { i - stride } else { i }, if at + 1 < n { i + stride } else { i });
            let slope = (scores[high] - scores[low]) / ((high - low) / stride).max(1) as f64;
            squares[i] += slope * slope;
        }
    }
    let share = |(score, square): (&f64, &f64)| match (square.sqrt(), *score > 0.0) {
        (width, _) if width > 0.0 => (0.5 - score / width).clamp(0.0, 1.0) as f32,
        (_, favourable) => f32::from(u8::from(!favourable)),
    };
    scores.iter().zip(&squares).map(share).collect()
}

/// The values of a number on the first grid: the person's own, and about `n` others for at most
/// this cost.
fn first_grid(number: &Number, person: &[f64], n: usize, most: f64) -> Vec<f64> {
    let x = person[number.column];
    let (low, high) = number.limits(x);
    let mut values = vec![x];
    for i in 0..=n {
        values.push(number.told(x, low + (high - low) * i as f64 / n as f64));
    }
    if let Some(step) = number.step
        && (high - low) / step <= 3.0 * n as f64
    {
        let steps = ((high - low) / step) as usize + 1;
        values.extend((0..=steps).map(|i| number.told(x, low + i as f64 * step)));
    }
    values.retain(|v| number.cost(x, *v) <= most);
    sorted(values)
}

/// The values of a number near `centre`, and the person's own if it is near.
fn window(number: &Number, person: &[f64], centre: f64, spacing: f64) -> Vec<f64> {
    let x = person[number.column];
    let half = (WINDOW / 2) as f64;
    let by = spacing.max(number.step.unwrap_or(0.0)) / half.min(2.0);
    let by = by.max(number.step.unwrap_or(0.0));
    let mut values = vec![centre];
    for i in 0..WINDOW {
        values.push(number.told(x, centre + (i as f64 - half) * by));
    }
    if (x - centre).abs() <= (half + 1.0) * by {
        values.push(x);
    }
    sorted(values)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}
