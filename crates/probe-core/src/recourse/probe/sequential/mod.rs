//! Recourse for differentiable models: sequential linear programming on the smoothed margin.
//!
//! The problem is to minimise cost subject to $M(x) \ge z_r$, where $M = \Phi^{-1}(1-\Delta)$ is
//! the smoothed margin: the true invalidation rate, not its first-order approximation, is
//! constrained. Each step linearises $M$ at the current point and solves the rest exactly with the
//! linear solver ([`super::linear`]): same costs, bounds, directions, groups and limits, inside a
//! trust region. The first steps follow the first-order margin, which costs one gradient; then $M$
//! and its gradient come from lines on common random numbers, so the search sees a smooth function;
//! the samples of the search never enter a certificate. A search is local, so single features are
//! tried from the person's own point afterwards: on real networks the best known answers change one
//! feature or two.

mod cover;
mod descent;
mod escape_rejected;
mod generators;
mod incumbent;
mod intervals;
mod margin;
mod polish;
mod problem;
mod search;
mod tuning;

pub use generators::GENERATORS;

use super::super::{Ask, Goal, Proposal, Solver, Task, Worker};
use crate::error::Result;
use crate::invalidation::{Places, has_lines};
use crate::math::normal::upper_tail;
use crate::noise::{Gaussian, Noise};
use crate::seed::Purpose;
use margin::Place;
use problem::Problem;
use search::Search;
use std::sync::Arc;

/// Lines, or as many samples as are worth them, for a first look at a point and for a search step;
/// fewer where `Tuning::coarse` says so.
const GLANCE: usize = 8;
const COARSE: usize = 64;
/// A glance that misses the target by more than this is believed: three standard errors.
const DOUBT: f64 = 0.12;
/// A point that is refused itself misses by this and by what its score misses, in standard
/// deviations: more than precision forgives.
const EDGE: f64 = 2e-3;
/// A step that promises less than this share of the cost is the last.
const LEAST_GAIN: f64 = 2e-4;

/// The search, prepared for a task.
pub(crate) struct SequentialSolver {
    task: Arc<Task>,
    /// Stands in for noise that has no lines: of the same mean and covariance.
    surrogate: Option<Gaussian>,
    /// Where the noise acts, unless that depends on the changes.
    active: Option<Vec<bool>>,
    /// Evenly spread errors shared by all people and all steps.
    pool: margin::Samples,
}

impl SequentialSolver {
    /// Prepares samples of the noise for everybody.
    pub(crate) fn new(task: &Arc<Task>) -> Result<Self> {
        let active = task.noise_on.fixed(&task.actions);
        let surrogate = match has_lines(&*task.noise)? {
            true => None,
            false => Some(Gaussian::like(&*task.noise, &mut task.seed.stream(Purpose::Search, 1))?),
        };
        let noise = surrogate.as_ref().map_or(&*task.noise, |gaussian| gaussian as &dyn Noise);
        let pool = margin::Samples::new(task, noise, active.as_deref())?;
        Ok(Self { active, pool, surrogate, task: Arc::clone(task) })
    }

    fn noise(&self) -> &dyn Noise {
        self.surrogate.as_ref().map_or(&*self.task.noise, |gaussian| gaussian)
    }
}

impl Solver for SequentialSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(SequentialWorker { solver: self, search: None })
    }
}

struct SequentialWorker<'a> {
    solver: &'a SequentialSolver,
    /// Made for the first person.
    search: Option<Search<'a>>,
}

impl Worker for SequentialWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        ask.aim().check()?;
        let search = self.search_from(ask.factual)?;
        search.task.turn_to(ask);
        match ask.goal {
            Goal::Rate(target) => {
                let rate =
                    search.search(Problem::of_rate(ask, target, &search.tuning), proposal)?;
                proposal.aim = Some(rate);
                Ok(())
            }
            Goal::Budget(budget) => search.spend(Problem::of_budget(ask), budget, proposal),
        }
    }

    fn rate_at(&mut self, from: &[f64], to: &[f64], lines: usize) -> Result<f64> {
        let search = self.search_from(from)?;
        search.restrict_support(from, to);
        let place = Place { from, to, active: &search.support };
        Ok(upper_tail(search.margin.anchor(place, None, lines)?))
    }

    fn has_profiles(&mut self) -> Result<bool> {
        Ok(self.search()?.has_profiles())
    }

    fn rates_along(
        &mut self,
        from: &[f64],
        to: &[f64],
        places: Places,
        lines: usize,
        rates: &mut Vec<f64>,
    ) -> Result<bool> {
        let search = self.search_from(from)?;
        if search.depends_on_changes() {
            return Ok(false);
        }
        let place = Place { from, to, active: &search.support };
        Ok(search.margin.rates_along(place, places, lines, rates))
    }

    fn n_lines(&self) -> u64 {
        self.search.as_ref().map_or(0, |search| search.margin.n_lines())
    }

    fn serves_own_costs(&self) -> bool {
        true
    }
}

impl<'a> SequentialWorker<'a> {
    fn search(&mut self) -> Result<&mut Search<'a>> {
        Ok(match &mut self.search {
            Some(search) => search,
            none => none.insert(Search::new(self.solver)?),
        })
    }

    fn search_from(&mut self, factual: &[f64]) -> Result<&mut Search<'a>> {
        let search = self.search()?;
        search.margin.begin(factual);
        Ok(search)
    }
}
