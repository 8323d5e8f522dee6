//! `wachter`: the nearest point with another decision, by descent on loss and distance.
//!
//! $$\min_{x'}\ \ell\big(s(x')\big) + \lambda\,d_c(x, x')$$
//!
//! Source: Wachter, Mittelstadt and Russell 2017, arXiv:1711.00399, equations 1 and 2; they raise
//! the weight of the loss until the decision changes, which is the same as lowering $\lambda$. Here
//! $\lambda$ is searched from both sides: it is raised while the decision changes and lowered while
//! it does not, then bisected (in logarithms). The answer is the cheapest favourable point of all
//! steps, moved along the line to the person up to the boundary. $d_c$ is the cost of the task, so
//! that weights of the schema replace the paper's scaling by absolute deviations.
//!
//! For affine scores $\lambda \to 0$ has a closed form, which is the default there: the cheapest
//! point with score $s^*$. Under `l2` that is $x + (s^* - s(x))\,w/\lVert w\rVert^2$ (Pawelczyk et
//! al. 2022, arXiv:2106.09992), whose rate is $\bar\Phi(s^*/\sigma\lVert w\rVert)$ (PROBE,
//! Proposition 1). The paper's $s^* = 0$ lies on the boundary, where the decision is still
//! unfavourable; ours lies slightly beyond.
//!
//! Constraints: the paper has none beyond leaving variables out of the search. Immutables, bounds
//! and directions are kept by clipping each step (closed form: by caps); one-hot groups stay as
//! they are; a limit on the number of changes is not supported.
//!
//! Settings: `solver` (`auto`, `gradient`, `closed-form`), `loss` (`bce`, `mse` of the probability,
//! `score-mse`), `target-score` ($s^*$: 0 in closed form, 1 for `score-mse`), `lambda` (the first
//! one), `searches`, `kink` (`shortest`, `plain`; see `walk`), `learning-rate`, `steps` (of one
//! search).
//!
//! Cost: one gradient per step; a few hundred steps.

use super::descent::{self, Loss};
use super::flip::{Flip, Search, cross, hair};
use super::reach::Reach;
use super::walk::{Kink, Walk};
use super::{Ask, MethodOptions, Reason, RecourseMethod, Solver, Task, Worker};
use crate::cost::{Item, Scratch};
use crate::error::{Error, Result};
use crate::model::{Differentiable, Linear};
use crate::registry::Entry;
use std::sync::Arc;

const NAME: &str = "wachter";

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: NAME,
    reference: "Wachter, Mittelstadt and Russell 2017, arXiv:1711.00399",
    item: &Wachter,
};

struct Wachter;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SolverKind {
    Auto,
    Gradient,
    ClosedForm,
}

#[derive(Debug, Clone)]
struct Params {
    solver: SolverKind,
    loss: Loss,
    /// The score that the closed form aims at.
    target: f64,
    lambda: f64,
    searches: usize,
    kink: Kink,
    learning_rate: f64,
    steps: usize,
}

impl Params {
    fn new(options: &MethodOptions) -> Result<Self> {
        let known = [
            "solver",
            "loss",
            "target-score",
            "lambda",
            "searches",
            "kink",
            "learning-rate",
            "steps",
        ];
        options.only(NAME, &known)?;
        let positive = |v: f64| v > 0.0 && v.is_finite();
        let solvers = [
            ("auto", SolverKind::Auto),
            ("gradient", SolverKind::Gradient),
            ("closed-form", SolverKind::ClosedForm),
        ];
        let at_least_zero = |v: f64| v >= 0.0 && v.is_finite();
        let target = |default: f64| {
            options.number("target-score", default, "at least 0 and finite", at_least_zero)
        };
        let losses =
            [("bce", Loss::Bce), ("mse", Loss::Mse), ("score-mse", Loss::ScoreMse(target(1.0)?))];
        Ok(Self {
            solver: options.word("solver", SolverKind::Auto, &solvers)?,
            loss: options.word("loss", Loss::Bce, &losses)?,
            target: target(0.0)?,
            lambda: options.number("lambda", 0.1, "positive and finite", positive)?,
            searches: options.count("searches", 16)?,
            kink: Kink::new(options)?,
            learning_rate: options.number(
                "learning-rate",
                0.01,
                "positive and finite",
                positive,
            )?,
            steps: options.count("steps", 1_000)?,
        })
    }
}

impl RecourseMethod for Wachter {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check(NAME, task)?;
        let mut params = Params::new(&task.options)?;
        let affine = task.model.as_linear().is_some();
        if params.solver == SolverKind::ClosedForm && !affine {
            return Err(Error::Unsupported {
                what: format!("option 'solver=closed-form' on a {} model", task.model.name()),
                why: "only affine scores have one; use solver=gradient".to_owned(),
            });
        }
        if params.solver == SolverKind::Auto {
            params.solver = if affine { SolverKind::ClosedForm } else { SolverKind::Gradient };
        }
        Ok(Box::new(Prepared { task: Arc::clone(task), params }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let (task, params, n) = (&*self.task, &self.params, self.task.model.n_features());
        match (params.solver, task.model.as_linear(), task.model.as_differentiable()) {
            (SolverKind::Gradient, _, Some(model)) => Box::new(Flip::new(
                task,
                Gradient {
                    task,
                    model,
                    params,
                    walk: Walk::new(n, params.learning_rate, params.kink),
                    gradient: vec![0.0; n],
                    best: vec![0.0; n],
                    least: f64::INFINITY,
                },
            )),
            (_, Some(linear), _) => {
                Box::new(Flip::new(task, ClosedForm { task, linear, target: params.target }))
            }
            _ => unreachable!("prepare refuses models without a gradient"),
        }
    }
}

/// The cheapest point with a given score.
struct ClosedForm<'a> {
    task: &'a Task,
    linear: &'a Linear,
    target: f64,
}

impl Search for ClosedForm<'_> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        let (weights, norm) = (self.linear.weights(), self.task.cost.norm());
        // Moves that strict bounds force count as made where they help, and as lost where they do
        // not.
        let mut base = point.to_vec();
        let mut items: Vec<(usize, f64, Item)> = Vec::new();
        for (j, &w) in weights.iter().enumerate() {
            let (low, high) = reach.ends(j);
            let (end, sign) = if w > 0.0 { (high, 1.0) } else { (low, -1.0) };
            let (start, cap) = (sign * (point[j] - factual[j]), sign * (end - factual[j]));
            if w != 0.0 && start >= 0.0 && cap > start {
                base[j] = factual[j];
                let weight = self.task.cost.weight(j, sign);
                items.push((j, sign, Item { gain: w.abs(), weight, start, cap }));
            }
        }
        items.sort_by(|(_, _, a), (_, _, b)| (a.weight * b.gain).total_cmp(&(b.weight * a.gain)));
        let size = self.linear.bias().abs()
            + weights.iter().zip(&base).map(|(w, x)| (w * x).abs()).sum::<f64>();
        let needed = self.target + hair(size + self.target) - self.linear.score_row(&base);
        let found: Vec<Item> = items.iter().map(|(.., item)| *item).collect();
        let (mut scratch, mut moves) = (Scratch::default(), vec![0.0; items.len()]);
        norm.prepare(&found, &mut scratch);
        let enough = norm.cheapest(&found, &scratch, needed, &mut moves);
        point.copy_from_slice(&base);
        for ((j, sign, item), u) in items.iter().zip(moves) {
            // Uses the end itself, so that its bits are kept.
            let (low, high) = reach.ends(*j);
            point[*j] = if u < item.cap {
                (factual[*j] + sign * u).clamp(low, high)
            } else if *sign > 0.0 {
                high
            } else {
                low
            };
        }
        let favourable = enough || self.linear.score_row(point) > 0.0;
        Ok(if favourable { Ok(()) } else { Err(Reason::InfeasibleWithinBounds) })
    }
}

/// Descent for one $\lambda$ after the other.
struct Gradient<'a> {
    task: &'a Task,
    model: &'a dyn Differentiable,
    params: &'a Params,
    walk: Walk,
    gradient: Vec<f64>,
    /// The cheapest favourable point so far, and what it costs.
    best: Vec<f64>,
    least: f64,
}

/// Steps without a higher score or, once favourable, a lower cost after which a search ends.
const PATIENCE: usize = 100;
/// The factor by which $\lambda$ is raised or lowered until both decisions have occurred.
const FACTOR: f64 = 4.0;
/// Bisection ends when the two values of $\lambda$ differ by less than this factor.
const NEAR: f64 = 1.02;

impl Gradient<'_> {
    /// Descends for one $\lambda$, keeps the cheapest favourable point, and returns whether the
    /// decision changes.
    fn descend(&mut self, factual: &[f64], reach: &Reach, lambda: f64) -> Result<bool> {
        self.walk.begin(factual, reach);
        let (mut highest, mut cheapest, mut better_at) = (f64::NEG_INFINITY, f64::INFINITY, 0);
        for step in 0..=self.params.steps {
            let score = self.model.score_and_gradient(&self.walk.point, &mut self.gradient)?;
            let cost = self.task.cost.between(factual, &self.walk.point);
            if score > 0.0 && cost < cheapest {
                (cheapest, better_at) = (cost, step);
                if cost < self.least {
                    self.least = cost;
                    self.best.copy_from_slice(&self.walk.point);
                }
            } else if score > highest && cheapest.is_infinite() {
                (highest, better_at) = (score, step);
            }
            let slope = self.params.loss.at(score).1;
            self.gradient.iter_mut().for_each(|g| *g *= slope);
            let moved =
                self.walk.step(&self.task.cost, (factual, reach), &mut self.gradient, lambda);
            if !moved || step > better_at + PATIENCE {
                break;
            }
        }
        Ok(cheapest.is_finite())
    }
}

impl Search for Gradient<'_> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        self.least = f64::INFINITY;
        let (mut flips, mut fails): (Option<f64>, Option<f64>) = (None, None);
        let mut lambda = self.params.lambda;
        for search in 0..=self.params.searches {
            // The last resort.
            if search == self.params.searches {
                if flips.is_some() {
                    break;
                }
                lambda = 0.0;
            }
            if self.descend(factual, reach, lambda)? {
                flips = Some(flips.map_or(lambda, |known: f64| known.max(lambda)));
            } else {
                fails = Some(fails.map_or(lambda, |known: f64| known.min(lambda)));
            }
            lambda = match (flips, fails) {
                (Some(low), Some(high)) if high <= NEAR * low => break,
                (Some(low), Some(high)) => (low * high).sqrt(),
                (Some(low), None) => FACTOR * low,
                (None, Some(high)) => high / FACTOR,
                (None, None) => break,
            };
        }
        if self.least.is_infinite() {
            return Ok(Err(Reason::NotFound));
        }
        let mut from = point.to_vec();
        point.copy_from_slice(&self.best);
        if self.model.score(&from)? <= 0.0 {
            cross(self.model, &mut from, point)?;
        }
        Ok(Ok(()))
    }
}
