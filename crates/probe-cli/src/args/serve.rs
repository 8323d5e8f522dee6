//! Flags of `probe serve`.

use super::ask::{Assume, Assurance, Measure, Rates, Seek, Wishes};
use super::values::{positive, size};
use clap::{Args, ValueEnum, ValueHint};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Answer over HTTP, with the same bytes as the commands.
///
/// Without a model, serves the built-in demo model. The flags of a question are the defaults of
/// requests. docs/service.md has examples for curl and Python.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe serve
  probe serve model.json network.json -r 0.05 --sigma 0.05
  probe serve --models models --listen 0.0.0.0:8080 --token-file tokens
  probe serve model.json --tls-cert cert.pem --tls-key key.pem --audit audit.jsonl")]
pub(crate) struct Serve {
    /// Model files to serve, each under its file's name.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) model: Vec<PathBuf>,
    /// Folder of model files. Files that change are loaded while requests are answered; one that
    /// does not load leaves the old model in place. NAME.schema.toml is the schema of NAME.onnx.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) models: Option<PathBuf>,
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub(crate) listen: SocketAddr,
    /// File of bearer tokens, one a line; requests without one of them are rejected.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificate chain for TLS (PEM).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key for TLS (PEM).
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Largest body that is kept in memory, decompressed; NDJSON is streamed and may be larger.
    #[arg(long, value_name = "SIZE", default_value = "64MiB", value_parser = size)]
    pub(crate) max_body: usize,
    /// Most people of a request [default: 100000; no limit for NDJSON].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_people: Option<u64>,
    /// Seconds for the answers of a request, and of each part of a stream. People who are not
    /// answered by then get the reason search-limit.
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = positive)]
    pub(crate) timeout: f64,
    /// Seconds for a body to arrive, and for a client to take the next bytes of an answer.
    #[arg(long, value_name = "S", default_value_t = 30.0, value_parser = positive)]
    pub(crate) body_timeout: f64,
    /// Seconds for the headers of a request.
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = positive)]
    pub(crate) header_timeout: f64,
    /// Seconds that requests get to finish after SIGTERM; others are answered 503.
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = positive)]
    pub(crate) grace: f64,
    /// Jobs that may wait for a thread; further requests are answered 429.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) queue: usize,
    /// Most connections at a time.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub(crate) max_connections: usize,
    /// Append a record of every recourse and letter to this file, on the disk before the answer is
    /// sent; see `probe audit verify`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    /// Origin of web pages that may ask from a browser; repeatable, * for all [default: none].
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) cors: Vec<String>,
    /// Serve methods other than probe, too. Their work has no limit.
    #[arg(long)]
    pub(crate) any_method: bool,
    /// Form of the log.
    #[arg(long, value_name = "json|text", default_value = "json", value_enum)]
    #[arg(hide_possible_values = true)]
    pub(crate) log_format: LogFormat,
    #[command(flatten)]
    pub(crate) assume: Assume,
    #[command(flatten)]
    pub(crate) seek: Seek,
    #[command(flatten)]
    pub(crate) wishes: Wishes,
    #[command(flatten)]
    pub(crate) rates: Rates,
    #[command(flatten)]
    pub(crate) measure: Measure,
    #[command(flatten)]
    pub(crate) assurance: Assurance,
}

/// `--log-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}
