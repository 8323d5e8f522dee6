//! `roar`: recourse that survives a change of the model.
//!
//! $$\min_{x'}\ \max_{\lVert\delta\rVert \le \epsilon}\ \ell\big((w + \delta_w)^\top x' + b +
//! \delta_b\big) + \lambda\,d_c(x, x')$$
//!
//! Source: Upadhyay, Joshi and Lakkaraju 2021, arXiv:2102.13620. For affine scores the inner
//! maximum is closed: under the default `norm=linf` every weight and the intercept change by
//! $\epsilon$ in the harmful direction, $s(x') - \epsilon(\lVert x'\rVert_1 + 1)$; under `norm=l2`
//! the loss is $\epsilon\sqrt{\lVert x'\rVert_2^2 + 1}$. Other models are replaced by an affine
//! surrogate around the person, as in the paper: LIME (`surrogate=lime`, see `lime` beside this
//! file), or the gradient (`surrogate=gradient`). The surrogate is fitted once. The model itself
//! scores the result; if it rejects it, there is no answer. The descent is in `minimax` beside this
//! file, $\lambda$ 0.1 and then smaller until the worst case is favourable.
//!
//! Constraints: the paper only has features that are left out of the search. Immutables, bounds and
//! directions are kept by clipping each step; one-hot groups stay as they are; a limit on the
//! number of changes is not supported.
//!
//! `version=library` takes $\lambda$ = 0.01, plain steps of 0.01, and the first point at which the
//! objective changes by no more than 0.001 from one step to the next. For models that are not
//! linear its surrogate is fitted to the probability, which it uses as if it were a score (`lime`).
//!
//! Settings: `epsilon`, `version` (`paper`, `library`), `norm` (`linf`, `l2`), `lambda` (a list),
//! `kink` (`shortest`, `plain`; see `walk`), `learning-rate`, `steps` (for one $\lambda$),
//! `surrogate`, and with `lime` `samples` and `spread`.
//!
//! Cost: a few operations per feature and step, and the surrogate: one score per sample.

use super::descent;
use super::flip::Flip;
use super::lime::{self, Affine, Lime};
use super::minimax::{Adversary, Ends, Minimax, NAMES, Params, Program};
use super::{MethodOptions, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::math::dot;
use crate::registry::Entry;
use std::sync::Arc;

const NAME: &str = "roar";
const LAMBDA: [f64; 4] = [0.1, 0.05, 0.01, 0.0];
const LIBRARY: Program =
    Program { learning_rate: 0.01, lambda: (0.01, 1.0, 1), steps: 10_000, ends: Ends::SmallChange };

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: NAME,
    reference: "Upadhyay, Joshi and Lakkaraju 2021, arXiv:2102.13620",
    item: &Roar,
};

struct Roar;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Norm {
    Linf,
    L2,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Surrogate {
    Lime,
    Gradient,
}

/// Narrower than LIME's 1: on the paper's credit data no action from a wider surrogate is accepted
/// by the model.
fn spread(options: &MethodOptions) -> Result<f64> {
    options.number("spread", 0.1, "positive and finite", |v| v > 0.0 && v.is_finite())
}

fn params(options: &MethodOptions) -> Result<(Params, Norm, Surrogate)> {
    let mut known = NAMES.to_vec();
    known.extend(["norm", "surrogate"]);
    known.extend(lime::NAMES);
    options.only(NAME, &known)?;
    lime::samples(options)?;
    spread(options)?;
    let kinds = [("lime", Surrogate::Lime), ("gradient", Surrogate::Gradient)];
    Ok((
        Params::new(options, &LAMBDA, LIBRARY)?,
        options.word("norm", Norm::Linf, &[("linf", Norm::Linf), ("l2", Norm::L2)])?,
        options.word("surrogate", Surrogate::Lime, &kinds)?,
    ))
}

impl RecourseMethod for Roar {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        params(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check_limits(NAME, task)?;
        let (params, norm, surrogate) = params(&task.options)?;
        if surrogate == Surrogate::Gradient && task.model.as_differentiable().is_none() {
            return Err(Error::Unsupported {
                what: format!("option 'surrogate=gradient' on a {} model", task.model.name()),
                why: "the model has no gradient; use surrogate=lime".to_owned(),
            });
        }
        Ok(Box::new(Prepared {
            task: Arc::clone(task),
            params,
            norm,
            surrogate,
            lime: Lime::new(task)?,
            spread: spread(&task.options)?,
        }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
    norm: Norm,
    surrogate: Surrogate,
    lime: Lime,
    spread: f64,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let model = Affine { weights: vec![0.0; self.task.model.n_features()], bias: 0.0 };
        let adversary = Shifted { prepared: self, model };
        Box::new(Flip::new(&self.task, Minimax::new(&self.task, &self.params, adversary)))
    }
}

/// Changes the weights of an affine score by at most $\epsilon$.
struct Shifted<'a> {
    prepared: &'a Prepared,
    model: Affine,
}

impl Adversary for Shifted<'_> {
    fn begin(&mut self, factual: &[f64]) -> Result<()> {
        let task = &self.prepared.task;
        match (task.model.as_linear(), task.model.as_differentiable(), self.prepared.surrogate) {
            (Some(linear), ..) => {
                self.model.weights.copy_from_slice(linear.weights());
                self.model.bias = linear.bias() - task.model.threshold();
            }
            (None, Some(model), Surrogate::Gradient) => {
                let score = model.score_and_gradient(factual, &mut self.model.weights)?;
                self.model.bias = score - dot(&self.model.weights, factual);
            }
            _ if self.prepared.params.is_library() => {
                self.model = self.prepared.lime.of_probability(task, factual)?;
            }
            _ => self.model = self.prepared.lime.around(task, factual, self.prepared.spread)?,
        }
        Ok(())
    }

    fn worst(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let (epsilon, score) = (self.prepared.params.epsilon, self.model.score(point));
        let loss = match self.prepared.norm {
            Norm::Linf => point.iter().map(|x| x.abs()).sum::<f64>() + 1.0,
            Norm::L2 => (dot(point, point) + 1.0).sqrt(),
        };
        for (g, (w, x)) in gradient.iter_mut().zip(self.model.weights.iter().zip(point)) {
            let slope = match self.prepared.norm {
                Norm::Linf if *x == 0.0 => 0.0,
                Norm::Linf => x.signum(),
                Norm::L2 => x / loss,
            };
            *g = w - epsilon * slope;
        }
        Ok(score - epsilon * loss)
    }
}
