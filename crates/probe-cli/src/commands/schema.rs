//! `probe schema infer`.

use crate::args::{SchemaArgs, SchemaCommand, SchemaInfer};
use crate::printer::Printer;
use crate::run::write_text;
use anyhow::Result;
use probe_io::{TableReader, infer_schema, schema_to_toml};
use std::path::Path;

const HEADER: &str = "\
# A first schema, guessed from data: read and edit it. What may change (mutable), which way \
(direction: increase, decrease, any), at what
# cost, and what a category may become (transitions) is for somebody to say who knows the people; \
see `probe inspect` on this file.

";

pub(crate) fn run(args: &SchemaArgs, printer: &Printer) -> Result<()> {
    match &args.command {
        SchemaCommand::Infer(args) => infer(args, printer),
    }
}

fn infer(args: &SchemaInfer, printer: &Printer) -> Result<()> {
    let found = infer_schema(
        TableReader::open(&args.data, args.format)?,
        args.target.as_deref(),
        &args.immutable,
    )?;
    let text = HEADER.to_owned() + &schema_to_toml(&found.schema)?;
    write_text(args.output.as_deref().unwrap_or(Path::new("-")), &text)?;
    for note in &found.notes {
        printer.note(note);
    }
    if let Some(path) = &args.output {
        printer.note(&format!(
            "wrote {}: {} features to check",
            path.display(),
            found.schema.features.len()
        ));
    }
    Ok(())
}
