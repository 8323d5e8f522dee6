//! One file per route: parse, ask, render.

mod docs;
mod frontier;
mod health;
mod home;
mod letters;
mod metrics;
mod models;
mod openapi;
mod rate;
mod recourse;
mod score;
mod v2;

use crate::answer::{Call, Kindred};
use crate::media::Media;
use crate::middleware::around;
use crate::models::Served;
use crate::problem::Problem;
use crate::state::State;
use axum::Router;
use axum::extract::{Path, Request, State as Shared};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use std::sync::Arc;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate as _, SizeAbove};
use tower_http::cors::{AllowOrigin, CorsLayer};

/// What a route gives: an answer or a problem.
type Answer = Result<Response, Problem>;
/// The state, as routes take it.
type States = Shared<Arc<State>>;

/// The routes of a file.
type Register = fn(Router<Arc<State>>) -> Router<Arc<State>>;

/// All routes. A new one is a file beside this one and a line here.
const ROUTES: [Register; 12] = [
    home::register,
    health::register,
    metrics::register,
    openapi::register,
    docs::register,
    models::register,
    score::register,
    recourse::register,
    frontier::register,
    rate::register,
    letters::register,
    v2::register,
];

/// All routes, without a socket.
pub fn app(state: Arc<State>) -> Router {
    let router = ROUTES.into_iter().fold(Router::new(), |router, register| register(router));
    let router = router.fallback(nowhere).method_not_allowed_fallback(no_such_method);
    // Compressed Arrow saves little, and small answers nothing.
    let worth = SizeAbove::new(1024).and(NotForContentType::const_new("application/vnd.apache"));
    let mut router = router.layer(CompressionLayer::new().compress_when(worth));
    if !state.config.cors.is_empty() {
        router = router.layer(cors(&state.config.cors));
    }
    router.layer(axum::middleware::from_fn_with_state(Arc::clone(&state), around)).with_state(state)
}

fn cors(origins: &[String]) -> CorsLayer {
    let origins = match origins.iter().any(|origin| origin == "*") {
        true => AllowOrigin::any(),
        false => AllowOrigin::list(origins.iter().filter_map(|o| HeaderValue::from_str(o).ok())),
    };
    let id = HeaderName::from_static("x-request-id");
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST])
        .allow_headers([header::CONTENT_TYPE, header::AUTHORIZATION, header::ACCEPT, id.clone()])
        .expose_headers([id, HeaderName::from_static("x-model-hash")])
}

async fn nowhere() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "no such address; /docs lists all")
}

async fn no_such_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "this address has other methods; see Allow")
}

/// The model of this name.
fn model(state: &State, name: &str) -> Result<Arc<Served>, Problem> {
    let found = state.models.snapshot().get(name).cloned();
    found.ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, format!("no model '{name}'; see /v1/models"))
    })
}

/// Answers a question about people.
async fn ask(kind: Kindred, state: Arc<State>, name: &str, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let model = model(&state, name)?;
    let input = Media::of_body(&parts.headers)?;
    let output = Media::of_answer(&parts.headers, kind.offers(), input)?;
    let query = parts.uri.query().map(str::to_owned);
    Call { state, model, kind, query, headers: parts.headers, input, output }.answer(body).await
}
