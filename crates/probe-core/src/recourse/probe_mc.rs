//! `probe-mc`: the paper's Algorithm 2, with the rate of a sigmoid in place of the decision.
//!
//! $$\hat\Delta(x') = \frac1K\sum_{k=1}^K S\big(-t\,s(x'+\varepsilon_k)\big), \qquad
//! \nabla\hat\Delta = -\frac tK\sum_{k=1}^K S(t s_k)\,S(-t s_k)\,\nabla s(x'+\varepsilon_k),$$
//!
//! $S$ the logistic function and $t$ its temperature. Any noise that can be drawn from will do. See `descent` beside this
//! file for the loop. What differs from the paper and why: the $K$ draws belong to the person and are the same in every step, so that the
//! objective is one function and the answer does not depend on how many steps were made before. The estimate is biased
//! ([`crate::theory::sigmoid_bias`]) and the loop stops where it first looks good; whether the true rate holds is for the
//! engine to say.

use super::descent::{self, Descent, Local, NAMES, Params, RateSource};
use super::{MethodOptions, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::rows::RowsMut;
use crate::seed::{Key, Purpose};
use std::sync::Arc;

const NAME: &str = "probe-mc";

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Algorithm 2 and equation 7, arXiv:2203.06768", item: &ProbeMc };

struct ProbeMc;

/// $t$ and $K$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sampling {
    pub(super) temperature: f64,
    pub(super) samples: usize,
}

impl Sampling {
    fn new(options: &MethodOptions) -> Result<Self> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        Ok(Self {
            temperature: options.number("temperature", 10.0, "positive and finite", positive)?,
            samples: options.count("samples", 500)?,
        })
    }
}

impl RecourseMethod for ProbeMc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        let mut known = NAMES.to_vec();
        known.extend(["temperature", "samples"]);
        options.only(NAME, &known)?;
        Sampling::new(options)?;
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check(NAME, task)?;
        self.check_options(&task.options)?;
        Ok(Box::new(Prepared {
            task: Arc::clone(task),
            params: Params::new(&task.options)?,
            sampling: Sampling::new(&task.options)?,
        }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
    sampling: Sampling,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let source = SigmoidRate::new(&self.task, self.sampling);
        Box::new(Descent::new(&self.task, &self.params, source))
    }
}

/// The sigmoid estimate on one person's draws.
pub(super) struct SigmoidRate<'a> {
    task: &'a Task,
    sampling: Sampling,
    draws: Vec<f64>,
    shifted: Vec<f64>,
    gradient: Vec<f64>,
}

impl<'a> SigmoidRate<'a> {
    pub(super) fn new(task: &'a Task, sampling: Sampling) -> Self {
        let n = task.model.n_features();
        Self { task, sampling, draws: Vec::new(), shifted: vec![0.0; n], gradient: vec![0.0; n] }
    }
}

impl RateSource for SigmoidRate<'_> {
    fn begin(&mut self, factual: &[f64]) -> Result<()> {
        let (n, task) = (factual.len(), self.task);
        self.draws.resize(self.sampling.samples * n, 0.0);
        let mut stream = task.seed.stream(Purpose::Search, Key::default().values(factual).finish());
        task.noise.sample_into(&mut stream, RowsMut::new(&mut self.draws, n)?);
        Ok(())
    }

    fn evaluate(&mut self, point: &[f64], active: &[bool], local: &mut Local) -> Result<()> {
        let model = self.task.model.as_differentiable().ok_or_else(|| Error::Unsupported {
            what: format!("method {NAME} on a {} model", self.task.model.name()),
            why: "the model has no gradient".to_owned(),
        })?;
        local.score = model.score_and_gradient(point, &mut local.score_gradient)?;
        let (t, count) = (self.sampling.temperature, self.sampling.samples as f64);
        let mut sum = 0.0;
        local.rate_gradient.fill(0.0);
        for draw in self.draws.chunks_exact(point.len()) {
            for (j, x) in self.shifted.iter_mut().enumerate() {
                *x = point[j] + if active[j] { draw[j] } else { 0.0 };
            }
            let score = t * model.score_and_gradient(&self.shifted, &mut self.gradient)?;
            let far = libm::exp(-score.abs());
            let tail = far / (1.0 + far);
            sum += if score > 0.0 { tail } else { 1.0 - tail };
            let slope = -t * tail * (1.0 - tail);
            for (o, g) in local.rate_gradient.iter_mut().zip(&self.gradient) {
                *o += slope * g;
            }
        }
        local.rate = sum / count;
        local.rate_gradient.iter_mut().for_each(|g| *g /= count);
        Ok(())
    }
}
