//! Rates of given points.

use crate::error::RequestError;
use crate::message::Message;
use crate::people::at_row;
use crate::prepared::{Prepared, Work};
use crate::request::Request;
use crate::rows;
use anyhow::Result;
use probe_core::invalidation::RATES;
use probe_core::registry::lookup;
use probe_core::{Engine, Estimate, ExactOrSampled, InvalidationRate, NoiseOn, Setup};
use probe_io::{Batch, Chunk, Column, Field, JsonRows};
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicBool, Ordering};

/// The people to whom the points were advised, row by row, with the name of their table.
#[derive(Debug)]
pub struct Origins {
    /// Its name in messages.
    pub name: String,
    /// Their rows.
    pub people: Vec<f64>,
}

/// One point: whether its score is positive, its margin, and its rate. The margin alone would not
/// do, because a tiny score can vanish beside a large threshold.
type Found = (bool, f64, Estimate);

/// Finds rates of points.
pub struct Rater {
    engine: Engine,
    estimator: Box<dyn InvalidationRate>,
    from: Option<Origins>,
    n_columns: usize,
    threshold: f64,
}

impl Rater {
    /// Computes rates by the estimator of `request`. Fails if the noise depends on `from`, and that
    /// is not given.
    pub fn new(
        prepared: &Prepared,
        request: &Request,
        has_from: bool,
        read_from: impl FnOnce() -> Result<Option<Origins>>,
    ) -> Result<Self> {
        let setup = &prepared.setup;
        let depends = depends_on_the_change(setup)?;
        let estimator = estimator(request, setup, depends)?;
        if depends && !has_from {
            let why = format!("{} noise, which depends on the change", setup.noise.name());
            return Err(needs_from(Message::from(why)).into());
        }
        if setup.noise_on == NoiseOn::Changed && !has_from {
            return Err(needs_from(Message::default().field("noise_on").text(" changed")).into());
        }
        let engine = Engine::without_method(setup.clone())?;
        let (n_columns, threshold) = (setup.names.len(), setup.model.threshold());
        Ok(Self { engine, estimator, from: read_from()?, n_columns, threshold })
    }

    /// How much work one point is.
    pub fn work(&self) -> Work {
        match self.engine.setup().model.as_linear() {
            None => Work::Heavy,
            Some(_) => Work::Light,
        }
    }

    /// Number of people to whom the points were advised, if they are known.
    pub fn n_from(&self) -> Option<u64> {
        self.from.as_ref().map(|from| (from.people.len() / self.n_columns) as u64)
    }

    /// The rates of a chunk's points; stops once `cancelled` is set.
    pub fn rates(
        &self,
        chunk: &Chunk,
        points: &mut Vec<f64>,
        cancelled: &AtomicBool,
    ) -> Result<Rates> {
        chunk.numbers_into(points)?;
        let (n, first) = (self.n_columns, chunk.first_row() as usize);
        let mut found: Vec<Found> = Vec::with_capacity(chunk.n_rows());
        for (i, point) in points.chunks_exact(n).enumerate() {
            let person = match &self.from {
                None => None,
                Some(Origins { name, people }) => {
                    match people.get((first + i) * n..(first + i + 1) * n) {
                        Some(person) => Some(person),
                        None => {
                            let what = format!(
                                "{name}: no row {} for row {} of {}: it has {} rows",
                                first + i,
                                first + i,
                                chunk.plan().file(),
                                people.len() / n,
                            );
                            return Err(RequestError::mismatch("from", what).into());
                        }
                    }
                }
            };
            if cancelled.load(Ordering::Relaxed) {
                return Err(probe_io::Error::Cancelled.into());
            }
            let score = self.engine.score(point)?;
            // The request is at fault, unless this row has a missing value.
            let gaps = point.iter().chain(person.unwrap_or(&[])).any(|value| value.is_nan());
            let refused = |error| if gaps { at_row(chunk, i)(error) } else { error.into() };
            let rate = self.engine.rate(point, person, self.estimator.as_ref()).map_err(refused)?;
            found.push((score > 0.0, score + self.threshold, rate));
        }
        Ok(Rates { found, estimator: self.estimator.name() })
    }
}

/// Output columns before the ids.
pub fn fields() -> Vec<Field> {
    vec![
        Field::integer("row"),
        Field::boolean("favourable"),
        Field::float("margin"),
        Field::float("rate"),
        Field::float("std_error").optional(),
        Field::float("lower"),
        Field::float("upper"),
        Field::text("estimator"),
    ]
}

/// Rates of a chunk's points.
#[derive(Debug)]
pub struct Rates {
    found: Vec<Found>,
    estimator: &'static str,
}

impl Rates {
    fn name(&self, estimate: &Estimate) -> &'static str {
        match (self.estimator, estimate.exact) {
            ("auto", true) => "exact",
            ("auto", false) => "monte-carlo",
            (name, _) => name,
        }
    }

    /// As columns of a table.
    pub fn columns<'c>(&self, chunk: &'c Chunk) -> Result<Batch<'c>> {
        let (found, first) = (&self.found, chunk.first_row() as i64);
        let mut columns = vec![
            Column::integers((0..found.len()).map(|i| first + i as i64)),
            Column::booleans(found.iter().map(|(yes, ..)| *yes)),
            Column::floats(found.iter().map(|(_, margin, _)| *margin)),
            Column::floats(found.iter().map(|(.., e)| e.rate)),
            Column::floats(
                found.iter().map(|(.., e)| Some(e.std_error).filter(|error| error.is_finite())),
            ),
            Column::floats(found.iter().map(|(.., e)| e.lower)),
            Column::floats(found.iter().map(|(.., e)| e.upper)),
            Column::texts(found.iter().map(|(.., e)| self.name(e))),
        ];
        for k in 0..chunk.plan().n_ids() {
            columns.push(chunk.id_column(k, 0..found.len())?);
        }
        Ok(Batch::Columns(columns))
    }

    /// As JSON.
    pub fn objects<'c>(&self, chunk: &'c Chunk, meta: Option<&Value>) -> Result<Batch<'c>> {
        let mut rows = JsonRows::new(meta)?;
        for (i, (favourable, margin, estimate)) in self.found.iter().enumerate() {
            let mut object: Map<String, Value> = Map::new();
            object.insert("row".to_owned(), json!(chunk.first_row() as usize + i));
            object.insert("favourable".to_owned(), json!(favourable));
            object.insert("margin".to_owned(), json!(margin));
            object.insert("rate".to_owned(), json!(estimate.rate));
            object.insert("std_error".to_owned(), json!(estimate.std_error));
            object.insert("lower".to_owned(), json!(estimate.lower));
            object.insert("upper".to_owned(), json!(estimate.upper));
            object.insert("exact".to_owned(), json!(estimate.exact));
            object.insert("estimator".to_owned(), json!(self.name(estimate)));
            object
                .extend(rows::ids(chunk, i)?.into_iter().map(|(id, value)| (id.to_owned(), value)));
            rows.push(&object)?;
        }
        Ok(Batch::Json(rows))
    }
}

/// The error if the people to whom the points were advised are needed but not given.
fn needs_from(why: Message) -> RequestError {
    let what = ": the people to whom the points were advised, row by row";
    RequestError::new("from", Message::from("needed with ").then(why).text(what))
}

/// Whether the noise depends on the change; it is then Gaussian for each change.
fn depends_on_the_change(setup: &Setup) -> Result<bool> {
    let nowhere = vec![0.0; setup.names.len()];
    Ok(setup.noise.at(&nowhere, &nowhere)?.is_some())
}

/// The number of boxes that `auto` evaluates on an ensemble of trees before it samples instead.
const BOXES: usize = 1 << 14;

/// The requested estimator. `auto` and `exact` mean the closed form, the sum over all residuals, or
/// boxes, whichever gives the true rate.
fn estimator(
    request: &Request,
    setup: &Setup,
    per_move: bool,
) -> Result<Box<dyn InvalidationRate>, RequestError> {
    let samples = usize::try_from(request.samples).unwrap_or(usize::MAX);
    let gaussian = per_move || setup.noise.as_gaussian().is_some();
    let independent = per_move || setup.noise.as_independent().is_some();
    let boxes = setup.model.as_trees().is_some() && independent && setup.shift.is_none();
    let name = match request.estimator.as_str() {
        "auto" | "exact" if gaussian && setup.model.as_linear().is_some() => "closed-form",
        "auto" | "exact" if setup.noise.as_residuals().is_some() => "enumeration",
        "exact" if boxes => "exact",
        "exact" => {
            let (model, noise) = (setup.model.name(), setup.noise.name());
            let what = format!("there is no exact rate for a {model} model under {noise} noise");
            return Err(RequestError::mismatch("estimator", what));
        }
        "auto" if boxes => return Ok(Box::new(ExactOrSampled { boxes: BOXES, samples })),
        "auto" => "monte-carlo",
        other => other,
    };
    let item = lookup("estimator", RATES, name)
        .map_err(|unknown| RequestError::of("estimator", unknown))?
        .item;
    Ok(item.with_samples(samples).unwrap_or_else(|| Box::new(item)))
}
