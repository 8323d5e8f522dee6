//! The common part of methods that only change the decision.
//!
//! They use neither noise nor rate. The engine judges what they find, and reports a rate above the
//! target with the reason `rate-ignored`. They therefore support any noise, but no budget, and give
//! the same answer for all rates of a frontier.

use super::reach::Reach;
use super::{Ask, Goal, Proposal, Reason, Task, Verdict, Worker, infeasibility};
use crate::error::{Error, Result};
use crate::model::Model;

/// A search for a favourable point, one person after another.
pub(super) trait Search {
    /// Writes the best point inside `reach` to `point`, which initially is the person moved inside.
    /// `Err` holds the reason if that point is not favourable.
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>>;

    /// [`Worker::n_options`].
    fn n_options(&self) -> usize {
        1
    }

    /// Whether one-hot groups may change, too; `reach` then covers the other features only.
    fn moves_groups(&self) -> bool {
        false
    }
}

/// A search as a worker.
pub(super) struct Flip<'a, S> {
    task: &'a Task,
    reach: Reach,
    search: S,
}

impl<'a, S: Search> Flip<'a, S> {
    pub(super) fn new(task: &'a Task, search: S) -> Self {
        Self { task, reach: Reach::new(task.model.n_features()), search }
    }

    fn propose(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let factual = ask.factual;
        proposal.point.copy_from_slice(factual);
        let outcome = match self.reach.turn_to(&self.task.actions, factual) {
            Err(reason) => Err(reason),
            Ok(()) if !self.search.moves_groups() && !self.reach.allows_a_move(factual) => {
                Err(Reason::NoAdmissibleMove)
            }
            Ok(()) => {
                self.reach.confine(&mut proposal.point);
                let start = proposal.point.clone();
                // If the search found nothing, it may be provable that there is nothing.
                self.search.search(ask, &self.reach, &mut proposal.point)?.map_err(|reason| {
                    match reason {
                        Reason::NotFound => {
                            infeasibility::proven(self.task, &self.reach, (factual, &start))
                        }
                        reason => reason,
                    }
                })
            }
        };
        // The engine computes the rate, and drops this reason if the rate is low enough.
        proposal.verdict = Verdict::Short(outcome.err().unwrap_or(Reason::RateIgnored));
        Ok(())
    }
}

impl<S: Search> Worker for Flip<'_, S> {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        let goal = ask.aim();
        goal.check()?;
        match goal {
            Goal::Rate(_) => self.propose(ask, proposal),
            Goal::Budget(_) => Err(Error::Unsupported {
                what: "a budget with a method that only changes the decision".to_owned(),
                why: "use method probe".to_owned(),
            }),
        }
    }

    fn retries(&self) -> bool {
        false
    }

    fn n_options(&self) -> usize {
        self.search.n_options()
    }

    fn frontier(
        &mut self,
        ask: &Ask<'_>,
        rates: &[f64],
        proposal: &mut Proposal,
        each: &mut dyn FnMut(usize, &mut Proposal) -> Result<()>,
    ) -> Result<()> {
        self.propose(ask, proposal)?;
        (0..rates.len()).try_for_each(|i| each(i, proposal))
    }
}

/// How far beyond zero a score must be at `point` so that it is still favourable after rounding,
/// for terms of this size.
pub(super) fn hair(size: f64) -> f64 {
    1e-9 * size.max(1e-3)
}

/// Moves `to`, which is favourable, back along the segment from `from`, which is not, until a hair
/// beyond the boundary.
pub(super) fn cross(model: &dyn Model, from: &mut [f64], to: &mut [f64]) -> Result<()> {
    let beyond = hair(1.0 + model.score(from)?.abs());
    let mut middle = vec![0.0; to.len()];
    for _ in 0..30 {
        for (m, (a, b)) in middle.iter_mut().zip(from.iter().zip(&*to)) {
            *m = 0.5 * (a + b);
        }
        let end: &mut [f64] = if model.score(&middle)? > beyond { &mut *to } else { &mut *from };
        end.copy_from_slice(&middle);
    }
    Ok(())
}
