//! Building a set-up step by step.

use super::Setup;
use crate::error::{Error, Result, require};
use crate::model::{Model, ModelShift};
use crate::noise::{Noise, NoiseOn};
use crate::recourse::{MethodOptions, SearchEffort, method};
use crate::schema::Schema;
use crate::seed::Seed;
use std::sync::Arc;

/// Builds a [`Setup`] and checks that its parts fit together. Fields that are not set have the
/// defaults of [`Setup::new`].
#[derive(Clone)]
#[must_use]
pub struct SetupBuilder<'s> {
    model: Arc<dyn Model>,
    names: Vec<String>,
    schema: Option<&'s Schema>,
    sigma: f64,
    noise: Option<Arc<dyn Noise>>,
    noise_on: Option<NoiseOn>,
    shift: Option<ModelShift>,
    norm: String,
    bounds: Option<(f64, f64)>,
    learned_bounds: bool,
    strict_bounds: bool,
    max_changes: Option<usize>,
    immutable: Vec<String>,
    max_rate: f64,
    budget: Option<f64>,
    alternatives: usize,
    also_favourable: bool,
    certify: bool,
    confidence: f64,
    aim: Option<f64>,
    tolerance: bool,
    seed: Seed,
    method: String,
    options: MethodOptions,
    reference: Option<Arc<[f64]>>,
    effort: SearchEffort,
}

impl<'s> SetupBuilder<'s> {
    pub(super) fn new(model: Arc<dyn Model>, names: Vec<String>) -> Self {
        Self {
            model,
            names,
            schema: None,
            sigma: 0.1,
            noise: None,
            noise_on: None,
            shift: None,
            norm: "l1".to_owned(),
            bounds: None,
            learned_bounds: true,
            strict_bounds: false,
            max_changes: None,
            immutable: Vec::new(),
            max_rate: 0.1,
            budget: None,
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
        }
    }

    /// Units and rules of the features. Without a schema every column is a number without limits.
    pub fn schema(mut self, schema: impl Into<Option<&'s Schema>>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Gaussian noise of this standard deviation, in scaled units. Default 0.1.
    pub fn sigma(mut self, sigma: f64) -> Self {
        self.sigma = sigma;
        self
    }

    /// Other noise, instead of `sigma`.
    pub fn noise(mut self, noise: Arc<dyn Noise>) -> Self {
        self.noise = Some(noise);
        self
    }

    /// The features that the noise acts on. Default: all without a schema, mutable with one.
    pub fn noise_on(mut self, noise_on: impl Into<Option<NoiseOn>>) -> Self {
        self.noise_on = noise_on.into();
        self
    }

    /// How the model may change. Default: not at all.
    pub fn model_shift(mut self, shift: impl Into<Option<ModelShift>>) -> Self {
        self.shift = shift.into();
        self
    }

    /// Norm of the cost: `l1` (the default), `l2` or `linf`.
    pub fn norm(mut self, norm: &str) -> Self {
        norm.clone_into(&mut self.norm);
        self
    }

    /// A box on every feature in scaled space, in addition to the schema's bounds.
    pub fn bounds(mut self, low: f64, high: f64) -> Self {
        self.bounds = Some((low, high));
        self
    }

    /// Whether the ranges learned in training bound answers. Default: yes.
    pub fn learned_bounds(mut self, learned: bool) -> Self {
        self.learned_bounds = learned;
        self
    }

    /// Whether people outside the bounds must move inside. Default: no.
    pub fn strict_bounds(mut self, strict: bool) -> Self {
        self.strict_bounds = strict;
        self
    }

    /// At most this many features may change. Default: the schema's limit, if it has one.
    pub fn max_changes(mut self, most: impl Into<Option<usize>>) -> Self {
        self.max_changes = most.into();
        self
    }

    /// Features that may not change, by name.
    pub fn immutable<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.immutable = names.into_iter().map(Into::into).collect();
        self
    }

    /// See [`Setup::max_rate`]. Default 0.1.
    pub fn max_rate(mut self, rate: f64) -> Self {
        self.max_rate = rate;
        self
    }

    /// See [`Setup::budget`].
    pub fn budget(mut self, budget: impl Into<Option<f64>>) -> Self {
        self.budget = budget.into();
        self
    }

    /// See [`Setup::alternatives`]. Default 1.
    pub fn alternatives(mut self, alternatives: usize) -> Self {
        self.alternatives = alternatives;
        self
    }

    /// See [`Setup::also_favourable`]. Default: no.
    pub fn also_favourable(mut self, also: bool) -> Self {
        self.also_favourable = also;
        self
    }

    /// See [`Setup::certify`]. Default: yes.
    pub fn certify(mut self, certify: bool) -> Self {
        self.certify = certify;
        self
    }

    /// See [`Setup::confidence`]. Default 0.999.
    pub fn confidence(mut self, confidence: f64) -> Self {
        self.confidence = confidence;
        self
    }

    /// See [`Setup::aim`].
    pub fn aim(mut self, aim: impl Into<Option<f64>>) -> Self {
        self.aim = aim.into();
        self
    }

    /// See [`Setup::tolerance`]. Default: no.
    pub fn tolerance(mut self, tolerance: bool) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Seed of all streams. Default 0.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Seed(seed);
        self
    }

    /// A method by name, with its settings. Default: `probe`.
    pub fn method(mut self, name: &str, options: MethodOptions) -> Self {
        name.clone_into(&mut self.method);
        self.options = options;
        self
    }

    /// See [`Setup::reference`].
    pub fn reference(mut self, rows: impl Into<Arc<[f64]>>) -> Self {
        self.reference = Some(rows.into());
        self
    }

    /// See [`Setup::effort`]. Default: normal.
    pub fn effort(mut self, effort: SearchEffort) -> Self {
        self.effort = effort;
        self
    }

    /// The set-up. Fails on values outside their domain, on names that neither the model nor the
    /// method knows, and on parts with different numbers of columns.
    pub fn build(self) -> Result<Setup> {
        self.check_parts()?;
        let mut setup = Setup::new(self.model, self.names, self.schema, self.sigma)?;
        if !self.learned_bounds {
            setup.set_bounds(false)?;
        }
        let most = self.max_changes.or(setup.actions.max_changes());
        setup.actions = setup.actions.with_max_changes(most).with_strict_bounds(self.strict_bounds);
        if let Some((low, high)) = self.bounds {
            setup.actions.intersect(low, high)?;
        }
        for name in &self.immutable {
            for j in setup.columns_of(name)? {
                setup.actions.fix(j);
            }
        }
        setup.set_norm(&self.norm)?;
        setup.noise = self.noise.unwrap_or(setup.noise);
        setup.noise_on = self.noise_on.unwrap_or(setup.noise_on);
        setup.shift = self.shift;
        setup.max_rate = self.max_rate;
        setup.budget = self.budget;
        setup.alternatives = self.alternatives;
        setup.also_favourable = self.also_favourable;
        setup.certify = self.certify;
        setup.confidence = self.confidence;
        setup.aim = self.aim;
        setup.tolerance = self.tolerance;
        setup.seed = self.seed;
        setup.method = self.method;
        setup.options = self.options;
        setup.reference = self.reference;
        setup.effort = self.effort;
        setup.check()?;
        Ok(setup)
    }

    /// Checks that [`Setup`] itself cannot make, because its fields are set one by one.
    fn check_parts(&self) -> Result<()> {
        method(&self.method)?.check_options(&self.options)?;
        let expected = self.names.len();
        if let Some(found) = self.noise.as_ref().map(|noise| noise.dim())
            && found != expected
        {
            return Err(Error::Shape { what: "features of the noise", expected, found });
        }
        if let Some(rows) = &self.reference
            && rows.len() % expected.max(1) != 0
        {
            let what = "values in the last row of the reference data";
            return Err(Error::Shape { what, expected, found: rows.len() % expected.max(1) });
        }
        let alternatives = self.alternatives as f64;
        Ok(require(self.alternatives >= 1, "alternatives", "at least 1", alternatives)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Linear;
    use crate::noise::{Covariance, Gaussian};

    fn builder<'s>() -> SetupBuilder<'s> {
        let model = Linear::new(vec![1.0, 2.0], 0.0, 0.0).unwrap();
        Setup::builder(Arc::new(model), ["a", "b"])
    }

    fn error(builder: SetupBuilder<'_>) -> String {
        builder.build().err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn nothing_set_is_the_default() {
        let built = builder().build().unwrap();
        let names = vec!["a".to_owned(), "b".to_owned()];
        let new = Setup::new(Arc::clone(&built.model), names, None, 0.1).unwrap();
        assert_eq!(format!("{:?}", built.actions), format!("{:?}", new.actions));
        assert_eq!((built.max_rate, built.confidence), (new.max_rate, new.confidence));
        assert_eq!((built.noise_on, built.certify), (new.noise_on, new.certify));
        assert_eq!((built.method, built.effort), (new.method, new.effort));
    }

    #[test]
    fn limits_hold_together() {
        let setup = builder().bounds(0.0, 1.0).max_changes(1).immutable(["b"]).build().unwrap();
        assert_eq!((setup.actions.room(0).low, setup.actions.room(0).high), (0.0, 1.0));
        assert_eq!(setup.actions.max_changes(), Some(1));
        assert!(setup.actions.is_mutable_numeric(0) && !setup.actions.is_mutable_numeric(1));
    }

    #[test]
    fn what_does_not_belong_together_is_rejected() {
        let options = MethodOptions::parse(["magic=1"]).unwrap();
        let wide = Gaussian::new(vec![0.0; 3], Covariance::Diagonal(vec![0.1; 3])).unwrap();
        for (builder, words) in [
            (builder().immutable(["c"]), "unknown feature 'c' (known: a, b)"),
            (builder().max_rate(0.5).noise_on(NoiseOn::Changed), "needs r < 0.5"),
            (builder().max_rate(1.0), "between 0 and 1"),
            (builder().confidence(1.0), "confidence"),
            (builder().budget(-1.0), "budget"),
            (builder().alternatives(0), "alternatives must be at least 1"),
            (builder().bounds(1.0, 0.0), "bounds"),
            (builder().norm("l7"), "l7"),
            (builder().sigma(0.0), "sigma"),
            (builder().method("magic", MethodOptions::default()), "magic"),
            (builder().method("probe", options), "magic"),
            (builder().noise(Arc::new(wide)), "features of the noise: expected 2, found 3"),
            (builder().reference([1.0, 2.0, 3.0]), "expected 2, found 1"),
        ] {
            let error = error(builder);
            assert!(error.contains(words), "{words}: {error}");
        }
    }
}
