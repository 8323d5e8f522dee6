//! `probe-tree`: the paper's way for ensembles of trees, by way of one tree that imitates them.
//!
//! The model, whatever it is, is distilled into one decision tree; that tree's rate and its
//! gradient are known (Theorem 2), and descent on equation 3 with them ends at a point where
//! the *tree* says yes and its rate is at most $r$:
//!
//! $$\Delta(x') = 1 - \sum_R c_R \prod_j \Big[\Phi\Big(\frac{\overline t_{jR} -
//! x'_j}{\sigma_j}\Big) - \Phi\Big(\frac{\underline t_{jR} - x'_j}{\sigma_j}\Big)\Big].$$
//!
//! Source: PROBE, arXiv:2203.06768, appendix "Extensions to tree based classifiers", Theorem 2 and
//! the paragraph on distillation; see `descent` beside this folder for the loop. The paper calls
//! the outcome certified. It is so for the imitation alone: what the rate is on the model itself is
//! for the engine to say, and it is often far above $r$. [`Solver::notes`] has the share of noisy
//! points on which the two agree; [`claimed_rate`](super::Report::claimed_rate) the rate of the
//! tree.
//!
//! What differs from the paper and why:
//! - $\ell(s)$ of equation 3 is constant on boxes, so that it has no slope and no weight here: the
//!   hinge and the cost alone pull. Hence no settings for the loss.
//! - The paper says neither how deep the tree is nor on what it is grown but "our data": `depth` is
//!   8 and the rows are [`Task::reference`], a fifth of them held out; without rows, points are
//!   spread evenly over the ranges. `copies` adds noisy copies.
//!
//! Cost per step: one walk through the tree. Far from any box of the other kind the gradient
//! vanishes, and the search ends where it began.

mod distil;

use super::descent::{self, Descent, Local, Params, RateSource};
use super::{MethodOptions, Notes, RecourseMethod, Solver, Task, Worker};
use crate::error::{Error, Result};
use crate::invalidation::Boxes;
use crate::model::Trees;
use crate::registry::Entry;
pub use distil::Distilled;
use distil::Recipe;
use std::sync::Arc;

const NAME: &str = "probe-tree";
/// Settings of descent that matter without a slope of the score.
const DESCENT: [&str; 6] = ["preset", "lambda1", "lambda3", "loop", "keep", "learning-rate"];

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Theorem 2 and equation 3, arXiv:2203.06768", item: &ProbeTree };

struct ProbeTree;

impl RecourseMethod for ProbeTree {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        let mut known = distil::NAMES.to_vec();
        known.extend(DESCENT);
        known.push("steps");
        options.only(NAME, &known)?;
        Recipe::new(options)?;
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check_limits(NAME, task)?;
        if task.noise.as_independent().is_none() {
            return Err(Error::Unsupported {
                what: format!("method {NAME} under {} noise", task.noise.name()),
                why: "Theorem 2 needs noise that is independent over features".to_owned(),
            });
        }
        self.check_options(&task.options)?;
        let distilled = Distilled::of(task)?;
        Ok(Box::new(Prepared {
            task: Arc::clone(task),
            params: Params::new(&task.options)?,
            distilled,
        }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
    distilled: Distilled,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let source = TreeRate::new(&self.distilled.tree, &self.task);
        Box::new(Descent::new(&self.task, &self.params, source))
    }

    fn notes(&self) -> Option<Notes> {
        let Distilled { fidelity, judged, .. } = self.distilled;
        let leaves = self.distilled.n_leaves();
        Some(Notes {
            text: format!(
                "{NAME}: a tree of {leaves} {} stands for the {} model and agrees with it on \
                 {:.1} % of {judged} noisy points that it has not seen; rates and statuses are \
                 those of the model itself",
                if leaves == 1 { "leaf" } else { "leaves" },
                self.task.model.name(),
                100.0 * fidelity
            ),
            values: vec![("fidelity", fidelity), ("leaves", leaves as f64)],
        })
    }
}

/// Theorem 2 on one tree.
struct TreeRate<'a> {
    tree: &'a Trees,
    /// There are none where noise is not independent, which no task has that was prepared.
    boxes: Option<Boxes<'a>>,
}

impl<'a> TreeRate<'a> {
    fn new(tree: &'a Trees, task: &'a Task) -> Self {
        Self { tree, boxes: Boxes::new(tree, &*task.noise) }
    }
}

impl RateSource for TreeRate<'_> {
    fn begin(&mut self, _factual: &[f64]) -> Result<()> {
        Ok(())
    }

    fn evaluate(&mut self, point: &[f64], active: &[bool], local: &mut Local) -> Result<()> {
        local.score = self.tree.score_row(point);
        local.score_gradient.fill(0.0);
        let gradient = Some(&mut local.rate_gradient[..]);
        let rate =
            self.boxes.as_mut().and_then(|boxes| boxes.rate_and_gradient(point, active, gradient));
        local.rate = rate.unwrap_or(1.0);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
