//! People as tables have them: which columns are read, and which row was refused.

use anyhow::Result;
use probe_core::Setup;
use probe_io::{Chunk, Chunks, ColumnPlan, Columns, Field, Format, Place, TableReader};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// The row of a table that the engine rejected.
#[derive(Debug)]
pub struct RowError {
    /// The table as the user named it.
    pub file: String,
    /// The row.
    pub place: Place,
    /// The reason.
    pub source: probe_core::Error,
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.file, self.place, self.source)
    }
}

impl std::error::Error for RowError {}

/// Names the row that the engine refused. Finding a row's line reads the chunk, so only an error
/// does it.
pub fn at_row(chunk: &Chunk, row: usize) -> impl FnOnce(probe_core::Error) -> anyhow::Error {
    move |error| match error {
        // Nobody's row is at fault.
        probe_core::Error::Cancelled => probe_io::Error::Cancelled.into(),
        source => {
            RowError { file: chunk.plan().file().to_owned(), place: chunk.place(row), source }
                .into()
        }
    }
}

/// The features of people, who may lack what the model takes as missing.
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

/// People of a file, whole, for files that must be in memory; in a format that may be told, failing
/// on columns that are no features unless `ignore_extra`. A missing value is NaN, where the model
/// takes it.
pub fn read_people(
    path: &Path,
    format: Option<Format>,
    setup: &Setup,
    ignore_extra: bool,
) -> Result<Vec<f64>> {
    people_of(TableReader::open(path, format)?, setup, ignore_extra)
}

/// The same of a table that is open.
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
