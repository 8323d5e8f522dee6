//! The OpenAPI 3.1 document: operations and problems here, people and answers of each model in
//! `model`. Settings come from the type [`Request`], features from the models' schemas.

mod model;

use crate::models::Served;
use crate::state::State;
use model::{Features, answers};
use probe_service::Request;
use serde_json::{Map, Value, json};

/// Statuses that every operation may have, and when.
const EVERYWHERE: [(&str, &str); 5] = [
    ("400", "The request is not as expected."),
    ("401", "A token is needed."),
    ("405", "The address has other methods."),
    ("500", "The service failed; its log has the reason."),
    ("503", "Not now: shutting down, out of time, or the audit file cannot be written."),
];
/// Further ones of questions about people.
const OF_QUESTIONS: [(&str, &str); 7] = [
    ("404", "No such model."),
    ("406", "`Accept` admits no format that is offered."),
    ("408", "The body did not arrive in time."),
    ("413", "The body is too large, or has too many people."),
    ("415", "`Content-Type` or `Content-Encoding` is not known."),
    ("422", "The model does not serve this, and why."),
    ("429", "The queue is full; `Retry-After` says when to ask again."),
];

/// An operation's name, summary and description.
pub(crate) struct About {
    pub(crate) kind: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) example: fn() -> Value,
}

/// The questions about people.
pub(crate) const QUESTIONS: [About; 5] = [
    About {
        kind: "score",
        summary: "Margins and decisions",
        description: "The margin of each person, and whether the decision is favourable.",
        example: || json!({}),
    },
    About {
        kind: "recourse",
        summary: "The cheapest change that holds",
        description: "For each person the cheapest change that is favourable, and stays so with \
                      probability 1 - `max_rate` although nobody carries out advice exactly.",
        example: || json!({ "max_rate": 0.1, "sigma": 0.05 }),
    },
    About {
        kind: "frontier",
        summary: "Cost against rate",
        description: "One answer for each person and each of `rates`.",
        example: || json!({ "rates": [0.3, 0.1], "sigma": 0.05 }),
    },
    About {
        kind: "rate",
        summary: "Rates of given points",
        description: "The share of noisy implementations of each point that would be rejected. \
                      `from` has the people to whom the points were advised, row by row.",
        example: || json!({ "sigma": 0.05 }),
    },
    About {
        kind: "letters",
        summary: "Answers in words",
        description: "A letter to each person; `Accept` chooses text, Markdown, HTML or JSON.",
        example: || json!({ "max_rate": 0.1, "sigma": 0.05, "language": "en" }),
    },
];

/// The document for what is served now.
pub(crate) fn document(state: &State) -> Value {
    let mut paths = Map::new();
    for (path, summary, kind, schema) in plain() {
        paths.insert(path.to_owned(), json!({ "get": get(summary, kind, &schema) }));
    }
    let mut schemas = Map::new();
    schemas.insert("Problem".to_owned(), problem());
    let (request, definitions) = settings(state);
    schemas.extend(definitions);
    for served in state.models.snapshot().models() {
        let name = &served.name;
        let features = Features::of(served);
        schemas.insert(format!("Person_{name}"), features.person());
        for about in &QUESTIONS {
            let path = format!("/v1/models/{name}/{}", about.kind);
            paths.insert(path, json!({ "post": ask(about, served, &features, &request) }));
        }
        let path = format!("/v1/models/{name}");
        let summary = format!("About {name}: hash, features, schema, people to try");
        let about = get(&summary, "application/json", &json!({ "type": "object" }));
        paths.insert(path, json!({ "get": with(about, &[("404", "No such model.")]) }));
        protocol(&mut paths, name, &features);
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Probe",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Recourse that survives imperfect implementation. The answers are those \
                            of the command line, to the bit.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": { "schemas": schemas },
    });
    if state.tokens.is_some() {
        let bearer = json!({ "bearer": { "type": "http", "scheme": "bearer" } });
        document["components"]["securitySchemes"] = bearer;
        document["security"] = json!([{ "bearer": [] }]);
    }
    document
}

/// Addresses without a model: path, summary, type, schema.
fn plain() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let (object, text) = (json!({ "type": "object" }), json!({ "type": "string" }));
    let (json, html) = ("application/json", "text/html");
    vec![
        ("/", "What runs here", html, text.clone()),
        ("/docs", "This document for people", html, text.clone()),
        ("/openapi.json", "This document", json, object.clone()),
        ("/healthz", "Whether the service is alive", json, object.clone()),
        ("/readyz", "Whether models are loaded, and which files do not load", json, object.clone()),
        ("/metrics", "Counts for Prometheus", "text/plain", text),
        ("/v1/models", "All models", json, object.clone()),
        ("/v2", "Open Inference Protocol: about the service", json, object.clone()),
        ("/v2/health/live", "Open Inference Protocol: alive", json, object.clone()),
        ("/v2/health/ready", "Open Inference Protocol: ready", json, object),
    ]
}

fn get(summary: &str, kind: &str, schema: &Value) -> Value {
    let good = json!({
        "description": summary,
        "content": { kind: { "schema": schema } },
    });
    with(json!({ "summary": summary, "responses": { "200": good } }), &EVERYWHERE)
}

/// The operation with more statuses.
fn with(mut operation: Value, statuses: &[(&str, &str)]) -> Value {
    for (status, when) in statuses {
        operation["responses"][status] = json!({
            "description": when,
            "content": {
                "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } }
            },
        });
    }
    operation
}

/// A question about the people of a model.
fn ask(about: &About, served: &Served, features: &Features, request: &Value) -> Value {
    let person = json!({ "$ref": format!("#/components/schemas/Person_{}", served.name) });
    let people = json!({
        "type": "array", "items": person, "minItems": 1,
        "description": "One object per person, all with the same keys.",
    });
    let mut body = request.clone();
    body["properties"]["people"] = people.clone();
    body["required"] = json!(["people"]);
    if about.kind == "rate" {
        body["properties"]["from"] = people;
    }
    let mut example = json!({ "people": [features.example()] });
    for (field, value) in (about.example)().as_object().into_iter().flatten() {
        example[field] = value.clone();
    }
    let line = features.example().to_string() + "\n";
    let text = json!({ "type": "string" });
    let content = json!({
        "application/json": { "schema": body, "example": example },
        "application/x-ndjson": { "schema": text, "example": line },
        "text/csv": { "schema": text, "example": features.csv() },
        "application/vnd.apache.arrow.stream": {
            "schema": { "type": "string", "format": "binary" },
        },
    });
    let query: Vec<Value> = parameters(request);
    let row = answers(about.kind, features);
    let mut good = json!({
        "application/json": { "schema": {
            "type": "object",
            "properties": {
                "answers": { "type": "array", "items": row },
                "meta": { "type": "object" },
            },
            "required": ["answers", "meta"],
        }},
        "application/x-ndjson": { "schema": text },
    });
    let others: &[&str] = match about.kind {
        "letters" => &["text/plain", "text/markdown", "text/html"],
        _ => &["text/csv", "application/vnd.apache.arrow.stream"],
    };
    others.iter().for_each(|kind| good[kind] = json!({ "schema": text }));
    let operation = json!({
        "summary": format!("{} ({})", about.summary, served.name),
        "description": about.description,
        "operationId": format!("{}_{}", about.kind, served.name),
        "parameters": query,
        "requestBody": { "required": true, "content": content },
        "responses": { "200": { "description": about.summary, "content": good } },
    });
    with(with(operation, &EVERYWHERE), &OF_QUESTIONS)
}

/// The settings as a schema, with this service's defaults, and the definitions that it refers to.
fn settings(state: &State) -> (Value, Map<String, Value>) {
    let mut schema = Request::json_schema();
    let definitions = match schema.as_object_mut().and_then(|schema| schema.remove("$defs")) {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
        object.remove("description");
    }
    // References point into this document.
    let text = schema.to_string().replace("#/$defs/", "#/components/schemas/");
    let mut schema: Value = serde_json::from_str(&text).unwrap_or_default();
    for (field, value) in &state.config.defaults {
        schema["properties"][field]["default"] = value.clone();
    }
    let names = json!({ "type": "array", "items": { "type": "string" } });
    schema["properties"]["id"] = names;
    schema["properties"]["id"]["description"] = json!("Columns to carry through to the answer.");
    schema["properties"]["ignore_extra"] = json!({
        "type": "boolean", "default": false,
        "description": "Ignore columns that neither the model nor the schema knows.",
    });
    schema["properties"]["language"] = json!({
        "type": "string", "default": "en", "description": "Language of letters.",
    });
    (schema, definitions)
}

/// The settings as parameters of the query.
fn parameters(request: &Value) -> Vec<Value> {
    let properties = request["properties"].as_object();
    let parameter = |(name, property): (&String, &Value)| {
        let mut schema = property.clone();
        let description = property["description"].clone();
        let composed = property.get("anyOf").is_some() || property["type"] == "object";
        let list = property["type"] == "array";
        if (composed && property.get("$ref").is_none()) || (list && name != "id") {
            // Lists are written with commas, and settings as NAME=VALUE.
            schema = json!({ "type": "string" });
        }
        if let Some(object) = schema.as_object_mut() {
            object.remove("description");
        }
        json!({ "name": name, "in": "query", "schema": schema, "description": description })
    };
    properties.into_iter().flatten().map(parameter).collect()
}

/// The Open Inference Protocol of a model.
fn protocol(paths: &mut Map<String, Value>, name: &str, features: &Features) {
    let object = json!({ "type": "object" });
    let missing = [("404", "No such model.")];
    let about = get("Open Inference Protocol: about a model", "application/json", &object);
    paths.insert(format!("/v2/models/{name}"), json!({ "get": with(about, &missing) }));
    let ready = get("Open Inference Protocol: a model is ready", "application/json", &object);
    paths.insert(format!("/v2/models/{name}/ready"), json!({ "get": with(ready, &missing) }));
    let tensor = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "shape": { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            "datatype": { "enum": ["FP64", "FP32", "INT64", "INT32", "BOOL", "BYTES"] },
            "data": { "type": "array" },
        },
        "required": ["name", "shape", "datatype", "data"],
    });
    let operation = json!({
        "summary": format!("Open Inference Protocol: margins and decisions ({name})"),
        "operationId": format!("infer_{name}"),
        "requestBody": { "required": true, "content": { "application/json": {
            "schema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string" },
                    "inputs": { "type": "array", "items": tensor },
                },
                "required": ["inputs"],
            },
            "example": { "id": "1", "inputs": features.tensors() },
        }}},
        "responses": { "200": {
            "description": "The outputs `margin` and `favourable`",
            "content": { "application/json": { "schema": {
                "type": "object",
                "required": ["model_name", "model_version", "outputs"],
            }}},
        }},
    });
    let infer = with(with(operation, &EVERYWHERE), &OF_QUESTIONS);
    paths.insert(format!("/v2/models/{name}/infer"), json!({ "post": infer }));
}

fn problem() -> Value {
    json!({
        "type": "object",
        "description": "RFC 9457",
        "properties": {
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What is wrong, in one sentence." },
            "field": { "type": "string", "description": "The field that it is about." },
            "row": { "type": "integer", "description": "The 0-based row that it is about." },
        },
        "required": ["title", "status", "detail"],
    })
}
