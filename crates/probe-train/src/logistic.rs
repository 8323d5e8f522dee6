//! Logistic regression with an l2 penalty, by Newton's method.
//!
//! Minimises $\sum_i c_i \log(1 + e^{-y_i (w^\top x_i + b)}) + \tfrac{\lambda}{2} \lVert w
//! \rVert^2$ over weights $w$ and an intercept $b$ without penalty, with $y_i = \pm 1$. This is
//! scikit-learn's `LogisticRegression` with $\lambda = 1/C$; `balanced` is its
//! `class_weight="balanced"`, $c_i = n / (2 n_{y_i})$.
//!
//! Each step solves one linear system by Cholesky and is halved until the objective falls. One step
//! costs $O(n d^2 + d^3)$; five to ten steps are usual. The fit stops when a full step would move
//! no row's score by more than `tolerance`; Newton steps converge quadratically, so what is left is
//! then far below it. On separable data without a penalty there is no minimum, the scores keep
//! growing, and the fit says that it did not converge.

use crate::design::Design;
use crate::error::{Result, both_classes, same_length};
use crate::metrics::class_weights;
use crate::objective::{Local, Objective};
use probe_core::error::require;
use probe_core::math::{cholesky, dot};
use probe_core::{Linear, ParamError, Rows};
use serde::{Deserialize, Serialize};

/// Settings of a logistic regression.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogisticParams {
    /// Penalty strength $\lambda \ge 0$.
    pub l2: f64,
    /// Newton steps at most.
    pub max_iterations: usize,
    /// Largest change of any row's score that still counts as none, relative to the largest score
    /// if that is above 1.
    pub tolerance: f64,
    /// Whether both classes weigh the same in total, however many rows they have.
    pub balanced: bool,
}

impl Default for LogisticParams {
    fn default() -> Self {
        Self { l2: 1.0, max_iterations: 100, tolerance: 1e-8, balanced: false }
    }
}

/// A logistic regression, ready to be fitted.
///
/// ```
/// use probe_core::{Model, Rows};
/// use probe_train::{Logistic, LogisticParams};
/// let x = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
/// let favourable = [false, false, true, false, true, true];
/// let learner = Logistic::new(LogisticParams::default())?;
/// let fit = learner.fit(Rows::new(&x, 1)?, &["hours".into()], &favourable)?;
/// assert!(fit.converged && fit.model.score(&[5.0])? > 0.0);
/// # Ok::<(), probe_train::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logistic {
    params: LogisticParams,
}

/// A fitted logistic regression.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LogisticFit {
    /// The log-odds of the favourable class, cut at 0.
    pub model: Linear,
    /// Newton steps taken.
    pub iterations: usize,
    /// Whether the tolerance was reached.
    pub converged: bool,
}

/// This share of the diagonal is added to the Hessian, so that collinear columns without a penalty
/// can be solved. It changes the steps, but not the minimum.
const DAMPING: f64 = 1e-11;
/// Below this curvature per row nothing can be solved: the scores have run off to infinity.
const LEAST_CURVATURE: f64 = 1e-200;
/// Most halvings of one step.
const MAX_HALVINGS: u32 = 60;
/// A relative decrease of the objective below this is hidden by rounding; such a predicted decrease
/// is trusted.
const ROUNDING: f64 = 1e-12;
/// A step must achieve this share of the decrease that the slope predicts.
const SUFFICIENT: f64 = 1e-4;

impl Logistic {
    /// Fails on parameters outside their domain.
    pub fn new(params: LogisticParams) -> Result<Self, ParamError> {
        require(
            params.l2 >= 0.0 && params.l2.is_finite(),
            "l2",
            "at least 0 and finite",
            params.l2,
        )?;
        require(
            params.max_iterations >= 1,
            "max_iterations",
            "at least 1",
            params.max_iterations as f64,
        )?;
        let t = params.tolerance;
        require(t > 0.0 && t < 1.0, "tolerance", "above 0 and below 1", t)?;
        Ok(Self { params })
    }

    /// Fits the rows of `x`, whose columns are called `names`, to `favourable`.
    ///
    /// A constant column gets weight 0, collinear ones share theirs. Fails without rows, with one
    /// class only, on lengths that differ, and on values that are not finite, naming row and
    /// feature. The same input gives the same bits on any number of threads.
    pub fn fit(&self, x: Rows<'_>, names: &[String], favourable: &[bool]) -> Result<LogisticFit> {
        same_length("values of the target, one per row", x.n_rows(), favourable.len())?;
        let n_yes = both_classes(favourable, "fit a model to")?;
        let design = Design::new(x, names)?;
        let n = favourable.len() as f64;
        let class_sizes = [n - n_yes as f64, n_yes as f64];
        let class_weights = class_weights(favourable, self.params.balanced);
        let penalties = design.penalties(self.params.l2);
        let objective = Objective { design: &design, favourable, class_weights, penalties };

        // The best model without features: the log-odds of the classes.
        let mut beta = vec![0.0; objective.n_unknowns()];
        let odds = (class_weights[1] * class_sizes[1]) / (class_weights[0] * class_sizes[0]);
        beta[design.n_cols] = libm::log(odds);
        let (iterations, converged) = self.minimise(&objective, &mut beta);
        let (weights, bias) = design.unstandardise(&beta);
        Ok(LogisticFit { model: Linear::new(weights, bias, 0.0)?, iterations, converged })
    }

    /// Newton's method from `beta`; returns the number of steps and whether they converged.
    fn minimise(&self, objective: &Objective<'_>, beta: &mut [f64]) -> (usize, bool) {
        let n_rows = objective.favourable.len() as f64;
        let mut scores = objective.scores(beta);
        for iteration in 1..=self.params.max_iterations {
            let local = objective.local(beta, &scores);
            let step = newton_step(&local);
            let Some(step) = step.filter(|_| local.curvature > LEAST_CURVATURE * n_rows) else {
                return (iteration, false);
            };
            let change = objective.scores(&step);
            let largest = change.iter().fold(0.0, |largest: f64, c| largest.max(c.abs()));
            if largest <= self.params.tolerance * local.largest_score.max(1.0) {
                beta.iter_mut().zip(&step).for_each(|(b, s)| *b += s);
                return (iteration, true);
            }
            if !descend(objective, &local, beta, &scores, (&step, &change)) {
                return (iteration, false);
            }
            scores = objective.scores(beta);
        }
        (self.params.max_iterations, false)
    }
}

/// Moves `beta` along `step`, halved until the objective falls enough. False if it never does.
fn descend(
    objective: &Objective<'_>,
    local: &Local,
    beta: &mut [f64],
    scores: &[f64],
    (step, change): (&[f64], &[f64]),
) -> bool {
    let slope = dot(&local.gradient, step);
    let trusted = -slope <= ROUNDING * local.value;
    let mut part = 1.0;
    for _ in 0..MAX_HALVINGS {
        let moved: Vec<f64> = beta.iter().zip(step).map(|(b, s)| b + part * s).collect();
        let moved_scores: Vec<f64> = scores.iter().zip(change).map(|(s, c)| s + part * c).collect();
        if trusted
            || objective.value(&moved, &moved_scores) <= local.value + SUFFICIENT * part * slope
        {
            beta.copy_from_slice(&moved);
            return true;
        }
        part *= 0.5;
    }
    false
}

/// $-(\nabla^2 F + D)^{-1} \nabla F$ with a slight damping $D$; `None` if that is not a number.
fn newton_step(local: &Local) -> Option<Vec<f64>> {
    let n = local.gradient.len();
    // Unit diagonal: the factor's threshold for zero pivots then means the same in every direction.
    let root = |j: usize| local.hessian[j * n + j].sqrt();
    let scale: Vec<f64> = (0..n).map(|j| if root(j) > 0.0 { root(j) } else { 1.0 }).collect();
    let mut matrix = local.hessian.clone();
    for (a, line) in matrix.chunks_exact_mut(n).enumerate() {
        line.iter_mut().zip(&scale).for_each(|(entry, s)| *entry /= scale[a] * s);
        line[a] += DAMPING;
    }
    let l = cholesky::semidefinite(&matrix, n)?;
    let mut step: Vec<f64> = local.gradient.iter().zip(&scale).map(|(g, s)| -g / s).collect();
    // A zero pivot is a direction without curvature: nothing is gained along it.
    for i in 0..n {
        let rest = step[i] - dot(&l[i * n..i * n + i], &step[..i]);
        step[i] = if l[i * n + i] > 0.0 { rest / l[i * n + i] } else { 0.0 };
    }
    for i in (0..n).rev() {
        let rest = step[i] - (i + 1..n).map(|k| l[k * n + i] * step[k]).sum::<f64>();
        step[i] = if l[i * n + i] > 0.0 { rest / l[i * n + i] } else { 0.0 };
    }
    step.iter_mut().zip(&scale).for_each(|(s, scale)| *s /= scale);
    step.iter().all(|s| s.is_finite()).then_some(step)
}

#[cfg(test)]
mod tests;
