//! Files of the engine: models, schemas, and tables streamed in and out. The only crate that reads
//! disk.
//!
//! - [`ModelFile`], [`load_schema`], [`load_noise`]: structured documents; errors name file and
//!   JSON path.
//! - [`TableReader`] → [`Chunks`] → [`Chunk`]: CSV, JSON Lines, JSON and Parquet in bounded memory.
//! - [`read_pairs`]: pairs of advised and implemented values.
//! - [`TableWriter`]: writes the same formats, completely or not at all.
//! - [`run_pipeline`]: reader, workers and writer, in order, with the same bytes for any number of
//!   threads.
//!
//! ```
//! use probe_io::{Batch, Column, Columns, Error, Field, Format, Job};
//! use probe_io::{TableReader, TableWriter, run_pipeline};
//! use std::sync::atomic::AtomicBool;
//!
//! let people = std::io::Cursor::new("name,age,income\nAnn,41,1.50\nBob,29,2\n");
//! let reader = TableReader::from_read("people.csv", people, Format::Csv)?;
//! let wanted = Columns {
//!     features: vec!["age".to_owned(), "income".to_owned()],
//!     ids: vec!["name".to_owned()],
//!     ..Columns::default()
//! };
//! let reader = reader.select(&wanted)?;
//! let directory = tempfile::tempdir().expect("a temporary directory");
//! let path = directory.path().join("sums.csv");
//! let mut fields = vec![Field::integer("row"), Field::float("sum"), Field::float("income")];
//! fields.extend(reader.plan().id_fields());
//! let writer = TableWriter::create(&path, Format::Csv, fields, None)?;
//! let job = Job { reader, writer, threads: 2, cancelled: &AtomicBool::new(false) };
//! run_pipeline(
//!     job,
//!     Vec::new,
//!     |numbers, chunk| {
//!         chunk.numbers_into(numbers)?;
//!         let rows = || 0..chunk.n_rows();
//!         Ok::<_, Error>(Batch::Columns(vec![
//!             Column::integers(rows().map(|row| chunk.first_row() as i64 + row as i64)),
//!             Column::floats(rows().map(|row| numbers[2 * row] + numbers[2 * row + 1])),
//!             Column::floats(rows().map(|row| chunk.unchanged(row, 1, numbers[2 * row + 1]))),
//!             chunk.id_column(0, rows())?,
//!         ]))
//!     },
//!     |_rows_done| {},
//! )?;
//! let text = std::fs::read_to_string(&path).expect("the file is there, whole");
//! assert_eq!(text, "row,sum,income,name\n0,42.5,1.50,Ann\n1,31.0,2,Bob\n");
//! # Ok::<(), Error>(())
//! ```

mod audit;
mod audit_log;
mod checksum;
mod content;
mod error;
mod import;
mod json;
mod model_file;
mod noise_file;
mod number;
mod output;
mod pairs;
mod pipeline;
mod schema_file;
mod table;

pub use audit::{AuditTrail, Chain, verify_audit};
pub use audit_log::{AuditLog, Recovered};
pub use checksum::Checksum;
pub use error::{Error, Place, Result};
pub use model_file::ModelFile;
pub use noise_file::{
    NoiseFile, fit_to_json, load_noise, parse_noise, residuals_to_json, save_noise,
};
#[cfg(feature = "arrow")]
pub use output::Batches;
pub use output::{
    AtomicOutput, Batch, Cell, Column, Encoded, Encoder, Field, FieldKind, JsonRows, Prose,
    TableWriter, Verbatim, abandon_outputs, check_columns, check_distinct,
};
pub use pairs::{IMPLEMENTED, Pairs, read_pairs};
pub use pipeline::{Job, Summary, run_pipeline};
pub use schema_file::{
    Inferred, infer_schema, load_schema, obvious_favourable, parse_schema, save_schema,
    schema_to_toml,
};
#[cfg(feature = "arrow-ipc")]
pub use table::read_ipc;
pub use table::{
    Chunk, ChunkLimit, Chunks, ColumnPlan, Columns, Format, Id, Lines, RawChunk, Table,
    TableReader, read_table,
};
