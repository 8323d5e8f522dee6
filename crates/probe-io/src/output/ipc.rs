//! Arrow out: record batches as an IPC stream in memory.

use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema};

/// A stream being written.
pub(super) struct IpcWriter(StreamWriter<Vec<u8>>);

impl std::fmt::Debug for IpcWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IpcWriter")
    }
}

impl IpcWriter {
    pub(super) fn new(schema: &Schema) -> Result<Self> {
        StreamWriter::try_new(Vec::new(), schema).map(Self).map_err(fail)
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.0.write(batch).map_err(fail)
    }

    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.0.into_inner().map_err(fail)
    }
}

fn fail(error: ArrowError) -> Error {
    Error::Output { column: "all".to_owned(), what: error.to_string() }
}
