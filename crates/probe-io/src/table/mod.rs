//! Tables in: a header first, then owned chunks of rows whose cells are decoded by the workers that
//! use them.

#[cfg(feature = "arrow")]
mod arrow;
mod chunk;
mod csv;
mod format;
mod framing;
mod json;
mod parquet;
mod plan;
mod reader;
mod records;
mod text;
mod typed;
mod whole;

pub use chunk::{Chunk, Id};
pub use format::Format;
pub use plan::{ColumnPlan, Columns};
pub use reader::{Chunks, RawChunk, TableReader};
pub use records::ChunkLimit;
pub use whole::{Table, read_table};
