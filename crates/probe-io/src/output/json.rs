//! JSON out: one object a line, or rows of one document.

use super::batch::{Batch, Column};
use super::field::Field;
use crate::error::Result;

/// The rows as JSON texts, with `separator` between them and none at the ends.
pub(super) fn encode(batch: &Batch<'_>, fields: &[Field], separator: &[u8]) -> Result<Vec<u8>> {
    let n_rows = batch.n_rows();
    let mut out = Vec::with_capacity(match batch {
        Batch::Json(rows) => rows.n_bytes() + n_rows * separator.len() + 1,
        _ => n_rows * 64,
    });
    for row in 0..n_rows {
        if row > 0 {
            out.extend_from_slice(separator);
        }
        match batch {
            Batch::Objects(objects) => append(&mut out, &objects[row])?,
            Batch::Json(rows) => out.extend_from_slice(rows.row(row)),
            Batch::Prose(texts) => append(&mut out, &texts[row])?,
            Batch::Columns(columns) => append_flat(&mut out, columns, fields, row)?,
        }
    }
    Ok(out)
}

/// A row as a flat object, fields in their declared order.
fn append_flat(
    out: &mut Vec<u8>,
    columns: &[Column<'_>],
    fields: &[Field],
    row: usize,
) -> Result<()> {
    for (i, (column, field)) in columns.iter().zip(fields).enumerate() {
        out.push(if i == 0 { b'{' } else { b',' });
        append(out, field.name())?;
        out.push(b':');
        append(out, &column.json(row))?;
    }
    out.push(b'}');
    Ok(())
}

/// Appends any value as JSON.
pub(super) fn append<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) -> Result<()> {
    serde_json::to_writer(out, value)
        .map_err(|error| crate::Error::file("output", error.to_string()))
}
