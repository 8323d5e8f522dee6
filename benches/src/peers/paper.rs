//! The paper's procedure, as its authors released it and as the text states it.

use super::networks::{certified, request, solve};
use super::script::Request;
use super::turns::Turns;
use super::{OUTPUT, Options, SIGMA, TITLES};
use crate::networks::{Subject, by_lines, plain};
use anyhow::{Context as _, Result};
use probe_bench::clock::time;
use probe_bench::folders;
use probe_bench::part::{Figures, Part};
use probe_bench::stats::{Repeats, figure, mean, range_of_figures};
use probe_core::math::normal::upper_tail;
use probe_core::{Engine, Linear, Rows, Seed, Setup};
use probe_experiments::paper_data::PAPER_DATA;
use std::path::Path;
use std::sync::Arc;

/// The paper's target.
const RATE: f64 = 0.35;
const SEED: Seed = Seed(0);
/// People that ours is measured on.
const PEOPLE: usize = 500;

/// Names, variants of the script, and people: those that take long are asked about few.
const VARIANTS: [(&str, &str, usize); 5] = [
    ("Algorithm 1 as released", "released", 5),
    ("Algorithm 1, released, bugs fixed", "fixed", 20),
    ("Algorithm 1 as stated", "stated", 10),
    ("Algorithm 1 as stated, no samples", "closed-form", 10),
    ("Algorithm 2 as stated", "monte-carlo", 10),
];

/// What was measured for one variant on one model.
struct Row {
    title: String,
    name: &'static str,
    variant: &'static str,
    people: usize,
    answered: usize,
    rate: f64,
    cost_to_ours: f64,
    note: String,
    per_second: f64,
    ours_per_second: f64,
    ratio: Repeats,
}

/// Rates of points.
type Rates<'a> = Box<dyn Fn(&[&[f64]]) -> Vec<f64> + 'a>;

/// A model of the paper, and what is needed to measure answers for it.
struct Case<'a> {
    title: String,
    request: Request<'a>,
    ours: Vec<Option<Vec<f64>>>,
    /// Ours once more: seconds for everybody.
    again: Box<dyn Fn() -> Result<f64> + 'a>,
    rates: Rates<'a>,
}

pub(super) fn section(python: &Path, options: &Options) -> Result<Part> {
    let mut rows = Vec::new();
    let linear = Affine::load()?;
    measure(python, &linear.case()?, options, &mut rows)?;
    for data in PAPER_DATA.iter().take(if options.quick { 1 } else { PAPER_DATA.len() }) {
        let subject = Subject::load(data, PEOPLE)?;
        measure(python, &network(&subject)?, options, &mut rows)?;
    }
    let mut figures = Figures::new();
    for (_, variant, _) in VARIANTS {
        for (kind, linear) in [("linear", true), ("networks", false)] {
            let of = rows
                .iter()
                .filter(|row| row.variant == variant && row.title.contains("linear") == linear);
            let name = format!("{}_{kind}", variant.replace('-', "_"));
            figures.insert(name, range_of_figures(of.map(|row| row.ratio.median)));
        }
    }
    Ok(Part {
        id: "peers_paper".into(),
        command: "peers --part paper".into(),
        document: OUTPUT.into(),
        title: Some(TITLES[2].into()),
        text: render(&rows),
        figures,
        ..Part::default()
    })
}

/// The paper's logistic regression on Adult.
struct Affine {
    model: Arc<Linear>,
    names: Vec<String>,
    people: Vec<f64>,
}

impl Affine {
    fn load() -> Result<Self> {
        let data = &PAPER_DATA[0];
        let encoded = data.load(&folders::data(), SEED).with_context(|| {
            format!("{} is not to be had; PROBE_DATA_DIR names the folder", data.file)
        })?;
        let model = Arc::new(data.train_logistic(&encoded, SEED)?);
        Ok(Self { people: encoded.denied(&*model, PEOPLE)?, names: encoded.names, model })
    }

    fn case(&self) -> Result<Case<'_>> {
        let solve = || -> Result<_> {
            let mut setup = Setup::new(self.model.clone(), self.names.clone(), None, SIGMA)?;
            setup.max_rate = RATE;
            let engine = Engine::new(setup)?;
            let rows = Rows::new(&self.people, self.names.len())?;
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
            let run = || time(|| Ok(engine.recourse(rows)?));
            one.install(run)?;
            one.install(run)
        };
        let scale = SIGMA * self.model.weights().iter().map(|w| w * w).sum::<f64>().sqrt();
        let score = |point: &[f64]| {
            self.model.weights().iter().zip(point).map(|(w, x)| w * x).sum::<f64>()
                + self.model.bias()
        };
        Ok(Case {
            title: "Adult, linear".to_owned(),
            request: Request {
                model: self.model.clone(),
                names: &self.names,
                people: &self.people,
                r: RATE,
            },
            ours: certified(solve()?.0),
            again: Box::new(move || Ok(solve()?.1.cpu)),
            rates: Box::new(move |points| {
                points.iter().map(|point| upper_tail(score(point) / scale)).collect()
            }),
        })
    }
}

fn network(subject: &Subject) -> Result<Case<'_>> {
    let network = plain(subject)?;
    Ok(Case {
        title: format!("{}, network", subject.title),
        request: request(subject, RATE),
        ours: certified(solve(subject, RATE)?.0),
        again: Box::new(|| Ok(solve(subject, RATE)?.1)),
        rates: Box::new(move |points| {
            by_lines(&network, SIGMA, points).iter().map(|rate| rate.rate).collect()
        }),
    })
}

fn measure(python: &Path, case: &Case<'_>, options: &Options, rows: &mut Vec<Row>) -> Result<()> {
    for (name, variant, people) in VARIANTS {
        let asked = case.request.first(if options.quick { 3 } else { people });
        eprintln!("{}, {name}: {} people", case.title, asked.n_people());
        let before = (case.again)()?;
        let outcome = asked.ask(python, "paper.py", &["--variant", variant])?;
        // Theirs takes long and is run once; ours before it and after it.
        let mut turns = Turns::default();
        turns.push(before, outcome.cpu_seconds);
        turns.push((case.again)()?, outcome.cpu_seconds);
        let points: Vec<&[f64]> = outcome.points.iter().flatten().map(Vec::as_slice).collect();
        let cost = |answers: &[Option<Vec<f64>>]| {
            let both = (0..asked.n_people())
                .filter(|&i| outcome.points[i].is_some() && case.ours[i].is_some());
            let moved = |i: usize, point: &[f64]| -> f64 {
                asked.person(i).iter().zip(point).map(|(x, p)| (x - p).abs()).sum()
            };
            mean(both.filter_map(|i| Some(moved(i, answers[i].as_deref()?))))
        };
        let (answered, certified) =
            (points.len() as f64, case.ours.iter().flatten().count() as f64);
        // By people, not by answers: who gets none has waited too.
        let factor = certified / outcome.points.len() as f64;
        rows.push(Row {
            title: case.title.clone(),
            name,
            variant,
            people: asked.n_people(),
            answered: answered as usize,
            rate: mean((case.rates)(&points).into_iter()),
            cost_to_ours: cost(&outcome.points) / cost(&case.ours),
            note: outcome.note,
            per_second: asked.n_people() as f64 / outcome.cpu_seconds,
            ours_per_second: certified / turns.ours(),
            ratio: turns.ratio(factor),
        });
    }
    Ok(())
}

fn render(rows: &[Row]) -> String {
    let mut text = format!(
        "r = {RATE}, the paper's. One person at a time, PyTorch, float32. The text leaves step, \
         optimiser and the steps after which a λ₃ is given up open; what was taken, and why, \
         stands in `benches/peers/paper.py`.\n\n\
         - **as released**: as the authors' program runs in their experiments. λ₁ = 3, 200 steps \
         of 0.001 with 10,000 fresh samples after each, and then one look: below r + 0.01, or λ₃, \
         0.01 at first, falls by 0.1 (below zero, where it rewards distance) and 200 more steps \
         follow; at most 10,000, for its 30 seconds.\n\
         - **bugs fixed**: the released code with its bugs fixed. λ₁ = 3, steps of 0.07, λ₃ from 1 \
         down to 0; 10,000 fresh samples after each step, and the first success ends the search.\n\
         - **as stated**: λ₁ = 2, λ₂ = 1, every λ₃ of {{0, 0.25, 0.5, 0.75, 1}} run for at most \
         500 steps of 0.01 and the cheapest success kept; 10,000 fresh samples after each step.\n\
         - **no samples**: the same, with the closed form in the place of the samples, as \
         Algorithm 1 is printed.\n\
         - **Algorithm 2**: as stated, the gradient through 10,000 fresh samples in each step.\n\n\
         | model | variant | people | with an answer | mean rate | cost to ours | steps | people \
         per CPU second | ours | ours is, times |\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        text += &format!(
            "| {} | {} | {} | {} | {:.3} | {:.2} | {} | {} | {} | {} |\n",
            row.title,
            row.name,
            row.people,
            row.answered,
            row.rate,
            row.cost_to_ours,
            row.note,
            figure(row.per_second),
            figure(row.ours_per_second),
            row.ratio
        );
    }
    text + "\n**ours**: certified answers per CPU second, 500 people, preparation included on \
            networks. **mean rate**: exact for linear models, on 16,384 Sobol lines for networks. \
            **steps**: of all λ₃ together, and the share of those λ₃ that found nothing.\n"
}
