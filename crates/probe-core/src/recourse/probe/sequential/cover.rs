//! Branch and bound over boxes of a space of few numbers, ordered by what an answer inside would
//! cost at least.
//!
//! Under Gaussian noise the margin $M = \Phi^{-1}(1-\Delta)$ changes by at most one per standard
//! deviation of the noise, so that $M(x) \le M(c) + R$ for every point of a box with centre $c$ and
//! radius $R$, in deviations. A box whose bound misses the target holds no answer. The gradient
//! tells more: within a box that is not large, $M(x) \le M(c) + g^\top(x - c) + \kappa R^2/2$,
//! where $\kappa$ limits how strongly the margin curves upwards. The cheapest point that meets the
//! target with this bound, an exact linear problem, is what an answer in the box costs at least.
//! Without the last term it is the point to try next. The box of the least cost is divided first,
//! until no box can hold an answer that is clearly cheaper than the best one.
//!
//! This is a search, not a proof: the margin comes from samples, $\kappa$ is a guess, noise that is
//! not Gaussian has no Lipschitz constant of one, and boxes are counted.

use super::incumbent::Incumbent;
use super::problem::{Precision, Problem};
use super::search::Search;
use super::{DOUBT, GLANCE};
use crate::error::Result;
use crate::recourse::SearchEffort;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What an answer in a box must save to be looked for, as a share of the cost.
const WORTH: f64 = 0.015;
/// Boxes that are measured at most, by effort.
const MOST_BOXES: [usize; 2] = [2_048, 16_384];
/// The limit of the margin's upward curvature per squared deviation, by effort.
const CURVATURE: [f64; 2] = [0.4, 1.0];
/// How much the margin may rise within a standard deviation of noise that is not Gaussian.
const STEEPEST: f64 = 1.5;
/// Boxes of a smaller radius, in deviations, are measured closely.
const CLOSE: f64 = 0.6;
/// What few lines, and many, may be wrong by.
const CLOSE_DOUBT: f64 = 0.03;
const ROUGH_DOUBT: f64 = 0.05;
/// Boxes of a smaller radius are not divided further.
const LEAST_RADIUS: f64 = 0.1;
/// Points are tried in boxes up to this radius; descents start where a point's margin misses the
/// target by no more than `NEAR`, and this many at most.
const TRIED: f64 = 1.5;
const NEAR: f64 = 0.3;
const NEAR_ROUGHLY: f64 = 0.05;
const DESCENTS: usize = 60;
/// Where lines bend: so many times as many are read for the margin as for its gradient, and steps
/// from a point at most.
const CLOSER: usize = 2;
const REFINEMENTS: usize = 8;
const NEAR_STEPS: f64 = 0.5;
const LEAST_GAIN: f64 = 2e-3;
/// Lines on which a point is verified there before it counts as an answer.
const VERIFIED: usize = 512;
/// Lines that may be read, by effort.
const MOST_LINES: [u64; 2] = [50_000, 400_000];
const MOST_ROUGH_LINES: [u64; 2] = [25_000, 400_000];
/// No margin is believed to be lower: few samples cannot show it.
const LEAST_MARGIN: f64 = -2.0;
/// How far a number without limits goes where there is no answer yet, in deviations.
const FAR: f64 = 40.0;

/// The columns of numbers, and what each may become.
pub(super) type Space = Vec<(usize, (f64, f64))>;

/// A number that may change.
pub(super) struct Axis {
    pub column: usize,
    /// Standard deviation of its noise.
    pub sd: f64,
    /// What it may become.
    pub ends: (f64, f64),
}

/// A box, with what an answer inside costs at least.
#[derive(Debug, Clone)]
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

/// An upper bound on the margin less the target within a box: affine, and equal to `level` at the
/// centre.
struct Model {
    centre: Vec<f64>,
    gradient: Vec<f64>,
    level: f64,
}

/// What was seen at a place.
struct Look {
    /// Margin less the target; a point that is not favourable has none to spare.
    slack: f64,
    /// The same whatever the point itself.
    excess: f64,
    /// Whether the gradient is that of the margin.
    sloped: bool,
}

/// The search of one person's space.
pub(super) struct Cover<'s, 'a, 'p> {
    pub search: &'s mut Search<'a>,
    problem: Problem<'p>,
    pub best: &'s mut Incumbent,
    axes: Vec<Axis>,
    steepest: f64,
    curvature: f64,
    parts: BinaryHeap<Part>,
    n_parts: usize,
    /// Boxes that may still be measured, and descents that may still start.
    left: usize,
    descents: usize,
    /// Work spent at which the search ends.
    end: u64,
    /// Whether it found a cheaper answer.
    pub improved: bool,
}

impl<'s, 'a, 'p> Cover<'s, 'a, 'p> {
    /// A search over `axes` that ends at its limits of boxes and lines.
    pub(super) fn new(
        search: &'s mut Search<'a>,
        problem: Problem<'p>,
        best: &'s mut Incumbent,
        axes: Vec<Axis>,
    ) -> Self {
        let thorough = usize::from(problem.effort == SearchEffort::Thorough);
        let most_lines = match search.margin.looks_closer() {
            true => MOST_ROUGH_LINES[thorough],
            false => MOST_LINES[thorough],
        };
        let is_gaussian = search.task.noise.as_gaussian().is_some();
        Self {
            steepest: if is_gaussian { 1.0 } else { STEEPEST },
            curvature: CURVATURE[thorough],
            parts: BinaryHeap::new(),
            n_parts: 0,
            left: MOST_BOXES[thorough],
            descents: DESCENTS,
            end: problem.budget.spent() + most_lines,
            improved: false,
            search,
            problem,
            best,
            axes,
        }
    }

    pub(super) fn space(&self) -> Space {
        self.axes.iter().map(|axis| (axis.column, axis.ends)).collect()
    }

    /// Begins at the best point of a search before; says whether that led to an answer, or that
    /// search found none.
    pub(super) fn begin_at(&mut self, point: Option<&[f64]>) -> Result<bool> {
        let Some(point) = point else { return Ok(true) };
        let before = self.best.cost;
        self.improve(&mut point.to_vec())?;
        self.improved = self.best.cost < before;
        Ok(self.best.cost.is_finite())
    }

    /// Looks for answers until none can be clearly cheaper, or a limit is reached.
    pub(super) fn run(&mut self) -> Result<()> {
        if self.search.margin.looks_closer() && self.best.cost.is_finite() {
            // Rough lines may have misled.
            let mut known = self.best.point.clone();
            self.best.measure_again();
            self.refine(&mut known)?;
        }
        let Some(all) = self.all() else { return Ok(()) };
        self.keep(all, 0.0);
        while let Some(part) = self.parts.pop() {
            let budget = self.problem.budget;
            let over = self.left == 0 || budget.spent() >= self.end || budget.is_exhausted();
            if over || part.least >= self.worth() {
                break;
            }
            self.left -= 1;
            self.measure(part)?;
        }
        Ok(())
    }

    /// What an answer may cost to be worth it.
    fn worth(&self) -> f64 {
        (1.0 - WORTH) * self.best.cost
    }

    /// The whole space, as far as it is not too expensive.
    fn all(&self) -> Option<Vec<(f64, f64)>> {
        let (factual, task) = (self.problem.factual, &self.search.task);
        let ends = |axis: &Axis| {
            let (x, (low, high)) = (factual[axis.column], axis.ends);
            let far = |way: f64| match self.best.cost.is_finite() {
                true => self.best.cost / task.cost.weight(axis.column, way),
                false => FAR * axis.sd,
            };
            let (from, to) = (low.max(x - far(-1.0)), high.min(x + far(1.0)));
            (from <= to).then_some((from, to))
        };
        self.axes.iter().map(ends).collect()
    }

    fn keep(&mut self, ends: Vec<(f64, f64)>, least: f64) {
        self.parts.push(Part { least, number: self.n_parts, ends });
        self.n_parts += 1;
    }

    /// Measures a box at its centre, tries the point that this points to, and divides the box where
    /// an answer inside may be cheap enough.
    fn measure(&mut self, part: Part) -> Result<()> {
        let mut centre = self.problem.factual.to_vec();
        let mut radius = 0.0_f64;
        for (axis, (low, high)) in self.axes.iter().zip(&part.ends) {
            centre[axis.column] = 0.5 * (low + high);
            radius = radius.hypot(0.5 * (high - low) / axis.sd);
        }
        let close = radius < CLOSE;
        let rough = self.search.margin.looks_closer();
        let (lines, doubt) = match (close, rough) {
            (false, _) => (GLANCE, DOUBT),
            (true, false) => (self.search.tuning.coarse, CLOSE_DOUBT),
            (true, true) => (self.search.tuning.coarse / 2, ROUGH_DOUBT),
        };
        let seen = self.look(&centre, lines)?;
        // Some rates are exact.
        let precision = self.search.tuning.precision;
        let doubt = if self.search.variance > 0.0 { doubt } else { precision };
        let excess = seen.excess.max(LEAST_MARGIN - self.problem.z);
        if excess + self.steepest * radius + doubt < 0.0 {
            return Ok(());
        }
        // The gradient may be that of the point's own score.
        let sloped = seen.sloped;
        let bend = 0.5 * self.curvature * radius * radius + doubt;
        let model = Model { gradient: self.search.gradient.clone(), level: excess, centre };
        if sloped && radius <= TRIED {
            self.try_point(&model, &part)?;
        }
        let above = Model { level: excess + bend, ..model };
        // A flat bound is used where the affine one is none.
        let above = Some(above).filter(|_| sloped && bend < self.steepest * radius + doubt);
        self.divide(&part, radius, above.as_ref())
    }

    /// Tries the cheapest point of a box that meets the target by the model.
    fn try_point(&mut self, model: &Model, part: &Part) -> Result<()> {
        let Some(mut point) = self.cheapest(model, &part.ends) else { return Ok(()) };
        let factual = self.problem.factual;
        if self.cost(&point) >= self.worth() || !self.search.is_admissible(factual, &point) {
            return Ok(());
        }
        let rough = self.search.margin.looks_closer();
        if self.descents == 0 {
            return Ok(());
        }
        let slack = self.look(&point, GLANCE)?.slack;
        let doubt = if self.search.variance > 0.0 { DOUBT } else { 0.0 };
        if slack < -doubt - if rough { NEAR_ROUGHLY } else { NEAR } {
            return Ok(());
        }
        let before = self.best.cost;
        self.improve(&mut point)?;
        self.improved |= self.best.cost < before;
        self.descents -= usize::from(self.best.cost >= before);
        Ok(())
    }

    /// The margin less the target at a place, and its gradient in `search.gradient`. Where lines
    /// bend, rough ones give the gradient and others the margin.
    fn look(&mut self, x: &[f64], lines: usize) -> Result<Look> {
        self.search.hint.clear();
        let slack = self.search.slack(self.problem, x, Precision::Lines(lines))?;
        let excess = self.search.excess;
        if !(self.search.margin.looks_closer() && self.search.favourable) {
            return Ok(Look { slack, excess, sloped: slack == excess });
        }
        let closely = self.search.closer_slack(self.problem, x, CLOSER * lines)?;
        Ok(Look { slack: closely, excess: closely, sloped: true })
    }

    /// Steps from a point that nearly meets the target, or meets it.
    fn improve(&mut self, x: &mut Vec<f64>) -> Result<()> {
        if self.search.margin.looks_closer() {
            return self.refine(x);
        }
        let near = 0.5 * self.search.margin.largest_sd();
        self.search.descend(self.problem, self.problem.coarse, near, x, self.best)
    }

    /// Steps of the linearised margin to the cheapest point near `x` that meets the target.
    fn refine(&mut self, x: &mut Vec<f64>) -> Result<()> {
        let mut near = NEAR_STEPS;
        for step in 0..REFINEMENTS {
            let lines = self.search.tuning.coarse;
            let seen = self.look(x, if step == 0 { lines / 2 } else { lines })?;
            if !seen.sloped || seen.excess < -NEAR {
                break;
            }
            let mut level = seen.excess;
            if seen.slack >= -CLOSE_DOUBT && self.cost(x) < self.worth() {
                level = self.search.closer_slack(self.problem, x, VERIFIED)?;
                self.best.offer(x, self.cost(x), level);
            }
            let ends = self.around(x, near);
            let gradient = self.search.gradient.clone();
            let model = Model { centre: x.clone(), gradient, level };
            let Some(next) = self.cheapest(&model, &ends) else { break };
            let gain = (self.cost(x) - self.cost(&next)).abs();
            if gain < LEAST_GAIN * self.cost(x) && level >= 0.0 {
                break;
            }
            *x = next;
            near *= 0.6;
        }
        Ok(())
    }

    fn cost(&self, x: &[f64]) -> f64 {
        self.search.task.cost.between(self.problem.factual, x)
    }

    /// The box of points no further than `near` deviations from `x` in any number.
    fn around(&self, x: &[f64], near: f64) -> Vec<(f64, f64)> {
        let side = |axis: &Axis| {
            let (at, (low, high)) = (x[axis.column], axis.ends);
            ((at - near * axis.sd).max(low), (at + near * axis.sd).min(high))
        };
        self.axes.iter().map(side).collect()
    }

    /// The cheapest point of a box that meets the target by a model; `None` if none does.
    fn cheapest(&mut self, model: &Model, ends: &[(f64, f64)]) -> Option<Vec<f64>> {
        let (task, factual) = (Arc::clone(&self.search.task), self.problem.factual);
        let mut point = factual.to_vec();
        let change = |j: usize| model.gradient[j] * (factual[j] - model.centre[j]);
        let value = model.level + (0..factual.len()).map(change).sum::<f64>();
        let axes = &self.axes;
        let interval = |j: usize| match axes.iter().position(|axis| axis.column == j) {
            Some(i) => Some(ends[i]),
            None => task.actions.interval(j, factual[j]),
        };
        let found = self.search.step.cheapest(
            &task,
            (factual, value),
            &model.gradient,
            0.0,
            interval,
            &mut point,
        );
        found.then_some(point)
    }

    /// Keeps those halves of a box in which an answer may be cheap enough.
    fn divide(&mut self, part: &Part, radius: f64, above: Option<&Model>) -> Result<()> {
        if radius < LEAST_RADIUS {
            return Ok(());
        }
        let factual = self.problem.factual;
        let width = |i: usize| (part.ends[i].1 - part.ends[i].0) / self.axes[i].sd;
        let Some(widest) = (0..self.axes.len()).max_by(|&a, &b| width(a).total_cmp(&width(b)))
        else {
            return Ok(());
        };
        let (low, high) = part.ends[widest];
        let own = factual[self.axes[widest].column];
        let middle = if low < own && own < high { own } else { 0.5 * (low + high) };
        for half in [(low, middle), (middle, high)] {
            let mut ends = part.ends.clone();
            ends[widest] = half;
            let nearest = self.nearest(&ends);
            let mut least = self.search.task.cost.between(factual, &nearest);
            if let Some(above) = above {
                let Some(point) = self.cheapest(above, &ends) else { continue };
                least = least.max(self.search.task.cost.between(factual, &point));
            }
            if least < self.worth() {
                self.keep(ends, least.max(part.least));
            }
        }
        Ok(())
    }

    /// The point of a box that is nearest to the person.
    fn nearest(&self, ends: &[(f64, f64)]) -> Vec<f64> {
        let mut point = self.problem.factual.to_vec();
        for (axis, (low, high)) in self.axes.iter().zip(ends) {
            point[axis.column] = point[axis.column].clamp(*low, *high);
        }
        point
    }
}
