//! `probe`: the cheapest point whose true invalidation rate is at most $r$.
//!
//! Where the paper minimises a weighted sum of hinge, loss and distance (equation 3) and stops at
//! the first acceptable iterate, this solves the constrained problem itself: minimise cost subject
//! to rate ≤ $r$. For affine scores that is exact ([`linear`]), also where the model itself may
//! change (`shifted`).

mod discrete;
mod effort;
mod far;
pub mod linear;
mod listed;
mod sequential;
mod shifted;
mod sweep;

pub use sequential::GENERATORS;

use super::{RecourseMethod, Solver, Task};
use crate::error::{Error, Result};
use crate::invalidation::Rates;
use crate::noise::NoiseOn;
use crate::registry::Entry;
use std::sync::Arc;

/// The solvers are asked for this rate if any favourable point is enough.
const ANY_RATE: f64 = 1.0 - 1e-12;

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

    fn serves_alternatives(&self) -> bool {
        true
    }

    fn serves_relations(&self) -> bool {
        true
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        task.check()?;
        check_relations(task)?;
        let linear = task.model.as_linear().is_some();
        let exact =
            Rates::of(&*task.model, &*task.noise, task.shift, &task.actions) == Rates::Exact;
        let grows = exact && task.noise.as_effort().is_some() && task.shift.is_none();
        let listed = listed::ListedSolver::serves(task);
        let solver = |task: &Arc<Task>| -> Result<Box<dyn Solver>> {
            Ok(match task.shift {
                Some(shift) if linear => Box::new(shifted::ShiftedSolver::new(task, shift)?),
                _ if grows => Box::new(effort::EffortSolver::new(task)?),
                _ if listed => Box::new(listed::ListedSolver::new(task)?),
                _ if exact => Box::new(linear::LinearSolver::new(task)?),
                _ => Box::new(sequential::SequentialSolver::new(task)?),
            })
        };
        let exact = exact || listed;
        let actions = &task.actions;
        // The exact solver chooses categories itself, unless the model may change, noise grows with
        // the change, changes of category may fail, or there are relations.
        let chosen = !exact
            || grows
            || task.shift.is_some()
            || actions.has_failures()
            || actions.has_sums()
            || actions.has_conditions();
        // For noise that grows with the change, it also finds the most robust points.
        if grows
            || actions.has_grids()
            || actions.has_conditions()
            || (actions.has_choices() && chosen)
        {
            let solver = discrete::DiscreteSolver::new(task, (exact, chosen), solver)?;
            return with_far(task, Box::new(solver));
        }
        with_far(task, solver(task)?)
    }
}

/// The solver, which also looks far where that is of use.
fn with_far(task: &Arc<Task>, solver: Box<dyn Solver>) -> Result<Box<dyn Solver>> {
    Ok(match far::FarSolver::serves(task) {
        true => Box::new(far::FarSolver::new(task, solver)?),
        false => solver,
    })
}

/// Fails if relations between features, or changes of category that may fail, are combined with
/// something that no solver supports.
fn check_relations(task: &Task) -> Result<()> {
    let actions = &task.actions;
    let refuse = |what: &str, why: &str| {
        Err(Error::Unsupported { what: what.to_owned(), why: why.to_owned() })
    };
    let (sums, tied) = (actions.has_sums(), !actions.ties().is_empty());
    let norm = task.cost.norm();
    if sums && !norm.is_linear() && norm.is_separable() {
        return refuse("relations between features with cost l2", "use l1 or linf");
    }
    if task.noise_on == NoiseOn::Changed && (sums || actions.has_failures()) {
        let why = "use noise on all or mutable features";
        return refuse(
            "relations between features, or p_fail, with noise on changed features only",
            why,
        );
    }
    if task.shift.is_some() && (tied || actions.has_failures()) {
        return refuse(
            "relations between features, or p_fail, with a model that may change",
            "leave out one of the two",
        );
    }
    if actions.is_strict() && tied {
        return refuse(
            "strict bounds with relations between features",
            "let people stay outside the bounds",
        );
    }
    Ok(())
}
