//! Cost against rate, person by person.

use crate::people::at_row;
use crate::prepared::Prepared;
use crate::recourse::leave;
use crate::rows;
use crate::stop::{Stop, is_stopped};
use crate::values;
use anyhow::Result;
use probe_core::{Answer, Engine, Session};
use probe_io::{Batch, Chunk, Column, Field, JsonRows};
use serde_json::Value;
use std::sync::atomic::AtomicBool;

/// Output columns before those of the features, for an engine.
pub fn fields(engine: &Engine) -> Vec<Field> {
    let mut fields = vec![Field::integer("row"), Field::float("target_rate")];
    fields.extend(values::fields(engine, values::Table::Frontier));
    fields
}

/// One worker's buffers.
pub struct Worker<'e> {
    session: Session<'e>,
    rates: &'e [f64],
    people: Vec<f64>,
    /// One for each rate, person by person.
    answers: Vec<Answer>,
    /// When people are left without an answer.
    limit: Option<&'e Stop>,
    late: u64,
}

impl<'e> Worker<'e> {
    /// A worker of `engine` for these rates, which stops once `cancelled` is set.
    pub fn new(engine: &'e Engine, rates: &'e [f64], cancelled: &'e AtomicBool) -> Self {
        let mut session = engine.session();
        session.end_on(cancelled);
        let (people, answers, limit, late) = Default::default();
        Self { session, rates, people, answers, limit, late }
    }

    /// Once the time of `limit` is up, people get the reason `search-limit` instead of an error.
    #[must_use]
    pub fn until(self, limit: &'e Stop) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The answers to the last chunk, person by person.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Evaluations of the model that searches have counted.
    pub fn n_evaluations(&self) -> u64 {
        self.session.n_evaluations()
    }

    /// People without an answer because time was up.
    pub fn n_late(&self) -> u64 {
        self.late
    }

    /// Answers the people of a chunk.
    pub fn answer(&mut self, chunk: &Chunk) -> Result<()> {
        chunk.numbers_into(&mut self.people)?;
        self.answers.clear();
        for (row, person) in self.people.chunks_exact(chunk.plan().n_columns()).enumerate() {
            // Once time is up, nothing is begun.
            let found = match self.limit.is_some_and(Stop::is_late) {
                true => Err(probe_core::Error::Cancelled),
                false => self.session.frontier(person, self.rates),
            };
            match found {
                Err(error) if is_stopped(&error) && self.limit.is_some_and(Stop::is_late) => {
                    let first = self.answers.len();
                    self.answers.resize(first + self.rates.len(), Answer::new(0));
                    leave(self.session.engine(), person, &mut self.answers[first..])
                        .map_err(at_row(chunk, row))?;
                    self.late += 1;
                }
                found => self.answers.extend(found.map_err(at_row(chunk, row))?),
            }
        }
        Ok(())
    }

    /// The answers as columns of a table.
    pub fn columns<'c>(&self, chunk: &'c Chunk) -> Result<Batch<'c>> {
        let (answers, rates) = (&self.answers, self.rates);
        let steps = &self.session.engine().setup().steps;
        let row_of = |i: usize| i / rates.len();
        let first = chunk.first_row() as i64;
        let mut columns = vec![
            Column::integers((0..answers.len()).map(|i| first + row_of(i) as i64)),
            Column::floats((0..answers.len()).map(|i| rates[i % rates.len()])),
        ];
        columns.extend(values::columns(self.session.engine(), values::Table::Frontier, answers));
        columns.extend(rows::feature_columns(chunk, &self.people, answers, steps, row_of));
        for k in 0..chunk.plan().n_ids() {
            columns.push(chunk.id_column(k, (0..answers.len()).map(row_of))?);
        }
        Ok(Batch::Columns(columns))
    }

    /// The answers as JSON.
    pub fn objects<'c>(
        &self,
        prepared: &Prepared,
        chunk: &'c Chunk,
        meta: Option<&Value>,
    ) -> Result<Batch<'c>> {
        let (people, answers, rates) = (&self.people, &self.answers, self.rates);
        let n = chunk.plan().n_columns();
        let mut rows = JsonRows::new(meta)?;
        for (i, answer) in answers.iter().enumerate() {
            let row = i / rates.len();
            rows.push(&rows::AnswerRow {
                prepared,
                person: &people[row * n..(row + 1) * n],
                answer,
                row: chunk.first_row() + row as u64,
                option: None,
                relaxations: None,
                target_rate: Some(rates[i % rates.len()]),
                details: None,
                ids: rows::ids(chunk, row)?,
            })?;
        }
        Ok(Batch::Json(rows))
    }
}
