//! There is no answer if the model rejects everything within reach.

use super::{Bound, Make, Person};
use crate::engine::Engine;
use crate::engine::outcome::Proof;
use crate::error::Result;
use crate::recourse::infeasible;

pub(super) const MAKE: Make = |engine| Some(Box::new(Reach(engine)));

struct Reach<'e>(&'e Engine);

impl Bound for Reach<'_> {
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()> {
        // An accepted answer, or an accepted person, shows that something within reach is accepted.
        if person.answer_cost.is_none() && person.score <= 0.0 {
            proof.none = infeasible(self.0.task(), person.rounding.from());
        }
        Ok(())
    }
}
