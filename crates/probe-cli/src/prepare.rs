//! Prepares a request: reads its files, and checks it against them.

use crate::args::{Ask, Tables};
use crate::printer::Printer;
use crate::run::count_rows;
use anyhow::Result;
use probe_io::{ModelFile, TableReader, load_schema};
use probe_service::{Inputs, Prepared, Request, SchemaSource, Scope};
use std::path::Path;

/// Reads the files of a request and checks it against them.
pub(crate) fn prepare(
    ask: &Ask,
    reference: Option<&Path>,
    request: &Request,
    printer: &Printer,
) -> Result<Prepared> {
    let file = ModelFile::load(&ask.model)?;
    let schema = match &ask.assume.schema {
        Some(path) if path == Path::new("none") => SchemaSource::Ignored,
        Some(path) => SchemaSource::Given(load_schema(path)?),
        None => SchemaSource::Own,
    };
    let inputs = Inputs {
        schema,
        origin: ask.assume.schema.as_ref().unwrap_or(&ask.model).display().to_string(),
        noise: request.noise.as_deref().and_then(noise_file).transpose()?,
        reference: reference.map(|path| TableReader::open(path, None)).transpose()?,
    };
    Prepared::new(&file, inputs, request, printer)
}

/// The content of the file that `noise` names, if it names one.
fn noise_file(noise: &str) -> Option<Result<Vec<u8>, probe_io::Error>> {
    let path = noise.strip_prefix("file:")?;
    let error = |source| probe_io::Error::Io { file: path.to_owned(), doing: "read", source };
    Some(std::fs::read(path).map_err(error))
}

/// Counts the rows that the confidence is divided over, unless `--rows` gives their number.
pub(crate) fn count_for_confidence(
    request: &mut Request,
    ask: &Ask,
    tables: &Tables,
) -> Result<()> {
    if request.confidence_scope == Scope::File && request.rows.is_none() {
        request.rows = Some(count_rows(ask, tables)?.max(1));
    }
    Ok(())
}
