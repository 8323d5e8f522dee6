//! `probe rate`.

use crate::args::{Common, Rate};
use crate::interrupt::CANCELLED;
use crate::prepare::prepare;
use crate::printer::Printer;
use crate::run::Stream;
use anyhow::Result;
use probe_service::Command;
use probe_service::people::read_people;
use probe_service::rate::{self, Origins, Rater};

pub(crate) fn run(args: &Rate, common: &Common, printer: &Printer) -> Result<()> {
    let request = args.request(common);
    let prepared = prepare(&args.ask, None, &request, printer)?;
    let rater = Rater::new(&prepared, &request, args.from.is_some(), || {
        let Some(path) = args.from.as_deref() else { return Ok(None) };
        let people = read_people(path, None, &prepared.setup, true)?;
        Ok(Some(Origins { name: path.display().to_string(), people }))
    })?;
    let stream = Stream::new(&args.ask, &args.table, common, printer, rater.work());
    let meta = prepared.meta(Command::Rate);
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let summary = stream.run(
        &prepared.setup,
        rate::fields(),
        false,
        meta.clone(),
        Vec::new,
        |points: &mut Vec<f64>, chunk| {
            let rates = rater.rates(chunk, points, &CANCELLED)?;
            if as_objects {
                rates.objects(chunk, per_line.then_some(&meta))
            } else {
                rates.columns(chunk)
            }
        },
    )?;
    if let Some(people) = rater.n_from().filter(|&people| people > summary.rows_in) {
        printer.warn(&format!(
            "--from has {people} rows and the points only {}: are they the same people?",
            summary.rows_in
        ));
    }
    Ok(())
}
