//! Certified bounds below the target: bets on a sequence of lower bounds, in addition to the one
//! on the target itself.
//!
//! Rungs $r > u_1 > u_2 > \dots$ are fixed before the first observation. Each has its own bet
//! against the hypothesis that the rate is at least $u_k$. A rung counts only if the target's bet
//! and the bets of all rungs above it are won. The error probability then need not be divided (this
//! is testing in a fixed order): let $\Delta$ be the rate. For a false bound, the highest rung at
//! or below $\Delta$ must be won, which has probability $\delta$ at most.

use super::certificate::{Bet, Betting};
use crate::error::Result;

/// Positions of the rungs, as shares of the distance from the expected rate to the target.
const RUNGS: [f64; 6] = [0.85, 0.7, 0.5, 0.35, 0.25, 0.15];

/// Bets on bounds below a target, the highest first.
#[derive(Debug, Default)]
pub(crate) struct Ladder {
    rungs: Vec<(f64, Betting)>,
}

impl Ladder {
    /// Rungs between the target `rate` and the expected `mean`. Mean and variance must come from
    /// samples that the bets do not see. Empty if the expected mean is not below the target.
    pub(crate) fn new(rate: f64, mean: f64, variance: f64) -> Result<Self> {
        if !(mean > 0.0 && mean < rate) {
            return Ok(Self::default());
        }
        let rung = |share: &f64| {
            let bound = mean + share * (rate - mean);
            Ok((bound, Betting::expecting(bound, mean, variance)?))
        };
        Ok(Self { rungs: RUNGS.iter().map(rung).collect::<Result<_>>()? })
    }

    /// Takes fresh observations in [0, 1].
    pub(crate) fn observe_all(&mut self, observations: &[f64]) {
        for (_, bet) in &mut self.rungs {
            bet.observe_all(observations);
        }
    }

    /// The lowest valid bound with error probability `delta`, given that the target's bet is won at
    /// the same `delta`. Infinite if no rung is won.
    pub(crate) fn bound(&self, delta: f64) -> f64 {
        let won = self.rungs.iter().take_while(|(_, bet)| bet.certifies(delta));
        won.last().map_or(f64::INFINITY, |(bound, _)| *bound)
    }

    /// Whether all rungs are won.
    pub(crate) fn is_climbed(&self, delta: f64) -> bool {
        self.rungs.iter().all(|(_, bet)| bet.certifies(delta))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};

    /// The share of 2,000 runs with a false bound, and the mean bound. Observations are uniform
    /// between 0 and twice the true rate; the target is 0.2 and the expected rate 0.15.
    fn climb(truth: f64, delta: f64, observations: usize) -> (f64, f64) {
        let (runs, mut wrong, mut sum) = (2_000, 0, 0.0);
        for run in 0..runs {
            let mut stream = Seed(3).stream(Purpose::Certificate, run);
            let mut target = Betting::expecting(0.2, 0.15, 0.0075).unwrap();
            let mut ladder = Ladder::new(0.2, 0.15, 0.0075).unwrap();
            let mut claimed = f64::INFINITY;
            for _ in 0..observations / 50 {
                let some: [f64; 50] = std::array::from_fn(|_| 2.0 * truth * stream.uniform());
                target.observe_all(&some);
                ladder.observe_all(&some);
                if target.certifies(delta) {
                    claimed = ladder.bound(delta).min(0.2);
                }
            }
            wrong += u32::from(claimed < truth || (claimed <= truth && truth <= 0.2));
            sum += claimed.min(1.0);
        }
        (f64::from(wrong) / runs as f64, sum / runs as f64)
    }

    #[test]
    fn false_bounds_are_as_rare_as_promised_wherever_the_truth_is() {
        let delta = 0.05;
        let allowed = delta + 4.0 * (delta * (1.0 - delta) / 2_000.0_f64).sqrt();
        // At the target, at rungs, and just above one: 0.175 is the third rung, 0.1575 the last.
        for truth in [0.2, 0.185, 0.175, 0.1751, 0.1575] {
            let (wrong, _) = climb(truth, delta, 3_000);
            assert!(wrong <= allowed, "truth {truth}: {wrong}");
        }
    }

    #[test]
    fn the_bound_comes_close_to_the_rate() {
        // Variance 0.0075: a rung 0.0125 above the rate takes about 2 ln(1000) 0.0075/0.0125² = 660
        // observations.
        let (wrong, bound) = climb(0.15, 1e-3, 3_000);
        assert!(wrong == 0.0 && bound < 0.165, "{wrong} {bound}");
        let ladder = Ladder::new(0.2, 0.15, 0.0075).unwrap();
        assert!(ladder.bound(0.5) == f64::INFINITY && !ladder.is_climbed(0.5));
        // Nothing below the target is expected: nothing to climb.
        for mean in [0.2, 0.3, f64::NAN] {
            assert!(Ladder::new(0.2, mean, 0.01).unwrap().is_climbed(0.5));
        }
    }
}
