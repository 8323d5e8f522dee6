//! A credit applicant's choice between cheap and robust advice.

use super::super::lab::Laboratory;
use super::super::{Experiment, Made, Table, csv, number};
use crate::number::{fixed, quantity};
use crate::paper_data::Error;
use crate::plot::Figure;
use crate::report::{Applicant, draw_frontier};
use probe_core::registry::Entry;

pub(in super::super) const LOAN: Entry<dyn Experiment> = Entry {
    name: "loan",
    reference: "figure on navigating a credit loan, arXiv:2203.06768",
    item: &Loan,
};

const RATES: [f64; 7] = [0.45, 0.35, 0.25, 0.2, 0.1, 0.05, 0.01];
const TOLD: [f64; 3] = [0.35, 0.2, 0.05];
const SIZE: (f64, f64) = (812.0, 340.0);

struct Loan;

impl Experiment for Loan {
    fn make(&self, lab: &Laboratory) -> Result<Made, Error> {
        // Built-in data: the paper's figure shows a sketch and no data set.
        let Some(applicant) = Applicant::find(lab.inputs.seed)? else { return Ok(Made::default()) };
        let report = applicant.report("A credit applicant", &RATES)?;
        let Applicant { engine, person, .. } = &applicant;
        let encoding = &engine.setup().encoding;
        let features = encoding.features();
        let all = || 0..features.len();
        let category = |k: usize, row: &[f64]| encoding.category(k, row).map(str::to_owned);
        let mut rows = Vec::new();
        let mut session = engine.session();
        for (rate, answer) in TOLD.iter().zip(session.frontier(person, &TOLD)?) {
            let told = |k: usize, row: &[f64], unit: Option<&str>| {
                category(k, row).unwrap_or_else(|| quantity(encoding.value(k, row), unit))
            };
            let change = |k: usize| {
                let to = told(k, &answer.point, features[k].unit.as_deref());
                format!("{} {} → {to}", features[k].name, told(k, person, None))
            };
            let changes =
                |k: &usize| encoding.value(*k, &answer.point) != encoding.value(*k, person);
            let cost = answer.cost.map_or_else(|| "–".to_owned(), |c| fixed(c, 3));
            let changes: Vec<String> = all().filter(changes).map(change).collect();
            rows.push(vec![format!("{} in 100 may fail", rate * 100.0), cost, changes.join("; ")]);
        }
        let mut header = vec!["target", "cost", "rate"];
        header.extend(features.iter().map(|feature| feature.name.as_str()));
        let line = |told: [f64; 3], row: &[f64]| -> Vec<String> {
            let value =
                |k: usize| category(k, row).unwrap_or_else(|| number(encoding.value(k, row)));
            told.into_iter().map(number).chain(all().map(value)).collect()
        };
        let mut lines = vec![line([f64::NAN, 0.0, f64::NAN], person)];
        for (rate, answer) in RATES.iter().zip(session.frontier(person, &RATES)?) {
            lines.push(line([*rate, answer.cost.unwrap_or(f64::NAN), answer.rate], &answer.point));
        }
        let numbers = csv(&header, lines.into_iter());
        let table = Table {
            title: "A credit applicant's options".to_owned(),
            header: vec!["robustness", "cost", "what to do"],
            rows,
            ..Table::default()
        };
        let figure = Figure {
            id: "loan",
            title: "A credit applicant's choice: what fewer failures cost",
            caption: "Each dot is the cheapest advice that fails so often when it is carried out \
                      with errors of a twentieth of each feature's range; the large one is what \
                      this person is told by default. At the right end, advice that just changes \
                      the decision. Cost is the sum of the changes, each in parts of its feature's \
                      range. A person of the built-in credit data.",
            legend: &[],
            columns: 1,
            size: SIZE,
        };
        let svg = figure.draw(&[String::new()], |svg, _| {
            draw_frontier(svg, &report, SIZE);
        });
        let remarks = vec![
            "The paper's figure is a sketch; this is a person of the built-in credit \
             data, in their own units."
                .to_owned(),
        ];
        let files = vec![("loan.svg", svg.standalone()), ("loan.csv", numbers)];
        Ok(Made { tables: vec![table], remarks, files })
    }
}
