//! Branch and bound over steps, for one choice of categories.

use super::{Aim, DiscreteWorker};
use crate::error::Result;
use crate::recourse::{Reason, Report, Verdict};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Searches for one choice of categories.
const NODES_OF_A_CHOICE: usize = 48;

/// The best point on the grid so far.
pub(super) struct Best {
    /// In the norm's total.
    pub total: f64,
    pub point: Vec<f64>,
    /// The rate that the search aimed at there, and what it says about the point.
    pub aim: Option<f64>,
    pub report: Report,
    pub nodes: usize,
    pub stopped: bool,
    /// Whether every relaxation so far was solved with a proof.
    pub proven: bool,
}

impl Best {
    pub(super) fn new(factual: &[f64], nodes: usize) -> Self {
        let (total, point) = (f64::INFINITY, factual.to_vec());
        Self {
            total,
            point,
            aim: None,
            report: Report::default(),
            nodes,
            stopped: false,
            proven: true,
        }
    }
}

/// A part of the problem that was not looked at yet.
struct Node {
    bound: f64,
    /// Breaks ties, so that the order is always the same.
    number: usize,
    limits: Vec<(f64, f64)>,
}

impl Ord for Node {
    fn cmp(&self, other: &Self) -> Ordering {
        other.bound.total_cmp(&self.bound).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Node {}

impl DiscreteWorker<'_> {
    /// The best point on the grid with the categories of `self.person`, whose choice costs `spent`.
    /// What is found first in each room goes to `self.roots`.
    pub(super) fn branch(
        &mut self,
        aim: Aim<'_>,
        spent: f64,
        rooms: Vec<Vec<(f64, f64)>>,
        best: &mut Best,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        let norm = task.cost.norm();
        let n_rooms = rooms.len();
        self.roots.clear();
        let mut heap = BinaryHeap::new();
        let mut number = 0;
        let most = match self.solver.exact {
            true => usize::MAX,
            false => NODES_OF_A_CHOICE * aim.effort.times_nodes(),
        };
        let mut used = 0;
        for limits in rooms {
            heap.push(Node { bound: spent, number, limits });
            number += 1;
        }
        while let Some(node) = heap.pop() {
            if node.bound >= best.total {
                break;
            }
            let mut is_root = node.number < n_rooms;
            let mut limits = node.limits;
            loop {
                let exhausted = best.nodes == 0 || used > 0 && aim.budget.is_exhausted();
                if exhausted || used >= most {
                    best.stopped |= exhausted;
                    break;
                }
                best.nodes -= 1;
                used += 1;
                self.within.limits.copy_from_slice(&limits);
                // Far and wide only where nothing was tried yet.
                let first = best.nodes + 1 == self.nodes(aim.effort);
                self.relax(if first { aim } else { aim.less() })?;
                best.proven &= self.found.proven;
                if is_root {
                    self.roots.push(self.found.clone());
                    is_root = false;
                }
                match self.found.verdict {
                    Verdict::Reached => {}
                    Verdict::Short(Reason::SearchLimit) => best.stopped = true,
                    Verdict::Short(_) => break,
                }
                let total = norm.join(spent, task.cost.total(&self.person, &self.found.point));
                if total >= best.total {
                    break;
                }
                let mut snapped = self.found.point.clone();
                self.snap(&mut snapped);
                // A cut may lie between a step and what is on it but for rounding.
                let accepted = self.solver.exact || task.model.score(&snapped)? > 0.0;
                let Some((j, below, above)) = self.between_steps(!accepted) else {
                    if accepted {
                        best.total = total;
                        (best.aim, best.report) = (self.found.aim, self.found.report);
                        best.point = snapped;
                    }
                    break;
                };
                let other = self.split(&mut limits, (j, below, above));
                if other[j].0 <= other[j].1 {
                    number += 1;
                    heap.push(Node { bound: total, number, limits: other });
                }
                if limits[j].0 > limits[j].1 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Cuts `limits` to the better side of two steps of a feature; returns the other side.
    fn split(
        &self,
        limits: &mut [(f64, f64)],
        (j, below, above): (usize, f64, f64),
    ) -> Vec<(f64, f64)> {
        let (low, high) = limits[j];
        // A limit is a step, if not to the bit.
        let near = 1e-6 * self.task.actions.grid(j).map_or(0.0, |grid| grid.step);
        let above = if above > high && above <= high + near { high } else { above };
        let below = if below < low && below >= low - near { low } else { below };
        let mut other = limits.to_vec();
        let outward = self.found.point[j] > self.person[j];
        (limits[j], other[j]) =
            if outward { ((above, high), (low, below)) } else { ((low, below), (above, high)) };
        other
    }

    /// The feature that is furthest between two of its steps, in terms of what it costs, with these
    /// steps; to the last bit if `exactly`, otherwise what is on a step but for rounding is on it.
    fn between_steps(&self, exactly: bool) -> Option<(usize, f64, f64)> {
        let task = &*self.task;
        let mut most: Option<(f64, (usize, f64, f64))> = None;
        for (j, (&to, &from)) in self.found.point.iter().zip(&self.person).enumerate() {
            let Some(grid) = task.actions.grid(j).filter(|_| to != from) else { continue };
            let (mut below, mut above) = (grid.below(to), grid.above(to));
            if grid.has(to) {
                let step = grid.zero + grid.step * ((to - grid.zero) / grid.step).round();
                if !exactly || step == to {
                    continue;
                }
                (below, above) =
                    if to > step { (step, step + grid.step) } else { (step - grid.step, step) };
            }
            // Where the person is now is as good as a step.
            if to > from {
                below = below.max(from);
            } else {
                above = above.min(from);
            }
            let off = task.cost.weight(j, to - from) * (to - below).min(above - to);
            if most.as_ref().is_none_or(|(so_far, _)| off > *so_far) {
                most = Some((off, (j, below, above)));
            }
        }
        most.map(|(_, found)| found)
    }

    /// Puts what lies on a step but for rounding on it.
    pub(super) fn snap(&self, point: &mut [f64]) {
        let actions = &self.task.actions;
        for (j, (to, &from)) in point.iter_mut().zip(&self.person).enumerate() {
            if let Some(grid) = actions.grid(j).filter(|_| *to != from) {
                let (low, high) = actions.interval(j, from).unwrap_or((from, from));
                *to = (grid.zero + grid.step * ((*to - grid.zero) / grid.step).round())
                    .clamp(low, high);
            }
        }
    }
}
