//! Bets on which errors trees refuse: one by one, or hypercube by hypercube.

use crate::invalidation::STRATA;
use crate::invalidation::certificate::{Bet as _, Betting, Mixture};

/// A bet on which errors trees refuse.
pub(super) enum OnRefusals {
    /// On every one of independent draws.
    Draws(Mixture),
    /// On the share that is refused of each hypercube. These are independent of each other, draws
    /// within one are not.
    Cubes(Betting),
}

impl OnRefusals {
    /// Takes whole hypercubes, if they are some; `shares` become what was observed.
    pub(super) fn observe(&mut self, refused: &[bool], shares: &mut Vec<f64>) {
        shares.clear();
        match self {
            Self::Draws(bet) => {
                shares.extend(refused.iter().map(|refused| f64::from(u8::from(*refused))));
                let ones = refused.iter().filter(|refused| **refused).count();
                bet.observe_many(ones as u64, refused.len() as u64);
            }
            Self::Cubes(bet) => {
                let cubes = refused.chunks_exact(STRATA);
                let ones = cubes.map(|cube| cube.iter().filter(|refused| **refused).count());
                shares.extend(ones.map(|ones| ones as f64 / STRATA as f64));
                bet.observe_all(shares);
            }
        }
    }

    pub(super) fn certifies(&self, delta: f64) -> bool {
        match self {
            Self::Draws(bet) => bet.certifies(delta),
            Self::Cubes(bet) => bet.certifies(delta),
        }
    }

    pub(super) fn mean(&self) -> f64 {
        match self {
            Self::Draws(bet) => bet.mean(),
            Self::Cubes(bet) => bet.mean(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypercubes_are_observed_by_their_means_and_draws_one_by_one() {
        let refused: Vec<bool> = (0..2 * STRATA).map(|i| !(2..STRATA + 5).contains(&i)).collect();
        let mut shares = vec![0.5];
        let mut cubes = OnRefusals::Cubes(Betting::new(0.3).unwrap());
        cubes.observe(&refused, &mut shares);
        assert_eq!(shares, [0.25, 0.375]);
        assert_eq!(cubes.mean(), 0.3125);
        let mut draws = OnRefusals::Draws(Mixture::new(0.3).unwrap());
        draws.observe(&refused, &mut shares);
        assert_eq!((shares.len(), shares.iter().sum::<f64>()), (16, 5.0));
        assert_eq!(draws.mean(), 0.3125);
    }

    #[test]
    fn a_bet_on_hypercubes_is_won_below_the_target_and_not_above() {
        // One of sixteen is refused: 0.0625.
        let refused: Vec<bool> = (0..2 * STRATA).map(|i| i == 3).collect();
        let mut shares = Vec::new();
        for (target, wins) in [(0.1, true), (0.06, false)] {
            let mut bet = OnRefusals::Cubes(Betting::expecting(target, 0.0625, 0.004).unwrap());
            (0..2_000).for_each(|_| bet.observe(&refused, &mut shares));
            assert_eq!(bet.certifies(1e-3), wins, "{target}");
        }
    }
}
