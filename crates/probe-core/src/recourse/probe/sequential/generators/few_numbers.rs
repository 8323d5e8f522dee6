//! Where at most four numbers may change: branch and bound over the whole space
//! ([`super::super::cover`]), begun at the best point so far.

use super::super::cover::{Axis, Cover, Space};
use super::super::incumbent::Incumbent;
use super::super::problem::Problem;
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::recourse::SearchEffort;

/// Numbers that may change, at most.
const MOST_AXES: usize = 4;

/// [`Search::cover_few_numbers`] for the best of what other generators found.
pub(super) struct FewNumbers;

impl Generator for FewNumbers {
    fn name(&self) -> &'static str {
        "few_numbers"
    }

    fn applies(&self, search: &Search<'_>, problem: Problem<'_>, _: &Incumbent) -> bool {
        search.covers(problem)
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        search.cover_few_numbers(problem, best)
    }
}

/// A space that was covered for a person, and the best point in it.
pub(in super::super) struct Covered {
    factual: Vec<f64>,
    space: Space,
    z: f64,
    point: Option<Vec<f64>>,
}

impl Search<'_> {
    /// Whether only few numbers may change.
    pub(super) fn has_few_numbers(&self) -> bool {
        let actions = &self.task.actions;
        let n = (0..actions.n_features()).filter(|&j| actions.is_mutable_numeric(j)).count();
        (1..=MOST_AXES).contains(&n) && !actions.is_frozen()
    }

    /// The same where nothing else may change: no category, and no number by steps.
    pub(in super::super) fn has_only_few_numbers(&self) -> bool {
        let actions = &self.task.actions;
        self.can_be_covered() && !actions.has_choices() && !actions.has_grids()
    }

    /// Whether the whole space is searched for a problem.
    pub(super) fn covers(&self, problem: Problem<'_>) -> bool {
        problem.effort != SearchEffort::Quick && !self.depends_on_changes() && self.can_be_covered()
    }

    /// Whether few numbers may change and noise acts on all of them: without noise, a margin jumps
    /// at cuts, and no distance says how much it may rise.
    fn can_be_covered(&self) -> bool {
        let mut movable =
            (0..self.support.len()).filter(|&j| self.task.actions.is_mutable_numeric(j));
        self.has_few_numbers() && movable.all(|j| self.support[j] && self.margin.sd(j) > 0.0)
    }

    /// Offers what branch and bound finds to `best`.
    fn cover_few_numbers(&mut self, problem: Problem<'_>, best: &mut Incumbent) -> Result<()> {
        let axes = self.few_axes(problem);
        let mut cover = Cover::new(self, problem, best, axes);
        cover.best.keep_as_fallback();
        let space = cover.space();
        let known = |covered: &Covered| {
            covered.factual == problem.factual && covered.space == space && covered.z <= problem.z
        };
        // Another attempt for a person asks for a lower rate, near the first.
        let before = match problem.budget.is_first() {
            true => None,
            false => cover.search.covered.take().filter(known),
        };
        let known = match &before {
            Some(covered) => cover.begin_at(covered.point.as_deref())?,
            None => false,
        };
        if !known {
            cover.run()?;
        }
        let improved = cover.improved;
        let (factual, z) = (problem.factual.to_vec(), before.map_or(problem.z, |b| b.z));
        let point = best.cost.is_finite().then(|| best.point.clone());
        self.covered = Some(Covered { factual, space, z, point });
        if improved {
            best.ask_for_polish();
        }
        Ok(())
    }

    fn few_axes(&self, problem: Problem<'_>) -> Vec<Axis> {
        let axis = |column: usize| {
            let x = problem.factual[column];
            let (low, high) = self.task.actions.interval(column, x)?;
            let moves = self.task.actions.is_mutable_numeric(column) && low < high;
            moves.then_some(Axis { column, sd: self.margin.sd(column), ends: (low, high) })
        };
        (0..problem.factual.len()).filter_map(axis).collect()
    }
}
