//! Where tables come from and go to.

use clap::{Args, ValueHint};
use probe_io::Format;
use std::path::PathBuf;

/// Where rows come from and go to.
#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// File to write, completely or not at all; default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Output format; default: by the output file's extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Format of PEOPLE; default: by its extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) input_format: Option<Format>,
    /// Column to carry through to the output; repeatable.
    #[arg(long, value_name = "COL")]
    pub(crate) id: Vec<String>,
    /// Ignore columns that neither the model nor the schema knows.
    #[arg(long)]
    pub(crate) ignore_extra: bool,
}
