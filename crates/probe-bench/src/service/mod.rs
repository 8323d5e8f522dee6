//! The HTTP service on loopback: throughput beside a bare axum route, latencies at half of it, a
//! stream beside the command, and memory over time. Client and service share the machine.

mod bare;
mod client;

use crate::say;
use anyhow::{Context as _, Result, bail};
use clap::Args;
use client::{Client, Load};
use probe_core::{Activation, Dense, Linear, Mlp, Purpose, Seed};
use probe_io::ModelFile;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Features of the models.
const D: usize = 12;
/// Hidden units of the network.
const HIDDEN: usize = 32;
/// How often each is measured, in turns.
const TURNS: usize = 3;

/// Flags of `service`.
#[derive(Debug, Args)]
pub struct Options {
    /// The `probe` command
    #[arg(long, default_value = "target/release/probe")]
    probe: PathBuf,
    /// Seconds of each load
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Connections
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// People of the stream
    #[arg(long, default_value_t = 1_000_000)]
    people: usize,
    /// Minutes of mixed load instead of the rest
    #[arg(long)]
    soak: Option<f64>,
    /// Serve the bare route; used by the measurement itself
    #[arg(long, hide = true)]
    bare: bool,
}

/// A service, ended with the measurement.
struct Service {
    child: Child,
    address: String,
}

impl Service {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening on http://").context("no address")?;
        Ok(Self { address: address.to_owned(), child })
    }

    /// Resident memory in MB.
    fn memory(&self) -> Result<f64> {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
        let kib: f64 = line.split_whitespace().nth(1).context("no number")?.parse()?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Measures the service.
pub fn run(options: &Options) -> Result<()> {
    if options.bare {
        return bare::serve();
    }
    let probe = options.probe.canonicalize().context("--probe")?;
    let folder = tempfile::tempdir()?;
    models(folder.path())?;
    let mut command = Command::new(&probe);
    let flags = ["serve", "linear.json", "network.json", "--listen", "127.0.0.1:0"];
    command.args(flags).args(["--sigma", "0.05", "--log", "warn"]).current_dir(folder.path());
    let service = Service::start(&mut command)?;
    if let Some(minutes) = options.soak {
        return soak(&service, options, minutes);
    }
    let bare = Service::start(Command::new(std::env::current_exe()?).args(["service", "--bare"]))?;
    let people = people(200);
    let linear = Load::new("/v1/models/linear/recourse", &people);
    let network = Load::new("/v1/models/network/recourse", &people);
    let span = Duration::from_secs_f64(options.seconds);
    let mut ratios = Vec::new();
    let (mut fastest, mut both) = (f64::MAX, f64::MAX);
    let mut text = String::new();
    for turn in 0..TURNS {
        let plain = client::closed(&bare.address, &linear, options.connections, span)?;
        let own = client::closed(&service.address, &linear, options.connections, span)?;
        let net = client::closed(&service.address, &network, options.connections, span)?;
        ratios.push(own.per_second / plain.per_second);
        (fastest, both) = (fastest.min(own.per_second), both.min(net.per_second));
        writeln!(
            text,
            "turn {turn}: bare route {:.0}/s, linear {:.0}/s ({:.2}), network {:.0}/s",
            plain.per_second,
            own.per_second,
            own.per_second / plain.per_second,
            net.per_second
        )?;
    }
    ratios.sort_by(f64::total_cmp);
    writeln!(text, "one linear person: {:.2} of the bare route (median)", ratios[TURNS / 2])?;
    for (name, load, rate) in [("linear", &linear, fastest), ("network", &network, both)] {
        let at = client::open(&service.address, load, options.connections, rate / 2.0, span)?;
        writeln!(
            text,
            "{name} at {:.0}/s: p50 {:.2} ms, p99 {:.2} ms, p99.9 {:.2} ms",
            rate / 2.0,
            at.percentile(0.5),
            at.percentile(0.99),
            at.percentile(0.999)
        )?;
    }
    text += &stream(&service, &probe, folder.path(), options.people)?;
    say(&text);
    Ok(())
}

/// A million people as NDJSON: the service beside the command, in turns.
fn stream(service: &Service, probe: &Path, folder: &Path, n: usize) -> Result<String> {
    let path = folder.join("people.jsonl");
    let mut file = BufWriter::new(File::create(&path)?);
    for person in people(10_000).iter().cycle().take(n) {
        writeln!(file, "{person}")?;
    }
    file.flush()?;
    let mut text = String::new();
    for turn in 0..2 {
        let started = Instant::now();
        let words = ["recourse", "linear.json", "people.jsonl", "--sigma", "0.05", "--quiet"];
        let mut command = Command::new(probe);
        command.args(words).args(["--format", "jsonl"]).current_dir(folder);
        // Through a pipe, as over a socket.
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let out = child.stdout.take().context("no output")?;
        let bytes = client::drain(out)?;
        if !child.wait()?.success() {
            bail!("the command failed");
        }
        let alone = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let before = service.memory()?;
        let (mut peak, watch) = (before, service);
        let got = client::stream(&service.address, "/v1/models/linear/recourse", &path, || {
            if let Ok(memory) = watch.memory() {
                peak = peak.max(memory);
            }
        })?;
        let over = started.elapsed().as_secs_f64();
        if got != bytes {
            bail!("{got} bytes over HTTP, {bytes} from the command");
        }
        writeln!(
            text,
            "stream {turn}: {n} people, command {alone:.1} s, service {over:.1} s ({:.2} of its \
             speed), memory {before:.0} MB before, at most {peak:.0} MB",
            alone / over
        )?;
    }
    Ok(text)
}

/// Mixed load, and the memory minute by minute.
fn soak(service: &Service, options: &Options, minutes: f64) -> Result<()> {
    let people = people(500);
    let loads = [
        Load::new("/v1/models/linear/recourse", &people),
        Load::new("/v1/models/network/recourse", &people),
        Load::new("/v1/models/linear/frontier", &people),
        Load::new("/v1/models/network/score", &people),
        Load::new("/v1/models/linear/letters", &people),
        Load::batch("/v1/models/linear/recourse", &people),
        Load::broken("/v1/models/linear/recourse"),
    ];
    let started = Instant::now();
    let end = Duration::from_secs_f64(60.0 * minutes);
    let (mut requests, mut next) = (0, Duration::ZERO);
    while started.elapsed() < end {
        for load in &loads {
            let span = Duration::from_secs(1);
            requests += client::closed(&service.address, load, options.connections, span)?.n;
        }
        if started.elapsed() >= next {
            say(&format!(
                "{:5.1} min: {requests} requests, {:.1} MB",
                started.elapsed().as_secs_f64() / 60.0,
                service.memory()?
            ));
            next += Duration::from_secs(60);
        }
    }
    say(&format!("end: {requests} requests, {:.1} MB", service.memory()?));
    drop(Client::connect(&service.address)?);
    Ok(())
}

fn models(folder: &Path) -> Result<()> {
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let mut stream = Seed(1).stream(Purpose::Data, 1);
    let mut draw =
        |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| scale * stream.normal()).collect() };
    let linear = Linear::new(draw(D, 2.0), -1.0, 0.0)?;
    ModelFile::new(names.clone(), Arc::new(linear), None)?.save(folder.join("linear.json"))?;
    let layers = vec![
        Dense { weight: draw(D * HIDDEN, 0.6), bias: draw(HIDDEN, 0.3) },
        Dense { weight: draw(HIDDEN, 0.6), bias: vec![-0.5] },
    ];
    let network = Mlp::new(layers, Activation::Relu, 0.0)?;
    ModelFile::new(names, Arc::new(network), None)?.save(folder.join("network.json"))?;
    Ok(())
}

/// People with values between 0 and 1, as JSON.
fn people(n: usize) -> Vec<String> {
    let mut stream = Seed(2).stream(Purpose::Data, 2);
    let mut person = |_| {
        let cells: Vec<String> =
            (0..D).map(|j| format!("\"x{j}\":{:.4}", stream.uniform())).collect();
        format!("{{{}}}", cells.join(","))
    };
    (0..n).map(&mut person).collect()
}
