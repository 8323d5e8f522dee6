//! A person of the built-in credit data for example pictures.

use super::{ModelCard, PersonReport, Report};
use crate::paper_data::Error;
use probe_core::{Answer, Engine, Rows, Schema, Seed, Setup, Status};
use probe_train::{FitParams, credit, fit_model};

const PEOPLE: usize = 10_000;
const SIGMA: f64 = 0.05;

/// The first person whom the demo's model turns down and whose answer changes two numbers.
pub struct Applicant {
    /// The engine that answered.
    pub engine: Engine,
    /// Features with their units.
    pub schema: Schema,
    /// Number among those who were turned down.
    pub number: usize,
    /// The person.
    pub person: Vec<f64>,
    /// Their answer.
    pub answer: Answer,
}

impl Applicant {
    /// Generates the data, trains the model and searches; `None` if nobody fits.
    pub fn find(seed: Seed) -> Result<Option<Self>, Error> {
        let data = credit::generate(PEOPLE, seed);
        let trained =
            fit_model(&data.labelled()?, Some(&credit::schema()), &FitParams::default(), seed)?;
        let (schema, model) = (trained.schema, trained.model);
        let mut setup = Setup::new(model, schema.column_names(), Some(&schema), SIGMA)?;
        setup.seed = seed;
        let engine = Engine::new(setup)?;
        let encoding = &engine.setup().encoding;
        let (mut denied, mut columns) = (Vec::new(), vec![0.0; encoding.n_columns()]);
        for row in 0..data.n_rows() {
            encoding.encode_into(data.person(row), &mut columns);
            if engine.score(&columns)? <= 0.0 {
                denied.extend_from_slice(&columns);
            }
        }
        let people = Rows::new(&denied, columns.len())?;
        let answers = engine.recourse(people)?;
        // Two numbers, for the two axes of a picture.
        let is_number = |j: usize| !engine.setup().actions.is_grouped(j);
        let telling = |number: usize, answer: &Answer| {
            let changes = |j: &usize| answer.point[*j] != people.row(number)[*j];
            let changed: Vec<usize> = (0..people.n_cols()).filter(changes).collect();
            answer.status == Status::Certified
                && changed.len() == 2
                && changed.into_iter().all(is_number)
        };
        let found =
            answers.into_iter().enumerate().find(|(number, answer)| telling(*number, answer));
        Ok(found.map(|(number, answer)| {
            let person = people.row(number).to_vec();
            Self { engine, schema, number, person, answer }
        }))
    }

    /// The report that pictures are drawn from, with the cost at some rates.
    pub fn report(&self, name: &str, rates: &[f64]) -> Result<Report, Error> {
        let input = PersonReport {
            engine: &self.engine,
            schema: Some(&self.schema),
            person: &self.person,
            answer: &self.answer,
            rates,
        };
        let card = ModelCard {
            kind: "linear".to_owned(),
            n_features: credit::N_FEATURES,
            ..ModelCard::default()
        };
        Ok(input.build("Credit application", name, card)?)
    }
}
