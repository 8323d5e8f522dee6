//! What stands in the way of a person whose answer missed its target.

use super::Session;
use crate::engine::answer::{Answer, Limit, Shortfall};
use crate::engine::rates::RateSource;
use crate::error::Result;
use crate::math::normal::upper_quantile;
use crate::schema::Direction;

impl Session<'_> {
    /// What stands in the way of `person`, whose answer missed its target. `None` if it did not,
    /// and for models whose features do not act one by one.
    pub fn shortfall(&mut self, person: &[f64], answer: &Answer) -> Result<Option<Shortfall>> {
        let (engine, setup) = (self.engine, &self.engine.setup);
        let linear = engine.task().model.as_linear();
        let (RateSource::Exact(None), Some(linear), Some(_)) =
            (&engine.rates, linear, answer.best_rate)
        else {
            return Ok(None);
        };
        let best: &[f64] = if answer.nearest.is_empty() { person } else { &answer.nearest };
        self.rounding.set(best);
        let score = self.rounding.score()?;
        let (sd, mean) = engine.noise_along(&mut vec![false; person.len()], person, best)?;
        let needed = (upper_quantile(setup.max_rate) * sd - mean).max(0.0);
        let limit = |j: usize| {
            let (w, room) = (linear.weights()[j], setup.actions.room(j));
            let against = if w > 0.0 { Direction::Decrease } else { Direction::Increase };
            if w == 0.0 {
                Limit::NoEffect
            } else if !room.mutable {
                Limit::Immutable
            } else if room.direction == against {
                Limit::Direction
            } else if best[j] == person[j] && setup.may_improve(j, person[j], w) {
                Limit::MaxChanges
            } else if w > 0.0 {
                Limit::AtMost(best[j])
            } else {
                Limit::AtLeast(best[j])
            }
        };
        let limits = (0..person.len()).map(|j| (j, limit(j))).collect();
        Ok(Some(Shortfall { limits, score, needed }))
    }
}
