//! A method that finds nothing.

use probe_core::{Ask, Proposal, Reason, RecourseMethod, Result, Solver, Task, Verdict, Worker};
use std::sync::Arc;

/// A method that proposes that everybody stays as they are: all that is known of better points is
/// what the engine proves by itself.
pub struct Stay;

impl RecourseMethod for Stay {
    fn name(&self) -> &'static str {
        "stay"
    }

    fn prepare(&self, _: &Arc<Task>) -> Result<Box<dyn Solver>> {
        Ok(Box::new(Self))
    }
}

impl Solver for Stay {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Self)
    }
}

impl Worker for Stay {
    fn find(&mut self, ask: &Ask<'_>, proposal: &mut Proposal) -> Result<()> {
        proposal.point.copy_from_slice(ask.factual);
        proposal.verdict = Verdict::Short(Reason::RateNotReachable);
        Ok(())
    }
}
