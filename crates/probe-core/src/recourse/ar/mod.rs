//! `ar`: actionable recourse, the cheapest action on a grid, by integer programming.
//!
//! $$\min_{a \in A(x)}\ d_c(x, x + a) \quad\text{such that}\quad w^\top(x + a) + b > 0$$
//!
//! with $A(x)$ the actions that lead to grid points. Source: Ustun, Spangher and Liu 2019,
//! arXiv:1809.06514: linear classifiers, actions discretised per feature, a mixed-integer program.
//! The grid of a feature runs over its range in the reference rows (else of the schema, the bounds
//! or [0, 1]) in steps of `step` times that range; there are no actions beyond the range, so that
//! people who would need one have no answer. The cost is the task's (`l1` or `linf`);
//! `version=library` has the authors' own cost, shifts in percentiles (`percentile` beside this
//! file), and features that are 0 or 1 in all reference rows only take these values. See `program`
//! beside this file for the program and its solver.
//!
//! Features with steps in the schema use those steps. [`super::ar_lime`] does the same on a
//! surrogate of other models.
//!
//! Constraints: all those of the paper, exactly: immutables, bounds, directions, one-hot groups
//! (with their allowed changes), a limit on the number of changes.
//!
//! Settings: `step`, a share of the range, from 1e-6 to 1; `version` (`paper`, `library`; the
//! latter without groups and limits on changes).
//!
//! Cost: one integer program with two variables per feature.

mod percentile;
mod program;

use super::descent;
use super::flip::{Flip, Search};
use super::lime::Affine;
use super::reach::Reach;
use super::version::Version;
use super::{Ask, MethodOptions, Reason, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::registry::Entry;
pub(super) use percentile::Percentiles;
pub(super) use program::{Found, Grid, Program};
use std::sync::Arc;

const NAME: &str = "ar";

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Ustun, Spangher and Liu 2019, arXiv:1809.06514", item: &Ar };

struct Ar;

/// The grid's step as a share of each feature's range.
pub(super) fn step(options: &MethodOptions) -> Result<f64> {
    options.number("step", 0.01, "at least 1e-6 and at most 1", |v| {
        (program::FINEST..=1.0).contains(&v)
    })
}

/// Fails if the task cannot be written as an integer program.
pub(super) fn check(method: &str, task: &Task) -> Result<()> {
    task.check()?;
    if task.cost.norm().is_linear() || !task.cost.norm().is_separable() {
        return Ok(());
    }
    Err(Error::Unsupported {
        what: format!("cost {} with method {method}", task.cost.norm().name()),
        why: "an integer program needs a linear cost; use l1 or linf".to_owned(),
    })
}

impl RecourseMethod for Ar {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        options.only(NAME, &["step", "version"])?;
        Version::new(options)?;
        step(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        check(NAME, task)?;
        self.check_options(&task.options)?;
        let Some(linear) = task.model.as_linear() else {
            return Err(Error::Unsupported {
                what: format!("method {NAME} on a {} model", task.model.name()),
                why: "it is for linear models; use method ar-lime".to_owned(),
            });
        };
        let model = Affine {
            weights: linear.weights().to_vec(),
            bias: linear.bias() - task.model.threshold(),
        };
        let percentiles = percentiles(NAME, task)?;
        Ok(Box::new(Prepared {
            task: Arc::clone(task),
            model,
            step: step(&task.options)?,
            percentiles,
        }))
    }
}

struct Prepared {
    task: Arc<Task>,
    model: Affine,
    step: f64,
    /// The cost by percentiles; only for the search as implemented in CARLA.
    percentiles: Option<Percentiles>,
}

/// The cost by percentiles as implemented in CARLA, if the options ask for it. It supports neither
/// a limit on changes nor changes of categories.
pub(super) fn percentiles(method: &'static str, task: &Task) -> Result<Option<Percentiles>> {
    if Version::new(&task.options)? == Version::Paper {
        return Ok(None);
    }
    descent::check_limits(method, task)?;
    Ok(Some(Percentiles::new(task)))
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let grids = grids(&self.task, self.step);
        let percentiles = self.percentiles.as_ref();
        Box::new(Flip::new(
            &self.task,
            OnGrid { task: &self.task, grids, model: &self.model, percentiles },
        ))
    }
}

/// The grid of each feature: the steps of its schema, else steps of this share of its range.
pub(super) fn grids(task: &Task, step: f64) -> Vec<Grid> {
    let one = |(j, &[low, high]): (usize, &[f64; 2])| match task.actions.grid(j) {
        Some(own) => Grid { low: own.above(low), high: own.below(high), step: own.step },
        None => Grid { low, high, step: step * (high - low) },
    };
    task.reference.ranges().iter().enumerate().map(one).collect()
}

/// The cheapest action.
struct OnGrid<'a> {
    task: &'a Task,
    grids: Vec<Grid>,
    model: &'a Affine,
    percentiles: Option<&'a Percentiles>,
}

impl Search for OnGrid<'_> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        let task = self.task;
        let start = point.to_vec();
        if let Some(percentiles) = self.percentiles {
            let actions = percentiles.actions(self.model, &self.grids, reach, &start);
            let found = actions.each(1, |action| {
                point.copy_from_slice(action);
                Ok(task.model.score(action)? > 0.0)
            })?;
            return Ok(if found { Ok(()) } else { Err(Reason::NotFound) });
        }
        let parts = (&task.cost, &task.actions);
        let mut program = Program::new(parts, self.model, &self.grids, reach, (factual, &start));
        Ok(match program.cheapest(point)? {
            Found::Action if task.model.score(point)? > 0.0 => Ok(()),
            Found::Stopped => Err(Reason::SearchLimit),
            Found::Action | Found::Nothing => Err(Reason::NotFound),
        })
    }

    fn moves_groups(&self) -> bool {
        self.percentiles.is_none()
    }
}
