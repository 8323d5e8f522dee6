//! From what was typed to what is asked: model, schema and flags become a [`Setup`].

use crate::args::{Ask, Bounds};
use crate::printer::Printer;
use anyhow::{Context as _, Result, bail};
use probe_core::noise::NoiseSpec;
use probe_core::{ModelInput, NoiseOn, Schema, Seed, Setup};
use probe_io::{ModelFile, load_noise, load_schema};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A model and everything asked of it.
pub(crate) struct Question {
    pub(crate) setup: Setup,
    /// Features in the model's order, with units.
    pub(crate) schema: Option<Schema>,
    model_hash: String,
    noise: String,
    sigma: Option<f64>,
}

impl Question {
    /// Reads model and schema, applies the flags, and warns of what is probably not meant.
    pub(crate) fn new(ask: &Ask, seed: u64, printer: &Printer) -> Result<Self> {
        let file = ModelFile::load(&ask.model)?;
        let schema = schema_of(ask, &file)?;
        let threshold = match (ask.threshold, ask.threshold_prob) {
            (Some(t), _) => Some(t),
            (None, Some(p)) => Some((p / (1.0 - p)).ln()),
            (None, None) => None,
        };
        let model = file.with_decision(ask.favourable_class == 0, threshold)?;
        let sigma = ask.sigma2.map_or(ask.sigma, f64::sqrt);
        let mut setup = Setup::new(model, file.features.clone(), schema.as_ref(), sigma)
            .with_context(|| ask.model.display().to_string())?;
        if let Some(Bounds::None) = ask.bounds
            && let Some(schema) = &schema
        {
            setup.set_bounds(schema, false);
        }
        let mut actions =
            setup.actions.clone().with_max_changes(ask.max_changes).with_strict_bounds(ask.strict_bounds);
        if let Some(Bounds::Box(low, high)) = ask.bounds {
            actions.intersect(low, high).context("--bounds")?;
        }
        for name in &ask.immutable {
            let Some(j) = file.features.iter().position(|f| f == name) else {
                bail!(
                    "--immutable: the model has no feature '{name}' (it has: {})",
                    file.features.join(", ")
                );
            };
            actions.fix(j);
        }
        setup.actions = actions;
        setup.set_norm(&ask.cost)?;
        setup.noise_on = ask.noise_on.unwrap_or(setup.noise_on);
        setup.max_rate = ask.max_rate;
        setup.confidence = ask.confidence;
        setup.also_favourable = ask.also_favourable;
        setup.seed = Seed(seed);
        setup.method.clone_from(&ask.method);
        let (noise, sigma) = set_noise(&mut setup, ask, schema.as_ref(), sigma)?;
        warn_of_raw_units(&setup, schema.as_ref(), printer);
        Ok(Self { setup, schema, model_hash: file.hash, noise, sigma })
    }

    /// What every JSON result carries.
    pub(crate) fn meta(&self, command: &str) -> Value {
        let noise_on = match self.setup.noise_on {
            NoiseOn::All => "all",
            NoiseOn::Mutable => "mutable",
            NoiseOn::Changed => "changed",
        };
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "command": command,
            "method": self.setup.method,
            "seed": self.setup.seed.0,
            "model_hash": self.model_hash,
            "noise": self.noise,
            "noise_on": noise_on,
            "sigma": self.sigma,
            "r": self.setup.max_rate,
            "budget": self.setup.budget,
            "cost": self.setup.cost.norm().name(),
            "confidence": self.setup.confidence,
            "note": "rates and certificates hold for the stated noise model; they say nothing about other noise or another model",
        })
    }
}

/// The schema to use, its features in the model's order.
fn schema_of(ask: &Ask, file: &ModelFile) -> Result<Option<Schema>> {
    let schema = match &ask.schema {
        Some(path) if path == Path::new("none") => return Ok(None),
        Some(path) => {
            let schema = load_schema(path)?;
            Some(schema.ordered(&file.features).with_context(|| path.display().to_string())?)
        }
        None => match &file.schema {
            Some(schema) => Some(schema.ordered(&file.features)?),
            None => None,
        },
    };
    Ok(schema)
}

/// Applies `--noise`; returns its name and the standard deviation where it is one number.
fn set_noise(
    setup: &mut Setup,
    ask: &Ask,
    schema: Option<&Schema>,
    sigma: f64,
) -> Result<(String, Option<f64>)> {
    let Some(spec) = &ask.noise else {
        return Ok(("gaussian".to_owned(), Some(sigma)));
    };
    if let Some(path) = spec.strip_prefix("file:") {
        setup.noise = Arc::new(load_noise(path, &setup.names)?);
        return Ok((spec.clone(), None));
    }
    let parsed = NoiseSpec::parse(spec).context("--noise")?;
    let sd = parsed.sd.unwrap_or(sigma);
    if !(sd > 0.0 && sd.is_finite()) {
        bail!("--noise {spec}: the standard deviation must be positive and finite");
    }
    let sds = schema.map_or_else(|| vec![sd; setup.names.len()], |schema| schema.noise_sd(sd));
    setup.noise = parsed.build(sds).context("--noise")?;
    Ok((parsed.family, Some(sd)))
}

/// Without a scale, σ = 0.1 means 0.1 of every unit.
fn warn_of_raw_units(setup: &Setup, schema: Option<&Schema>, printer: &Printer) {
    let unscaled =
        |schema: &Schema| schema.features.iter().all(|f| f.offset_and_width().is_none() && f.noise.is_none());
    if setup.space.model_input() == ModelInput::Raw && schema.is_none_or(unscaled) {
        printer.warn(
            "the model takes raw values and no feature has a scale: sigma and cost are in raw units of every feature; \
             give each feature a scale in a schema",
        );
    }
}
