//! A route of axum that parses JSON and returns it: what any service does at least.

use anyhow::Result;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use std::io::Write as _;

/// Serves the route until the process is ended.
pub(super) fn serve() -> Result<()> {
    let echo = |Json(value): Json<Value>| async move { Json(value) };
    let app = Router::new().route("/v1/models/{name}/{ask}", post(echo));
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all();
    runtime.build()?.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let mut out = std::io::stdout();
        writeln!(out, "listening on http://{}", listener.local_addr()?)?;
        out.flush()?;
        Ok(axum::serve(listener, app).await?)
    })
}
