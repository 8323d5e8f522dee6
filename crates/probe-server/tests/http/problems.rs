//! What is wrong is named, with the right status.

use crate::support::*;
use axum::body::Body;
use axum::http::StatusCode;
use probe_server::Config;
use serde_json::{Value, json};

/// Status, field and row of the problem that a body of JSON gets.
async fn problem(app: &axum::Router, body: &str) -> (u16, Value, Value) {
    let headers = [("content-type", "application/json")];
    let path = "/v1/models/linear/recourse";
    let got = send(app, "POST", path, &headers, body.to_owned()).await;
    assert_eq!(got.header("content-type"), "application/problem+json", "{body}: {}", got.text());
    let problem = got.json();
    assert_eq!(problem["status"], json!(got.status.as_u16()));
    assert!(problem["detail"].is_string() && problem["title"].is_string());
    (got.status.as_u16(), problem["field"].clone(), problem["row"].clone())
}

#[test]
fn bad_bodies_name_field_and_row() {
    let app = service();
    let good = people(2);
    let with = |field: &str, value: Value| json!({ "people": good, field: value }).to_string();
    let row = |value: &str| {
        let one = &good[0];
        format!(r#"{{"people": [{one}, {{"income": {value}, "debt": 1, "housing": "rent"}}]}}"#)
    };
    let deep = "[".repeat(100_000);
    run(async {
        for (body, field, at) in [
            (with("max_rate", json!(1.5)), json!("max_rate"), Value::Null),
            (with("max_rate", json!("high")), json!("max_rate"), Value::Null),
            (with("max_rates", json!(0.1)), json!("max_rates"), Value::Null),
            (with("relax", json!(1)), json!("relax"), Value::Null),
            (with("immutable", json!(["salary"])), json!("immutable"), Value::Null),
            (with("noise", json!("file:/etc/passwd")), json!("noise"), Value::Null),
            (with("id", json!(7)), json!("id"), Value::Null),
            (with("samples", json!(u64::MAX)), json!("samples"), Value::Null),
            (row("\"much\""), json!("income"), json!(1)),
            (row("null"), json!("income"), json!(1)),
            (row("1e999"), json!("income"), json!(1)),
            (row("[[1]]"), json!("income"), json!(1)),
            (row(&format!("{deep}{}", "]".repeat(100_000))), json!("income"), json!(1)),
            (row("NaN"), Value::Null, Value::Null),
            (r#"{"people": []}"#.to_owned(), json!("people"), Value::Null),
            (r#"{"people": {}}"#.to_owned(), json!("people"), Value::Null),
            (r#"{"people": [1]}"#.to_owned(), json!("people"), json!(0)),
            (r#"{"sigma": 0.1}"#.to_owned(), json!("people"), Value::Null),
            (r#"{"people": [{"income": 1}]}"#.to_owned(), json!("debt"), Value::Null),
            ("[]".to_owned(), Value::Null, Value::Null),
            ("{".to_owned(), Value::Null, Value::Null),
            (String::new(), Value::Null, Value::Null),
            (deep.clone(), Value::Null, Value::Null),
            (format!("{{\"people\": {deep}"), Value::Null, Value::Null),
            (with("option", json!({"a": {"b": 1}})), json!("option.a"), Value::Null),
        ] {
            let shown: String = body.chars().take(120).collect();
            let (status, found, place) = problem(&app, &body).await;
            assert_eq!(status, 400, "{shown}");
            assert_eq!((found, place), (field, at), "{shown}");
        }
        let housing = r#"{"people": [{"income": 1, "debt": 1, "housing": "castle"}]}"#;
        assert_eq!(problem(&app, housing).await, (400, json!("housing"), json!(0)));
        let (status, field, _) = problem(&app, &with("method", json!("probe-mc"))).await;
        assert_eq!((status, field), (422, json!("method")));
    });
}

#[test]
fn addresses_methods_and_formats() {
    let app = service();
    run(async {
        type Headers = [(&'static str, &'static str)];
        let cases: [(&str, &str, &Headers, u16); 9] = [
            ("GET", "/nowhere", &[], 404),
            ("POST", "/v1/models/none/score", &[], 404),
            ("GET", "/v1/models/none", &[], 404),
            ("GET", "/v1/models/linear/score", &[], 405),
            ("DELETE", "/v1/models", &[], 405),
            ("POST", "/v1/models/linear/score", &[("content-type", "application/xml")], 415),
            ("POST", "/v1/models/linear/score", &[("content-encoding", "br")], 415),
            ("POST", "/v1/models/linear/score", &[("accept", "image/png")], 406),
            ("POST", "/v1/models/linear/score", &[("content-encoding", "gzip")], 400),
        ];
        for (method, path, headers, status) in cases {
            let got = send(&app, method, path, headers, "not compressed").await;
            assert_eq!(got.status.as_u16(), status, "{method} {path} {headers:?}");
            assert_eq!(got.header("content-type"), "application/problem+json", "{path}");
            assert_eq!(got.header("x-content-type-options"), "nosniff");
            assert!(!got.header("x-request-id").is_empty());
        }
        let got = send(&app, "DELETE", "/v1/models", &[], "").await;
        assert!(got.header("allow").contains("GET"), "{got:?}");
    });
}

#[test]
fn bodies_and_people_are_limited_after_decompression() {
    let config = Config { max_body: 20_000, max_people: Some(50), ..quick() };
    let app = probe_server::app(state_with(config));
    run(async {
        let path = "/v1/models/linear/score";
        let got = post(&app, path, &json!({ "people": people(51) })).await;
        assert_eq!((got.status.as_u16(), got.json()["field"].clone()), (413, json!("people")));
        assert_eq!(post(&app, path, &json!({ "people": people(50) })).await.status.as_u16(), 200);
        // 100 MB of spaces compress to 100 kB.
        let mut bomb = Vec::new();
        let spaces = vec![b' '; 100 << 20];
        let mut encoder = async_compression::tokio::bufread::ZstdEncoder::new(&spaces[..]);
        tokio::io::AsyncReadExt::read_to_end(&mut encoder, &mut bomb).await.unwrap();
        assert!(bomb.len() < 20_000);
        for kind in ["application/json", "text/csv", "application/x-ndjson"] {
            let headers = [("content-type", kind), ("content-encoding", "zstd")];
            let got = send(&app, "POST", path, &headers, bomb.clone()).await;
            assert!([400, 413].contains(&got.status.as_u16()), "{kind}: {}", got.text());
        }
        let got = post(&app, path, &json!({ "people": people(500) })).await;
        assert_eq!(got.status, StatusCode::PAYLOAD_TOO_LARGE);
        let many = lines(&people(51));
        let headers = [("content-type", "application/x-ndjson")];
        let got = send(&app, "POST", path, &headers, many).await;
        assert_eq!(got.status, StatusCode::PAYLOAD_TOO_LARGE);
    });
}

#[test]
fn an_error_within_a_stream_is_its_last_line() {
    let app = service();
    run(async {
        let mut body = lines(&people(3_000));
        body += "{\"income\": \"x\", \"debt\": 1, \"housing\": \"rent\"}\n";
        let headers = [("content-type", "application/x-ndjson")];
        let got = send(&app, "POST", "/v1/models/linear/score", &headers, body).await;
        let last: Value = serde_json::from_str(got.text().lines().last().unwrap()).unwrap();
        assert_eq!(
            (&last["status"], &last["field"], &last["row"]),
            (&json!(400), &json!("income"), &json!(3000))
        );
        // Before the first answer it is the answer.
        let got = send(&app, "POST", "/v1/models/linear/score", &headers, "{]\n").await;
        assert_eq!(got.status, StatusCode::BAD_REQUEST);
    });
}

#[test]
fn tokens_are_needed_except_for_health() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "secret\n").unwrap();
    let config = Config { token_file: Some(file.path().to_owned()), ..quick() };
    let app = probe_server::app(state_with(config));
    run(async {
        for path in ["/v1/models", "/metrics", "/", "/openapi.json", "/nowhere"] {
            let got = get(&app, path).await;
            assert_eq!(got.status.as_u16(), 401, "{path}");
            assert_eq!(got.header("www-authenticate"), "Bearer");
            let bearer = [("authorization", "Bearer secret")];
            let got = send(&app, "GET", path, &bearer, Body::empty()).await;
            assert_ne!(got.status.as_u16(), 401, "{path}");
        }
        assert_eq!(get(&app, "/healthz").await.status, StatusCode::OK);
        assert_eq!(get(&app, "/readyz").await.status, StatusCode::OK);
    });
}

#[test]
fn browsers_of_other_sites_are_admitted_only_if_asked_for() {
    run(async {
        let origin = [("origin", "https://bank.example")];
        let got = send(&service(), "GET", "/v1/models", &origin, Body::empty()).await;
        assert_eq!(got.header("access-control-allow-origin"), "");
        let config = Config { cors: vec!["https://bank.example".to_owned()], ..quick() };
        let app = probe_server::app(state_with(config));
        let got = send(&app, "GET", "/v1/models", &origin, Body::empty()).await;
        assert_eq!(got.header("access-control-allow-origin"), "https://bank.example");
        let got = get(&app, "/v1/models").await;
        assert_eq!(got.header("access-control-allow-origin"), "");
    });
}

#[test]
fn request_ids_are_taken_over_or_made() {
    let app = service();
    run(async {
        let own = [("x-request-id", "order-7/a")];
        let got = send(&app, "GET", "/healthz", &own, Body::empty()).await;
        assert_eq!(got.header("x-request-id"), "order-7/a");
        let evil = [("x-request-id", "a b {}")];
        let got = send(&app, "GET", "/healthz", &evil, Body::empty()).await;
        assert_ne!(got.header("x-request-id"), "a b {}");
        let (a, b) = (get(&app, "/healthz").await, get(&app, "/healthz").await);
        assert_ne!(a.header("x-request-id"), b.header("x-request-id"));
    });
}
