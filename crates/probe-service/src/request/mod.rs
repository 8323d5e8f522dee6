//! The request, which all front ends share.

mod check;
mod fields;
#[cfg(feature = "json-schema")]
mod schema;

pub use fields::{Bounds, Scope};

use crate::error::RequestError;
use probe_core::{NoiseOn, SearchEffort};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Default standard deviation of the noise.
pub(crate) const SIGMA: f64 = 0.1;

/// A request. Its fields are the flags of the command, with underscores. A missing field has the
/// flag's default. Files (model, schema, reference rows, noise) are not part of a request. The
/// front end reads them ([`crate::Inputs`]), so that a server never opens a path from a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "json-schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Standard deviation of the noise on each feature, in scaled units. `None` for 0.1.
    pub sigma: Option<f64>,
    /// Variance of the noise, instead of `sigma`.
    pub sigma2: Option<f64>,
    /// Noise as text, such as `laplace:0.1`, instead of `sigma`.
    pub noise: Option<String>,
    /// Features that the noise acts on. `None` for all without a schema, mutable ones with one.
    #[cfg_attr(feature = "json-schema", schemars(with = "Option<schema::NoiseOn>"))]
    pub noise_on: Option<NoiseOn>,
    /// How the model may change before the advice is carried out, such as `gaussian:0.05`.
    pub model_shift: Option<String>,
    /// Features that may not change.
    #[serde(deserialize_with = "fields::names")]
    #[cfg_attr(feature = "json-schema", schemars(with = "schema::Names"))]
    pub immutable: Vec<String>,
    /// Confidence of certificates and intervals.
    pub confidence: f64,
    /// What the confidence covers.
    pub confidence_scope: Scope,
    /// Number of rows that the confidence is divided over.
    pub rows: Option<u64>,
    /// Which class of the model is favourable, 0 or 1.
    pub favourable_class: u8,
    /// Cut-off on the margin, instead of the model's own.
    pub threshold: Option<f64>,
    /// Cut-off on the probability of the favourable class, instead of `threshold`.
    pub threshold_prob: Option<f64>,
    /// Target invalidation rate.
    pub max_rate: f64,
    /// What a change costs: `l1`, `l2` or `linf`.
    pub cost: String,
    /// Box on every feature in scaled space.
    #[cfg_attr(feature = "json-schema", schemars(with = "Option<schema::Bounds>"))]
    pub bounds: Option<Bounds>,
    /// People outside the bounds must move inside.
    pub strict_bounds: bool,
    /// At most this many features may change.
    pub max_changes: Option<usize>,
    /// Features that people would rather change.
    #[serde(deserialize_with = "fields::names")]
    #[cfg_attr(feature = "json-schema", schemars(with = "schema::Names"))]
    pub prefer: Vec<String>,
    /// Features that people would rather not change.
    #[serde(deserialize_with = "fields::names")]
    #[cfg_attr(feature = "json-schema", schemars(with = "schema::Names"))]
    pub avoid: Vec<String>,
    /// How to find recourse.
    pub method: String,
    /// Settings of the method, by name.
    #[serde(deserialize_with = "fields::settings")]
    #[cfg_attr(feature = "json-schema", schemars(with = "schema::Settings"))]
    pub option: BTreeMap<String, String>,
    /// Weights and loss of the paper's text, with the methods that have them.
    pub paper_text: bool,
    /// How thoroughly to search.
    #[cfg_attr(feature = "json-schema", schemars(with = "schema::Effort"))]
    pub effort: SearchEffort,
    /// Skip sampling for certificates.
    pub no_certify: bool,
    /// Also seek recourse for favourable people whose rate is above `max_rate`.
    pub also_favourable: bool,
    /// Share of `max_rate` that the search aims at if rates are sampled.
    pub aim: Option<f64>,
    /// Spend at most this cost for the lowest rate, instead of reaching `max_rate`.
    pub budget: Option<f64>,
    /// Number of alternatives for each person.
    pub options: usize,
    /// Ask for answers that tolerate misses beyond the noise.
    pub tolerance: bool,
    /// For people without an answer, also say which limit would have to be relaxed.
    pub relax: bool,
    /// Target rates of a frontier.
    pub rates: Vec<f64>,
    /// The estimator for rates of given points.
    pub estimator: String,
    /// Number of noisy implementations to draw per point, if rates are sampled.
    pub samples: u64,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            sigma: None,
            sigma2: None,
            noise: None,
            noise_on: None,
            model_shift: None,
            immutable: Vec::new(),
            confidence: 0.999,
            confidence_scope: Scope::Row,
            rows: None,
            favourable_class: 1,
            threshold: None,
            threshold_prob: None,
            max_rate: 0.1,
            cost: "l1".to_owned(),
            bounds: None,
            strict_bounds: false,
            max_changes: None,
            prefer: Vec::new(),
            avoid: Vec::new(),
            method: "probe".to_owned(),
            option: BTreeMap::new(),
            paper_text: false,
            effort: SearchEffort::Normal,
            no_certify: false,
            also_favourable: false,
            aim: None,
            budget: None,
            options: 1,
            tolerance: false,
            relax: false,
            rates: vec![0.45, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.01],
            estimator: "auto".to_owned(),
            samples: 10_000,
            seed: 0,
        }
    }
}

impl Request {
    /// Reads a JSON object. The error names the field that is unknown or has the wrong type.
    pub fn from_json(text: &str) -> Result<Self, RequestError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let request: Self = serde_path_to_error::deserialize(&mut json).map_err(|error| {
            let path = error.path().to_string();
            RequestError::new(path, fields::reason(error.inner()))
        })?;
        json.end().map_err(|error| RequestError::of(".", error))?;
        Ok(request)
    }

    /// The names of all fields.
    pub fn field_names() -> Vec<String> {
        match serde_json::to_value(Self::default()) {
            Ok(serde_json::Value::Object(fields)) => fields.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Spelling;

    fn error(text: &str) -> RequestError {
        Request::from_json(text).unwrap_err()
    }

    #[test]
    fn nothing_given_is_the_default() {
        assert_eq!(Request::from_json("{}"), Ok(Request::default()));
    }

    #[test]
    fn a_request_survives_json() {
        let request = Request {
            sigma2: Some(0.1 + 0.2),
            noise_on: Some(NoiseOn::Changed),
            immutable: vec!["age".to_owned(), "a,b".to_owned()],
            confidence_scope: Scope::File,
            rows: Some(u64::MAX),
            bounds: Some(Bounds::Box(f64::NEG_INFINITY, 0.1)),
            option: BTreeMap::from([("samples".to_owned(), "10".to_owned())]),
            effort: SearchEffort::Thorough,
            aim: Some(f64::MIN_POSITIVE),
            rates: vec![1.0 / 3.0],
            seed: u64::MAX,
            ..Request::default()
        };
        for bounds in [request.bounds, Some(Bounds::None), Some(Bounds::Box(-0.5, 0.1)), None] {
            let request = Request { bounds, ..request.clone() };
            let text = serde_json::to_string(&request).unwrap();
            assert_eq!(Request::from_json(&text), Ok(request), "{text}");
        }
    }

    #[test]
    fn fields_take_the_texts_of_flags_too() {
        let text =
            r#"{"immutable": "age,sex", "bounds": "-1,2", "option": {"steps": 5, "a": "b"}}"#;
        let request = Request::from_json(text).unwrap();
        assert_eq!(request.immutable, ["age", "sex"]);
        assert_eq!(request.bounds, Some(Bounds::Box(-1.0, 2.0)));
        assert_eq!((&*request.option["steps"], &*request.option["a"]), ("5", "b"));
    }

    #[test]
    fn errors_name_the_field() {
        let unknown = error(r#"{"max_rates": 0.1}"#);
        assert_eq!(unknown.field, "max_rates");
        assert!(unknown.spelled(Spelling::Pointer).starts_with("/max_rates: unknown field"));
        for (field, value) in [
            ("max_rate", r#""high""#),
            ("relax", "1"),
            ("noise_on", r#""some""#),
            ("bounds", "[1]"),
            ("bounds", "[2, 1]"),
            ("bounds", r#""2,1""#),
            ("effort", r#""much""#),
            ("rows", "-1"),
            ("immutable", "3"),
        ] {
            let error = error(&format!(r#"{{"{field}": {value}}}"#));
            assert_eq!(error.field, field, "{value}");
        }
        assert!(error(r#"{"relax": 1}"#).to_string().contains("expected a boolean"));
    }
}
