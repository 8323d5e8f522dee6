//! What can be typed, and nothing else.

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use probe_core::{Activation, ModelShift, NoiseOn};
use probe_io::Format;
use std::path::PathBuf;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// Recourse that survives imperfect implementation.
///
/// A model said no to a person. Probe finds the cheapest change that turns the no into a yes and keeps it a yes with a
/// probability that the person chooses, although nobody carries out advice exactly.
#[derive(Debug, Parser)]
#[command(name = "probe", version, styles = STYLES, max_term_width = 110, after_help = "\
Examples:
  probe demo                                          no set-up: train, answer one person, write a report
  probe train credit.csv --target approved -o model.json
  probe recourse model.json people.csv -r 0.1 --sigma 0.1 -o out.csv
  probe frontier model.json people.csv --rates 0.4,0.2,0.1,0.05
  probe compare model.json people.csv --methods probe,wachter,roar -r 0.1
  probe rate model.json out.csv --ignore-extra
  probe noise fit pairs.csv --model model.json -o noise.json
  probe reproduce trees --out figures
  probe inspect model.json")]
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
    /// What to log to standard error: error, warn, info, debug or trace.
    #[arg(long, global = true, default_value = "warn", value_name = "LEVEL")]
    pub(crate) log: tracing::level_filters::LevelFilter,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Train(Train),
    Recourse(Recourse),
    Frontier(Frontier),
    Compare(Compare),
    Rate(Rate),
    Noise(Noise),
    Reproduce(Reproduce),
    Inspect(Inspect),
    Completions(Completions),
}

/// Show what probe does, with built-in data and no set-up.
///
/// Trains a credit model on generated data, shows a person who was turned down the price of certainty, and writes the
/// data, the model, the answers and a report with pictures.
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
    #[arg(short = 'r', long, default_value_t = 0.1, value_parser = rate, allow_negative_numbers = true, value_name = "R")]
    pub(crate) max_rate: f64,
    /// Standard deviation of the noise, in scaled units.
    #[arg(long, default_value_t = 0.05, value_parser = positive, allow_negative_numbers = true, value_name = "S")]
    pub(crate) sigma: f64,
    /// Number of people to generate and train on.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u32).range(500..))]
    pub(crate) people: u32,
}

/// What to fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Logistic regression.
    Linear,
    /// Fully connected network.
    Mlp,
    /// Random forest.
    Forest,
    /// Gradient boosting.
    Boosted,
}

/// `--class-weight`, by scikit-learn's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassWeight {
    /// Every row counts the same.
    None,
    /// Both classes count the same.
    Balanced,
}

/// Fit a model to a table and write it with its schema.
///
/// Features are scaled to [0, 1] by their range in training; scale and range are kept in the model file, so that people
/// can be given in their own units.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe train credit.csv --target approved -o model.json
  probe train credit.csv --target default --favourable 0 --immutable age --l2 0.1 -o model.json
  probe train credit.csv --target approved --schema schema.toml -o model.json
  probe train credit.csv --target approved --kind mlp --hidden 50 --epochs 100 -o network.json
  probe train adult.csv --target income --drop workclass,marital-status,occupation,relationship,race,sex,native-country \
    --kind mlp --batch 512 --lr 0.002 --patience 0 -o adult.json
  probe train credit.csv --target approved --kind forest --trees 200 --depth 8 --class-weight balanced -o forest.json
  probe train credit.csv --target approved --kind boosted --trees 300 --depth 3 --lr 0.05 --rows 0.8 -o boosted.json")]
pub(crate) struct Train {
    /// Table to learn from: CSV, JSON Lines, JSON or Parquet; - for standard input.
    #[arg(value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub(crate) data: PathBuf,
    /// Column to predict; default: the schema's.
    #[arg(long, value_name = "COL")]
    pub(crate) target: Option<String>,
    /// Its favourable value; default: the schema's, else 1, yes or true.
    #[arg(long, value_name = "VALUE")]
    pub(crate) favourable: Option<String>,
    /// What to fit.
    #[arg(long, value_enum, default_value = "linear")]
    pub(crate) kind: Kind,
    /// Schema file (TOML or JSON) with units, bounds, directions and costs; default: every column a free number.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Features that nobody can change.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) immutable: Vec<String>,
    /// Columns to leave out.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) drop: Vec<String>,
    /// Strength of the squared penalty on the weights, or on the leaves of boosted trees; default: 1 for linear and boosted, 0
    /// for mlp.
    #[arg(long, value_name = "L", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) l2: Option<f64>,
    /// Weight both classes equally.
    #[arg(long)]
    pub(crate) balanced: bool,
    /// The same by another name: balanced, or none.
    #[arg(
        long,
        value_enum,
        value_name = "none|balanced",
        hide_possible_values = true,
        conflicts_with = "balanced"
    )]
    pub(crate) class_weight: Option<ClassWeight>,
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) trees: TreeArgs,
    /// Share of the rows kept for the test.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE", value_parser = share)]
    pub(crate) test: f64,
    /// Format of DATA; default: by its ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Model file to write.
    #[arg(long, short, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
}

/// What a network has and other kinds of model do not.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --kind mlp")]
pub(crate) struct NetworkArgs {
    /// Units of each hidden layer [default: 50].
    #[arg(long, value_delimiter = ',', value_name = "N,N,…")]
    pub(crate) hidden: Option<Vec<usize>>,
    /// Between the layers: relu, tanh, sigmoid, gelu, silu, softplus or leaky_relu [default: relu].
    #[arg(long, value_name = "NAME", value_parser = activation)]
    pub(crate) activation: Option<Activation>,
    /// Outputs: 2 softmax logits, as in the paper, or 1 margin [default: 2].
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) outputs: Option<u8>,
    /// Passes over the data, at most [default: 50].
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Rows per step [default: 128].
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
    /// Learning rate of Adam [default: 0.001], or of boosting [default: 0.1].
    #[arg(long, visible_alias = "learning-rate", value_name = "RATE", value_parser = positive, allow_negative_numbers = true)]
    pub(crate) lr: Option<f64>,
    /// Stop when so many epochs brought nothing on rows held back; 0 holds none back [default: 10].
    #[arg(long, value_name = "N")]
    pub(crate) patience: Option<usize>,
}

/// What ensembles of trees have and other kinds of model do not.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --kind forest or boosted")]
pub(crate) struct TreeArgs {
    /// Number of trees [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) trees: Option<usize>,
    /// Splits between root and leaf, at most [default: 6 for forest, 4 for boosted].
    #[arg(long, visible_alias = "max-depth", value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// forest: rows in a leaf, at least [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) min_leaf: Option<usize>,
    /// forest: features drawn for each split [default: the square root of their number].
    #[arg(long, value_name = "N")]
    pub(crate) split_features: Option<usize>,
    /// forest: grow every tree on all rows, instead of rows drawn with replacement.
    #[arg(long)]
    pub(crate) no_bootstrap: bool,
    /// boosted: curvature of the loss in a leaf, at least [default: 1].
    #[arg(long, value_name = "W", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) min_child_weight: Option<f64>,
    /// boosted: share of the rows drawn for each tree [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub(crate) rows: Option<f64>,
    /// boosted: share of the features drawn for each tree [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub(crate) columns: Option<f64>,
    /// boosted: bins per feature, at most [default: 256].
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<usize>,
}

/// Find the cheapest recourse that holds, for each person.
///
/// Writes one row per person: status, cost, rate and the recourse in the person's own units.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe recourse model.json people.csv -r 0.1 --sigma 0.1 -o out.csv
  probe recourse model.json people.csv -r 0.05 --immutable age,sex --max-changes 2 --id customer
  probe recourse model.json people.parquet --noise-on changed --format jsonl | head -1
  probe recourse model.json people.csv --budget 0.3        the most robust answer for that cost
  probe recourse model.json people.csv --model-shift gaussian:0.05      the model may change, too
  probe recourse network.json people.csv -r 0.1 --aim 0.99 --confidence-scope file
  probe recourse network.json people.csv --tolerance --format jsonl     and how far it may be missed beyond the noise
  probe recourse model.json people.csv -r 0.35 --method probe-gradient --option keep=best
  probe recourse network.json people.csv --method dice --option count=4 --reference train.csv
  cat people.csv | probe recourse model.json - --quiet > out.csv")]
pub(crate) struct Recourse {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) seek: Seek,
    #[command(flatten)]
    pub(crate) assurance: Assurance,
    /// Spend at most this cost for the lowest rate, instead of reaching -r at the lowest cost.
    #[arg(long, value_name = "B", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,
    /// Leave room for misses beyond the noise, reported as `tolerance` in JSON: the search aims at three quarters of r unless
    /// --aim says otherwise, which costs a little more, and the certificate goes on to a bound below r. For networks
    /// under independent Gaussian noise; linear models have tolerances without it.
    #[arg(long, help_heading = ASSURANCE)]
    pub(crate) tolerance: bool,
    #[command(flatten)]
    pub(crate) table: Tables,
}

/// Heading of what belongs to sampled rates.
const ASSURANCE: &str = "Where rates are sampled (networks, and noise without a closed form)";

/// Show the price of certainty: cost against invalidation rate, for each person.
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
    pub(crate) assurance: Assurance,
    /// Target rates.
    #[arg(long, value_delimiter = ',', value_parser = rate, allow_negative_numbers = true, value_name = "R,R,…",
          default_value = "0.45,0.4,0.35,0.3,0.25,0.2,0.15,0.1,0.05,0.01")]
    pub(crate) rates: Vec<f64>,
    #[command(flatten)]
    pub(crate) table: Tables,
}

/// Compare methods on the same people.
///
/// One row per method: recourse accuracy, average invalidation rate (10,000 draws per person as in the paper, and the true rate
/// beside it), average cost, features changed, broken rules and seconds, with standard deviations and bootstrap intervals. A
/// terminal shows a table; a pipe gets CSV.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe compare model.json people.csv --methods probe,wachter,growing-spheres -r 0.1 --sigma 0.1
  probe compare network.json people.csv --methods probe,probe-gradient,ar-lime,roar,arar --reference train.csv -r 0.35
  probe compare model.json people.csv --methods probe,roar --option roar:epsilon=0.05 -o compare.csv --plot compare.svg")]
pub(crate) struct Compare {
    #[command(flatten)]
    pub(crate) ask: Ask,
    #[command(flatten)]
    pub(crate) seek: Seek,
    /// Methods to compare. A setting belongs to one of them: --option METHOD:NAME=VALUE.
    #[arg(long, value_delimiter = ',', value_name = "A,B,…", required = true, value_parser = method, conflicts_with_all = ["method", "paper_text"])]
    pub(crate) methods: Vec<String>,
    /// File for the table, whole or not at all; default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Format of the table; default: by the file's ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// SVG file for a picture of cost against rate.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) plot: Option<PathBuf>,
    /// Format of PEOPLE; default: by its ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) input_format: Option<Format>,
    /// Pass over columns that the model does not know.
    #[arg(long)]
    pub(crate) ignore_extra: bool,
}

/// Compute the invalidation rate of given points.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe rate model.json points.csv --sigma 0.1
  probe rate model.json out.csv --ignore-extra --estimator monte-carlo --samples 1000000
  probe rate model.json points.csv --noise student-t:0.1,df=4 --estimator monte-carlo-sobol
  probe rate model.json out.csv --ignore-extra --noise effort:0.05,rho=0.2 --from people.csv
  probe rate model.json out.csv --ignore-extra --model-shift gaussian:0.05      the model may change, too
  probe rate model.json out.csv --ignore-extra --noise-on changed --from people.csv")]
pub(crate) struct Rate {
    #[command(flatten)]
    pub(crate) ask: Ask,
    /// How: auto is exact where that is possible at a fair cost and monte-carlo elsewhere. exact is Theorem 2 of the paper for trees,
    /// under noise that misses each feature on its own: the rate, or a certain interval around it. closed-form is Theorem 1, exact for
    /// linear models under Gaussian noise; enumeration sums over residuals of a noise file, exact for all models; line and
    /// monte-carlo-sobol need fewer draws; smoothed-monte-carlo is the paper's differentiable estimate, which is biased.
    #[arg(
        long,
        default_value = "auto",
        value_name = "auto|exact|closed-form|enumeration|monte-carlo|line|monte-carlo-sobol|smoothed-monte-carlo"
    )]
    pub(crate) estimator: String,
    /// Number of noisy implementations, or lines, to draw per point (estimators that sample).
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) samples: u64,
    /// The people that the points were made for, row by row (needed with --noise-on changed and effort noise).
    #[arg(long, value_name = "PEOPLE", value_hint = ValueHint::FilePath)]
    pub(crate) from: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: Tables,
}

/// Learn how people miss the advice they were given.
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
/// without either, columns are taken as scaled. The fit is Gaussian: the mean of
/// the misses and their covariance (correlations shrunk where there are fewer
/// than five pairs per feature), its standard deviations inflated so that the
/// target rate -r holds although both were estimated from few pairs. That is
/// exact for linear models, normal misses and this rate; fit again for a
/// smaller one.
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
    /// Model file: its features, and its schema's scales.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) model: Option<PathBuf>,
    /// Schema file: features and scales; default: the model's own.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Target invalidation rate that the fit is to serve, below 0.5.
    #[arg(short = 'r', long, visible_alias = "rate", default_value_t = 0.1, value_parser = fit_rate, allow_negative_numbers = true, value_name = "R")]
    pub(crate) max_rate: f64,
    /// Write the misses themselves instead of a fit.
    #[arg(long, conflicts_with = "max_rate")]
    pub(crate) residuals: bool,
    /// Format of PAIRS; default: by its ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Noise file to write; default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// Make the paper's figures and tables anew, with the paper's values beside ours.
///
/// Writes pictures, numbers as CSV, and one page with everything (report.html). Finished cells are kept in DIR/cells and found
/// again, so that a run which was interrupted goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe reproduce --data data --out reproduced           everything, all people
  probe reproduce --data data --quick                    everything, few people: minutes
  probe reproduce table1 --data data
  probe reproduce trees --out figures                    a forest, the tree distilled from it, and a recourse")]
pub(crate) struct Reproduce {
    /// What to make: all, figures, or one of classifiers, table1, sigma025, motivation, loan, navigation, sigmoid, pareto, bounds,
    /// baselines, achieved, tradeoff, trees. motivation, loan, navigation, sigmoid and trees need no data.
    #[arg(value_name = "WHAT", default_value = "all", value_parser = experiment)]
    pub(crate) what: String,
    /// Folder of the paper's data sets: adult.csv, compas.csv, give_me_some_credit.csv.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data: Option<PathBuf>,
    /// Folder to write to.
    #[arg(long, default_value = "probe-reproduced", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: PathBuf,
    /// A first look: at most 40 people in a cell of a table, 10 in a point of a figure, instead of 1,000 and 200.
    #[arg(long)]
    pub(crate) quick: bool,
    /// At most so many people in a cell.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) people: Option<u32>,
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
    /// Format of a data file; default: by its ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
}

/// Print a shell's completion script.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe completions bash > ~/.local/share/bash-completion/completions/probe
  probe completions zsh > ~/.zfunc/_probe")]
pub(crate) struct Completions {
    /// The shell.
    pub(crate) shell: clap_complete::Shell,
}

/// The question, shared by every command that computes with a model.
#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// Model file.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// People (or points), one per row: CSV, JSON Lines, JSON or Parquet; - for standard input.
    #[arg(value_name = "PEOPLE", value_hint = ValueHint::FilePath)]
    pub(crate) people: PathBuf,
    /// Standard deviation of the noise on each feature, in scaled units.
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "S", default_value_t = 0.1)]
    pub(crate) sigma: f64,
    /// Its variance, instead of --sigma.
    #[arg(long, value_parser = positive, allow_negative_numbers = true, value_name = "V", conflicts_with = "sigma")]
    pub(crate) sigma2: Option<f64>,
    /// Noise: gaussian:SD, uniform:SD, laplace:SD, student-t:SD,df=4, effort:SD,rho=0.2,a=0 or file:noise.json.
    ///
    /// SD is each feature's standard deviation, features independent; df is above 2. Effort noise has standard deviation
    /// √(SD² + rho²·change²) and mean a·change. A file has mean and sd or covariance, or residuals, by feature; `probe noise fit` writes one.
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["sigma", "sigma2"])]
    pub(crate) noise: Option<String>,
    /// Features that people miss; default: all without a schema, mutable with one.
    #[arg(long, value_name = "all|mutable|changed", value_parser = noise_on)]
    pub(crate) noise_on: Option<NoiseOn>,
    /// How the model may change before the advice is carried out: gaussian:SD of every weight, relative:SHARE of a layer's
    /// typical weight, or bounded:RADIUS around the weights of a linear model. Weights act on scaled values.
    #[arg(long, value_name = "SPEC", value_parser = model_shift)]
    pub(crate) model_shift: Option<ModelShift>,
    /// Schema file; none ignores the model's own.
    #[arg(long, value_name = "FILE|none", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Features that may not change.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) immutable: Vec<String>,
    /// Certificates: P(certified and true rate above r) is at most 1 − C, for each row; of `rate`, that of its intervals. Exact rates
    /// need none.
    #[arg(long, default_value_t = 0.999, value_parser = rate, allow_negative_numbers = true, value_name = "C")]
    pub(crate) confidence: f64,
    /// Which class of the model is favourable; 0 negates the margin.
    #[arg(long, value_name = "0|1", default_value_t = 1, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub(crate) favourable_class: u8,
    /// Cut-off on the margin, instead of the model's own.
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = finite)]
    pub(crate) threshold: Option<f64>,
    /// Cut-off on the probability of the favourable class, instead of --threshold.
    #[arg(long, value_name = "P", value_parser = rate, allow_negative_numbers = true, conflicts_with = "threshold")]
    pub(crate) threshold_prob: Option<f64>,
}

/// What is sought: flags of the commands that find recourse. Given points have none of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Seek {
    /// Target invalidation rate: the share of noisy implementations that may fail.
    #[arg(short = 'r', long, default_value_t = 0.1, value_parser = rate, allow_negative_numbers = true, value_name = "R")]
    pub(crate) max_rate: f64,
    /// What a change costs: l1, l2 or linf of the weighted, scaled changes.
    #[arg(long, value_name = "l1|l2|linf", default_value = "l1", value_parser = norm)]
    pub(crate) cost: String,
    /// Box on every feature in scaled space; none drops the bounds learned in training.
    #[arg(long, value_name = "LO,HI|none", allow_hyphen_values = true, value_parser = bounds)]
    pub(crate) bounds: Option<Bounds>,
    /// People outside the bounds must move inside; otherwise staying put is always admissible.
    #[arg(long)]
    pub(crate) strict_bounds: bool,
    /// At most this many features may change.
    #[arg(long, value_name = "K")]
    pub(crate) max_changes: Option<usize>,
    /// How to find recourse: probe, or methods to compare with: the paper's own ways, probe-gradient, probe-mc and probe-tree (which looks at
    /// one tree that imitates the model); wachter, growing-spheres, ar, ar-lime and dice, which look for another decision whatever its
    /// rate; roar and arar, which are robust in other ways. Where the rate of their answers is above r, status is found.
    #[arg(long, default_value = "probe", value_name = "NAME", value_parser = method)]
    pub(crate) method: String,
    /// Setting of the method; repeatable. probe-gradient and probe-mc have preset, lambda1, lambda2, lambda3 (a list), loss
    /// (mse, bce or score-mse), target-score, loop (text or printed), keep (first or best), learning-rate and steps; probe-mc also
    /// tau or temperature, and samples. probe-tree has no loss, and the tree's depth, its noisy copies of each row, and points, drawn where
    /// there are no reference rows. wachter: solver (auto, gradient, closed-form), loss, target-score, lambda, searches, kink (shortest,
    /// plain), learning-rate, steps. growing-spheres: radius, samples, layers, sparsify (yes, no). roar: epsilon, norm (linf, l2),
    /// lambda (a list), kink, learning-rate, steps, surrogate (lime, gradient), samples, spread. arar: epsilon, lambda (a list), kink,
    /// inner-steps, learning-rate, steps. ar: step. ar-lime: step, tries, samples, spread. dice: count (answers per person), proximity,
    /// diversity, sparsity, learning-rate, steps.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) option: Vec<String>,
    /// Rows like those that the model was trained on, in the same units as PEOPLE, for methods that need data; default: the
    /// schema's ranges.
    #[arg(long, value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub(crate) reference: Option<PathBuf>,
    /// With probe-gradient and probe-mc: weights and loss of the paper's text, which reach few targets, instead of the released
    /// ones. The same as --option preset=paper-text.
    #[arg(long)]
    pub(crate) paper_text: bool,
    /// Skip sampling for certificates; exact rates stay certified.
    #[arg(long)]
    pub(crate) no_certify: bool,
    /// Also seek recourse for favourable people whose rate is above r.
    #[arg(long)]
    pub(crate) also_favourable: bool,
}

/// What is promised where rates are sampled. Exact rates need none of it.
#[derive(Debug, Args)]
#[command(next_help_heading = ASSURANCE)]
pub(crate) struct Assurance {
    /// Share of r that the search aims at: closer to 1 is cheaper for the person, takes more samples to certify and is more
    /// often left uncertified at first, which costs another search [default: by r, about 0.985 at 0.35 and 0.96 at 0.05].
    #[arg(long, value_name = "SHARE", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) aim: Option<f64>,
    /// What --confidence covers: each row by itself, or all rows of the file together, 1 − C divided over them. The rows of a
    /// file are counted first.
    #[arg(long, value_name = "row|file", default_value = "row", value_enum, hide_possible_values = true)]
    pub(crate) confidence_scope: Scope,
    /// Number of rows that --confidence-scope file divides over, instead of counting: for standard input, or for a table that
    /// is served in parts. More rows than this are an error.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,
}

/// `--confidence-scope`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// Each row.
    Row,
    /// All rows together.
    File,
}

/// Where rows come from and go to.
#[derive(Debug, Args)]
pub(crate) struct Tables {
    /// File to write, whole or not at all; default: standard output.
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Output format; default: by the output file's ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Format of PEOPLE; default: by its ending.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) input_format: Option<Format>,
    /// Column to carry through to the output; repeatable.
    #[arg(long, value_name = "COL")]
    pub(crate) id: Vec<String>,
    /// Pass over columns that neither the model nor the schema knows.
    #[arg(long)]
    pub(crate) ignore_extra: bool,
}

/// `--bounds`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bounds {
    /// `none`: without the bounds learned in training.
    None,
    /// A box.
    Box(f64, f64),
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "not a number".to_owned())
}

fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    let value: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if value <= MOST { Ok(value) } else { Err(format!("must be at most {MOST}")) }
}

fn rate(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err("must be between 0 and 1, both excluded".to_owned())
    }
}

fn fit_rate(text: &str) -> Result<f64, String> {
    rate(text).and_then(|value| if value < 0.5 { Ok(value) } else { Err("must be below 0.5".to_owned()) })
}

fn share(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if (0.0..1.0).contains(&value) { Ok(value) } else { Err("must be at least 0 and below 1".to_owned()) }
}

fn part(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value <= 1.0 { Ok(value) } else { Err("must be above 0 and at most 1".to_owned()) }
}

fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value.is_finite() { Ok(value) } else { Err("must be positive and finite".to_owned()) }
}

fn finite(text: &str) -> Result<f64, String> {
    number(text)
        .and_then(|value| if value.is_finite() { Ok(value) } else { Err("must be finite".to_owned()) })
}

fn at_least_zero(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("must be at least 0 and finite".to_owned())
    }
}

fn bounds(text: &str) -> Result<Bounds, String> {
    if text == "none" {
        return Ok(Bounds::None);
    }
    let (low, high) = text.split_once(',').ok_or("write LO,HI or none")?;
    let (low, high) = (number(low)?, number(high)?);
    if low <= high { Ok(Bounds::Box(low, high)) } else { Err("LO must be at most HI".to_owned()) }
}

fn noise_on(text: &str) -> Result<NoiseOn, String> {
    match text {
        "all" => Ok(NoiseOn::All),
        "mutable" => Ok(NoiseOn::Mutable),
        "changed" => Ok(NoiseOn::Changed),
        _ => Err("must be all, mutable or changed".to_owned()),
    }
}

fn activation(text: &str) -> Result<Activation, String> {
    text.parse().map_err(|error: probe_core::Error| error.to_string())
}

fn model_shift(text: &str) -> Result<ModelShift, String> {
    ModelShift::parse(text).map_err(|error| error.to_string())
}

fn norm(text: &str) -> Result<String, String> {
    probe_core::Cost::uniform(text, 1).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn experiment(text: &str) -> Result<String, String> {
    let found = probe_experiments::reproduce::experiments(text);
    found.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

fn method(text: &str) -> Result<String, String> {
    probe_core::recourse::method(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn numbers_outside_their_domain_are_refused() {
        for text in ["0", "1", "NaN", "-0.1", "x", "inf"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", ""] {
            assert!(positive(text).is_err(), "{text}");
        }
        assert_eq!(bounds("-1,2"), Ok(Bounds::Box(-1.0, 2.0)));
        assert_eq!(bounds("none"), Ok(Bounds::None));
        for text in ["2,1", "1", "nan,1", "a,b"] {
            assert!(bounds(text).is_err(), "{text}");
        }
    }
}
