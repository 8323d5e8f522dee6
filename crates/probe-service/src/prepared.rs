//! Turns a request, a model and a schema into a [`Setup`], from which an engine is built.

use crate::diagnostics::Diagnostics;
use crate::error::RequestError;
use crate::message::Message;
use crate::people::people_of;
use crate::request::{Bounds, Request, Scope};
use crate::schema_source::SchemaSource;
use anyhow::{Context as _, Result};
use probe_core::noise::NoiseSpec;
use probe_core::{
    Actions, Engine, Model, ModelInput, NoiseOn, Schema, SearchEffort, Setup, SetupBuilder,
};
use probe_io::{Checksum, Chunk, ModelFile, TableReader, parse_noise};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request that was checked against its model, with what results say about it.
pub struct Prepared {
    /// The set-up of the engine.
    pub setup: Setup,
    /// Features in the model's order, with units.
    pub schema: Option<Schema>,
    model_hash: String,
    noise: NamedNoise,
    coverage: Coverage,
}

/// Inputs of a request besides its fields. The front end reads them.
#[derive(Default)]
pub struct Inputs {
    /// The schema.
    pub schema: SchemaSource,
    /// The file that errors about the schema name: the schema's, or the model's.
    pub origin: String,
    /// The content of the file that `noise` names as `file:…`.
    pub noise: Option<Vec<u8>>,
    /// Rows like those that the model was trained on, for methods that need data.
    pub reference: Option<TableReader>,
}

/// The command that results name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Answers to people.
    Recourse,
    /// Cost against rate.
    Frontier,
    /// Several methods on the same people.
    Compare,
    /// Rates of given points.
    Rate,
    /// Margins and decisions.
    Score,
}

impl Command {
    /// The name in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recourse => "recourse",
            Self::Frontier => "frontier",
            Self::Compare => "compare",
            Self::Rate => "rate",
            Self::Score => "score",
        }
    }
}

/// Typical computing time for one person.
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
    /// Number of people that a thread takes at a time. Small portions keep all threads busy and the
    /// progress moving. `None` for the default.
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
struct Coverage {
    /// The requested confidence. The set-up has that of one row.
    confidence: f64,
    /// Number of rows over which the confidence is divided.
    rows: Option<u64>,
}

impl Prepared {
    /// Checks the request against the model, and warns of settings that are probably mistakes.
    pub fn new(
        file: &ModelFile,
        inputs: Inputs,
        request: &Request,
        diagnostics: &dyn Diagnostics,
    ) -> Result<Self> {
        request.check()?;
        let schema = inputs.schema.with(file);
        let cut_off = request.threshold_prob.map(|p| file.model.margin_at(p));
        let threshold = request.threshold.or(cut_off);
        let model = file.with_decision(request.favourable_class == 0, threshold)?;
        let mut setup = builder(request, model, file)?
            .schema(schema.as_ref())
            .build()
            .context(inputs.origin)?;
        limit(request, &mut setup)?;
        setup.preference = preference_of(&setup, request)?;
        if let Some(reader) = inputs.reference {
            setup.reference = Some(reference_of(reader, &setup)?);
        }
        let noise = set_noise(&mut setup, request, inputs.noise.as_deref())?;
        let coverage = Coverage { confidence: request.confidence, rows: rows_of(request)? };
        setup.confidence = coverage.of_a_row()?;
        warn_of_raw_units(file, schema.as_ref(), diagnostics);
        Ok(Self { setup, schema, model_hash: file.hash.clone(), noise, coverage })
    }

    /// Fails if there are more rows than the confidence was divided over, because the promised
    /// confidence would then not hold.
    pub fn check_rows(&self, chunk: &Chunk) -> Result<()> {
        let end = chunk.first_row() + chunk.n_rows() as u64;
        match self.coverage.rows {
            Some(rows) if end > rows => {
                let message = Message::from(format!(
                    "{}: more than the {rows} rows that ",
                    chunk.plan().file()
                ));
                let message = message.field("confidence_scope").text(" file was divided over");
                Err(RequestError::mismatch("rows", message).into())
            }
            _ => Ok(()),
        }
    }

    /// Typical computing time for one person. Prints a note if it is seconds.
    pub fn work(&self, diagnostics: &dyn Diagnostics) -> Work {
        let setup = &self.setup;
        let (linear, gaussian) =
            (setup.model.as_linear().is_some(), setup.noise.as_gaussian().is_some());
        if setup.method == "probe-mc" {
            let message = Message::from(
                "probe-mc draws new samples at each step and may take seconds per person; ",
            )
            .field("option")
            .text(" samples=N and ")
            .field("option")
            .text(" steps=N make it faster");
            diagnostics.note(&message);
            Work::Huge
        } else if setup.shift.is_some() && !linear {
            let message = Message::from("each sample draws a changed network (")
                .field("model_shift")
                .text("), which may take seconds per person");
            diagnostics.note(&message);
            Work::Huge
        } else if setup.model.as_differentiable().is_none() {
            Work::Slow
        } else if !linear || !gaussian || setup.shift.is_some() {
            Work::Heavy
        } else {
            Work::Light
        }
    }

    /// Warns if the noise was fitted for a larger rate than one of those asked for.
    pub fn warn_of_fit(&self, rates: &[f64], diagnostics: &dyn Diagnostics) {
        let smallest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(fitted) = self.noise.fitted_rate.filter(|&fitted| smallest < fitted) {
            let message = format!(
                "{} was fitted for a rate of {fitted} and is too optimistic for {smallest}: \
                 fit it again with probe noise fit -r {smallest}",
                self.noise.name
            );
            diagnostics.warn(&message.into());
        }
    }

    /// Warns if a rate is too small to be certified by sampling, or to be reached by a model that
    /// may change so much.
    pub fn warn_of_small_rates(
        &self,
        engine: &Engine,
        rates: &[f64],
        diagnostics: &dyn Diagnostics,
    ) {
        let smallest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        if let Some(least) =
            engine.least_certifiable_rate(rates.len()).filter(|&least| smallest < least)
        {
            let message = format!(
                "a rate of {smallest} is too small to be certified by sampling: \
                 at a confidence of {}, about {least:.1e} is the smallest",
                self.setup.confidence
            );
            diagnostics.warn(&message.into());
        }
        let least = engine.least_rate();
        if let Some(shift) = self.setup.shift.filter(|_| smallest < least) {
            let message = format!(
                "a rate of {smallest} is out of reach: a change of the model of {shift} drowns \
                 the score, and no point has a rate below {least:.3}"
            );
            diagnostics.warn(&message.into());
        }
    }

    /// Reports the notes of the method's preparation, as diagnostics and in `meta`.
    pub fn report_notes(&self, engine: &Engine, meta: &mut Value, diagnostics: &dyn Diagnostics) {
        if let Some(notes) = engine.notes() {
            diagnostics.note(&notes.text.into());
            meta["method_notes"] = json!(notes.values.into_iter().collect::<BTreeMap<_, _>>());
        }
    }

    /// What the audit records of a run have in common; `meta` is that of its answers.
    pub fn audit_setting(&self, request: &Request, meta: &Value) -> Value {
        let mut setting = meta.clone();
        if let Value::Object(fields) = &mut setting {
            fields.remove("note");
        }
        let schema = self.schema.as_ref().and_then(|schema| serde_json::to_string(schema).ok());
        setting["schema_hash"] = json!(schema.map(|text| Checksum::of(text.as_bytes())));
        setting["flags"] = json!({
            "immutable": request.immutable,
            "favourable_class": request.favourable_class,
            "threshold": request.threshold,
            "threshold_prob": request.threshold_prob,
            "bounds": request.bounds.map(|bounds| format!("{bounds:?}")),
            "strict_bounds": request.strict_bounds,
            "max_changes": request.max_changes,
            "also_favourable": request.also_favourable,
            "no_certify": request.no_certify,
        });
        setting
    }

    /// The `meta` object of every JSON result.
    pub fn meta(&self, command: Command) -> Value {
        let noise_on = match self.setup.noise_on {
            NoiseOn::All => "all",
            NoiseOn::Mutable => "mutable",
            NoiseOn::Changed => "changed",
        };
        let mut meta = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "command": command.as_str(),
            "method": self.setup.method,
            "options": self.setup.options.iter().collect::<BTreeMap<_, _>>(),
            "seed": self.setup.seed.0,
            "model_hash": self.model_hash,
            "noise": self.noise.name,
            "noise_on": noise_on,
            "sigma": self.noise.sigma,
            "model_shift": self.setup.shift.map(|shift| shift.to_string()),
            "r": self.setup.max_rate,
            "budget": self.setup.budget,
            "cost": self.setup.cost.norm().name(),
            "confidence": self.coverage.confidence,
        });
        if self.setup.alternatives > 1 {
            meta["ways"] = json!(self.setup.alternatives);
        }
        if !self.setup.preference.is_empty() {
            let named = self.setup.names.iter().zip(&self.setup.preference);
            meta["preference"] =
                json!(named.filter(|(_, factor)| **factor != 1.0).collect::<BTreeMap<_, _>>());
        }
        if self.setup.effort != SearchEffort::Normal {
            meta["effort"] = json!(self.setup.effort);
        }
        if matches!(command, Command::Recourse | Command::Frontier) {
            let rows = self.coverage.rows;
            meta["confidence_scope"] = json!(if rows.is_some() { Scope::File } else { Scope::Row });
            meta["rows"] = json!(rows);
            meta["aim"] = json!(self.setup.aim);
            meta["tolerance"] = json!(self.setup.tolerance);
        }
        meta["note"] = json!(if self.setup.shift.is_some() {
            "rates and certificates hold for the stated noise and change of the model; \
             they say nothing about others"
        } else {
            "rates and certificates hold for the stated noise model; \
             they say nothing about other noise or another model"
        });
        meta
    }
}

/// The confidence of each row if `rows` of them together have `confidence`; `None` if it rounds to
/// 1.
fn confidence_of_a_row(confidence: f64, rows: u64) -> Option<f64> {
    let delta = (1.0 - confidence) / rows.max(1) as f64;
    let each = 1.0 - delta;
    // Rounded so that the rows together never have less than was asked for.
    let each = if 1.0 - each > delta { each.next_up() } else { each };
    (each < 1.0).then_some(each)
}

impl Coverage {
    /// The confidence of one row.
    fn of_a_row(self) -> Result<f64, RequestError> {
        let Some(rows) = self.rows else { return Ok(self.confidence) };
        confidence_of_a_row(self.confidence, rows).ok_or_else(|| {
            let message = format!(
                "{} divided over {rows} rows is too close to 1 to compute with",
                self.confidence
            );
            RequestError::new("confidence", message)
        })
    }
}

/// The number of rows over which the confidence is divided; `None` if it is not.
fn rows_of(request: &Request) -> Result<Option<u64>, RequestError> {
    match (request.confidence_scope, request.rows) {
        (Scope::Row, _) => Ok(None),
        (Scope::File, Some(rows)) => Ok(Some(rows)),
        (Scope::File, None) => {
            let message = Message::from("say how many rows there are with ").field("rows");
            Err(RequestError::new("confidence_scope", message))
        }
    }
}

/// The set-up without settings that depend on names of features.
fn builder<'s>(
    request: &Request,
    model: Arc<dyn Model>,
    file: &ModelFile,
) -> Result<SetupBuilder<'s>, RequestError> {
    Ok(Setup::builder(model, file.features.clone())
        .sigma(request.deviation())
        .noise_on(request.noise_on)
        .model_shift(request.shift()?)
        .norm(&request.cost)
        .learned_bounds(request.bounds != Some(Bounds::None))
        .strict_bounds(request.strict_bounds)
        .max_changes(request.max_changes)
        .max_rate(request.max_rate)
        .budget(request.budget)
        .alternatives(request.options)
        .also_favourable(request.also_favourable)
        .certify(!request.no_certify)
        .aim(request.aim)
        .tolerance(request.tolerance)
        .seed(request.seed)
        .method(&request.method, request.method_options()?)
        .effort(request.effort))
}

/// Applies limits whose errors name a feature.
fn limit(request: &Request, setup: &mut Setup) -> Result<()> {
    if let Some(Bounds::Box(low, high)) = request.bounds {
        intersect(&mut setup.actions, &setup.names, low, high)?;
    }
    for name in &request.immutable {
        columns_of(setup, name, "immutable")?.into_iter().for_each(|j| setup.actions.fix(j));
    }
    Ok(())
}

/// The columns of a feature, by its name, or one column by its own.
pub fn columns_of(
    setup: &Setup,
    name: &str,
    field: &'static str,
) -> Result<Vec<usize>, RequestError> {
    setup.columns_of(name).map_err(|error| RequestError::of(field, error))
}

/// The factors by which `prefer` and `avoid` change costs, column by column; empty without them.
fn preference_of(setup: &Setup, request: &Request) -> Result<Vec<f64>, RequestError> {
    /// The factor of the cost of a feature to avoid; a preferred one has its inverse.
    const TIMES: f64 = 10.0;
    let (prefer, avoid) = (&request.prefer, &request.avoid);
    if prefer.is_empty() && avoid.is_empty() {
        return Ok(Vec::new());
    }
    if let Some(name) = prefer.iter().find(|name| avoid.contains(name)) {
        let message = Message::from(format!("'{name}' is also in ")).field("avoid");
        return Err(RequestError::new("prefer", message));
    }
    let mut factors = vec![1.0; setup.names.len()];
    for (field, names, factor) in [("prefer", prefer, 1.0 / TIMES), ("avoid", avoid, TIMES)] {
        for name in names {
            columns_of(setup, name, field)?.into_iter().for_each(|j| factors[j] = factor);
        }
    }
    Ok(factors)
}

/// The reference rows. Fails on an empty table.
fn reference_of(reader: TableReader, setup: &Setup) -> Result<Arc<[f64]>> {
    let name = reader.name().to_owned();
    let rows = people_of(reader, setup, true)?;
    if rows.is_empty() {
        return Err(RequestError::new("reference", format!("no rows in {name}")).into());
    }
    Ok(rows.into())
}

/// Intersects the bounds with a box. The error names the feature that would have no value left.
fn intersect(actions: &mut Actions, names: &[String], low: f64, high: f64) -> Result<()> {
    for (j, name) in names.iter().enumerate() {
        let limits = actions.room(j);
        if limits.low.max(low) > limits.high.min(high) {
            let what = format!(
                "{low},{high} leaves no value for '{name}', \
                 which the schema bounds to {},{} (scaled)",
                limits.low, limits.high
            );
            return Err(RequestError::new("bounds", what).into());
        }
    }
    Ok(actions.intersect(low, high)?)
}

/// The noise as results name it.
struct NamedNoise {
    name: String,
    /// The standard deviation, if it is the same number for all features.
    sigma: Option<f64>,
    /// The target rate that a noise file was fitted for.
    fitted_rate: Option<f64>,
}

/// Sets the noise of the set-up. `content` is the content of the file that `noise` names.
fn set_noise(setup: &mut Setup, request: &Request, content: Option<&[u8]>) -> Result<NamedNoise> {
    let sigma = request.deviation();
    let Some(spec) = &request.noise else {
        let name = "gaussian".to_owned();
        return Ok(NamedNoise { name, sigma: Some(sigma), fitted_rate: None });
    };
    let wrong = |what: String| RequestError::new("noise", what);
    if let Some(path) = spec.strip_prefix("file:") {
        let content = content.ok_or_else(|| wrong("files are not read here".to_owned()))?;
        let file = parse_noise(content, path, &setup.names)?;
        setup.noise = file.noise;
        let fitted_rate = file.fitted_rate;
        return Ok(NamedNoise { name: spec.clone(), sigma: None, fitted_rate });
    }
    let parsed = NoiseSpec::parse(spec).map_err(|error| wrong(error.to_string()))?;
    let sd = parsed.sd.unwrap_or(sigma);
    if !(sd > 0.0 && sd.is_finite()) {
        let what = format!("'{spec}': the standard deviation must be positive and finite");
        return Err(wrong(what).into());
    }
    let sds = setup.encoding.columns().noise_sd(sd);
    setup.noise = parsed.build(sds).map_err(|error| wrong(error.to_string()))?;
    let name = if parsed.options.is_empty() { parsed.family } else { spec.clone() };
    Ok(NamedNoise { name, sigma: Some(sd), fitted_rate: None })
}

/// Warns if no feature has a scale: σ = 0.1 then means 0.1 raw units of every feature.
fn warn_of_raw_units(file: &ModelFile, schema: Option<&Schema>, diagnostics: &dyn Diagnostics) {
    let unscaled = |schema: &Schema| {
        schema.features.iter().all(|f| f.offset_and_width().is_none() && f.noise.is_none())
    };
    let input = schema.and_then(|schema| schema.model_input).unwrap_or(file.input);
    if input == ModelInput::Raw && schema.is_none_or(unscaled) {
        let message = "the model takes raw values and no feature has a scale: \
             sigma and cost are in raw units of every feature; \
             give each feature a scale in a schema (probe schema infer writes one from data)";
        diagnostics.warn(&message.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                // Each row loses at most an ulp of 1.
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
