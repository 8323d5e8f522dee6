//! The request to a worker for one person, and the task with that request's settings.

use super::{Budget, Goal, SearchEffort, Task};
use crate::cost::Cost;
use crate::schema::Restriction;
use std::ops::Deref;
use std::sync::Arc;

/// A request to a worker, for one person.
#[derive(Clone, Copy)]
pub struct Ask<'q> {
    /// The person, in scaled space.
    pub factual: &'q [f64],
    /// Whom the noise counts changes from, if not from `factual`: the person with the categories
    /// that they have now, where others are tried for them.
    pub origin: Option<&'q [f64]>,
    /// What to reach.
    pub goal: Goal,
    /// How far below the goal's rate to aim by default, so that samples can certify the answer. A
    /// method that knows the cost of lower rates may choose another gap; it reports the rate that
    /// it aimed at in [`super::Proposal::aim`].
    pub gap: Option<f64>,
    /// Which of the method's answers, cheapest first ([`super::Worker::n_options`]).
    pub alternative: usize,
    /// Costs for this person only ([`super::Worker::serves_own_costs`]); `None` for the task's.
    pub cost: Option<&'q Cost>,
    /// A further restriction of what the person may change. Only the solvers of `probe` support it.
    pub restriction: Option<&'q Restriction>,
    /// A score that the point must also reach, for affine scores; −∞ for none. Only the solvers of
    /// `probe` support it.
    pub least_score: f64,
    /// Whether to look far and wide, under the noise and the change of the model themselves
    /// ([`super::Worker::looks_far`]). It is asked for where the usual search, under other noise,
    /// found no answer.
    pub far: bool,
    /// How thorough the search is.
    pub effort: SearchEffort,
    /// The work that the search may do.
    pub budget: &'q Budget<'q>,
}

impl<'q> Ask<'q> {
    /// Asks for the first answer with the task's own settings and normal effort.
    pub fn new(factual: &'q [f64], goal: Goal, budget: &'q Budget<'q>) -> Self {
        Self {
            factual,
            origin: None,
            goal,
            gap: None,
            alternative: 0,
            cost: None,
            restriction: None,
            least_score: f64::NEG_INFINITY,
            far: false,
            effort: SearchEffort::Normal,
            budget,
        }
    }

    /// The goal minus its gap, for methods that do not choose a gap themselves.
    pub fn aim(&self) -> Goal {
        match (self.goal, self.gap) {
            (Goal::Rate(rate), Some(gap)) => Goal::Rate(rate - gap),
            (goal, _) => goal,
        }
    }
}

/// A worker's task with the costs and the restriction of the last request.
pub(super) struct Posed {
    /// The task without them.
    prepared: Arc<Task>,
    task: Arc<Task>,
    has_own_costs: bool,
    restricted: bool,
}

impl Posed {
    pub(super) fn new(task: &Arc<Task>) -> Self {
        Self {
            prepared: Arc::clone(task),
            task: Arc::clone(task),
            has_own_costs: false,
            restricted: false,
        }
    }

    /// Applies the costs and the restriction of a request. Returns whether costs differ from those
    /// before.
    pub(super) fn turn_to(&mut self, ask: &Ask<'_>) -> bool {
        match ask.restriction {
            Some(restriction) => Arc::make_mut(&mut self.task).actions.restrict(restriction),
            None if self.restricted => {
                Arc::make_mut(&mut self.task).actions.clone_from(&self.prepared.actions);
            }
            None => {}
        }
        self.restricted = ask.restriction.is_some();
        let repriced = match ask.cost {
            Some(cost) => *cost != self.task.cost,
            None => self.has_own_costs && self.prepared.cost != self.task.cost,
        };
        if repriced {
            let cost = ask.cost.unwrap_or(&self.prepared.cost);
            Arc::make_mut(&mut self.task).cost.clone_from(cost);
        }
        self.has_own_costs = ask.cost.is_some();
        repriced
    }

    /// The costs to pass on to another worker.
    pub(super) fn own_cost(&self) -> Option<&Cost> {
        self.has_own_costs.then_some(&self.task.cost)
    }
}

impl Deref for Posed {
    type Target = Arc<Task>;

    fn deref(&self) -> &Arc<Task> {
        &self.task
    }
}
