//! Schemas.

use crate::convert::reader;
use crate::error::raise;
use probe_io::{infer_schema, load_schema, parse_schema, schema_to_toml};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use std::path::PathBuf;

/// Units of the features, and how they may change.
#[pyclass(frozen, module = "probe_recourse._probe")]
pub(crate) struct Schema {
    pub(crate) schema: probe_core::Schema,
}

#[pymethods]
impl Schema {
    /// A schema file, TOML or JSON.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        let schema = load_schema(path).map_err(|error| raise(error.into()))?;
        Ok(Self { schema })
    }

    /// The content of such a file.
    #[staticmethod]
    fn parse(text: &str, origin: &str) -> PyResult<Self> {
        let schema = parse_schema(text.as_bytes(), origin).map_err(|error| raise(error.into()))?;
        Ok(Self { schema })
    }

    /// A first schema from data, with notes on what to check.
    #[staticmethod]
    fn infer(
        py: Python<'_>,
        data: PyTable,
        target: Option<String>,
        immutable: Vec<String>,
    ) -> PyResult<(Self, Vec<String>)> {
        let reader = reader("data", data)?;
        let found = py.detach(|| infer_schema(reader, target.as_deref(), &immutable));
        let found = found.map_err(|error| raise(error.into()))?;
        Ok((Self { schema: found.schema }, found.notes))
    }

    fn to_toml(&self) -> PyResult<String> {
        schema_to_toml(&self.schema).map_err(|error| raise(error.into()))
    }

    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.schema)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
