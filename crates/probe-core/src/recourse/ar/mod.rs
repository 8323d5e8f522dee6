//! `ar`: actionable recourse, the cheapest action on a grid, by integer programming.
//!
//! $$\min_{a \in A(x)}\ d_c(x, x + a) \quad\text{such that}\quad w^\top(x + a) + b > 0$$
//!
//! with $A(x)$ the actions that lead to grid points. Source: Ustun, Spangher and Liu 2019, arXiv:1809.06514: linear classifiers, actions
//! discretised per feature, a mixed-integer program. The grid of a feature runs over its range in the reference rows (else of the
//! schema, the bounds or [0, 1]) in steps of `step` times that range; beyond the range there are no actions, and people who would need
//! one have no answer. The cost is the task's (`l1` or `linf`) instead of the paper's shifts in percentiles; grids are even instead
//! of percentiles. See `program` beside this file for the program and its solver.
//!
//! For an affine score the first action is the answer. [`super::ar_lime`] does the same on a likeness of other models.
//!
//! Constraints: all that the paper has, exactly: immutables, bounds, directions, one-hot groups (with their allowed changes), a limit on the
//! number of changes.
//!
//! Settings: `step`, a share of the range.
//!
//! Cost: one integer program with two variables per feature.

mod program;

use super::flip::{Flip, Search};
use super::lime::Affine;
use super::reach::Reach;
use super::{MethodOptions, Reason, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::registry::Entry;
use program::{Grid, Program};
use std::sync::Arc;

const NAME: &str = "ar";

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Ustun, Spangher and Liu 2019, arXiv:1809.06514", item: &Ar };

struct Ar;

/// The grid's step as a share of each feature's range.
pub(super) fn step(options: &MethodOptions) -> Result<f64> {
    options.number("step", 0.01, "above 0 and at most 1", |v| v > 0.0 && v <= 1.0)
}

/// Fails where no integer program can serve the task.
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
        options.only(NAME, &["step"])?;
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
        let model =
            Affine { weights: linear.weights().to_vec(), bias: linear.bias() - task.model.threshold() };
        Ok(Box::new(Prepared { task: Arc::clone(task), model, step: step(&task.options)? }))
    }
}

struct Prepared {
    task: Arc<Task>,
    model: Affine,
    step: f64,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Flip::new(&self.task, OnGrid::new(&self.task, self.step, &self.model, 1)))
    }
}

/// Where the affine score comes from.
pub(super) trait Source {
    fn model_for(&self, task: &Task, factual: &[f64]) -> Result<Affine>;
}

impl Source for Affine {
    fn model_for(&self, _task: &Task, _factual: &[f64]) -> Result<Affine> {
        Ok(self.clone())
    }
}

/// The cheapest action that the model itself accepts, among the first `tries` that the affine score does.
pub(super) struct OnGrid<'a, S> {
    task: &'a Task,
    grids: Vec<Grid>,
    source: &'a S,
    tries: usize,
}

impl<'a, S: Source> OnGrid<'a, S> {
    /// With steps of this share of each feature's range.
    pub(super) fn new(task: &'a Task, step: f64, source: &'a S, tries: usize) -> Self {
        let grid = |&[low, high]: &[f64; 2]| Grid { low, high, step: step * (high - low) };
        Self { task, grids: task.reference.ranges().iter().map(grid).collect(), source, tries }
    }
}

impl<S: Source> Search for OnGrid<'_, S> {
    fn search(
        &mut self,
        factual: &[f64],
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let task = self.task;
        let model = self.source.model_for(task, factual)?;
        let start = point.to_vec();
        let parts = (&task.cost, &task.actions);
        let mut program = Program::new(parts, &model, &self.grids, reach, (factual, &start));
        for _ in 0..self.tries {
            if !program.next(point)? {
                break;
            }
            if task.model.score(point)? > 0.0 {
                return Ok(Ok(()));
            }
        }
        Ok(Err(Reason::NotFound))
    }

    fn moves_groups(&self) -> bool {
        true
    }
}
