//! The standard normal mass of the parts of a line on which a score is not positive.

use crate::math::normal::{cdf, upper_tail};

/// Beyond this many standard deviations a line is not followed: $2\bar\Phi(9) \approx 2\cdot10^{-19}$ of its mass.
pub(super) const REACH: f64 = 9.0;

/// Adds up the mass of the refused parts while a score is followed from the left end of a line to the right.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refused {
    /// Where the current refused part began; `None` while the score is positive.
    since: Option<f64>,
    mass: f64,
}

impl Refused {
    /// Starts at the left end, where the score is `score`.
    pub(super) fn start(score: f64) -> Self {
        Self { since: (score <= 0.0).then_some(f64::NEG_INFINITY), mass: 0.0 }
    }

    /// The score becomes positive at `t`.
    pub(super) fn up(&mut self, t: f64) {
        if let Some(from) = self.since.take() {
            self.mass += between(from, t);
        }
    }

    /// The score stops being positive at `t`.
    pub(super) fn down(&mut self, t: f64) {
        self.since.get_or_insert(t);
    }

    /// The mass of all refused parts, at most 1.
    pub(super) fn finish(self) -> f64 {
        (self.mass + self.since.map_or(0.0, upper_tail)).min(1.0)
    }
}

/// $\Phi(b) - \Phi(a)$ without cancellation in the tails.
fn between(a: f64, b: f64) -> f64 {
    if a > 0.0 { upper_tail(a) - upper_tail(b) } else { cdf(b) - cdf(a) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_of_hand_worked_lines() {
        // Refused below 1: Phi(1).
        let mut refused = Refused::start(-1.0);
        refused.up(1.0);
        assert!((refused.finish() - 0.841_344_746_068_542_9).abs() < 1e-15);
        // Refused between 0 and 1 and above 8: Phi(1) - 1/2 and a tail that 1 - cdf would lose.
        let mut refused = Refused::start(0.5);
        refused.down(0.0);
        refused.up(1.0);
        refused.down(8.0);
        let expected = 0.341_344_746_068_542_9 + 6.220_960_574_271_786e-16;
        assert!((refused.finish() - expected).abs() < 1e-16);
        // Never refused, always refused: ties are refused.
        assert_eq!(Refused::start(1e-300).finish(), 0.0);
        assert_eq!(Refused::start(0.0).finish(), 1.0);
    }
}
