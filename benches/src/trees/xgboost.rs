//! Samples scored per second, against XGBoost on the same trees, samples and threads.
//!
//! The script in `benches/trees` writes our trees as an XGBoost model, whose margins are compared
//! with ours before anything is timed.

use super::{SEED, SIGMA, Subject};
use anyhow::{Context as _, Result, ensure};
use probe_bench::clock::best_of;
use probe_bench::{folders, python};
use probe_core::invalidation::{NoisyScores, RankedErrors};
use probe_core::{Model as _, Purpose, Rows};
use probe_io::ModelFile;
use rayon::prelude::*;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const FOLDER: &str = "trees";
const POINTS: usize = 64;
const SAMPLES: usize = RankedErrors::MOST;
const THREADS: [usize; 2] = [1, 2];
const REPEATS: usize = 5;

const HEADER: &str = "\
| model | threads | ours | XGBoost: inplace_predict | predict on a DMatrix | all points at once | \
ours is, over the fastest | decisions that differ |
|---|---|---|---|---|---|---|---|";

const COLUMNS: &str = "\
Millions of noisy samples scored per second, 16,384 around each of 64 denied people; wall time, \
best of 5, both programs on the same machine one after the
other. Ours counts what it does for each point: placing the cuts among the errors, collapsing the \
trees, scoring, and scoring again what is too close to call.
Not counted, for either: drawing the errors. Not counted for ours: sorting the errors once for all \
points (given in brackets, in ms), and for XGBoost:
adding them to the points and making its matrices. Ours returns the exact decision and a score of \
16-bit leaves; XGBoost a margin in single precision.
";

/// What the script writes.
#[derive(Deserialize)]
struct Outcome {
    version: String,
    per_second: BTreeMap<String, Vec<f64>>,
}

/// The section of the document; without XGBoost, why there is none.
pub(super) fn section(subjects: &[Subject]) -> Result<String> {
    let python = match python::environment(FOLDER) {
        Ok(python) => python,
        Err(error) => return Ok(format!("Not measured: {error:#}. {}\n", python::needs(FOLDER))),
    };
    let (mut rows, mut version) = (Vec::new(), String::new());
    for subject in subjects {
        let (found, by) = compare(&python, subject)?;
        found.iter().for_each(|row| eprintln!("{row}"));
        rows.extend(found);
        version = by;
    }
    Ok(format!("XGBoost {version}. {COLUMNS}\n{HEADER}\n{}\n", rows.join("\n")))
}

fn compare(python: &Path, subject: &Subject) -> Result<(Vec<String>, String)> {
    let d = subject.names.len();
    let n = POINTS.min(subject.people.len() / d);
    let mut stream = SEED.stream(Purpose::Data, 0x7867_626f);
    let errors: Vec<f64> = (0..SAMPLES * d).map(|_| SIGMA * stream.normal()).collect();
    let theirs = ask(python, subject, n, &errors)?;
    let rows = Rows::new(&errors, d)?;
    let ranking = best_of(REPEATS, || RankedErrors::new(rows).map(drop).map_err(Into::into))?;
    let ranked = RankedErrors::new(rows)?;
    let differ = differing(subject, &ranked, &folders::kept(FOLDER)?.join("scores.csv"))?;
    let mut table = Vec::new();
    for (k, threads) in THREADS.into_iter().enumerate() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let seconds = pool.install(|| best_of(REPEATS, || score_all(subject, &ranked, n)))?;
        let ours = (n * SAMPLES) as f64 / seconds;
        let of = |way: &str| {
            theirs
                .per_second
                .get(way)
                .and_then(|speeds| speeds.get(k))
                .copied()
                .context("the script measured it")
        };
        let speeds = [
            of("inplace_predict")?,
            of("predict on a DMatrix")?,
            of("inplace_predict, all points at once")?,
        ];
        let fastest = speeds.into_iter().fold(0.0, f64::max);
        let [inplace, matrix, whole] = speeds.map(|speed| format!("{:.2}", 1e-6 * speed));
        table.push(format!(
            "| {} | {threads} | {:.1} ({:.0} ms) | {inplace} | {matrix} | {whole} | \
             {:.1} times | {} of {} |",
            subject.title,
            1e-6 * ours,
            1e3 * ranking,
            ours / fastest,
            differ.0,
            differ.1
        ));
    }
    Ok((table, theirs.version))
}

/// Scores every sample around the first `n` people.
fn score_all(subject: &Subject, errors: &RankedErrors, n: usize) -> Result<()> {
    let active = vec![true; subject.names.len()];
    let make = || -> Result<_> {
        Ok((
            NoisyScores::new(&subject.model, errors)?,
            vec![false; errors.len()],
            vec![0.0; errors.len()],
        ))
    };
    // One batch per thread, each with a share of the people.
    let share = n.div_ceil(rayon::current_num_threads());
    (0..n).collect::<Vec<_>>().par_chunks(share).try_for_each(|people| {
        let (mut batch, mut refused, mut scores) = make()?;
        people.iter().try_for_each(|&i| {
            Ok(batch.score_into(subject.person(i), &active, &mut refused, &mut scores)?)
        })
    })
}

/// How many decisions differ from XGBoost's on the samples that it wrote, of how many. Fails where
/// scores differ by more than rounding: of samples to single precision, which may carry one across
/// a cut, for one in a thousand of them.
fn differing(subject: &Subject, errors: &RankedErrors, scores: &Path) -> Result<(usize, usize)> {
    let text = std::fs::read_to_string(scores)?;
    let active = vec![true; subject.names.len()];
    let mut batch = NoisyScores::new(&subject.model, errors)?;
    let (mut refused, mut ours) = (vec![false; errors.len()], vec![0.0; errors.len()]);
    let (mut differ, mut far, mut total) = (0, 0, 0);
    for (i, line) in text.lines().enumerate() {
        let theirs = line.split(',').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>()?;
        ensure!(theirs.len() == errors.len(), "the script scored {} samples", theirs.len());
        batch.score_into(subject.person(i), &active, &mut refused, &mut ours)?;
        let size = ours.iter().fold(1e-3_f64, |most, score| most.max(score.abs()));
        for ((refused, ours), theirs) in refused.iter().zip(&ours).zip(&theirs) {
            differ += usize::from(*refused != (*theirs <= 0.0));
            far += usize::from((ours - theirs).abs() > 1e-3 * size);
        }
        total += theirs.len();
    }
    ensure!(
        total > 0 && far * 1_000 <= total && differ * 1_000 <= total,
        "{}: {differ} decisions and {far} scores of {total} differ from \
         XGBoost's: not the same trees",
        subject.title
    );
    Ok((differ, total))
}

fn ask(python: &Path, subject: &Subject, n: usize, errors: &[f64]) -> Result<Outcome> {
    let folder = folders::kept(FOLDER)?;
    let d = subject.names.len();
    ensure!(subject.model.n_features() == d, "one name per feature");
    ModelFile::new(subject.names.clone(), subject.model.clone(), None)?
        .save(folder.join("model.json"))?;
    write(&folder.join("points.csv"), &subject.people[..n * d], d)?;
    write(&folder.join("errors.csv"), errors, d)?;
    let threads = THREADS.map(|threads| threads.to_string());
    let status = Command::new(python)
        .arg(python::scripts(FOLDER).join("predict.py"))
        .arg(&folder)
        .args(["--repeats", &REPEATS.to_string(), "--threads"])
        .args(threads)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", python.display()))?;
    ensure!(status.success(), "predict.py failed: {status}");
    Ok(serde_json::from_slice(&std::fs::read(folder.join("out.json"))?)?)
}

fn write(path: &Path, values: &[f64], d: usize) -> Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    for row in values.chunks_exact(d) {
        writer.write_record(row.iter().map(f64::to_string))?;
    }
    Ok(writer.flush()?)
}
