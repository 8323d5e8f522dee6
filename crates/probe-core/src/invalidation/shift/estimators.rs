//! Estimators that know of a change of the model: the exact rate of linear models, and plain samples of any network.

use super::ShiftedRate;
use crate::error::{Error, Result};
use crate::invalidation::monte_carlo::estimate_of;
use crate::invalidation::{Estimate, InvalidationRate, Query, n_refused};
use crate::math::dot;
use crate::model::{Dense, Linear, Mlp, Model, ModelShift};
use crate::rows::RowsMut;
use crate::seed::Stream;

/// [`ClosedForm`](crate::ClosedForm) under a shift: the exact joint rate of a linear model.
pub(in crate::invalidation) struct ShiftedClosedForm(pub(in crate::invalidation) ModelShift);

impl InvalidationRate for ShiftedClosedForm {
    fn name(&self) -> &'static str {
        "closed-form"
    }

    fn estimate(&self, query: &Query<'_>, _confidence: f64, _stream: &mut Stream) -> Result<Estimate> {
        let linear = query.model.as_linear().ok_or_else(|| Error::Unsupported {
            what: format!("the closed-form rate of a {} model that may change", query.model.name()),
            why: "only linear models have one; use monte-carlo".to_owned(),
        })?;
        let rate = ShiftedRate::new(linear, query.noise, query.active, self.0)?.rate(query.point);
        Ok(Estimate { rate, std_error: 0.0, lower: rate, upper: rate, exact: true })
    }
}

/// [`MonteCarlo`](crate::MonteCarlo) under a shift: each draw has its own noise and its own model.
pub(in crate::invalidation) struct ShiftedMonteCarlo {
    pub(in crate::invalidation) samples: usize,
    pub(in crate::invalidation) shift: ModelShift,
}

impl InvalidationRate for ShiftedMonteCarlo {
    fn name(&self) -> &'static str {
        "monte-carlo"
    }

    fn estimate(&self, query: &Query<'_>, confidence: f64, stream: &mut Stream) -> Result<Estimate> {
        let models = Models::new(query.model, self.shift)?;
        let mut noisy = vec![0.0; query.point.len()];
        let mut refused = 0;
        for _ in 0..self.samples {
            let n = noisy.len();
            query.noise.sample_into(stream, RowsMut::new(&mut noisy, n)?);
            query.displace(&mut noisy);
            refused += n_refused(&[models.draw(stream)?.score(&noisy)?]);
        }
        Ok(estimate_of(refused, self.samples as u64, confidence))
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(Self { samples, shift: self.shift }))
    }
}

/// Models that a random change makes of one.
pub(crate) struct Models<'a> {
    model: &'a dyn Model,
    layers: Vec<Dense>,
    /// Standard deviation of the change of each layer.
    sd: Vec<f64>,
}

impl<'a> Models<'a> {
    /// Fails for models without weights and for changes that are not random.
    pub(crate) fn new(model: &'a dyn Model, shift: ModelShift) -> Result<Self> {
        shift.check()?;
        let refuse = |what: String, why: &str| Err(Error::Unsupported { what, why: why.to_owned() });
        let layers: Vec<Dense> = match (model.as_linear(), model.as_mlp()) {
            (Some(linear), _) => {
                vec![Dense { weight: linear.weights().to_vec(), bias: vec![linear.bias()] }]
            }
            (None, Some(mlp)) => mlp.dense().cloned().collect(),
            (None, None) => {
                return refuse(
                    format!("a shift of a {} model", model.name()),
                    "only linear models and networks have weights that may change",
                );
            }
        };
        let sd = match shift {
            ModelShift::Gaussian(tau) => vec![tau; layers.len()],
            ModelShift::Relative(share) => {
                let rms =
                    |layer: &Dense| (dot(&layer.weight, &layer.weight) / layer.weight.len() as f64).sqrt();
                layers.iter().map(|layer| share * rms(layer)).collect()
            }
            ModelShift::Bounded(_) => {
                return refuse(
                    format!("a bounded shift of a {} model by samples", model.name()),
                    "samples do not find a worst case; linear models have it in closed form",
                );
            }
        };
        Ok(Self { model, layers, sd })
    }

    /// One of them.
    pub(crate) fn draw(&self, stream: &mut Stream) -> Result<Box<dyn Model>> {
        let mut drawn = self.layers.clone();
        for (layer, sd) in drawn.iter_mut().zip(&self.sd) {
            for value in layer.weight.iter_mut().chain(&mut layer.bias) {
                *value += sd * stream.normal();
            }
        }
        let threshold = self.model.threshold();
        Ok(match self.model.as_mlp() {
            Some(mlp) if self.model.as_linear().is_none() => {
                Box::new(Mlp::new(drawn, mlp.activation(), threshold)?)
            }
            _ => {
                let Dense { weight, bias } = drawn.swap_remove(0);
                Box::new(Linear::new(weight, bias[0], threshold)?)
            }
        })
    }
}
