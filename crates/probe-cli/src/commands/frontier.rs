//! `probe frontier`.

use crate::args::{Common, Frontier};
use crate::interrupt::CANCELLED;
use crate::printer::Printer;
use crate::run::{Stream, count_rows};
use anyhow::Result;
use probe_core::Engine;
use probe_service::Question;
use probe_service::frontier::{self, Worker};
use serde_json::json;

pub(crate) fn run(args: &Frontier, common: &Common, printer: &Printer) -> Result<()> {
    let mut question = Question::new(&args.ask, Some(&args.seek), common.seed, printer)?;
    question
        .promise(&args.assurance, args.ask.confidence, || count_rows(&args.ask, &args.table))?;
    let rates = &args.rates.rates;
    frontier::check(rates, &question.setup)?;
    question.warn_of_fit(rates, printer);
    let engine = Engine::new(question.setup.clone())?;
    question.warn_of_small_rates(&engine, rates, printer);
    let stream = Stream::new(&args.ask, &args.table, common, printer, question.work(printer));
    let mut meta = question.meta("frontier");
    meta["r"] = json!(rates);
    question.tell_notes(&engine, &mut meta, printer);
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let scratch = || Worker::new(&engine, rates);
    let summary = stream.run(
        &question.setup,
        frontier::fields(),
        true,
        meta.clone(),
        scratch,
        |worker, chunk| {
            question.check_rows(chunk)?;
            worker.answer(chunk, &CANCELLED)?;
            if as_objects {
                worker.objects(&question, chunk, per_line.then_some(&meta))
            } else {
                worker.columns(chunk)
            }
        },
    )?;
    printer.note(&format!("{} people, {} rates each", summary.rows_in, rates.len()));
    Ok(())
}
