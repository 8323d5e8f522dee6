//! Settings of the service.

use serde_json::{Map, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of the service; see `probe serve --help`.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// File of bearer tokens, one a line.
    pub token_file: Option<PathBuf>,
    /// Certificate chain and key of TLS, as PEM files.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Most bytes of a body that is kept in memory, decompressed.
    pub max_body: usize,
    /// Most people of a request. Streams have no limit unless it is given.
    pub max_people: Option<u64>,
    /// Time for the answers of a request.
    pub timeout: Duration,
    /// Time for a body to arrive, and for a client to take the next bytes.
    pub body_timeout: Duration,
    /// Time for the headers of a request.
    pub header_timeout: Duration,
    /// Time that requests get to finish when the service is told to stop.
    pub grace: Duration,
    /// Most connections at a time.
    pub max_connections: usize,
    /// Jobs that may wait for a thread.
    pub queue: usize,
    /// Threads that compute.
    pub threads: usize,
    /// Audit file.
    pub audit: Option<PathBuf>,
    /// Reference rows for methods and letters.
    pub reference: Option<PathBuf>,
    /// Origins that browsers may ask from; none unless given.
    pub cors: Vec<String>,
    /// Whether methods other than `probe` are served: they have no limit on their work.
    pub any_method: bool,
    /// Fields of a request that replace the usual defaults.
    pub defaults: Map<String, Value>,
    /// How often the folder of models is looked at.
    pub poll: Duration,
    /// Prepared questions that are kept.
    pub prepared: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            token_file: None,
            tls: None,
            max_body: 64 << 20,
            max_people: None,
            timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            header_timeout: Duration::from_secs(10),
            grace: Duration::from_secs(10),
            max_connections: 10_000,
            queue: 256,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            audit: None,
            reference: None,
            cors: Vec::new(),
            any_method: false,
            defaults: Map::new(),
            poll: Duration::from_secs(1),
            prepared: 32,
        }
    }
}

/// Most people of a body that is kept in memory, unless a number is given.
pub(crate) const MOST_PEOPLE: u64 = 100_000;
