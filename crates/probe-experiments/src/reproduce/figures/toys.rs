//! Pictures in the plane: the three kinds of recourse that motivate the paper, and how targets move
//! a recourse.

use super::super::lab::Laboratory;
use super::super::moons::moons;
use super::super::plane::{Spot, View, decisions, draw};
use super::super::{Experiment, Made, Table, csv, number};
use crate::compare::Contender;
use crate::number::{fixed, percent};
use crate::paper_data::Error;
use crate::plot::Figure;
use probe_core::registry::Entry;
use probe_core::{
    Activation, Answer, Dense, LineSampling, MethodOptions, Mlp, Model, Rows, Seed, Setup, Status,
};
use probe_train::{MlpParams, MlpTrainer};
use std::sync::Arc;

pub(in super::super) const MOTIVATION: Entry<dyn Experiment> =
    Entry { name: "motivation", reference: "Figure 1, arXiv:2203.06768", item: &Motivation };

pub(in super::super) const NAVIGATION: Entry<dyn Experiment> = Entry {
    name: "navigation",
    reference: "figure on navigating between recourses, arXiv:2203.06768",
    item: &Navigation,
};

/// Size of one of three charts; views have its shape.
const CHART: (f64, f64) = (320.0, 300.0);
/// Lines of a rate.
const LINES: usize = 4_096;

/// One person's recourse by one method.
struct Found {
    point: [f64; 2],
    cost: f64,
    rate: f64,
}

fn ask(
    model: &Arc<Mlp>,
    contender: &Contender,
    person: &[f64; 2],
    (sigma, rate): (f64, f64),
    seed: Seed,
) -> Result<Option<Found>, Error> {
    let names = ["first", "second"].map(str::to_owned).to_vec();
    let mut setup = Setup::new(Arc::clone(model) as Arc<dyn Model>, names, None, sigma)?;
    (setup.max_rate, setup.seed) = (rate, seed);
    let engine = contender.engine(&setup)?;
    let mut answer = Answer::new(2);
    engine.session().recourse(person, &mut answer)?;
    if answer.status == Status::None {
        return Ok(None);
    }
    let point = [answer.point[0], answer.point[1]];
    let estimate = engine.rate(&point, Some(person), &LineSampling { lines: LINES })?;
    Ok(Some(Found { point, cost: answer.cost.unwrap_or(f64::NAN), rate: estimate.rate }))
}

fn fails(found: &Found) -> String {
    format!("fails {}", percent((found.rate * 100.0).round() / 100.0))
}

fn row(name: &str, found: Option<&Found>) -> Vec<String> {
    let number = |of: fn(&Found) -> f64| found.map_or_else(|| "–".to_owned(), |f| fixed(of(f), 3));
    vec![name.to_owned(), number(|f| f.cost), number(|f| f.rate)]
}

const POINTS: [&str; 6] = ["recourse", "target", "first", "second", "cost", "rate"];

/// A line of a file with [`POINTS`]; the target is NaN for methods without one.
fn line(name: &str, target: f64, found: Option<&Found>) -> Vec<String> {
    let value = |of: fn(&Found) -> f64| found.map_or(f64::NAN, of);
    let values = [
        target,
        value(|f| f.point[0]),
        value(|f| f.point[1]),
        value(|f| f.cost),
        value(|f| f.rate),
    ];
    std::iter::once(format!("\"{name}\"")).chain(values.map(number)).collect()
}

/// The person as a line of such a file.
fn person_line(person: [f64; 2]) -> Vec<String> {
    line("person", f64::NAN, Some(&Found { point: person, cost: 0.0, rate: f64::NAN }))
}

struct Motivation;

/// Deviation of the noise, and the person.
const CORNER_SIGMA: f64 = 0.15;
const CORNER_RATE: f64 = 0.2;
const CORNER_PERSON: [f64; 2] = [0.1, -0.5];
const CORNER_VIEW: View = View { x: [-1.1, 1.1], y: [-0.75, 1.1] };

/// Slope of the score: steep enough that the adversarial method need not go far for a large one.
const STEEP: f64 = 8.0;

/// A corner: yes above 0.65 |first|, as the paper draws it.
fn corner() -> Result<Mlp, Error> {
    let hidden =
        Dense { weight: vec![1.0, 0.0, -1.0, 0.0, 0.0, 1.0, 0.0, -1.0], bias: vec![0.0; 4] };
    let weight = [-0.65, -0.65, 1.0, -1.0].map(|w| STEEP * w).to_vec();
    let out = Dense { weight, bias: vec![0.0] };
    Ok(Mlp::new(vec![hidden, out], Activation::Relu, 0.0)?)
}

impl Experiment for Motivation {
    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let model = Arc::new(corner()?);
        let options = MethodOptions::parse(["epsilon=0.3"])?;
        let asked = [
            ("Cheap and fragile: Wachter", Contender::new("wachter"), "s1"),
            ("In between: PROBE, r = 0.2", Contender::new("probe"), "s0"),
            ("Expensive and robust: ARAR", Contender { method: "arar".to_owned(), options }, "s3"),
        ];
        let (mut heads, mut spots, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut lines = vec![person_line(CORNER_PERSON)];
        for (name, contender, class) in &asked {
            let found = ask(
                &model,
                contender,
                &CORNER_PERSON,
                (CORNER_SIGMA, CORNER_RATE),
                lab.inputs.seed,
            )?;
            rows.push(row(name, found.as_ref()));
            let target = if contender.method == "probe" { CORNER_RATE } else { f64::NAN };
            lines.push(line(&contender.method, target, found.as_ref()));
            let cost = found.as_ref().map_or(f64::NAN, |f| f.cost);
            heads.push(format!("{name}, cost {}", fixed(cost, 2)));
            spots.push(found.map(|f| Spot {
                label: fails(&f),
                point: f.point,
                class,
                rings: vec![CORNER_SIGMA, 2.0 * CORNER_SIGMA],
            }));
        }
        let caption = format!(
            "Blue: the model says yes. Rings: one and two standard deviations of how far people \
             miss; what of them lies outside the blue fails. Noise of deviation {CORNER_SIGMA} in \
             both features; costs are l1. ARAR guards against every miss up to 0.3."
        );
        let yes = decisions(&*model, CORNER_VIEW)?;
        let figure = Figure {
            id: "motivation",
            title: "Low, medium and high robustness",
            caption: &caption,
            legend: &[],
            columns: 3,
            size: CHART,
        };
        let svg = figure.draw(&heads, |svg, i| {
            draw(svg, CHART, CORNER_VIEW, &yes, CORNER_PERSON, spots[i].as_slice());
        });
        let table = Table {
            title: "Three kinds of recourse".to_owned(),
            header: vec!["recourse", "l1 cost", "rate"],
            rows,
            ..Table::default()
        };
        let points = csv(&POINTS, lines.into_iter());
        let files = vec![("motivation.svg", svg.standalone()), ("motivation.csv", points)];
        Ok(Made { tables: vec![table], files, ..Made::default() })
    }
}

struct Navigation;

const NAVIGATED_VARIANCE: f64 = 0.05;
const NAVIGATED_RATES: [f64; 3] = [0.35, 0.2, 0.05];
const MOONS: usize = 1_000;
const SPREAD: f64 = 0.15;
const MOONS_VIEW: View = View { x: [-1.4, 1.6], y: [-0.9, 1.6] };

impl Experiment for Navigation {
    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let (seed, sigma) = (lab.inputs.seed, NAVIGATED_VARIANCE.sqrt());
        let data = moons(MOONS, SPREAD, seed);
        let names = ["first", "second"].map(str::to_owned);
        let params = MlpParams {
            hidden: vec![16],
            epochs: 120,
            batch: 32,
            learning_rate: 0.01,
            patience: 0,
            ..MlpParams::default()
        };
        let trainer = MlpTrainer::new(params).map_err(probe_train::Error::from)?;
        let rows = Rows::new(&data.rows, 2)?;
        let model = Arc::new(trainer.fit(rows, &names, &data.favourable, seed)?.model);
        // Any person would do; this one is in the middle of the upper moon.
        let person = [0.0, 1.0];
        let wachter = ask(&model, &Contender::new("wachter"), &person, (sigma, 0.5), seed)?;
        let mut table = vec![row("Wachter", wachter.as_ref())];
        let mut lines = vec![person_line(person), line("wachter", f64::NAN, wachter.as_ref())];
        let (mut heads, mut charts) = (Vec::new(), Vec::new());
        for rate in NAVIGATED_RATES {
            let found = ask(&model, &Contender::new("probe"), &person, (sigma, rate), seed)?;
            table.push(row(&format!("PROBE, r = {rate}"), found.as_ref()));
            lines.push(line("probe", rate, found.as_ref()));
            let told = found.as_ref().map_or(f64::NAN, |f| f.cost);
            heads.push(format!("r = {rate}: cost {}", fixed(told, 2)));
            let spot = |found: &Found, class| Spot {
                label: fails(found),
                point: found.point,
                class,
                rings: if class == "s0" { vec![2.0 * sigma] } else { Vec::new() },
            };
            let spots = wachter.iter().map(|f| spot(f, "s1"));
            charts.push(spots.chain(found.iter().map(|f| spot(f, "s0"))).collect::<Vec<_>>());
        }
        let caption = format!(
            "Blue: a network trained on two moons says yes. Wachter's recourse lies on the \
             boundary; PROBE's lies as far beyond it as its target asks. Noise of variance \
             {NAVIGATED_VARIANCE} in both features. The ring has a radius of two deviations and \
             holds 86% of all attempts (the paper says 95%, which is so on a line)."
        );
        let yes = decisions(&*model, MOONS_VIEW)?;
        let figure = Figure {
            id: "navigation",
            title: "From fragile to robust recourse, by the target r",
            caption: &caption,
            legend: &[("s1", "Wachter"), ("s0", "PROBE, our solver")],
            columns: 3,
            size: CHART,
        };
        let svg =
            figure.draw(&heads, |svg, i| draw(svg, CHART, MOONS_VIEW, &yes, person, &charts[i]));
        let table = Table {
            title: "Recourse on two moons, by target".to_owned(),
            header: vec!["recourse", "l1 cost", "rate"],
            rows: table,
            ..Table::default()
        };
        let points = csv(&POINTS, lines.into_iter());
        let files = vec![("navigation.svg", svg.standalone()), ("navigation.csv", points)];
        Ok(Made { tables: vec![table], files, ..Made::default() })
    }
}
