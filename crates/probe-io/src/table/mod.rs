//! Tables in: a header first, then owned chunks of rows whose cells are decoded by the workers that
//! use them.

#[cfg(feature = "arrow")]
mod arrow;
mod chunk;
mod csv;
mod format;
mod framing;
#[cfg(feature = "arrow-ipc")]
mod ipc;
mod json;
mod lines;
mod parquet;
mod plan;
mod reader;
mod records;
mod text;
mod typed;
mod whole;

pub use chunk::{Chunk, Id};
pub use format::Format;
#[cfg(feature = "arrow-ipc")]
pub use ipc::read_ipc;
pub use lines::Lines;
pub use plan::{ColumnPlan, Columns};
pub use reader::{Chunks, RawChunk, TableReader};
pub use records::ChunkLimit;
pub use whole::{Table, read_table};
