//! `probe recourse`.

use super::costs::Costs;
use crate::args::{Common, Recourse};
use crate::interrupt::{CANCELLED, holding_output};
use crate::ledger::Ledger;
use crate::letters::{Post, letters_of};
use crate::prepare::{count_for_confidence, prepare};
use crate::printer::Printer;
use crate::run::{Instead, Stream, check_path};
use anyhow::Result;
use probe_core::{Answer, Engine, Reason, Status};
use probe_io::Checksum;
use probe_service::letters::Letters;
use probe_service::recourse::{self, Worker};
use probe_service::{Command, Prepared, Request};
use serde_json::{Value, json};
use std::sync::Mutex;

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
    let mut request = args.request(common)?;
    count_for_confidence(&mut request, &args.ask, &args.table)?;
    let prepared = prepare(&args.ask, args.seek.reference.as_deref(), &request, printer)?;
    prepared.warn_of_fit(&[request.max_rate], printer);
    let costs =
        args.costs.as_deref().map(|path| Costs::read(path, args, &prepared.setup)).transpose()?;
    let engine = Engine::new(prepared.setup.clone())?;
    prepared.warn_of_small_rates(&engine, &[args.seek.max_rate], printer);
    let mut meta = prepared.meta(Command::Recourse);
    prepared.report_notes(&engine, &mut meta, printer);
    let letters = letters_of(&args.explain, &args.table, &engine)?;
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
    let stream = Stream::new(&args.ask, &args.table, common, printer, prepared.work(printer))
        .telling(&written)
        .writing(instead.map(instead_of_table).transpose()?);
    if args.wishes.tolerance {
        warn_of_tolerance(&engine, stream.is_json() || letters.is_some(), printer);
    }
    if letters.is_some() {
        note_of_digits(&engine, printer);
    }
    let options = engine.session().n_options();
    let fields = recourse::fields(&engine, options, args.wishes.relax);
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let tally = Mutex::new(Tally::default());
    let setting = setting(args, &prepared, &request, &meta);
    let scratch = || Worker::new(&engine, args.wishes.relax, &CANCELLED);
    let factors = costs.as_ref().map(|costs| |row: u64| costs.of(row));
    let with_features = instead.is_none();
    let summary = stream.run(
        &prepared.setup,
        fields,
        with_features,
        meta.clone(),
        scratch,
        |worker, chunk| {
            prepared.check_rows(chunk)?;
            worker.answer(chunk, factors.as_ref())?;
            if let Ok(mut tally) = tally.lock() {
                tally.count(worker.answers(), args.seek.max_rate);
            }
            if let Some(ledger) = &ledger {
                ledger.note(chunk.first_row(), worker.records(&prepared, chunk, &setting));
            }
            if let Some(letters) = &letters {
                let batch = worker.letters(letters, chunk, &meta)?;
                let Some(post) = &post else { return Ok(batch) };
                post.note(chunk.first_row(), &batch)?;
            }
            if as_objects {
                worker.objects(&prepared, chunk, per_line.then_some(&meta))
            } else {
                worker.columns(chunk)
            }
        },
    )?;
    if let Some(chain) = ledger.map(|ledger| holding_output(|| ledger.commit())).transpose()? {
        printer.note(&format!("audit: {} records, last hash {}", chain.records, chain.last));
    }
    if let Some(post) = post {
        holding_output(|| post.commit())?;
    }
    if let Some(costs) = costs.as_ref().filter(|costs| costs.n_rows() > summary.rows_in) {
        let more = costs.n_rows() - summary.rows_in;
        printer.warn(&format!(
            "--costs: {more} rows more than there are people; were they in the same order?"
        ));
    }
    let tally = tally.into_inner().unwrap_or_default();
    let uncertified = match tally.uncertified {
        0 => String::new(),
        n => format!(" {n} found but not certified,"),
    };
    let each =
        if options > 1 { format!(", {options} answers each, all counted") } else { String::new() };
    printer.note(&format!(
        "{} people{each}: {} certified, {} found above r,{uncertified} {} without recourse, \
         {} favourable already",
        summary.rows_in, tally.certified, tally.above, tally.none, tally.favourable
    ));
    Ok(())
}

/// The file of letters, if they do not replace the table.
fn post(args: &Recourse, letters: Option<&Letters<'_>>, meta: &Value) -> Result<Option<Post>> {
    let (Some(path), Some(letters)) = (args.explain.explain_out.as_deref(), letters) else {
        return Ok(None);
    };
    check_path("--explain-out", path, &args.table, &args.ask)?;
    Post::open(letters, path, meta).map(Some)
}

/// What is written if letters replace the table.
fn instead_of_table(letters: &Letters<'_>) -> Result<Instead> {
    Ok(match (letters.prose()?, letters.format()) {
        (Some(prose), _) => Instead::Prose(prose),
        (None, format) => Instead::Json(format.unwrap_or(probe_io::Format::Json)),
    })
}

/// What the records of a run have in common.
fn setting(args: &Recourse, prepared: &Prepared, request: &Request, meta: &Value) -> Value {
    let mut setting = prepared.audit_setting(request, meta);
    let costs = args.costs.as_deref().and_then(|path| std::fs::read(path).ok());
    setting["flags"]["costs_hash"] = json!(costs.map(|bytes| Checksum::of(&bytes)));
    setting
}

/// Says where `--tolerance` does less than one may think.
fn warn_of_tolerance(engine: &Engine, told: bool, printer: &Printer) {
    if engine.setup().model.as_linear().is_some() {
        let how = if told { "they are reported" } else { "JSON reports them (--format jsonl)" };
        printer.warn(&format!(
            "--tolerance changes nothing for linear models: their tolerances are exact, \
             and {how} without it"
        ));
    } else if !engine.seeks_tolerance() {
        printer.warn(
            "--tolerance changes nothing here: tolerances need independent Gaussian noise \
             and a model that does not change",
        );
    } else if !told {
        printer.warn(
            "--tolerance: answers have tolerances, but only JSON and letters contain them; \
             give --format jsonl",
        );
    }
}

/// Says which numbers letters print to the last digit.
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
            "letters print certified values to the last digit; \
             a step in the schema makes them round numbers ({})",
            names.join(", ")
        ));
    }
}
