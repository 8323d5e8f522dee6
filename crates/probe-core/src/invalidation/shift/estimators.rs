//! Estimators that know of a change of the model: the exact rate of linear models, and plain
//! samples of any network.

use super::ShiftedRate;
use crate::error::{Error, Result};
use crate::invalidation::monte_carlo::estimate_of;
use crate::invalidation::{Estimate, InvalidationRate, Query, n_refused};
use crate::math::dot;
use crate::math::normal::upper_tail;
use crate::model::{Dense, Linear, Mlp, Model, ModelShift};
use crate::rows::RowsMut;
use crate::seed::Stream;
use crate::theory::affine_rate;

/// [`ClosedForm`](crate::ClosedForm) under a shift: the exact joint rate of a linear model.
pub(in crate::invalidation) struct ShiftedClosedForm(pub(in crate::invalidation) ModelShift);

impl InvalidationRate for ShiftedClosedForm {
    fn name(&self) -> &'static str {
        "closed-form"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        _confidence: f64,
        _stream: &mut Stream,
    ) -> Result<Estimate> {
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

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        let models = Models::new(query.model, self.shift)?;
        let mut noisy = vec![0.0; query.point.len()];
        let mut layers = [Vec::new(), Vec::new()];
        let mut refused = 0;
        for _ in 0..self.samples {
            let n = noisy.len();
            query.noise.sample_into(stream, RowsMut::new(&mut noisy, n)?);
            query.displace(&mut noisy);
            refused += n_refused(&[models.draw_score(&noisy, stream, &mut layers)]);
        }
        Ok(estimate_of(refused, self.samples as u64, confidence))
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(Self { samples, shift: self.shift }))
    }
}

/// Random changes of a model.
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
        let refuse =
            |what: String, why: &str| Err(Error::Unsupported { what, why: why.to_owned() });
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
                let rms = |layer: &Dense| {
                    (dot(&layer.weight, &layer.weight) / layer.weight.len() as f64).sqrt()
                };
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

    /// The score of one of them at `x`, alone: what a layer with changed weights makes of its input
    /// $a$ is normal with standard deviation $\tau\sqrt{1 + \lVert a\rVert^2}$, independently over
    /// its units, so a draw takes one normal a unit and not one a weight. `layers` is scratch.
    fn draw_score(&self, x: &[f64], stream: &mut Stream, layers: &mut [Vec<f64>; 2]) -> f64 {
        self.pass(x, stream, self.layers.len(), layers);
        self.margin_of(&layers[0])
    }

    /// The probability that one of them refuses `x`, given changes of all layers but the last,
    /// which are drawn: the change of the last one makes the score normal. It has the mean of
    /// [`Models::draw_score`] being refused, and less variance.
    pub(crate) fn draw_refusal(
        &self,
        x: &[f64],
        stream: &mut Stream,
        layers: &mut [Vec<f64>; 2],
    ) -> f64 {
        let last = self.layers.len() - 1;
        self.pass(x, stream, last, layers);
        let [input, output] = layers;
        let (layer, sd) = (&self.layers[last], self.sd[last]);
        output.clear();
        let rows = layer.weight.chunks_exact(input.len()).zip(&layer.bias);
        output.extend(rows.map(|(row, bias)| dot(row, input) + bias));
        // With two outputs, both change.
        let changed = if output.len() == 2 { 2.0 } else { 1.0 };
        let sd = sd * (changed * (1.0 + dot(input, input))).sqrt();
        affine_rate(self.margin_of(output), 0.0, sd)
    }

    /// A rate that no point is below, at any noise. Given everything but the last layer's change,
    /// with input $a$ the score is normal with margin $(v^\top a + c)/(\tau\sqrt{1 + \lVert
    /// a\rVert^2}) \le \sqrt{\lVert v\rVert^2 + c^2}/\tau$.
    pub(crate) fn least_rate(&self) -> f64 {
        let last = self.layers.len() - 1;
        let (layer, sd) = (&self.layers[last], self.sd[last]);
        let changed = if layer.bias.len() == 2 { 2.0_f64 } else { 1.0 };
        let n_in = layer.weight.len() / layer.bias.len();
        let weight = |j: usize| match layer.bias.len() {
            2 => layer.weight[n_in + j] - layer.weight[j],
            _ => layer.weight[j],
        };
        let squares: f64 = (0..n_in).map(|j| weight(j).powi(2)).sum();
        let offset = self.margin_of(&layer.bias);
        upper_tail((squares + offset * offset).sqrt() / (sd * changed.sqrt()))
    }

    /// What the first `n` layers make of `x` with drawn changes, into the first of `layers`.
    fn pass(&self, x: &[f64], stream: &mut Stream, n: usize, layers: &mut [Vec<f64>; 2]) {
        let [input, output] = layers;
        input.clear();
        input.extend_from_slice(x);
        let activation = self.model.as_mlp().map(Mlp::activation);
        for (k, (layer, sd)) in self.layers.iter().zip(&self.sd).take(n).enumerate() {
            let sd = sd * (1.0 + dot(input, input)).sqrt();
            output.clear();
            let rows = layer.weight.chunks_exact(input.len()).zip(&layer.bias);
            output.extend(rows.map(|(row, bias)| dot(row, input) + bias + sd * stream.normal()));
            if let (Some(activation), true) = (activation, k + 1 < self.layers.len()) {
                activation.apply(output);
            }
            std::mem::swap(input, output);
        }
    }

    /// The score that the outputs of the last layer make.
    fn margin_of(&self, outputs: &[f64]) -> f64 {
        let margin = match outputs[..] {
            [no, yes] => yes - no,
            [margin, ..] => margin,
            [] => f64::NAN,
        };
        margin - self.model.threshold()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Activation;
    use crate::seed::{Purpose, Seed};

    /// A score alone has the distribution of a whole model's: 20,000 of each, ranked against each
    /// other (Kolmogorov and Smirnov, P(D > 2.5 √(2/n)) < 2 e^{-12.5} = 7.5e-6).
    #[test]
    fn a_score_alone_is_distributed_as_that_of_a_model() {
        const N: usize = 20_000;
        let mut stream = Seed(5).stream(Purpose::Data, 0);
        let mut layer = |inputs: usize, outputs: usize| Dense {
            weight: (0..inputs * outputs).map(|_| stream.normal()).collect(),
            bias: (0..outputs).map(|_| stream.normal()).collect(),
        };
        let deep = vec![layer(3, 4), layer(4, 3), layer(3, 2)];
        let one = vec![layer(3, 4), layer(4, 1)];
        let linear = Linear::new(vec![0.5, -1.0, 2.0], 0.3, 0.1).unwrap();
        let models: [Box<dyn Model>; 3] = [
            Box::new(Mlp::new(deep, Activation::Tanh, 0.2).unwrap()),
            Box::new(Mlp::new(one, Activation::Relu, -0.1).unwrap()),
            Box::new(linear),
        ];
        let x = [0.4, -1.2, 0.7];
        for model in &models {
            for shift in [ModelShift::Gaussian(0.3), ModelShift::Relative(0.2)] {
                let models = Models::new(&**model, shift).unwrap();
                let mut scratch = [Vec::new(), Vec::new()];
                let mut scores: Vec<(f64, f64)> = (0..N)
                    .map(|_| (models.draw_score(&x, &mut stream, &mut scratch), 1.0))
                    .collect();
                for _ in 0..N {
                    scores.push((models.draw(&mut stream).unwrap().score(&x).unwrap(), -1.0));
                }
                scores.sort_by(|a, b| a.0.total_cmp(&b.0));
                let (mut lead, mut most) = (0.0_f64, 0.0_f64);
                for (_, side) in &scores {
                    lead += side / N as f64;
                    most = most.max(lead.abs());
                }
                assert!(most < 2.5 * (2.0 / N as f64).sqrt(), "{} {shift}: {most}", model.name());
            }
        }
    }
}
