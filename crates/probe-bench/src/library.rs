//! The exact linear solver without I/O: recourses per second on all cores and on one.

use crate::clock::time;
use crate::part::{BENCHMARKS, Figures, Part, figure_name};
use crate::say;
use crate::stats::{Repeats, figure};
use anyhow::Result;
use probe_core::{
    Actions, Answer, Cost, Engine, FeatureLimits, Group, Linear, NoiseOn, Purpose, Rows, Seed,
    Setup, Status,
};
use std::sync::Arc;

const D: usize = 20;

/// A question to measure.
struct Case {
    name: &'static str,
    people: usize,
    change: fn(&mut Setup) -> probe_core::Result<()>,
}

fn boxed(setup: &mut Setup, norm: &str) -> probe_core::Result<()> {
    setup.actions.intersect(0.0, 1.0)?;
    setup.set_norm(norm)
}

const CASES: &[Case] = &[
    Case { name: "l1", people: 400_000, change: |s| s.set_norm("l1") },
    Case { name: "l1, bounds", people: 400_000, change: |s| boxed(s, "l1") },
    Case { name: "l2, bounds", people: 400_000, change: |s| boxed(s, "l2") },
    Case { name: "linf, bounds", people: 400_000, change: |s| boxed(s, "linf") },
    Case { name: "l1, bounds, at most 3 changes", people: 20_000, change: |s| limited(s, "l1") },
    Case { name: "l2, bounds, at most 3 changes", people: 2_000, change: |s| limited(s, "l2") },
    Case { name: "linf, bounds, at most 3 changes", people: 2_000, change: |s| limited(s, "linf") },
    Case {
        name: "l1, bounds, noise on changed features",
        people: 20_000,
        change: |s| changed(s, "l1"),
    },
    Case {
        name: "l2, bounds, noise on changed features",
        people: 1_000,
        change: |s| changed(s, "l2"),
    },
    Case { name: "l1, bounds, four one-hot groups of three", people: 20_000, change: grouped },
];

fn limited(setup: &mut Setup, norm: &str) -> probe_core::Result<()> {
    boxed(setup, norm)?;
    setup.actions = setup.actions.clone().with_max_changes(Some(3));
    Ok(())
}

fn changed(setup: &mut Setup, norm: &str) -> probe_core::Result<()> {
    boxed(setup, norm)?;
    setup.noise_on = NoiseOn::Changed;
    Ok(())
}

fn grouped(setup: &mut Setup) -> probe_core::Result<()> {
    let limits = FeatureLimits { low: 0.0, high: 1.0, ..FeatureLimits::default() };
    let groups = (0..4).map(|g| Group::one_hot((0..3).map(|o| 3 * g + o).collect())).collect();
    setup.actions = Actions::new(vec![limits; D]).with_groups(groups)?;
    setup.cost = Cost::new("l1", vec![1.0; D], vec![1.0; D])?;
    setup.noise_on = NoiseOn::Mutable;
    Ok(())
}

/// How often each case is measured.
const REPEATS: usize = 5;

/// What was measured of a case.
#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    /// People who need an answer, per second of the clock on all cores and on one.
    pub all: Repeats,
    pub one: Repeats,
    /// The same per second of the processor, on one.
    pub cpu: Repeats,
    /// Certified, of those who need an answer.
    pub certified: f64,
}

pub fn run() -> Result<()> {
    let mut rows = Vec::new();
    for case in CASES {
        eprintln!("{}", case.name);
        rows.push(measure(case)?);
    }
    let text = render(&rows);
    say(&text);
    let mut figures = Figures::new();
    for row in &rows {
        let name = figure_name(row.name);
        for (on, speed) in [("all", row.all), ("one", row.one), ("cpu", row.cpu)] {
            figures.insert(format!("{name}_{on}"), figure(speed.median));
        }
    }
    Part {
        id: "library".into(),
        command: "library".into(),
        document: BENCHMARKS.into(),
        title: Some("Linear models".into()),
        text,
        figures,
        ..Part::default()
    }
    .store()
}

fn render(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "Exact recourse in the library, linear model, d = {D}, r = 0.1: people who need it, per \
         second. Medians (least to most) of {REPEATS}.\n\n\
         | question | all cores | one core | per CPU second | certified |\n|---|---|---|---|---|"
    )];
    for Row { name, all, one, cpu, certified } in rows {
        lines.push(format!(
            "| {name} | {} | {} | {} | {:.1} % |",
            all,
            one,
            cpu,
            100.0 * certified
        ));
    }
    lines.join("\n")
}

fn measure(case: &Case) -> Result<Row> {
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let model = Arc::new(Linear::new(weights, -2.0, 0.0)?);
    let mut people: Vec<f64> = (0..case.people * D).map(|_| stream.uniform()).collect();
    let mut setup = Setup::new(model, (0..D).map(|j| format!("x{j}")).collect(), None, 0.1)?;
    (case.change)(&mut setup)?;
    if !setup.actions.groups().is_empty() {
        people = people.chunks_exact(D).flat_map(with_groups).collect();
    }
    let rows = Rows::new(&people, D)?;
    let engine = Engine::new(setup)?;
    let mut answers = vec![Answer::new(D); case.people];
    let cores = rayon::ThreadPoolBuilder::new().build()?;
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let (mut all, mut one, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
    let mut timed = |pool: &rayon::ThreadPool| {
        // Measured inside the pool, because processor time is per thread.
        pool.install(|| time(|| Ok(engine.recourse_into(rows, &mut answers)?)))
            .map(|(_, took)| took)
    };
    timed(&cores)?;
    for _ in 0..REPEATS {
        all.push(timed(&cores)?.wall);
        let took = timed(&single)?;
        one.push(took.wall);
        cpu.push(took.cpu);
    }
    let count = |status: Status| answers.iter().filter(|a| a.status == status).count();
    let sought = (case.people - count(Status::Favourable)) as f64;
    let [all, one, cpu] = [all, one, cpu].map(|seconds| Repeats::of(seconds).over(sought));
    Ok(Row { name: case.name, all, one, cpu, certified: count(Status::Certified) as f64 / sought })
}

/// A person whose first twelve columns are four one-hot groups of three.
fn with_groups(person: &[f64]) -> Vec<f64> {
    let mut row = person.to_vec();
    for group in row[..12].chunks_exact_mut(3) {
        let hot = (group[0] * 2.999) as usize;
        group.iter_mut().enumerate().for_each(|(o, v)| *v = if o == hot { 1.0 } else { 0.0 });
    }
    row
}
