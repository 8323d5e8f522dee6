//! The exact linear solver as a step of a search on any model.

use super::reduced::{Layout, Reduced, Requirement, Solution};
use super::{Found, program, solve, spend_by_bisection, subset};
use crate::cost::Scratch;
use crate::recourse::Task;

/// One step of a search on any model: the exact linear solver on a linearised score.
#[derive(Default)]
pub(in super::super) struct Step {
    reduced: Reduced,
    scratch: Scratch,
    solution: Solution,
}

impl Step {
    /// Writes the cheapest point, seen from `factual`, at which the affine function that is `value`
    /// at `factual` and has `weights` reaches `needed`; each feature stays in its `interval`. If no
    /// point does, writes the point where the function is largest and returns false.
    pub(in super::super) fn cheapest(
        &mut self,
        task: &Task,
        (factual, value): (&[f64], f64),
        weights: &[f64],
        needed: f64,
        interval: impl Fn(usize) -> Option<(f64, f64)>,
        point: &mut [f64],
    ) -> bool {
        if task.actions.has_sums() {
            let gain = needed - value;
            let found =
                program::cheapest(task, factual, weights, gain, &interval, point) != Found::Nothing;
            return found || {
                program::furthest(task, factual, weights, f64::INFINITY, &interval, point);
                false
            };
        }
        let layout = Layout::new(&task.actions, &task.cost, weights, |_| 0.0);
        self.solve(task, (factual, value), &layout, Requirement::fixed(needed), interval, point)
    }

    /// The same if every changed feature adds noise with its standard deviation in `sd`, and the
    /// function must reach `z` standard deviations of the total noise.
    pub(in super::super) fn cheapest_under_noise(
        &mut self,
        task: &Task,
        (factual, value): (&[f64], f64),
        weights: &[f64],
        (z, sd): (f64, impl Fn(usize) -> f64),
        point: &mut [f64],
    ) -> bool {
        let layout =
            Layout::new(&task.actions, &task.cost, weights, |j| (weights[j] * sd(j)).powi(2));
        let requirement = Requirement::new(z, 0.0, 0.0, value, true).guessed();
        let interval = |j: usize| task.actions.interval(j, factual[j]);
        self.solve(task, (factual, value), &layout, requirement, interval, point)
    }

    fn solve(
        &mut self,
        task: &Task,
        (factual, value): (&[f64], f64),
        layout: &Layout,
        requirement: Requirement,
        interval: impl Fn(usize) -> Option<(f64, f64)>,
        point: &mut [f64],
    ) -> bool {
        let Self { reduced, scratch, solution } = self;
        point.copy_from_slice(factual);
        if layout.reduce_into(task, factual, value, interval, reduced).is_err() {
            return false;
        }
        let norm = task.cost.norm();
        if reduced.is_plain() {
            norm.prepare(&reduced.items, scratch);
        }
        let found = solve(norm, reduced, scratch, &requirement, solution) != Found::Nothing;
        if !found {
            solution.reset(reduced);
            subset::most_robust(reduced, &requirement, solution);
        }
        reduced.write(solution, task, point);
        found
    }
}

impl Step {
    /// Writes the point, seen from `factual`, at which the affine function with `weights` is
    /// largest among those that cost at most `budget`; each feature stays in its `interval`. False
    /// if the moves that the intervals force cost more.
    pub(in super::super) fn furthest(
        &mut self,
        task: &Task,
        factual: &[f64],
        weights: &[f64],
        budget: f64,
        interval: impl Fn(usize) -> Option<(f64, f64)>,
        point: &mut [f64],
    ) -> bool {
        if task.actions.has_sums() {
            return program::furthest(task, factual, weights, budget, interval, point);
        }
        let Self { reduced, scratch, solution } = self;
        point.copy_from_slice(factual);
        let layout = Layout::new(&task.actions, &task.cost, weights, |_| 0.0);
        if layout.reduce_into(task, factual, 0.0, interval, reduced).is_err() {
            return false;
        }
        let norm = task.cost.norm();
        solution.reset(reduced);
        if norm.finish(reduced.total_at_start(norm)) > budget {
            return false;
        }
        if reduced.is_plain() {
            norm.furthest(&reduced.items, reduced.base_total, budget, &mut solution.moves);
        } else {
            let levels = (reduced.base_score, 1.0);
            spend_by_bisection(
                norm,
                reduced,
                scratch,
                budget,
                levels,
                Requirement::fixed,
                solution,
            );
        }
        reduced.write(solution, task, point);
        true
    }
}
