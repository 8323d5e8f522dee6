//! What the service says about itself.

use crate::support::*;
use serde_json::{Value, json};

#[test]
fn examples_of_the_openapi_document_work_when_pasted() {
    let app = service();
    run(async {
        let document = get(&app, "/openapi.json").await.json();
        assert_eq!(document["openapi"], json!("3.1.0"));
        let mut tried = 0;
        for (path, operations) in document["paths"].as_object().unwrap() {
            if operations.get("get").is_some() {
                let got = get(&app, path).await;
                assert_eq!(got.status.as_u16(), 200, "{path}");
            }
            let content = &operations["post"]["requestBody"]["content"];
            for (kind, media) in content.as_object().into_iter().flatten() {
                let body = match &media["example"] {
                    Value::Null => continue,
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                };
                let headers = [("content-type", kind.as_str()), ("accept", "*/*")];
                let got = send(&app, "POST", path, &headers, body).await;
                assert_eq!(got.status.as_u16(), 200, "{path} {kind}: {}", got.text());
                tried += 1;
            }
        }
        // Two models, five questions in three formats and one inference each.
        assert_eq!(tried, 2 * (5 * 3 + 1));
    });
}

#[test]
fn answers_have_the_documented_fields() {
    let app = service();
    run(async {
        let document = get(&app, "/openapi.json").await.json();
        for kind in ["score", "recourse", "frontier", "rate"] {
            let path = format!("/v1/models/linear/{kind}");
            let got = post(&app, &path, &json!({ "people": people(2), "rates": [0.2] })).await;
            let good = &document["paths"][&path]["post"]["responses"]["200"]["content"];
            let schema = &good["application/json"]["schema"]["properties"]["answers"]["items"];
            let row = &got.json()["answers"][0];
            for name in schema["required"].as_array().unwrap() {
                assert!(row.get(name.as_str().unwrap()).is_some(), "{kind}: {name}");
            }
            for name in row.as_object().unwrap().keys() {
                let further = ["meta", "tolerance", "shortfall"].contains(&name.as_str());
                assert!(schema["properties"].get(name).is_some() || further, "{kind}: {name}");
            }
        }
    });
}

#[test]
fn a_person_has_units_categories_and_ranges() {
    let app = service();
    run(async {
        let document = get(&app, "/openapi.json").await.json();
        let person = &document["components"]["schemas"]["Person_linear"]["properties"];
        assert_eq!(person["income"]["x-unit"], json!("EUR"));
        assert_eq!(person["income"]["x-range"], json!([0.0, 100_000.0]));
        assert_eq!(person["housing"]["enum"], json!(["rent", "own"]));
    });
}

#[test]
fn pages_load_nothing_from_elsewhere() {
    let app = service();
    run(async {
        for path in ["/", "/docs"] {
            let page = get(&app, path).await;
            let text = page.text();
            assert!(!text.contains("<script") && !text.contains("src="), "{path}");
            for (at, _) in text.match_indices("href=\"") {
                assert!(text[at + 6..].starts_with('/'), "{path}: {}", &text[at..at + 40]);
            }
            assert!(page.header("content-security-policy").contains("default-src 'none'"));
        }
        assert!(get(&app, "/docs").await.text().contains("/v1/models/linear/recourse"));
    });
}

#[test]
fn metrics_count_people_and_requests() {
    let app = service();
    run(async {
        post(&app, "/v1/models/linear/recourse", &json!({ "people": people(40) })).await;
        let text = get(&app, "/metrics").await.text().to_owned();
        let route = "route=\"/v1/models/{name}/recourse\",status=\"200\"} 1";
        assert!(text.contains(route), "{text}");
        let count = |status: &str| -> u64 {
            let line = format!("probe_people_total{{status=\"{status}\"}} ");
            let at = text.find(&line).unwrap() + line.len();
            text[at..].lines().next().unwrap().parse().unwrap()
        };
        let all: u64 = ["certified", "found", "none", "favourable"].iter().map(|s| count(s)).sum();
        assert_eq!(all, 40);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("probe_") && value.parse::<f64>().is_ok(), "{line}");
        }
    });
}
