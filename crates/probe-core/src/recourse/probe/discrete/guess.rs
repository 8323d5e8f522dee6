//! A first choice of categories, where there may be too many choices to try: those of the cheapest
//! points without noise that reach a score. The lowest score whose point has the rate is found by
//! bisection.

use super::branch::Best;
use super::{ANY_RATE, Aim, DiscreteWorker, LINES};
use crate::error::Result;
use crate::noise::{Covariance, Gaussian};
use crate::recourse::probe::linear::LinearSolver;
use crate::recourse::{Ask, Goal, Proposal, Reason, Solver, Task, Verdict};
use crate::schema::Restriction;
use std::sync::Arc;

/// Steps of the bisection, and doublings of the score before it.
const STEPS: usize = 24;
const DOUBLINGS: usize = 40;
/// Choices that are tried: those of the last steps.
const TRIED: usize = 4;

/// The solver of guesses: for noise that grows with the change. Other exact solvers choose
/// categories themselves, or are fast enough.
pub(super) fn solver(task: &Task) -> Result<Option<Box<dyn Solver>>> {
    if task.noise.as_effort().is_none() || !task.actions.has_choices() {
        return Ok(None);
    }
    let mut exactly = Task::clone(task);
    let zeros = vec![0.0; task.model.n_features()];
    exactly.noise = Arc::new(Gaussian::new(zeros.clone(), Covariance::Diagonal(zeros))?);
    exactly.noise_on = Default::default();
    exactly.actions = exactly.actions.without_grids();
    Ok(Some(Box::new(LinearSolver::new(&Arc::new(exactly))?)))
}

impl DiscreteWorker<'_> {
    /// Tries the categories that are guessed.
    pub(super) fn guess(&mut self, factual: &[f64], aim: Aim<'_>, best: &mut Best) -> Result<()> {
        let Some(mut guesser) = self.guesser.take() else { return Ok(()) };
        let task = Arc::clone(&self.task);
        let within = Restriction {
            limits: vec![(f64::NEG_INFINITY, f64::INFINITY); factual.len()],
            held: self.within.held.clone(),
            frozen: false,
            max_changes: task.actions.max_changes(),
        };
        let mut found = Proposal::new(factual.len());
        let mut points: Vec<Vec<f64>> = Vec::new();
        let mut reaches = |worker: &mut Self, least_score: f64| -> Result<Option<bool>> {
            let ask = Ask {
                cost: worker.task.own_cost(),
                restriction: Some(&within),
                least_score,
                ..Ask::new(factual, Goal::Rate(ANY_RATE), aim.budget)
            };
            guesser.find(&ask, &mut found)?;
            if let Verdict::Short(reason) = found.verdict
                && reason != Reason::SearchLimit
            {
                return Ok(None);
            }
            points.push(found.point.clone());
            Ok(Some(worker.inner.rate_at(factual, &found.point, LINES)? <= aim.usual()))
        };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut step = 0.1 * task.model.score(factual)?.abs().max(1e-3);
        for _ in 0..DOUBLINGS {
            match reaches(self, low + step)? {
                Some(false) => (low, step) = (low + step, 2.0 * step),
                Some(true) | None => {
                    high = low + step;
                    break;
                }
            }
        }
        for _ in 0..STEPS {
            let mid = 0.5 * (low + high);
            if !mid.is_finite() || mid <= low || mid >= high {
                break;
            }
            match reaches(self, mid)? {
                Some(false) => low = mid,
                Some(true) | None => high = mid,
            }
        }
        self.guesser = Some(guesser);
        let mut tried: Vec<Vec<f64>> = Vec::new();
        for point in points.iter().rev() {
            self.person.copy_from_slice(factual);
            let mut n_changed = 0;
            for group in task.actions.groups() {
                let changes = group.columns().iter().any(|&c| point[c] != factual[c]);
                group.columns().iter().for_each(|&c| self.person[c] = point[c]);
                n_changed += usize::from(changes);
            }
            if tried.len() == TRIED {
                break;
            }
            if !tried.contains(&self.person) {
                tried.push(self.person.clone());
                let total = task.cost.total(factual, &self.person);
                self.try_choice(factual, aim, (total, n_changed), best)?;
            }
        }
        Ok(())
    }
}
