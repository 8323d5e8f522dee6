//! `probe recourse`.

use super::costs::Costs;
use super::rows;
use crate::args::{Common, Recourse};
use crate::interrupt::{self, holding_output};
use crate::ledger::Ledger;
use crate::letters::{Letters, Post};
use crate::printer::Printer;
use crate::question::Question;
use crate::run::{Instead, Stream, at_row, check_path};
use anyhow::Result;
use probe_core::{Answer, Engine, Reason, Relaxation, Session, Status};
use probe_io::{Batch, Checksum, Chunk, Column, Field, JsonRows};
use serde_json::{Value, json};
use std::sync::Mutex;

/// One worker's buffers.
struct Worker<'e> {
    session: Session<'e>,
    /// Answers per person.
    options: usize,
    people: Vec<f64>,
    /// Person by person.
    answers: Vec<Answer>,
    /// What would help, for each answer, where that is asked for.
    relaxations: Option<Vec<Vec<Relaxation>>>,
}

/// What the people got, counted for the closing note.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    certified: u64,
    above: u64,
    uncertified: u64,
    none: u64,
    favourable: u64,
}

impl Tally {
    fn count(&mut self, answers: &[Answer], max_rate: f64) {
        for answer in answers {
            match answer.status {
                Status::Certified => self.certified += 1,
                Status::Found if answer.rate > max_rate => self.above += 1,
                Status::Found => self.uncertified += 1,
                // Who has fewer ways than were asked for still has some.
                Status::None if answer.reason == Some(Reason::NoOtherWay) => {}
                Status::None => self.none += 1,
                Status::Favourable => self.favourable += 1,
            }
        }
    }
}

pub(crate) fn run(args: &Recourse, common: &Common, printer: &Printer) -> Result<()> {
    let mut question = Question::new(&args.ask, Some(&args.seek), common.seed, printer)?;
    question.setup.budget = args.budget;
    question.setup.tolerance = args.tolerance;
    question.setup.ways = usize::from(args.options);
    question.promise(&args.assurance, &args.ask, &args.table)?;
    question.warn_of_fit(&[args.seek.max_rate], printer);
    let costs = args.costs.as_deref().map(|path| Costs::read(path, args, &question.setup)).transpose()?;
    let engine = Engine::new(question.setup.clone())?;
    question.warn_of_small_rates(&engine, &[args.seek.max_rate], printer);
    let mut meta = question.meta("recourse");
    question.tell_notes(&engine, &mut meta, printer);
    let letters = Letters::new(&args.explain, &args.table, &engine)?;
    let post = post(args, letters.as_ref(), &meta)?;
    let instead = letters.as_ref().filter(|_| post.is_none());
    if let Some(path) = &args.audit {
        check_path("--audit", path, &args.table, &args.ask)?;
    }
    let ledger = args.audit.as_deref().map(Ledger::open).transpose()?;
    let written = |rows: u64| {
        if let Some(ledger) = &ledger {
            ledger.pass(rows);
        }
        if let Some(post) = &post {
            post.pass(rows);
        }
    };
    let stream = Stream::new(&args.ask, &args.table, common, printer, question.work(printer))
        .telling(&written)
        .writing(instead.map(instead_of_table).transpose()?);
    if args.tolerance {
        warn_of_tolerance(&engine, stream.is_json() || letters.is_some(), printer);
    }
    if letters.is_some() {
        note_of_digits(&engine, printer);
    }
    let options = engine.session().n_options();
    let mut fields = vec![Field::integer("row")];
    if options > 1 {
        fields.push(Field::integer("option"));
    }
    fields.extend([
        Field::text("status"),
        Field::text("reason"),
        Field::float("cost").optional(),
        Field::float("rate"),
        Field::float("rate_upper"),
        Field::float("best_rate").optional(),
        Field::integer("changed"),
        Field::integer("outside_range").optional(),
    ]);
    if args.relax {
        fields.push(Field::text("relaxation"));
    }
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let tally = Mutex::new(Tally::default());
    let setting = setting(args, &question, &meta);
    let scratch = || Worker {
        session: engine.session(),
        options,
        people: Vec::new(),
        answers: Vec::new(),
        relaxations: args.relax.then(Vec::new),
    };
    let with_features = instead.is_none();
    let summary =
        stream.run(&question.setup, fields, with_features, meta.clone(), scratch, |worker, chunk| {
            question.check_rows(chunk)?;
            worker.answer(chunk, costs.as_ref())?;
            if let Ok(mut tally) = tally.lock() {
                tally.count(&worker.answers, args.seek.max_rate);
            }
            if let Some(ledger) = &ledger {
                ledger.note(chunk.first_row(), worker.records(&question, chunk, &setting));
            }
            if let Some(letters) = &letters {
                let batch = worker.letters(letters, chunk, &meta)?;
                let Some(post) = &post else { return Ok(batch) };
                post.note(chunk.first_row(), &batch)?;
            }
            if as_objects {
                worker.objects(&engine, &question, chunk, per_line.then_some(&meta))
            } else {
                worker.columns(chunk)
            }
        })?;
    if let Some(chain) = ledger.map(|ledger| holding_output(|| ledger.commit())).transpose()? {
        printer.note(&format!("audit: {} records, last hash {}", chain.records, chain.last));
    }
    if let Some(post) = post {
        holding_output(|| post.commit())?;
    }
    if let Some(costs) = costs.as_ref().filter(|costs| costs.n_rows() > summary.rows_in) {
        let more = costs.n_rows() - summary.rows_in;
        printer
            .warn(&format!("--costs: {more} rows more than there are people; were they in the same order?"));
    }
    let tally = tally.into_inner().unwrap_or_default();
    let uncertified = match tally.uncertified {
        0 => String::new(),
        n => format!(" {n} found but not certified,"),
    };
    let each = if options > 1 { format!(", {options} answers each") } else { String::new() };
    printer.note(&format!(
        "{} people{each}: {} certified, {} found above r,{uncertified} {} without recourse, {} favourable already",
        summary.rows_in, tally.certified, tally.above, tally.none, tally.favourable
    ));
    Ok(())
}

/// Where letters go, if not in the place of the table.
fn post(args: &Recourse, letters: Option<&Letters<'_>>, meta: &Value) -> Result<Option<Post>> {
    let (Some(path), Some(letters)) = (args.explain.explain_out.as_deref(), letters) else { return Ok(None) };
    check_path("--explain-out", path, &args.table, &args.ask)?;
    Post::open(letters, path, meta).map(Some)
}

/// What is written where letters take the place of the table.
fn instead_of_table(letters: &Letters<'_>) -> Result<Instead> {
    Ok(match (letters.prose()?, letters.format()) {
        (Some(prose), _) => Instead::Prose(prose),
        (None, format) => Instead::Json(format.unwrap_or(probe_io::Format::Json)),
    })
}

/// What the records of a run have in common.
fn setting(args: &Recourse, question: &Question, meta: &Value) -> Value {
    let mut setting = meta.clone();
    if let Value::Object(fields) = &mut setting {
        fields.remove("note");
    }
    let schema = question.schema.as_ref().and_then(|schema| serde_json::to_string(schema).ok());
    setting["schema_hash"] = json!(schema.map(|text| Checksum::of(text.as_bytes())));
    let (ask, seek) = (&args.ask, &args.seek);
    setting["flags"] = json!({
        "immutable": ask.immutable,
        "favourable_class": ask.favourable_class,
        "threshold": ask.threshold,
        "threshold_prob": ask.threshold_prob,
        "bounds": seek.bounds.map(|bounds| format!("{bounds:?}")),
        "strict_bounds": seek.strict_bounds,
        "max_changes": seek.max_changes,
        "also_favourable": seek.also_favourable,
        "no_certify": seek.no_certify,
        "costs_hash": args.costs.as_deref().and_then(|path| std::fs::read(path).ok()).map(|bytes| Checksum::of(&bytes)),
    });
    setting
}

/// Says where `--tolerance` does less than one may think.
fn warn_of_tolerance(engine: &Engine, told: bool, printer: &Printer) {
    if engine.setup().model.as_linear().is_some() {
        let how = if told { "they are reported" } else { "JSON reports them (--format jsonl)" };
        printer.warn(&format!(
            "--tolerance changes nothing for linear models: their tolerances are exact, and {how} without it"
        ));
    } else if !engine.seeks_tolerance() {
        printer.warn(
            "--tolerance changes nothing here: tolerances are known for networks under independent Gaussian noise and a model that stays",
        );
    } else if !told {
        printer.warn(
            "--tolerance: the answers leave room, but only JSON and letters say how much; give --format jsonl",
        );
    }
}

/// Says which numbers letters tell to the last digit.
fn note_of_digits(engine: &Engine, printer: &Printer) {
    let (setup, encoding) = (engine.setup(), &engine.setup().encoding);
    let is_endless = |k: &usize| {
        let j = encoding.column_of(*k);
        !encoding.is_category(*k) && setup.actions.is_mutable_numeric(j) && setup.steps[j].is_none()
    };
    let names: Vec<&str> = (0..encoding.features().len())
        .filter(is_endless)
        .map(|k| encoding.features()[k].name.as_str())
        .collect();
    if !names.is_empty() {
        printer.note(&format!(
            "letters tell certified values to the last digit; a step in the schema makes them round numbers ({})",
            names.join(", ")
        ));
    }
}

impl Worker<'_> {
    fn answer(&mut self, chunk: &Chunk, costs: Option<&Costs>) -> Result<()> {
        chunk.numbers_into(&mut self.people)?;
        let n = chunk.plan().n_columns();
        self.answers.resize(chunk.n_rows() * self.options, Answer::new(n));
        let answers = self.answers.chunks_exact_mut(self.options);
        for (row, (person, answers)) in self.people.chunks_exact(n).zip(answers).enumerate() {
            interrupt::check()?;
            if let Some(costs) = costs {
                let factors = costs.of(chunk.first_row() + row as u64)?;
                self.session.set_cost_factors(Some(factors)).map_err(at_row(chunk, row))?;
            }
            self.session.recourse_options(person, answers).map_err(at_row(chunk, row))?;
        }
        if let Some(relaxations) = &mut self.relaxations {
            relaxations.clear();
            for (i, answer) in self.answers.iter().enumerate() {
                let row = i / self.options;
                let person = &self.people[row * n..(row + 1) * n];
                relaxations.push(self.session.relaxations(person, answer).map_err(at_row(chunk, row))?);
            }
        }
        Ok(())
    }

    /// The answers in words.
    fn letters(&mut self, letters: &Letters<'_>, chunk: &Chunk, meta: &Value) -> Result<Batch<'static>> {
        let relaxations = self.relaxations.as_deref();
        letters.write(&mut self.session, chunk, &self.people, &self.answers, relaxations, meta)
    }

    /// A record of each answer, for the audit file.
    fn records(&self, question: &Question, chunk: &Chunk, setting: &Value) -> Vec<Value> {
        let n = chunk.plan().n_columns();
        let exact = self.session.engine().least_certifiable_rate(1).is_none();
        let record = |(i, answer): (usize, &Answer)| {
            let row = i / self.options;
            let person = &self.people[row * n..(row + 1) * n];
            let (from, to) = (rows::by_name(question, person), rows::by_name(question, &answer.point));
            json!({
                "row": chunk.first_row() + row as u64,
                "option": (self.options > 1).then_some(i % self.options),
                "input_hash": Checksum::of(from.to_string().as_bytes()),
                "setting": setting,
                "answer": {
                    "status": answer.status.as_str(),
                    "reason": answer.reason.map(Reason::code),
                    "cost": answer.cost,
                    "rate": answer.rate,
                    "changed": answer.changed,
                    "to": to,
                },
                "certificate": (answer.status == Status::Certified).then(|| json!({
                    "rate_upper": answer.rate_upper,
                    "exact": exact,
                    "confidence": if exact { 1.0 } else { question.setup.confidence },
                })),
            })
        };
        self.answers.iter().enumerate().map(record).collect()
    }

    fn columns<'c>(&self, chunk: &'c Chunk) -> Result<Batch<'c>> {
        let (answers, options) = (&self.answers, self.options);
        let row_of = |i: usize| i / options;
        let first = chunk.first_row() as i64;
        let mut columns = vec![Column::integers((0..answers.len()).map(|i| first + row_of(i) as i64))];
        if options > 1 {
            columns.push(Column::integers((0..answers.len()).map(|i| (i % options) as i64)));
        }
        columns.extend([
            Column::texts(answers.iter().map(|a| a.status.as_str())),
            Column::texts(answers.iter().map(|a| a.reason.map_or("", Reason::code))),
            Column::floats(answers.iter().map(|a| a.cost)),
            Column::floats(answers.iter().map(|a| a.rate)),
            Column::floats(answers.iter().map(|a| a.rate_upper)),
            Column::floats(answers.iter().map(|a| a.best_rate)),
            Column::integers(answers.iter().map(|a| a.changed as i64)),
            Column::integers(answers.iter().map(|a| a.outside_range.map(|n| n as i64))),
        ]);
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

    fn objects<'c>(
        &mut self,
        engine: &Engine,
        question: &Question,
        chunk: &'c Chunk,
        meta: Option<&Value>,
    ) -> Result<Batch<'c>> {
        let n = chunk.plan().n_columns();
        let mut rows = JsonRows::new(meta)?;
        for (i, answer) in self.answers.iter().enumerate() {
            let row = i / self.options;
            let person = &self.people[row * n..(row + 1) * n];
            let tolerance = rows::ToleranceOf::new(engine, person, answer)?;
            let shortfall =
                rows::shortfall_value(&mut self.session, &question.setup.encoding, person, answer)?;
            rows.push(&rows::AnswerRow {
                question,
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
