//! Files of the engine: models, schemas, and tables streamed in and out. The only crate that reads disk.
//!
//! - [`ModelFile`], [`load_schema`], [`load_noise`]: structured documents; errors name file and JSON path.
//! - [`TableReader`] → [`Chunks`] → [`Chunk`]: CSV, JSON Lines, JSON and Parquet in bounded memory.
//! - [`TableWriter`]: the same formats out, whole or not at all.
//! - [`run_pipeline`]: reader, workers and writer, in order, with the same bytes for any number of threads.

mod content;
mod error;
mod json;
mod model_file;
mod noise_file;
mod number;
mod output;
mod pipeline;
mod schema_file;
mod table;

pub use error::{Error, Place, Result};
pub use model_file::ModelFile;
pub use noise_file::{load_noise, parse_noise};
pub use output::{
    AtomicOutput, Batch, Cell, Column, Encoded, Encoder, Field, FieldKind, TableWriter, Verbatim,
};
pub use pipeline::{Job, Summary, run_pipeline};
pub use schema_file::{load_schema, parse_schema, save_schema, schema_to_toml};
pub use table::{
    Chunk, ChunkLimit, Chunks, ColumnPlan, Columns, Format, Id, RawChunk, Table, TableReader, read_table,
};
