//! Flags about letters.

use super::values::languages;
use clap::{Args, ValueEnum, ValueHint};
use std::path::PathBuf;

/// Flags of letters.
#[derive(Debug, Args)]
#[command(next_help_heading = "Letters")]
pub(crate) struct Explain {
    /// Write a letter to each person instead of the table: what to do in plain sentences, how far
    /// it may be missed, how safe it is, and the main reasons for the no (see docs/letters.md).
    #[arg(
        long,
        value_name = "text|markdown|html|json",
        value_enum,
        num_args = 0..=1,
        default_missing_value = "text",
        hide_possible_values = true
    )]
    pub(crate) explain: Option<Form>,
    /// Write the letters to this file, in addition to the table. Its extension sets the form,
    /// unless --explain does.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) explain_out: Option<PathBuf>,
    // The help lists all built-in languages.
    #[arg(
        long,
        value_name = "LANGUAGE",
        help = format!(
            "Language of the letters: {}, or one of --templates [default: en]",
            languages()
        )
    )]
    pub(crate) language: Option<String>,
    /// Own phrases (.toml) or templates (.txt, .md, .html) for letters: a file, or a folder of
    /// them.
    #[arg(long, value_name = "FILE|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) templates: Option<PathBuf>,
}

/// `--explain`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Plain text.
    Text,
    /// Markdown.
    #[value(alias = "md")]
    Markdown,
    /// One page; when printed, each letter starts on a new sheet.
    Html,
    /// Facts and sentences for programs.
    Json,
}
