//! `probe frontier`.

use crate::args::{Common, Frontier};
use crate::interrupt::CANCELLED;
use crate::prepare::{count_for_confidence, prepare};
use crate::printer::Printer;
use crate::run::Stream;
use anyhow::Result;
use probe_core::Engine;
use probe_service::Command;
use probe_service::frontier::{self, Worker};
use serde_json::json;

pub(crate) fn run(args: &Frontier, common: &Common, printer: &Printer) -> Result<()> {
    let mut request = args.request(common)?;
    count_for_confidence(&mut request, &args.ask, &args.table)?;
    let prepared = prepare(&args.ask, args.seek.reference.as_deref(), &request, printer)?;
    let rates = &request.rates;
    prepared.warn_of_fit(rates, printer);
    let engine = Engine::new(prepared.setup.clone())?;
    prepared.warn_of_small_rates(&engine, rates, printer);
    let stream = Stream::new(&args.ask, &args.table, common, printer, prepared.work(printer));
    let mut meta = prepared.meta(Command::Frontier);
    meta["r"] = json!(rates);
    prepared.report_notes(&engine, &mut meta, printer);
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let scratch = || Worker::new(&engine, rates, &CANCELLED);
    let summary = stream.run(
        &prepared.setup,
        frontier::fields(&engine),
        true,
        meta.clone(),
        scratch,
        |worker, chunk| {
            prepared.check_rows(chunk)?;
            worker.answer(chunk)?;
            if as_objects {
                worker.objects(&prepared, chunk, per_line.then_some(&meta))
            } else {
                worker.columns(chunk)
            }
        },
    )?;
    printer.note(&format!("{} people, {} rates each", summary.rows_in, rates.len()));
    Ok(())
}
