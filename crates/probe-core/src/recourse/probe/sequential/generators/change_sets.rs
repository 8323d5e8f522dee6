//! Where noise acts on changed features only, the margin jumps when a feature starts to change, and
//! no step sees that coming. The search then goes from one set of changed features to the next: the
//! one that moves if all are noisy, the ones that the exact linear solver would take, single
//! features, and from the best of them on with one more and one less. Within a set the margin is
//! smooth again.

use super::super::incumbent::Incumbent;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::super::{COARSE, LEAST_GAIN};
use super::Generator;
use crate::error::Result;
use std::sync::Arc;

/// Rounds that change the set of changed features, and features that are tried besides in each.
const ROUNDS: usize = 4;
const NEWCOMERS: usize = 4;

pub(super) struct ChangeSets;

impl Generator for ChangeSets {
    fn name(&self) -> &'static str {
        "change_sets"
    }

    fn applies(&self, search: &Search<'_>, _: Problem<'_>, _: &Incumbent) -> bool {
        search.depends_on_changes()
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        // What was found rests on noise that may not be there.
        best.measure_again();
        let free = best.first_end.clone();
        search.try_change_sets(problem, &free, best)
    }
}

pub(super) struct NeighbouringSets;

impl Generator for NeighbouringSets {
    fn name(&self) -> &'static str {
        "neighbouring_sets"
    }

    fn applies(&self, search: &Search<'_>, _: Problem<'_>, _: &Incumbent) -> bool {
        search.depends_on_changes()
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        search.change_support(problem, best)
    }
}

impl Search<'_> {
    /// Descends with what differs at `here` moving and noisy, whatever else was noisy on the way
    /// here. No effect where that is not admissible, or nothing differs.
    fn refine(
        &mut self,
        problem: Problem<'_>,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let factual = problem.factual;
        let n_changed = |x: &[f64]| x.iter().zip(factual).filter(|(to, from)| to != from).count();
        loop {
            let before = n_changed(here);
            if before == 0 || !self.is_admissible(factual, here) {
                return Ok(());
            }
            self.restrict_support(factual, here);
            self.descend(problem, Precision::Lines(COARSE), f64::INFINITY, here, best)?;
            // Features that went back take their noise with them: once more without it.
            if n_changed(here) >= before {
                return Ok(());
            }
        }
    }

    /// The exact linear solver's answer to the margin's linearisation at `here`, where each feature
    /// brings its noise only if it changes.
    fn choose(&mut self, problem: Problem<'_>, here: &[f64], look: Precision) -> Result<Vec<f64>> {
        let Problem { factual, z, .. } = problem;
        let task = Arc::clone(&self.task);
        let value = self.slack(problem, here, look)? + z;
        let (gradient, margin) = (&self.gradient, &self.margin);
        let noisy = (0..here.len()).filter(|&j| self.support[j]);
        // In units of the noise at hand: one, if the score were affine.
        let unit = noisy.map(|j| (gradient[j] * margin.sd(j)).powi(2)).sum::<f64>().sqrt();
        let offset: f64 = (0..here.len()).map(|j| gradient[j] * (factual[j] - here[j])).sum();
        let mut point = factual.to_vec();
        let value = value * unit + offset;
        if value.is_finite() {
            let sd = |j: usize| margin.sd(j);
            self.step.cheapest_under_noise(&task, (factual, value), gradient, (z, sd), &mut point);
        }
        let finite = point.iter().all(|x| x.is_finite());
        Ok(if finite { point } else { factual.to_vec() })
    }

    /// Under noise on changed features: the set of features that move from here on, first choices.
    /// `free` is the answer where all may and all are noisy.
    pub(super) fn try_change_sets(
        &mut self,
        problem: Problem<'_>,
        free: &[f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let factual = problem.factual;
        self.free_support();
        let near = self.choose(problem, factual, Precision::FirstOrder)?;
        let there = self.choose(problem, free, Precision::Lines(COARSE))?;
        for mut here in [free.to_vec(), near, there] {
            self.refine(problem, &mut here, best)?;
        }
        Ok(())
    }

    /// Under noise on changed features: sets of features near that of the best point, as long as
    /// one of them does better. Without a point that meets the target, the most robust one is
    /// improved on.
    pub(super) fn change_support(
        &mut self,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let actions = &task.actions;
        for _ in 0..ROUNDS {
            let (cost, slack) = (best.cost, best.slack);
            let base = if cost.is_finite() { best.point.clone() } else { best.most_robust.clone() };
            self.restrict_support(factual, &base);
            let mut here = self.choose(problem, &base, Precision::Lines(COARSE))?;
            let gradient = self.gradient.clone();
            self.refine(problem, &mut here, best)?;
            let moves = |j: usize| base[j] != factual[j];
            for j in (0..base.len()).filter(|&j| moves(j) && !actions.is_grouped(j)) {
                // One less, and what it did is up to the others.
                here.copy_from_slice(&base);
                here[j] = factual[j];
                self.refine(problem, &mut here, best)?;
            }
            // One more: those that sell margin cheapest.
            let price = |j: usize| self.task().cost.weight(j, gradient[j]) / gradient[j].abs();
            let may = |&j: &usize| {
                !moves(j)
                    && gradient[j] != 0.0
                    && self.room(factual, j, gradient[j].signum()).is_some()
            };
            let mut others: Vec<usize> = (0..base.len()).filter(may).collect();
            others.sort_by(|&a, &b| price(a).total_cmp(&price(b)).then(a.cmp(&b)));
            for &j in others.iter().take(NEWCOMERS) {
                here.copy_from_slice(&base);
                self.restrict_support(factual, &base);
                self.support[j] = true;
                self.descend(problem, Precision::Lines(COARSE), f64::INFINITY, &mut here, best)?;
                self.refine(problem, &mut here, best)?;
            }
            let better = match cost.is_finite() {
                true => best.cost < (1.0 - LEAST_GAIN) * cost,
                false => best.cost.is_finite() || best.slack > slack + self.tuning.precision,
            };
            if !better || problem.budget.is_exhausted() {
                break;
            }
        }
        Ok(())
    }
}
