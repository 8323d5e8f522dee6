//! Data frames: the Python package against the library itself, on the same people, in one run.

use crate::clock::time;
use crate::networks::Subject;
use crate::{folders, python, say};
use anyhow::{Context as _, Result, bail};
use probe_core::{Answer, Engine, Linear, Model, Purpose, Rows, Seed, Setup};
use probe_experiments::paper_data::PAPER_DATA;
use probe_io::{Checksum, ModelFile};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// How often each is timed, in turn; the best counts.
const ROUNDS: usize = 3;
const SEED: Seed = Seed(3);

/// Options of `probe-bench frames`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The package, as a wheel
    #[arg(long)]
    wheel: PathBuf,
    /// People before the linear model
    #[arg(long, default_value_t = 1_000_000)]
    linear: usize,
    /// People before the Adult network
    #[arg(long, default_value_t = 100_000)]
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

pub(crate) fn run(options: &Options) -> Result<()> {
    let interpreter = python::environment("frames").with_context(|| python::needs("frames"))?;
    python::install(&interpreter, &options.wheel)?;
    let folder = folders::kept("frames")?;
    say("| people | library | pandas to pandas | ratio | the people alone | at most |");
    say("|---|---|---|---|---|---|");
    measure(&linear(options.linear)?, &interpreter, &folder)?;
    match network(options.network) {
        Ok(case) => measure(&case, &interpreter, &folder),
        Err(error) => {
            eprintln!("the Adult network is left out: {error:#}");
            Ok(())
        }
    }
}

/// A linear model of 20 features and people without structure.
fn linear(n: usize) -> Result<Case> {
    const D: usize = 20;
    let mut stream = SEED.stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let people = (0..n * D).map(|_| stream.uniform()).collect();
    Ok(Case {
        title: format!("{n}, linear, d = {D}, r = 0.1"),
        model: Arc::new(Linear::new(weights, -2.0, 0.0)?),
        names: (0..D).map(|j| format!("x{j}")).collect(),
        people,
        r: 0.1,
    })
}

/// The paper's network on Adult, and people like those it denies: its own, each number moved a little, no two alike.
fn network(n: usize) -> Result<Case> {
    let data = PAPER_DATA.iter().find(|data| data.name == "adult").context("no data called adult")?;
    let subject = Subject::load(data, usize::MAX)?;
    let mut stream = SEED.stream(Purpose::Data, 1);
    let d = subject.names.len();
    let mut people = Vec::with_capacity(n * d);
    for i in 0..n {
        people.extend(
            subject.person(i % subject.n_people()).iter().map(|value| value + 1e-3 * stream.normal()),
        );
    }
    let (model, names) = (subject.model.clone(), subject.names);
    Ok(Case { title: format!("{n}, Adult network, r = 0.35"), model, names, people, r: 0.35 })
}

fn measure(case: &Case, interpreter: &Path, folder: &Path) -> Result<()> {
    let [model, names, people] = ["model.json", "names.txt", "people.f64"].map(|name| folder.join(name));
    ModelFile::new(case.names.clone(), case.model.clone(), None)?.save(&model)?;
    std::fs::write(&names, case.names.join("\n"))?;
    let bytes: Vec<u8> = case.people.iter().flat_map(|value| value.to_ne_bytes()).collect();
    std::fs::write(&people, bytes)?;
    let mut setup = Setup::new(case.model.clone(), case.names.clone(), None, 0.1)?;
    setup.max_rate = case.r;
    let engine = Engine::new(setup)?;
    let rows = Rows::new(&case.people, case.names.len())?;
    let (mut library, mut frames, mut memory) = (f64::INFINITY, f64::INFINITY, (0.0, 0.0));
    for _ in 0..ROUNDS {
        let (answers, took) = time(|| Ok(engine.recourse(rows)?))?;
        library = library.min(took.wall);
        let digest = digest(&answers);
        drop(answers);
        let mut command = Command::new(interpreter);
        command.arg(python::scripts("frames").join("measure.py")).args([&model, &names, &people]);
        let done = command.arg(case.r.to_string()).arg("2").output()?;
        if !done.status.success() {
            bail!("measure.py failed: {}", String::from_utf8_lossy(&done.stderr));
        }
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        let [seconds, before, most, theirs] = words[..] else { bail!("measure.py printed {text}") };
        if theirs != digest {
            bail!("{}: the answers are not those of the library", case.title);
        }
        frames = frames.min(seconds.parse()?);
        memory = (before.parse()?, most.parse()?);
    }
    say(&format!(
        "| {} | {library:.2} s | {frames:.2} s | {:.2} | {:.0} MB | {:.0} MB |",
        case.title,
        frames / library,
        memory.0,
        memory.1
    ));
    Ok(())
}

/// Of all points, bit for bit.
fn digest(answers: &[Answer]) -> String {
    let bytes: Vec<u8> =
        answers.iter().flat_map(|a| &a.point).flat_map(|value| value.to_ne_bytes()).collect();
    Checksum::of(&bytes)
}
