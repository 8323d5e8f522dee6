//! The command line: commands in this file, flags of a request in `ask` (which `request` turns into
//! a request), and the flags of `probe train` in `train`.

mod ask;
mod letters;
mod request;
mod serve;
mod tables;
mod train;
mod values;

pub(crate) use ask::Ask;
pub(crate) use letters::{Explain, Form};
pub(crate) use serve::{LogFormat, Serve};
pub(crate) use tables::Tables;
pub(crate) use train::{ClassWeight, Kind, Train};

use ask::{Assurance, Measure, Rates, Seek, Wishes};
use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueHint};
use probe_io::Format;
use std::path::PathBuf;
use values::{experiment, fit_rate, method, positive, rate, threads};

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Recourse that survives imperfect implementation.
///
/// A model rejected a person. Probe finds the cheapest change that turns the no into a yes, and
/// that keeps it a yes with a chosen probability, although nobody carries out advice exactly.
#[derive(Debug, Parser)]
#[command(name = "probe", version, styles = STYLES, max_term_width = 110, after_help = "\
Examples:
  probe demo                                     no set-up: train, answer one person, write a report
  probe train credit.csv --target approved --schema schema.toml -o model.json
  probe recourse model.json people.csv -r 0.1 --sigma 0.05 -o out.csv
  probe frontier model.json people.csv --rates 0.4,0.2,0.1,0.05
  probe compare model.json people.csv --methods probe,wachter,roar -r 0.1
  probe rate model.json out.csv --ignore-extra
  probe noise fit pairs.csv --model model.json -o noise.json
  probe reproduce trees --out figures
  probe data download --out data
  probe inspect model.json
  probe serve model.json                         answers over HTTP; see docs/service.md")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Flags of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct Common {
    /// Seed of everything random.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Threads to use; 0 for all cores. The result does not depend on it.
    #[arg(long, global = true, default_value_t = 0, value_name = "N", value_parser = threads)]
    pub(crate) threads: usize,
    /// Print nothing but the result and errors.
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// What to log to standard error: error, warn, info, debug or trace [default: warn; info for
    /// serve].
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) log: Option<tracing::level_filters::LevelFilter>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Train(Train),
    Recourse(Recourse),
    Frontier(Frontier),
    Compare(Compare),
    Rate(Rate),
    Serve(Serve),
    Schema(SchemaArgs),
    Audit(Audit),
    Noise(Noise),
    Reproduce(Reproduce),
    Data(Data),
    Inspect(Inspect),
    Completions(Completions),
}

/// Show what probe does, with built-in data and no set-up.
///
/// Trains a credit model on generated data, shows for a rejected person what more certainty costs,
/// and writes the data, the model, the answers and a report with pictures.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe demo
  probe demo --out /tmp/demo -r 0.05")]
pub(crate) struct Demo {
    /// Folder to write to.
    #[arg(long, default_value = "probe-demo", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Share of noisy implementations that may fail.
    #[arg(
        short = 'r',
        long,
        default_value_t = 0.1,
        value_parser = rate,
        allow_negative_numbers = true,
        value_name = "R"
    )]
    pub(crate) max_rate: f64,
    /// Standard deviation of the noise, in scaled units.
    #[arg(
        long,
        default_value_t = 0.05,
        value_parser = positive,
        allow_negative_numbers = true,
        value_name = "S"
    )]
    pub(crate) sigma: f64,
    /// Number of people to generate and train on.
    #[arg(
        long,
        default_value_t = 10_000,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(500..)
    )]
    pub(crate) people: u32,
}

/// Find the cheapest recourse that holds, for each person.
///
/// Writes one row per person: status, cost, rate and the recourse in the person's own units.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe recourse model.json people.csv -r 0.1 --sigma 0.05 -o out.csv
  probe recourse model.json credit.csv -r 0.05 --immutable debt,income --max-changes 2 --id approved
  probe recourse model.json people.csv --noise-on changed --format jsonl | head -1
  probe recourse model.json people.csv --budget 0.3        the most robust answer for that cost
  probe recourse model.json people.csv --model-shift gaussian:0.05      the model may change, too
  probe recourse network.json people.csv -r 0.1 --aim 0.99 --confidence-scope file
  probe recourse network.json people.csv --tolerance --format jsonl     tolerate more than the noise
  probe recourse model.json people.csv -r 0.35 --method probe-gradient --option keep=best
  probe recourse model.json people.csv --options 3 --prefer savings --avoid income
  probe recourse network.json people.csv --method dice --option count=4 --reference credit.csv
  probe recourse model.json people.csv -r 0.1 --explain                 letters on the terminal
  probe recourse model.json people.csv -o out.csv --explain-out letters.html --language de
  cat people.csv | probe recourse model.json - --quiet > out.csv")]
pub(crate) struct Recourse {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) seek: Seek,
    #[command(flatten)]
    pub(crate) wishes: Wishes,
    /// Personal costs: a table with a row for each person, in the order of PEOPLE, and columns
    /// named after features or `cost:FEATURE`. A cell is the factor by which the usual cost is
    /// multiplied for that person; an empty cell is 1. The file may be PEOPLE itself, with
    /// --ignore-extra.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) costs: Option<PathBuf>,
    /// Append a record of every answer to this file (JSON Lines). Each record contains the hash of
    /// the one before; see `probe audit verify`.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) audit: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: Tables,
    // Groups with a heading come last, because a heading applies to everything that follows.
    #[command(flatten)]
    pub(crate) assurance: Assurance,
    #[command(flatten)]
    pub(crate) explain: Explain,
}

/// Show what more certainty costs: cost against invalidation rate, for each person.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe frontier model.json people.csv -o frontier.csv
  probe frontier model.json people.csv --rates 0.4,0.3,0.2,0.1,0.05,0.01 --sigma 0.05")]
pub(crate) struct Frontier {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) seek: Seek,
    #[command(flatten)]
    pub(crate) rates: Rates,
    #[command(flatten)]
    pub(crate) table: Tables,
    #[command(flatten)]
    pub(crate) assurance: Assurance,
}

/// Compare methods on the same people.
///
/// One row per method: recourse accuracy, average invalidation rate (from 10,000 draws per person
/// as in the paper, and the true rate), average cost, features changed, broken rules and seconds,
/// with standard deviations and bootstrap intervals. A terminal shows a table; a pipe gets CSV.
// `--methods` replaces `--method`, and settings are prefixed with the method's name.
#[derive(Debug, Args)]
#[command(
    mut_arg("method", |arg| arg.hide(true)),
    mut_arg("paper_text", |arg| arg.hide(true)),
    after_help = "\
Examples:
  probe compare model.json people.csv --methods probe,wachter,growing-spheres -r 0.1 --sigma 0.1
  probe compare network.json people.csv --methods probe,probe-gradient,ar-lime,roar,arar \
      --reference credit.csv -r 0.35
  probe compare model.json people.csv --methods probe,roar --option roar:epsilon=0.05 \
      -o compare.csv --plot compare.svg"
)]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) seek: Seek,
    /// Methods to compare. A setting belongs to one of them: --option METHOD:NAME=VALUE.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B,…",
        required = true,
        value_parser = method,
        conflicts_with_all = ["method", "paper_text"]
    )]
    pub(crate) methods: Vec<String>,
    /// File for the table, written completely or not at all; default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Format of the table; default: by the file's extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// SVG file for a picture of cost against rate.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Format of PEOPLE; default: by its extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) input_format: Option<Format>,
    /// Ignore columns that the model does not know.
    #[arg(long)]
    pub(crate) ignore_extra: bool,
}

/// Compute the invalidation rate of given points.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe rate model.json people.csv --sigma 0.1
  probe rate model.json out.csv --ignore-extra --estimator monte-carlo --samples 1000
  probe rate model.json out.csv --ignore-extra --noise student-t:0.1,df=4 \
      --estimator monte-carlo-sobol
  probe rate model.json out.csv --ignore-extra --noise effort:0.05,rho=0.2 --from people.csv
  probe rate model.json out.csv --ignore-extra --model-shift gaussian:0.05   the model may change
  probe rate model.json out.csv --ignore-extra --noise-on changed --from people.csv")]
pub(crate) struct Rate {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) measure: Measure,
    /// The people to whom the points were advised, row by row (needed with --noise-on changed and
    /// effort noise).
    #[arg(long, value_name = "PEOPLE", value_hint = ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: Tables,
}

/// Check the records that --audit writes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe recourse model.json people.csv -r 0.1 -o out.csv --audit audit.jsonl
  probe audit verify audit.jsonl")]
pub(crate) struct Audit {
    #[command(subcommand)]
    pub(crate) command: AuditCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    Verify(AuditVerify),
}

/// Recompute every record's hash, and check that each follows the one before.
///
/// Finds any changed byte and any record that was changed, added, moved or removed. Records removed
/// at the end are only found with --expect: keep the last hash, which each run prints, in another
/// place.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe audit verify audit.jsonl")]
pub(crate) struct AuditVerify {
    /// Audit file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Hash that the last record must have.
    #[arg(long, value_name = "HASH")]
    pub(crate) expect: Option<String>,
}

/// Make a schema: what each column means, and what may change.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe schema infer credit.csv --target approved -o guessed.toml
  probe train credit.csv --target approved --schema guessed.toml -o model.json")]
pub(crate) struct SchemaArgs {
    #[command(subcommand)]
    pub(crate) command: SchemaCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    Infer(SchemaInfer),
}

/// Write a first schema from data, for a person to edit.
///
/// Guesses for each column whether it is a number, a whole number or a category, its range, and its
/// step. Columns whose names suggest that nobody can change them (age, sex, origin) may not change.
/// Read the schema before you use it: data do not say what a person can change, in which direction,
/// and at what cost.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe schema infer credit.csv --target approved -o guessed.toml
  probe schema infer people.csv --immutable housing,purpose
  probe inspect guessed.toml")]
pub(crate) struct SchemaInfer {
    /// Table of data: CSV, JSON Lines, JSON or Parquet; - for standard input.
    #[arg(value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Column to predict.
    #[arg(long, value_name = "COL")]
    pub(crate) target: Option<String>,
    /// Columns that may not change.
    #[arg(long, value_name = "a,b", value_delimiter = ',')]
    pub(crate) immutable: Vec<String>,
    /// Format of DATA; default: by its extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Schema file to write (TOML); default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Learn from data how far people miss the advice.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe noise fit pairs.csv --model model.json -r 0.05 -o noise.json
  probe recourse model.json people.csv -r 0.05 --noise file:noise.json")]
pub(crate) struct Noise {
    #[command(subcommand)]
    pub(crate) command: NoiseCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoiseCommand {
    Fit(NoiseFit),
}

/// Fit noise to pairs of prescribed and implemented values, and write a noise file.
///
/// PAIRS has one row per person and, for each feature NAME, a column NAME with
/// the value that was advised and a column NAME__implemented with the value
/// that the person reached. A feature with neither column gets no noise:
///
///   income,income__implemented,debt,debt__implemented
///   42000,41200,0.30,0.33
///   38500,38900,0.25,0.24
///
/// Values are in the units of --model or --schema, whose scales are applied;
/// without either, columns are taken as scaled. The fit is Gaussian, with the
/// mean and the covariance of the misses. With fewer than five pairs per
/// feature, correlations are shrunk. Standard deviations are inflated so that
/// the target rate -r holds although mean and covariance are estimates. This is
/// exact for linear models, normal misses and this rate; fit again for a
/// smaller rate.
#[derive(Debug, Args)]
#[command(
    verbatim_doc_comment,
    after_help = "\
Examples:
  probe noise fit pairs.csv --model model.json -o noise.json
  probe noise fit pairs.csv --schema schema.toml -r 0.05 -o noise.json
  probe noise fit pairs.csv --residuals -o noise.json        the misses themselves, no fit"
)]
pub(crate) struct NoiseFit {
    /// Table of pairs: CSV, JSON Lines, JSON or Parquet; - for standard input.
    #[arg(value_name = "PAIRS", value_hint = ValueHint::FilePath)]
    pub(crate) pairs: PathBuf,
    /// Model file, for its features and its schema's scales.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) model: Option<PathBuf>,
    /// Schema file, for features and scales; default: the model's own.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Target invalidation rate that the fit is for, below 0.5.
    #[arg(
        short = 'r',
        long,
        visible_alias = "rate",
        default_value_t = 0.1,
        value_parser = fit_rate,
        allow_negative_numbers = true,
        value_name = "R"
    )]
    pub(crate) max_rate: f64,
    /// Write the misses themselves instead of a fit.
    #[arg(long, conflicts_with = "max_rate")]
    pub(crate) residuals: bool,
    /// Format of PAIRS; default: by its extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Noise file to write; default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Reproduce the paper's figures and tables, next to the paper's values.
///
/// Writes pictures, numbers as CSV, and one page with everything (report.html). Finished cells are
/// stored in DIR/cells, so that an interrupted run continues where it stopped.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe reproduce --data data --out reproduced  everything, all people
  probe reproduce --data data --quick           everything, few people: minutes
  probe reproduce table1 --data data
  probe reproduce trees --out figures           a forest, a tree distilled from it, and recourse")]
pub(crate) struct Reproduce {
    /// What to reproduce: all, figures, or one of classifiers, settings, table1, sigma025,
    /// motivation, loan, navigation, sigmoid, pareto, bounds, baselines, achieved, tradeoff, trees.
    /// motivation, loan, navigation, sigmoid and trees need no data.
    #[arg(value_name = "WHAT", default_value = "all", value_parser = experiment)]
    pub(crate) what: String,
    /// Folder of the paper's data sets: adult.csv, compas.csv, give_me_some_credit.csv, as `probe
    /// data download` writes them.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data: Option<PathBuf>,
    /// Folder to write to.
    #[arg(
        long,
        default_value = "probe-reproduced",
        value_name = "DIR",
        value_hint = ValueHint::DirPath
    )]
    pub(crate) out: PathBuf,
    /// Use at most 40 people per cell of a table and 10 per point of a figure, instead of 1,000.
    #[arg(long)]
    pub(crate) quick: bool,
    /// At most this many people per cell.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) people: Option<u32>,
}

/// Get the data of the paper's experiments.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe data download --out data
  probe reproduce --data data --quick")]
pub(crate) struct Data {
    #[command(subcommand)]
    pub(crate) command: DataCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DataCommand {
    Download(DataDownload),
}

/// Download the data sets as the recourse library CARLA prepares them, and verify their checksums.
///
/// A file with a wrong checksum is not written. Existing files are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe data download                                    all of them, into the folder data
  probe data download adult gmc --out data
  probe data download --base-url file:/mnt/cf-data       from a copy; also http: and https:")]
pub(crate) struct DataDownload {
    /// Data sets: adult, compas, gmc, heloc; default: all. HELOC is not in the paper.
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Folder to write to.
    #[arg(long, default_value = "data", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// Address of the folder with the files; default: CARLA's repository carla-recourse/cf-data.
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url)]
    pub(crate) base_url: Option<String>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
}

/// Explain what a model, schema or data file contains.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe inspect model.json
  probe inspect schema.toml
  probe inspect people.csv")]
pub(crate) struct Inspect {
    /// Model, schema or data file.
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Format of a data file; default: by its extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
}

/// Print a shell's completion script.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mkdir -p ~/.local/share/bash-completion/completions
  probe completions bash > ~/.local/share/bash-completion/completions/probe
  probe completions zsh > ~/.zfunc/_probe")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
