//! A question about a model that is asked many times, by many threads: everything that does not
//! depend on the people is prepared once.

use crate::diagnostics::Diagnostics;
use crate::letters::{self, Letters};
use crate::people::{columns_of_people, feature_fields};
use crate::prepared::{Command, Inputs, Prepared, Work};
use crate::rate::{self, Origins, Rater};
use crate::request::Request;
use crate::score::{self, Scores};
use crate::stop::Stop;
use crate::{frontier, recourse};
use anyhow::Result;
use probe_core::{Answer, Engine, Status};
use probe_io::{Batch, Chunk, ColumnPlan, Columns, Field, ModelFile, Prose};
use probe_words::Language;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// Margins and decisions.
    Score,
    /// The cheapest change.
    Recourse,
    /// The same in words.
    Letters(Arc<Language>),
    /// Cost against rate.
    Frontier,
    /// Rates of points.
    Rate,
}

/// The form of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Columns of a table.
    Columns,
    /// JSON objects, each with its `meta`, as in JSON Lines.
    Lines,
    /// Letters, as texts or JSON.
    Letters(letters::Kind),
}

/// Reads the people to whom points were advised.
pub type ReadOrigins = Box<dyn FnOnce(&Prepared) -> Result<Origins>>;

/// A prepared question.
pub struct Question {
    ask: Ask,
    prepared: Prepared,
    engine: Engine,
    rater: Option<Rater>,
    request: Request,
    meta: Value,
    setting: Value,
}

/// Answers to a chunk of people.
#[derive(Debug)]
pub struct Answered<'c> {
    /// The rows.
    pub batch: Batch<'c>,
    /// Records for the audit file, of recourse and letters.
    pub records: Vec<Value>,
    /// What people got.
    pub tally: Tally,
}

/// What people got.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Answers by status: certified, found, none, favourable.
    pub statuses: [u64; 4],
    /// The rate of each answer that has one, as a share of the target.
    pub shares: Vec<f64>,
    /// Evaluations of the model that searches and certificates counted.
    pub evaluations: u64,
    /// People who were not answered because time was up.
    pub late: u64,
}

impl Tally {
    /// The names of the counts.
    pub const STATUSES: [Status; 4] =
        [Status::Certified, Status::Found, Status::None, Status::Favourable];

    fn of(answers: &[Answer], target: impl Fn(usize) -> f64) -> Self {
        let mut tally = Self::default();
        for (i, answer) in answers.iter().enumerate() {
            let k = Self::STATUSES.iter().position(|status| *status == answer.status);
            tally.statuses[k.unwrap_or(2)] += 1;
            if matches!(answer.status, Status::Certified | Status::Found) {
                tally.shares.push(answer.rate / target(i));
            }
        }
        tally
    }
}

impl Question {
    /// Prepares a question. `origins` are the people to whom points were advised, for rates.
    pub fn new(
        ask: Ask,
        file: &ModelFile,
        inputs: Inputs,
        request: Request,
        origins: Option<ReadOrigins>,
        diagnostics: &dyn Diagnostics,
    ) -> Result<Self> {
        let prepared = Prepared::new(file, inputs, &request, diagnostics)?;
        let setup = || prepared.setup.clone();
        let (command, engine) = match ask {
            Ask::Score => (Command::Score, Engine::without_method(setup())?),
            Ask::Rate => (Command::Rate, Engine::without_method(setup())?),
            Ask::Recourse | Ask::Letters(_) => (Command::Recourse, Engine::new(setup())?),
            Ask::Frontier => (Command::Frontier, Engine::new(setup())?),
        };
        let rater = match ask {
            Ask::Rate => Some(Rater::new(&prepared, &request, origins.is_some(), || {
                origins.map(|read| read(&prepared)).transpose()
            })?),
            _ => None,
        };
        let mut meta = prepared.meta(command);
        if matches!(ask, Ask::Frontier) {
            meta["r"] = json!(request.rates);
        }
        prepared.report_notes(&engine, &mut meta, diagnostics);
        let setting = prepared.audit_setting(&request, &meta);
        Ok(Self { ask, prepared, engine, rater, request, meta, setting })
    }

    /// What is true of all answers.
    pub fn meta(&self) -> &Value {
        &self.meta
    }

    /// Typical computing time for one person.
    pub fn work(&self) -> Work {
        match (&self.ask, &self.rater) {
            (Ask::Score, _) => Work::Light,
            (_, Some(rater)) => rater.work(),
            _ => self.prepared.work(&Silent),
        }
    }

    /// The columns to read.
    pub fn columns(&self, ids: &[String], ignore_extra: bool) -> Columns {
        let columns = columns_of_people(&self.prepared.setup);
        Columns { ids: ids.to_vec(), ignore_extra, ..columns }
    }

    /// The output columns.
    pub fn fields(&self, plan: &ColumnPlan) -> Vec<Field> {
        let mut fields = match &self.ask {
            Ask::Score => score::fields(),
            Ask::Rate => rate::fields(),
            Ask::Frontier => frontier::fields(&self.engine),
            Ask::Recourse | Ask::Letters(_) => {
                let options = self.engine.session().n_options();
                recourse::fields(&self.engine, options, self.request.relax)
            }
        };
        if matches!(self.ask, Ask::Recourse | Ask::Frontier) {
            fields.extend(feature_fields(&self.prepared.setup, plan));
        }
        fields.extend(plan.id_fields());
        fields
    }

    /// The text around letters of this kind; `None` for JSON.
    pub fn prose(&self, kind: letters::Kind) -> Result<Option<Prose>> {
        match &self.ask {
            Ask::Letters(language) => {
                Letters::new(&self.engine, Arc::clone(language), kind)?.prose()
            }
            _ => Ok(None),
        }
    }

    /// Answers the people of a chunk.
    pub fn answer<'c>(&self, chunk: &'c Chunk, form: Form, stop: &Stop) -> Result<Answered<'c>> {
        let meta = (form == Form::Lines).then_some(&self.meta);
        let (batch, records, tally) = match &self.ask {
            Ask::Score => {
                let scores = Scores::of(&self.engine, chunk)?;
                let batch = match form {
                    Form::Columns => scores.columns(chunk)?,
                    _ => scores.objects(chunk, meta)?,
                };
                (batch, Vec::new(), Tally::default())
            }
            Ask::Rate => {
                let rater = self.rater.as_ref().ok_or_else(|| anyhow::anyhow!("no rates"))?;
                let rates = rater.rates(chunk, &mut Vec::new(), stop.flag())?;
                let batch = match form {
                    Form::Columns => rates.columns(chunk)?,
                    _ => rates.objects(chunk, meta)?,
                };
                (batch, Vec::new(), Tally::default())
            }
            Ask::Frontier => {
                self.prepared.check_rows(chunk)?;
                let rates = &self.request.rates;
                let mut worker =
                    frontier::Worker::new(&self.engine, rates, stop.flag()).until(stop);
                worker.answer(chunk)?;
                let tally = Tally::of(worker.answers(), |i| rates[i % rates.len()]);
                let batch = match form {
                    Form::Columns => worker.columns(chunk)?,
                    _ => worker.objects(&self.prepared, chunk, meta)?,
                };
                let counted = (worker.n_evaluations(), worker.n_late());
                (batch, Vec::new(), Tally { evaluations: counted.0, late: counted.1, ..tally })
            }
            Ask::Recourse | Ask::Letters(_) => self.recourse(chunk, form, stop)?,
        };
        Ok(Answered { batch, records, tally })
    }

    fn recourse<'c>(
        &self,
        chunk: &'c Chunk,
        form: Form,
        stop: &Stop,
    ) -> Result<(Batch<'c>, Vec<Value>, Tally)> {
        self.prepared.check_rows(chunk)?;
        let relax = self.request.relax;
        let mut worker = recourse::Worker::new(&self.engine, relax, stop.flag()).until(stop);
        worker.answer(chunk, None::<&fn(u64) -> Result<&'static [f64]>>)?;
        let records = worker.records(&self.prepared, chunk, &self.setting);
        let target = self.request.max_rate;
        let mut tally = Tally::of(worker.answers(), |_| target);
        (tally.evaluations, tally.late) = (worker.n_evaluations(), worker.n_late());
        let batch = match (form, &self.ask) {
            (Form::Letters(kind), Ask::Letters(language)) => {
                let letters = Letters::new(&self.engine, Arc::clone(language), kind)?;
                worker.letters(&letters, chunk, &self.meta)?
            }
            (Form::Columns, _) => worker.columns(chunk)?,
            _ => worker.objects(&self.prepared, chunk, Some(&self.meta))?,
        };
        Ok((batch, records, tally))
    }
}

/// Says nothing.
struct Silent;

impl Diagnostics for Silent {
    fn note(&self, _: &crate::Message) {}
    fn warn(&self, _: &crate::Message) {}
}
