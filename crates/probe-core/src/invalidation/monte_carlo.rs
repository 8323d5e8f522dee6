//! The share of noisy implementations that are rejected (the paper's $\tilde\Delta_{MC}$), with its
//! exact binomial interval.
//!
//! Mean squared error $\Delta(1-\Delta)/K$, at most the paper's $1/(4K)$ (Proposition 5).

use super::shift::ShiftedMonteCarlo;
use super::{Estimate, InvalidationRate, Query, n_refused};
use crate::error::Result;
use crate::math::binomial::clopper_pearson;
use crate::model::ModelShift;
use crate::registry::Entry;
use crate::rows::{Rows, RowsMut};
use crate::seed::Stream;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "monte-carlo",
    reference: "equation 6 and Proposition 5, arXiv:2203.06768",
    item: &MonteCarlo { samples: 10_000 },
};

/// Plain Monte Carlo.
#[derive(Debug, Clone, Copy)]
pub struct MonteCarlo {
    /// Number of draws; at least 1.
    pub samples: usize,
}

impl InvalidationRate for MonteCarlo {
    fn name(&self) -> &'static str {
        "monte-carlo"
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        const BATCH: usize = 256;
        let d = query.point.len();
        let (mut points, mut scores) = (vec![0.0; BATCH * d], vec![0.0; BATCH]);
        let (mut refused, mut done) = (0u64, 0usize);
        while done < self.samples {
            let n = BATCH.min(self.samples - done);
            query.noise.sample_into(stream, RowsMut::new(&mut points[..n * d], d)?);
            points[..n * d].chunks_exact_mut(d).for_each(|row| query.displace(row));
            query.model.score_batch(Rows::new(&points[..n * d], d)?, &mut scores[..n])?;
            refused += n_refused(&scores[..n]);
            done += n;
        }
        Ok(estimate_of(refused, done as u64, confidence))
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(Self { samples }))
    }

    fn under_shift(&self, shift: ModelShift) -> Option<Box<dyn InvalidationRate>> {
        Some(Box::new(ShiftedMonteCarlo { samples: self.samples, shift }))
    }
}

/// The estimate from `refused` rejections among `n` independent draws.
pub(super) fn estimate_of(refused: u64, n: u64, confidence: f64) -> Estimate {
    let rate = refused as f64 / n as f64;
    let (lower, upper) = clopper_pearson(refused, n, confidence);
    Estimate {
        rate,
        std_error: (rate * (1.0 - rate) / n as f64).sqrt(),
        lower,
        upper,
        exact: false,
    }
}
