//! `GET /metrics`: counts for Prometheus.

use super::{Router, Shared, States};
use crate::state::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/metrics", get(metrics))
}

async fn metrics(Shared(state): States) -> impl IntoResponse {
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.metrics.text(&state))
}
