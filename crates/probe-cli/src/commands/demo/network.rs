//! The demo's second half: the same person scored by a network, and methods compared on it.

use crate::args::{Cli, Command, Common, Demo};
use crate::printer::Printer;
use anyhow::{Result, bail};
use clap::Parser as _;
use probe_core::{Answer, Engine, MethodOptions, Rows, Status};
use probe_experiments::number::{number, percent};
use probe_experiments::report::{
    Bound, Method, ModelAnswer, NetworkPart, PersonReport, feature_rows,
};
use probe_service::Prepared;
use probe_train::{TrainReport, credit};

/// Number of people in the comparison: few, because the paper's Algorithm 2 is slow.
const PEOPLE: usize = 16;
const METHODS: [(&str, &str); 3] = [
    ("probe", "cheapest change found that holds, tested"),
    ("probe-gradient", "the paper's Algorithm 1"),
    ("probe-mc", "the paper's Algorithm 2"),
];

/// Fits a network by the command a newcomer would type.
pub(super) fn train(args: &Demo, common: &Common, printer: &Printer) -> Result<TrainReport> {
    let file = |name: &str| args.out.join(name).display().to_string();
    let (data, schema, model, seed) =
        (file("credit.csv"), file("schema.toml"), file("network.json"), common.seed.to_string());
    let line =
        [
            &[
                "probe",
                "train",
                &data,
                "--target",
                credit::TARGET,
                "--schema",
                &schema,
                "-o",
                &model,
            ][..],
            &super::NETWORK_FLAGS,
            &["--quiet", "--seed", &seed],
        ]
        .concat();
    let Cli { command: Command::Train(train), common } = Cli::try_parse_from(line)? else {
        bail!("not a train command")
    };
    super::super::train::fit(&train, &common, printer)
}

/// A model of the demo, with its answer to the chosen person.
pub(super) struct Scored<'a> {
    pub(super) name: &'a str,
    pub(super) report: &'a TrainReport,
    pub(super) engine: &'a Engine,
    pub(super) prepared: &'a Prepared,
    pub(super) answer: &'a Answer,
}

impl Scored<'_> {
    fn to_report(&self, person: &[f64]) -> Result<ModelAnswer> {
        let input = PersonReport {
            engine: self.engine,
            schema: self.prepared.schema.as_ref(),
            person,
            answer: self.answer,
            rates: &[],
        };
        let sampled = !self.engine.has_exact_rates();
        let given = matches!(self.answer.status, Status::Certified | Status::Found);
        let bound =
            Bound { upper: self.answer.rate_upper, confidence: self.engine.setup().confidence };
        Ok(ModelAnswer {
            name: self.name.to_owned(),
            accuracy: self.report.test.as_ref().map(|test| test.accuracy),
            status: self.answer.status,
            cost: self.answer.cost.filter(|_| given),
            rate: Some(self.answer.rate).filter(|_| given),
            bound: Some(bound).filter(|_| sampled && given),
            features: feature_rows(&input)?,
        })
    }
}

/// Both models' answers to one person, and the methods on the network for some of those whom it
/// turned down.
pub(super) fn part(
    answers: &[Scored<'_>; 2],
    person: &[f64],
    people: Rows<'_>,
) -> Result<NetworkPart> {
    let engine = answers[1].engine;
    let mut denied = Vec::new();
    let mut n_people = 0;
    for person in people.iter() {
        if n_people < PEOPLE && engine.score(person)? <= 0.0 {
            denied.extend_from_slice(person);
            n_people += 1;
        }
    }
    let some = Rows::new(&denied, people.n_cols())?;
    let methods = METHODS
        .iter()
        .map(|(name, note)| method(engine, name, note, some))
        .collect::<Result<_>>()?;
    let answers = answers.iter().map(|answer| answer.to_report(person)).collect::<Result<_>>()?;
    Ok(NetworkPart { answers, n_people, methods })
}

fn method(engine: &Engine, name: &str, note: &str, people: Rows<'_>) -> Result<Method> {
    let mut setup = engine.setup().clone();
    (setup.method, setup.options) = (name.to_owned(), MethodOptions::default());
    let answers = Engine::new(setup)?.recourse(people)?;
    let given: Vec<&Answer> = answers.iter().filter(|a| a.cost.is_some()).collect();
    let mean = |value: &dyn Fn(&Answer) -> f64| {
        let sum: f64 = given.iter().map(|a| value(a)).sum();
        Some(sum / given.len() as f64).filter(|mean| mean.is_finite())
    };
    let share = |n: usize| Some(n as f64 / answers.len() as f64).filter(|share| share.is_finite());
    let changed = mean(&|a| a.changed as f64).unwrap_or(0.0);
    Ok(Method {
        name: name.to_owned(),
        note: format!(
            "{note}; changes {} features on average",
            number((10.0 * changed).round() / 10.0)
        ),
        accuracy: share(given.len()),
        rate: mean(&|a| a.rate),
        cost: mean(&|a| a.cost.unwrap_or(0.0)),
        certified: share(answers.iter().filter(|a| a.status == Status::Certified).count()),
    })
}

/// Both tables.
pub(super) fn print(part: &NetworkPart, printer: &Printer) {
    let none = || "–".to_owned();
    let row = |a: &ModelAnswer| {
        let at_most = match (a.status, a.bound, a.rate) {
            (Status::Certified, Some(bound), _) => format!("{}, tested", percent(bound.upper)),
            (Status::Certified, None, Some(rate)) => format!("{}, exactly", percent(rate)),
            (Status::Favourable, ..) => "a yes already".to_owned(),
            _ => "not certified".to_owned(),
        };
        vec![
            a.name.clone(),
            a.accuracy.map_or_else(none, |share| format!("{share:.3}")),
            a.cost.map_or_else(none, |cost| format!("{cost:.3}")),
            a.rate.map_or_else(none, percent),
            at_most,
            changes(a),
        ]
    };
    let rows: Vec<_> = part.answers.iter().map(row).collect();
    printer.table(
        &["model", "accuracy", "cost", "fail", "at most", "what changes"],
        &rows,
        &[1, 2, 3],
    );
    if part.n_people == 0 {
        return;
    }
    printer.say(&format!(
        "Methods on the network, for {} people whom both models turned down:",
        part.n_people
    ));
    let row = |m: &Method| {
        vec![
            m.name.clone(),
            m.certified.map_or_else(none, percent),
            m.rate.map_or_else(none, percent),
            m.cost.map_or_else(none, |cost| format!("{cost:.3}")),
            m.note.clone(),
        ]
    };
    let rows: Vec<_> = part.methods.iter().map(row).collect();
    printer.table(&["method", "certified", "mean fail", "mean cost", ""], &rows, &[1, 2, 3]);
}

fn changes(answer: &ModelAnswer) -> String {
    let change = |f: &probe_experiments::report::PersonFeature| {
        let (from, to) = super::from_and_to(f);
        format!("{} {from} → {to}", f.name)
    };
    let changed: Vec<String> = answer.features.iter().filter(|f| f.changed()).map(change).collect();
    if changed.is_empty() { "–".to_owned() } else { changed.join(", ") }
}
