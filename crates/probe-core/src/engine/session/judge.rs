//! Score and rate of a printed row. The rate comes from a closed form or from samples.

use super::rounding::{Change, Rounding};
use super::sampler::{Sampler, Sampling};
use crate::engine::Engine;
use crate::engine::outcome::{Judgement, Rate};
use crate::engine::rates::RateSource;
use crate::error::Result;
use crate::invalidation::ShiftedRate;
use crate::math::normal::upper_quantile;
use crate::noise::NoiseOn;
use crate::recourse::Task;

/// An upper bound on a smoothed margin $M = \Phi^{-1}(1 - \Delta)$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MarginBound {
    pub(super) margin: f64,
    /// Whether it is exact, and not from samples.
    pub(super) certain: bool,
}

impl MarginBound {
    /// The bound that follows if the rate is at least `rate`.
    pub(super) fn of_rate(rate: f64, certain: bool) -> Self {
        // A rate closer to 1 cannot be told from 1 in `f64`.
        let margin = upper_quantile(rate.clamp(0.0, 1.0 - 4.0 * f64::EPSILON));
        Self { margin, certain }
    }
}

/// Computes score and rate of a printed row.
pub(super) trait Judge {
    /// The rate of the row that a person is advised to reach, whose score is `score`. It is an
    /// estimate if rates are sampled.
    fn rate(&mut self, change: Change<'_>, score: f64) -> Result<f64>;

    /// An upper bound on the smoothed margin of a person at scaled `point` who changes nothing. If
    /// it is sampled, it fails with probability `delta`.
    fn margin_at_most(&mut self, point: &[f64], delta: f64) -> Result<MarginBound>;

    /// Whether rates of changes are likely to be exact.
    fn expects_exact_rates(&self) -> bool;

    /// [`Judge::rate`], with whether it is exact.
    fn rate_if_exact(&mut self, change: Change<'_>, score: f64) -> Result<Option<f64>>;

    /// Score and rate of the printed row, for a person at raw `person`.
    #[inline]
    fn judge(&mut self, rounding: &Rounding<'_>, person: &[f64]) -> Result<Judgement> {
        let score = rounding.score()?;
        Ok(Judgement { score, rate: self.rate(rounding.change(person), score)? })
    }
}

/// A session's judge: exact or sampled, as its rates are.
pub(super) enum AnyJudge<'e> {
    Exact(ExactJudge<'e>),
    /// The judge is created for the first person whose rate must be sampled.
    Sampled(&'e Sampling, Option<Box<SampledJudge<'e>>>),
}

impl<'e> AnyJudge<'e> {
    pub(super) fn new(engine: &'e Engine) -> Self {
        match &engine.rates {
            RateSource::Exact(shifted) => Self::Exact(ExactJudge::new(engine, shifted.as_deref())),
            RateSource::Sampled(sampling) => Self::Sampled(sampling, None),
        }
    }

    /// How many lines the judge has evaluated so far.
    pub(super) fn n_lines(&self) -> u64 {
        match self {
            Self::Sampled(_, Some(judge)) => judge.sampler.n_lines(),
            Self::Sampled(_, None) | Self::Exact(_) => 0,
        }
    }
}

/// Computes rates by closed forms.
pub(super) struct ExactJudge<'e> {
    engine: &'e Engine,
    /// The rate under noise and model change together; `None` if the model does not change.
    shifted: Option<&'e ShiftedRate>,
    /// Standard deviation and mean of the score's noise; `None` if they depend on the point.
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

    fn margin_at_most(&mut self, point: &[f64], _delta: f64) -> Result<MarginBound> {
        let rate = match (self.shifted, self.fixed_noise) {
            (Some(joint), _) => joint.rate(point),
            (None, Some((sd, mean))) if sd > 0.0 => {
                let margin = (self.engine.task().model.score(point)? + mean) / sd;
                return Ok(MarginBound { margin, certain: true });
            }
            // Without noise the rate says no more than the score.
            _ => 0.0,
        };
        Ok(MarginBound::of_rate(rate, true))
    }

    fn expects_exact_rates(&self) -> bool {
        true
    }

    fn rate_if_exact(&mut self, change: Change<'_>, score: f64) -> Result<Option<f64>> {
        self.rate(change, score).map(Some)
    }
}

/// Estimates rates by samples.
pub(super) struct SampledJudge<'e> {
    task: &'e Task,
    pub(super) sampler: Sampler<'e>,
    active: Vec<bool>,
}

impl<'e> SampledJudge<'e> {
    /// The judge in `slot`, created now if there is none yet.
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

    /// Runs pilot samples around the row that a person is advised to reach.
    pub(super) fn run_pilot(&mut self, Change { from, to }: Change<'_>) -> Result<()> {
        let Task { noise_on, actions, .. } = self.task;
        noise_on.active_into(actions, from.raw, to.raw, &mut self.active);
        self.sampler.run_pilot(from.scaled, to.scaled, &self.active)
    }

    /// The rate to be reported. Without a certificate its upper bound is 1, unless it is exact.
    pub(super) fn report(&mut self, change: Change<'_>, max_rate: f64) -> Result<Rate> {
        self.run_pilot(change)?;
        let value = self.sampler.report(max_rate)?;
        let std_error = self.sampler.std_error_of_report();
        Ok(match self.sampler.is_exact() {
            true => Rate::exact(value),
            false => Rate { value, upper: 1.0, std_error },
        })
    }
}

impl Judge for SampledJudge<'_> {
    fn rate(&mut self, change: Change<'_>, _score: f64) -> Result<f64> {
        self.run_pilot(change)?;
        Ok(self.sampler.mean())
    }

    fn margin_at_most(&mut self, point: &[f64], delta: f64) -> Result<MarginBound> {
        let Task { noise_on, actions, .. } = self.task;
        noise_on.active_into(actions, point, point, &mut self.active);
        self.sampler.margin_at_most(point, &self.active, delta)
    }

    fn expects_exact_rates(&self) -> bool {
        self.sampler.expects_exact_rates()
    }

    fn rate_if_exact(&mut self, change: Change<'_>, _score: f64) -> Result<Option<f64>> {
        if !self.sampler.expects_exact_rates() {
            return Ok(None);
        }
        self.run_pilot(change)?;
        Ok(self.sampler.is_exact().then(|| self.sampler.mean()))
    }
}
