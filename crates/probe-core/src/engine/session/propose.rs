//! Asks the method's worker for proposals. No other part of a session knows the worker.

use crate::cost::Cost;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::recourse::{Ask, Budget, Goal, Proposal, Worker};
use std::sync::atomic::AtomicBool;

/// A method's worker, with the settings of its next request and its last proposal.
pub(super) struct Proposer<'e> {
    engine: &'e Engine,
    worker: Box<dyn Worker + 'e>,
    /// Which of the method's answers to ask for.
    option: usize,
    own_costs: Option<OwnCosts>,
    /// The work that is left for the current person.
    budget: Budget<'e>,
    /// The work that all previous people took.
    spent: u64,
    /// Ends the work once it is set.
    pub(super) cancelled: Option<&'e AtomicBool>,
    /// What the method proposed last.
    pub(super) proposal: Proposal,
}

/// Costs of one person who differs from the others.
struct OwnCosts {
    /// Factors of the usual costs, column by column.
    factors: Vec<f64>,
    /// The cost that is reported.
    cost: Cost,
    /// The cost that the search minimises. It includes preferences.
    search: Cost,
}

impl<'e> Proposer<'e> {
    pub(super) fn new(engine: &'e Engine, worker: Box<dyn Worker + 'e>) -> Self {
        let proposal = Proposal::new(engine.setup.names.len());
        let budget = Budget::new(engine.setup.effort);
        Self {
            engine,
            worker,
            option: 0,
            own_costs: None,
            budget,
            spent: 0,
            cancelled: None,
            proposal,
        }
    }

    /// Starts another person with a full budget of work.
    pub(super) fn start(&mut self) {
        self.spent += self.budget.spent();
        self.budget = Budget::new(self.engine.setup.effort).until(self.cancelled);
    }

    /// Fails if the work was cancelled, because its result is then incomplete.
    pub(super) fn check(&self) -> Result<()> {
        if self.budget.is_cancelled() { Err(Error::Cancelled) } else { Ok(()) }
    }

    /// Proposes the best point for `goal` to a person at `from`, in scaled space.
    pub(super) fn find(&mut self, from: &[f64], goal: Goal) -> Result<()> {
        self.ask(from, goal, None)
    }

    /// Proposes a point whose rate is below `rate` by about `gap`; returns the rate aimed at.
    pub(super) fn find_below(&mut self, from: &[f64], rate: f64, gap: f64) -> Result<f64> {
        self.ask(from, Goal::Rate(rate), Some(gap))?;
        Ok(self.proposal.aim.unwrap_or(rate - gap))
    }

    /// Whether the method can look far ([`Ask::far`]).
    pub(super) fn looks_far(&self) -> bool {
        self.worker.looks_far()
    }

    /// Looks far for a point of at most this rate. The last proposal stays if none is found.
    pub(super) fn find_far(&mut self, from: &[f64], rate: f64) -> Result<()> {
        let budget = self.budget.part(2);
        let ask = Ask {
            alternative: self.option,
            cost: self.own_costs.as_ref().map(|own| &own.search),
            effort: self.engine.setup.effort,
            far: true,
            ..Ask::new(from, Goal::Rate(rate), &budget)
        };
        self.worker.find(&ask, &mut self.proposal)
    }

    fn ask(&mut self, from: &[f64], goal: Goal, gap: Option<f64>) -> Result<()> {
        self.proposal.forget();
        // Half of what is left, so that something remains for the next attempt.
        let budget = self.budget.part(2);
        let ask = Ask {
            gap,
            alternative: self.option,
            cost: self.own_costs.as_ref().map(|own| &own.search),
            effort: self.engine.setup.effort,
            ..Ask::new(from, goal, &budget)
        };
        self.worker.find(&ask, &mut self.proposal)
    }

    /// A proposal for each rate.
    pub(super) fn find_all(&mut self, from: &[f64], rates: &[f64]) -> Result<Vec<Proposal>> {
        let mut proposals = vec![Proposal::new(from.len()); rates.len()];
        self.proposal.forget();
        let ask = Ask {
            cost: self.own_costs.as_ref().map(|own| &own.search),
            effort: self.engine.setup.effort,
            ..Ask::new(from, Goal::Rate(self.engine.setup.max_rate), &self.budget)
        };
        self.worker.frontier(&ask, rates, &mut self.proposal, &mut |i, found| {
            proposals[i].clone_from(found);
            Ok(())
        })?;
        Ok(proposals)
    }

    /// Whether the method may be asked again if its proposal was not confirmed.
    pub(super) fn retries(&self) -> bool {
        self.worker.retries()
    }

    /// How many answers the method has for each person.
    pub(super) fn n_options(&self) -> usize {
        self.worker.n_options()
    }

    /// Which of the method's answers to ask for.
    pub(super) fn option(&self) -> usize {
        self.option
    }

    pub(super) fn turn_to_option(&mut self, option: usize) {
        self.option = option;
    }

    /// How many lines the search has evaluated so far.
    pub(super) fn n_lines(&self) -> u64 {
        self.worker.n_lines()
    }

    /// The work of all searches so far, in lines ([`Budget`]).
    pub(super) fn n_evaluations(&self) -> u64 {
        self.spent + self.budget.spent()
    }

    /// From now on, multiplies the cost of changing each column by its factor. `None` restores the
    /// usual costs.
    pub(super) fn set_cost_factors(&mut self, factors: Option<&[f64]>) -> Result<()> {
        if factors.is_none() && self.own_costs.is_none() {
            return Ok(());
        }
        let (setup, task) = (&self.engine.setup, self.engine.task());
        let own = match factors {
            None => None,
            Some(factors) => {
                let (cost, search) = (setup.cost.times(factors)?, task.cost.times(factors)?);
                Some(OwnCosts { factors: factors.to_vec(), cost, search })
            }
        };
        if !self.worker.serves_own_costs() {
            return Err(Error::Unsupported {
                what: "personal costs with this method".to_owned(),
                why: "it is prepared for one set of costs; use method probe".to_owned(),
            });
        }
        self.own_costs = own;
        Ok(())
    }

    /// The factors that were set, if any.
    pub(super) fn cost_factors(&self) -> Option<&[f64]> {
        self.own_costs.as_ref().map(|own| &own.factors[..])
    }

    /// The cost that is reported.
    pub(super) fn cost(&self) -> &Cost {
        self.own_costs.as_ref().map_or(&self.engine.setup.cost, |own| &own.cost)
    }

    /// A lower bound on the real cost of a point whose cost in the search, which includes
    /// preferences, is `in_search`.
    pub(super) fn least_cost(&self, in_search: f64) -> f64 {
        let setup = &self.engine.setup;
        let movable = (0..setup.preference.len()).filter(|&j| setup.actions.room(j).mutable);
        let most = movable.map(|j| setup.preference[j]).fold(0.0, f64::max);
        if most > 0.0 { in_search / most } else { in_search }
    }

    /// The cost that the search minimises. It includes preferences.
    pub(super) fn search_cost(&self) -> &Cost {
        self.own_costs.as_ref().map_or(&self.engine.task.cost, |own| &own.search)
    }
}
