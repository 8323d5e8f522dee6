//! Parquet out: row groups of bounded size, nullable columns where gaps are declared.

use super::atomic::{AtomicOutput, write_error};
use super::batch::{Cell, Column};
use super::field::{Field, FieldKind};
use crate::error::{Error, Result};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnPath, Type};
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;

/// Cells of a row group at most; a group has to be held in memory, because its columns are written
/// one after another.
const GROUP_CELLS: usize = 1 << 21;
/// Rows of a row group, at most and at least.
const GROUP_ROWS: (usize, usize) = (1 << 16, 1 << 10);

/// A column with its values packed and, where it has gaps, a level per row: 1 for a value, 0 for a
/// gap.
#[derive(Debug)]
pub(super) struct Packed {
    levels: Option<Vec<i16>>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
    Texts(Vec<ByteArray>),
    Booleans(Vec<bool>),
}

/// Packs checked columns; done by workers.
pub(super) fn pack(columns: &[Column<'_>], fields: &[Field]) -> Vec<Packed> {
    let level = |present: bool| i16::from(present);
    let pack = |(column, field): (&Column<'_>, &Field)| {
        let levels: Option<Vec<i16>> = field.is_optional().then(|| match column {
            Column::Integers(cells) => cells.iter().map(|cell| level(cell.is_some())).collect(),
            Column::Floats(cells) => {
                cells.iter().map(|cell| level(cell.value().is_some())).collect()
            }
            Column::Numbers(values) => {
                values.iter().map(|value| level(value.is_finite())).collect()
            }
            Column::Texts(cells) => cells.iter().map(|cell| level(cell.is_some())).collect(),
            Column::Booleans(values) => vec![level(true); values.len()],
        });
        let values = match column {
            Column::Integers(cells) => Values::Integers(cells.iter().copied().flatten().collect()),
            Column::Floats(cells) => Values::Floats(cells.iter().filter_map(Cell::value).collect()),
            Column::Numbers(values) => {
                Values::Floats(values.iter().copied().filter(|value| value.is_finite()).collect())
            }
            Column::Texts(cells) => Values::Texts(
                cells
                    .iter()
                    .flatten()
                    .map(|text| ByteArray::from(text.as_bytes().to_vec()))
                    .collect(),
            ),
            Column::Booleans(values) => Values::Booleans(values.clone()),
        };
        Packed { levels, values }
    };
    columns.iter().zip(fields).map(pack).collect()
}

/// A Parquet file being written.
pub(super) struct ParquetWriter {
    name: String,
    writer: SerializedFileWriter<AtomicOutput>,
    pending: Vec<Packed>,
    n_pending: usize,
    group_rows: usize,
}

impl std::fmt::Debug for ParquetWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetWriter").field("name", &self.name).finish_non_exhaustive()
    }
}

impl ParquetWriter {
    pub(super) fn new(
        output: AtomicOutput,
        fields: &[Field],
        meta: Option<&Value>,
    ) -> Result<Self> {
        let name = output.name().to_owned();
        let writer = start(output, fields, meta).map_err(|source| parquet_error(&name, source))?;
        let group_rows = (GROUP_CELLS / fields.len().max(1)).clamp(GROUP_ROWS.1, GROUP_ROWS.0);
        Ok(Self {
            name,
            writer,
            pending: fields.iter().map(empty).collect(),
            n_pending: 0,
            group_rows,
        })
    }

    /// Adds rows. Row groups end at fixed row counts, so that the file does not depend on how rows
    /// were batched.
    pub(super) fn write(&mut self, mut columns: Vec<Packed>, n_rows: usize) -> Result<()> {
        let mut left = n_rows;
        while self.n_pending + left >= self.group_rows {
            let take = self.group_rows - self.n_pending;
            for (pending, column) in self.pending.iter_mut().zip(&mut columns) {
                pending.take_from(column, take);
            }
            left -= take;
            self.flush()?;
        }
        for (pending, column) in self.pending.iter_mut().zip(&mut columns) {
            pending.take_from(column, left);
        }
        self.n_pending += left;
        Ok(())
    }

    /// Writes the remaining rows and the footer.
    pub(super) fn finish(mut self) -> Result<AtomicOutput> {
        if self.n_pending > 0 {
            self.flush()?;
        }
        let Self { name, writer, .. } = self;
        writer.into_inner().map_err(|source| parquet_error(&name, source))
    }

    fn flush(&mut self) -> Result<()> {
        let Self { name, writer, pending, .. } = self;
        let mut group = || -> Result<(), ParquetError> {
            let mut group = writer.next_row_group()?;
            for column in pending.iter_mut() {
                match &column.values {
                    Values::Integers(values) => {
                        put::<Int64Type, _>(&mut group, values, &column.levels)?
                    }
                    Values::Floats(values) => {
                        put::<DoubleType, _>(&mut group, values, &column.levels)?
                    }
                    Values::Texts(values) => {
                        put::<ByteArrayType, _>(&mut group, values, &column.levels)?
                    }
                    Values::Booleans(values) => {
                        put::<BoolType, _>(&mut group, values, &column.levels)?
                    }
                }
                column.clear();
            }
            group.close()?;
            Ok(())
        };
        group().map_err(|source| parquet_error(name, source))?;
        self.n_pending = 0;
        Ok(())
    }
}

impl Packed {
    /// Moves the first `n_rows` rows of `other` to the end of this column.
    fn take_from(&mut self, other: &mut Self, n_rows: usize) {
        let n_values = match (&mut self.levels, &mut other.levels) {
            (Some(levels), Some(more)) => {
                let taken = more.drain(..n_rows);
                let before = levels.len();
                levels.extend(taken);
                levels[before..].iter().filter(|&&level| level == 1).count()
            }
            _ => n_rows,
        };
        match (&mut self.values, &mut other.values) {
            (Values::Integers(values), Values::Integers(more)) => {
                values.extend(more.drain(..n_values))
            }
            (Values::Floats(values), Values::Floats(more)) => values.extend(more.drain(..n_values)),
            (Values::Texts(values), Values::Texts(more)) => values.extend(more.drain(..n_values)),
            (Values::Booleans(values), Values::Booleans(more)) => {
                values.extend(more.drain(..n_values))
            }
            // Kinds were checked against the fields before packing.
            _ => {}
        }
    }

    fn clear(&mut self) {
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        match &mut self.values {
            Values::Integers(values) => values.clear(),
            Values::Floats(values) => values.clear(),
            Values::Texts(values) => values.clear(),
            Values::Booleans(values) => values.clear(),
        }
    }
}

fn empty(field: &Field) -> Packed {
    let values = match field.kind() {
        FieldKind::Integer => Values::Integers(Vec::new()),
        FieldKind::Float => Values::Floats(Vec::new()),
        FieldKind::Text => Values::Texts(Vec::new()),
        FieldKind::Boolean => Values::Booleans(Vec::new()),
    };
    Packed { levels: field.is_optional().then(Vec::new), values }
}

fn put<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    levels: &Option<Vec<i16>>,
) -> Result<(), ParquetError> {
    let ended = || ParquetError::General("more columns than declared".to_owned());
    let mut column = group.next_column()?.ok_or_else(ended)?;
    column.typed::<T>().write_batch(values, levels.as_deref(), None)?;
    column.close()
}

fn start(
    output: AtomicOutput,
    fields: &[Field],
    meta: Option<&Value>,
) -> Result<SerializedFileWriter<AtomicOutput>, ParquetError> {
    let column = |field: &Field| {
        let repetition =
            if field.is_optional() { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let (physical, logical) = match field.kind() {
            FieldKind::Integer => (Physical::INT64, None),
            FieldKind::Float => (Physical::DOUBLE, None),
            FieldKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            FieldKind::Boolean => (Physical::BOOLEAN, None),
        };
        let builder = Type::primitive_type_builder(field.name(), physical);
        builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("schema").with_fields(columns).build()?;
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("probe version {}", env!("CARGO_PKG_VERSION")))
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::SNAPPY);
    for field in fields.iter().filter(|field| field.kind() != FieldKind::Text) {
        // Numbers rarely repeat enough to pay for a dictionary.
        properties = properties
            .set_column_dictionary_enabled(ColumnPath::new(vec![field.name().to_owned()]), false);
    }
    if let Some(meta) = meta {
        let entry = KeyValue { key: "probe".to_owned(), value: Some(meta.to_string()) };
        properties = properties.set_key_value_metadata(Some(vec![entry]));
    }
    SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties.build()))
}

fn parquet_error(name: &str, source: ParquetError) -> Error {
    match source {
        ParquetError::External(inner) => match inner.downcast::<std::io::Error>() {
            Ok(source) => write_error(name, *source),
            Err(other) => Error::file(name, format!("cannot write: {other}")),
        },
        other => Error::file(name, format!("cannot write: {other}")),
    }
}
