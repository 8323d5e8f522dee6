//! Rates where changes of category may fail: the same samples around every outcome, weighted by
//! their probabilities.
//!
//! One sample's value is the share of outcomes it is refused in. It lies between 0 and 1 and has
//! the rate as its mean, so that a certificate bets on it as on any other. Outcomes that are too
//! many
//! to be looked at ([`schema::Outcomes::rest`]) count as rejected.

use super::{Pilot, Sampler, Samples, Subject};
use crate::engine::session::certify::{Observations, StoppingRule, Target, Test};
use crate::error::Result;
use crate::invalidation::BLOCK;
use crate::invalidation::certificate::Betting;
use crate::schema;
use std::ops::ControlFlow;

/// A point that may come of the advice.
pub(super) struct Outcome {
    pub(super) probability: f64,
    point: Vec<f64>,
    /// The direction in which the rate changes most here; empty where there are no lines.
    pub(super) gradient: Vec<f64>,
}

/// Which fresh samples to read.
#[derive(Clone, Copy)]
pub(super) struct Batch<'a> {
    pub(super) segment: usize,
    pub(super) index: usize,
    /// The point that streams of plain draws are keyed by: the same for all outcomes.
    pub(super) key: &'a [f64],
}

impl Sampler<'_> {
    /// [`Sampler::look`] at everything that may happen, the point itself first.
    pub(super) fn look_at_outcomes(&mut self, outcomes: schema::Outcomes) -> Result<()> {
        self.outcomes.clear();
        self.rest = outcomes.rest;
        self.exact = true;
        let (mut mean, mut deviation) = (outcomes.rest, 0.0);
        for (probability, point) in outcomes.points {
            let pilot = self.look_at(&point)?;
            mean += probability * pilot.mean;
            deviation += probability * pilot.variance.max(0.0).sqrt();
            self.exact &= self.samples.is_exact();
            let gradient = self.samples.gradient().to_vec();
            self.outcomes.push(Outcome { probability, point, gradient });
        }
        // At most: as if all outcomes were refused together.
        self.pilot = Pilot { mean, variance: deviation * deviation };
        Ok(())
    }

    /// [`Sampler::report`] over everything that may happen.
    pub(super) fn report_outcomes(&mut self, max_rate: f64) -> Result<f64> {
        let outcomes = std::mem::take(&mut self.outcomes);
        let mut rate = self.rest;
        for outcome in &outcomes {
            let pilot = self.look_at(&outcome.point)?;
            rate += outcome.probability * self.samples.report(&self.subject, pilot, max_rate)?;
        }
        self.outcomes = outcomes;
        Ok(rate)
    }
}

/// Fresh samples around all outcomes.
pub(super) struct Outcomes<'s, 'e> {
    samples: &'s mut (dyn Samples + 'e),
    subject: &'s mut Subject<'e>,
    outcomes: &'s [Outcome],
    rest: f64,
    segment: usize,
    shares: Vec<f64>,
}

impl<'s, 'e> Outcomes<'s, 'e> {
    /// A certificate over everything that may happen.
    pub(super) fn test(
        samples: &'s mut (dyn Samples + 'e),
        subject: &'s mut Subject<'e>,
        (outcomes, rest): (&'s [Outcome], f64),
        pilot: Pilot,
        to: &Target,
    ) -> Result<Test<'s>> {
        let max_rate = to.max_rate;
        let variance =
            if pilot.variance > 0.0 { pilot.variance } else { max_rate * (1.0 - max_rate) };
        let most = samples.max_batches();
        let rule =
            StoppingRule { most, more: 0, every: 1, hopeless_after: most / 16 + 1, close: None };
        Ok(Test {
            bet: Box::new(Betting::expecting(max_rate, pilot.mean, variance)?),
            ladder: Default::default(),
            rule,
            observations: Box::new(Self {
                samples,
                subject,
                outcomes,
                rest,
                segment: to.segment,
                shares: Vec::new(),
            }),
        })
    }
}

impl Observations for Outcomes<'_, '_> {
    fn read(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        self.shares.clear();
        let batch = Batch { segment: self.segment, index, key: &self.outcomes[0].point };
        for outcome in self.outcomes {
            self.subject.point.copy_from_slice(&outcome.point);
            self.samples.add_refused(self.subject, outcome, batch, &mut self.shares)?;
        }
        self.shares.iter_mut().for_each(|share| *share += self.rest);
        Ok(self.shares.chunks(BLOCK).try_for_each(take))
    }
}
