//! Walks over numbers on their steps, categories, pairs of them, and exchanges around the best
//! point ([`crate::recourse::probe::sweep`]). A change of category competes here with everything
//! that leaves it alone, and steps are seen as they are, not between them.

use super::branch::Best;
use super::{Aim, DiscreteWorker};
use crate::error::Result;
use crate::invalidation::Places;
use crate::math::normal::upper_quantile;
use crate::recourse::probe::sweep::{
    Axis, Closeness, Ground, Measured, Number, Reach, Sweep, lines_of_profile,
};
use crate::recourse::{Reason, Report, SearchEffort, Task, infeasibility};
use crate::seed::Purpose;
use std::sync::Arc;

/// Lines that a place is measured on, or as many samples as are worth them.
const GLANCE: usize = 8;
const CLOSE: usize = 128;
/// The name of this generator in an answer's source.
pub(in crate::recourse::probe) const MIXED_WALKS: &str = "mixed_walks";
/// Number of the stream of points anywhere.
const SCATTERED: u64 = 7;

impl DiscreteWorker<'_> {
    /// Offers what walks find. Returns the most robust of the points that are accepted and fall
    /// short, with its rate.
    pub(super) fn walk(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        best: &mut Best,
    ) -> Result<Option<Vec<f64>>> {
        let task = Arc::clone(&self.task);
        let hopeless = best.total.is_infinite()
            && task.model.as_trees().is_some_and(|trees| {
                infeasibility::of_trees(trees, factual, &task.actions) != Reason::NotFound
            });
        let left_out = task.left_out == Some(MIXED_WALKS);
        if hopeless || left_out || aim.effort == SearchEffort::Quick {
            return Ok(None);
        }
        let axes = self.axes(factual);
        let reach = Reach::of(aim.effort, axes.len(), aim.budget);
        let z = upper_quantile(aim.usual());
        let known = best.total.is_finite().then(|| (best.total, best.point.clone()));
        let mut sweep = Sweep::new(&task, factual, z, reach, known);
        let mut ground = OnRates { worker: self, task: &task, factual, z, aim, confirms: false };
        sweep.run_far(&mut ground, &axes, &mut task.seed.stream(Purpose::Search, SCATTERED))?;
        if sweep.improved {
            (best.total, best.point) = sweep.best;
            (best.aim, best.report) = (None, Report::of(MIXED_WALKS));
        }
        Ok(sweep.nearest.map(|(_, point)| point))
    }

    /// Whether an answer with the categories of `self.person`, which cost `spent`, may be cheaper
    /// than the best: the noise tells how much margin the cost that is left can buy.
    pub(super) fn may_pay(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        spent: f64,
        best: &Best,
    ) -> Result<bool> {
        if self.solver.exact || best.total.is_infinite() || aim.effort == SearchEffort::Quick {
            return Ok(true);
        }
        let task = Arc::clone(&self.task);
        let mut axes = self.axes(factual);
        axes.retain(|axis| matches!(axis, Axis::Number(_)));
        let (person, z) = (self.person.clone(), upper_quantile(aim.usual()));
        let known = Some((best.total, best.point.clone()));
        let mut sweep = Sweep::new(&task, factual, z, Reach::of(aim.effort, 0, aim.budget), known);
        let mut ground = OnRates { worker: self, task: &task, factual, z, aim, confirms: false };
        sweep.may_hold(&mut ground, &axes, &person, spent)
    }

    /// What may change, to walk along.
    pub(super) fn axes(&self, factual: &[f64]) -> Vec<Axis> {
        let actions = &self.task.actions;
        let number = |column: usize| {
            let (low, high) = actions.interval_alone(column, factual)?;
            let moves = actions.is_mutable_numeric(column) && !self.holds(column) && low < high;
            let sd = self.solver.sds[column];
            let grid = actions.grid(column);
            moves.then_some(Axis::Number(Number { column, low, high, grid, sd }))
        };
        let mut axes: Vec<Axis> = (0..factual.len()).filter_map(number).collect();
        for (g, group) in actions.groups().iter().enumerate() {
            let Some(current) = group.option_of(factual) else { continue };
            if !actions.is_mutable_group(g) || self.holds_group(g) {
                continue;
            }
            let mut options: Vec<usize> = (0..group.n_options())
                .filter(|&o| o != current && group.allows(current, o))
                .collect();
            let total = |o: usize| self.task.cost.of_choice(group, current, o);
            options.sort_by(|&a, &b| total(a).total_cmp(&total(b)).then(a.cmp(&b)));
            axes.push(Axis::Category { group: group.clone(), options });
        }
        axes
    }
}

/// The rates of a worker, failures of changes included, to walk on.
pub(super) struct OnRates<'g, 'a, 't> {
    pub(super) worker: &'g mut DiscreteWorker<'a>,
    pub(super) task: &'t Task,
    pub(super) factual: &'t [f64],
    pub(super) z: f64,
    pub(super) aim: Aim<'t>,
    /// Whether places that seem to hold are measured on twice as many samples.
    pub(super) confirms: bool,
}

impl Ground for OnRates<'_, '_, '_> {
    fn measure(&mut self, x: &[f64], closeness: Closeness) -> Result<Measured> {
        let lines = match closeness {
            Closeness::Glance => GLANCE,
            Closeness::Close => CLOSE,
        };
        let favourable = self.accepts(x)?;
        let mut rate = self.worker.mixed_rate(self.factual, x, lines)?;
        self.aim.budget.spend(lines as u64);
        if self.confirms && closeness == Closeness::Close && upper_quantile(rate) >= self.z {
            // The best of many places looks better than it is.
            rate = self.worker.mixed_rate(self.factual, x, 2 * lines)?;
            self.aim.budget.spend(lines as u64);
        }
        Ok(Measured { slack: upper_quantile(rate) - self.z, favourable })
    }

    fn accepts(&self, x: &[f64]) -> Result<bool> {
        Ok(self.task.model.score(x)? > 0.0)
    }

    fn along(
        &mut self,
        x: &[f64],
        places: Places,
        closeness: Closeness,
        slacks: &mut Vec<f64>,
    ) -> Result<bool> {
        if self.task.actions.has_failures() {
            return Ok(false);
        }
        let lines = lines_of_profile(closeness);
        if !self.worker.inner.rates_along(self.factual, x, places, lines, slacks)? {
            return Ok(false);
        }
        self.aim.budget.spend(lines as u64);
        slacks.iter_mut().for_each(|at| *at = upper_quantile(*at) - self.z);
        Ok(true)
    }

    fn is_exhausted(&self) -> bool {
        self.aim.budget.is_exhausted()
    }
}
