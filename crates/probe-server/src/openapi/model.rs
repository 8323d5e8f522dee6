//! People and answers of a model, as JSON Schema and as examples.

use crate::models::Served;
use probe_core::Feature;
use serde_json::{Map, Value, json};

/// The features of a model.
pub(crate) struct Features {
    features: Vec<Feature>,
    example: Map<String, Value>,
}

impl Features {
    pub(crate) fn of(served: &Served) -> Self {
        let features: Vec<Feature> = match served.schema.as_ref().or(served.file.schema.as_ref()) {
            Some(schema) => schema.features.clone(),
            None => served.file.features.iter().map(|name| Feature::numeric(name)).collect(),
        };
        let made_up = || features.iter().map(|f| (f.name.clone(), usual(f))).collect();
        let example = served.people.first().cloned().unwrap_or_else(made_up);
        Self { features, example }
    }

    /// A person, as an example.
    pub(crate) fn example(&self) -> Value {
        json!(self.example)
    }

    /// The same as CSV.
    pub(crate) fn csv(&self) -> String {
        let quoted = |text: &str| match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        let names: Vec<String> = self.example.keys().map(|name| quoted(name)).collect();
        let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), quoted);
        let cells: Vec<String> = self.example.values().map(cell).collect();
        format!("{}\n{}\n", names.join(","), cells.join(","))
    }

    /// The same as tensors of the Open Inference Protocol.
    pub(crate) fn tensors(&self) -> Value {
        let tensor = |(name, value): (&String, &Value)| {
            let kind = if value.is_string() { "BYTES" } else { "FP64" };
            json!({ "name": name, "shape": [1], "datatype": kind, "data": [value] })
        };
        self.example.iter().map(tensor).collect()
    }

    /// The schema of a person: names, units, categories and usual ranges, in raw units.
    pub(crate) fn person(&self) -> Value {
        let properties: Map<String, Value> =
            self.features.iter().map(|f| (f.name.clone(), property(f))).collect();
        let required: Vec<&str> = self.features.iter().map(|f| f.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "example": self.example,
        })
    }

    /// A value by feature.
    fn by_name(&self) -> Value {
        let kind = |f: &Feature| match f.categories.is_empty() {
            true => json!({ "type": ["number", "null"] }),
            false => json!({ "type": "string", "enum": f.categories }),
        };
        let properties: Map<String, Value> =
            self.features.iter().map(|f| (f.name.clone(), kind(f))).collect();
        json!({ "type": "object", "properties": properties })
    }
}

fn property(feature: &Feature) -> Value {
    let mut property = match feature.categories.is_empty() {
        true => json!({ "type": "number" }),
        false => json!({ "type": "string", "enum": feature.categories }),
    };
    let mut words = Vec::new();
    if let Some(unit) = &feature.unit {
        property["x-unit"] = json!(unit);
        words.push(format!("in {unit}"));
    }
    if let Some([low, high]) = feature.range.or(feature.scale) {
        property["x-range"] = json!([low, high]);
        words.push(format!("usually {low} to {high}"));
    }
    if !feature.mutable {
        words.push("cannot change".to_owned());
    }
    if !words.is_empty() {
        property["description"] = json!(words.join(", "));
    }
    property
}

/// A usual value: the middle of the range, or the first category.
fn usual(feature: &Feature) -> Value {
    if let Some(category) = feature.categories.first() {
        return json!(category);
    }
    let middle = feature.range.or(feature.scale).map_or(0.0, |[low, high]| 0.5 * (low + high));
    // Whole numbers and two digits read well.
    let rounded =
        if middle.abs() < 10.0 { (middle * 100.0).round() / 100.0 } else { middle.round() };
    json!(rounded)
}

/// The schema of an answer: the fields of a line of `--format jsonl`.
pub(crate) fn answers(kind: &str, features: &Features) -> Value {
    let number = json!({ "type": "number" });
    let optional = json!({ "type": ["number", "null"] });
    let integer = json!({ "type": "integer" });
    let boolean = json!({ "type": "boolean" });
    let fields = match kind {
        "score" => json!({ "row": integer, "favourable": boolean, "margin": number }),
        "rate" => json!({
            "row": integer, "favourable": boolean, "margin": number, "rate": number,
            "std_error": optional, "lower": number, "upper": number, "exact": boolean,
            "estimator": { "type": "string" },
        }),
        "letters" => return json!({ "type": "object" }),
        _ => {
            let by_name = features.by_name();
            let mut fields = json!({
                "row": integer,
                "status": { "enum": ["certified", "found", "none", "favourable"] },
                "reason": { "type": ["string", "null"] },
                "cost": optional, "rate": number, "rate_upper": number, "best_rate": optional,
                "changed": integer, "outside_range": { "type": ["integer", "null"] },
                "cost_lower": number, "proven": boolean,
                "from": by_name, "to": by_name, "changes": { "type": "object" },
            });
            if kind == "frontier" {
                fields["target_rate"] = number;
            }
            fields
        }
    };
    let required: Vec<&String> = fields.as_object().into_iter().flat_map(Map::keys).collect();
    json!({ "type": "object", "properties": fields, "required": required })
}
