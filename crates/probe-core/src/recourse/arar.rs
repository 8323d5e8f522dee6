//! `arar`: adversarially robust algorithmic recourse, for people who are not quite where they are
//! thought to be.
//!
//! $$\min_{x'}\ \max_{\lVert e\rVert_2 \le \epsilon}\ \ell\big(s(x' + e)\big) + \lambda\,d_c(x,
//! x')$$
//!
//! Source: Dominguez-Olmedo, Karimi and Schölkopf 2022, arXiv:2112.11313, with features that can be
//! changed independently, because no causal model is known. The error in the person's data is then
//! the same in the recourse. For affine scores the inner maximum is $s(x') - \epsilon\lVert
//! w\rVert_2$. For other scores it is found by projected gradient steps that start at
//! $-\epsilon\nabla s/\lVert\nabla s\rVert$; the gradient at the worst error is that of the
//! objective (Danskin's theorem). $\lambda$ falls until the worst case is favourable, as in the
//! paper; its values are those of PROBE's experiments, largest first. The descent is in `minimax`
//! beside this file.
//!
//! Constraints: the paper has immutables, bounds and directions. Here each step is clipped to them;
//! errors are not, because they are not chosen. One-hot groups stay as they are; a limit on the
//! number of changes is not supported.
//!
//! `version=library` takes plain steps of 0.1 from the person. $\lambda$ starts at 1 and is
//! multiplied by 0.9 after every 50 steps. The answer is the first point whose worst case is
//! favourable. Its loss uses the probability as if it were a score.
//!
//! Settings: `epsilon`, `version` (`paper`, `library`), `lambda` (a list), `kink` (`shortest`,
//! `plain`; see `walk`), `inner-steps`, `learning-rate`, `steps` (for one $\lambda$).
//!
//! Cost: `inner-steps` + 1 gradients per step; one for affine scores.

use super::descent;
use super::flip::Flip;
use super::minimax::{Adversary, Ends, Minimax, NAMES, Params, Program};
use super::{MethodOptions, RecourseMethod, Solver, Task, Worker};
use crate::error::Result;
use crate::math::dot;
use crate::registry::Entry;
use std::sync::Arc;

const NAME: &str = "arar";
/// PROBE, section 6.
const LAMBDA: [f64; 5] = [1.0, 0.75, 0.5, 0.25, 0.0];
const LIBRARY: Program =
    Program { learning_rate: 0.1, lambda: (1.0, 0.9, 100), steps: 50, ends: Ends::FirstSafe };

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: NAME,
    reference: "Dominguez-Olmedo, Karimi and Schölkopf 2022, arXiv:2112.11313",
    item: &Arar,
};

struct Arar;

fn params(options: &MethodOptions) -> Result<(Params, usize)> {
    let mut known = NAMES.to_vec();
    known.push("inner-steps");
    options.only(NAME, &known)?;
    Ok((Params::new(options, &LAMBDA, LIBRARY)?, options.count("inner-steps", 3)?))
}

impl RecourseMethod for Arar {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        params(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check(NAME, task)?;
        let (params, inner_steps) = params(&task.options)?;
        Ok(Box::new(Prepared { task: Arc::clone(task), params, inner_steps }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
    inner_steps: usize,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let n = self.task.model.n_features();
        let adversary = Displaced {
            task: &self.task,
            epsilon: self.params.epsilon,
            // The first step finds the worst error of an affine score.
            inner_steps: if self.task.model.as_linear().is_some() { 1 } else { self.inner_steps },
            error: vec![0.0; n],
            point: vec![0.0; n],
            gradient: vec![0.0; n],
        };
        Box::new(Flip::new(&self.task, Minimax::new(&self.task, &self.params, adversary)))
    }
}

/// Moves the person by at most $\epsilon$.
struct Displaced<'a> {
    task: &'a Task,
    epsilon: f64,
    inner_steps: usize,
    error: Vec<f64>,
    point: Vec<f64>,
    gradient: Vec<f64>,
}

impl Adversary for Displaced<'_> {
    fn worst(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64> {
        let model = descent::differentiable(NAME, self.task)?;
        let mut least = model.score_and_gradient(point, gradient)?;
        if self.epsilon == 0.0 {
            return Ok(least);
        }
        self.gradient.copy_from_slice(gradient);
        self.error.fill(0.0);
        for step in 0..self.inner_steps {
            let length = dot(&self.gradient, &self.gradient).sqrt();
            if !(length > 0.0 && length.is_finite()) {
                break;
            }
            // The first step has full length; later ones have half of it, and are projected back
            // onto the ball.
            let size = if step == 0 { self.epsilon } else { 0.5 * self.epsilon };
            for (e, g) in self.error.iter_mut().zip(&self.gradient) {
                *e -= size * g / length;
            }
            let far = dot(&self.error, &self.error).sqrt();
            if far > self.epsilon {
                self.error.iter_mut().for_each(|e| *e *= self.epsilon / far);
            }
            for (p, (x, e)) in self.point.iter_mut().zip(point.iter().zip(&self.error)) {
                *p = x + e;
            }
            let score = model.score_and_gradient(&self.point, &mut self.gradient)?;
            if score < least {
                least = score;
                gradient.copy_from_slice(&self.gradient);
            }
        }
        Ok(least)
    }
}
