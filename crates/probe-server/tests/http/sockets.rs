//! What only a socket shows: slow clients, streams both ways, TLS, an orderly end.

use crate::support::*;
use probe_server::{Config, Listener, State, serve};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A service on a free port, which ends when told to.
struct Service {
    address: SocketAddr,
    state: Arc<State>,
    stop: oneshot::Sender<()>,
    done: JoinHandle<()>,
}

impl Service {
    async fn start(config: Config) -> Self {
        let listen = SocketAddr::from(([127, 0, 0, 1], 0));
        let state = state_with(Config { listen, ..config });
        let listener = Listener::open(&state).await.unwrap();
        let address = listener.local().unwrap();
        let (stop, stopped) = oneshot::channel();
        let served = Arc::clone(&state);
        let done = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serve(listener, served, stopped).await.unwrap();
        });
        Self { address, state, stop, done }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn post_of(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\
         content-type: application/json\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request and reads the answer to its end.
async fn ask(stream: &mut TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[test]
fn a_thousand_slow_clients_do_not_block_a_fast_one() {
    run(async {
        let config = Config {
            header_timeout: Duration::from_secs(2),
            body_timeout: Duration::from_secs(2),
            ..quick()
        };
        let service = Service::start(config).await;
        // Each takes two descriptors in this process.
        let n = if cfg!(target_os = "linux") { 1_000.min(descriptors() / 2 - 50) } else { 100 };
        let mut slow = Vec::new();
        for k in 0..n {
            let mut stream = service.connect().await;
            let begun = match k % 3 {
                0 => "POST /v1/models/lin",
                1 => {
                    "POST /v1/models/linear/score HTTP/1.1\r\nhost: x\r\n\
                      content-length: 99\r\n\r\n{"
                }
                _ => {
                    "POST /v1/models/linear/score HTTP/1.1\r\nhost: x\r\ncontent-length: 99\r\n\
                      content-type: application/x-ndjson\r\n\r\n{\"inc"
                }
            };
            stream.write_all(begun.as_bytes()).await.unwrap();
            slow.push((k, stream));
        }
        let request =
            post_of("/v1/models/linear/score", &json!({ "people": people(1) }).to_string());
        let start = Instant::now();
        let answer = ask(&mut service.connect().await, &request).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        // All are let go of in the end, those with a body after an explanation.
        for (k, mut stream) in slow {
            let mut answer = Vec::new();
            let read = stream.read_to_end(&mut answer);
            let _ = tokio::time::timeout(Duration::from_secs(20), read).await.expect("let go of");
            let text = String::from_utf8_lossy(&answer);
            assert!(k % 3 == 0 || text.starts_with("HTTP/1.1 408"), "{k}: {text}");
        }
    });
}

/// How many files this process may open.
fn descriptors() -> usize {
    let text = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("Max open files"));
    line.and_then(|line| line.split_whitespace().nth(3)?.parse().ok()).unwrap_or(1024)
}

#[test]
fn a_client_that_hangs_up_stops_its_work() {
    run(async {
        let service = Service::start(quick()).await;
        let body = json!({ "people": points(60_000), "effort": "thorough" }).to_string();
        let mut stream = service.connect().await;
        stream.write_all(post_of("/v1/models/network/recourse", &body).as_bytes()).await.unwrap();
        let app = probe_server::app(Arc::clone(&service.state));
        let busy = async || {
            let text = get(&app, "/metrics").await.text().to_owned();
            !text.contains("probe_requests_running 0\n")
        };
        let start = Instant::now();
        while !busy().await {
            assert!(start.elapsed() < Duration::from_secs(20));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        drop(stream);
        let start = Instant::now();
        while busy().await {
            assert!(start.elapsed() < Duration::from_secs(10), "still at work");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

#[test]
fn a_stream_answers_each_line_before_the_next_is_sent() {
    run(async {
        let service = Service::start(quick()).await;
        let (read, mut write) = service.connect().await.into_split();
        let mut read = BufReader::new(read);
        let head = "POST /v1/models/linear/recourse?sigma=0.05 HTTP/1.1\r\nhost: x\r\n\
                    transfer-encoding: chunked\r\ncontent-type: application/x-ndjson\r\n\r\n";
        write.write_all(head.as_bytes()).await.unwrap();
        let mut in_head = true;
        for (k, person) in people(5).iter().enumerate() {
            let line = person.to_string() + "\n";
            let chunk = format!("{:x}\r\n{line}\r\n", line.len());
            write.write_all(chunk.as_bytes()).await.unwrap();
            loop {
                let mut line = String::new();
                let wait = Duration::from_secs(10);
                tokio::time::timeout(wait, read.read_line(&mut line)).await.unwrap().unwrap();
                if in_head {
                    in_head = line != "\r\n";
                } else if line.starts_with('{') {
                    let answer: Value = serde_json::from_str(&line).unwrap();
                    assert_eq!(answer["row"], json!(k));
                    break;
                }
            }
        }
        write.write_all(b"0\r\n\r\n").await.unwrap();
        service.stop.send(()).unwrap();
        service.done.await.unwrap();
    });
}

#[test]
fn requests_in_flight_are_finished_at_the_end() {
    run(async {
        let config = Config { grace: Duration::from_secs(120), ..quick() };
        let service = Service::start(config).await;
        let body = json!({ "people": points(300) }).to_string();
        let mut stream = service.connect().await;
        stream.write_all(post_of("/v1/models/network/recourse", &body).as_bytes()).await.unwrap();
        let app = probe_server::app(Arc::clone(&service.state));
        while get(&app, "/metrics").await.text().contains("probe_requests_running 0\n") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        service.stop.send(()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{}", &answer[..200.min(answer.len())]);
        service.done.await.unwrap();
        assert!(TcpStream::connect(service.address).await.is_err());
    });
}

#[test]
fn tls_answers_and_plain_text_does_not() {
    use tokio_rustls::TlsConnector;
    use tokio_rustls::rustls::pki_types::pem::PemObject as _;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};
    run(async {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/http/tls");
        let (cert, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        let service = Service::start(Config { tls: Some((cert.clone(), key)), ..quick() }).await;
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let connector = TlsConnector::from(Arc::new(config));
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = connector.connect(name, service.connect().await).await.unwrap();
        let request = "GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.starts_with(b"HTTP/1.1 200"));
        let mut plain = service.connect().await;
        plain.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = plain.read_to_end(&mut answer).await;
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    });
}
