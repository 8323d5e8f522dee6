//! The paper's differentiable estimate: rejections are smoothed by a logistic function $S$ of
//! temperature $t$.
//!
//! $$\hat\Delta_{MC}(x; t) = \frac1K \sum_k S\big(-t\,s(x + \varepsilon_k)\big), \qquad
//! \nabla\hat\Delta_{MC} = -\frac tK \sum_k S(t s_k)\,S(-t s_k)\,\nabla s(x + \varepsilon_k) .$$
//!
//! Source: PROBE, arXiv:2203.06768, the differentiable approximation of $\tilde\Delta_{MC}$ that
//! Algorithm 2 (PROBE-MC) descends. The paper gives $t$ in units of the score, without a value (its
//! figure shows 1 to 100). What matters is $\tau = tq$, where $q$ is the standard deviation of the
//! score under the noise. The bias is [`sigmoid_bias`](crate::theory::sigmoid_bias)$(\tau,
//! \Delta)$, which is positive for rates below one half, and 0.004 at $\tau = 10$ and a rate of
//! 0.1. The variance of the gradient grows about linearly in $\tau$. [`Temperature::Noise`]
//! therefore sets $\tau$, with $q$ estimated from the draws. [`Temperature::Score`] sets $t$, as in
//! the paper.
//!
//! The estimate's `std_error` is that of the smoothed mean and does not cover the bias. Its
//! interval does: it is the exact binomial interval of the indicators on the same draws, extended
//! to include the smoothed mean.

use super::{Estimate, InvalidationRate, Query, n_refused};
use crate::error::{Error, Result, require};
use crate::math::binomial::clopper_pearson;
use crate::model::Differentiable;
use crate::registry::Entry;
use crate::rows::{Rows, RowsMut};
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "smoothed-monte-carlo",
    reference: "Algorithm 2 and the estimator before it, arXiv:2203.06768",
    item: &SmoothedMonteCarlo { samples: 10_000, temperature: Temperature::Noise(10.0) },
};

/// How sharp the logistic function is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Temperature {
    /// $t$, in units of one over the score.
    Score(f64),
    /// $\tau = tq$, in units of the score's standard deviation under the noise.
    Noise(f64),
}

impl Temperature {
    /// $t$, given scores under the noise. Infinite for a temperature in noise units if the scores
    /// do not vary. Fails unless the temperature is positive and finite.
    pub fn resolve(self, scores: &[f64]) -> Result<f64> {
        let (Self::Score(value) | Self::Noise(value)) = self;
        require(value > 0.0 && value.is_finite(), "temperature", "positive and finite", value)?;
        Ok(match self {
            Self::Score(t) => t,
            Self::Noise(tau) => tau / standard_deviation(scores),
        })
    }
}

/// Sample standard deviation; 0 for fewer than two numbers.
fn standard_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 }
}

/// $S(-ts)$ and its derivative by $s$. An infinite $t$ gives the indicator; a tie is a rejection.
fn softened(t: f64, score: f64) -> (f64, f64) {
    let y = t * score;
    if y.is_nan() {
        return (1.0, 0.0);
    }
    let small = libm::exp(-y.abs());
    let value = if y > 0.0 { small } else { 1.0 } / (1.0 + small);
    let slope = small / ((1.0 + small) * (1.0 + small));
    (value, if slope > 0.0 { -t * slope } else { 0.0 })
}

/// The smoothed estimate.
#[derive(Debug, Clone, Copy)]
pub struct SmoothedMonteCarlo {
    /// Number of draws; at least 1.
    pub samples: usize,
    /// Sharpness.
    pub temperature: Temperature,
}

impl InvalidationRate for SmoothedMonteCarlo {
    fn name(&self) -> &'static str {
        "smoothed-monte-carlo"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        const BATCH: usize = 256;
        require(self.samples >= 1, "samples", "at least 1", self.samples as f64)?;
        let d = query.point.len();
        let (mut noisy, mut scores) = (vec![0.0; BATCH * d], vec![0.0; self.samples]);
        for scores in scores.chunks_mut(BATCH) {
            let noisy = &mut noisy[..scores.len() * d];
            query.noise.sample_into(stream, RowsMut::new(noisy, d)?);
            noisy.chunks_exact_mut(d).for_each(|row| query.displace(row));
            query.model.score_batch(Rows::new(noisy, d)?, scores)?;
        }
        let t = self.temperature.resolve(&scores)?;
        let refused = n_refused(&scores);
        scores.iter_mut().for_each(|s| *s = softened(t, *s).0);
        let n = self.samples as f64;
        let rate = scores.iter().sum::<f64>() / n;
        let (lower, upper) = clopper_pearson(refused, self.samples as u64, confidence);
        let std_error = standard_deviation(&scores) / n.sqrt();
        Ok(Estimate {
            rate,
            std_error,
            lower: lower.min(rate),
            upper: upper.max(rate),
            exact: false,
        })
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(Self { samples, ..*self }))
    }
}

/// The smoothed estimate as a function of the point, on fixed draws. It is smooth, so that gradient
/// descent can minimise it.
pub struct SmoothedRate<'a> {
    model: &'a dyn Differentiable,
    errors: Rows<'a>,
    noisy: Vec<f64>,
    slope: Vec<f64>,
    scores: Vec<f64>,
}

impl<'a> SmoothedRate<'a> {
    /// Uses the draws `errors`, one $\varepsilon_k$ per row, with zeros for features without noise.
    /// Fails without draws and on draws of another number of features than the model's.
    pub fn new(model: &'a dyn Differentiable, errors: Rows<'a>) -> Result<Self> {
        let (d, k) = (model.n_features(), errors.n_rows());
        if errors.n_cols() != d {
            return Err(Error::Shape {
                what: "features of the draws",
                expected: d,
                found: errors.n_cols(),
            });
        }
        require(k >= 1, "draws", "at least 1", k as f64)?;
        Ok(Self { model, errors, noisy: vec![0.0; d], slope: vec![0.0; d], scores: vec![0.0; k] })
    }

    /// $t$ at `point`: a temperature in noise units takes the score's standard deviation from the
    /// draws there.
    pub fn temperature(&mut self, point: &[f64], temperature: Temperature) -> Result<f64> {
        self.check(point)?;
        for (score, error) in self.scores.iter_mut().zip(self.errors.iter()) {
            displaced(point, error, &mut self.noisy);
            *score = self.model.score(&self.noisy)?;
        }
        temperature.resolve(&self.scores)
    }

    /// $\hat\Delta_{MC}$ at `point` and temperature `t`, and its gradient for fixed `t`. One
    /// gradient of the score per draw.
    pub fn value_and_gradient(
        &mut self,
        point: &[f64],
        t: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        self.check(point)?;
        self.check(gradient)?;
        require(t > 0.0, "temperature", "positive", t)?;
        gradient.fill(0.0);
        let (mut total, n) = (0.0, self.errors.n_rows() as f64);
        for error in self.errors.iter() {
            displaced(point, error, &mut self.noisy);
            let score = self.model.score_and_gradient(&self.noisy, &mut self.slope)?;
            let (value, weight) = softened(t, score);
            total += value;
            if weight < 0.0 {
                gradient.iter_mut().zip(&self.slope).for_each(|(g, s)| *g += weight / n * s);
            }
        }
        Ok(total / n)
    }

    fn check(&self, point: &[f64]) -> Result<()> {
        let (expected, found) = (self.noisy.len(), point.len());
        if expected == found {
            Ok(())
        } else {
            Err(Error::Shape { what: "features of the point", expected, found })
        }
    }
}

fn displaced(point: &[f64], error: &[f64], out: &mut [f64]) {
    for ((o, x), e) in out.iter_mut().zip(point).zip(error) {
        *o = x + e;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::upper_quantile;
    use crate::model::{Activation, Dense, Linear, Mlp, Model};
    use crate::noise::{Gaussian, Noise};
    use crate::seed::{Purpose, Seed};
    use crate::theory::sigmoid_bias;

    fn draws(n: usize, d: usize, sigma: f64) -> Vec<f64> {
        let mut errors = vec![0.0; n * d];
        let noise = Gaussian::isotropic(d, sigma).unwrap();
        noise.sample_into(
            &mut Seed(8).stream(Purpose::Search, 0),
            RowsMut::new(&mut errors, d).unwrap(),
        );
        errors
    }

    fn network() -> Mlp {
        let mut stream = Seed(2).stream(Purpose::Data, 0);
        let mut dense = |outputs: usize, inputs: usize| {
            let weight = (0..outputs * inputs).map(|_| stream.normal()).collect();
            Dense { weight, bias: (0..outputs).map(|_| 0.3 * stream.normal()).collect() }
        };
        Mlp::new(vec![dense(5, 3), dense(1, 5)], Activation::Tanh, 0.0).unwrap()
    }

    #[test]
    fn the_gradient_is_that_of_the_value() {
        let (model, errors) = (network(), draws(200, 3, 0.3));
        let mut rate = SmoothedRate::new(&model, Rows::new(&errors, 3).unwrap()).unwrap();
        let (point, mut gradient, mut unused) = ([0.2, -0.1, 0.4], [0.0; 3], [0.0; 3]);
        for temperature in
            [Temperature::Score(1.0), Temperature::Noise(2.0), Temperature::Noise(10.0)]
        {
            let t = rate.temperature(&point, temperature).unwrap();
            let value = rate.value_and_gradient(&point, t, &mut gradient).unwrap();
            assert!(value > 0.0 && value < 1.0 && gradient.iter().any(|g| g.abs() > 1e-3));
            for j in 0..3 {
                let h = 1e-5;
                let mut at = |step: f64| {
                    let mut moved = point;
                    moved[j] += step;
                    rate.value_and_gradient(&moved, t, &mut unused).unwrap()
                };
                // A central difference errs by h²/6 times the third derivative, some t³ = 1e5 at
                // most, and 1e-16/h.
                let slope = (at(h) - at(-h)) / (2.0 * h);
                assert!(
                    (slope - gradient[j]).abs() < 1e-5 * gradient[j].abs().max(1e-2),
                    "{temperature:?} {j}"
                );
            }
        }
    }

    #[test]
    fn the_bias_is_the_one_of_theory() {
        // s = x + ε in one dimension, at a true rate of 0.05.
        let (n, sigma, rate) = (400_000, 0.1, 0.05);
        let model = Linear::new(vec![1.0], 0.0, 0.0).unwrap();
        let noise = Gaussian::isotropic(1, sigma).unwrap();
        let point = [sigma * upper_quantile(rate)];
        let query = Query { model: &model, noise: &noise, active: &[true], point: &point };
        for tau in [1.0, 5.0, 25.0] {
            let mut stream = Seed(3).stream(Purpose::Rate, 1);
            let found = |temperature, stream: &mut Stream| {
                SmoothedMonteCarlo { samples: n, temperature }
                    .estimate(&query, 0.999, stream)
                    .unwrap()
            };
            let estimate = found(Temperature::Noise(tau), &mut stream.clone());
            let bias = sigmoid_bias(tau, rate).unwrap();
            // Four standard errors, and the error of q itself (relative 1/√(2n)) times the slope of
            // the bias, at most 0.16.
            let allowed = 4.0 * estimate.std_error + 4.0 * 0.16 / (2.0 * n as f64).sqrt();
            assert!((estimate.rate - rate - bias).abs() < allowed, "{tau}: {estimate:?}");
            assert!(
                estimate.lower <= rate && rate <= estimate.upper,
                "the interval is for the true rate: {estimate:?}"
            );
            // The same temperature in units of the score.
            let same = found(Temperature::Score(tau / sigma), &mut stream);
            assert!((same.rate - estimate.rate).abs() < 4.0 * 0.16 / (2.0 * n as f64).sqrt());
        }
    }

    #[test]
    fn a_sharp_sigmoid_is_the_indicator_and_ties_are_refused() {
        let model = Linear::new(vec![1.0], 0.0, 0.0).unwrap();
        let errors = [-1.0, -0.2, 0.0, 0.3, 2.0];
        let mut rate = SmoothedRate::new(&model, Rows::new(&errors, 1).unwrap()).unwrap();
        let mut gradient = [1.0];
        for t in [f64::INFINITY, 1e300] {
            let value = rate.value_and_gradient(&[0.0], t, &mut gradient).unwrap();
            // Two of five are refused, and the tie: wholly by the indicator, by half with any
            // finite temperature.
            assert!((value - if t.is_finite() { 0.5 } else { 0.6 }).abs() < 1e-15, "{t}: {value}");
        }
        // No noise at all: τ/0.
        let noise =
            Gaussian::new(vec![0.0], crate::noise::Covariance::Diagonal(vec![0.0])).unwrap();
        for (point, expected) in [([0.0], 1.0), ([0.1], 0.0)] {
            let query = Query {
                model: &model as &dyn Model,
                noise: &noise,
                active: &[true],
                point: &point,
            };
            let estimator =
                SmoothedMonteCarlo { samples: 10, temperature: Temperature::Noise(10.0) };
            let found =
                estimator.estimate(&query, 0.9, &mut Seed(0).stream(Purpose::Rate, 0)).unwrap();
            assert!((found.rate - expected).abs() <= 0.0);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let model = Linear::new(vec![1.0, 1.0], 0.0, 0.0).unwrap();
        assert!(SmoothedRate::new(&model, Rows::new(&[0.0], 1).unwrap()).is_err());
        assert!(SmoothedRate::new(&model, Rows::new(&[], 2).unwrap()).is_err());
        let mut rate = SmoothedRate::new(&model, Rows::new(&[0.0, 0.0], 2).unwrap()).unwrap();
        assert!(rate.value_and_gradient(&[0.0], 1.0, &mut [0.0; 2]).is_err());
        assert!(rate.value_and_gradient(&[0.0; 2], f64::NAN, &mut [0.0; 2]).is_err());
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(rate.temperature(&[0.0; 2], Temperature::Score(value)).is_err());
        }
    }
}
