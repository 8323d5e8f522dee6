//! There is no answer if the model may change so much that every point has a larger rate.
//!
//! A random change of the last layer alone leaves the score normal. Its margin is then at most
//! $\sqrt{\lVert v\rVert^2 + c^2}/\tau$ for weights $v$ and bias $c$ less the threshold, wherever
//! the point is and whatever else changes; see [`Models::least_rate`] and
//! [`ShiftedRate::least_rate`], which also serves worst cases.

use super::{Bound, Make, Person};
use crate::engine::outcome::Proof;
use crate::error::Result;
use crate::invalidation::{Models, ShiftedRate};
use crate::recourse::{Reason, Task};

/// The least rate must exceed the target by this share.
const ROUNDING: f64 = 1e-9;

pub(super) const MAKE: Make = |engine| {
    let least_rate = least_rate(engine.task())?;
    (least_rate > 0.0).then(|| Box::new(Shift { least_rate }) as _)
};

fn least_rate(task: &Task) -> Option<f64> {
    let shift = task.shift?;
    match task.model.as_linear() {
        Some(linear) => {
            let active = task.noise_on.fixed(&task.actions)?;
            Some(ShiftedRate::new(linear, &*task.noise, &active, shift).ok()?.least_rate())
        }
        None => Some(Models::new(&*task.model, shift).ok()?.least_rate()),
    }
}

struct Shift {
    /// A rate that no point is below.
    least_rate: f64,
}

impl Bound for Shift {
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()> {
        let above = self.least_rate * (1.0 - ROUNDING) > person.max_rate;
        if above && person.answer_cost.is_none() {
            *proof = Proof::none(Reason::RateNotReachable);
        }
        Ok(())
    }
}
