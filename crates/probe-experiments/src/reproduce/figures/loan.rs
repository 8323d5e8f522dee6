//! A credit applicant's choice between cheap and robust advice.

use super::super::lab::Laboratory;
use super::super::{Experiment, Made, Table};
use crate::number::{fixed, quantity};
use crate::paper_data::Error;
use crate::report::{ModelCard, PersonReport, frontier_picture};
use probe_core::registry::Entry;
use probe_core::{Answer, Engine, Rows, Setup, Status};
use probe_train::{FitParams, credit, fit_model};

pub(in super::super) const LOAN: Entry<dyn Experiment> =
    Entry { name: "loan", reference: "figure on navigating a credit loan, arXiv:2203.06768", item: &Loan };

/// Built-in data: the paper's figure shows a sketch and no data set.
const PEOPLE: usize = 10_000;
const SIGMA: f64 = 0.05;
const RATES: [f64; 7] = [0.45, 0.35, 0.25, 0.2, 0.1, 0.05, 0.01];
const TOLD: [f64; 3] = [0.35, 0.2, 0.05];
const WIDTH: f64 = 812.0;

struct Loan;

impl Experiment for Loan {
    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        let seed = lab.inputs.seed;
        let data = credit::generate(PEOPLE, seed);
        let trained = fit_model(&data.labelled()?, Some(&credit::schema()), &FitParams::default(), seed)?;
        let (schema, model) = (trained.schema, trained.model);
        let mut setup = Setup::new(model, schema.names(), Some(&schema), SIGMA)?;
        setup.seed = seed;
        let engine = Engine::new(setup)?;
        let mut denied = Vec::new();
        for row in 0..data.n_rows() {
            if engine.score(data.person(row))? <= 0.0 {
                denied.extend_from_slice(data.person(row));
            }
        }
        let people = Rows::new(&denied, credit::N_FEATURES)?;
        let answers = engine.recourse(people)?;
        let telling = |a: &Answer| a.status == Status::Certified && a.changed == 2;
        let Some(chosen) = answers.iter().position(telling) else { return Ok(Made::default()) };
        let person = people.row(chosen);
        let input = PersonReport {
            engine: &engine,
            schema: Some(&schema),
            person,
            answer: &answers[chosen],
            rates: &RATES,
        };
        let card = ModelCard {
            kind: "linear".to_owned(),
            n_features: credit::N_FEATURES,
            n_train: None,
            n_test: None,
            accuracy: None,
            balanced_accuracy: None,
            auc: None,
        };
        let report = input.build("Credit application", "A credit applicant", card)?;
        let mut rows = Vec::new();
        let mut session = engine.session();
        for (rate, answer) in TOLD.iter().zip(session.frontier(person, &TOLD)?) {
            let names = schema.names();
            let change = |j: &usize| {
                let unit = schema.feature(&names[*j]).and_then(|f| f.unit.as_deref());
                format!("{} {} → {}", names[*j], quantity(person[*j], None), quantity(answer.point[*j], unit))
            };
            let changed: Vec<usize> = (0..names.len()).filter(|&j| answer.point[j] != person[j]).collect();
            let cost = answer.cost.map_or_else(|| "–".to_owned(), |c| fixed(c, 3));
            let changes: Vec<String> = changed.iter().map(change).collect();
            rows.push(vec![format!("{} in 100 may fail", rate * 100.0), cost, changes.join("; ")]);
        }
        let table = Table {
            title: "A credit applicant's options".to_owned(),
            header: vec!["robustness", "cost", "what to do"],
            rows,
        };
        let picture = frontier_picture(&report, "loan", WIDTH).map(|svg| ("loan.svg", svg.standalone()));
        let remarks = vec![
            "The paper's figure is a sketch; this is a person of the built-in credit data, in their own units.".to_owned(),
        ];
        Ok(Made { tables: vec![table], remarks, files: picture.into_iter().collect() })
    }
}
