//! What an engine is built from.

mod builder;

pub use builder::SetupBuilder;

use crate::cost::Cost;
use crate::error::{Error, Result, require};
use crate::model::{Model, ModelShift};
use crate::noise::{Covariance, Gaussian, Noise, NoiseOn};
use crate::recourse::{Goal, MethodOptions, SearchEffort};
use crate::schema::{Actions, Encoding, Feature, Schema, Space};
use crate::seed::Seed;
use std::sync::Arc;

/// What an engine is built from. [`Setup::builder`] sets what differs from the defaults and checks
/// it; the fields can be changed afterwards.
#[derive(Clone)]
pub struct Setup {
    /// The model, on its own input (scaled or raw, as `space` says).
    pub model: Arc<dyn Model>,
    /// Names of the model's columns, for errors and explanations.
    pub names: Vec<String>,
    /// The person's features as these columns. The engine itself works on columns.
    pub encoding: Encoding,
    /// The person's units.
    pub space: Space,
    /// What may change, in scaled space.
    pub actions: Actions,
    /// Bounds in raw units that `actions` came from, so that an answer at a bound prints the bound
    /// itself.
    pub raw_bounds: Vec<(Option<f64>, Option<f64>)>,
    /// The step of each feature that moves by steps, raw: answers are multiples of it.
    pub steps: Vec<Option<f64>>,
    /// Range of each feature in training, raw, where known.
    pub ranges: Vec<Option<[f64; 2]>>,
    /// What a change costs, in scaled space.
    pub cost: Cost,
    /// Factors by which the search multiplies costs, column by column; reported costs are not
    /// affected. Below 1 for columns that the person would rather change, above 1 for those they
    /// would rather not. Empty for none.
    pub preference: Vec<f64>,
    /// Number of alternatives for each person, cheapest first: each avoids a key change of the
    /// previous ones.
    pub alternatives: usize,
    /// The distribution of the difference between the advice and what people reach, in scaled
    /// space.
    pub noise: Arc<dyn Noise>,
    /// The features that the noise acts on.
    pub noise_on: NoiseOn,
    /// How the model may change before the advice is carried out, in scaled space.
    pub shift: Option<ModelShift>,
    /// Target invalidation rate; with a budget, what counts as certified.
    pub max_rate: f64,
    /// Spend at most this for the most robust answer, instead of reaching `max_rate` at least cost.
    pub budget: Option<f64>,
    /// Treat favourable people whose rate is above `max_rate` as seeking recourse.
    pub also_favourable: bool,
    /// Whether answers without an exact rate are certified on fresh samples.
    pub certify: bool,
    /// Confidence of sampled certificates.
    pub confidence: f64,
    /// The rate that the search aims at if rates are sampled, as a share of the target. Closer to
    /// 1, answers are cheaper but need more samples. `None` for a share that depends on the target.
    pub aim: Option<f64>,
    /// Whether answers whose rate is sampled are to have tolerances ([`crate::Engine::tolerance`]):
    /// the certificate then continues to a bound below the target and, unless `aim` says otherwise,
    /// the search aims at three quarters of the target, which leaves room for a tolerance. Such an
    /// answer costs slightly more. No effect if no tolerance can be proven.
    pub tolerance: bool,
    /// Seed of all streams.
    pub seed: Seed,
    /// Recourse method.
    pub method: String,
    /// Its settings.
    pub options: MethodOptions,
    /// Rows like those that the model was trained on, raw, one after the other, for methods that
    /// need data.
    pub reference: Option<Arc<[f64]>>,
    /// How thoroughly to search for an answer.
    pub effort: SearchEffort,
    /// A generator of the search ([`crate::GENERATORS`]) that is left out, to measure its effect.
    #[doc(hidden)]
    pub left_out: Option<&'static str>,
}

impl Setup {
    /// Defaults for a model: Gaussian noise of `sigma` (a feature's own noise in the schema
    /// overrides it), l1 cost, target rate 0.1. With a schema: its units, bounds, directions,
    /// costs, and noise on mutable features; without: every column is a number without limits, and
    /// noise acts on all.
    pub fn new(
        model: Arc<dyn Model>,
        names: Vec<String>,
        schema: Option<&Schema>,
        sigma: f64,
    ) -> Result<Self> {
        let n = model.n_features();
        if names.len() != n {
            return Err(Error::Shape { what: "feature names", expected: n, found: names.len() });
        }
        require(sigma > 0.0 && sigma.is_finite(), "sigma", "positive and finite", sigma)?;
        let encoding = match schema {
            Some(schema) => {
                schema.check()?;
                Encoding::new(schema, &names)?
            }
            None => Encoding::identity(&names),
        };
        let columns = encoding.columns();
        let (up, down) = columns.costs();
        let mut setup = Self {
            space: columns.space(),
            actions: Actions::free(n),
            raw_bounds: Vec::new(),
            ranges: columns.features.iter().map(|f| f.range).collect(),
            steps: columns.features.iter().map(Feature::step).collect(),
            cost: Cost::new("l1", up, down)?.with_groups(&encoding.groups()),
            noise: Arc::new(Gaussian::new(
                vec![0.0; n],
                Covariance::Diagonal(columns.noise_sd(sigma)),
            )?),
            noise_on: if schema.is_some() { NoiseOn::Mutable } else { NoiseOn::All },
            shift: None,
            max_rate: 0.1,
            budget: None,
            preference: Vec::new(),
            alternatives: 1,
            also_favourable: false,
            certify: true,
            confidence: 0.999,
            aim: None,
            tolerance: false,
            seed: Seed(0),
            method: "probe".to_owned(),
            options: MethodOptions::default(),
            reference: None,
            effort: SearchEffort::Normal,
            left_out: None,
            model,
            names,
            encoding,
        };
        setup.set_bounds(true)?;
        Ok(setup)
    }

    /// A builder for a model whose columns have these names.
    ///
    /// ```
    /// use probe_core::{Linear, Setup};
    /// use std::sync::Arc;
    ///
    /// let model = Arc::new(Linear::new(vec![2.0, -1.0], -1.0, 0.0)?);
    /// let setup = Setup::builder(model, ["income", "debt"])
    ///     .sigma(0.05)
    ///     .max_rate(0.1)
    ///     .immutable(["debt"])
    ///     .build()?;
    /// assert!(!setup.actions.is_mutable_numeric(1));
    /// # Ok::<(), probe_core::Error>(())
    /// ```
    pub fn builder<'s, N: Into<String>>(
        model: Arc<dyn Model>,
        names: impl IntoIterator<Item = N>,
    ) -> SetupBuilder<'s> {
        SetupBuilder::new(model, names.into_iter().map(Into::into).collect())
    }

    /// Takes limits, bounds, steps and categories from the schema, with or without the ranges
    /// learned in training. The action space is replaced: features fixed and boxes set earlier are
    /// lost. The limit on the number of changes and strict bounds stay.
    pub fn set_bounds(&mut self, learned: bool) -> Result<()> {
        let (k, strict) = (self.actions.max_changes(), self.actions.is_strict());
        let actions = self.encoding.actions(learned)?;
        let most = k.or(actions.max_changes());
        self.actions = actions.with_max_changes(most).with_strict_bounds(strict);
        self.raw_bounds =
            self.encoding.columns().features.iter().map(|f| f.bounds(learned)).collect();
        Ok(())
    }

    /// Replaces the norm, keeping the weights.
    pub fn set_norm(&mut self, norm: &str) -> Result<()> {
        self.cost = self.cost.with_norm(norm)?;
        Ok(())
    }

    /// The columns of a feature, by its name, or one column by its own.
    pub fn columns_of(&self, name: &str) -> Result<Vec<usize>> {
        let features = self.encoding.features();
        let is_meant = |j: &usize| {
            features[self.encoding.feature_of(*j)].name == name || self.names[*j] == name
        };
        let columns: Vec<usize> = (0..self.names.len()).filter(is_meant).collect();
        if columns.is_empty() {
            let known: Vec<&str> = features.iter().map(|f| f.name.as_str()).collect();
            return Err(Error::UnknownName {
                kind: "feature",
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
        Ok(columns)
    }

    /// Fails on values outside their domain, and on values that exclude each other.
    pub(super) fn check(&self) -> Result<()> {
        let Self { max_rate, confidence, .. } = *self;
        Goal::Rate(max_rate).check()?;
        if let Some(budget) = self.budget {
            Goal::Budget(budget).check()?;
        }
        require(confidence > 0.0 && confidence < 1.0, "confidence", "between 0 and 1", confidence)?;
        if let Some(aim) = self.aim {
            require(aim > 0.0 && aim < 1.0, "aim", "between 0 and 1", aim)?;
        }
        if let Some(shift) = self.shift {
            shift.check()?;
        }
        if self.noise_on == NoiseOn::Changed && max_rate >= 0.5 {
            return Err(Error::Unsupported {
                what: format!("r = {max_rate} with noise on changed features only"),
                why: "it needs r < 0.5".to_owned(),
            });
        }
        Ok(())
    }
}
