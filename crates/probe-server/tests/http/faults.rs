//! Overload, time limits, clients that leave, models that change, an end in the middle of work.

use crate::support::*;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use futures_util::future::join_all;
use probe_server::{Config, Models, State, app};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tower::ServiceExt as _;

const SLOW: &str = "/v1/models/network/recourse";

/// The value of a gauge.
async fn gauge(app: &Router, name: &str) -> f64 {
    let text = get(app, "/metrics").await;
    let line = text.text().lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    line.rsplit(' ').next().unwrap().parse().unwrap()
}

/// Waits until nothing is computed any more.
async fn idle(app: &Router, within: Duration) {
    let start = Instant::now();
    while gauge(app, "probe_queue_jobs").await + gauge(app, "probe_requests_running").await > 0.0 {
        assert!(start.elapsed() < within, "still at work");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[test]
fn overload_is_answered_429_and_passes() {
    let app = app(state_with(Config { threads: 1, queue: 1, ..Config::default() }));
    run(async {
        let body = json!({ "people": points(600) });
        let all = join_all((0..8).map(|_| post(&app, SLOW, &body))).await;
        let n = |status: u16| all.iter().filter(|got| got.status.as_u16() == status).count();
        assert!(n(200) >= 1 && n(429) >= 1 && n(200) + n(429) == 8, "{} {}", n(200), n(429));
        let refused = all.iter().find(|got| got.status.as_u16() == 429).unwrap();
        assert!(refused.header("retry-after").parse::<u64>().unwrap() >= 1);
        assert_eq!(refused.header("content-type"), "application/problem+json");
        idle(&app, Duration::from_secs(5)).await;
        assert_eq!(post(&app, SLOW, &json!({ "people": points(2) })).await.status.as_u16(), 200);
    });
}

#[test]
fn work_ends_when_the_client_has_left() {
    let app = app(state_with(quick()));
    run(async {
        // Minutes of work.
        let body = json!({ "people": points(90_000), "effort": "thorough" }).to_string();
        let request = Request::post(SLOW).body(Body::from(body)).unwrap();
        let asked = app.clone().oneshot(request);
        assert!(tokio::time::timeout(Duration::from_millis(1500), asked).await.is_err());
        idle(&app, Duration::from_secs(5)).await;
    });
}

#[test]
fn people_over_the_time_limit_get_search_limit_and_the_rest_stands() {
    let config = Config { timeout: Duration::from_secs(3), ..quick() };
    let app = app(state_with(config));
    run(async {
        // More than a minute of work, of which each person takes a few milliseconds.
        let people = points(40_000);
        let body = json!({ "people": people });
        let start = Instant::now();
        let got = post(&app, SLOW, &body).await;
        assert_eq!(got.status, StatusCode::OK, "{}", got.text());
        assert!(start.elapsed() < Duration::from_secs(20));
        let answers = got.json()["answers"].as_array().unwrap().clone();
        assert_eq!(answers.len(), people.len());
        let late = |row: &&Value| row["reason"] == json!("search-limit");
        let (first, last) = (&answers[0], answers.last().unwrap());
        assert!(!late(&first) && late(&last), "{first} {last}");
        assert_eq!((&last["status"], &last["cost"]), (&json!("none"), &Value::Null));
        assert_eq!((&last["to"], &last["proven"]), (&last["from"], &json!(false)));
        // Those who were answered got the answer that they get alone.
        let alone = post(&app, SLOW, &json!({ "people": [people[0]] })).await;
        assert_eq!(&alone.json()["answers"][0], first);
        assert!(gauge(&app, "probe_people_over_time_total").await > 0.0);
    });
}

#[test]
fn a_thousand_swaps_under_load_fail_no_request_and_mix_no_versions() {
    let state = state_with(quick());
    let app = app(Arc::clone(&state));
    let versions = [linear(-1.0), linear(-1.25)];
    let hashes = versions.clone().map(|file| file.hash);
    let people = people(20);
    let body = json!({ "people": people });
    let ended = Arc::new(AtomicBool::new(false));
    run(async {
        let expected: Vec<Vec<f64>> = {
            let mut all = Vec::new();
            for file in &versions {
                state.models.put("linear", file.clone(), None).unwrap();
                all.push(margins(&post(&app, "/v1/models/linear/score", &body).await));
            }
            all
        };
        let swapper = {
            let (state, ended) = (Arc::clone(&state), Arc::clone(&ended));
            std::thread::spawn(move || {
                for k in 0..1_000 {
                    state.models.put("linear", versions[k % 2].clone(), None).unwrap();
                    std::thread::sleep(Duration::from_micros(500));
                }
                ended.store(true, Ordering::SeqCst);
            })
        };
        let mut seen = [0, 0];
        while !ended.load(Ordering::SeqCst) {
            let all = join_all((0..4).map(|_| post(&app, "/v1/models/linear/score", &body))).await;
            for got in all {
                assert_eq!(got.status, StatusCode::OK, "{}", got.text());
                let hash = got.header("x-model-hash").to_owned();
                let k = hashes.iter().position(|other| *other == hash).unwrap();
                seen[k] += 1;
                assert_eq!(margins(&got), expected[k]);
                for row in got.json()["answers"].as_array().unwrap() {
                    assert_eq!(row["meta"]["model_hash"], json!(hash));
                }
            }
        }
        swapper.join().unwrap();
        assert!(seen[0] > 20 && seen[1] > 20, "{seen:?}");
    });
}

fn margins(got: &Got) -> Vec<f64> {
    let json = got.json();
    let rows = json["answers"].as_array().unwrap();
    rows.iter().map(|row| row["margin"].as_f64().unwrap()).collect()
}

#[test]
fn a_file_that_does_not_load_leaves_the_old_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credit.json");
    let save = |bias| {
        linear(bias).save(&path).unwrap();
        probe_io::ModelFile::load(&path).unwrap().hash
    };
    let old = save(-1.0);
    std::fs::write(folder.path().join("notes.md"), "no model").unwrap();
    let state = State::new(quick(), Models::new(Some(folder.path().to_owned()))).unwrap();
    let app = app(Arc::clone(&state));
    run(async {
        let got = get(&app, "/readyz").await;
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
        state.refresh();
        let body = json!({ "people": people(1) });
        let ask = || post(&app, "/v1/models/credit/score", &body);
        let first = ask().await;
        assert_eq!(first.header("x-model-hash"), old);
        std::fs::write(&path, "{\"format\": \"probe-model\"").unwrap();
        state.refresh();
        assert_eq!(ask().await.body, first.body);
        let ready = get(&app, "/readyz").await.json();
        assert_eq!(ready["faults"][0]["model"], json!("credit"));
        assert_eq!(ready["faults"][0]["old_model_is_served"], json!(true));
        let new = save(-2.0);
        state.refresh();
        assert_eq!(ask().await.header("x-model-hash"), new);
        assert_eq!(get(&app, "/readyz").await.json()["faults"], json!([]));
        std::fs::remove_file(&path).unwrap();
        state.refresh();
        assert_eq!(ask().await.status, StatusCode::NOT_FOUND);
    });
}

#[test]
fn at_the_end_work_is_finished_or_answered_503() {
    let state = state_with(quick());
    let app = app(Arc::clone(&state));
    run(async {
        let body = json!({ "people": points(90_000), "effort": "thorough" });
        let long = tokio::spawn({
            let app = app.clone();
            async move { post(&app, SLOW, &body).await }
        });
        let short = json!({ "people": people(2) });
        while gauge(&app, "probe_requests_running").await == 0.0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        state.drain();
        let got = post(&app, "/v1/models/linear/score", &short).await;
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(get(&app, "/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(get(&app, "/healthz").await.status, StatusCode::OK);
        state.cancel();
        let got = long.await.unwrap();
        assert_eq!(got.status, StatusCode::SERVICE_UNAVAILABLE, "{}", got.text());
    });
}

#[test]
fn audit_records_are_chained_and_name_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let app = app(state_with(Config { audit: Some(path.clone()), ..quick() }));
    run(async {
        let body = json!({ "people": people(3) });
        let all = join_all((0..20).map(|_| post(&app, "/v1/models/linear/recourse", &body))).await;
        assert!(all.iter().all(|got| got.status == StatusCode::OK));
        let headers = [("content-type", "application/x-ndjson"), ("x-request-id", "stream-1")];
        let path = "/v1/models/linear/recourse";
        send(&app, "POST", path, &headers, lines(&people(5))).await;
        post(&app, "/v1/models/linear/score", &body).await;
    });
    assert_eq!(probe_io::verify_audit(&path).unwrap().records, 65);
    let text = std::fs::read_to_string(&path).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(last["request_id"], json!("stream-1"));
    assert_eq!(last["model"], json!("linear"));
    assert!(last["time"].as_str().unwrap().starts_with("20"), "{last}");
    // The person's values are in it as a hash only.
    assert!(last["input_hash"].as_str().unwrap().len() == 64 && last.get("from").is_none());
}
