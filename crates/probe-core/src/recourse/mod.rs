//! Recourse methods: from a person and a task to a point.
//!
//! A method is prepared once for a task (model, noise, cost, action space), then gives one worker
//! per thread; a worker owns its buffers and answers one person after another. Methods propose;
//! whether a proposal is favourable, admissible and within the rate is judged by [`crate::engine`],
//! never by the method.

mod alternatives;
mod ar;
mod ar_lime;
mod arar;
mod ask;
mod budget;
mod descent;
mod dice;
mod flip;
mod growing_spheres;
mod infeasibility;
mod lime;
mod minimax;
mod options;
pub mod probe;
mod probe_gradient;
mod probe_mc;
mod probe_tree;
mod reach;
mod reference;
mod roar;
mod task;
mod version;
mod wachter;
mod walk;

pub(crate) use alternatives::Alternatives;
pub use ask::Ask;
pub use budget::{Budget, SearchEffort};
pub(crate) use infeasibility::infeasible;
pub use options::MethodOptions;
pub use probe::GENERATORS;
pub use probe_tree::Distilled;
pub use reference::Reference;
pub use task::{Goal, Proposal, Reason, Report, Task, Verdict};

use crate::error::{Error, Result};
use crate::invalidation::Places;
use crate::registry::{Entry, lookup};
use std::sync::Arc;

/// A way to find recourse.
pub trait RecourseMethod: Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// Fails on settings that the method does not have or that are outside their domain. A method
    /// without settings rejects all of them.
    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        options.only(self.name(), &[])
    }

    /// Whether the method supports a budget instead of a rate. If not, the engine rejects a budget
    /// when it is built.
    fn serves_budgets(&self) -> bool {
        false
    }

    /// Whether the method supports relations between features. If not, the engine rejects them.
    fn serves_relations(&self) -> bool {
        false
    }

    /// Whether the method can find alternatives by holding features fixed
    /// ([`crate::Setup::alternatives`]).
    fn serves_alternatives(&self) -> bool {
        false
    }

    /// Does the work that all people share. Fails if the method does not support this task.
    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>>;
}

/// A method prepared for a task; shared by all threads.
pub trait Solver: Send + Sync {
    /// A worker with buffers of its own.
    fn worker(&self) -> Box<dyn Worker + '_>;

    /// Results of the preparation that users should know.
    fn notes(&self) -> Option<Notes> {
        None
    }
}

/// Results of a method's preparation.
#[derive(Debug, Clone, PartialEq)]
pub struct Notes {
    /// A sentence about them.
    pub text: String,
    /// Named numbers.
    pub values: Vec<(&'static str, f64)>,
}

/// Answers one person at a time.
pub trait Worker {
    /// Writes the cheapest point for the ask's goal into `proposal`, in scaled space.
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()>;

    /// An estimate of the rate of `to` for a person at `from`, from the search's own samples:
    /// `lines` lines, or as many other samples as have the same cost. Fails for methods that do not
    /// compute rates.
    fn rate_at(&mut self, _from: &[f64], _to: &[f64], _lines: usize) -> Result<f64> {
        Err(Error::Unsupported {
            what: "changes of category that may fail with this method".to_owned(),
            why: "its search computes no rates".to_owned(),
        })
    }

    /// Whether [`Worker::rates_along`] knows rates.
    fn has_profiles(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// [`Worker::rate_at`] for `places` of one feature of `to`. Says whether the method knows a
    /// faster way than one by one; otherwise there are no rates.
    fn rates_along(
        &mut self,
        _from: &[f64],
        _to: &[f64],
        _places: Places,
        _lines: usize,
        _rates: &mut Vec<f64>,
    ) -> Result<bool> {
        Ok(false)
    }

    /// How many lines ([`crate::LineSampling`]) the search has read so far; 0 for methods that read
    /// none, or do not count.
    fn n_lines(&self) -> u64 {
        0
    }

    /// Whether [`Ask::cost`] is used. Some methods are prepared for one set of costs.
    fn serves_own_costs(&self) -> bool {
        false
    }

    /// Whether [`Ask::far`] is used.
    fn looks_far(&self) -> bool {
        false
    }

    /// Whether the engine may ask again with a lower rate if the printed answer misses the target.
    /// Methods that are compared as published say no: they are asked once, for the target rate
    /// itself.
    fn retries(&self) -> bool {
        true
    }

    /// How many answers the method has for each person.
    fn n_options(&self) -> usize {
        1
    }

    /// [`Worker::find`] for several target rates in place of the ask's goal, calling `each` with
    /// the index of the rate. Methods that can share work between rates do.
    fn frontier(
        &mut self,
        ask: &Ask<'_>,
        rates: &[f64],
        proposal: &mut Proposal,
        each: &mut dyn FnMut(usize, &mut Proposal) -> Result<()>,
    ) -> Result<()> {
        for (i, &rate) in rates.iter().enumerate() {
            self.find(&Ask { goal: Goal::Rate(rate), ..*ask }, proposal)?;
            each(i, proposal)?;
        }
        Ok(())
    }
}

/// All methods.
pub const METHODS: &[Entry<dyn RecourseMethod>] = &[
    probe::ENTRY,
    probe_gradient::ENTRY,
    probe_mc::ENTRY,
    probe_tree::ENTRY,
    wachter::ENTRY,
    growing_spheres::ENTRY,
    roar::ENTRY,
    arar::ENTRY,
    ar::ENTRY,
    ar_lime::ENTRY,
    dice::ENTRY,
];

/// The method called `name`.
pub fn method(name: &str) -> Result<&'static dyn RecourseMethod> {
    Ok(lookup("method", METHODS, name)?.item)
}
