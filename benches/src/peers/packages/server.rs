//! A package in a process of its own, which is asked line by line.

use super::super::script::on_one_thread;
use anyhow::{Context as _, Result, bail};
use probe_bench::python;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Where its scripts lie, under `benches`.
pub(super) const FOLDER: &str = "peers/packages";

/// A package that is ready, or may become so.
pub(super) struct Server {
    child: Child,
    to: ChildStdin,
    from: Receiver<String>,
}

/// Its reply once it is ready.
#[derive(Deserialize)]
pub(super) struct Ready {
    pub(super) version: String,
    /// Processor seconds of its preparations.
    pub(super) seconds: f64,
    /// Margins of the first training rows.
    pub(super) margins: Vec<f64>,
}

/// Its answers, and the processor seconds of each.
#[derive(Deserialize)]
pub(super) struct Answers {
    pub(super) points: Vec<Option<Vec<f64>>>,
    pub(super) seconds: Vec<f64>,
}

impl Server {
    pub(super) fn start(python: &Path, package: &str, method: &str) -> Result<Self> {
        let mut child = on_one_thread(python)
            .arg(python::scripts(FOLDER).join("serve.py"))
            .args([package, method])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", python.display()))?;
        let to = child.stdin.take().context("it listens")?;
        let lines = BufReader::new(child.stdout.take().context("it speaks")?).lines();
        let (send, from) = channel();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Ok(Self { child, to, from })
    }

    /// Gets it ready for a model, with columns that must stay.
    pub(super) fn prepare(
        &mut self,
        model: &Path,
        train: &Path,
        fixed: &[usize],
        patience: f64,
    ) -> Result<Ready> {
        self.ask(&json!({"model": model, "train": train, "fixed": fixed}), patience)
    }

    /// Asks about people until it has spent this many processor seconds.
    pub(super) fn answer(
        &mut self,
        people: &[&[f64]],
        seconds: f64,
        patience: f64,
    ) -> Result<Answers> {
        self.ask(&json!({"people": people, "seconds": seconds}), patience)
    }

    /// Waits for at most `patience` seconds of the clock.
    fn ask<T: for<'a> Deserialize<'a>>(&mut self, request: &Value, patience: f64) -> Result<T> {
        writeln!(self.to, "{request}").context("it has ended")?;
        let line = match self.from.recv_timeout(Duration::from_secs_f64(patience)) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => bail!("no answer within {patience:.0} s"),
            Err(RecvTimeoutError::Disconnected) => bail!("it ended without an answer"),
        };
        let reply: Value = serde_json::from_str(&line).context("it answers in JSON")?;
        if let Some(error) = reply.get("error").and_then(Value::as_str) {
            bail!("{error}");
        }
        Ok(serde_json::from_value(reply)?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be deep in a search.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
