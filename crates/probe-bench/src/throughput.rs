//! Many people at once: certified answers, answers without a certificate, and frontiers, on one
//! thread and on all.

use crate::clock::time;
use crate::latency::linear_people;
use crate::part::{BENCHMARKS, Figures, Part, figure_name};
use crate::say;
use crate::stats::{Repeats, figure};
use crate::subjects::networks::Subject;
use crate::subjects::trees;
use anyhow::{Context as _, Result};
use probe_core::{Answer, Engine, Rows, Setup, Status};
use probe_experiments::number::fixed;
use probe_experiments::paper_data::{HELOC, PAPER_DATA};
use rayon::ThreadPool;

const SIGMA: f64 = 0.1;
const RATE: f64 = 0.1;
/// Of a frontier.
const RATES: [f64; 4] = [0.35, 0.2, 0.1, 0.05];
const REPEATS: usize = 3;
/// People scored by a linear model, networks and trees.
const PEOPLE: [usize; 3] = [200_000, 2_000, 100];
/// A frontier is several answers each: so many times fewer people.
const FEWER: usize = 4;

/// What to measure.
#[derive(clap::Args)]
pub struct Options {
    /// A tenth of the people; nothing is written
    #[arg(long)]
    quick: bool,
}

/// A model and whom it denies.
struct Case {
    title: String,
    setup: Setup,
    people: Vec<f64>,
}

/// People per second.
struct Speed {
    one: Repeats,
    all: Repeats,
}

/// What was measured of a model.
struct Row {
    title: String,
    people: usize,
    certified: f64,
    /// Certified, without a certificate, and frontiers.
    speeds: [Speed; 3],
}

pub fn run(options: &Options) -> Result<()> {
    let share = if options.quick { 10 } else { 1 };
    let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pools = [pool(1)?, pool(0)?];
    let mut rows = Vec::new();
    for case in cases(PEOPLE.map(|n| n / share))? {
        eprintln!("{}", case.title);
        rows.push(measure(&case, &pools)?);
    }
    let text = render(&rows);
    say(&text);
    if options.quick {
        return Ok(());
    }
    let mut figures = Figures::new();
    for row in &rows {
        for (what, speed) in ["certified", "found", "frontier"].iter().zip(&row.speeds) {
            let name = format!("{}_{what}", figure_name(&row.title));
            figures.insert(format!("{name}_one"), figure(speed.one.median));
            figures.insert(format!("{name}_all"), figure(speed.all.median));
        }
    }
    Part {
        id: "throughput".into(),
        command: "throughput".into(),
        document: BENCHMARKS.into(),
        title: Some("Many people at once".into()),
        text,
        figures,
        ..Part::default()
    }
    .store()
}

fn cases([linear, networks, of_trees]: [usize; 3]) -> Result<Vec<Case>> {
    let (model, people) = linear_people(linear)?;
    let names: Vec<String> = (0..people.len() / linear).map(|j| format!("x{j}")).collect();
    let title = format!("linear, d = {}", names.len());
    let mut cases = vec![Case { title, setup: Setup::new(model, names, None, SIGMA)?, people }];
    for data in &PAPER_DATA {
        let subject = Subject::load(data, networks)?;
        let setup = subject.engine(SIGMA, RATE)?.setup().clone();
        cases.push(Case {
            title: format!("{} network", data.title),
            setup,
            people: subject.people,
        });
    }
    for data in [&PAPER_DATA[0], &HELOC] {
        for subject in trees::subjects(data, "", of_trees)? {
            let setup = subject.engine(RATE)?.setup().clone();
            cases.push(Case { title: subject.title, setup, people: subject.people });
        }
    }
    Ok(cases)
}

fn measure(case: &Case, pools: &[ThreadPool; 2]) -> Result<Row> {
    let d = case.setup.names.len();
    let rows = Rows::new(&case.people, d)?;
    let fewer = Rows::new(&case.people[..rows.n_rows().div_ceil(FEWER) * d], d)?;
    let asked =
        |certify: bool| Engine::new(Setup { max_rate: RATE, certify, ..case.setup.clone() });
    let (with, without) = (asked(true)?, asked(false)?);
    let mut answers = vec![Answer::new(d); rows.n_rows()];
    let mut plain = answers.clone();
    let certified = speed(pools, rows.n_rows(), || Ok(with.recourse_into(rows, &mut answers)?))?;
    let found = speed(pools, rows.n_rows(), || Ok(without.recourse_into(rows, &mut plain)?))?;
    let frontier = speed(pools, fewer.n_rows(), || Ok(with.frontier(fewer, &RATES).map(drop)?))?;
    let n = answers.iter().filter(|answer| answer.status == Status::Certified).count();
    Ok(Row {
        title: case.title.clone(),
        people: rows.n_rows(),
        certified: n as f64 / rows.n_rows() as f64,
        speeds: [certified, found, frontier],
    })
}

/// People per second of the clock, on one thread and on all, after a warm-up.
fn speed(
    pools: &[ThreadPool; 2],
    people: usize,
    mut work: impl FnMut() -> Result<()> + Send,
) -> Result<Speed> {
    pools[1].install(&mut work)?;
    let mut of = |pool: &ThreadPool| -> Result<Repeats> {
        let mut seconds = Vec::new();
        for _ in 0..REPEATS {
            seconds.push(pool.install(|| time(&mut work))?.1.wall);
        }
        Ok(Repeats::of(seconds).over(people as f64))
    };
    Ok(Speed { one: of(&pools[0]).context("on one thread")?, all: of(&pools[1])? })
}

fn render(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "People answered per second of the clock, in the library, σ = {SIGMA}, r = {RATE}, all \
         columns free, l1; on one thread, then on all. Networks and trees as in \
         [networks](networks.md) and [trees](trees.md). A frontier has {} rates. Medians (least to \
         most) of {REPEATS}, after a warm-up.\n\n\
         | model | people | certified | certified answers: one thread | all | not certified: one \
         thread | all | frontiers: one thread | all |\n|---|---|---|---|---|---|---|---|---|",
        RATES.len()
    )];
    for row in rows {
        let speeds: Vec<String> =
            row.speeds.iter().map(|s| format!("{} | {}", s.one, s.all)).collect();
        lines.push(format!(
            "| {} | {} | {:.1} % | {} |",
            row.title,
            fixed(row.people as f64, 0),
            100.0 * row.certified,
            speeds.join(" | ")
        ));
    }
    lines.join("\n")
}
