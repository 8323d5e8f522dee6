//! Tables out: batches of columns, encoded by workers and written in order, whole or not at all.

#[cfg(feature = "arrow")]
mod arrow;
mod atomic;
mod batch;
mod csv;
mod field;
#[cfg(feature = "arrow-ipc")]
mod ipc;
mod json;
mod parquet;
mod writer;

pub use atomic::{AtomicOutput, abandon_outputs};
pub use batch::{Batch, Cell, Column, JsonRows, Verbatim, check_columns};
pub use field::{Field, FieldKind, check_distinct};
#[cfg(feature = "arrow")]
pub use writer::Batches;
pub use writer::{Encoded, Encoder, Prose, TableWriter};
