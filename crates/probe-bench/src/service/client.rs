//! A small HTTP client on blocking sockets, which costs little beside what it measures.

use anyhow::{Context as _, Result, bail};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Requests that are sent one after the other, again and again.
#[derive(Debug, Clone)]
pub(super) struct Load(Vec<Vec<u8>>);

impl Load {
    /// One person per request.
    pub(super) fn new(path: &str, people: &[String]) -> Self {
        Self(
            people
                .iter()
                .map(|person| request(path, &format!("{{\"people\":[{person}]}}")))
                .collect(),
        )
    }

    /// All people in one request.
    pub(super) fn batch(path: &str, people: &[String]) -> Self {
        Self(vec![request(path, &format!("{{\"people\":[{}]}}", people.join(",")))])
    }

    /// Requests that are rejected.
    pub(super) fn broken(path: &str) -> Self {
        let bodies = ["", "{", "{\"people\":[]}", "{\"people\":[{\"x0\":\"a\"}]}"];
        Self(bodies.iter().map(|body| request(path, body)).collect())
    }
}

fn request(path: &str, body: &str) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    (head + body).into_bytes()
}

/// What a load measured.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) n: usize,
    pub(super) per_second: f64,
    /// Milliseconds, sorted.
    latencies: Vec<f64>,
}

impl Measured {
    pub(super) fn percentile(&self, share: f64) -> f64 {
        let at = (share * self.latencies.len() as f64) as usize;
        self.latencies.get(at.min(self.latencies.len().saturating_sub(1))).copied().unwrap_or(0.0)
    }
}

/// A connection that is kept.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    body: Vec<u8>,
}

impl Client {
    pub(super) fn connect(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::with_capacity(1 << 16, stream), body: Vec::new() })
    }

    /// Sends a request, and returns the answer's status.
    fn ask(&mut self, request: &[u8]) -> Result<u16> {
        self.stream.get_mut().write_all(request)?;
        let (status, length) = self.head()?;
        self.body.resize(length.context("no length")?, 0);
        self.stream.read_exact(&mut self.body)?;
        Ok(status)
    }

    /// Status and length of an answer.
    fn head(&mut self) -> Result<(u16, Option<usize>)> {
        let (mut line, mut status, mut length) = (String::new(), 0, None);
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the connection was closed");
            }
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest.get(..3).unwrap_or_default().parse()?;
            } else if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = Some(rest.trim().parse()?);
            } else if line == "\r\n" {
                return Ok((status, length));
            }
        }
    }
}

/// As many requests as possible, each connection one after the other.
pub(super) fn closed(
    address: &str,
    load: &Load,
    connections: usize,
    span: Duration,
) -> Result<Measured> {
    drive(address, load, connections, span, None)
}

/// A fixed number of requests a second. Latency counts from the time at which a request was due.
pub(super) fn open(
    address: &str,
    load: &Load,
    connections: usize,
    per_second: f64,
    span: Duration,
) -> Result<Measured> {
    let every = Duration::from_secs_f64(connections as f64 / per_second);
    drive(address, load, connections, span, Some(every))
}

fn drive(
    address: &str,
    load: &Load,
    connections: usize,
    span: Duration,
    every: Option<Duration>,
) -> Result<Measured> {
    let started = Instant::now();
    let one = |number: usize| -> Result<Vec<f64>> {
        let mut client = Client::connect(address)?;
        let mut latencies = Vec::new();
        let offset = every.map(|every| every.mul_f64(number as f64 / connections as f64));
        for k in 0.. {
            if started.elapsed() >= span {
                break;
            }
            let mut due = Instant::now();
            if let Some((every, offset)) = every.zip(offset) {
                let at = started + offset + every * k;
                if let Some(wait) = at.checked_duration_since(due) {
                    std::thread::sleep(wait);
                }
                due = at;
            }
            let at = (number * 31 + k as usize) % load.0.len();
            let status = client.ask(&load.0[at])?;
            if ![200, 400].contains(&status) {
                bail!("status {status}");
            }
            latencies.push(due.elapsed().as_secs_f64() * 1e3);
        }
        Ok(latencies)
    };
    let all: Vec<Result<Vec<f64>>> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..connections).map(|number| scope.spawn(move || one(number))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a client failed")))
            .collect()
    });
    let mut latencies = Vec::new();
    for one in all {
        latencies.extend(one?);
    }
    latencies.sort_by(f64::total_cmp);
    let per_second = latencies.len() as f64 / started.elapsed().as_secs_f64();
    Ok(Measured { n: latencies.len(), per_second, latencies })
}

/// Sends a file as a stream while reading the answer; gives its length. `look` is called now and
/// then.
pub(super) fn stream(
    address: &str,
    path: &str,
    file: &Path,
    mut look: impl FnMut(),
) -> Result<usize> {
    let mut client = Client::connect(address)?;
    let mut writer = client.stream.get_ref().try_clone()?;
    let mut input = File::open(file)?;
    let head = format!(
        "POST {path}?sigma=0.05 HTTP/1.1\r\nhost: localhost\r\n\
         content-type: application/x-ndjson\r\ncontent-length: {}\r\n\r\n",
        input.metadata()?.len()
    );
    let sender = std::thread::spawn(move || -> Result<()> {
        writer.write_all(head.as_bytes())?;
        std::io::copy(&mut input, &mut writer)?;
        Ok(())
    });
    let (status, length) = client.head()?;
    if status != 200 || length.is_some() {
        bail!("status {status}");
    }
    let (mut total, mut line, mut piece, mut n) = (0, String::new(), Vec::new(), 0_u64);
    loop {
        line.clear();
        client.stream.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16)?;
        piece.resize(size + 2, 0);
        client.stream.read_exact(&mut piece)?;
        if size == 0 {
            break;
        }
        total += size;
        n += 1;
        if n.is_multiple_of(64) {
            look();
        }
    }
    match sender.join() {
        Ok(sent) => sent?,
        Err(_) => bail!("the sender failed"),
    }
    Ok(total)
}

/// Reads to the end, and counts the bytes.
pub(super) fn drain(mut input: impl Read) -> Result<usize> {
    let (mut total, mut piece) = (0, vec![0; 1 << 18]);
    loop {
        match input.read(&mut piece)? {
            0 => return Ok(total),
            n => total += n,
        }
    }
}
