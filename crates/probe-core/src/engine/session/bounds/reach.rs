//! No answer where the score of everything within reach is no yes.

use super::{Bound, Make, Person};
use crate::engine::Engine;
use crate::engine::outcome::Proof;
use crate::error::Result;
use crate::recourse::infeasible;

pub(super) const MAKE: Make = |engine| Some(Box::new(Reach(engine)));

struct Reach<'e>(&'e Engine);

impl Bound for Reach<'_> {
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()> {
        // A method that found a yes, and a person who has one, show that there are some.
        if person.told.is_none() && person.score <= 0.0 {
            proof.none = infeasible(self.0.task(), person.rounding.from());
        }
        Ok(())
    }
}
