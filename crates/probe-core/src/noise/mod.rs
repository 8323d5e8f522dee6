//! Distributions of the difference between the advice and what people reach.

mod effort;
mod fit;
mod gaussian;
mod independent;
mod laplace;
mod residuals;
mod student_t;
mod uniform;

pub use effort::Effort;
pub use fit::{NoiseFit, fit_gaussian, inflation};
pub use gaussian::{Covariance, Gaussian};
pub use independent::{Independent, QuantileMap, Shape};
pub use residuals::Residuals;

use crate::error::{Error, Result};
use crate::registry::{Entry, lookup};
use crate::rows::RowsMut;
use crate::schema::Actions;
use crate::seed::Stream;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A distribution of implementation errors $\varepsilon$ in scaled space.
pub trait Noise: Send + Sync {
    /// The family's name.
    fn name(&self) -> &'static str;

    /// Number of features.
    fn dim(&self) -> usize;

    /// Fills each row of `out` with one draw of $\varepsilon$ over all features. [`NoiseOn`] says
    /// which of them the noise acts on.
    fn sample_into(&self, stream: &mut Stream, out: RowsMut<'_>);

    /// The noise as a Gaussian, if it is one. Linear models then have exact rates.
    fn as_gaussian(&self) -> Option<&Gaussian> {
        None
    }

    /// The distribution of each feature, if the noise is independent over features.
    fn as_independent(&self) -> Option<&dyn Independent> {
        None
    }

    /// All values that the noise can take, if it is a list of observed residuals. Every model then
    /// has an exact rate.
    fn as_residuals(&self) -> Option<&Residuals> {
        None
    }

    /// The noise as one that grows with the change, if it is one. Linear models then have exact
    /// rates.
    fn as_effort(&self) -> Option<&Effort> {
        None
    }

    /// For noise that depends on the change: its Gaussian for a person at `from` who aims at `to`,
    /// in scaled space. `None` for noise that is the same for every change. Noise that depends on
    /// the change has no [`as_gaussian`](Self::as_gaussian), and its
    /// [`sample_into`](Self::sample_into) is for people who change nothing. Fails on a change that
    /// is not finite.
    fn at(&self, from: &[f64], to: &[f64]) -> Result<Option<Gaussian>> {
        let _ = (from, to);
        Ok(None)
    }
}

/// Which features the noise acts on; the others are carried out exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoiseOn {
    /// Every column, as in the paper.
    #[default]
    All,
    /// Mutable numeric features.
    Mutable,
    /// Numeric features whose value differs from the person's.
    Changed,
}

impl NoiseOn {
    /// Which features are noisy; `None` if that depends on the changes of a person.
    pub fn fixed(self, actions: &Actions) -> Option<Vec<bool>> {
        let mut active = vec![false; actions.n_features()];
        (self != Self::Changed).then(|| {
            self.active_into(actions, &[], &[], &mut active);
            active
        })
    }

    /// Writes which features are noisy when a person at `from` aims at `to`.
    pub fn active_into(self, actions: &Actions, from: &[f64], to: &[f64], active: &mut [bool]) {
        match self {
            Self::All => {
                for (j, flag) in active.iter_mut().enumerate() {
                    *flag = !actions.is_missing(j);
                }
            }
            Self::Mutable => {
                for (j, flag) in active.iter_mut().enumerate() {
                    *flag = actions.is_mutable_numeric(j);
                }
            }
            Self::Changed => {
                for (j, flag) in active.iter_mut().enumerate() {
                    // Any difference in the printed value counts as a change, however small.
                    *flag = from[j] != to[j] && !actions.is_grouped(j);
                }
            }
        }
    }
}

/// A family of noises. A standard deviation per feature and further numbers select a member.
pub trait NoiseFamily: Send + Sync {
    /// Builds the member with standard deviations `sd` and further named numbers, such as `df=4`.
    fn build(&self, sd: Vec<f64>, options: &BTreeMap<String, f64>) -> Result<Arc<dyn Noise>>;
}

/// All families.
pub const NOISES: &[Entry<dyn NoiseFamily>] =
    &[gaussian::ENTRY, uniform::ENTRY, laplace::ENTRY, student_t::ENTRY, effort::ENTRY];

/// Fails on an option that is not among `known`. `kind` describes the options in the message.
fn check_options(
    kind: &'static str,
    known: &[&str],
    options: &BTreeMap<String, f64>,
) -> Result<()> {
    match options.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(Error::UnknownName { kind, name: name.clone(), known })
        }
    }
}

/// The value of `--noise`: a family, its standard deviation in scaled units, and named numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseSpec {
    /// The family's name.
    pub family: String,
    /// Standard deviation of each feature, if given.
    pub sd: Option<f64>,
    /// Named numbers.
    pub options: BTreeMap<String, f64>,
}

impl NoiseSpec {
    /// Reads `gaussian`, `gaussian:0.1` or `family:0.1,name=4`.
    ///
    /// ```
    /// use probe_core::noise::NoiseSpec;
    /// let spec = NoiseSpec::parse("gaussian:0.1")?;
    /// assert_eq!((spec.family.as_str(), spec.sd), ("gaussian", Some(0.1)));
    /// # Ok::<(), probe_core::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let malformed = |part: &str| Error::Unsupported {
            what: format!("noise '{text}'"),
            why: format!("'{part}' is not a number; write FAMILY:SD or FAMILY:SD,name=number"),
        };
        let (family, rest) = text.split_once(':').unwrap_or((text, ""));
        let mut spec =
            Self { family: family.trim().to_owned(), sd: None, options: BTreeMap::new() };
        lookup("noise", NOISES, &spec.family)?;
        for part in rest.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, number) =
                part.split_once('=').map_or((None, part), |(n, v)| (Some(n.trim()), v.trim()));
            let number: f64 = number.parse().map_err(|_| malformed(part))?;
            match name {
                Some(name) => {
                    spec.options.insert(name.to_owned(), number);
                }
                None if spec.sd.is_none() => spec.sd = Some(number),
                None => return Err(malformed(part)),
            }
        }
        Ok(spec)
    }

    /// The noise with standard deviations `sd`.
    pub fn build(&self, sd: Vec<f64>) -> Result<Arc<dyn Noise>> {
        lookup("noise", NOISES, &self.family)?.item.build(sd, &self.options)
    }
}
