//! Steps and categories for models whose rate is known along a whole feature at once: trees.
//!
//! Changes of single features and of pairs are read off profiles
//! ([`crate::recourse::probe::sweep`]). Then choices of categories come in ascending order of what
//! they cost, as long as that is less than the best answer: numbers are chosen for each of them
//! that may pay. So a change of category competes with everything that leaves it alone. Rounds of
//! exchanges around the best answer follow.

use super::branch::Best;
use super::choices::Choices;
use super::walks::{MIXED_WALKS, OnRates};
use super::{Aim, DiscreteWorker};
use crate::error::Result;
use crate::math::normal::upper_quantile;
use crate::recourse::probe::sweep::{Axis, Reach, Sweep};
use crate::recourse::{SearchEffort, Verdict};
use std::sync::Arc;

/// Choices of categories that come, and that are measured, at most; with thorough effort eight
/// times as many.
const CHOICES: usize = 5_000;
const MEASURED: usize = 250;
/// Numbers that may change, at most, where no relaxation is solved first.
const FEW_NUMBERS: usize = 3;
/// The gap under the target, as a share of the usual one: points are steps apart, so most of them
/// stay further below the target than they are asked to.
const GAP: f64 = 0.5;

impl DiscreteWorker<'_> {
    /// Offers what profiles lead to, and says whether that is an answer. Does nothing where there
    /// are none, or where relations restrict what may change together.
    pub(super) fn find_on_profiles(
        &mut self,
        factual: &[f64],
        aim: Aim<'_>,
        best: &mut Best,
    ) -> Result<bool> {
        let task = Arc::clone(&self.task);
        let actions = &task.actions;
        let related = actions.has_conditions()
            || actions.has_failures()
            || !actions.ties().is_empty()
            || actions.max_changes().is_some();
        if related || task.left_out == Some(MIXED_WALKS) || !self.inner.has_profiles()? {
            return Ok(false);
        }
        self.person.copy_from_slice(factual);
        let axes = self.axes(factual);
        let numbers: Vec<Axis> =
            axes.iter().filter(|axis| matches!(axis, Axis::Number(_))).cloned().collect();
        let starts = match numbers.len() > FEW_NUMBERS {
            true => self.rounded(factual, aim)?,
            false => None,
        };
        let rate = aim.rate - GAP * (aim.rate - aim.usual());
        let z = upper_quantile(rate);
        let reach = Reach::on_profiles(aim.effort);
        let mut sweep = Sweep::new(&task, factual, z, reach, None);
        let mut ground = OnRates { worker: self, task: &task, factual, z, aim, confirms: true };
        if let Some((outward, nearest)) = starts {
            sweep.try_close(&mut ground, &outward)?;
            sweep.explore(&mut ground, &axes, &nearest)?;
        }
        let scan = sweep.start_on_profiles(&mut ground, &axes)?;
        let mut choices = match Choices::new(&task, factual, |g| !ground.worker.holds_group(g)) {
            Some(choices) => choices,
            None => return Ok(false),
        };
        let times = if aim.effort == SearchEffort::Thorough { 8 } else { 1 };
        let (mut measured, mut base) = (0, factual.to_vec());
        for _ in 0..times * CHOICES {
            let Some(choice) = choices.next() else { break };
            if choice.total >= sweep.best.0 || measured == times * MEASURED {
                break;
            }
            base.copy_from_slice(factual);
            choices.set(&choice, &mut base);
            if choice.n_changed == 0 && numbers.len() > FEW_NUMBERS {
                continue;
            }
            measured += 1;
            if sweep.may_hold(&mut ground, &numbers, &base, choice.total)? {
                sweep.choose_numbers(&mut ground, &numbers, &base)?;
            }
        }
        sweep.improve_on_profiles(&mut ground, &axes, &scan)?;
        let found = sweep.improved && sweep.best.0 < best.total;
        if found {
            (best.total, best.point) = sweep.best;
            (best.aim, best.report.source) = (Some(rate), MIXED_WALKS);
        }
        Ok(found)
    }

    /// The relaxation's answer with every number on the next step outward, and on the nearest.
    fn rounded(&mut self, factual: &[f64], aim: Aim<'_>) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        self.within.max_changes = None;
        let limits = self.outer_limits();
        self.within.limits.copy_from_slice(&limits);
        self.relax(aim)?;
        if self.found.verdict != Verdict::Reached {
            return Ok(None);
        }
        let mut outward = self.found.point.clone();
        let mut nearest = outward.clone();
        for (j, &from) in factual.iter().enumerate() {
            let to = outward[j];
            if let Some(grid) = self.task.actions.grid(j).filter(|_| to != from) {
                let (out, back) = match to > from {
                    true => (grid.above(to), grid.below(to).max(from)),
                    false => (grid.below(to), grid.above(to).min(from)),
                };
                outward[j] = out.clamp(limits[j].0, limits[j].1);
                let is_back = (to - back).abs() < (outward[j] - to).abs();
                nearest[j] = if is_back { back } else { outward[j] };
            }
        }
        Ok(Some((outward, nearest)))
    }
}
