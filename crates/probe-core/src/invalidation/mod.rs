//! The invalidation rate $\Delta(x) = P(s(x + \varepsilon) \le 0)$: how often a noisy
//! implementation of $x$ is rejected.
//!
//! $\Delta$ is a probability at every point, favourable or not. (The paper's Definition 1 is
//! negative at an unfavourable point, which would count as robust.) Whether the point itself is
//! favourable is checked separately.

mod boxes;
pub mod certificate;
mod closed_form;
mod enumeration;
mod exact;
mod failures;
mod forest;
mod ladder;
mod line;
mod monte_carlo;
mod shift;
mod smoothed;
mod sobol;
mod source;

pub(crate) use boxes::Boxes;
pub use closed_form::{ClosedForm, affine_rate};
pub use enumeration::Enumeration;
pub use exact::{Exact, ExactOrSampled};
pub(crate) use failures::Shifts;
pub(crate) use forest::{Draws, Errors, Forest, STRATA};
pub use forest::{NoisyScores, Places, RankedErrors};
pub(crate) use ladder::Ladder;
pub use line::LineSampling;
pub(crate) use line::{BLOCK, LEAST_AIM, LineMode, Lines, Pool, Spread, has_lines, usual_gap};
pub use monte_carlo::MonteCarlo;
pub(crate) use shift::Models;
pub use shift::ShiftedRate;
pub use smoothed::{SmoothedMonteCarlo, SmoothedRate, Temperature};
pub use sobol::SobolMonteCarlo;
pub use source::Rates;

use crate::error::Result;
use crate::model::{Model, ModelShift};
use crate::noise::Noise;
use crate::registry::Entry;
use crate::seed::Stream;

/// A point whose rate is asked for, in the model's own input space.
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The model.
    pub model: &'a dyn Model,
    /// The noise.
    pub noise: &'a dyn Noise,
    /// Which features the noise acts on.
    pub active: &'a [bool],
    /// The point.
    pub point: &'a [f64],
}

impl Query<'_> {
    /// Turns a draw of the noise into the point that it leads to.
    fn displace(&self, draw: &mut [f64]) {
        for (j, e) in draw.iter_mut().enumerate() {
            *e = self.point[j] + if self.active[j] { *e } else { 0.0 };
        }
    }
}

/// How many scores are not favourable. NaN counts as a rejection.
fn n_refused(scores: &[f64]) -> u64 {
    (scores.len() - scores.iter().filter(|score| **score > 0.0).count()) as u64
}

/// An estimate with its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The rate.
    pub rate: f64,
    /// Standard error; 0 if the rate is exact, NaN if it is an approximation of unknown error.
    pub std_error: f64,
    /// Lower end of the interval at the estimator's confidence.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Whether `rate` is the true rate up to rounding: not an estimate and not a first-order
    /// approximation.
    pub exact: bool,
}

impl Estimate {
    /// The rate over several outcomes with these probabilities, from independent estimates. Its
    /// interval holds if all of theirs do.
    pub(crate) fn mixture(parts: &[(f64, Self)]) -> Self {
        let sum =
            |of: &dyn Fn(&Self) -> f64| -> f64 { parts.iter().map(|(p, part)| p * of(part)).sum() };
        let variance: f64 = parts.iter().map(|(p, part)| (p * part.std_error).powi(2)).sum();
        Self {
            rate: sum(&|part| part.rate),
            std_error: variance.sqrt(),
            lower: sum(&|part| part.lower),
            upper: sum(&|part| part.upper),
            exact: parts.iter().all(|(_, part)| part.exact),
        }
    }
}

/// A method to compute or estimate the rate.
pub trait InvalidationRate: Send + Sync {
    /// The name users type.
    fn name(&self) -> &'static str;

    /// The rate at `query`, with an interval at `confidence` if the rate is sampled.
    fn estimate(&self, query: &Query<'_>, confidence: f64, stream: &mut Stream)
    -> Result<Estimate>;

    /// The same estimator with at least `samples` draws, if their number can be set.
    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        let _ = samples;
        None
    }

    /// The same estimator for a model that may change as `shift` says, if the estimator supports
    /// that.
    fn under_shift(&self, shift: ModelShift) -> Option<Box<dyn InvalidationRate>> {
        let _ = shift;
        None
    }
}

impl<T: InvalidationRate + ?Sized> InvalidationRate for &T {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn estimate(
        &self,
        query: &Query<'_>,
        confidence: f64,
        stream: &mut Stream,
    ) -> Result<Estimate> {
        (**self).estimate(query, confidence, stream)
    }

    fn with_samples(&self, samples: usize) -> Option<Box<dyn InvalidationRate>> {
        (**self).with_samples(samples)
    }

    fn under_shift(&self, shift: ModelShift) -> Option<Box<dyn InvalidationRate>> {
        (**self).under_shift(shift)
    }
}

/// All estimators.
pub const RATES: &[Entry<dyn InvalidationRate>] = &[
    exact::ENTRY,
    closed_form::ENTRY,
    monte_carlo::ENTRY,
    line::ENTRY,
    sobol::ENTRY,
    smoothed::ENTRY,
    enumeration::ENTRY,
];
