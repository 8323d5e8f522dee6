//! Margins of other libraries' models, as we read them, against the library itself: ten thousand
//! rows each, on thresholds and next to them.

use crate::{folders, python, say};
use anyhow::{Context as _, Result, ensure};
use probe_core::Rows;
use probe_io::ModelFile;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Environments, each with one version of every library it is about, and where the script is that
/// makes the models.
const ENVIRONMENTS: [(&str, &str); 4] = [
    ("models/old", "models"),
    ("models/new", "models"),
    ("models/onnx", "models/onnx"),
    ("models/objects", "models/objects"),
];
/// How far margins may differ: the libraries may add in single precision.
const TOLERANCE: f64 = 1e-5;

/// What a comparison found.
struct Found {
    rows: usize,
    missing: usize,
    largest: f64,
    /// Decisions that differ, and those of them farther from the cut-off than the tolerance.
    differ: usize,
    wrong: usize,
}

/// Makes the models, scores them and fails where margins differ by more than the tolerance.
pub fn run() -> Result<()> {
    say("| model | rows | with missing values | largest difference of margins | decisions that \
         differ |\n|---|---|---|---|---|");
    let mut faults = Vec::new();
    for (name, script) in ENVIRONMENTS {
        for path in make(name, script)? {
            let title = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let found = compare(&path).with_context(|| title.clone())?;
            let Found { rows, missing, largest, differ, wrong } = found;
            say(&format!("| {title} | {rows} | {missing} | {largest:.1e} | {differ} |"));
            // Written so that NaN is a fault.
            if !(largest <= TOLERANCE && wrong == 0) {
                faults.push(title);
            }
        }
    }
    ensure!(faults.is_empty(), "margins differ by more than {TOLERANCE}: {}", faults.join(", "));
    Ok(())
}

/// Makes the model files of an environment; existing ones are replaced.
fn make(name: &str, script: &str) -> Result<Vec<PathBuf>> {
    let python = python::environment(name).with_context(|| python::needs(name))?;
    let folder = folders::kept(name)?.join("files");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let status = Command::new(&python)
        .arg(python::scripts(script).join("make.py"))
        .arg(&folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", python.display()))?;
    ensure!(status.success(), "make.py failed: {status}");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending != "csv") {
            files.push(path);
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "make.py wrote no model");
    Ok(files)
}

fn compare(path: &Path) -> Result<Found> {
    let file = ModelFile::load(path)?;
    let d = file.features.len();
    let mut table = csv::Reader::from_path(path.with_extension("csv"))?;
    let named: Vec<&str> = table.headers()?.iter().collect();
    ensure!(
        named[..d] == file.features && named[d..] == ["margin"],
        "the table has other columns than the model"
    );
    let (mut rows, mut theirs) = (Vec::new(), Vec::new());
    for record in table.records() {
        for (j, cell) in record?.iter().enumerate() {
            let value = if cell.is_empty() { f64::NAN } else { cell.parse()? };
            if j < d { rows.push(value) } else { theirs.push(value) }
        }
    }
    let mut ours = vec![0.0; theirs.len()];
    file.model.score_batch(Rows::new(&rows, d)?, &mut ours)?;
    let missing = rows.chunks_exact(d).filter(|row| row.iter().any(|value| value.is_nan())).count();
    let mut found = Found { rows: theirs.len(), missing, largest: 0.0, differ: 0, wrong: 0 };
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let difference = (ours - theirs).abs();
        ensure!(difference.is_finite(), "margins {ours} and {theirs}");
        found.largest = found.largest.max(difference);
        let differs = (*ours > 0.0) != (*theirs > 0.0);
        found.differ += usize::from(differs);
        found.wrong += usize::from(differs && theirs.abs() > TOLERANCE);
    }
    Ok(found)
}
