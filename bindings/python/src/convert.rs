//! Tables in and out, and messages.

use probe_service::{Diagnostics, Message, Spelling};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use std::sync::Mutex;

use crate::error::raise;
use probe_io::TableReader;

/// A reader of a table in memory; `name` is its name in errors.
pub(crate) fn reader(name: &str, table: PyTable) -> PyResult<TableReader> {
    let (batches, schema) = table.into_inner();
    TableReader::from_arrow(name, &schema, batches).map_err(|error| raise(error.into()))
}

/// Collects messages while an engine is built: notes, then warnings.
#[derive(Debug, Default)]
pub(crate) struct Listener {
    said: Mutex<(Vec<String>, Vec<String>)>,
}

impl Listener {
    pub(crate) fn into_said(self) -> (Vec<String>, Vec<String>) {
        self.said.into_inner().unwrap_or_default()
    }
}

impl Diagnostics for Listener {
    fn note(&self, message: &Message) {
        if let Ok(mut said) = self.said.lock() {
            said.0.push(message.spelled(Spelling::Keyword));
        }
    }

    fn warn(&self, message: &Message) {
        if let Ok(mut said) = self.said.lock() {
            said.1.push(message.spelled(Spelling::Keyword));
        }
    }
}
