//! What one person costs by the command, which starts for them, and by a call from Python.

use super::{RATE, SIGMA, in_ms, linear_people};
use crate::stats::percentile;
use crate::subjects::networks::Subject;
use crate::{folders, python};
use anyhow::{Context as _, Result, bail};
use probe_core::Model;
use probe_experiments::paper_data::PAPER_DATA;
use probe_io::ModelFile;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// Calls for one person each.
pub(super) struct Front {
    what: String,
    /// Sorted, in seconds.
    seconds: Vec<f64>,
}

impl Front {
    fn new(what: String, mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        Self { what, seconds }
    }

    pub(super) fn what(&self) -> &str {
        &self.what
    }

    pub(super) fn p(&self, p: f64) -> f64 {
        percentile(&self.seconds, p)
    }
}

/// A model with people whom it denies.
struct Case {
    title: &'static str,
    model: Arc<dyn Model>,
    names: Vec<String>,
    people: Vec<f64>,
}

/// The command, and where there is a wheel Python, for `n` people each.
pub(super) fn measure(probe: &Path, wheel: Option<&Path>, n: usize) -> Result<Vec<Front>> {
    let probe =
        &probe.canonicalize().with_context(|| format!("no binary at {}", probe.display()))?;
    let (model, people) = linear_people(n)?;
    let names = (0..super::D).map(|j| format!("x{j}")).collect();
    let mut cases = vec![Case { title: "linear, d = 20", model, names, people }];
    let subject = Subject::load(&PAPER_DATA[0], n)?;
    cases.push(Case {
        title: "Adult network",
        model: subject.model.clone(),
        names: subject.names.clone(),
        people: subject.people.clone(),
    });
    let mut fronts = Vec::new();
    for case in &cases {
        let folder = tempfile::tempdir()?;
        let model = folder.path().join("model.json");
        ModelFile::new(case.names.clone(), case.model.clone(), None)?.save(&model)?;
        fronts.push(Front::new(
            format!("`probe recourse`, {}", case.title),
            by_command(probe, case, folder.path())?,
        ));
        if let Some(wheel) = wheel {
            let seconds = from_python(wheel, case, folder.path())?;
            fronts.push(Front::new(
                format!("Python, `engine.recourse` of one row, {}", case.title),
                seconds,
            ));
        }
    }
    Ok(fronts)
}

fn by_command(probe: &Path, case: &Case, folder: &Path) -> Result<Vec<f64>> {
    let header = case.names.join(",");
    let mut seconds = Vec::new();
    for person in case.people.chunks_exact(case.names.len()) {
        let row: Vec<String> = person.iter().map(f64::to_string).collect();
        std::fs::write(folder.join("people.csv"), format!("{header}\n{}\n", row.join(",")))?;
        let mut command = Command::new(probe);
        command.args(["recourse", "model.json", "people.csv", "-o", "out.csv", "--quiet", "-r"]);
        command.args([&RATE.to_string(), "--sigma", &SIGMA.to_string()]).current_dir(folder);
        let started = Instant::now();
        let status =
            command.status().with_context(|| format!("cannot start {}", probe.display()))?;
        seconds.push(started.elapsed().as_secs_f64());
        if !status.success() {
            bail!("probe recourse failed: {status}");
        }
    }
    Ok(seconds)
}

/// Times as the script prints them.
fn from_python(wheel: &Path, case: &Case, folder: &Path) -> Result<Vec<f64>> {
    let interpreter = python::environment("frames").with_context(|| python::needs("frames"))?;
    python::install(&interpreter, wheel)?;
    std::fs::write(folder.join("names.txt"), case.names.join("\n"))?;
    let bytes: Vec<u8> = case.people.iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(folder.join("people.f64"), bytes)?;
    let done = Command::new(&interpreter)
        .arg(folders::root().join("benches/frames/one.py"))
        .args(["model.json", "names.txt", "people.f64", &RATE.to_string()])
        .current_dir(folder)
        .output()?;
    if !done.status.success() {
        bail!("one.py failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    text.split_whitespace().map(|word| Ok(word.parse()?)).collect()
}

pub(super) fn render(fronts: &[Front]) -> String {
    let mut lines =
        vec!["| one person | calls | p50, ms | p90 | longest |\n|---|---|---|---|---|".to_owned()];
    for front in fronts {
        let cells = [0.5, 0.9, 1.0].map(|p| in_ms(front.p(p)));
        lines.push(format!("| {} | {} | {} |", front.what, front.seconds.len(), cells.join(" | ")));
    }
    lines.join("\n") + "\n"
}
