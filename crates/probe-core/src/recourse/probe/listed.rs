//! Recourse for affine scores under noise that is a list of observed errors.
//!
//! An error $e_i$ shifts the score by $w^\top e_i$ wherever a person is, so that the rate is at
//! most $r$ iff the score is above $-q$, with $q$ the shift number $\lfloor rn\rfloor + 1$ in
//! ascending order: one linear inequality, which the exact solver for linear models takes as a
//! least score.

use super::super::{Ask, Goal, Proposal, Solver, Task, Worker};
use super::ANY_RATE;
use super::linear::LinearSolver;
use crate::error::{Error, Result};
use crate::model::Linear;
use crate::noise::{Covariance, Gaussian, NoiseOn};
use std::sync::Arc;

/// Shares of a list that differ by less are equal.
const ROUNDING: f64 = 1e-9;

/// The solver, prepared for a task.
pub(super) struct ListedSolver {
    linear: Linear,
    inner: LinearSolver,
    /// How the errors shift the score, in ascending order.
    shifts: Vec<f64>,
}

impl ListedSolver {
    /// Whether this solver serves a task.
    pub(super) fn serves(task: &Task) -> bool {
        task.model.as_linear().is_some()
            && task.noise.as_residuals().is_some()
            && task.noise_on != NoiseOn::Changed
            && task.shift.is_none()
            && !task.actions.has_failures()
    }

    /// Fails unless the score is affine and the noise a list of errors.
    pub(super) fn new(task: &Arc<Task>) -> Result<Self> {
        let (Some(linear), Some(errors)) = (task.model.as_linear(), task.noise.as_residuals())
        else {
            return Err(Error::Unsupported {
                what: format!("{} noise on a {} model", task.noise.name(), task.model.name()),
                why: "this solver needs a list of errors and a linear model".to_owned(),
            });
        };
        let weights = linear.weights();
        let mut active = vec![false; weights.len()];
        task.noise_on.active_into(&task.actions, &[], &[], &mut active);
        let shift = |i: usize| -> f64 {
            let terms = errors.row(i).iter().zip(weights).zip(&active);
            terms.map(|((e, w), active)| if *active { w * e } else { 0.0 }).sum()
        };
        let mut shifts: Vec<f64> = (0..errors.n_rows()).map(shift).collect();
        shifts.sort_by(f64::total_cmp);
        let mut exactly = Task::clone(task);
        let zeros = vec![0.0; weights.len()];
        exactly.noise = Arc::new(Gaussian::new(zeros.clone(), Covariance::Diagonal(zeros))?);
        let inner = LinearSolver::new(&Arc::new(exactly))?;
        Ok(Self { linear: linear.clone(), inner, shifts })
    }

    /// The score above which the rate is at most `rate`.
    fn least_score(&self, rate: f64) -> f64 {
        let refused = (rate * self.shifts.len() as f64 * (1.0 + ROUNDING)).floor() as usize;
        self.shifts.get(refused).map_or(f64::NEG_INFINITY, |shift| -shift)
    }
}

impl Solver for ListedSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(ListedWorker { solver: self, inner: self.inner.worker() })
    }
}

struct ListedWorker<'a> {
    solver: &'a ListedSolver,
    inner: Box<dyn Worker + 'a>,
}

impl Worker for ListedWorker<'_> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let goal = ask.aim();
        goal.check()?;
        let Goal::Rate(rate) = goal else { return self.inner.find(ask, proposal) };
        let least_score = self.solver.least_score(rate).max(ask.least_score);
        let goal = Goal::Rate(ANY_RATE);
        self.inner.find(&Ask { goal, gap: None, least_score, ..*ask }, proposal)
    }

    fn rate_at(&mut self, _from: &[f64], to: &[f64], _lines: usize) -> Result<f64> {
        let score = self.solver.linear.score_row(to);
        let shifts = &self.solver.shifts;
        let refused = shifts.partition_point(|shift| score + shift <= 0.0);
        Ok(refused as f64 / shifts.len() as f64)
    }

    fn serves_own_costs(&self) -> bool {
        true
    }
}
