//! `ar-lime`: actionable recourse for models that are not linear, on a likeness that is.
//!
//! Around each person the model is replaced by an affine likeness (`lime` beside this file), for which [`super::ar`] solves its integer
//! program. Actions come in the order of their cost, each on another set of features (the flipset of Ustun, Spangher and Liu 2019,
//! arXiv:1809.06514, section 3.3), until the model itself says yes or `tries` are used up; then there is no answer, as happens where the likeness is poor.
//!
//! Constraints and grid: those of `ar`. Any model is served.
//!
//! Settings: `step`, a share of the range; `tries`; `samples` and `spread` of the likeness.
//!
//! Cost: one score per sample, and one integer program per try.

use super::ar::{self, OnGrid, Source};
use super::flip::Flip;
use super::lime::{self, Affine, Lime};
use super::{MethodOptions, RecourseMethod, Solver, Task, Worker};
use crate::error::Result;
use crate::registry::Entry;
use std::sync::Arc;

const NAME: &str = "ar-lime";

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: NAME,
    reference: "Ustun, Spangher and Liu 2019, arXiv:1809.06514, on LIME, arXiv:1602.04938",
    item: &ArLime,
};

struct ArLime;

fn tries(options: &MethodOptions) -> Result<usize> {
    options.count("tries", 10)
}

impl RecourseMethod for ArLime {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        let mut known = lime::NAMES.to_vec();
        known.extend(["step", "tries"]);
        options.only(NAME, &known)?;
        lime::settings(options)?;
        ar::step(options)?;
        tries(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        ar::check(NAME, task)?;
        self.check_options(&task.options)?;
        Ok(Box::new(Prepared {
            task: Arc::clone(task),
            lime: Lime::new(task)?,
            step: ar::step(&task.options)?,
            tries: tries(&task.options)?,
        }))
    }
}

struct Prepared {
    task: Arc<Task>,
    lime: Lime,
    step: f64,
    tries: usize,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Flip::new(&self.task, OnGrid::new(&self.task, self.step, &self.lime, self.tries)))
    }
}

impl Source for Lime {
    fn model_for(&self, task: &Task, factual: &[f64]) -> Result<Affine> {
        self.around(task, factual)
    }
}
