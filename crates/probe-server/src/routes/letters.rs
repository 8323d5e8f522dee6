//! `POST /v1/models/{name}/letters`: answers in words.

use super::{Answer, Path, Request, Router, Shared, States, ask};
use crate::answer::Kindred;
use crate::state::State;
use axum::routing::post;
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/v1/models/{name}/letters", post(letters))
}

async fn letters(Shared(state): States, Path(name): Path<String>, request: Request) -> Answer {
    ask(Kindred::Letters, state, &name, request).await
}
