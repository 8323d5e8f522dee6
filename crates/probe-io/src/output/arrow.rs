//! Arrow out: record batches in memory.

use super::batch::{Cell, Column};
use super::field::{Field, FieldKind};
use crate::error::{Error, Result};
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_schema::{DataType, Schema};
use std::sync::Arc;

/// The Arrow schema of declared columns.
pub(super) fn schema(fields: &[Field]) -> Schema {
    let field = |field: &Field| {
        let kind = match field.kind() {
            FieldKind::Integer => DataType::Int64,
            FieldKind::Float => DataType::Float64,
            FieldKind::Text => DataType::Utf8,
            FieldKind::Boolean => DataType::Boolean,
        };
        arrow_schema::Field::new(field.name(), kind, field.is_optional())
    };
    Schema::new(fields.iter().map(field).collect::<Vec<_>>())
}

/// Checked columns as a record batch of `schema`, which is that of `fields`.
pub(super) fn record_batch(
    columns: &[Column<'_>],
    fields: &[Field],
    schema: &Arc<Schema>,
) -> Result<RecordBatch> {
    let array = |(column, field): (&Column<'_>, &Field)| -> ArrayRef {
        match column {
            Column::Integers(cells) => Arc::new(cells.iter().copied().collect::<Int64Array>()),
            Column::Floats(cells) if field.is_optional() => {
                Arc::new(cells.iter().map(|cell| cell.value()).collect::<Float64Array>())
            }
            // Checked: there are no gaps.
            Column::Floats(cells) => {
                let number = |cell: &Cell<'_>| cell.value().unwrap_or(f64::NAN);
                Arc::new(Float64Array::from(cells.iter().map(number).collect::<Vec<f64>>()))
            }
            Column::Numbers(values) if field.is_optional() => {
                let number = |value: &f64| Some(*value).filter(|value| value.is_finite());
                Arc::new(values.iter().map(number).collect::<Float64Array>())
            }
            Column::Numbers(values) => Arc::new(Float64Array::from(values.clone())),
            Column::Texts(cells) => {
                Arc::new(cells.iter().map(|cell| cell.as_deref()).collect::<StringArray>())
            }
            Column::Booleans(values) => Arc::new(BooleanArray::from(values.clone())),
        }
    };
    let arrays = columns.iter().zip(fields).map(array).collect();
    // A batch without columns does not know its length.
    let rows =
        RecordBatchOptions::new().with_row_count(Some(columns.first().map_or(0, Column::len)));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &rows)
        .map_err(|error| Error::Output { column: "all".to_owned(), what: error.to_string() })
}
