//! Linear models: ours against a search by descent in PyTorch, and against the closed form written
//! in PyTorch by hand.

use super::script::{Outcome, Request};
use super::turns::Turns;
use super::{OUTPUT, Options, SIGMA, TITLES};
use anyhow::{Context as _, Result};
use probe_bench::clock::median_of;
use probe_bench::part::{Figures, Part};
use probe_bench::stats::{Repeats, figure, mean};
use probe_core::math::normal::upper_tail;
use probe_core::{Answer, Engine, Linear, Purpose, Rows, Seed, Setup, Status};
use std::path::Path;
use std::sync::Arc;

const D: usize = 20;
const PEOPLE: usize = 50_000;
const RATE: f64 = 0.1;
const SEED: Seed = Seed(1);
/// Above the target by more than this share of it is above; single precision is good for less.
const CLOSE: f64 = 1e-5;

/// A method to compare with.
struct Way {
    name: &'static str,
    /// What its figures are called.
    id: &'static str,
    script: &'static str,
    flags: &'static [&'static str],
    /// Whether columns stay between 0 and 1.
    bounds: bool,
}

const WAYS: [Way; 5] = [
    way("batched PyTorch, as for networks", "batched", "tuned.py", &[], false),
    way(
        "descent in PyTorch, 1,000 steps",
        "descent_to_the_end",
        "linear.py",
        &["--steps", "1000"],
        false,
    ),
    way("descent in PyTorch, 120 steps", "descent", "linear.py", &[], false),
    way("closed form in PyTorch, by hand", "closed_form", "linear.py", &["--closed-form"], false),
    way(
        "closed form in PyTorch, by hand",
        "closed_form_bounds",
        "linear.py",
        &["--closed-form", "--bounds", "0", "1"],
        true,
    ),
];

const fn way(
    name: &'static str,
    id: &'static str,
    script: &'static str,
    flags: &'static [&'static str],
    bounds: bool,
) -> Way {
    Way { name, id, script, flags, bounds }
}

/// Measurements of one method.
struct Row {
    way: &'static Way,
    people: usize,
    answered: usize,
    above: usize,
    cost_to_ours: f64,
    changed: f64,
    per_second: f64,
    ours_per_second: f64,
    ratio: Repeats,
}

pub(super) fn section(python: &Path, options: &Options) -> Result<Part> {
    let (model, people) = subject(if options.quick { PEOPLE / 10 } else { PEOPLE })?;
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let request = Request { model: model.clone(), names: &names, people: &people, r: RATE };
    let mut rows = Vec::new();
    for way in &WAYS {
        eprintln!("linear, {}{}", way.name, if way.bounds { ", bounds" } else { "" });
        rows.push(compare(python, &request, &model, way, options)?);
    }
    let mut figures = Figures::new();
    for row in &rows {
        figures.insert(format!("to_{}", row.way.id), figure(row.ratio.median));
        figures.insert(format!("{}_cost", row.way.id), format!("{:.4}", row.cost_to_ours));
    }
    if let Some(row) = rows.first() {
        figures.insert("per_cpu_second".to_owned(), figure(row.ours_per_second));
    }
    Ok(Part {
        id: "peers_linear".into(),
        command: "peers --part linear".into(),
        document: OUTPUT.into(),
        title: Some(TITLES[0].into()),
        text: render(&rows),
        figures,
        ..Part::default()
    })
}

/// The model of `cargo xtask bench library`, and people who need recourse before it.
fn subject(n: usize) -> Result<(Arc<Linear>, Vec<f64>)> {
    let mut stream = SEED.stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let model = Arc::new(Linear::new(weights, -2.0, 0.0)?);
    let mut people = Vec::with_capacity(n * D);
    while people.len() < n * D {
        let person: [f64; D] = std::array::from_fn(|_| stream.uniform());
        if rate_of(&model, &person) > RATE {
            people.extend(person);
        }
    }
    Ok((model, people))
}

/// The exact rate of a point.
fn rate_of(model: &Linear, point: &[f64]) -> f64 {
    let score: f64 =
        model.weights().iter().zip(point).map(|(w, x)| w * x).sum::<f64>() + model.bias();
    let scale = SIGMA * model.weights().iter().map(|w| w * w).sum::<f64>().sqrt();
    upper_tail(score / scale)
}

fn compare(
    python: &Path,
    request: &Request<'_>,
    model: &Arc<Linear>,
    way: &'static Way,
    options: &Options,
) -> Result<Row> {
    let mut setup = Setup::new(model.clone(), request.names.to_vec(), None, SIGMA)?;
    setup.max_rate = RATE;
    if way.bounds {
        setup.actions.intersect(0.0, 1.0)?;
    }
    let engine = Engine::new(setup)?;
    let rows = Rows::new(request.people, D)?;
    let mut answers = vec![Answer::new(D); request.n_people()];
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut outcome: Option<Outcome> = None;
    let turns = Turns::take(
        options.repeats(),
        || {
            Ok(one
                .install(|| median_of(3, 1.0, || Ok(engine.recourse_into(rows, &mut answers)?)))?
                .cpu)
        },
        || {
            let found = request.ask(python, way.script, way.flags)?;
            let seconds = found.cpu_seconds;
            outcome = Some(found);
            Ok(seconds)
        },
    )?;
    let theirs = outcome.context("theirs ran")?.points;
    let moves = |i: usize, point: &[f64]| {
        request.person(i).iter().zip(point).map(|(x, p)| (x - p).abs()).collect::<Vec<_>>()
    };
    let pairs: Vec<(usize, &Answer, &[f64])> = theirs
        .iter()
        .enumerate()
        .filter_map(|(i, point)| Some((i, &answers[i], point.as_deref()?)))
        .filter(|(_, ours, _)| ours.status == Status::Certified)
        .collect();
    let cost = |point: &dyn Fn(usize) -> f64| mean(pairs.iter().enumerate().map(|(k, _)| point(k)));
    let answered = theirs.iter().flatten().count();
    let certified = answers.iter().filter(|answer| answer.status == Status::Certified).count();
    let speed = |n: usize, seconds: f64| n as f64 / seconds;
    Ok(Row {
        way,
        people: theirs.len(),
        answered,
        above: theirs
            .iter()
            .flatten()
            .filter(|point| rate_of(model, point) > RATE * (1.0 + CLOSE))
            .count(),
        cost_to_ours: cost(&|k| moves(pairs[k].0, pairs[k].2).iter().sum())
            / cost(&|k| moves(pairs[k].0, &pairs[k].1.point).iter().sum()),
        changed: mean(
            pairs.iter().map(|(i, _, point)| {
                moves(*i, point).iter().filter(|by| **by > 1e-6).count() as f64
            }),
        ),
        per_second: speed(answered, turns.theirs()),
        ours_per_second: speed(certified, turns.ours()),
        ratio: turns.ratio(certified as f64 / answered as f64),
    })
}

fn render(rows: &[Row]) -> String {
    let mut text = format!(
        "The model of `cargo xtask bench library`: d = {D}, r = {RATE}, people who need recourse. \
         Plain l1, or with columns kept between 0 and 1. Ours is exact, and each answer is judged \
         as it is printed: scored again, its rate from the score, bounds checked.\n\n\
         - **batched PyTorch, as for networks**: the search that networks are compared with below, \
         which uses the closed-form margin and ends with a bisection on 4,096 samples. The model \
         is given to it as a network of two units.\n\
         - **descent**: all people at once, Adam with a soft threshold on the closed-form margin, \
         float32, in blocks of 8,192 people, the best feasible iterate; step, penalty and decay \
         tuned. 120 steps are enough for answers within 0.2 % of the lowest cost; \
         with 1,000 steps they have the lowest cost.\n\
         - **closed form by hand**: the known solution of this one problem, written by hand: one \
         column for all people, or one sort and one cumulative sum. \
         The result is not checked.\n\n\
         | question | method | people | with an answer | above r | cost to ours | changed | per \
         CPU second | ours | ours is, times |\n|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        text += &format!(
            "| l1{} | {} | {} | {:.1} % | {:.1} % | {:.4} | {:.2} | {} | {} | {} |\n",
            if row.way.bounds { ", bounds" } else { "" },
            row.way.name,
            figure(row.people as f64),
            100.0 * row.answered as f64 / row.people as f64,
            100.0 * row.above as f64 / row.answered as f64,
            row.cost_to_ours,
            row.changed,
            figure(row.per_second),
            figure(row.ours_per_second),
            row.ratio
        );
    }
    text + "\n**above r**: share of their answers whose exact rate is above r by more than a \
            hundred-thousandth of it, which is more than single precision explains. \
            None of our answers is above r.\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::math::normal::upper_quantile;

    #[test]
    fn the_subject_needs_recourse_and_rates_are_exact() {
        let (model, people) = subject(50).unwrap();
        assert_eq!(people.len(), 50 * D);
        assert!(people.chunks_exact(D).all(|person| rate_of(&model, person) > RATE));
        // w = (3, 4), so that σ|w| = 0.5; a score of half the quantile has the rate of it.
        let plain = Linear::new(vec![3.0, 4.0], 0.0, 0.0).unwrap();
        let x = 0.5 * upper_quantile(0.2) / 3.0;
        assert!((rate_of(&plain, &[x, 0.0]) - 0.2).abs() < 1e-12);
    }
}
