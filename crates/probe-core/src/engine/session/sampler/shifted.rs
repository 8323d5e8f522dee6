//! Samples if the model itself may change: lines, each on a randomly changed model.
//!
//! The failure probability differs much between changed models, so that hundreds of them say little
//! about a small rate. The reported rate comes from single draws of the noise and of the layers but
//! the last, each with its exact probability over changes of the last layer. Such a draw needs a
//! normal number per unit, where a model needs one per weight. Each point has draws of its own, so
//! that the errors of different people are independent.

use super::lines::RULE;
use super::{Batch, Outcome, Pilot, Samples, Subject};
use crate::engine::session::certify::{Observations, Target, Test};
use crate::error::Result;
use crate::invalidation::certificate::{Betting, mean_at_least};
use crate::invalidation::{BLOCK, Lines, Models, Spread};
use crate::recourse::Task;
use crate::seed::{Key, Purpose, Stream};
use std::ops::ControlFlow;

/// Number of models for the pilot.
const PILOT_MODELS: usize = 512;
/// Draws for a reported rate: as many as are read at a time, and at most.
const REPORTED_DRAWS: usize = 1_024;
const MAX_REPORTED_DRAWS: usize = 1 << 16;
/// No more draws are read below this standard error, as a share of the rate, or of the rate at
/// which it no longer matters, which is this share of the target.
const REPORTED_ERROR: f64 = 0.015;
const LEAST_REPORTED: f64 = 0.1;

/// One thread's models.
pub(super) struct OnModels<'e> {
    models: Models<'e>,
    /// Standard error of the last report.
    std_error: f64,
}

impl<'e> OnModels<'e> {
    pub(super) fn new(models: Models<'e>) -> Self {
        Self { models, std_error: f64::NAN }
    }

    /// Adds rejection probabilities of more draws around a point.
    fn draw(&self, subject: &Subject<'_>, stream: &mut Stream, spread: &mut Spread) -> Result<()> {
        let mut layers = [Vec::new(), Vec::new()];
        let mut noisy = subject.draws(stream, REPORTED_DRAWS)?;
        for row in noisy.chunks_exact_mut(subject.point.len()) {
            for (j, e) in row.iter_mut().enumerate() {
                *e = subject.point[j] + if subject.active[j] { *e } else { 0.0 };
            }
            spread.add(self.models.draw_refusal(row, stream, &mut layers));
        }
        Ok(())
    }

    /// The failure probability on each of the models drawn for a purpose, starting with model
    /// number `first`. It is estimated by the mean mass of eight lines.
    fn masses(
        &self,
        subject: &Subject<'_>,
        (purpose, segment): (Purpose, u64),
        first: usize,
        masses: &mut [f64],
    ) -> Result<()> {
        let task = subject.task;
        for (i, mass) in (first as u64..).zip(masses) {
            // The stream depends on the number alone, so that all people are tested on the same
            // models, as they are on the same errors.
            let key = Key::default().word(segment).word(i).word(0x5417).finish();
            let mut stream = task.seed.stream(purpose, key);
            let model = self.models.draw(&mut stream)?;
            let mut lines = Lines::new(&*model, &*task.noise, None)?;
            lines.enter(&subject.from, &subject.point, &subject.active)?;
            lines.aim(&subject.point, None)?;
            *mass = lines.fresh_mean(&mut stream)?;
        }
        Ok(())
    }
}

impl Samples for OnModels<'_> {
    fn pilot(&mut self, subject: &Subject<'_>) -> Result<Pilot> {
        let mut seen = [0.0; PILOT_MODELS];
        self.masses(subject, (Purpose::Search, 0), 0, &mut seen)?;
        let n = seen.len() as f64;
        let mean = seen.iter().sum::<f64>() / n;
        let variance = seen.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Ok(Pilot { mean, variance })
    }

    fn test<'s>(
        &'s mut self,
        subject: &'s Subject<'_>,
        pilot: Pilot,
        to: &Target,
    ) -> Result<Test<'s>> {
        Ok(Test {
            bet: Box::new(Betting::expecting(to.max_rate, pilot.mean, pilot.variance)?),
            ladder: Default::default(),
            rule: RULE,
            observations: Box::new(FreshModels { of: self, subject, segment: to.segment as u64 }),
        })
    }

    fn report(&mut self, subject: &Subject<'_>, _: Pilot, max_rate: f64) -> Result<f64> {
        let mut stream = subject.stream(Purpose::Audit, 0);
        let mut spread = Spread::default();
        loop {
            self.draw(subject, &mut stream, &mut spread)?;
            let (mean, error) = (spread.mean(), spread.std_error());
            let enough = error <= REPORTED_ERROR * mean.max(LEAST_REPORTED * max_rate);
            if enough || spread.n() as usize >= MAX_REPORTED_DRAWS {
                self.std_error = error;
                return Ok(mean);
            }
        }
    }

    fn std_error_of_report(&self) -> Option<f64> {
        Some(self.std_error)
    }

    fn rate_at_least(&mut self, subject: &Subject<'_>, delta: f64) -> Result<(f64, bool)> {
        let mut seen = [0.0; BLOCK];
        self.masses(subject, (Purpose::Certificate, 0), 0, &mut seen)?;
        Ok((mean_at_least(&seen, delta), false))
    }

    fn first_aim(&self, _: &Task, rate: f64) -> f64 {
        rate * (1.0 - 0.03 * (0.35 / rate).sqrt()).max(0.85)
    }

    fn add_refused(
        &mut self,
        subject: &Subject<'_>,
        outcome: &Outcome,
        batch: Batch<'_>,
        shares: &mut Vec<f64>,
    ) -> Result<()> {
        let mut masses = [0.0; BLOCK];
        let of = (Purpose::Certificate, batch.segment as u64);
        self.masses(subject, of, batch.index * BLOCK, &mut masses)?;
        shares.resize(BLOCK, 0.0);
        let p = outcome.probability;
        shares.iter_mut().zip(masses).for_each(|(share, mass)| *share += p * mass);
        Ok(())
    }
}

/// Fresh models.
struct FreshModels<'s, 'e> {
    of: &'s OnModels<'e>,
    subject: &'s Subject<'s>,
    segment: u64,
}

impl Observations for FreshModels<'_, '_> {
    fn read(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        let mut masses = [0.0; BLOCK];
        let of = (Purpose::Certificate, self.segment);
        self.of.masses(self.subject, of, index * BLOCK, &mut masses)?;
        Ok(take(&masses))
    }
}
