//! Models: read from files and documents, or functions of Python.

use crate::error::raise;
use crate::schema::Schema;
use probe_core::{BlackBox, ModelInput, Rows};
use probe_io::{Checksum, ModelFile};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Exceptions that a Python function raised while an engine worked, by their texts.
pub(crate) type Raised = Arc<Mutex<BTreeMap<String, PyErr>>>;

/// The largest number of exceptions that are kept.
const MOST: usize = 64;

/// A model.
#[pyclass(frozen, module = "probe_recourse._probe")]
pub(crate) struct Model {
    pub(crate) file: ModelFile,
    pub(crate) raised: Raised,
}

#[pymethods]
impl Model {
    /// Reads a model file of any known kind.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let file = ModelFile::load(path).map_err(|error| raise(error.into()))?;
        Ok(Self { file, raised: Raised::default() })
    }

    /// The content of such a file; `origin` names it in errors.
    #[staticmethod]
    fn parse(document: &[u8], origin: &str) -> PyResult<Self> {
        let file = ModelFile::parse(document, origin).map_err(|error| raise(error.into()))?;
        Ok(Self { file, raised: Raised::default() })
    }

    /// A model that is a Python function. It takes the bytes of rows of `f64` and their number, and
    /// returns the bytes of one score per row.
    #[staticmethod]
    fn black_box(score: Py<PyAny>, features: Vec<String>, name: &str) -> PyResult<Self> {
        let raised = Raised::default();
        let waiting = Arc::clone(&raised);
        let call = move |rows: Rows<'_>, out: &mut [f64]| {
            if crate::run::is_cancelled() {
                let why = "it was interrupted".to_owned();
                return Err(probe_core::Error::Unsupported { what: "this row".to_owned(), why });
            }
            let scores = Python::attach(|py| ask(py, &score, rows)).and_then(|scores| {
                if scores.len() == out.len() {
                    return Ok(scores);
                }
                let what = format!("{} scores for {} rows", scores.len(), out.len());
                Err(PyValueError::new_err(format!("the function gave {what}")))
            });
            match scores {
                Ok(scores) => {
                    out.copy_from_slice(&scores);
                    Ok(())
                }
                Err(error) => {
                    let why = error.to_string();
                    if let Ok(mut waiting) = waiting.lock() {
                        if waiting.len() >= MOST {
                            waiting.clear();
                        }
                        waiting.entry(why.clone()).or_insert(error);
                    }
                    Err(probe_core::Error::Unsupported { what: "this row".to_owned(), why })
                }
            }
        };
        let model = BlackBox::new(features.len(), call).map_err(|error| raise(error.into()))?;
        let file = ModelFile {
            hash: Checksum::of(name.as_bytes()),
            source: Some(format!("a function, {}", name.split(' ').next().unwrap_or(name))),
            features,
            model: Arc::new(model),
            schema: None,
            input: ModelInput::Raw,
        };
        Ok(Self { file, raised })
    }

    /// `linear`, `mlp`, `trees` or `black-box`.
    #[getter]
    fn kind(&self) -> &'static str {
        self.file.model.name()
    }

    /// The columns it takes.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.file.features.clone()
    }

    /// What another library's model is; `None` for native ones.
    #[getter]
    fn source(&self) -> Option<String> {
        self.file.source.clone()
    }

    /// SHA-256 of the file.
    #[getter]
    fn hash(&self) -> String {
        self.file.hash.clone()
    }

    /// The schema inside the file.
    #[getter]
    fn schema(&self) -> Option<Schema> {
        self.file.schema.clone().map(|schema| Schema { schema })
    }

    /// The native file of this model.
    fn to_json(&self) -> PyResult<String> {
        self.file.to_json().map_err(|error| raise(error.into()))
    }
}

/// Scores of rows by a function of Python.
fn ask(py: Python<'_>, score: &Py<PyAny>, rows: Rows<'_>) -> PyResult<Vec<f64>> {
    let bytes: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_ne_bytes()).collect();
    let answer = score.call1(py, (PyBytes::new(py, &bytes), rows.n_rows()))?;
    let answer = answer.bind(py).cast::<PyBytes>().map_err(PyErr::from)?;
    let (scores, rest) = answer.as_bytes().as_chunks::<8>();
    if !rest.is_empty() {
        return Err(PyValueError::new_err("the function gave no numbers of 64 bits"));
    }
    Ok(scores.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}
