//! Descent on the worst case: what [`super::roar`] and [`super::arar`] share.
//!
//! $$\min_{x'}\ \max_{\text{adversary}}\ \ell\big(s(x')\big) + \lambda\,d_c(x, x')$$
//!
//! with the logistic loss $\ell(s) = \ln(1 + e^{-s})$, which falls as the score rises, so that the
//! adversary seeks the least score. $\lambda$ takes the values of a list until the worst case of
//! the result is favourable. The result for one $\lambda$ is the best iterate; steps end when the
//! objective has not fallen for a while. The minimum lies beyond the boundary, where one more unit
//! of score costs more than it reduces the loss. These methods therefore always pay for safety.

use super::descent::Loss;
use super::flip::Search;
use super::reach::Reach;
use super::version::Version;
use super::walk::{Kink, Walk};
use super::{Ask, MethodOptions, Reason, Task};
use crate::error::Result;

/// Steps without a lower objective after which a descent ends.
const PATIENCE: usize = 100;
/// The least decrease that counts.
const PROGRESS: f64 = 1e-6;

/// An adversary, who makes the score worse.
pub(super) trait Adversary {
    /// Called once per person.
    fn begin(&mut self, _factual: &[f64]) -> Result<()> {
        Ok(())
    }

    /// Returns the least score the adversary finds at `point`, and writes the gradient there.
    fn worst(&mut self, point: &[f64], gradient: &mut [f64]) -> Result<f64>;
}

/// Names of the settings of both methods.
pub(super) const NAMES: [&str; 6] =
    ["epsilon", "version", "lambda", "kink", "learning-rate", "steps"];

/// A method's search as implemented in CARLA (see [`Version`]): plain steps that start at the
/// person, through all values of $\lambda$, up to the first acceptable point.
#[derive(Debug, Clone, Copy)]
pub(super) struct Program {
    pub(super) learning_rate: f64,
    /// The first $\lambda$, the ratio of each to the one before, and their number.
    pub(super) lambda: (f64, f64, i32),
    /// Steps for each $\lambda$.
    pub(super) steps: usize,
    pub(super) ends: Ends,
}

/// Where the library's search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// At the first point whose objective is nearly that of the previous point, favourable or not.
    SmallChange,
    /// At the first point whose worst case is favourable.
    FirstSafe,
}

/// The loss of ARAR in CARLA, and its slope: the logistic loss with the probability in place of the
/// score.
fn twice(score: f64) -> (f64, f64) {
    let probability = 1.0 / (1.0 + libm::exp(-score));
    let (loss, slope) = Loss::Bce.at(probability);
    (loss, slope * probability * (1.0 - probability))
}

/// The largest change of the objective at which the library's search ends.
const SMALL: f64 = 1e-3;

/// Settings of both methods.
#[derive(Debug, Clone)]
pub(super) struct Params {
    /// How far the adversary may go.
    pub(super) epsilon: f64,
    /// The search of `version=library`, if it was chosen.
    ends: Option<Ends>,
    /// Weights of the cost, tried in this order.
    pub(super) lambda: Vec<f64>,
    pub(super) kink: Kink,
    pub(super) learning_rate: f64,
    /// Steps for each $\lambda$.
    pub(super) steps: usize,
}

impl Params {
    /// Fails on numbers outside their domain. The caller checks for unknown names.
    pub(super) fn new(options: &MethodOptions, lambda: &[f64], program: Program) -> Result<Self> {
        let library = Version::new(options)? == Version::Library;
        let (first, part, count) = program.lambda;
        let falling: Vec<f64> = (0..count).map(|k| first * libm::pow(part, f64::from(k))).collect();
        let lambda = if library { &falling } else { lambda };
        let (rate, steps) =
            if library { (program.learning_rate, program.steps) } else { (0.02, 1_000) };
        let at_least_zero = |v: f64| v >= 0.0 && v.is_finite();
        let rule = "at least 0 and finite";
        Ok(Self {
            epsilon: options.number("epsilon", 0.01, rule, at_least_zero)?,
            lambda: options.numbers("lambda", lambda, rule, at_least_zero)?,
            kink: if library && options.get("kink").is_none() {
                Kink::Plain
            } else {
                Kink::new(options)?
            },
            learning_rate: options.number("learning-rate", rate, "positive and finite", |v| {
                v > 0.0 && v.is_finite()
            })?,
            steps: options.count("steps", steps)?,
            ends: library.then_some(program.ends),
        })
    }
}

impl Params {
    /// Whether `version=library` was chosen.
    pub(super) fn is_library(&self) -> bool {
        self.ends.is_some()
    }
}

/// One thread's descent against an adversary.
pub(super) struct Minimax<'a, A> {
    task: &'a Task,
    params: &'a Params,
    adversary: A,
    walk: Walk,
    gradient: Vec<f64>,
    best: Vec<f64>,
}

impl<'a, A: Adversary> Minimax<'a, A> {
    pub(super) fn new(task: &'a Task, params: &'a Params, adversary: A) -> Self {
        let n = task.model.n_features();
        let walk = Walk::new(n, params.learning_rate, params.kink);
        Self { task, params, adversary, walk, gradient: vec![0.0; n], best: vec![0.0; n] }
    }

    /// Leaves the best iterate for one $\lambda$ in `self.best` and returns its worst score.
    fn descend(&mut self, factual: &[f64], reach: &Reach, lambda: f64) -> Result<f64> {
        self.walk.begin(factual, reach);
        let (mut least, mut worst_of_best, mut better_at) = (f64::INFINITY, f64::NEG_INFINITY, 0);
        for step in 0..=self.params.steps {
            let worst = self.adversary.worst(&self.walk.point, &mut self.gradient)?;
            let (loss, slope) = Loss::Bce.at(worst);
            let objective = loss + lambda * self.task.cost.between(factual, &self.walk.point);
            if objective < least {
                if objective < least - PROGRESS {
                    better_at = step;
                }
                (least, worst_of_best) = (objective, worst);
                self.best.copy_from_slice(&self.walk.point);
            }
            self.gradient.iter_mut().for_each(|g| *g *= slope);
            let moved =
                self.walk.step(&self.task.cost, (factual, reach), &mut self.gradient, lambda);
            if !moved || step > better_at + PATIENCE {
                break;
            }
        }
        Ok(worst_of_best)
    }

    /// The search of `version=library`; leaves its last point in `point`.
    fn run(&mut self, factual: &[f64], reach: &Reach, ends: Ends, point: &mut [f64]) -> Result<()> {
        self.walk.begin(factual, reach);
        let mut before = 0.0;
        for &lambda in &self.params.lambda {
            for _ in 0..self.params.steps {
                let worst = self.adversary.worst(&self.walk.point, &mut self.gradient)?;
                let (loss, slope) = match ends {
                    Ends::SmallChange => Loss::Bce.at(worst),
                    Ends::FirstSafe => twice(worst),
                };
                let objective = loss + lambda * self.task.cost.between(factual, &self.walk.point);
                point.copy_from_slice(&self.walk.point);
                let done = match ends {
                    Ends::SmallChange => (objective - before).abs() <= SMALL,
                    Ends::FirstSafe => worst > 0.0 && self.task.model.score(point)? > 0.0,
                };
                before = objective;
                self.gradient.iter_mut().for_each(|g| *g *= slope);
                if done
                    || !self.walk.step(
                        &self.task.cost,
                        (factual, reach),
                        &mut self.gradient,
                        lambda,
                    )
                {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl<A: Adversary> Search for Minimax<'_, A> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        self.adversary.begin(factual)?;
        let mut highest = f64::NEG_INFINITY;
        if let Some(ends) = self.params.ends {
            self.run(factual, reach, ends, point)?;
        }
        for &lambda in self.params.lambda.iter().filter(|_| self.params.ends.is_none()) {
            let worst = self.descend(factual, reach, lambda)?;
            if worst > highest {
                highest = worst;
                point.copy_from_slice(&self.best);
            }
            if worst > 0.0 {
                break;
            }
        }
        // The adversary may only know a surrogate of the model.
        let favourable = self.task.model.score(point)? > 0.0;
        Ok(if favourable { Ok(()) } else { Err(Reason::NotFound) })
    }
}
