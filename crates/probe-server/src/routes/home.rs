//! `GET /`: what runs here.

use super::{Router, Shared, States};
use crate::state::State;
use axum::response::Html;
use axum::routing::get;
use std::fmt::Write as _;
use std::sync::Arc;

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/", get(home))
}

async fn home(Shared(state): States) -> Html<String> {
    let mut models = String::new();
    for model in state.models.snapshot().models() {
        let (name, kind) = (&model.name, model.file.model.name());
        // Names are letters, digits and a few signs.
        let _ = write!(models, "<li><a href=\"/v1/models/{name}\">{name}</a> ({kind})</li>");
    }
    Html(format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Probe</title>\
         <style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;\
         padding:0 1rem}}</style></head><body><h1>Probe {}</h1>\
         <p>Recourse that survives imperfect implementation.</p>\
         <p><a href=\"/docs\">How to ask</a> · <a href=\"/openapi.json\">OpenAPI</a> · \
         <a href=\"/v1/models\">Models</a> · <a href=\"/metrics\">Metrics</a></p>\
         <h2>Models</h2><ul>{models}</ul></body></html>\n",
        env!("CARGO_PKG_VERSION")
    ))
}
