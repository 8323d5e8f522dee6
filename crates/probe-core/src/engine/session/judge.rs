//! What a printed row is worth: its score, and its rate by a closed form or by samples.

use super::rounding::{Change, Rounding};
use super::sampler::{Sampler, Sampling};
use crate::engine::Engine;
use crate::engine::outcome::{Judgement, Rate};
use crate::engine::rates::RateSource;
use crate::error::Result;
use crate::invalidation::ShiftedRate;
use crate::noise::NoiseOn;
use crate::recourse::Task;

/// Says what a printed row is worth.
pub(super) trait Judge {
    /// The rate of what a person is told to become, which scores `score`; an estimate where rates
    /// are sampled.
    fn rate(&mut self, change: Change<'_>, score: f64) -> Result<f64>;

    /// Score and rate of the printed row, for a person at raw `person`.
    #[inline]
    fn judge(&mut self, rounding: &Rounding<'_>, person: &[f64]) -> Result<Judgement> {
        let score = rounding.score()?;
        Ok(Judgement { score, rate: self.rate(rounding.change(person), score)? })
    }
}

/// A session's judge: there is one kind for each kind of rates.
pub(super) enum AnyJudge<'e> {
    Exact(ExactJudge<'e>),
    /// Made for the first person whose rate must be sampled.
    Sampled(&'e Sampling, Option<Box<SampledJudge<'e>>>),
}

impl<'e> AnyJudge<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        match &engine.rates {
            RateSource::Exact(shifted) => Self::Exact(ExactJudge::new(engine, shifted.as_deref())),
            RateSource::Sampled(sampling) => Self::Sampled(sampling, None),
        }
    }

    /// How many lines were read so far to judge.
    pub(super) fn n_lines(&self) -> u64 {
        match self {
            Self::Sampled(_, Some(judge)) => judge.sampler.n_lines(),
            Self::Sampled(_, None) | Self::Exact(_) => 0,
        }
    }
}

/// Closed forms.
pub(super) struct ExactJudge<'e> {
    engine: &'e Engine,
    /// For a model that may change.
    shifted: Option<&'e ShiftedRate>,
    /// Standard deviation and mean of the score's noise, where they do not depend on the point.
    fixed_noise: Option<(f64, f64)>,
    active: Vec<bool>,
}

impl<'e> ExactJudge<'e> {
    fn new(engine: &'e Engine, shifted: Option<&'e ShiftedRate>) -> Self {
        let mut active = vec![false; engine.setup.names.len()];
        let fixed_noise = match engine.setup.noise_on {
            NoiseOn::Changed => None,
            _ => engine.noise_along(&mut active, &[], &[]).ok(),
        };
        Self { engine, shifted, fixed_noise, active }
    }
}

impl Judge for ExactJudge<'_> {
    fn rate(&mut self, Change { from, to }: Change<'_>, score: f64) -> Result<f64> {
        let (sd, mean) = match self.fixed_noise {
            Some(noise) => noise,
            None => self.engine.noise_along(&mut self.active, from.raw, to.raw)?,
        };
        if let Some(joint) = self.shifted {
            return Ok(joint.rate(to.scaled));
        }
        self.engine.affine_rate((from.raw, to.raw), score, (mean, sd))
    }
}

/// Samples.
pub(super) struct SampledJudge<'e> {
    task: &'e Task,
    pub(super) sampler: Sampler<'e>,
    active: Vec<bool>,
}

impl<'e> SampledJudge<'e> {
    /// The judge in `slot`, made now if there is none yet.
    pub(super) fn in_slot<'s>(
        slot: &'s mut Option<Box<Self>>,
        sampling: &'e Sampling,
        task: &'e Task,
    ) -> Result<&'s mut Self> {
        Ok(match slot {
            Some(judge) => judge,
            None => slot.insert(Box::new(Self {
                task,
                sampler: Sampler::new(sampling, task)?,
                active: vec![false; task.model.n_features()],
            })),
        })
    }

    /// Turns the sampler to what a person is told to become.
    pub(super) fn look(&mut self, Change { from, to }: Change<'_>) -> Result<()> {
        let Task { noise_on, actions, .. } = self.task;
        noise_on.active_into(actions, from.raw, to.raw, &mut self.active);
        self.sampler.look(from.scaled, to.scaled, &self.active)
    }

    /// The rate to be reported, with the bound that is certain without a certificate.
    pub(super) fn report(&mut self, change: Change<'_>, max_rate: f64) -> Result<Rate> {
        self.look(change)?;
        let value = self.sampler.report(max_rate)?;
        Ok(if self.sampler.is_exact() { Rate::exact(value) } else { Rate { value, upper: 1.0 } })
    }
}

impl Judge for SampledJudge<'_> {
    fn rate(&mut self, change: Change<'_>, _score: f64) -> Result<f64> {
        self.look(change)?;
        Ok(self.sampler.mean())
    }
}
