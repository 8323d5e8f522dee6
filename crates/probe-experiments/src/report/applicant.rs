//! Somebody of the built-in credit data whom pictures can be made of.

use super::{ModelCard, PersonReport, Report};
use crate::paper_data::Error;
use probe_core::{Answer, Engine, Rows, Schema, Seed, Setup, Status};
use probe_train::{FitParams, credit, fit_model};

const PEOPLE: usize = 10_000;
const SIGMA: f64 = 0.05;

/// The first person whom the demo's model turns down and whose answer changes two features.
pub struct Applicant {
    /// The engine that answered.
    pub engine: Engine,
    /// Features with their units.
    pub schema: Schema,
    /// Number among those who were turned down.
    pub number: usize,
    /// The person.
    pub person: Vec<f64>,
    /// What they were told.
    pub answer: Answer,
}

impl Applicant {
    /// Generates the data, trains the model and looks; `None` where there is nobody.
    pub fn find(seed: Seed) -> Result<Option<Self>, Error> {
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
        let telling = |answer: &Answer| answer.status == Status::Certified && answer.changed == 2;
        let found = answers.into_iter().enumerate().find(|(_, answer)| telling(answer));
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
        let card =
            ModelCard { kind: "linear".to_owned(), n_features: credit::N_FEATURES, ..ModelCard::default() };
        Ok(input.build("Credit application", name, card)?)
    }
}
