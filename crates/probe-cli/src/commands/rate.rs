//! `probe rate`.

use super::rows;
use crate::args::{Common, Rate};
use crate::interrupt;
use crate::printer::Printer;
use crate::question::Question;
use crate::run::{Stream, Work, at_row, read_people};
use crate::usage::Usage;
use anyhow::{Result, bail};
use probe_core::invalidation::RATES;
use probe_core::registry::lookup;
use probe_core::{Engine, Estimate, ExactOrSampled, InvalidationRate, NoiseOn, Setup};
use probe_io::{Batch, Column, Field, JsonRows};
use serde_json::{Map, Value, json};
use std::path::Path;

pub(crate) fn run(args: &Rate, common: &Common, printer: &Printer) -> Result<()> {
    let question = Question::new(&args.ask, None, common.seed, printer)?;
    let depends = depends_on_the_change(&question.setup)?;
    let estimator = estimator(args, &question.setup, depends)?;
    if depends && args.from.is_none() {
        return Err(Usage::new(format!(
            "{} noise depends on the change: it needs --from PEOPLE, the people that the points were made for, row by row",
            question.setup.noise.name()
        ))
        .into());
    }
    if question.setup.noise_on == NoiseOn::Changed && args.from.is_none() {
        return Err(Usage::new(
            "--noise-on changed needs --from PEOPLE: the people that the points were made for, row by row",
        )
        .into());
    }
    let engine = Engine::without_method(question.setup.clone())?;
    let work = match question.setup.model.as_linear() {
        None => Work::Heavy,
        Some(_) => Work::Light,
    };
    let stream = Stream::new(&args.ask, &args.table, common, printer, work);
    let n = question.setup.names.len();
    let read_from = |path: &Path| read_people(path, None, &question.setup, true);
    let from = args.from.as_deref().map(read_from).transpose()?;
    let threshold = question.setup.model.threshold();
    let fields = vec![
        Field::integer("row"),
        Field::text("favourable"),
        Field::float("margin"),
        Field::float("rate"),
        Field::float("std_error").optional(),
        Field::float("lower"),
        Field::float("upper"),
        Field::text("estimator"),
    ];
    let meta = question.meta("rate");
    let (as_objects, per_line) = (stream.is_json(), stream.format() == probe_io::Format::Jsonl);
    let summary = stream.run(
        &question.setup,
        fields,
        false,
        meta.clone(),
        Vec::new,
        |points: &mut Vec<f64>, chunk| {
            chunk.numbers_into(points)?;
            let first = chunk.first_row() as usize;
            // Whether the score is positive, the margin, the rate: a tiny score may vanish beside a large threshold.
            let mut found: Vec<(bool, f64, Estimate)> = Vec::with_capacity(chunk.n_rows());
            for (i, point) in points.chunks_exact(n).enumerate() {
                let person = match &from {
                    None => None,
                    Some(people) => match people.get((first + i) * n..(first + i + 1) * n) {
                        Some(person) => Some(person),
                        None => bail!(
                            "--from {}: no row {} for row {} of {}: it has {} rows",
                            args.from.as_deref().unwrap_or(Path::new("")).display(),
                            first + i,
                            first + i,
                            args.ask.people.display(),
                            people.len() / n,
                        ),
                    },
                };
                interrupt::check()?;
                let score = engine.score(point)?;
                // What is refused is the question, unless it is a gap of this row.
                let gaps = point.iter().chain(person.unwrap_or(&[])).any(|value| value.is_nan());
                let refused = |error| if gaps { at_row(chunk, i)(error) } else { error.into() };
                let rate = engine.rate(point, person, estimator.as_ref()).map_err(refused)?;
                found.push((score > 0.0, score + threshold, rate));
            }
            let auto = estimator.name() == "auto";
            let name = |estimate: &Estimate| match (auto, estimate.exact) {
                (false, _) => estimator.name(),
                (true, true) => "exact",
                (true, false) => "monte-carlo",
            };
            if !as_objects {
                let mut columns = vec![
                    Column::integers((0..found.len()).map(|i| (first + i) as i64)),
                    Column::texts(found.iter().map(|(yes, ..)| if *yes { "true" } else { "false" })),
                    Column::floats(found.iter().map(|(_, margin, _)| *margin)),
                    Column::floats(found.iter().map(|(.., e)| e.rate)),
                    Column::floats(
                        found.iter().map(|(.., e)| Some(e.std_error).filter(|error| error.is_finite())),
                    ),
                    Column::floats(found.iter().map(|(.., e)| e.lower)),
                    Column::floats(found.iter().map(|(.., e)| e.upper)),
                    Column::texts(found.iter().map(|(.., e)| name(e))),
                ];
                for k in 0..chunk.plan().n_ids() {
                    columns.push(chunk.id_column(k, 0..found.len())?);
                }
                return Ok(Batch::Columns(columns));
            }
            let mut rows = JsonRows::new(per_line.then_some(&meta))?;
            for (i, (favourable, margin, estimate)) in found.iter().enumerate() {
                let mut object: Map<String, Value> = Map::new();
                object.insert("row".to_owned(), json!(first + i));
                object.insert("favourable".to_owned(), json!(favourable));
                object.insert("margin".to_owned(), json!(margin));
                object.insert("rate".to_owned(), json!(estimate.rate));
                object.insert("std_error".to_owned(), json!(estimate.std_error));
                object.insert("lower".to_owned(), json!(estimate.lower));
                object.insert("upper".to_owned(), json!(estimate.upper));
                object.insert("exact".to_owned(), json!(estimate.exact));
                object.insert("estimator".to_owned(), json!(name(estimate)));
                object.extend(rows::ids(chunk, i)?.into_iter().map(|(id, value)| (id.to_owned(), value)));
                rows.push(&object)?;
            }
            Ok(Batch::Json(rows))
        },
    )?;
    if let Some(people) = from.as_ref().filter(|people| people.len() as u64 / n as u64 > summary.rows_in) {
        printer.warn(&format!(
            "--from has {} rows and the points only {}: are they the same people?",
            people.len() / n,
            summary.rows_in
        ));
    }
    Ok(())
}

/// Whether the noise is another one for every move; it is Gaussian then.
fn depends_on_the_change(setup: &Setup) -> Result<bool> {
    let nowhere = vec![0.0; setup.names.len()];
    Ok(setup.noise.at(&nowhere, &nowhere)?.is_some())
}

/// How many boxes `auto` tries on an ensemble of trees before it samples.
const BOXES: usize = 1 << 14;

/// The estimator asked for; `auto` and `exact` mean the closed form, the sum over all residuals or boxes, where that is the true rate.
fn estimator(args: &Rate, setup: &Setup, per_move: bool) -> Result<Box<dyn InvalidationRate>> {
    let samples = usize::try_from(args.samples).unwrap_or(usize::MAX);
    let gaussian = per_move || setup.noise.as_gaussian().is_some();
    let independent = per_move || setup.noise.as_independent().is_some();
    let boxes = setup.model.as_trees().is_some() && independent && setup.shift.is_none();
    let name = match args.estimator.as_str() {
        "auto" | "exact" if gaussian && setup.model.as_linear().is_some() => "closed-form",
        "auto" | "exact" if setup.noise.as_residuals().is_some() => "enumeration",
        "exact" if boxes => "exact",
        "exact" => bail!(
            "--estimator exact: there is no exact rate for a {} model under {} noise",
            setup.model.name(),
            setup.noise.name()
        ),
        "auto" if boxes => return Ok(Box::new(ExactOrSampled { boxes: BOXES, samples })),
        "auto" => "monte-carlo",
        other => other,
    };
    let item = lookup("estimator", RATES, name).map_err(|unknown| Usage::of("--estimator", unknown))?.item;
    Ok(item.with_samples(samples).unwrap_or_else(|| Box::new(item)))
}
