//! Answers to people, chunk by chunk, for `probe recourse` and for the same function in other
//! languages.

use crate::letters::Letters;
use crate::people::at_row;
use crate::prepared::Prepared;
use crate::rows;
use crate::stop::{Stop, is_stopped};
use crate::values;
use anyhow::Result;
use probe_core::{Answer, Engine, Reason, Relaxation, Session, Status};
use probe_io::{Batch, Checksum, Chunk, Column, Field, JsonRows};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;

/// Output columns that come before those of the features, for `options` answers per person of an
/// engine.
pub fn fields(engine: &Engine, options: usize, relax: bool) -> Vec<Field> {
    let mut fields = vec![Field::integer("row")];
    if options > 1 {
        fields.push(Field::integer("option"));
    }
    fields.extend(values::fields(engine, values::Table::Recourse));
    if relax {
        fields.push(Field::text("relaxation"));
    }
    fields
}

/// Answers without a search: the person as they are, with the reason `search-limit`.
pub(crate) fn leave(
    engine: &Engine,
    person: &[f64],
    answers: &mut [Answer],
) -> probe_core::Result<()> {
    let score = engine.score(person)?;
    for answer in answers {
        *answer = Answer::new(0);
        answer.point.extend_from_slice(person);
        answer.reason = Some(Reason::SearchLimit);
        (answer.score_before, answer.score_after) = (score, score);
    }
    Ok(())
}

/// One worker's buffers.
pub struct Worker<'e> {
    session: Session<'e>,
    /// Answers per person.
    options: usize,
    people: Vec<f64>,
    /// The answers of each person, one person after another.
    answers: Vec<Answer>,
    /// The relaxations that would help, for each answer; `None` if they are not asked for.
    relaxations: Option<Vec<Vec<Relaxation>>>,
    /// When people are left without an answer.
    limit: Option<&'e Stop>,
    late: u64,
}

impl<'e> Worker<'e> {
    /// A worker of `engine`, which stops once `cancelled` is set. With `relax`, it also finds
    /// relaxations for people without an answer.
    pub fn new(engine: &'e Engine, relax: bool, cancelled: &'e AtomicBool) -> Self {
        let mut session = engine.session();
        session.end_on(cancelled);
        let options = session.n_options();
        let relaxations = relax.then(Vec::new);
        let (people, answers, limit, late) = Default::default();
        Self { session, options, people, answers, relaxations, limit, late }
    }

    /// Once the time of `limit` is up, people get the reason `search-limit` instead of an error.
    #[must_use]
    pub fn until(self, limit: &'e Stop) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Evaluations of the model that searches have counted.
    pub fn n_evaluations(&self) -> u64 {
        self.session.n_evaluations()
    }

    /// People without an answer because time was up.
    pub fn n_late(&self) -> u64 {
        self.late
    }

    /// The answers to the last chunk, person by person.
    pub fn answers(&self) -> &[Answer] {
        &self.answers
    }

    /// Answers the people of a chunk. `factors` gives, for a row, the factor of each column's cost.
    pub fn answer<'f>(
        &mut self,
        chunk: &Chunk,
        factors: Option<&(impl Fn(u64) -> Result<&'f [f64]> + ?Sized)>,
    ) -> Result<()> {
        chunk.numbers_into(&mut self.people)?;
        let n = chunk.plan().n_columns();
        self.answers.resize(chunk.n_rows() * self.options, Answer::new(n));
        let answers = self.answers.chunks_exact_mut(self.options);
        for (row, (person, answers)) in self.people.chunks_exact(n).zip(answers).enumerate() {
            if let Some(factors) = factors {
                let factors = factors(chunk.first_row() + row as u64)?;
                self.session.set_cost_factors(Some(factors)).map_err(at_row(chunk, row))?;
            }
            // Once time is up, nothing is begun.
            let done = match self.limit.is_some_and(Stop::is_late) {
                true => Err(probe_core::Error::Cancelled),
                false => self.session.recourse_options(person, answers),
            };
            match done {
                Err(error) if is_stopped(&error) && self.limit.is_some_and(Stop::is_late) => {
                    leave(self.session.engine(), person, answers).map_err(at_row(chunk, row))?;
                    self.late += 1;
                }
                done => done.map_err(at_row(chunk, row))?,
            }
        }
        if let Some(relaxations) = &mut self.relaxations {
            relaxations.clear();
            for (i, answer) in self.answers.iter().enumerate() {
                let row = i / self.options;
                let person = &self.people[row * n..(row + 1) * n];
                let found = match self.session.relaxations(person, answer) {
                    Err(error) if is_stopped(&error) && self.limit.is_some_and(Stop::is_late) => {
                        Vec::new()
                    }
                    found => found.map_err(at_row(chunk, row))?,
                };
                relaxations.push(found);
            }
        }
        Ok(())
    }

    /// The answers as letters.
    pub fn letters(
        &mut self,
        letters: &Letters<'_>,
        chunk: &Chunk,
        meta: &Value,
    ) -> Result<Batch<'static>> {
        let relaxations = self.relaxations.as_deref();
        letters.write(&mut self.session, chunk, &self.people, &self.answers, relaxations, meta)
    }

    /// A record of each answer, for the audit file.
    pub fn records(&self, prepared: &Prepared, chunk: &Chunk, setting: &Value) -> Vec<Value> {
        let n = chunk.plan().n_columns();
        let exact = self.session.engine().has_exact_rates();
        let record = |(i, answer): (usize, &Answer)| {
            let row = i / self.options;
            let person = &self.people[row * n..(row + 1) * n];
            let (from, to) =
                (rows::by_name(prepared, person), rows::by_name(prepared, &answer.point));
            json!({
                "row": chunk.first_row() + row as u64,
                "option": (self.options > 1).then_some(i % self.options),
                "input_hash": Checksum::of(from.to_string().as_bytes()),
                "setting": setting,
                "answer": {
                    "status": answer.status.as_str(),
                    "reason": answer.reason.map(Reason::code),
                    "cost": answer.cost,
                    "cost_lower": answer.cost_lower,
                    "proven": answer.proven,
                    "rate": answer.rate,
                    "changed": answer.changed,
                    "to": to,
                },
                "certificate": (answer.status == Status::Certified).then(|| json!({
                    "rate_upper": answer.rate_upper,
                    "exact": exact,
                    "confidence": if exact { 1.0 } else { prepared.setup.confidence },
                })),
            })
        };
        self.answers.iter().enumerate().map(record).collect()
    }

    /// The answers as columns of a table.
    pub fn columns<'c>(&self, chunk: &'c Chunk) -> Result<Batch<'c>> {
        let (answers, options) = (&self.answers, self.options);
        let row_of = |i: usize| i / options;
        let first = chunk.first_row() as i64;
        let mut columns =
            vec![Column::integers((0..answers.len()).map(|i| first + row_of(i) as i64))];
        if options > 1 {
            columns.push(Column::integers((0..answers.len()).map(|i| (i % options) as i64)));
        }
        columns.extend(values::columns(self.session.engine(), values::Table::Recourse, answers));
        if let Some(relaxations) = &self.relaxations {
            let setup = self.session.engine().setup();
            let least = |all: &Vec<Relaxation>| {
                all.first().map_or_else(String::new, |r| rows::relaxed_text(setup, r))
            };
            columns.push(Column::texts(relaxations.iter().map(least)));
        }
        columns.extend(rows::feature_columns(
            chunk,
            &self.people,
            answers,
            &self.session.engine().setup().steps,
            row_of,
        ));
        for k in 0..chunk.plan().n_ids() {
            columns.push(chunk.id_column(k, (0..answers.len()).map(row_of))?);
        }
        Ok(Batch::Columns(columns))
    }

    /// The answers as JSON.
    pub fn objects<'c>(
        &mut self,
        prepared: &Prepared,
        chunk: &'c Chunk,
        meta: Option<&Value>,
    ) -> Result<Batch<'c>> {
        let n = chunk.plan().n_columns();
        let mut rows = JsonRows::new(meta)?;
        for (i, answer) in self.answers.iter().enumerate() {
            let row = i / self.options;
            let person = &self.people[row * n..(row + 1) * n];
            let tolerance = rows::ToleranceOf::new(self.session.engine(), person, answer)?;
            let shortfall =
                rows::shortfall_value(&mut self.session, &prepared.setup.encoding, person, answer)?;
            rows.push(&rows::AnswerRow {
                prepared,
                person,
                answer,
                row: chunk.first_row() + row as u64,
                option: (self.options > 1).then_some(i % self.options),
                relaxations: self.relaxations.as_ref().map(|all| &all[i][..]),
                target_rate: None,
                details: Some((tolerance, shortfall)),
                ids: rows::ids(chunk, row)?,
            })?;
        }
        Ok(Batch::Json(rows))
    }
}
