//! `GET /v1/models` and `GET /v1/models/{name}`: names, kinds, hashes, features, schema.

use super::{Answer, Path, Router, Shared, States, model};
use crate::models::{Served, schema_hash};
use crate::state::State;
use axum::Json;
use axum::response::IntoResponse as _;
use axum::routing::get;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/v1/models", get(all)).route("/v1/models/{name}", get(one))
}

async fn all(Shared(state): States) -> Answer {
    let snapshot = state.models.snapshot();
    let models: Vec<Value> = snapshot.models().map(|model| about(model, false)).collect();
    Ok(Json(json!({ "models": models })).into_response())
}

async fn one(Shared(state): States, Path(name): Path<String>) -> Answer {
    Ok(Json(about(&*model(&state, &name)?, true)).into_response())
}

/// A model in JSON.
fn about(served: &Served, with_schema: bool) -> Value {
    let schema = served.schema.as_ref().or(served.file.schema.as_ref());
    let features: Vec<&str> = match schema {
        Some(schema) => schema.features.iter().map(|feature| feature.name.as_str()).collect(),
        None => served.file.features.iter().map(String::as_str).collect(),
    };
    let mut value = json!({
        "name": served.name,
        "kind": served.file.model.name(),
        "source": served.file.source,
        "hash": served.file.hash,
        "schema_hash": served.schema.as_ref().and_then(schema_hash),
        "features": features,
    });
    if with_schema {
        value["schema"] = json!(schema);
        value["people"] = json!(served.people);
    }
    value
}
