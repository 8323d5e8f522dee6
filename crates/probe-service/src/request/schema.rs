//! Types that stand for fields of a request in its JSON Schema, and the domains of numbers.

use super::Request;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Features that the noise acts on.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum NoiseOn {
    All,
    Mutable,
    Changed,
}

/// How thoroughly to search.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase", inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum Effort {
    Quick,
    Normal,
    Thorough,
}

/// `"none"`, `[LO, HI]` or `"LO,HI"`.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum Bounds {
    Text(String),
    Pair([f64; 2]),
}

/// Names: a list, or one text with commas.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum Names {
    List(Vec<String>),
    Text(String),
}

/// Settings by name.
#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) struct Settings(BTreeMap<String, Setting>);

#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "only its schema is used")]
pub(super) enum Setting {
    Text(String),
    Number(f64),
    Boolean(bool),
}

impl Request {
    /// The JSON Schema of a request, with descriptions, defaults and the domains of numbers.
    pub fn json_schema() -> Value {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let mut schema = json!(generator.into_root_schema_for::<Self>());
        let positive = json!({"exclusiveMinimum": 0});
        let rate = json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1});
        let domains = [
            ("sigma", positive.clone()),
            ("sigma2", positive),
            ("confidence", rate.clone()),
            ("threshold_prob", rate.clone()),
            ("max_rate", rate.clone()),
            ("aim", rate.clone()),
            ("budget", json!({"minimum": 0})),
            ("favourable_class", json!({"minimum": 0, "maximum": 1})),
            ("options", json!({"minimum": 1, "maximum": super::check::MOST_OPTIONS})),
            ("rows", json!({"minimum": 1})),
            ("samples", json!({"minimum": 1})),
            ("rates", json!({"minItems": 1, "uniqueItems": true})),
        ];
        for (field, domain) in domains {
            let Some(property) = schema["properties"][field].as_object_mut() else { continue };
            for (key, value) in domain.as_object().into_iter().flatten() {
                property.insert(key.clone(), value.clone());
            }
        }
        if let Some(items) = schema["properties"]["rates"]["items"].as_object_mut() {
            items.extend(
                rate.as_object().into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())),
            );
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_described_and_has_its_default() {
        let schema = Request::json_schema();
        let default = serde_json::to_value(Request::default()).unwrap();
        for (field, value) in default.as_object().unwrap() {
            let property = &schema["properties"][field];
            assert!(property["description"].is_string(), "{field}: {property}");
            assert_eq!(&property["default"], value, "{field}");
        }
        assert_eq!(schema["additionalProperties"], json!(false));
    }
}
