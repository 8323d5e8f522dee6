//! Other ways to the same answers, in the same run: a tuned, batched PyTorch search and the paper's own procedure.
//!
//! The scripts lie in `benches/peers`. They get network and people as files, and write points with the time they took; the points
//! are audited here by what audits ours. Times are processor seconds on one thread, after a warm-up of theirs, in turns with
//! ours; medians.

use crate::clock::time;
use crate::networks::{Subject, against, by_lines};
use crate::offline::Against;
use crate::stats::{mean, median};
use crate::{clock, folders, python, say};
use anyhow::{Context as _, Result, ensure};
use probe_core::{Answer, Rows, Status};
use probe_experiments::paper_data::PAPER_DATA;
use probe_io::ModelFile;
use serde::Deserialize;
use std::path::Path;
use std::process::{Command, Stdio};

const SIGMA: f64 = 0.1;
const PEOPLE: usize = 500;
const MANY: usize = 5_000;
const PAPER: usize = 10;
/// Answers of a method that are audited, and people that the offline search is run for.
const AUDITED: usize = 500;
const OFFLINE: usize = 50;
const RATES: [f64; 2] = [0.35, 0.1];
const OUTPUT: &str = "docs/peers.md";
/// Where the scripts lie, under `benches`.
const FOLDER: &str = "peers";

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// People per data set, at most
    #[arg(long, default_value_t = PEOPLE)]
    people: usize,
    /// People of the first data set for one more comparison, at the first target rate, without the paper's procedure; 0 for none
    #[arg(long, default_value_t = MANY)]
    many: usize,
    /// People that the paper's procedure is run for
    #[arg(long, default_value_t = PAPER)]
    paper: usize,
    /// Times that ours and the batched ones are run, in turns
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// Data sets, by name: adult, compas, gmc
    #[arg(long, value_delimiter = ',', default_values = ["adult", "compas", "gmc"])]
    data: Vec<String>,
    /// Target rates
    #[arg(long, value_delimiter = ',', default_values_t = RATES)]
    rates: Vec<f64>,
}

impl Options {
    /// Whether this is a run that the document is written from.
    fn is_full(&self) -> bool {
        (self.people, self.many, self.paper) == (PEOPLE, MANY, PAPER)
            && self.rates == RATES
            && self.data.len() == PAPER_DATA.len()
    }
}

/// What a script writes.
#[derive(Deserialize)]
struct Outcome {
    points: Vec<Option<Vec<f64>>>,
    cpu_seconds: f64,
    note: String,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let python = match python::environment(FOLDER) {
        Ok(python) => python,
        Err(error) => {
            say(&format!("no peers: {error:#}"));
            say(&python::needs(FOLDER));
            return Ok(());
        }
    };
    let mut text = format!("{}\n{HEADER}\n", introduction());
    say(&text);
    let asked = || PAPER_DATA.iter().filter(|data| options.data.iter().any(|name| name == data.name));
    let mut questions = Vec::new();
    for data in asked() {
        questions.extend(options.rates.iter().map(|&r| (data, r, options.people, options.paper)));
    }
    if let (Some(data), Some(&r), 1..) = (asked().next(), options.rates.first(), options.many) {
        questions.push((data, r, options.many, 0));
    }
    for (data, r, people, paper) in questions {
        let subject = Subject::load(data, people)?;
        for row in compare(&python, &subject, r, (options.repeats, paper))? {
            say(&row);
            text += &format!("{row}\n");
        }
    }
    say(COLUMNS);
    if options.is_full() {
        std::fs::write(folders::root().join(OUTPUT), text + COLUMNS + "\n")?;
        eprintln!("written to {OUTPUT}");
    }
    Ok(())
}

fn introduction() -> String {
    format!(
        "# The same people by other programs\n\n\
         Written by `cargo xtask bench peers` on {}. Networks, people and noise as in [networks](networks.md). One thread each; \
         ours takes turns with the batched searches, medians. The scripts are in `benches/peers`.\n\n\
         - **batched PyTorch**: everybody at once, closed-form margin, Adam with a soft threshold, the best feasible iterate, then one bisection \
         for everybody on 4,096 Sobol samples.\n\
         - **tuned further**: the same, landing by secants, with the sampling fused by `torch.compile`.\n\
         - **paper's procedure**: Algorithm 1 as its authors run it, the rate estimated on 10,000 samples after each step.\n",
        clock::machine()
    )
}

const HEADER: &str = "\
| data | r | method | people | with an answer | above r | rate / r | to offline (worst) | cost to ours | changed | per CPU second | ours is |
|---|---|---|---|---|---|---|---|---|---|---|---|";

const COLUMNS: &str = "
- **with an answer**: ours certified; theirs by their own account, without a certificate.
- **above r**: share of the answers above r by more than four standard errors, on 16,384 Sobol lines; of 500 answers, evenly picked, where there are more.
- **to offline**: mean l1 cost of our answers in this run over that of a slow offline search for 50 of the same people, as in [networks](networks.md), and in brackets the
  worst single person.
- **cost to ours**: mean l1 cost over that of our answers for the same people. **changed**: features changed by more than 1e-6.
- **per CPU second**: with all that is prepared once for everybody: samples of noise and their images, on either side. The last rows show more people, who share it.
- **ours is**: how many times as many answers per CPU second, this run.";

/// The batched search in PyTorch: with a plain bisection at the end, and with all that we could think of.
const TUNED: [(&str, &[&str]); 2] =
    [("batched PyTorch", &[]), ("tuned further: secants", &["--secants", "--compile"])];

/// One method's answers for some people.
struct Answers {
    name: String,
    points: Vec<Option<Vec<f64>>>,
    cpu_seconds: f64,
    /// Cost against the offline search, as a cell of the table.
    offline: String,
}

/// Ours, theirs and the paper's, as rows of the table.
fn compare(
    python: &Path,
    subject: &Subject,
    r: f64,
    (repeats, paper): (usize, usize),
) -> Result<Vec<String>> {
    eprintln!("{}, r = {r}: {} people", subject.title, subject.n_people());
    let (mut times, mut ours) = (Vec::new(), None);
    let mut theirs = TUNED.map(|(name, flags)| (name, flags, Vec::new(), None));
    for turn in 0..repeats.max(1) {
        // Who goes first changes, so that neither profits from the machine's mood.
        for first in [turn % 2 == 0, turn % 2 != 0] {
            if first {
                let (answers, seconds) = solve(subject, r)?;
                times.push(seconds);
                ours = Some(answers);
                continue;
            }
            for (_, flags, their_times, tuned) in &mut theirs {
                let outcome = ask(python, "tuned.py", subject, r, subject.n_people(), flags)?;
                their_times.push(outcome.cpu_seconds);
                *tuned = Some(outcome);
            }
        }
    }
    let answers = ours.context("ours ran")?;
    let aside = rayon::ThreadPoolBuilder::new().build()?;
    let [offline, _] = Against::cells(against(subject, &answers, SIGMA, r, OFFLINE, &aside)?.as_ref());
    let point = |answer: Answer| (answer.status == Status::Certified).then_some(answer.point);
    let points = answers.into_iter().map(point).collect();
    let ours = Answers { name: "probe".to_owned(), points, cpu_seconds: median(&mut times), offline };
    let none = || "–".to_owned();
    let mut all = Vec::new();
    for (name, _, mut their_times, tuned) in theirs {
        let tuned = tuned.context("theirs ran")?;
        let name = format!("{name}, {}", tuned.note);
        let cpu_seconds = median(&mut their_times);
        all.push(Answers { name, points: tuned.points, cpu_seconds, offline: none() });
    }
    if paper > 0 {
        let Outcome { points, cpu_seconds, .. } =
            ask(python, "paper.py", subject, r, paper.min(subject.n_people()), &[])?;
        all.push(Answers { name: "paper's procedure".to_owned(), points, cpu_seconds, offline: none() });
    }
    Ok(std::iter::once(&ours).chain(&all).map(|theirs| row(subject, r, theirs, &ours)).collect())
}

fn row(subject: &Subject, r: f64, theirs: &Answers, ours: &Answers) -> String {
    let points: Vec<&[f64]> = theirs.points.iter().flatten().map(Vec::as_slice).collect();
    let audited: Vec<&[f64]> =
        points.iter().step_by(points.len().div_ceil(AUDITED).max(1)).copied().collect();
    let rates = by_lines(&subject.plain, SIGMA, &audited);
    let above = rates.iter().filter(|rate| rate.above(r)).count();
    let moves = |i: usize, point: &[f64]| -> Vec<f64> {
        subject.person(i).iter().zip(point).map(|(x, p)| (x - p).abs()).collect()
    };
    let both = |i: &usize| theirs.points[*i].as_deref().zip(ours.points[*i].as_deref());
    let which: Vec<usize> = (0..theirs.points.len()).filter(|i| both(i).is_some()).collect();
    let cost = |answers: &Answers| {
        let points = which.iter().filter_map(|&i| Some((i, answers.points[i].as_deref()?)));
        mean(points.map(|(i, point)| moves(i, point).iter().sum()))
    };
    let changed = theirs.points.iter().enumerate().filter_map(|(i, point)| {
        Some(moves(i, point.as_deref()?).iter().filter(|by| **by > 1e-6).count() as f64)
    });
    let speed = |answers: &Answers| answers.points.iter().flatten().count() as f64 / answers.cpu_seconds;
    format!(
        "| {} | {r} | {} | {} | {} | {:.1} % | {:.4} | {} | {:.4} | {:.2} | {:.1} | {:.2} times |",
        subject.title,
        theirs.name,
        theirs.points.len(),
        points.len(),
        100.0 * above as f64 / rates.len() as f64,
        mean(rates.iter().map(|rate| rate.rate / r)),
        theirs.offline,
        cost(theirs) / cost(ours),
        mean(changed),
        speed(theirs),
        speed(ours) / speed(theirs)
    )
}

/// Our answers, and the processor seconds they took on one thread.
fn solve(subject: &Subject, r: f64) -> Result<(Vec<Answer>, f64)> {
    let rows = Rows::new(&subject.people, subject.names.len())?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    // Preparing the engine counts, as drawing the samples counts for theirs.
    let run = || time(|| Ok(subject.engine(SIGMA, r)?.recourse(rows)?));
    // Once to warm up, as theirs does.
    one.install(run)?;
    let (answers, took) = one.install(run)?;
    Ok((answers, took.cpu))
}

/// Runs a script on the first `n` people.
fn ask(python: &Path, script: &str, subject: &Subject, r: f64, n: usize, more: &[&str]) -> Result<Outcome> {
    let folder = folders::kept(FOLDER)?;
    let [model, people, out] = ["model.json", "people.csv", "out.json"].map(|name| folder.join(name));
    ModelFile::new(subject.names.clone(), subject.model.clone(), None)?.save(&model)?;
    let mut writer = csv::Writer::from_path(&people)?;
    writer.write_record(&subject.names)?;
    for i in 0..n {
        writer.write_record(subject.person(i).iter().map(f64::to_string))?;
    }
    writer.flush()?;
    let status = Command::new(python)
        .arg(python::scripts(FOLDER).join(script))
        .args([&model, &people, &out])
        .args(["--rate", &r.to_string(), "--sigma", &SIGMA.to_string()])
        .args(more)
        // One thread, whatever library takes part.
        .env("OMP_NUM_THREADS", "1")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdout(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {}", python.display()))?;
    ensure!(status.success(), "{script} failed: {status}");
    let outcome: Outcome = serde_json::from_slice(&std::fs::read(&out)?)?;
    ensure!(outcome.points.len() == n, "{script} answered {} of {n} people", outcome.points.len());
    Ok(outcome)
}
