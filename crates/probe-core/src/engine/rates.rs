//! Where the rates of answers come from: a closed form, or samples.

use super::Engine;
use super::session::Sampling;
use crate::error::{Error, Result};
use crate::invalidation::{Rates, ShiftedRate, Shifts, affine_rate};
use crate::noise::{Effort, Gaussian, NoiseOn};
use crate::recourse::Task;
use std::sync::Arc;

/// Where rates come from, prepared once for all sessions.
#[derive(Clone)]
pub(super) enum RateSource {
    /// A closed form. If the model may change, the one for noise and model change together.
    Exact(Option<Arc<ShiftedRate>>),
    /// Samples.
    Sampled(Arc<Sampling>),
}

impl RateSource {
    /// Prepares what [`Rates::of`] says.
    pub(super) fn new(task: &Task) -> Result<Self> {
        Ok(match Rates::of(&*task.model, &*task.noise, task.shift, &task.actions) {
            Rates::Exact => Self::Exact(shifted(task)?.map(Arc::new)),
            Rates::Sampled => Self::Sampled(Arc::new(Sampling::new(task)?)),
        })
    }

    pub(super) fn is_sampled(&self) -> bool {
        matches!(self, Self::Sampled(_))
    }

    /// The samples, where rates are sampled.
    pub(super) fn sampling(&self) -> Option<&Sampling> {
        match self {
            Self::Exact(_) => None,
            Self::Sampled(sampling) => Some(sampling),
        }
    }
}

/// The rate of a linear model that may change; `None` if the model does not change or is not
/// linear.
fn shifted(task: &Task) -> Result<Option<ShiftedRate>> {
    let (Some(shift), Some(linear)) = (task.shift, task.model.as_linear()) else {
        return Ok(None);
    };
    if task.noise_on == NoiseOn::Changed {
        return Err(Error::Unsupported {
            what: "noise on changed features only with a model that may change".to_owned(),
            why: "use noise on all or mutable features".to_owned(),
        });
    }
    let mut active = vec![false; task.model.n_features()];
    task.noise_on.active_into(&task.actions, &[], &[], &mut active);
    Ok(Some(ShiftedRate::new(linear, &*task.noise, &active, shift)?))
}

impl Engine {
    /// The rate of an affine score whose noise has this mean and standard deviation, for a person
    /// at raw `from` who aims at raw `to`, whose score is `score`. It includes changes of category
    /// that may fail.
    pub(super) fn affine_rate(
        &self,
        (from, to): (&[f64], &[f64]),
        score: f64,
        (mean, sd): (f64, f64),
    ) -> Result<f64> {
        let actions = &self.setup.actions;
        let outcomes = actions.outcomes(from, to);
        if outcomes.is_empty() {
            return Ok(affine_rate(score, mean, sd));
        }
        if outcomes.rest > 0.0 {
            let shifts = Shifts::between(actions, (from, to), |raw| self.score(raw))?;
            return Ok(shifts.map_or(1.0, |shifts| shifts.rate(score, (mean, sd))));
        }
        let mut all = 0.0;
        for (p, raw) in &outcomes.points {
            all += p * affine_rate(self.score(raw)?, mean, sd);
        }
        Ok(all)
    }

    /// Standard deviation and mean of the score's noise for a person at raw `from` who aims at raw
    /// `to`; `active` is a buffer. Fails where these two do not determine the rate: judging by them
    /// would certify anything.
    pub(super) fn noise_along(
        &self,
        active: &mut [bool],
        from: &[f64],
        to: &[f64],
    ) -> Result<(f64, f64)> {
        let task = self.task();
        let of_change;
        let gaussian = match task.noise.as_effort() {
            Some(effort) if !task.actions.has_failures() => {
                of_change = self.noise_of_change(effort, from, to)?;
                Some(&of_change)
            }
            _ => task.noise.as_gaussian(),
        };
        let (Some(linear), Some(gaussian)) = (task.model.as_linear(), gaussian) else {
            return Err(Error::Unsupported {
                what: format!(
                    "judging answers of a {} model under {} noise",
                    task.model.name(),
                    task.noise.name()
                ),
                why: "only linear models under Gaussian or effort noise have an exact rate"
                    .to_owned(),
            });
        };
        // Raw values differ exactly where scaled ones do: unchanged features are copied to the bit.
        task.noise_on.active_into(&task.actions, from, to, active);
        Ok((
            gaussian.sd_along(linear.weights(), |j| active[j]),
            gaussian.mean_along(linear.weights(), |j| active[j]),
        ))
    }

    /// Noise that grows with the change, for the change from raw `from` to raw `to`.
    fn noise_of_change(&self, noise: &Effort, from: &[f64], to: &[f64]) -> Result<Gaussian> {
        let scaled = |raw: &[f64]| {
            let mut out = vec![0.0; raw.len()];
            self.setup.space.scale_into(raw, &mut out);
            out
        };
        noise.of_change(&scaled(from), &scaled(to))
    }
}
