//! Models, people and requests of the tests.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt as _;
use probe_io::ModelFile;
use probe_server::{Config, Models, State, app};
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt as _;

/// A linear model of two numbers and a category, in raw units.
pub(crate) fn linear(bias: f64) -> ModelFile {
    let mut model = json!({
        "format": "probe-model", "version": 1, "kind": "linear",
        "features": ["income", "debt", "housing=rent", "housing=own"],
        "layers": [{ "weight": [[2.0, -1.5, 0.0, 0.4]], "bias": [bias] }],
    });
    model["schema"] = json!({ "version": 1, "feature": [
        { "name": "income", "kind": "numeric", "scale": [0.0, 100_000.0], "min": 0.0,
          "max": 200_000.0, "step": 100.0, "unit": "EUR" },
        { "name": "debt", "kind": "numeric", "scale": [0.0, 40_000.0], "min": 0.0 },
        { "name": "housing", "kind": "categorical", "categories": ["rent", "own"] },
    ]});
    ModelFile::parse(model.to_string().as_bytes(), "linear").unwrap()
}

/// A network of four numbers in [0, 1], whose people take about a millisecond each.
pub(crate) fn network() -> ModelFile {
    let n = 24;
    // A fixed pattern of weights; any would do.
    let weight = |i: usize, j: usize| ((7 * i + 13 * j + 3) % 17) as f64 / 17.0 - 0.45;
    let hidden: Vec<Vec<f64>> =
        (0..n).map(|i| (0..4).map(|j| 3.0 * weight(i, j)).collect()).collect();
    let bias: Vec<f64> = (0..n).map(|i| weight(i, 5)).collect();
    let out: Vec<f64> = (0..n).map(|i| weight(i, 9)).collect();
    let model = json!({
        "format": "probe-model", "version": 1, "kind": "mlp", "activation": "tanh",
        "features": ["a", "b", "c", "d"],
        "layers": [{ "weight": hidden, "bias": bias }, { "weight": [out], "bias": [-1.5] }],
    });
    ModelFile::parse(model.to_string().as_bytes(), "network").unwrap()
}

/// People of [`linear`]; most are rejected.
pub(crate) fn people(n: usize) -> Vec<Value> {
    let housing = |i: usize| if i.is_multiple_of(2) { "rent" } else { "own" };
    let person = |i: usize| {
        json!({
            "income": 20_000.5 + 37.25 * (i * i % 701) as f64,
            "debt": 5_000.0 + 11.5 * (i * 7 % 997) as f64,
            "housing": housing(i),
        })
    };
    (0..n).map(person).collect()
}

/// People of [`network`].
pub(crate) fn points(n: usize) -> Vec<Value> {
    let value = |i: usize, k: usize| ((i * (31 + k) + k) % 997) as f64 / 997.0;
    let point =
        |i| json!({ "a": value(i, 1), "b": value(i, 2), "c": value(i, 3), "d": value(i, 4) });
    (0..n).map(point).collect()
}

pub(crate) fn lines(people: &[Value]) -> String {
    people.iter().map(|person| person.to_string() + "\n").collect()
}

/// A state with both models.
pub(crate) fn state_with(config: Config) -> Arc<State> {
    let models = Models::new(None);
    models.put("linear", linear(-1.0), None).unwrap();
    models.put("network", network(), None).unwrap();
    State::new(config, models).unwrap()
}

pub(crate) fn quick() -> Config {
    Config { threads: 2, ..Config::default() }
}

pub(crate) fn service() -> Router {
    app(state_with(quick()))
}

/// What a request got.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Got {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Runs a future on a runtime like that of the command.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().unwrap().block_on(future)
}

pub(crate) async fn send(
    app: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Got {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    Got { status: parts.status, headers: parts.headers, body }
}

pub(crate) async fn get(app: &Router, path: &str) -> Got {
    send(app, "GET", path, &[], Body::empty()).await
}

/// Posts JSON.
pub(crate) async fn post(app: &Router, path: &str, body: &Value) -> Got {
    let headers = [("content-type", "application/json")];
    send(app, "POST", path, &headers, body.to_string()).await
}
