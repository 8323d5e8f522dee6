//! What happens around every route: request ids, tokens, headers, logs, counts and panics.

use crate::problem::Problem;
use crate::state::State;
use axum::extract::{MatchedPath, Request, State as Shared};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The header of request ids.
const ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over.
const LONGEST: usize = 128;

/// Wraps a route.
pub(crate) async fn around(
    Shared(state): Shared<Arc<State>>,
    mut request: Request,
    next: Next,
) -> Response {
    let start = Instant::now();
    let id = id_of(&request);
    request.headers_mut().insert(ID, id.clone());
    // Any word can be a method; the known ones are counted by name.
    let method = match request.method().as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        "POST" => "POST",
        _ => "other",
    };
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("other", MatchedPath::as_str).to_owned();
    let trace = trace_of(&request);
    let mut response = match refusal(&state, &request, &route) {
        Some(problem) => problem.into_response(),
        None => AssertUnwindSafe(next.run(request)).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!(request_id = ?id, route, "a route panicked");
            Problem::fault().into_response()
        }),
    };
    let took = start.elapsed();
    let status = response.status().as_u16();
    let headers = response.headers_mut();
    headers.insert(ID, id.clone());
    protect(headers, &route);
    state.metrics.request(method, &route, status, took);
    // No address, query or body: they may say something about a person.
    tracing::info!(
        request_id = id.to_str().unwrap_or_default(),
        trace_id = trace.as_deref(),
        method,
        route,
        status,
        seconds = took.as_secs_f64(),
        "request"
    );
    response
}

/// Why a request is turned away before its route sees it.
fn refusal(state: &State, request: &Request, route: &str) -> Option<Problem> {
    let open = ["/healthz", "/readyz", "/v2/health/live", "/v2/health/ready"].contains(&route);
    // Browsers ask for permission without a token.
    let preflight = request.method() == Method::OPTIONS && !state.config.cors.is_empty();
    let tokens = state.tokens.as_ref().filter(|_| !open && !preflight);
    if tokens.is_some_and(|tokens| !tokens.admit(request.headers())) {
        let what = "a token is needed: Authorization: Bearer TOKEN";
        return Some(Problem::new(StatusCode::UNAUTHORIZED, what));
    }
    if state.is_draining() && !open {
        return Some(Problem::unavailable("the service is shutting down"));
    }
    None
}

/// The request's own id, or a new one.
fn id_of(request: &Request) -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let plain = |value: &&HeaderValue| {
        let bytes = value.as_bytes();
        !bytes.is_empty()
            && bytes.len() <= LONGEST
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_.:/+=".contains(b))
    };
    if let Some(id) = request.headers().get(ID).filter(plain) {
        return id.clone();
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let text = format!("{:012x}-{:04x}-{number:x}", since.as_micros(), std::process::id() & 0xffff);
    HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("-"))
}

/// The trace id of a W3C `traceparent` header, which joins logs with those of the caller.
fn trace_of(request: &Request) -> Option<String> {
    let value = request.headers().get("traceparent")?.to_str().ok()?;
    let id = value.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit())).then(|| id.to_owned())
}

/// Headers that keep browsers from guessing and embedding.
fn protect(headers: &mut axum::http::HeaderMap, route: &str) {
    let policy = match route {
        "/" | "/docs" => "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        _ => "default-src 'none'; frame-ancestors 'none'",
    };
    let all = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    for (name, value) in all {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
