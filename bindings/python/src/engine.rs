//! Engines: a request, answered for tables.

use crate::convert::{Listener, reader};
use crate::error::raise;
use crate::model::{Model, Raised};
use crate::run::{Cancel, each, stream};
use crate::schema::Schema;
use crate::sheet::{Sheet, Whole};
use probe_core::Rows;
use probe_io::{Batch, ChunkLimit, Chunks, Column, Columns, Field, JsonRows};
use probe_service::letters::{Kind, Letters, language};
use probe_service::people::{columns_of_people, feature_fields};
use probe_service::rate::{Origins, Rater};
use probe_service::{
    Command, Inputs, Prepared, Request, RequestError, SchemaSource, Work, frontier, rate, recourse,
};
use probe_words::Layout;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

/// An engine.
#[pyclass(frozen, module = "probe_recourse._probe")]
pub(crate) struct Engine {
    prepared: Prepared,
    request: Request,
    engine: probe_core::Engine,
    work: Work,
    meta: Value,
    /// Notes, then warnings.
    said: (Vec<String>, Vec<String>),
    raised: Raised,
}

/// How tables are read: whether extra columns are ignored, the id columns, threads, and the
/// progress callback.
#[derive(FromPyObject)]
struct How {
    /// Columns that identify people in texts.
    ids: Vec<String>,
    ignore_extra: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
}

#[pymethods]
impl Engine {
    /// The engine of `model` for a request (JSON); `noise` is the content of the noise file that it
    /// names; `reference` are rows like those it was trained on. The switches say whether the
    /// model's own schema is ignored, and whether the engine finds recourse; otherwise it only
    /// scores and rates points.
    #[new]
    #[pyo3(signature = (model, schema, request, reference, noise, switches))]
    fn new(
        py: Python<'_>,
        model: &Model,
        schema: Option<&Schema>,
        request: &str,
        reference: Option<PyTable>,
        noise: Option<Vec<u8>>,
        switches: (bool, bool),
    ) -> PyResult<Self> {
        let (ignore_schema, seeks) = switches;
        let request = request_of(request)?;
        let schema = match schema {
            Some(schema) => SchemaSource::Given(schema.schema.clone()),
            None if ignore_schema => SchemaSource::Ignored,
            None => SchemaSource::Own,
        };
        let reference = reference.map(|table| reader("reference", table)).transpose()?;
        let raised = model.raised.clone();
        let made = py.detach(|| -> anyhow::Result<Self> {
            let listener = Listener::default();
            let inputs = Inputs { schema, origin: "model".to_owned(), noise, reference };
            let prepared = Prepared::new(&model.file, inputs, &request, &listener)?;
            prepared.warn_of_fit(&[request.max_rate], &listener);
            let engine = match seeks {
                true => probe_core::Engine::new(prepared.setup.clone())?,
                false => probe_core::Engine::without_method(prepared.setup.clone())?,
            };
            prepared.warn_of_small_rates(&engine, &[request.max_rate], &listener);
            let work = prepared.work(&listener);
            let mut meta = prepared.meta(Command::Recourse);
            prepared.report_notes(&engine, &mut meta, &listener);
            let said = listener.into_said();
            Ok(Self { prepared, request, engine, work, meta, said, raised: raised.clone() })
        });
        made.map_err(|error| or_raised(&raised, raise(error)))
    }

    /// Notes and warnings from building the engine.
    #[getter]
    fn said(&self) -> (Vec<String>, Vec<String>) {
        self.said.clone()
    }

    /// The `meta` object of every result, as JSON.
    #[getter]
    fn meta(&self) -> String {
        self.meta.to_string()
    }

    /// Features as people have them, and whether each keeps whole numbers whole.
    #[getter]
    fn features(&self) -> Vec<(String, bool)> {
        let setup = &self.prepared.setup;
        let whole = |k: usize| {
            let j = setup.encoding.column_of(k);
            let stays = !setup.encoding.is_category(k) && !setup.actions.is_mutable_numeric(j);
            stays || setup.steps[j].is_some_and(|step| step.fract() == 0.0)
        };
        let features = setup.encoding.features().iter().enumerate();
        features.map(|(k, feature)| (feature.name.clone(), whole(k))).collect()
    }

    /// Answers per person.
    #[getter]
    fn n_options(&self) -> usize {
        self.engine.session().n_options()
    }

    fn recourse(&self, py: Python<'_>, people: PyTable, how: How) -> PyResult<PyTable> {
        let mut fields = recourse::fields(&self.engine, self.n_options(), self.request.relax);
        let chunks = self.read_as("people", people, &how, self.work)?;
        fields.extend(feature_fields(&self.prepared.setup, chunks.plan()));
        let (relax, cancelled) = (self.request.relax, Cancel::default());
        let scratch = || recourse::Worker::new(&self.engine, relax, &cancelled);
        let table = stream(
            py,
            (chunks, fields, how.threads),
            how.progress,
            &cancelled,
            scratch,
            |worker, chunk| {
                self.prepared.check_rows(chunk)?;
                worker.answer(chunk, NO_FACTORS)?;
                worker.columns(chunk)
            },
        );
        self.checked(table)
    }

    /// The same as columns of NumPy.
    fn recourse_columns<'py>(
        &self,
        py: Python<'py>,
        people: PyTable,
        how: How,
    ) -> PyResult<Vec<Whole<'py>>> {
        let (options, relax) = (self.n_options(), self.request.relax);
        let n_people: usize = people.batches().iter().map(|batch| batch.num_rows()).sum();
        let mut fields = recourse::fields(&self.engine, options, relax);
        let chunks = self.read_as("people", people, &how, self.work)?;
        fields.extend(feature_fields(&self.prepared.setup, chunks.plan()));
        let mut sheet = Sheet::new(py, fields, n_people * options).map_err(raise)?;
        let (parts, cancelled) = (sheet.parts().map_err(raise)?, Cancel::default());
        let scratch = || recourse::Worker::new(&self.engine, relax, &cancelled);
        let done =
            each(py, (chunks, how.threads), how.progress, &cancelled, scratch, |worker, chunk| {
                self.prepared.check_rows(chunk)?;
                worker.answer(chunk, NO_FACTORS)?;
                parts.put(chunk.first_row() as usize * options, worker.columns(chunk)?)
            });
        self.checked(done)?;
        let texts = parts.into_texts();
        sheet.into_columns(texts)
    }

    /// The answers with all their fields, each as JSON text.
    fn records(&self, py: Python<'_>, people: PyTable, how: How) -> PyResult<Vec<String>> {
        let (relax, cancelled) = (self.request.relax, Cancel::default());
        self.texts(
            py,
            people,
            (how, &cancelled),
            |worker: &mut recourse::Worker<'_>, chunk| match worker.objects(
                &self.prepared,
                chunk,
                None,
            )? {
                Batch::Json(rows) => Ok(json_texts(&rows)),
                _ => Ok(Vec::new()),
            },
            || recourse::Worker::new(&self.engine, relax, &cancelled),
        )
    }

    /// Letters: texts in one of three forms.
    fn letters(
        &self,
        py: Python<'_>,
        people: PyTable,
        how: How,
        style: (String, String, Option<PathBuf>),
    ) -> PyResult<Vec<String>> {
        let (form, language_name, templates) = style;
        let layout = match form.as_str() {
            "text" => Layout::Text,
            "markdown" => Layout::Markdown,
            "html" => Layout::Html,
            other => {
                let what = format!("form: '{other}' is none of text, markdown, html");
                return Err(pyo3::exceptions::PyValueError::new_err(what));
            }
        };
        let language = language(&language_name, templates.as_deref()).map_err(raise)?;
        let letters = Letters::new(&self.engine, language, Kind::Prose(layout)).map_err(raise)?;
        let (relax, cancelled) = (self.request.relax, Cancel::default());
        self.texts(
            py,
            people,
            (how, &cancelled),
            |worker: &mut recourse::Worker<'_>, chunk| match worker
                .letters(&letters, chunk, &self.meta)?
            {
                Batch::Prose(texts) => Ok(texts),
                _ => Ok(Vec::new()),
            },
            || recourse::Worker::new(&self.engine, relax, &cancelled),
        )
    }

    fn frontier(
        &self,
        py: Python<'_>,
        people: PyTable,
        how: How,
        request: &str,
    ) -> PyResult<PyTable> {
        let rates = request_of(request)?.rates;
        let request = Request { rates, ..self.request.clone() };
        request.check().map_err(|error| raise(error.into()))?;
        let chunks = self.read_as("people", people, &how, self.work)?;
        let mut fields = frontier::fields(&self.engine);
        fields.extend(feature_fields(&self.prepared.setup, chunks.plan()));
        let cancelled = Cancel::default();
        let scratch = || frontier::Worker::new(&self.engine, &request.rates, &cancelled);
        let table = stream(
            py,
            (chunks, fields, how.threads),
            how.progress,
            &cancelled,
            scratch,
            |worker, chunk| {
                self.prepared.check_rows(chunk)?;
                worker.answer(chunk)?;
                worker.columns(chunk)
            },
        );
        self.checked(table)
    }

    /// Rates of points. `origins` are the people to whom they were advised, if given.
    fn rate(
        &self,
        py: Python<'_>,
        points: PyTable,
        how: How,
        request: &str,
        origins: Option<PyTable>,
    ) -> PyResult<PyTable> {
        let request = request_of(request)?;
        let origins = origins.map(|table| reader("people", table)).transpose()?;
        let rater = Rater::new(&self.prepared, &request, origins.is_some(), || {
            let Some(reader) = origins else { return Ok(None) };
            let people = probe_service::people::people_of(reader, &self.prepared.setup, true)?;
            Ok(Some(Origins { name: "people".to_owned(), people }))
        });
        let rater = rater.map_err(raise)?;
        let chunks = self.read_as("points", points, &how, rater.work())?;
        let cancelled = Cancel::default();
        let table = stream(
            py,
            (chunks, rate::fields(), how.threads),
            how.progress,
            &cancelled,
            Vec::new,
            |points, chunk| rater.rates(chunk, points, &cancelled)?.columns(chunk),
        );
        self.checked(table)
    }

    /// Decisions and margins of points.
    fn score(&self, py: Python<'_>, points: PyTable, how: How) -> PyResult<PyTable> {
        let chunks = self.read_as("points", points, &how, Work::Light)?;
        let cancelled = Cancel::default();
        let fields =
            vec![Field::integer("row"), Field::boolean("favourable"), Field::float("margin")];
        let threshold = self.prepared.setup.model.threshold();
        let n = self.prepared.setup.names.len();
        let scratch = || (Vec::new(), Vec::new());
        let table = stream(
            py,
            (chunks, fields, how.threads),
            how.progress,
            &cancelled,
            scratch,
            |(rows, scores), chunk| {
                chunk.numbers_into(rows)?;
                scores.resize(chunk.n_rows(), 0.0);
                self.engine.score_batch(Rows::new(rows, n)?, scores)?;
                Ok(Batch::Columns(vec![
                    Column::integers(
                        (0..chunk.n_rows()).map(|row| chunk.first_row() as i64 + row as i64),
                    ),
                    Column::booleans(scores.iter().map(|&score| score > 0.0)),
                    Column::floats(scores.iter().map(|score| score + threshold)),
                ]))
            },
        );
        self.checked(table)
    }
}

/// Costs are the same for everybody.
const NO_FACTORS: Option<&Factors> = None;
type Factors = fn(u64) -> anyhow::Result<&'static [f64]>;

impl Engine {
    fn read_as(&self, name: &str, table: PyTable, how: &How, work: Work) -> PyResult<Chunks> {
        let (ids, ignore_extra) = (how.ids.clone(), how.ignore_extra);
        let wanted = Columns { ids, ignore_extra, ..columns_of_people(&self.prepared.setup) };
        let chunks = reader(name, table)?.select(&wanted).map_err(|error| raise(error.into()))?;
        // Rows per portion if a person takes microseconds. Measured: smaller and larger portions
        // are slower.
        let rows = work.portion().unwrap_or(4096);
        Ok(chunks.with_limit(ChunkLimit { rows, bytes: usize::MAX }))
    }

    /// Texts about the people of a table, in their order.
    fn texts<'e, T>(
        &'e self,
        py: Python<'_>,
        people: PyTable,
        (how, cancelled): (How, &'e Cancel),
        tell: T,
        scratch: impl Fn() -> recourse::Worker<'e> + Sync,
    ) -> PyResult<Vec<String>>
    where
        T: Fn(&mut recourse::Worker<'e>, &probe_io::Chunk) -> anyhow::Result<Vec<String>> + Sync,
    {
        let chunks = self.read_as("people", people, &how, self.work)?;
        let told: Mutex<BTreeMap<u64, Vec<String>>> = Mutex::default();
        let done =
            each(py, (chunks, how.threads), how.progress, cancelled, scratch, |worker, chunk| {
                self.prepared.check_rows(chunk)?;
                worker.answer(chunk, NO_FACTORS)?;
                let texts = tell(worker, chunk)?;
                if let Ok(mut told) = told.lock() {
                    told.insert(chunk.first_row(), texts);
                }
                Ok(())
            });
        self.checked(done)?;
        Ok(told.into_inner().unwrap_or_default().into_values().flatten().collect())
    }

    /// The result, or the exception that a Python function raised meanwhile.
    fn checked<T>(&self, result: PyResult<T>) -> PyResult<T> {
        result.map_err(|error| or_raised(&self.raised, error))
    }
}

/// A checked request.
fn request_of(json: &str) -> PyResult<Request> {
    let checked = |request: Request| request.check().map(|()| request);
    let request: Result<Request, RequestError> = Request::from_json(json).and_then(checked);
    request.map_err(|error| raise(error.into()))
}

/// The exception that a Python function raised, if the error comes from it.
fn or_raised(raised: &Raised, error: PyErr) -> PyErr {
    Python::attach(|py| {
        let text = error.value(py).to_string();
        let raised = raised.lock().ok()?;
        raised
            .iter()
            .find(|(why, _)| text.contains(why.as_str()))
            .map(|(_, error)| error.clone_ref(py))
    })
    .unwrap_or(error)
}

fn json_texts(rows: &JsonRows) -> Vec<String> {
    rows.iter().map(|row| String::from_utf8_lossy(row).into_owned()).collect()
}
