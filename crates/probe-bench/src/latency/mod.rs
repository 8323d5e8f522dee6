//! One person at a time on a warm process: how long a certified answer takes, and what the command
//! and Python add to it.

mod fronts;

use crate::clock::time;
use crate::part::{BENCHMARKS, Figures, Part, figure_name};
use crate::say;
use crate::stats::percentile;
use crate::subjects::networks::Subject;
use crate::subjects::trees;
use anyhow::{Context as _, Result};
use probe_core::{Answer, Engine, Linear, Model as _, Purpose, Seed, Setup, Status};
use probe_experiments::paper_data::{HELOC, PAPER_DATA};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

const SEED: Seed = Seed(8);
const SIGMA: f64 = 0.1;
const RATE: f64 = 0.1;
const D: usize = 20;
/// People answered before timing starts, which draws the shared errors.
const WARM: usize = 20;
/// Answers this fast are not measured in processor time, because reading that clock takes longer.
const SHORT: f64 = 5e-5;

/// Options of `probe-bench latency`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// People scored by linear models and networks, at most
    #[arg(long, default_value_t = 2_000)]
    people: usize,
    /// People scored by trees, at most
    #[arg(long, default_value_t = 150)]
    trees: usize,
    /// Calls of the command, and from Python
    #[arg(long, default_value_t = 40)]
    calls: usize,
    /// The `probe` command
    #[arg(long, default_value = "target/release/probe")]
    probe: PathBuf,
    /// The Python package, as a wheel, to be called for one person too
    #[arg(long)]
    wheel: Option<PathBuf>,
    /// A look at a tenth of the people; nothing is written
    #[arg(long)]
    quick: bool,
}

/// How long each of some people took, in seconds.
#[derive(Debug, Clone)]
pub struct Latency {
    pub model: String,
    pub certified: usize,
    /// Sorted.
    pub seconds: Vec<f64>,
    /// Of the processor, sorted; empty where answers are shorter than that clock is fine.
    pub cpu: Vec<f64>,
}

impl Latency {
    pub fn p(&self, p: f64) -> f64 {
        percentile(&self.seconds, p)
    }

    /// The percentile of processor time, or of time where that is not known.
    pub fn cpu_p(&self, p: f64) -> f64 {
        if self.cpu.is_empty() { self.p(p) } else { percentile(&self.cpu, p) }
    }
}

/// Everything that was measured.
struct Measured {
    warm: Vec<Latency>,
    fronts: Vec<fronts::Front>,
}

pub fn run(options: &Options) -> Result<()> {
    let share = if options.quick { 10 } else { 1 };
    let n = |people: usize| (people / share).max(10);
    let mut warm = vec![linear(n(options.people))?];
    for data in &PAPER_DATA {
        let subject = Subject::load(data, n(options.people) + WARM)?;
        let engine = subject.engine(SIGMA, RATE)?;
        warm.push(measure(format!("{} network", data.title), &engine, &subject.people)?);
    }
    for data in [&PAPER_DATA[0], &HELOC] {
        for subject in trees::subjects(data, "", n(options.trees) + WARM)? {
            warm.push(measure(subject.title.clone(), &subject.engine(RATE)?, &subject.people)?);
        }
    }
    let fronts = fronts::measure(&options.probe, options.wheel.as_deref(), n(options.calls))?;
    let measured = Measured { warm, fronts };
    let text = render(&measured);
    say(&text);
    if options.quick {
        return Ok(());
    }
    Part {
        id: "latency".into(),
        command: "latency".into(),
        document: BENCHMARKS.into(),
        title: Some("One person at a time".into()),
        text,
        figures: measured.quoted(),
        ..Part::default()
    }
    .store()
}

/// The exact solver before a linear model of twenty features.
fn linear(n: usize) -> Result<Latency> {
    let (model, people) = linear_people(n + WARM)?;
    let names = (0..D).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(model, names, None, SIGMA)?;
    setup.max_rate = RATE;
    measure(format!("linear, d = {D}, exact"), &Engine::new(setup)?, &people)
}

/// A linear model and people whom it denies.
pub fn linear_people(n: usize) -> Result<(Arc<Linear>, Vec<f64>)> {
    let mut stream = SEED.stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let model = Arc::new(Linear::new(weights, -2.0, 0.0)?);
    let mut people = Vec::with_capacity(n * D);
    while people.len() < n * D {
        let person: Vec<f64> = (0..D).map(|_| stream.uniform()).collect();
        if model.score(&person)? <= 0.0 {
            people.extend(person);
        }
    }
    Ok((model, people))
}

/// Times everybody but the first few, one after the other, on this thread.
fn measure(model: String, engine: &Engine, people: &[f64]) -> Result<Latency> {
    eprintln!("{model}");
    let d = engine.setup().names.len();
    let (mut session, mut answer) = (engine.session(), Answer::new(d));
    let mut people = people.chunks_exact(d);
    let (mut seconds, mut cpu, mut certified) = (Vec::new(), Vec::new(), 0);
    let started = Instant::now();
    for person in people.by_ref().take(WARM) {
        session.recourse(person, &mut answer)?;
    }
    let short = started.elapsed().as_secs_f64() < SHORT * WARM as f64;
    for person in people {
        if short {
            let started = Instant::now();
            session.recourse(person, &mut answer)?;
            seconds.push(started.elapsed().as_secs_f64());
        } else {
            let ((), took) = time(|| Ok(session.recourse(person, &mut answer)?))?;
            seconds.push(took.wall);
            cpu.push(took.cpu);
        }
        certified += usize::from(answer.status == Status::Certified);
    }
    seconds.sort_by(f64::total_cmp);
    cpu.sort_by(f64::total_cmp);
    seconds.first().with_context(|| format!("{model}: nobody is denied"))?;
    Ok(Latency { model, certified, seconds, cpu })
}

impl Measured {
    /// Names of models become those of figures: `adult_network_p99_ms`.
    fn quoted(&self) -> Figures {
        let mut figures = Figures::new();
        for row in &self.warm {
            let name = figure_name(&row.model);
            for (percent, p) in [(50, 0.5), (99, 0.99)] {
                figures.insert(format!("{name}_p{percent}_ms"), in_ms(row.p(p)));
                figures.insert(format!("{name}_cpu_p{percent}_ms"), in_ms(row.cpu_p(p)));
            }
        }
        for front in &self.fronts {
            figures.insert(format!("{}_p50_ms", figure_name(front.what())), in_ms(front.p(0.5)));
        }
        figures
    }
}

fn render(figures: &Measured) -> String {
    let mut lines = vec![
        format!(
            "One person's certified answer by a `Session` on a warm process: the engine is \
             prepared and {WARM} people were answered before. One thread, r = {RATE}, σ = {SIGMA}, \
             confidence 0.999; trees as in [trees.md](trees.md). Other work on the machine \
             lengthens times of the clock, not those of the processor.\n"
        ),
        "| model | people | certified | p50, ms | p90 | p99 | longest | p50 of \
         processor time, ms | p99 |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for row in &figures.warm {
        let n = row.seconds.len();
        let cells = [row.p(0.5), row.p(0.9), row.p(0.99), row.p(1.0)].map(in_ms);
        let cpu = match row.cpu.is_empty() {
            true => ["–".to_owned(), "–".to_owned()],
            false => [in_ms(row.cpu_p(0.5)), in_ms(row.cpu_p(0.99))],
        };
        let share = 100.0 * row.certified as f64 / n as f64;
        lines.push(format!(
            "| {} | {n} | {share:.1} % | {} | {} |",
            row.model,
            cells.join(" | "),
            cpu.join(" | ")
        ));
    }
    lines.push(format!(
        "\nBy the command one person costs the start of a process, reading the model and drawing \
         what people share otherwise; a row of CSV in, a file out.\n\n{}",
        fronts::render(&figures.fronts)
    ));
    lines.join("\n")
}

/// Milliseconds with three figures.
fn in_ms(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    match ms {
        ms if ms < 0.1 => format!("{ms:.4}"),
        ms if ms < 10.0 => format!("{ms:.2}"),
        _ => format!("{ms:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_keep_figures() {
        assert_eq!([1.23e-6, 1.234e-3, 0.0456].map(in_ms), ["0.0012", "1.23", "45.6"]);
    }

    #[test]
    fn everybody_but_the_first_few_is_timed() {
        let row = linear(50).unwrap();
        assert_eq!((row.seconds.len(), row.certified), (50, 50));
        assert!(
            row.seconds.is_sorted() && row.p(0.5) <= row.p(0.99) && row.p(1.0) == row.seconds[49]
        );
    }
}
