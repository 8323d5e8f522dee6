//! `probe noise fit`.

use crate::args::{Noise, NoiseCommand, NoiseFit};
use crate::interrupt::holding_output;
use crate::printer::Printer;
use crate::run::check_writable;
use anyhow::{Context as _, Result};
use probe_core::noise::fit_gaussian;
use probe_core::{Encoding, Residuals, Rows, Schema};
use probe_experiments::number::number;
use probe_io::{
    ModelFile, Pairs, TableReader, fit_to_json, load_schema, read_pairs, residuals_to_json,
    save_noise,
};
use std::path::Path;

pub(crate) fn run(args: &Noise, printer: &Printer) -> Result<()> {
    match &args.command {
        NoiseCommand::Fit(args) => fit(args, printer),
    }
}

fn fit(args: &NoiseFit, printer: &Printer) -> Result<()> {
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    check_writable(output)?;
    let model = args.model.as_ref().map(ModelFile::load).transpose()?;
    let schema = match (&args.schema, &model) {
        (Some(path), _) => Some(load_schema(path)?),
        (None, Some(model)) => model.schema.clone(),
        (None, None) => None,
    };
    let features =
        model.map(|model| model.features).or_else(|| schema.as_ref().map(Schema::column_names));
    if let (Some(schema), Some(path), Some(features)) = (&schema, &args.schema, &features) {
        // Every feature of the model has its scale in the schema.
        Encoding::new(schema, features).with_context(|| path.display().to_string())?;
    }
    let reader = TableReader::open(&args.pairs, args.format)?;
    let file = reader.name().to_owned();
    let Pairs { features, residuals, unpaired } =
        read_pairs(reader, features.as_deref(), schema.as_ref())?;
    if !unpaired.is_empty() {
        printer.warn(&format!(
            "{file}: no pairs for {}: taken to be met exactly, without noise",
            unpaired.join(", ")
        ));
    }
    let rows = Rows::new(&residuals, features.len())?;
    let text = if args.residuals {
        Residuals::new(rows).with_context(|| file.clone())?;
        residuals_to_json(&features, rows)
    } else {
        let fit = fit_gaussian(rows, args.max_rate).with_context(|| file.clone())?;
        printer.note(&format!(
            "{} pairs; standard deviations times {:.4}, for a target rate of {}",
            number(fit.pairs as f64),
            fit.inflation,
            fit.rate
        ));
        if fit.shrinkage > 0.0 {
            printer.warn(&format!(
                "fewer than five pairs per feature: correlations were shrunk by {:.0} %, and the \
                 rate is not exact",
                100.0 * fit.shrinkage
            ));
        } else if fit.has_few_pairs() {
            printer.warn(
                "fewer than five pairs per feature, and too few to tell by how much to shrink the \
                 correlations: they were left as \
                 they came out, and the rate is not exact",
            );
        }
        fit_to_json(&features, &fit)
    };
    holding_output(|| Ok(save_noise(&text, output)?))?;
    if args.output.is_some() {
        printer.note(&format!("wrote {}", output.display()));
    }
    Ok(())
}
