//! `GET /docs`: the OpenAPI document as a page, without scripts and without other hosts.

use super::{Router, Shared, States};
use crate::openapi::document;
use crate::state::State;
use axum::response::Html;
use axum::routing::get;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;

const STYLE: &str = "body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
    padding:0 1rem;color:#1a1a1a;background:#fff}pre{background:#f4f4f4;padding:.75rem;\
    overflow-x:auto}code{font-size:.9em}summary{cursor:pointer;padding:.4rem 0}table{\
    border-collapse:collapse}td,th{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;\
    border-bottom:1px solid #ddd}b.method{display:inline-block;width:3.5rem}";

pub(super) fn register(router: Router<Arc<State>>) -> Router<Arc<State>> {
    router.route("/docs", get(docs))
}

async fn docs(Shared(state): States) -> Html<String> {
    Html(page(&document(&state)))
}

fn page(document: &Value) -> String {
    let mut out = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Probe: how to ask\
         </title><style>{STYLE}</style></head><body><h1>How to ask</h1><p>{}</p>\
         <p>The same as <a href=\"/openapi.json\">OpenAPI 3.1</a>.</p>",
        escaped(document["info"]["description"].as_str().unwrap_or_default())
    );
    for (path, methods) in document["paths"].as_object().into_iter().flatten() {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let _ = write!(
                out,
                "<details><summary><b class=\"method\">{}</b> <code>{}</code> {}</summary>",
                method.to_uppercase(),
                escaped(path),
                escaped(operation["summary"].as_str().unwrap_or_default())
            );
            if let Some(text) = operation["description"].as_str() {
                let _ = write!(out, "<p>{}</p>", escaped(text));
            }
            body(&mut out, path, operation);
            statuses(&mut out, operation);
            out.push_str("</details>");
        }
    }
    out.push_str("</body></html>\n");
    out
}

/// An example that works when pasted, and the fields of a body.
fn body(out: &mut String, path: &str, operation: &Value) {
    let json = &operation["requestBody"]["content"]["application/json"];
    if json.is_null() {
        return;
    }
    let example = json["example"].to_string().replace('\'', "'\\''");
    let command = format!(
        "curl -s http://127.0.0.1:8080{path} \\\n  -H 'Content-Type: application/json' \\\n  \
         -d '{example}'"
    );
    let _ = write!(out, "<pre>{}</pre>", escaped(&command));
    out.push_str("<table><tr><th>field</th><th>default</th><th>meaning</th></tr>");
    for (name, field) in json["schema"]["properties"].as_object().into_iter().flatten() {
        let default = match &field["default"] {
            Value::Null => String::new(),
            value => value.to_string(),
        };
        let _ = write!(
            out,
            "<tr><td><code>{}</code></td><td><code>{}</code></td><td>{}</td></tr>",
            escaped(name),
            escaped(&default),
            escaped(field["description"].as_str().unwrap_or_default())
        );
    }
    out.push_str("</table>");
}

fn statuses(out: &mut String, operation: &Value) {
    out.push_str("<table><tr><th>status</th><th>when</th></tr>");
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let when = escaped(response["description"].as_str().unwrap_or_default());
        let _ = write!(out, "<tr><td>{status}</td><td>{when}</td></tr>");
    }
    out.push_str("</table>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
