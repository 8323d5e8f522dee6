//! `GET /healthz` and `GET /readyz`, also under the names of the Open Inference Protocol.

use super::{Answer, Problem, Router, Shared, States, StatusCode};
use crate::state::State;
use axum::Json;
use axum::response::IntoResponse as _;
use axum::routing::get;
use serde_json::json;
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router
        .route("/healthz", get(alive))
        .route("/readyz", get(ready))
        .route("/v2/health/live", get(alive))
        .route("/v2/health/ready", get(ready))
}

async fn alive() -> Answer {
    Ok(Json(json!({ "live": true })).into_response())
}

/// Ready if there is a model. A file that does not load is named; the model that it would replace
/// is served on.
async fn ready(Shared(state): States) -> Answer {
    let snapshot = state.models.snapshot();
    let models: Vec<&str> = snapshot.models().map(|model| model.name.as_str()).collect();
    let ready = !state.is_draining() && !models.is_empty();
    let faults: Vec<_> = snapshot
        .faults()
        .iter()
        .map(|(name, reason)| {
            let kept = snapshot.get(name).is_some();
            json!({ "model": name, "reason": reason, "old_model_is_served": kept })
        })
        .collect();
    if !ready {
        let why = if state.is_draining() { "shutting down" } else { "no model is loaded" };
        let faults = if faults.is_empty() { String::new() } else { format!(": {}", json!(faults)) };
        let problem = Problem::unavailable(format!("{why}{faults}"));
        return Err(Problem { status: StatusCode::SERVICE_UNAVAILABLE, ..problem });
    }
    Ok(Json(json!({ "ready": true, "models": models, "faults": faults })).into_response())
}
