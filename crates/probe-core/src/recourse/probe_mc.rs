//! `probe-mc`: the paper's Algorithm 2, with a sigmoid in place of the decision.
//!
//! The rate and its gradient are those of [`SmoothedRate`] on $K$ draws; any noise works that does
//! not depend on the change. `temperature` is the paper's $t$. The default is `tau` = 10, the same
//! in units of the score's deviation under the noise around the person, because with one $t$ for
//! all models, a score that hardly varies would have to rise far more than the target requires. See
//! `descent` beside this file for the loop.
//!
//! What differs from the paper and why: the $K$ draws belong to the person and are the same in
//! every step, so that the objective is one function. The estimate is biased
//! ([`crate::theory::sigmoid_bias`]), and the loop stops when it is first low enough. The engine
//! then checks the true rate.

use super::descent::{self, Descent, Local, NAMES, Params, RateSource};
use super::{MethodOptions, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::invalidation::{SmoothedRate, Temperature};
use crate::model::Differentiable;
use crate::noise::NoiseOn;
use crate::registry::Entry;
use crate::rows::{Rows, RowsMut};
use crate::seed::{Key, Purpose};
use std::sync::Arc;

const NAME: &str = "probe-mc";

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Algorithm 2 and equation 7, arXiv:2203.06768", item: &ProbeMc };

struct ProbeMc;

/// Sharpness of the sigmoid and number of draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sampling {
    pub(super) temperature: Temperature,
    pub(super) samples: usize,
}

impl Sampling {
    fn new(options: &MethodOptions) -> Result<Self> {
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let t = options.number("temperature", 10.0, "positive and finite", positive)?;
        let tau = options.number("tau", 10.0, "positive and finite", positive)?;
        let temperature = match (options.get("temperature"), options.get("tau")) {
            (Some(_), Some(_)) => {
                return Err(Error::Unsupported {
                    what: "option 'tau' together with 'temperature'".to_owned(),
                    why: "one follows from the other".to_owned(),
                });
            }
            (Some(_), None) => Temperature::Score(t),
            _ => Temperature::Noise(tau),
        };
        Ok(Self { temperature, samples: options.count("samples", 500)? })
    }
}

impl RecourseMethod for ProbeMc {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        let mut known = NAMES.to_vec();
        known.extend(["temperature", "tau", "samples"]);
        options.only(NAME, &known)?;
        Sampling::new(options)?;
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check(NAME, task)?;
        let n = task.model.n_features();
        if task.noise.at(&vec![0.0; n], &vec![1.0; n])?.is_some() {
            return Err(Error::Unsupported {
                what: format!("method {NAME} under {} noise", task.noise.name()),
                why: "its draws must not depend on the change".to_owned(),
            });
        }
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
    /// $t$ for this person.
    sharpness: f64,
    draws: Vec<f64>,
    /// The draws, zero where the noise does not act.
    errors: Vec<f64>,
}

impl<'a> SigmoidRate<'a> {
    pub(super) fn new(task: &'a Task, sampling: Sampling) -> Self {
        Self { task, sampling, sharpness: 0.0, draws: Vec::new(), errors: Vec::new() }
    }

    /// Keeps the draws of the active features.
    fn mask(&mut self, active: &[bool]) {
        let n = active.len();
        for (errors, draws) in self.errors.chunks_exact_mut(n).zip(self.draws.chunks_exact(n)) {
            for j in 0..n {
                errors[j] = if active[j] { draws[j] } else { 0.0 };
            }
        }
    }

    fn model(&self) -> Result<&'a dyn Differentiable> {
        descent::differentiable(NAME, self.task)
    }
}

impl RateSource for SigmoidRate<'_> {
    fn begin(&mut self, factual: &[f64]) -> Result<()> {
        let (n, task) = (factual.len(), self.task);
        self.draws.resize(self.sampling.samples * n, 0.0);
        self.errors.resize(self.draws.len(), 0.0);
        let mut stream = task.seed.stream(Purpose::Search, Key::default().values(factual).finish());
        task.noise.sample_into(&mut stream, RowsMut::new(&mut self.draws, n)?);
        // It is not known yet which features change, so that noise acts on all that may.
        let noise_on =
            if task.noise_on == NoiseOn::Changed { NoiseOn::Mutable } else { task.noise_on };
        let mut active = vec![false; n];
        noise_on.active_into(&task.actions, factual, factual, &mut active);
        self.mask(&active);
        let mut rate = SmoothedRate::new(self.model()?, Rows::new(&self.errors, n)?)?;
        let (Temperature::Score(given) | Temperature::Noise(given)) = self.sampling.temperature;
        let t = rate.temperature(factual, self.sampling.temperature)?;
        // A score that is flat around the person has no standard deviation to use as a unit.
        self.sharpness = if t.is_finite() { t } else { given };
        Ok(())
    }

    fn evaluate(&mut self, point: &[f64], active: &[bool], local: &mut Local) -> Result<()> {
        let (n, model) = (point.len(), self.model()?);
        self.mask(active);
        local.score = model.score_and_gradient(point, &mut local.score_gradient)?;
        let mut rate = SmoothedRate::new(model, Rows::new(&self.errors, n)?)?;
        local.rate = rate.value_and_gradient(point, self.sharpness, &mut local.rate_gradient)?;
        Ok(())
    }
}
