//! `probe-gradient`: the paper's Algorithm 1, with the rate of Theorem 1.
//!
//! The rate's gradient is $-\varphi(m)\nabla m$ with the Hessian term of smooth activations; see
//! [`crate::theory::first_order`], and `descent` beside this file for the loop, its source and its
//! departures. The rate is the true one for affine scores only, so that on networks the engine's
//! certificate may refuse what the method found.

use super::descent::{self, Descent, Local, NAMES, Params, RateSource};
use super::{MethodOptions, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::model::Differentiable;
use crate::noise::Gaussian;
use crate::registry::Entry;
use crate::theory::{Buffers, margin_gradient_with};
use std::sync::Arc;

const NAME: &str = "probe-gradient";

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: NAME,
    reference: "Algorithm 1 and equation 3, arXiv:2203.06768",
    item: &ProbeGradient,
};

struct ProbeGradient;

impl RecourseMethod for ProbeGradient {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        options.only(NAME, &NAMES)?;
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check(NAME, task)?;
        if task.noise.as_gaussian().is_none() {
            return Err(Error::Unsupported {
                what: format!("method {NAME} under {} noise", task.noise.name()),
                why: "Theorem 1 needs Gaussian noise; use method probe-mc".to_owned(),
            });
        }
        self.check_options(&task.options)?;
        Ok(Box::new(Prepared { task: Arc::clone(task), params: Params::new(&task.options)? }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let n = self.task.model.n_features();
        let source = FirstOrderRate { task: &self.task, buffers: Buffers::new(n) };
        Box::new(Descent::new(&self.task, &self.params, source))
    }
}

/// Theorem 1.
pub(super) struct FirstOrderRate<'a> {
    task: &'a Task,
    buffers: Buffers,
}

impl<'a> FirstOrderRate<'a> {
    #[cfg(test)]
    pub(super) fn new(task: &'a Task) -> Self {
        Self { task, buffers: Buffers::new(task.model.n_features()) }
    }

    fn parts(&self) -> Result<(&'a dyn Differentiable, &'a Gaussian)> {
        let task = self.task;
        task.model.as_differentiable().zip(task.noise.as_gaussian()).ok_or_else(|| {
            Error::Unsupported {
                what: format!(
                    "Theorem 1 on a {} model under {} noise",
                    task.model.name(),
                    task.noise.name()
                ),
                why: "it needs a gradient and Gaussian noise".to_owned(),
            }
        })
    }
}

impl RateSource for FirstOrderRate<'_> {
    fn begin(&mut self, _factual: &[f64]) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, point: &[f64], active: &[bool], local: &mut Local) -> Result<()> {
        let (model, noise) = self.parts()?;
        let found = margin_gradient_with(
            model,
            noise,
            active,
            point,
            &mut self.buffers,
            &mut local.rate_gradient,
        )?;
        let slope = found.rate_slope();
        local.rate_gradient.iter_mut().for_each(|g| *g *= slope);
        local.score_gradient.copy_from_slice(&self.buffers.gradient);
        (local.score, local.rate) = (found.score, found.rate);
        Ok(())
    }
}
