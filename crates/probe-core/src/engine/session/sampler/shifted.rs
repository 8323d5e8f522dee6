//! Samples if the model itself may change: lines, each on a randomly changed model.

use super::lines::RULE;
use super::{Batch, Outcome, Pilot, Samples, Subject};
use crate::engine::session::certify::{Observations, Target, Test};
use crate::error::Result;
use crate::invalidation::certificate::{Betting, mean_at_least};
use crate::invalidation::{BLOCK, Lines, Models};
use crate::recourse::Task;
use crate::seed::{Key, Purpose};
use std::ops::ControlFlow;

/// Number of models for the pilot, and for a reported rate.
const PILOT_MODELS: usize = 512;

/// One thread's models.
pub(super) struct OnModels<'e> {
    pub(super) models: Models<'e>,
}

impl OnModels<'_> {
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

    fn report(&mut self, subject: &Subject<'_>, _: Pilot, _: f64) -> Result<f64> {
        let mut seen = [0.0; PILOT_MODELS];
        self.masses(subject, (Purpose::Audit, 0), 0, &mut seen)?;
        Ok(seen.iter().sum::<f64>() / seen.len() as f64)
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
