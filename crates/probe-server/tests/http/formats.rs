//! The same question through every format, coding and batch gets the same answer.

use crate::support::*;
use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use axum::http::StatusCode;
use probe_io::{Batch, Cell, Column, Columns, Field, TableWriter, read_ipc};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const ARROW: &str = "application/vnd.apache.arrow.stream";

fn csv(people: &[Value]) -> String {
    let mut out = "income,debt,housing\n".to_owned();
    for person in people {
        let housing = person["housing"].as_str().unwrap();
        out += &format!("{},{},{housing}\n", person["income"], person["debt"]);
    }
    out
}

fn arrow(people: &[Value]) -> Vec<u8> {
    let fields = vec![Field::float("income"), Field::float("debt"), Field::text("housing")];
    let mut writer = TableWriter::arrow_stream(fields).unwrap();
    let floats =
        |name: &str| Column::floats(people.iter().map(|p| Cell::Number(p[name].as_f64().unwrap())));
    let housing = Column::texts(people.iter().map(|p| p["housing"].as_str().unwrap()));
    let batch = Batch::Columns(vec![floats("income"), floats("debt"), housing]);
    let encoded = writer.encoder().encode(&batch).unwrap();
    writer.write(encoded).unwrap();
    writer.into_bytes().unwrap()
}

/// Bodies of the same people in every format.
fn bodies(people: &[Value]) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        (JSON, json!({ "people": people }).to_string().into_bytes()),
        (NDJSON, lines(people).into_bytes()),
        (CSV, csv(people).into_bytes()),
        (ARROW, arrow(people)),
    ]
}

#[test]
fn every_format_in_gives_the_same_lines_out() {
    let (app, people) = (service(), people(700));
    let path = "/v1/models/linear/recourse?max_rate=0.1&sigma=0.05";
    run(async {
        let mut all = Vec::new();
        for (kind, body) in bodies(&people) {
            let headers = [("content-type", kind), ("accept", NDJSON)];
            let got = send(&app, "POST", path, &headers, body).await;
            assert_eq!(got.status, StatusCode::OK, "{kind}: {}", got.text());
            assert_eq!(got.header("content-type"), NDJSON);
            assert_eq!(got.text().lines().count(), people.len());
            all.push((kind, got.body));
        }
        for (kind, body) in &all[1..] {
            assert!(*body == all[0].1, "{kind} differs");
        }
        // A line is what JSON has as an element, and a person alone gets the same.
        let got = post(&app, path, &json!({ "people": people })).await;
        let text = String::from_utf8(all[0].1.to_vec()).unwrap();
        let answers = got.json()["answers"].clone();
        for (k, line) in text.lines().enumerate() {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(value, answers[k]);
            assert!(got.text().contains(line), "{line}");
        }
        let third = post(&app, path, &json!({ "people": [people[3]] })).await.json();
        let (mut alone, batch) = (third["answers"][0].clone(), answers[3].clone());
        alone["row"] = json!(3);
        assert_eq!(alone, batch);
        assert_eq!(got.header("x-model-hash"), batch["meta"]["model_hash"].as_str().unwrap());
    });
}

#[test]
fn tables_out_have_the_same_numbers() {
    let (app, people) = (service(), people(300));
    let path = "/v1/models/linear/recourse?sigma=0.05";
    run(async {
        let body = || csv(&people).into_bytes();
        let headers = [("content-type", CSV), ("accept", ARROW)];
        let stream = send(&app, "POST", path, &headers, body()).await;
        let text = send(&app, "POST", path, &[("content-type", CSV)], body()).await;
        assert_eq!(text.header("content-type"), "text/csv; charset=utf-8");
        let reader = read_ipc("answer", stream.body.to_vec()).unwrap();
        let header = text.text().lines().next().unwrap().to_owned();
        assert_eq!(reader.header().join(","), header);
        let names = ["rate", "income"].map(str::to_owned);
        let wanted = Columns { ignore_extra: true, ..Columns::features(&names) };
        let (mut numbers, mut all) = (Vec::new(), Vec::new());
        for chunk in reader.select(&wanted).unwrap() {
            chunk.unwrap().numbers_into(&mut numbers).unwrap();
            all.extend_from_slice(&numbers);
        }
        let place = |name: &str| header.split(',').position(|other| other == name).unwrap();
        let rows: Vec<Vec<&str>> =
            text.text().lines().skip(1).map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), people.len());
        for (row, pair) in rows.iter().zip(all.chunks_exact(2)) {
            for (value, name) in pair.iter().zip(["rate", "income"]) {
                let text: f64 = row[place(name)].parse().unwrap();
                assert_eq!(text.to_bits(), value.to_bits(), "{name}");
            }
        }
    });
}

#[test]
fn codings_work_both_ways() {
    let (app, people) = (service(), people(400));
    let path = "/v1/models/linear/recourse?sigma=0.05";
    run(async {
        let body = lines(&people);
        let (mut gzip, mut zstd) = (Vec::new(), Vec::new());
        GzipEncoder::new(body.as_bytes()).read_to_end(&mut gzip).await.unwrap();
        ZstdEncoder::new(body.as_bytes()).read_to_end(&mut zstd).await.unwrap();
        let plain = send(&app, "POST", path, &[("content-type", NDJSON)], body.clone()).await;
        assert_eq!(plain.header("content-encoding"), "");
        for (coding, coded) in [("gzip", gzip), ("zstd", zstd)] {
            let headers = [("content-type", NDJSON), ("content-encoding", coding)];
            let got = send(&app, "POST", path, &headers, coded).await;
            assert!(got.body == plain.body, "{coding} in");
            let headers = [("content-type", NDJSON), ("accept-encoding", coding)];
            let got = send(&app, "POST", path, &headers, body.clone()).await;
            assert_eq!(got.header("content-encoding"), coding);
            let mut decoded = Vec::new();
            let reader = &got.body[..];
            match coding {
                "gzip" => {
                    let mut decoder = async_compression::tokio::bufread::GzipDecoder::new(reader);
                    decoder.read_to_end(&mut decoded).await.unwrap();
                }
                _ => {
                    let mut decoder = async_compression::tokio::bufread::ZstdDecoder::new(reader);
                    decoder.read_to_end(&mut decoded).await.unwrap();
                }
            }
            assert!(decoded == plain.body, "{coding} out");
        }
    });
}

#[test]
fn scores_rates_frontiers_and_letters() {
    let app = service();
    run(async {
        let body = json!({ "people": people(3) });
        let scores = post(&app, "/v1/models/linear/score", &body).await.json();
        // 2·income/1e5 − 1.5·debt/4e4 + 0.4·own − 1, by hand for the first person.
        let margin = 2.0 * 0.200_005 - 1.5 * 0.125 - 1.0;
        let found = scores["answers"][0]["margin"].as_f64().unwrap();
        assert!((found - margin).abs() < 1e-12, "{found}");
        assert_eq!(scores["answers"][0]["favourable"], json!(false));

        let mut rates = body.clone();
        rates["from"] = body["people"].clone();
        rates["noise_on"] = json!("changed");
        let got = post(&app, "/v1/models/linear/rate", &rates).await;
        // Nothing has changed, so that nothing is noisy: whoever is rejected stays so.
        assert_eq!(got.json()["answers"][0]["rate"], json!(1.0), "{}", got.text());

        let mut front = body.clone();
        front["rates"] = json!([0.3, 0.1]);
        let got = post(&app, "/v1/models/linear/frontier", &front).await.json();
        assert_eq!(got["answers"].as_array().unwrap().len(), 6);
        assert_eq!(got["answers"][1]["target_rate"], json!(0.1));

        for (accept, start) in [
            ("text/plain", "text/plain"),
            ("text/markdown", "text/markdown"),
            ("text/html", "text/html"),
            ("application/json", "application/json"),
        ] {
            let headers = [("content-type", JSON), ("accept", accept)];
            let path = "/v1/models/linear/letters";
            let got = send(&app, "POST", path, &headers, body.to_string()).await;
            assert_eq!(got.status, StatusCode::OK, "{accept}: {}", got.text());
            assert!(got.header("content-type").starts_with(start), "{accept}");
            assert!(got.text().contains("EUR"), "{accept}: {}", got.text());
        }
    });
}

#[test]
fn ids_and_unknown_columns() {
    let app = service();
    run(async {
        let mut person = people(1).remove(0);
        person["name"] = json!("Ann");
        let mut body = json!({ "people": [person] });
        let got = post(&app, "/v1/models/linear/recourse", &body).await;
        assert_eq!((got.status.as_u16(), got.json()["field"].clone()), (400, json!("name")));
        body["id"] = json!(["name"]);
        let got = post(&app, "/v1/models/linear/recourse", &body).await;
        assert_eq!(got.json()["answers"][0]["name"], json!("Ann"));
        body["id"] = json!([]);
        body["ignore_extra"] = json!(true);
        assert_eq!(post(&app, "/v1/models/linear/recourse", &body).await.status, StatusCode::OK);
    });
}

#[test]
fn the_protocol_of_model_servers_gives_the_same_margins() {
    let app = service();
    run(async {
        let people = people(5);
        let column = |name: &str| people.iter().map(|p| p[name].clone()).collect::<Vec<_>>();
        let body = json!({ "id": "7", "inputs": [
            { "name": "income", "shape": [5], "datatype": "FP64", "data": column("income") },
            { "name": "debt", "shape": [5, 1], "datatype": "FP64", "data": column("debt") },
            { "name": "housing", "shape": [5], "datatype": "BYTES", "data": column("housing") },
        ]});
        let got = post(&app, "/v2/models/linear/infer", &body).await.json();
        assert_eq!(got["id"], json!("7"));
        let scores = post(&app, "/v1/models/linear/score", &json!({ "people": people })).await;
        let margins: Vec<Value> = scores.json()["answers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["margin"].clone())
            .collect();
        assert_eq!(got["outputs"][0]["data"], json!(margins));
        // One tensor of all features.
        let points = points(2);
        let row = |p: &Value| ["a", "b", "c", "d"].map(|name| p[name].clone());
        let body = json!({ "inputs": [{
            "name": "input", "shape": [2, 4], "datatype": "FP64",
            "data": [row(&points[0]), row(&points[1])],
        }]});
        let got = post(&app, "/v2/models/network/infer", &body).await;
        assert_eq!(got.json()["outputs"][1]["shape"], json!([2]), "{}", got.text());
        let body = json!({ "inputs": [{
            "name": "income", "shape": [3], "datatype": "FP64", "data": [1],
        }]});
        let got = post(&app, "/v2/models/linear/infer", &body).await;
        assert_eq!((got.status.as_u16(), got.json()["field"].clone()), (400, json!("income")));
    });
}
