//! Rates where changes of category may fail: the same samples around every outcome, weighed by
//! their probabilities.
//!
//! One sample's value is the share of outcomes it is refused in, which lies between 0 and 1 and has
//! the rate as its mean: a certificate bets on it as on any other.

use super::{
    Attempt, Bet as _, Betting, DRAWS, Kind, MAX_BLOCKS, MAX_SETS, Purpose, Result, SHARE_OF_BOUND,
    Sampler, UpperBound,
};
use crate::invalidation::{BLOCK, LineMode};

/// A point that may come of the advice.
pub(super) struct Outcome {
    probability: f64,
    point: Vec<f64>,
    /// The way the rate changes most here; empty where there are no lines.
    gradient: Vec<f64>,
}

impl Sampler<'_> {
    /// [`Sampler::look`] at everything that may happen, the point itself first.
    pub(super) fn look_at_outcomes(&mut self, outcomes: Vec<(f64, Vec<f64>)>) -> Result<()> {
        self.outcomes.clear();
        let (mut mean, mut deviation) = (0.0, 0.0);
        for (probability, point) in outcomes {
            self.look_at(&point)?;
            mean += probability * self.mean;
            deviation += probability * self.variance.max(0.0).sqrt();
            let gradient = match &self.kind {
                Kind::Lines { gradient, .. } => gradient.clone(),
                _ => Vec::new(),
            };
            self.outcomes.push(Outcome { probability, point, gradient });
        }
        // At most: as if all outcomes were refused together.
        (self.mean, self.variance) = (mean, deviation * deviation);
        Ok(())
    }

    /// [`Sampler::audit`] over everything that may happen.
    pub(super) fn audit_outcomes(&mut self, max_rate: f64) -> Result<f64> {
        let outcomes = std::mem::take(&mut self.outcomes);
        let (mean, variance) = (self.mean, self.variance);
        let mut rate = 0.0;
        for outcome in &outcomes {
            self.look_at(&outcome.point)?;
            rate += outcome.probability * self.audit_at(max_rate)?;
        }
        (self.outcomes, self.mean, self.variance) = (outcomes, mean, variance);
        Ok(rate)
    }

    /// [`Sampler::certify`] over everything that may happen.
    pub(super) fn certify_outcomes(
        &mut self,
        max_rate: f64,
        delta: f64,
        segment: usize,
    ) -> Result<Attempt> {
        if matches!(self.kind, Kind::Finite { .. }) {
            return Ok(Attempt {
                certified: self.mean <= max_rate,
                upper: self.mean,
                mean: self.mean,
            });
        }
        let own = (1.0 - SHARE_OF_BOUND) * delta;
        let variance =
            if self.variance > 0.0 { self.variance } else { max_rate * (1.0 - max_rate) };
        let mut bet = Betting::expecting(max_rate, self.mean, variance)?;
        let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
        let most = if matches!(self.kind, Kind::Forest { .. }) { MAX_SETS } else { MAX_BLOCKS };
        let outcomes = std::mem::take(&mut self.outcomes);
        let mut shares = Vec::new();
        let mut certified = false;
        for index in 0..most {
            self.shares_into(&outcomes, segment, index, &mut shares)?;
            for some in shares.chunks(BLOCK) {
                bet.observe_all(some);
                upper.observe_all(some);
                certified = bet.certifies(own);
                if certified {
                    break;
                }
            }
            // Clearly not below the target: more samples would not help.
            if certified || (index >= most / 16 && bet.mean() >= max_rate) {
                break;
            }
        }
        self.outcomes = outcomes;
        let most = if certified { max_rate } else { 1.0 };
        Ok(Attempt { certified, upper: upper.upper().min(most), mean: bet.mean() })
    }

    /// For each sample of a block of fresh ones, the share of outcomes that it is refused in.
    fn shares_into(
        &mut self,
        outcomes: &[Outcome],
        segment: usize,
        index: usize,
        shares: &mut Vec<f64>,
    ) -> Result<()> {
        shares.clear();
        let Self { from, active, kind, .. } = self;
        if let Kind::Lines { pools, lines, masses, .. } = kind {
            shares.resize(BLOCK, 0.0);
            let mut spare = None;
            for outcome in outcomes {
                lines.enter(from, &outcome.point, active)?;
                lines.aim(&outcome.point, Some(&outcome.gradient))?;
                let block = pools.fresh.block(segment, index, lines, &mut spare);
                lines.masses(block, LineMode::Whole, &mut masses[..])?;
                shares
                    .iter_mut()
                    .zip(masses.iter())
                    .for_each(|(s, mass)| *s += outcome.probability * mass);
            }
            return Ok(());
        }
        let add = |shares: &mut Vec<f64>, probability: f64, refused: &[bool]| {
            shares.resize(refused.len(), 0.0);
            for (share, _) in shares.iter_mut().zip(refused).filter(|(_, refused)| **refused) {
                *share += probability;
            }
        };
        if let Kind::Forest { sets, .. } = self.kind {
            for outcome in outcomes {
                self.point.copy_from_slice(&outcome.point);
                let errors = sets.fresh.set(&*self.task.noise, segment, index)?;
                self.turn_to(errors);
                add(shares, outcome.probability, self.refused_from(errors, 0, errors.len()));
            }
            return Ok(());
        }
        let number = (segment * MAX_BLOCKS + index) as u64;
        for outcome in outcomes {
            // The same numbers for all, whatever each makes of them.
            self.point.copy_from_slice(&outcomes[0].point);
            let mut stream = self.stream(Purpose::Certificate, number);
            self.point.copy_from_slice(&outcome.point);
            let errors = self.draws(&mut stream, DRAWS)?;
            add(shares, outcome.probability, &self.which_refused(errors)?);
        }
        Ok(())
    }
}
