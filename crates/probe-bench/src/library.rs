//! The exact linear solver without I/O: recourses per second on all cores and on one.

use crate::clock::best_of;
use crate::say;
use anyhow::Result;
use probe_core::{
    Actions, Answer, Cost, Engine, Group, Linear, NoiseOn, Purpose, Room, Rows, Seed, Setup, Status,
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
    Case { name: "l1, bounds, noise on changed features", people: 20_000, change: |s| changed(s, "l1") },
    Case { name: "l2, bounds, noise on changed features", people: 1_000, change: |s| changed(s, "l2") },
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
    let room = Room { low: 0.0, high: 1.0, ..Room::default() };
    let groups = (0..4).map(|g| Group::one_hot((0..3).map(|o| 3 * g + o).collect())).collect();
    setup.actions = Actions::new(vec![room; D]).with_groups(groups)?;
    setup.cost = Cost::new("l1", vec![1.0; D], vec![1.0; D])?;
    setup.noise_on = NoiseOn::Mutable;
    Ok(())
}

pub(crate) fn run() -> Result<()> {
    let mut stream = Seed(1).stream(Purpose::Data, 0);
    let weights: Vec<f64> = (0..D).map(|_| 2.0 * stream.normal()).collect();
    let model = Arc::new(Linear::new(weights, -2.0, 0.0)?);
    let most = CASES.iter().map(|c| c.people).max().unwrap_or(0);
    let people: Vec<f64> = (0..most * D).map(|_| stream.uniform()).collect();
    let one_hot: Vec<f64> = people.chunks_exact(D).flat_map(with_groups).collect();
    say(&format!(
        "\nexact recourse in the library, linear model, d = {D}, r = 0.1 (people who need it, per second)"
    ));
    let cores = rayon::ThreadPoolBuilder::new().build()?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for case in CASES {
        let mut setup = Setup::new(model.clone(), (0..D).map(|j| format!("x{j}")).collect(), None, 0.1)?;
        (case.change)(&mut setup)?;
        let data = if setup.actions.groups().is_empty() { &people } else { &one_hot };
        let rows = Rows::new(&data[..case.people * D], D)?;
        let engine = Engine::new(setup)?;
        let mut answers = vec![Answer::new(D); case.people];
        let all = best_of(5, || Ok(cores.install(|| engine.recourse_into(rows, &mut answers))?))?;
        let single = best_of(3, || Ok(one.install(|| engine.recourse_into(rows, &mut answers))?))?;
        let count = |status: Status| answers.iter().filter(|a| a.status == status).count();
        let sought = case.people - count(Status::Favourable);
        say(&format!(
            "  {:<42} {:>10.0} on all cores {:>10.0} on one; {:.1} % certified",
            case.name,
            sought as f64 / all,
            sought as f64 / single,
            100.0 * count(Status::Certified) as f64 / sought as f64
        ));
    }
    Ok(())
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
