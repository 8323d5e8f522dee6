//! From what was typed to what is asked: model, schema and flags become a [`Setup`].

use crate::flags::{Ask, Assurance, Bounds, Scope, Seek, Wishes};
use crate::people::people_of;
use crate::usage::Usage;
use crate::voice::Voice;
use anyhow::{Context as _, Result, bail};
use probe_core::noise::NoiseSpec;
use probe_core::recourse::method;
use probe_core::schema::Kind;
use probe_core::{
    Actions, Engine, Feature, MethodOptions, ModelInput, NoiseOn, Schema, Seed, Setup,
};
use probe_io::{Chunk, ModelFile, TableReader, load_noise, load_schema, parse_noise};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// A model and everything asked of it.
pub struct Question {
    /// What engines are made of.
    pub setup: Setup,
    /// Features in the model's order, with units.
    pub schema: Option<Schema>,
    model_hash: String,
    noise: String,
    sigma: Option<f64>,
    /// The target rate that a noise file was fitted for.
    fitted_rate: Option<f64>,
    /// What is promised, where recourse is asked for.
    promise: Option<Promise>,
}

/// How much work one person is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Microseconds.
    Light,
    /// Milliseconds.
    Heavy,
    /// Up to a second.
    Slow,
    /// Seconds.
    Huge,
}

impl Work {
    /// People handed out at a time: small portions keep every thread busy and the progress moving.
    /// `None` where any number will do.
    pub fn portion(self) -> Option<usize> {
        match self {
            Self::Light => None,
            Self::Heavy => Some(32),
            Self::Slow => Some(2),
            Self::Huge => Some(1),
        }
    }
}

/// What the confidence covers.
#[derive(Debug, Clone, Copy)]
struct Promise {
    /// As typed; that of one row is in the set-up.
    confidence: f64,
    /// Rows that it is divided over.
    rows: Option<u64>,
}

impl Question {
    /// Reads model and schema, applies the flags, and warns of what is probably not meant. Without
    /// `seek` no recourse is sought.
    pub fn new(ask: &Ask, seek: Option<&Seek>, seed: u64, voice: &dyn Voice) -> Result<Self> {
        let file = ModelFile::load(&ask.model)?;
        let units = match &ask.schema {
            Some(path) if path == Path::new("none") => Units::Ignored,
            Some(path) => Units::Given(load_schema(path)?),
            None => Units::Own,
        };
        Self::of(&file, Means { units, noise: None }, (ask, seek, seed), voice)
    }

    /// The same for a model that is read already, whatever files `ask` names.
    pub fn of(
        file: &ModelFile,
        means: Means,
        (ask, seek, seed): (&Ask, Option<&Seek>, u64),
        voice: &dyn Voice,
    ) -> Result<Self> {
        let schema = means.units.with(file);
        let threshold = ask.threshold.or(ask.threshold_prob.map(|p| file.model.margin_at(p)));
        let model = file.with_decision(ask.favourable_class == 0, threshold)?;
        let sigma = ask.sigma2.map_or(ask.sigma, f64::sqrt);
        let mut setup = Setup::new(model, file.features.clone(), schema.as_ref(), sigma)
            .with_context(|| ask.schema.as_ref().unwrap_or(&ask.model).display().to_string())?;
        setup.noise_on = ask.noise_on.unwrap_or(setup.noise_on);
        if let Some(seek) = seek {
            apply(seek, &mut setup)?;
        }
        for name in &ask.immutable {
            columns_of(&setup, name, "--immutable")?.into_iter().for_each(|j| setup.actions.fix(j));
        }
        if let Some(seek) = seek {
            setup.preference = preference_of(&setup, seek)?;
        }
        setup.shift = ask.model_shift;
        setup.confidence = ask.confidence;
        setup.seed = Seed(seed);
        let Named { noise, sigma, fitted_rate } =
            set_noise(&mut setup, ask, sigma, means.noise.as_deref())?;
        warn_of_raw_units(file, schema.as_ref(), voice);
        Ok(Self {
            setup,
            schema,
            model_hash: file.hash.clone(),
            noise,
            sigma,
            fitted_rate,
            promise: None,
        })
    }

    /// Takes rows like those that the model was trained on from a table, for methods that need
    /// them.
    pub fn refer_to(&mut self, reader: TableReader) -> Result<()> {
        self.setup.reference = Some(reference_of(reader, &self.setup)?);
        Ok(())
    }

    /// Applies more of what is sought.
    pub fn wish(&mut self, wishes: &Wishes) {
        self.setup.budget = wishes.budget;
        self.setup.tolerance = wishes.tolerance;
        self.setup.alternatives = usize::from(wishes.options);
    }

    /// Applies what is to be promised of sampled answers; `count` tells the rows where the
    /// confidence is divided over them.
    pub fn promise(
        &mut self,
        assurance: &Assurance,
        confidence: f64,
        count: impl FnOnce() -> Result<u64>,
    ) -> Result<()> {
        let rows = match (assurance.confidence_scope, assurance.rows) {
            (Scope::Row, None) => None,
            (Scope::Row, Some(_)) => {
                return Err(Usage::of("--rows", "it belongs to --confidence-scope file").into());
            }
            (Scope::File, Some(rows)) => Some(rows),
            (Scope::File, None) => Some(count()?),
        };
        self.promise = Some(Promise { confidence, rows });
        self.setup.aim = assurance.aim;
        if let Some(rows) = rows {
            self.setup.confidence = confidence_of_a_row(confidence, rows).ok_or_else(|| {
                let what = format!(
                    "{confidence} divided over {rows} rows is too close to 1 to compute with"
                );
                Usage::of("--confidence", what)
            })?;
        }
        Ok(())
    }

    /// Fails where there are more rows than the confidence was divided over: what was promised
    /// would not hold.
    pub fn check_rows(&self, chunk: &Chunk) -> Result<()> {
        let end = chunk.first_row() + chunk.n_rows() as u64;
        match self.promise.and_then(|promise| promise.rows) {
            Some(rows) if end > rows => bail!(
                "{}: more than the {rows} rows that --confidence-scope file was divided over",
                chunk.plan().file()
            ),
            _ => Ok(()),
        }
    }

    /// How much work one person is; says so where it is a matter of seconds.
    pub fn work(&self, voice: &dyn Voice) -> Work {
        let setup = &self.setup;
        let (linear, gaussian) =
            (setup.model.as_linear().is_some(), setup.noise.as_gaussian().is_some());
        if setup.method == "probe-mc" {
            voice.note(
                "probe-mc draws anew at each of many steps and may take seconds a person; --option samples=N and --option steps=N make it faster",
            );
            Work::Huge
        } else if setup.shift.is_some() && !linear {
            voice.note(
                "each sample has a network of its own (--model-shift): a person may take seconds",
            );
            Work::Huge
        } else if setup.model.as_differentiable().is_none() {
            Work::Slow
        } else if !linear || !gaussian || setup.shift.is_some() {
            Work::Heavy
        } else {
            Work::Light
        }
    }

    /// Warns where the noise was fitted for larger rates than those asked for.
    pub fn warn_of_fit(&self, rates: &[f64], voice: &dyn Voice) {
        let smallest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(fitted) = self.fitted_rate.filter(|&fitted| smallest < fitted) {
            voice.warn(&format!(
                "{} was fitted for a rate of {fitted} and is too optimistic for {smallest}: fit it with probe noise fit -r {smallest}",
                self.noise
            ));
        }
    }

    /// Warns where rates are too small for a certificate by sampling.
    pub fn warn_of_small_rates(&self, engine: &Engine, rates: &[f64], voice: &dyn Voice) {
        let smallest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(least) =
            engine.least_certifiable_rate(rates.len()).filter(|&least| smallest < least)
        {
            voice.warn(&format!(
                "a rate of {smallest} is too small to be certified by sampling: at a confidence of {}, about {least:.1e} is the smallest",
                self.setup.confidence
            ));
        }
    }

    /// Says what came of the method's preparations, to people and in `meta`.
    pub fn tell_notes(&self, engine: &Engine, meta: &mut Value, voice: &dyn Voice) {
        if let Some(notes) = engine.notes() {
            voice.note(&notes.text);
            meta["method_notes"] = json!(notes.values.into_iter().collect::<BTreeMap<_, _>>());
        }
    }

    /// What every JSON result carries.
    pub fn meta(&self, command: &str) -> Value {
        let noise_on = match self.setup.noise_on {
            NoiseOn::All => "all",
            NoiseOn::Mutable => "mutable",
            NoiseOn::Changed => "changed",
        };
        let mut meta = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "command": command,
            "method": self.setup.method,
            "options": self.setup.options.iter().collect::<BTreeMap<_, _>>(),
            "seed": self.setup.seed.0,
            "model_hash": self.model_hash,
            "noise": self.noise,
            "noise_on": noise_on,
            "sigma": self.sigma,
            "model_shift": self.setup.shift.map(|shift| shift.to_string()),
            "r": self.setup.max_rate,
            "budget": self.setup.budget,
            "cost": self.setup.cost.norm().name(),
            "confidence": self.promise.map_or(self.setup.confidence, |promise| promise.confidence),
        });
        if self.setup.alternatives > 1 {
            meta["ways"] = json!(self.setup.alternatives);
        }
        if !self.setup.preference.is_empty() {
            let named = self.setup.names.iter().zip(&self.setup.preference);
            meta["preference"] =
                json!(named.filter(|(_, factor)| **factor != 1.0).collect::<BTreeMap<_, _>>());
        }
        if let Some(promise) = self.promise {
            meta["confidence_scope"] = json!(if promise.rows.is_some() { "file" } else { "row" });
            meta["rows"] = json!(promise.rows);
            meta["aim"] = json!(self.setup.aim);
            meta["tolerance"] = json!(self.setup.tolerance);
        }
        meta["note"] = json!(if self.setup.shift.is_some() {
            "rates and certificates hold for the stated noise and change of the model; they say nothing about others"
        } else {
            "rates and certificates hold for the stated noise model; they say nothing about other noise or another model"
        });
        meta
    }
}

/// The confidence of each of `rows` that together have `confidence`; `None` where it rounds to 1.
fn confidence_of_a_row(confidence: f64, rows: u64) -> Option<f64> {
    let delta = (1.0 - confidence) / rows.max(1) as f64;
    let each = 1.0 - delta;
    // Rounded so that the rows together never have less than was asked for.
    let each = if 1.0 - each > delta { each.next_up() } else { each };
    (each < 1.0).then_some(each)
}

/// Applies what is sought.
fn apply(seek: &Seek, setup: &mut Setup) -> Result<()> {
    if let Some(Bounds::None) = seek.bounds {
        setup.set_bounds(false)?;
    }
    let most = seek.max_changes.or(setup.actions.max_changes());
    let mut actions =
        setup.actions.clone().with_max_changes(most).with_strict_bounds(seek.strict_bounds);
    if let Some(Bounds::Box(low, high)) = seek.bounds {
        intersect(&mut actions, &setup.names, low, high)?;
    }
    setup.actions = actions;
    setup.set_norm(&seek.cost)?;
    setup.max_rate = seek.max_rate;
    check_changed(setup.noise_on, seek.max_rate, "-r")?;
    setup.certify = !seek.no_certify;
    setup.also_favourable = seek.also_favourable;
    setup.method.clone_from(&seek.method);
    setup.options = options_of(seek)?;
    setup.reference = match &seek.reference {
        Some(path) => Some(reference_of(TableReader::open(path, None)?, setup)?),
        None => None,
    };
    Ok(())
}

/// The columns of a feature, by its name, or one column by its own.
pub fn columns_of(setup: &Setup, name: &str, flag: &str) -> Result<Vec<usize>> {
    let encoding = &setup.encoding;
    let is_meant = |j: &usize| {
        encoding.features()[encoding.feature_of(*j)].name == name || setup.names[*j] == name
    };
    let columns: Vec<usize> = (0..setup.names.len()).filter(is_meant).collect();
    if columns.is_empty() {
        let known: Vec<&str> = encoding.features().iter().map(|f| f.name.as_str()).collect();
        let what = format!("no feature '{name}' in the model (it has: {})", known.join(", "));
        return Err(Usage::of(flag, what).into());
    }
    Ok(columns)
}

/// What `--prefer` and `--avoid` do to costs, column by column; empty without them.
fn preference_of(setup: &Setup, seek: &Seek) -> Result<Vec<f64>> {
    /// How much cheaper or dearer than it is a feature counts.
    const TIMES: f64 = 10.0;
    if seek.prefer.is_empty() && seek.avoid.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(name) = seek.prefer.iter().find(|name| seek.avoid.contains(name)) {
        return Err(Usage::of("--prefer", format!("'{name}' is to be avoided, too")).into());
    }
    let mut factors = vec![1.0; setup.names.len()];
    for (flag, names, factor) in
        [("--prefer", &seek.prefer, 1.0 / TIMES), ("--avoid", &seek.avoid, TIMES)]
    {
        for name in names {
            columns_of(setup, name, flag)?.into_iter().for_each(|j| factors[j] = factor);
        }
    }
    Ok(factors)
}

/// The method's settings, of which `--paper-text` is one.
fn options_of(ask: &Seek) -> Result<MethodOptions> {
    let preset = ask.paper_text.then_some("preset=paper-text");
    let texts = ask.option.iter().map(String::as_str).chain(preset);
    let flag = if ask.option.is_empty() { "--paper-text" } else { "--option" };
    let options = MethodOptions::parse(texts).map_err(|error| Usage::of(flag, error))?;
    method(&ask.method)?.check_options(&options).map_err(|error| Usage::of(flag, error))?;
    Ok(options)
}

/// The rows of `--reference`. Fails on a table without any.
fn reference_of(reader: TableReader, setup: &Setup) -> Result<Arc<[f64]>> {
    let name = reader.name().to_owned();
    let rows = people_of(reader, setup, true)?;
    if rows.is_empty() {
        return Err(Usage::of("--reference", format!("no rows in {name}")).into());
    }
    Ok(rows.into())
}

/// Fails on a rate that noise on the changed features cannot serve.
pub(crate) fn check_changed(noise_on: NoiseOn, rate: f64, flag: &str) -> Result<()> {
    if noise_on == NoiseOn::Changed && rate >= 0.5 {
        return Err(
            Usage::new(format!("--noise-on changed needs {flag} below 0.5, got {rate}")).into()
        );
    }
    Ok(())
}

/// Applies `--bounds`, naming the feature that it would leave without room.
fn intersect(actions: &mut Actions, names: &[String], low: f64, high: f64) -> Result<()> {
    for (j, name) in names.iter().enumerate() {
        let room = actions.room(j);
        if room.low.max(low) > room.high.min(high) {
            let what = format!(
                "{low},{high} leaves no room for '{name}', which the schema bounds to {},{} (scaled)",
                room.low, room.high
            );
            return Err(Usage::of("--bounds", what).into());
        }
    }
    Ok(actions.intersect(low, high)?)
}

/// What a question is asked with besides flags, where it is in memory already.
#[derive(Debug, Clone, Default)]
pub struct Means {
    /// The schema.
    pub units: Units,
    /// The content of the file that `--noise file:…` names.
    pub noise: Option<Vec<u8>>,
}

/// Units and rules of the features: which schema is used.
#[derive(Debug, Clone, Default)]
pub enum Units {
    /// The model's own, if it has one.
    #[default]
    Own,
    /// None, whatever the model has.
    Ignored,
    /// This one, completed by what the model's own has learned.
    Given(Schema),
}

impl Units {
    /// The schema to use with the model of `file`.
    fn with(self, file: &ModelFile) -> Option<Schema> {
        let given = match self {
            Self::Ignored => return None,
            Self::Own => None,
            Self::Given(mut schema) => {
                if let Some(own) = &file.schema {
                    learned_from(own, &mut schema);
                }
                Some(schema)
            }
        };
        file.schema_with(given)
    }
}

/// What is known of the model rather than of the people: scales and ranges that it was trained
/// with, where a schema does not say otherwise, and how it takes categories.
fn learned_from(own: &Schema, schema: &mut Schema) {
    for feature in &mut schema.features {
        let Some(learned) = own.feature(&feature.name) else { continue };
        if learned.kind == Kind::Categorical {
            coded_as(learned, feature);
            continue;
        }
        if feature.offset_and_width().is_none() {
            (feature.scale, feature.center, feature.scale_by) =
                (learned.scale, learned.center, learned.scale_by);
        }
        feature.range = feature.range.or(learned.range);
    }
}

/// Takes over how the model codes a category, also where data alone looked like numbers. Another
/// set of categories is left to be refused.
fn coded_as(learned: &Feature, feature: &mut Feature) {
    // Truth values are written in two ways.
    let plain = |text: &String| match text.as_str() {
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        other => other.to_owned(),
    };
    let set = |categories: &[String]| categories.iter().map(plain).collect::<BTreeSet<_>>();
    if feature.kind == Kind::Categorical && set(&learned.categories) != set(&feature.categories) {
        return;
    }
    let own = |text: &String| {
        learned.categories.iter().find(|own| plain(own) == plain(text)).unwrap_or(text).clone()
    };
    feature.transitions = std::mem::take(&mut feature.transitions)
        .into_iter()
        .map(|(from, to)| (own(&from), to.iter().map(own).collect()))
        .collect();
    feature.transition_costs = std::mem::take(&mut feature.transition_costs)
        .into_iter()
        .map(|(from, to)| (own(&from), to.iter().map(|(to, cost)| (own(to), *cost)).collect()))
        .collect();
    if feature.kind != Kind::Categorical {
        let (name, mutable, unit) = (feature.name.clone(), feature.mutable, feature.unit.clone());
        *feature = Feature { name, kind: Kind::Categorical, mutable, unit, ..Feature::default() };
    }
    feature.categories.clone_from(&learned.categories);
    feature.columns.clone_from(&learned.columns);
    feature.encoding = learned.encoding;
}

/// The noise as results name it.
struct Named {
    noise: String,
    /// The standard deviation, where it is one number.
    sigma: Option<f64>,
    fitted_rate: Option<f64>,
}

/// Applies `--noise`.
fn set_noise(setup: &mut Setup, ask: &Ask, sigma: f64, content: Option<&[u8]>) -> Result<Named> {
    let Some(spec) = &ask.noise else {
        return Ok(Named { noise: "gaussian".to_owned(), sigma: Some(sigma), fitted_rate: None });
    };
    if let Some(path) = spec.strip_prefix("file:") {
        let file = match content {
            Some(content) => parse_noise(content, path, &setup.names)?,
            None => load_noise(path, &setup.names)?,
        };
        setup.noise = file.noise;
        return Ok(Named { noise: spec.clone(), sigma: None, fitted_rate: file.fitted_rate });
    }
    let parsed = NoiseSpec::parse(spec).map_err(|error| Usage::of("--noise", error))?;
    let sd = parsed.sd.unwrap_or(sigma);
    if !(sd > 0.0 && sd.is_finite()) {
        let what = format!("'{spec}': the standard deviation must be positive and finite");
        return Err(Usage::of("--noise", what).into());
    }
    let sds = setup.encoding.columns().noise_sd(sd);
    setup.noise = parsed.build(sds).map_err(|error| Usage::of("--noise", error))?;
    let noise = if parsed.options.is_empty() { parsed.family } else { spec.clone() };
    Ok(Named { noise, sigma: Some(sd), fitted_rate: None })
}

/// Without a scale, σ = 0.1 means 0.1 of every unit.
fn warn_of_raw_units(file: &ModelFile, schema: Option<&Schema>, voice: &dyn Voice) {
    let unscaled = |schema: &Schema| {
        schema.features.iter().all(|f| f.offset_and_width().is_none() && f.noise.is_none())
    };
    let input = schema.and_then(|schema| schema.model_input).unwrap_or(file.input);
    if input == ModelInput::Raw && schema.is_none_or(unscaled) {
        voice.warn(
            "the model takes raw values and no feature has a scale: sigma and cost are in raw units of every feature; \
             give each feature a scale in a schema (probe schema infer writes one from data)",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::Coding;

    fn category(name: &str, categories: &[&str], encoding: Coding) -> Feature {
        Feature {
            kind: Kind::Categorical,
            categories: categories.iter().map(|&text| text.to_owned()).collect(),
            encoding: Some(encoding),
            ..Feature::numeric(name)
        }
    }

    #[test]
    fn a_model_s_own_coding_goes_before_a_guess() {
        let own = Schema::new(vec![
            category("job", &["boss", "clerk"], Coding::Onehot),
            category("code", &["1", "2", "5"], Coding::Ordinal),
            category("town", &["A", "B"], Coding::Onehot),
        ]);
        let mut job = category("job", &["clerk", "boss"], Coding::Binary);
        job.transitions.insert("clerk".to_owned(), vec!["boss".to_owned()]);
        let code = Feature { mutable: false, scale: Some([1.0, 5.0]), ..Feature::numeric("code") };
        let mut given =
            Schema::new(vec![job.clone(), code, category("town", &["A", "C"], Coding::Binary)]);
        learned_from(&own, &mut given);
        let [job_now, code_now, town_now] = &given.features[..] else { panic!("three features") };
        assert_eq!(
            (&job_now.categories, job_now.encoding),
            (&own.features[0].categories, Some(Coding::Onehot))
        );
        assert_eq!(job_now.transitions, job.transitions);
        assert_eq!(
            (code_now.kind, code_now.mutable, code_now.scale),
            (Kind::Categorical, false, None)
        );
        assert_eq!(code_now.categories, own.features[1].categories);
        // Other categories are for the check of the schema to refuse.
        assert_eq!(town_now.categories, ["A", "C"]);
    }

    #[test]
    fn rows_together_have_the_confidence_that_was_asked_for() {
        for confidence in [0.5, 0.9, 0.999, 0.123_456_789] {
            for rows in [1, 2, 3, 7, 1_000, 999_983, 1_000_000_000] {
                let each = confidence_of_a_row(confidence, rows).unwrap();
                let together = (1.0 - each) * rows as f64;
                // Division and product round once each.
                assert!(
                    together <= (1.0 - confidence) * (1.0 + 2.0 * f64::EPSILON),
                    "{confidence} {rows}"
                );
                // An ulp of 1 is what is lost for each row.
                assert!(
                    together >= 1.0 - confidence - 2.0 * f64::EPSILON * rows as f64,
                    "{confidence} {rows}"
                );
            }
        }
        assert_eq!(confidence_of_a_row(0.999, u64::MAX), None);
        // No rows, no division.
        assert_eq!(confidence_of_a_row(0.75, 0), Some(0.75));
    }
}
