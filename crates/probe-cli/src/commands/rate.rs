//! `probe rate`.

use crate::args::{Common, Rate};
use crate::interrupt::CANCELLED;
use crate::printer::Printer;
use crate::run::Stream;
use anyhow::Result;
use probe_service::Question;
use probe_service::people::read_people;
use probe_service::rate::{self, Origins, Rater};

pub(crate) fn run(args: &Rate, common: &Common, printer: &Printer) -> Result<()> {
    let question = Question::new(&args.ask, None, common.seed, printer)?;
    let rater = Rater::new(&question, &args.measure, args.from.is_some(), || {
        let Some(path) = args.from.as_deref() else { return Ok(None) };
        let people = read_people(path, None, &question.setup, true)?;
        Ok(Some(Origins { name: path.display().to_string(), people }))
    })?;
    let stream = Stream::new(&args.ask, &args.table, common, printer, rater.work());
    let meta = question.meta("rate");
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let summary = stream.run(
        &question.setup,
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
