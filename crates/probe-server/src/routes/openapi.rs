//! `GET /openapi.json`: what can be asked, generated from the types and the models.

use super::{Answer, Router, Shared, States};
use crate::openapi::document;
use crate::state::State;
use axum::Json;
use axum::response::IntoResponse as _;
use axum::routing::get;
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/openapi.json", get(openapi))
}

async fn openapi(Shared(state): States) -> Answer {
    Ok(Json(document(&state)).into_response())
}
