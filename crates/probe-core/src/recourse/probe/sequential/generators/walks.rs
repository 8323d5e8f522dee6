//! Systematic walks over single features, pairs of them, and exchanges around the best point: see
//! [`crate::recourse::probe::sweep`]. They find what no slope leads to.

use super::super::GLANCE;
use super::super::incumbent::Incumbent;
use super::super::margin::Place;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::invalidation::Places;
use crate::math::normal::upper_quantile;
use crate::recourse::probe::sweep::{
    Axis, Closeness, Ground, Measured, Number, Reach, Sweep, lines_of_profile,
};
use crate::recourse::{Reason, SearchEffort};
use crate::seed::Purpose;
use std::sync::Arc;

/// Where there is no answer: places that are measured, and how much the margin is taken to rise
/// within a standard deviation, as noise need not be Gaussian.
const FAR_LOOKS: usize = 2_000;
const FAR_STEEPEST: f64 = 1.5;
/// Number of the stream of points anywhere.
const SCATTERED: u64 = 7;

pub(super) struct Walks {
    name: &'static str,
    extent: Extent,
}

/// Where walks look, and how much work they are worth.
#[derive(Clone, Copy, PartialEq)]
enum Extent {
    /// Around the answer so far, with normal effort.
    Usual,
    /// Around an answer that is confirmed, with the effort that was asked for.
    Thorough,
    /// Anywhere, as no answer was confirmed.
    Anywhere,
}

impl Walks {
    pub(super) const USUAL: Self = Self { name: "walks", extent: Extent::Usual };
    pub(super) const THOROUGH: Self = Self { name: "more_walks", extent: Extent::Thorough };
    pub(super) const ANYWHERE: Self = Self { name: "all_walks", extent: Extent::Anywhere };
}

impl Generator for Walks {
    fn name(&self) -> &'static str {
        self.name
    }

    fn applies(&self, search: &Search<'_>, problem: Problem<'_>, best: &Incumbent) -> bool {
        // Steps and categories have walks of their own.
        let may_walk = problem.effort != SearchEffort::Quick && !search.task.actions.is_frozen();
        may_walk
            && match self.extent {
                // Lines that hardly bend lead a descent to the best point.
                Extent::Usual => {
                    let bends = search.tuning.screens || search.margin.bends();
                    let pays = bends || search.has_few_numbers();
                    best.cost.is_finite() && pays && !search.covers(problem)
                }
                Extent::Thorough => true,
                Extent::Anywhere => search
                    .margin
                    .infeasibility(problem.factual, &search.task.actions)
                    .is_none_or(|why| why == Reason::NotFound),
            }
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        match self.extent {
            Extent::Usual => {
                search.walk(Problem { effort: SearchEffort::Normal, ..problem }, false, best)
            }
            Extent::Thorough => search.walk(problem, false, best),
            Extent::Anywhere => {
                best.measure_again();
                search.walk(problem, true, best)
            }
        }
    }
}

impl Search<'_> {
    /// Offers what walks find to `best`.
    fn walk(&mut self, problem: Problem<'_>, far: bool, best: &mut Incumbent) -> Result<()> {
        let search = self;
        let (task, factual) = (Arc::clone(&search.task), problem.factual);
        let axes = search.axes(factual);
        let known = best.cost.is_finite();
        let start = known.then(|| (task.cost.total(factual, &best.point), best.point.clone()));
        let mut reach = match search.has_profiles() {
            // Descents from the person have been here before.
            true if problem.effort == SearchEffort::Normal => {
                Reach { rivals: 0, rounds: 2, ..Reach::on_profiles(problem.effort) }
            }
            true => Reach::on_profiles(problem.effort),
            false => Reach::of(problem.effort, axes.len(), problem.budget),
        };
        if far {
            (reach.most, reach.steepest) = (FAR_LOOKS, FAR_STEEPEST);
        }
        let mut sweep = Sweep::new(&task, factual, problem.z, reach, start);
        let mut ground = OnMargin { search, problem };
        match far {
            true => {
                let mut stream = task.seed.stream(Purpose::Search, SCATTERED);
                sweep.run_far(&mut ground, &axes, &mut stream)?;
            }
            false if ground.search.has_profiles() => {
                let scan = sweep.start_on_profiles(&mut ground, &axes)?;
                sweep.improve_on_profiles(&mut ground, &axes, &scan)?;
            }
            false => sweep.run(&mut ground, &axes)?,
        }
        if let Some((slack, point)) = &sweep.nearest {
            best.offer_accepted(point, *slack, true);
        }
        if sweep.improved {
            best.keep_as_fallback();
            let mut here = sweep.best.1;
            best.offer_undescended(&here, task.cost.between(factual, &here), 0.0);
            search.restrict_support(factual, &here);
            let near = 0.5 * search.margin.largest_sd();
            search.descend(problem, problem.coarse, near, &mut here, best)?;
            best.ask_for_polish();
        }
        Ok(())
    }

    /// The numbers that may change, to walk along.
    fn axes(&self, factual: &[f64]) -> Vec<Axis> {
        let number = |column: usize| {
            let (low, high) = self.task.actions.interval_alone(column, factual)?;
            let acts = self.support[column] || self.depends_on_changes();
            let sd = if acts { self.margin.sd(column) } else { 0.0 };
            let moves = self.task.actions.is_mutable_numeric(column) && low < high;
            moves.then_some(Axis::Number(Number { column, low, high, grid: None, sd }))
        };
        (0..factual.len()).filter_map(number).collect()
    }
}

/// A search's margin, to walk on.
struct OnMargin<'g, 'a, 'p> {
    search: &'g mut Search<'a>,
    problem: Problem<'p>,
}

impl Ground for OnMargin<'_, '_, '_> {
    fn measure(&mut self, x: &[f64], closeness: Closeness) -> Result<Measured> {
        let Self { search, problem } = self;
        let lines = match closeness {
            Closeness::Glance => GLANCE,
            Closeness::Close => search.tuning.closer.unwrap_or(search.tuning.coarse),
        };
        search.restrict_support(problem.factual, x);
        search.hint.clear();
        let slack = search.slack(*problem, x, Precision::Lines(lines))?;
        Ok(Measured { slack, favourable: search.favourable })
    }

    fn accepts(&self, x: &[f64]) -> Result<bool> {
        Ok(self.search.task.model.score(x)? > 0.0)
    }

    fn along(
        &mut self,
        x: &[f64],
        places: Places,
        closeness: Closeness,
        slacks: &mut Vec<f64>,
    ) -> Result<bool> {
        let Self { search, problem } = self;
        if !search.has_profiles() {
            return Ok(false);
        }
        let lines = lines_of_profile(closeness);
        let place = Place { from: problem.origin, to: x, active: &search.support };
        if !search.margin.rates_along(place, places, lines, slacks) {
            return Ok(false);
        }
        problem.budget.spend(lines as u64);
        slacks.iter_mut().for_each(|at| *at = upper_quantile(*at) - problem.z);
        Ok(true)
    }

    fn is_exhausted(&self) -> bool {
        self.problem.budget.is_exhausted()
    }
}
