//! `POST /v1/models/{name}/frontier`: cost against rate.

use super::{Answer, Path, Request, Router, Shared, States, ask};
use crate::answer::Kindred;
use crate::state::State;
use axum::routing::post;
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/v1/models/{name}/frontier", post(frontier))
}

async fn frontier(Shared(state): States, Path(name): Path<String>, request: Request) -> Answer {
    ask(Kindred::Frontier, state, &name, request).await
}
