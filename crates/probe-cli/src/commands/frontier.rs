//! `probe frontier`.

use super::rows;
use crate::args::{Common, Frontier};
use crate::interrupt;
use crate::printer::Printer;
use crate::question::{Question, check_changed};
use crate::run::{Stream, at_row};
use crate::usage::Usage;
use anyhow::Result;
use probe_core::{Answer, Engine, Reason};
use probe_io::{Batch, Chunk, Column, Field, JsonRows};
use serde_json::{Value, json};

pub(crate) fn run(args: &Frontier, common: &Common, printer: &Printer) -> Result<()> {
    let mut question = Question::new(&args.ask, Some(&args.seek), common.seed, printer)?;
    question.promise(&args.assurance, &args.ask, &args.table)?;
    for (i, &rate) in args.rates.iter().enumerate() {
        if args.rates[..i].contains(&rate) {
            return Err(Usage::of("--rates", format!("{rate} is given twice")).into());
        }
        check_changed(question.setup.noise_on, rate, "--rates")?;
    }
    question.warn_of_fit(&args.rates, printer);
    let engine = Engine::new(question.setup.clone())?;
    question.warn_of_small_rates(&engine, &args.rates, printer);
    let stream = Stream::new(&args.ask, &args.table, common, printer, question.work(printer));
    let names = &question.setup.names;
    let fields = vec![
        Field::integer("row"),
        Field::float("target_rate"),
        Field::text("status"),
        Field::text("reason"),
        Field::float("cost").optional(),
        Field::float("rate"),
        Field::float("rate_upper"),
        Field::integer("changed"),
    ];
    let mut meta = question.meta("frontier");
    meta["r"] = json!(args.rates);
    question.tell_notes(&engine, &mut meta, printer);
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let scratch = || (engine.session(), Vec::new());
    let summary =
        stream.run(&question.setup, fields, true, meta.clone(), scratch, |(session, people), chunk| {
            question.check_rows(chunk)?;
            chunk.numbers_into(people)?;
            let mut answers = Vec::with_capacity(chunk.n_rows() * args.rates.len());
            for (row, person) in people.chunks_exact(names.len()).enumerate() {
                interrupt::check()?;
                answers.extend(session.frontier(person, &args.rates).map_err(at_row(chunk, row))?);
            }
            if as_objects {
                objects(chunk, people, &answers, &args.rates, &question, per_line.then_some(&meta))
            } else {
                columns(chunk, people, &answers, &args.rates, &question.setup.steps)
            }
        })?;
    printer.note(&format!("{} people, {} rates each", summary.rows_in, args.rates.len()));
    Ok(())
}

fn columns<'c>(
    chunk: &'c Chunk,
    people: &[f64],
    answers: &[Answer],
    rates: &[f64],
    steps: &[Option<f64>],
) -> Result<Batch<'c>> {
    let row_of = |i: usize| i / rates.len();
    let first = chunk.first_row() as i64;
    let mut columns = vec![
        Column::integers((0..answers.len()).map(|i| first + row_of(i) as i64)),
        Column::floats((0..answers.len()).map(|i| rates[i % rates.len()])),
        Column::texts(answers.iter().map(|a| a.status.as_str())),
        Column::texts(answers.iter().map(|a| a.reason.map_or("", Reason::code))),
        Column::floats(answers.iter().map(|a| a.cost)),
        Column::floats(answers.iter().map(|a| a.rate)),
        Column::floats(answers.iter().map(|a| a.rate_upper)),
        Column::integers(answers.iter().map(|a| a.changed as i64)),
    ];
    columns.extend(rows::feature_columns(chunk, people, answers, steps, row_of));
    for k in 0..chunk.plan().n_ids() {
        columns.push(chunk.id_column(k, (0..answers.len()).map(row_of))?);
    }
    Ok(Batch::Columns(columns))
}

fn objects<'c>(
    chunk: &'c Chunk,
    people: &[f64],
    answers: &[Answer],
    rates: &[f64],
    question: &Question,
    meta: Option<&Value>,
) -> Result<Batch<'c>> {
    let n = chunk.plan().n_columns();
    let mut rows = JsonRows::new(meta)?;
    for (i, answer) in answers.iter().enumerate() {
        let row = i / rates.len();
        rows.push(&rows::AnswerRow {
            question,
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
