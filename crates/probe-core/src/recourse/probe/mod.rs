//! `probe`: the cheapest point whose true invalidation rate is at most $r$.
//!
//! Where the paper minimises a weighted sum of hinge, loss and distance (equation 3) and stops at the first acceptable
//! iterate, this solves the constrained problem itself: minimise cost subject to rate ≤ $r$. For affine scores that is
//! exact ([`linear`]), also where the model itself may change (`shifted`).

mod discrete;
pub mod linear;
mod sequential;
mod shifted;

use super::{RecourseMethod, Solver, Task};
use crate::error::Result;
use crate::registry::Entry;
use std::sync::Arc;

pub(super) const ENTRY: Entry<dyn RecourseMethod> = Entry {
    name: "probe",
    reference: "PROBE, Pawelczyk et al. 2023, arXiv:2203.06768; solved exactly",
    item: &Probe,
};

struct Probe;

impl RecourseMethod for Probe {
    fn name(&self) -> &'static str {
        "probe"
    }

    fn serves_budgets(&self) -> bool {
        true
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        task.check()?;
        if let (Some(shift), Some(_)) = (task.shift, task.model.as_linear()) {
            return Ok(Box::new(shifted::ShiftedSolver::new(task, shift)?));
        }
        let exact = task.model.as_linear().is_some() && task.noise.as_gaussian().is_some();
        let solver = |task: &Arc<Task>| -> Result<Box<dyn Solver>> {
            Ok(match exact {
                true => Box::new(linear::LinearSolver::new(task)?),
                false => Box::new(sequential::SequentialSolver::new(task)?),
            })
        };
        if task.actions.has_grids() || (task.actions.has_choices() && !exact) {
            return Ok(Box::new(discrete::DiscreteSolver::new(task, exact, solver)?));
        }
        solver(task)
    }
}
