//! Scripts that answer people in one go.

use super::{FOLDER, SIGMA};
use anyhow::{Context as _, Result, ensure};
use probe_bench::{folders, python};
use probe_core::Model;
use probe_io::ModelFile;
use serde::Deserialize;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// What a script writes.
#[derive(Deserialize)]
pub(super) struct Outcome {
    pub(super) points: Vec<Option<Vec<f64>>>,
    pub(super) cpu_seconds: f64,
    pub(super) note: String,
}

/// A model and the people it denies, as a script gets them.
pub(super) struct Request<'a> {
    pub(super) model: Arc<dyn Model>,
    pub(super) names: &'a [String],
    /// Row after row.
    pub(super) people: &'a [f64],
    pub(super) r: f64,
}

impl Request<'_> {
    pub(super) fn n_people(&self) -> usize {
        self.people.len() / self.names.len()
    }

    pub(super) fn person(&self, i: usize) -> &[f64] {
        &self.people[i * self.names.len()..][..self.names.len()]
    }

    /// The first `n` people alone.
    pub(super) fn first(&self, n: usize) -> Request<'_> {
        let n = n.min(self.n_people());
        Request {
            model: self.model.clone(),
            people: &self.people[..n * self.names.len()],
            ..*self
        }
    }

    /// Runs a script with these flags on the people.
    pub(super) fn ask(&self, python: &Path, script: &str, flags: &[&str]) -> Result<Outcome> {
        let folder = folders::kept(FOLDER)?;
        let [model, people, out] =
            ["model.json", "people.csv", "out.json"].map(|name| folder.join(name));
        ModelFile::new(self.names.to_vec(), self.model.clone(), None)?.save(&model)?;
        write_rows(&people, self.names, self.people)?;
        let status = on_one_thread(python)
            .arg(python::scripts(FOLDER).join(script))
            .args([&model, &people, &out])
            .args(["--rate", &self.r.to_string(), "--sigma", &SIGMA.to_string()])
            .args(flags)
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("cannot start {}", python.display()))?;
        ensure!(status.success(), "{script} failed: {status}");
        let outcome: Outcome = serde_json::from_slice(&std::fs::read(&out)?)?;
        let (asked, answered) = (self.n_people(), outcome.points.len());
        ensure!(answered == asked, "{script} answered {answered} of {asked} people");
        Ok(outcome)
    }
}

/// Python on one thread, whatever library takes part, that keeps the memory it has freed. Large
/// tensors go back to the system otherwise or not, as it happens, and where they do the same search
/// takes four times as long from one run to the next.
pub(super) fn on_one_thread(python: &Path) -> Command {
    let mut command = Command::new(python);
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"] {
        command.env(name, "1");
    }
    for name in ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"] {
        command.env(name, "4294967296");
    }
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A table of numbers with a header.
pub(super) fn write_rows(path: &Path, names: &[String], values: &[f64]) -> Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    writer.write_record(names)?;
    for row in values.chunks_exact(names.len()) {
        writer.write_record(row.iter().map(f64::to_string))?;
    }
    Ok(writer.flush()?)
}
