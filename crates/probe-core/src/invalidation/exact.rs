//! The exact rate, by one of three methods: Theorem 1 for linear models under Gaussian noise, the
//! sum over residuals for observed noise, and boxes for trees under noise that is independent over
//! features (Theorem 2 of Pawelczyk et al., ICLR 2023, arXiv:2203.06768).
//!
//! An ensemble may have too many boxes. The estimate is then an interval that certainly contains
//! the rate, and [`Estimate::exact`] is false.

use super::boxes::{Boxes, Interval};
use super::{ClosedForm, Enumeration, Estimate, InvalidationRate, MonteCarlo, Query};
use crate::error::{Error, Result};
use crate::registry::Entry;
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "exact",
    reference: "Theorems 1 and 2, arXiv:2203.06768",
    item: &Exact { boxes: 1 << 18 },
};

/// An interval at most this wide counts as an exact rate.
const CLOSED: f64 = 1e-9;

/// The width of the interval at which boxes are no longer divided.
const OPEN: f64 = 1e-12;

/// The true rate.
#[derive(Debug, Clone, Copy)]
pub struct Exact {
    /// The largest number of boxes for an ensemble.
    pub boxes: usize,
}

impl InvalidationRate for Exact {
    fn name(&self) -> &'static str {
        "exact"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        if query.noise.as_residuals().is_some() {
            return Enumeration.estimate(query, confidence, stream);
        }
        if query.model.as_linear().is_some() {
            return ClosedForm.estimate(query, confidence, stream);
        }
        let model = query.model.as_trees().ok_or_else(|| Error::Unsupported {
            what: format!("the exact rate of a {} model", query.model.name()),
            why: "only linear models and trees have one; use monte-carlo".to_owned(),
        })?;
        let mut boxes = Boxes::new(model, query.noise).ok_or_else(|| Error::Unsupported {
            what: format!("the exact rate of trees under {} noise", query.noise.name()),
            why: "it needs noise that is independent over features; use monte-carlo".to_owned(),
        })?;
        let Interval { lower, upper, .. } =
            boxes.interval(query.point, query.active, self.boxes, OPEN);
        let exact = upper - lower <= CLOSED;
        let std_error = if exact { 0.0 } else { f64::NAN };
        Ok(Estimate { rate: 0.5 * (lower + upper), std_error, lower, upper, exact })
    }
}

/// The exact rate if it is known or few boxes are enough, else Monte Carlo; [`Estimate::exact`]
/// says which.
#[derive(Debug, Clone, Copy)]
pub struct ExactOrSampled {
    /// The largest number of boxes to try.
    pub boxes: usize,
    /// Number of draws.
    pub samples: usize,
}

impl InvalidationRate for ExactOrSampled {
    fn name(&self) -> &'static str {
        "auto"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        match (Exact { boxes: self.boxes }).estimate(query, confidence, stream) {
            Ok(found) if found.exact => Ok(found),
            Ok(_) | Err(Error::Unsupported { .. }) => {
                MonteCarlo { samples: self.samples }.estimate(query, confidence, stream)
            }
            Err(error) => Err(error),
        }
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(Self { samples, ..*self }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalidation::affine_rate;
    use crate::math::normal;
    use crate::model::{Linear, Tree, TreeRules, Trees};
    use crate::noise::{Covariance, Gaussian, Noise, NoiseSpec, Residuals};
    use crate::rows::Rows;
    use crate::seed::{Purpose, Seed};

    /// 1 where feature `feature` is above 0, else −1.
    fn stump(feature: usize) -> Tree {
        Tree {
            feature: vec![feature, 0, 0],
            threshold: vec![0.0; 3],
            left: vec![1, -1, -1],
            right: vec![2, -1, -1],
            value: vec![0.0, -1.0, 1.0],
            default_left: vec![],
        }
    }

    #[test]
    fn every_model_gets_the_rate_that_is_true_for_it() {
        let mut stream = Seed(0).stream(Purpose::Rate, 0);
        let gaussian = Gaussian::isotropic(2, 0.5).unwrap();
        let linear = Linear::new(vec![1.0, 0.0], 0.0, 0.0).unwrap();
        // Refused where either feature is at most 0: two stumps, a tie is a no.
        let trees = Trees::new(2, vec![stump(0), stump(1)], TreeRules::default(), 0.0).unwrap();
        let (point, active) = ([0.5, 0.25], [true; 2]);
        let exact = Exact { boxes: 1000 };
        let mut ask = |model, noise, boxes: usize| {
            let query = Query { model, noise, active: &active, point: &point };
            Exact { boxes }.estimate(&query, 0.9, &mut stream)
        };
        let found = ask(&linear, &gaussian, 0).unwrap();
        assert!(found.exact && (found.rate - affine_rate(0.5, 0.0, 0.5)).abs() < 1e-15);
        let found = ask(&trees, &gaussian, 1000).unwrap();
        let expected = 1.0 - normal::cdf(1.0) * normal::cdf(0.5);
        assert!(found.exact && (found.rate - expected).abs() < 1e-12, "{found:?}");
        let found = ask(&trees, &gaussian, 1).unwrap();
        assert!(!found.exact && found.lower <= expected && expected <= found.upper, "{found:?}");
        let residuals = Residuals::new(Rows::new(&[-1.0, 0.0, 0.0, 0.0], 2).unwrap()).unwrap();
        let found = ask(&trees, &residuals, 0).unwrap();
        assert!(found.exact && (found.rate - 0.5).abs() < 1e-15, "{found:?}");
        let full = Gaussian::new(vec![0.0; 2], Covariance::Full(vec![1.0, 0.5, 0.5, 1.0])).unwrap();
        let error = ask(&trees, &full, 1000).unwrap_err().to_string();
        assert!(error.contains("gaussian") && error.contains("monte-carlo"), "{error}");
        let uniform = NoiseSpec::parse("uniform").unwrap().build(vec![0.1; 2]).unwrap();
        assert!(ask(&linear, &*uniform, 1000).is_err());
        assert_eq!(exact.name(), "exact");
    }

    #[test]
    fn what_cannot_be_afforded_is_sampled() {
        let trees = Trees::new(2, vec![stump(0), stump(1)], TreeRules::default(), 0.0).unwrap();
        let full =
            Gaussian::new(vec![0.0; 2], Covariance::Full(vec![0.25, 0.0, 0.0, 0.25])).unwrap();
        let plain = Gaussian::isotropic(2, 0.5).unwrap();
        let expected = 1.0 - normal::cdf(1.0) * normal::cdf(0.5);
        for (noise, boxes, exact) in
            [(&plain, 1000, true), (&plain, 1, false), (&full, 1000, false)]
        {
            let noise: &dyn Noise = noise;
            let query = Query { model: &trees, noise, active: &[true; 2], point: &[0.5, 0.25] };
            let auto = ExactOrSampled { boxes, samples: 1 }.with_samples(40_000).unwrap();
            let found = auto.estimate(&query, 0.9, &mut Seed(0).stream(Purpose::Rate, 1)).unwrap();
            assert_eq!(found.exact, exact);
            let allowed = if exact { 1e-12 } else { 4.0 * (0.25_f64 / 40_000.0).sqrt() };
            assert!((found.rate - expected).abs() <= allowed, "{found:?}");
        }
    }
}
