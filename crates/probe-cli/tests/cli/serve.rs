//! `probe serve`: the same bytes as the commands, an audit file that survives, an orderly end.

use crate::support::Folder;
use probe_io::{Batch, Cell, Column, Columns, Field, TableWriter, read_ipc};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A running service, killed at the end of its test.
struct Service {
    child: Child,
    address: String,
    agent: ureq::Agent,
}

impl Service {
    fn start(folder: &Folder, flags: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_probe"));
        command.args(["serve", "--listen", "127.0.0.1:0"]).args(flags.split_whitespace());
        Self::spawn(command, folder)
    }

    fn spawn(mut command: Command, folder: &Folder) -> Self {
        let log = std::fs::File::create(folder.path("service.log")).unwrap();
        let mut child =
            command.current_dir(folder.dir()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| {
            panic!("'{line}': {}", folder.text("service.log"));
        });
        let config = ureq::Agent::config_builder().http_status_as_error(false);
        let agent = config.timeout_global(Some(Duration::from_secs(300))).build().into();
        Self { address: address.to_owned(), child, agent }
    }

    /// Status and body.
    fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Vec<u8>) {
        self.try_post(path, headers, body).unwrap()
    }

    fn try_post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<(u16, Vec<u8>), ureq::Error> {
        let mut request = self.agent.post(format!("{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut answer = request.send(body)?;
        let status = answer.status().as_u16();
        Ok((status, answer.body_mut().with_config().limit(1 << 30).read_to_vec()?))
    }

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Files of the demo, with `people.jsonl` of the first `n` people beside `people.csv`.
fn demo(n: usize, of: usize) -> Folder {
    let folder = Folder::new();
    assert_eq!(folder.run(&format!("demo --out . --people {of} --quiet")).code, Some(0));
    let text = folder.text("people.csv");
    let mut rows = text.lines();
    let names: Vec<&str> = rows.next().unwrap().split(',').collect();
    let (mut csv, mut jsonl) = (names.join(",") + "\n", String::new());
    for row in rows.cycle().take(n) {
        csv += &format!("{row}\n");
        let value = |cell: &str| match cell.parse::<f64>() {
            Ok(_) => cell.to_owned(),
            Err(_) => json!(cell).to_string(),
        };
        let cells = names.iter().zip(row.split(','));
        let fields: Vec<String> =
            cells.map(|(n, c)| format!("{}:{}", json!(n), value(c))).collect();
        jsonl += &format!("{{{}}}\n", fields.join(","));
    }
    folder.write("people.csv", &csv);
    folder.write("people.jsonl", &jsonl);
    folder
}

const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const CSV: &str = "text/csv";
const ARROW: &str = "application/vnd.apache.arrow.stream";

/// The answers of one model through all formats are those of the command.
fn same_bytes(folder: &Folder, service: &Service, model: &str) {
    let question = "-r 0.1 --sigma 0.05 --seed 3 --quiet";
    let path = format!("/v1/models/{model}/recourse?max_rate=0.1&sigma=0.05&seed=3");
    let run = |people: &str, format: &str| {
        let ran =
            folder.run(&format!("recourse {model}.json {people} {question} --format {format}"));
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out
    };
    let ask = |kind: &str, accept: &str, body: &[u8]| {
        let (status, answer) =
            service.post(&path, &[("content-type", kind), ("accept", accept)], body);
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&answer[..answer.len().min(500)]));
        answer
    };
    let csv = run("people.csv", "csv");
    assert!(csv == ask(CSV, CSV, &folder.read("people.csv")), "CSV of {model}");
    let lines = run("people.jsonl", "jsonl");
    assert!(lines == ask(NDJSON, NDJSON, &folder.read("people.jsonl")), "NDJSON of {model}");
    let people = folder.text("people.jsonl");
    let body = format!("{{\"people\":[{}]}}", people.lines().collect::<Vec<_>>().join(","));
    let answer = String::from_utf8(ask(JSON, JSON, body.as_bytes())).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    let joined = lines.lines().collect::<Vec<_>>().join(",\n");
    assert!(answer.starts_with(&format!("{{\"answers\":[\n{joined}\n],\"meta\":{{")), "JSON");
    // Arrow has numbers instead of texts: they have the same bits.
    let reader = read_ipc("answer", ask(ARROW, ARROW, &arrow(&people))).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(reader.header(), header);
    let names =
        ["rate", "rate_upper", "cost_lower", "income", "debt", "savings"].map(str::to_owned);
    let wanted = Columns { ignore_extra: true, ..Columns::features(&names) };
    let (mut numbers, mut all) = (Vec::new(), Vec::new());
    for chunk in reader.select(&wanted).unwrap() {
        chunk.unwrap().numbers_into(&mut numbers).unwrap();
        all.extend_from_slice(&numbers);
    }
    let places: Vec<usize> =
        names.iter().map(|name| header.iter().position(|other| other == name).unwrap()).collect();
    for (row, values) in csv.lines().skip(1).zip(all.chunks_exact(names.len())) {
        let cells: Vec<&str> = row.split(',').collect();
        for (place, value) in places.iter().zip(values) {
            let text: f64 = cells[*place].parse().unwrap();
            assert_eq!(text.to_bits(), value.to_bits(), "{row}");
        }
    }
    assert_eq!(all.len(), names.len() * (csv.lines().count() - 1));
}

fn arrow(people: &str) -> Vec<u8> {
    let rows: Vec<Value> = people.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for name in names {
        if rows[0][name].is_string() {
            fields.push(Field::text(name));
            columns.push(Column::texts(rows.iter().map(|row| row[name].as_str().unwrap())));
        } else {
            fields.push(Field::float(name));
            let cell = |row: &Value| Cell::Number(row[name].as_f64().unwrap());
            columns.push(Column::floats(rows.iter().map(cell)));
        }
    }
    let mut writer = TableWriter::arrow_stream(fields).unwrap();
    let encoded = writer.encoder().encode(&Batch::Columns(columns)).unwrap();
    writer.write(encoded).unwrap();
    writer.into_bytes().unwrap()
}

#[test]
fn the_service_answers_with_the_bytes_of_the_command() {
    let folder = demo(2_000, 1_500);
    let service = Service::start(&folder, "model.json --threads 2");
    same_bytes(&folder, &service, "model");
    drop(service);
    let folder = demo(60, 600);
    let service = Service::start(&folder, "network.json --threads 1");
    same_bytes(&folder, &service, "network");
}

/// Takes minutes: run by `cargo xtask test --full`.
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_people_get_the_bytes_of_the_command() {
    let folder = demo(10_000, 5_000);
    let service = Service::start(&folder, "model.json --timeout 3600");
    same_bytes(&folder, &service, "model");
    drop(service);
    // Categories and steps before a network take longer.
    let folder = demo(1_000, 5_000);
    let service = Service::start(&folder, "network.json --timeout 3600");
    same_bytes(&folder, &service, "network");
}

/// Request ids of the audit file's records, in order.
fn audited(folder: &Folder) -> Vec<String> {
    let id = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["request_id"].as_str().unwrap().to_owned()
    };
    folder.text("audit.jsonl").lines().map(id).collect()
}

#[test]
fn no_acknowledged_record_is_lost_when_the_service_is_killed() {
    let folder = demo(3, 600);
    let people = folder.text("people.jsonl");
    let mut acknowledged = BTreeSet::new();
    for round in 0..3 {
        let service = Arc::new(Service::start(&folder, "model.json --audit audit.jsonl"));
        let (done, ended) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let clients: Vec<_> = (0..8)
            .map(|client| {
                let (service, done) = (Arc::clone(&service), Arc::clone(&done));
                let (people, ended) = (people.clone(), Arc::clone(&ended));
                std::thread::spawn(move || {
                    for k in 0.. {
                        let id = format!("{round}-{client}-{k}");
                        let headers = [("content-type", NDJSON), ("x-request-id", &*id)];
                        let path = "/v1/models/model/recourse";
                        match service.try_post(path, &headers, people.as_bytes()) {
                            Ok((200, _)) => done.lock().unwrap().push(id),
                            _ if ended.load(Ordering::SeqCst) => return,
                            other => panic!("{other:?}"),
                        }
                    }
                })
            })
            .collect();
        let start = Instant::now();
        while done.lock().unwrap().len() < 100 {
            assert!(start.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(10));
        }
        ended.store(true, Ordering::SeqCst);
        service.signal("-KILL");
        clients.into_iter().for_each(|client| client.join().unwrap());
        acknowledged.extend(done.lock().unwrap().drain(..));
    }
    // The next start removes what was not complete, and goes on.
    let service = Service::start(&folder, "model.json --audit audit.jsonl");
    let headers = [("content-type", NDJSON), ("x-request-id", "last")];
    assert_eq!(service.post("/v1/models/model/recourse", &headers, people.as_bytes()).0, 200);
    drop(service);
    assert_eq!(folder.run("audit verify audit.jsonl").code, Some(0));
    let found = audited(&folder);
    assert_eq!(found.last().map(String::as_str), Some("last"));
    for id in &acknowledged {
        assert_eq!(found.iter().filter(|other| *other == id).count(), 3, "{id}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_answered_503_and_loses_no_record() {
    let folder = demo(2, 600);
    let people = folder.read("people.jsonl");
    let mut command = Command::new("sh");
    // The limit on the size of files stands for a full disk.
    let line = "trap '' 25; ulimit -S -f 64; exec \"$0\" serve model.json --listen 127.0.0.1:0 \
                --audit audit.jsonl";
    command.args(["-c", line, env!("CARGO_BIN_EXE_probe")]);
    let service = Service::spawn(command, &folder);
    let headers = [("content-type", NDJSON)];
    let post = || service.post("/v1/models/model/recourse", &headers, &people);
    let mut good = 0;
    let refused = loop {
        match post() {
            (200, _) => good += 1,
            other => break other,
        }
        assert!(good < 1_000, "the disk is never full");
    };
    let problem: Value = serde_json::from_slice(&refused.1).unwrap();
    assert_eq!((refused.0, &problem["status"]), (503, &json!(503)));
    assert_eq!(post().0, 503);
    assert_eq!(folder.run("audit verify audit.jsonl").code, Some(0));
    assert_eq!(folder.text("audit.jsonl").lines().count(), 2 * good);
    // Once there is room again, the chain goes on.
    let id = service.child.id().to_string();
    let freed = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited"]).status();
    if freed.is_ok_and(|status| status.success()) {
        assert_eq!(post().0, 200);
        assert_eq!(folder.run("audit verify audit.jsonl").code, Some(0));
        assert_eq!(folder.text("audit.jsonl").lines().count(), 2 * good + 2);
    }
}

#[cfg(unix)]
#[test]
fn a_termination_signal_ends_the_service_in_order() {
    let folder = demo(2, 600);
    let mut service = Service::start(&folder, "");
    let (status, _) = service.post("/v1/models/demo/score", &[("content-type", NDJSON)], b"{}\n");
    assert_eq!(status, 400);
    service.signal("-TERM");
    assert_eq!(service.child.wait().unwrap().code(), Some(0));
    // The log names requests, and says nothing about people.
    let log = folder.text("service.log");
    let line = log.lines().find(|line| line.contains("\"status\":400")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["route"], json!("/v1/models/{name}/score"));
    assert!(line["request_id"].is_string() && !log.contains("income"));
}

#[test]
fn flags_are_the_defaults_of_requests() {
    let folder = demo(2, 600);
    let service = Service::start(&folder, "model.json -r 0.2 --sigma 0.07 --seed 5");
    let people = folder.read("people.jsonl");
    let headers = [("content-type", NDJSON)];
    let (_, answer) = service.post("/v1/models/model/recourse?max_rate=0.3", &headers, &people);
    let line: Value =
        serde_json::from_slice(answer.split(|b| *b == b'\n').next().unwrap()).unwrap();
    let meta = &line["meta"];
    assert_eq!((&meta["r"], &meta["sigma"], &meta["seed"]), (&json!(0.3), &json!(0.07), &json!(5)));
    let path = "/v1/models/model/recourse?noise=laplace:0.05";
    let (_, answer) = service.post(path, &headers, &people);
    assert!(String::from_utf8_lossy(&answer).contains("\"noise\":\"laplace\""));
}

#[test]
fn wrong_flags_end_at_once() {
    let folder = Folder::new();
    folder.run("serve missing.json").fails(1, &["missing.json"]);
    folder.run("serve model.json --max-body much").fails(2, &["--max-body"]);
    let ran = folder.run("serve model.json --tls-cert cert.pem");
    assert!(ran.code == Some(2) && ran.err.contains("--tls-key"), "{}", ran.err);
    folder.run("serve model.json --token-file none").fails(1, &["none", "tokens"]);
    folder.run("serve --models none").fails(1, &["--models"]);
    folder.run("serve model.json --listen 192.0.2.1:1 --quiet").fails(1, &["192.0.2.1:1"]);
}

/// The examples of docs/service.md, against a service on another port.
#[cfg(unix)]
#[test]
fn examples_of_the_service_s_page_run() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("docs/service.md")).unwrap();
    let folder = demo(5, 600);
    std::fs::write(folder.path("tokens"), "secret\n").unwrap();
    let service = Service::start(&folder, "model.json network.json --audit audit.jsonl");
    let mut block: Option<(String, String)> = None;
    let (mut shell, mut python) = (0, 0);
    let has = |program: &str, words: &[&str]| {
        let run = Command::new(program).args(words).stderr(Stdio::null()).output();
        run.is_ok_and(|output| output.status.success())
    };
    let interpreter = std::env::var("PROBE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let (has_curl, has_httpx) =
        (has("curl", &["--version"]), has(&interpreter, &["-c", "import httpx"]));
    for line in page.lines() {
        match (&mut block, line.strip_prefix("```")) {
            (None, Some(language)) => block = Some((language.to_owned(), String::new())),
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (Some(_), Some(_)) => {
                let Some((language, text)) = block.take() else { continue };
                let text = text.replace("http://127.0.0.1:8080", &service.address);
                let mut command = match language.as_str() {
                    "sh" if text.starts_with("curl") && has_curl => {
                        shell += 1;
                        let mut command = Command::new("sh");
                        command.args(["-ec", &text.replace("curl ", "curl --fail-with-body ")]);
                        command
                    }
                    "python" if has_httpx => {
                        python += 1;
                        let mut command = Command::new(&interpreter);
                        command.args(["-c", &text]);
                        command
                    }
                    _ => continue,
                };
                let output = command.current_dir(folder.dir()).output().unwrap();
                assert!(
                    output.status.success(),
                    "{text}\n{}{}",
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                );
            }
            (None, None) => {}
        }
    }
    assert!(!has_curl || shell >= 4, "{shell} examples for curl");
    assert!(!has_httpx || python >= 2, "{python} examples for Python");
}
