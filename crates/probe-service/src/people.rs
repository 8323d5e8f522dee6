//! Reads people from tables, and names rows in errors.

use anyhow::Result;
use probe_core::Setup;
use probe_io::{Chunk, Chunks, ColumnPlan, Columns, Field, Format, TableReader};
use std::path::Path;
use std::sync::Arc;

/// Adds the row to an error of the engine. This reads the chunk to find the line, so that it is
/// only done for errors.
pub fn at_row(chunk: &Chunk, row: usize) -> impl FnOnce(probe_core::Error) -> anyhow::Error {
    move |error| match error {
        // No row is at fault.
        probe_core::Error::Cancelled => probe_io::Error::Cancelled.into(),
        error => anyhow::anyhow!("{}: {}: {error}", chunk.plan().file(), chunk.place(row)),
    }
}

/// The feature columns of people. Values may be missing if the model accepts that.
pub fn columns_of_people(setup: &Setup) -> Columns {
    let encoding = &setup.encoding;
    let features: Vec<String> = encoding.features().iter().map(|f| f.name.clone()).collect();
    let missing = (0..features.len()).map(|k| match encoding.is_category(k) {
        true => Some("a category has no missing value; name one for it in the schema"),
        false => setup.model.refuses_missing(encoding.column_of(k)),
    });
    let missing = missing.collect();
    let encoding = (!encoding.is_identity()).then(|| Arc::new(encoding.clone()));
    Columns { missing, encoding, ..Columns::features(&features) }
}

/// Reads a whole file of people into memory, in the given format if there is one. Fails on columns
/// that are not features, unless `ignore_extra`. A missing value is NaN, if the model accepts it.
pub fn read_people(
    path: &Path,
    format: Option<Format>,
    setup: &Setup,
    ignore_extra: bool,
) -> Result<Vec<f64>> {
    people_of(TableReader::open(path, format)?, setup, ignore_extra)
}

/// The same for an open table.
pub fn people_of(reader: TableReader, setup: &Setup, ignore_extra: bool) -> Result<Vec<f64>> {
    let wanted = Columns { ignore_extra, ..columns_of_people(setup) };
    let chunks: Chunks = reader.select(&wanted)?;
    let (mut rows, mut numbers) = (Vec::new(), Vec::new());
    for chunk in chunks {
        chunk?.numbers_into(&mut numbers)?;
        rows.extend_from_slice(&numbers);
    }
    Ok(rows)
}

/// Output columns of the features, in the order of the input.
pub fn feature_fields(setup: &Setup, plan: &ColumnPlan) -> Vec<Field> {
    let field = |j: usize| {
        if setup.encoding.is_category(j) {
            return Field::text(plan.feature(j));
        }
        let field = Field::float(plan.feature(j));
        if plan.may_be_missing(j) { field.optional() } else { field }
    };
    plan.features_in_file_order().into_iter().map(field).collect()
}
