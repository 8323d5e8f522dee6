//! Data frames: the Python package against the library itself, on the same people, in one run.

use crate::clock::time;
use crate::part::{Figures, Part};
use crate::stats::Repeats;
use crate::subjects::networks::Subject;
use crate::{clock, folders, python, say};
use anyhow::{Context as _, Result, bail};
use probe_core::{Answer, Engine, Linear, Model, Purpose, Rows, Seed, Setup};
use probe_experiments::number::fixed;
use probe_experiments::paper_data::PAPER_DATA;
use probe_io::{Checksum, ModelFile};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// How often each is timed, in turns, and how often in each.
const ROUNDS: usize = 5;
const REPEATS: usize = 2;
const LINEAR: usize = 1_000_000;
const NETWORK: usize = 100_000;
const SEED: Seed = Seed(3);

/// Options of `probe-bench frames`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The package, as a wheel
    #[arg(long)]
    wheel: PathBuf,
    /// People scored by the linear model
    #[arg(long, default_value_t = LINEAR)]
    linear: usize,
    /// People scored by the Adult network
    #[arg(long, default_value_t = NETWORK)]
    network: usize,
}

/// Whom a model is asked about.
struct Case {
    title: String,
    model: Arc<dyn Model>,
    names: Vec<String>,
    people: Vec<f64>,
    r: f64,
}

pub fn run(options: &Options) -> Result<()> {
    let interpreter = python::environment("frames").with_context(|| python::needs("frames"))?;
    python::install(&interpreter, &options.wheel)?;
    let folder = folders::kept("frames")?;
    let mut rows = vec![measure(&linear(options.linear)?, &interpreter, &folder)?];
    match network(options.network) {
        Ok(case) => rows.push(measure(&case, &interpreter, &folder)?),
        Err(error) => eprintln!("the Adult network is left out: {error:#}"),
    }
    let text = render(&rows);
    say(&text);
    if (options.linear, options.network) != (LINEAR, NETWORK) || rows.len() < 2 {
        return Ok(());
    }
    let mut figures = Figures::new();
    for (row, name) in rows.iter().zip(["linear", "network"]) {
        figures.insert(format!("{name}_ratio"), format!("{:.2}", row.ratio.median));
        figures.insert(format!("{name}_most_mb"), format!("{:.0}", row.most));
    }
    Part {
        id: "frames".into(),
        command: "frames".into(),
        document: "docs/python.md".into(),
        title: Some("Speed".into()),
        text,
        figures,
        ..Part::default()
    }
    .store()
}

/// What was measured of a case: seconds, and megabytes.
struct Row {
    title: String,
    library: Repeats,
    frames: Repeats,
    /// Of each turn.
    ratio: Repeats,
    before: f64,
    most: f64,
}

fn render(rows: &[Row]) -> String {
    let between =
        |r: Repeats, unit: &str| format!("{:.2}{unit} ({:.2} to {:.2})", r.median, r.least, r.most);
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "| {} | {} | {} | {} | {:.0} MB | {:.0} MB |",
                row.title,
                between(row.library, " s"),
                between(row.frames, " s"),
                between(row.ratio, ""),
                row.before,
                row.most
            )
        })
        .collect();
    format!(
        "Written by `cargo xtask bench frames`, which builds the wheel in release and lets \
         the package and the Rust library (`Engine::recourse`, rows to answers) answer the same \
         people, in turns, in one run on {}. The points must be equal bit for bit. Medians (least \
         to most) of {ROUNDS} turns; each is the best of {REPEATS} runs.\n\n\
         | people | library | pandas to pandas | ratio | memory before | memory at \
         most |\n|---|---|---|---|---|---|\n{}\n\n\
         Workers write their answers directly into NumPy columns of full length, which pandas \
         uses without a copy. The last column is the largest memory of a second call, while the \
         answers of the first are still in use.",
        clock::machine(),
        lines.join("\n")
    )
}

/// A linear model of 20 features and people without structure.
fn linear(n: usize) -> Result<Case> {
    const D: usize = 20;
    let mut stream = SEED.stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let people = (0..n * D).map(|_| stream.uniform()).collect();
    Ok(Case {
        title: format!("{}, linear, d = {D}, r = 0.1", fixed(n as f64, 0)),
        model: Arc::new(Linear::new(weights, -2.0, 0.0)?),
        names: (0..D).map(|j| format!("x{j}")).collect(),
        people,
        r: 0.1,
    })
}

/// The paper's network on Adult, and people like those it denies: its own, each number moved a
/// little, no two alike.
fn network(n: usize) -> Result<Case> {
    let data =
        PAPER_DATA.iter().find(|data| data.name == "adult").context("no data called adult")?;
    let subject = Subject::load(data, usize::MAX)?;
    let mut stream = SEED.stream(Purpose::Data, 1);
    let d = subject.names.len();
    let mut people = Vec::with_capacity(n * d);
    for i in 0..n {
        people.extend(
            subject
                .person(i % subject.n_people())
                .iter()
                .map(|value| value + 1e-3 * stream.normal()),
        );
    }
    let (model, names) = (subject.model.clone(), subject.names);
    Ok(Case {
        title: format!("{}, Adult network, r = 0.35", fixed(n as f64, 0)),
        model,
        names,
        people,
        r: 0.35,
    })
}

fn measure(case: &Case, interpreter: &Path, folder: &Path) -> Result<Row> {
    let [model, names, people] =
        ["model.json", "names.txt", "people.f64"].map(|name| folder.join(name));
    ModelFile::new(case.names.clone(), case.model.clone(), None)?.save(&model)?;
    std::fs::write(&names, case.names.join("\n"))?;
    let bytes: Vec<u8> = case.people.iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(&people, bytes)?;
    let mut setup = Setup::new(case.model.clone(), case.names.clone(), None, 0.1)?;
    setup.max_rate = case.r;
    let engine = Engine::new(setup)?;
    let rows = Rows::new(&case.people, case.names.len())?;
    let (mut library, mut frames, mut memory) = (Vec::new(), Vec::new(), (0.0, 0.0));
    for _ in 0..ROUNDS {
        let (mut best, mut digest) = (f64::INFINITY, String::new());
        for _ in 0..REPEATS {
            let (answers, took) = time(|| Ok(engine.recourse(rows)?))?;
            best = took.wall.min(best);
            digest = digest_of(&answers);
        }
        library.push(best);
        let mut command = Command::new(interpreter);
        command.arg(python::scripts("frames").join("measure.py")).args([&model, &names, &people]);
        let done = command.arg(case.r.to_string()).arg(REPEATS.to_string()).output()?;
        if !done.status.success() {
            bail!("measure.py failed: {}", String::from_utf8_lossy(&done.stderr));
        }
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [seconds, before, most, theirs] = words[..] else { bail!("measure.py printed {text}") };
        if theirs != digest {
            bail!("{}: the answers are not those of the library", case.title);
        }
        frames.push(seconds.parse()?);
        memory = (before.parse()?, most.parse()?);
    }
    Ok(Row {
        title: case.title.clone(),
        ratio: Repeats::ratios(&frames, &library),
        library: Repeats::of(library),
        frames: Repeats::of(frames),
        before: memory.0,
        most: memory.1,
    })
}

/// Of all points, bit for bit.
fn digest_of(answers: &[Answer]) -> String {
    let bytes: Vec<u8> =
        answers.iter().flat_map(|a| &a.point).flat_map(|value| value.to_ne_bytes()).collect();
    Checksum::of(&bytes)
}
