//! Flags of a request, shared by the commands that compute with a model.

use super::values::{
    at_least_zero, bounds, finite, method, model_shift, noise_on, norm, positive, rate,
};
use clap::{Args, ValueEnum, ValueHint};
use probe_core::NoiseOn;
use probe_service::Bounds;
use std::path::PathBuf;

/// Heading of the flags about sampled rates.
const ASSURANCE: &str = "Where rates are sampled (networks, and noise without a closed form)";

/// Flags of every command that computes with a model.
#[derive(Debug, Clone, Args)]
pub(crate) struct Ask {
    /// Model file: our own (JSON), ONNX, or as XGBoost (JSON, UBJSON) or LightGBM (text) saves it.
    ///
    /// The content tells which. Models of other libraries take raw values, unless the schema says
    /// otherwise, and are read exactly or refused; --favourable-class and --threshold or
    /// --threshold-prob say what their files cannot.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// People (or points), one per row: CSV, JSON Lines, JSON or Parquet; - for standard input.
    ///
    /// A missing value (an empty cell or NaN, null in JSON and Parquet) is accepted where every
    /// split of a model of kind trees on that feature has a default direction. It stays missing: it
    /// neither changes nor is it noisy.
    #[arg(value_name = "PEOPLE", value_hint = ValueHint::FilePath)]
    pub(crate) people: PathBuf,
    /// Standard deviation of the noise on each feature, in scaled units.
    #[arg(
        long,
        value_parser = positive,
        allow_negative_numbers = true,
        value_name = "S",
        default_value_t = 0.1
    )]
    pub(crate) sigma: f64,
    /// Its variance, instead of --sigma.
    #[arg(
        long,
        value_parser = positive,
        allow_negative_numbers = true,
        value_name = "V",
        conflicts_with = "sigma"
    )]
    pub(crate) sigma2: Option<f64>,
    /// Noise: gaussian:SD, uniform:SD, laplace:SD, student-t:SD,df=4, effort:SD,rho=0.2,a=0 or
    /// file:noise.json.
    ///
    /// SD is each feature's standard deviation, features independent; df is above 2. Effort noise
    /// has standard deviation √(SD² + rho²·change²) and mean a·change. A file has mean and sd or
    /// covariance, or residuals, by feature; `probe noise fit` writes one.
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["sigma", "sigma2"])]
    pub(crate) noise: Option<String>,
    /// Features that people miss; default: all without a schema, mutable with one.
    #[arg(long, value_name = "all|mutable|changed", value_parser = noise_on)]
    pub(crate) noise_on: Option<NoiseOn>,
    /// How the model may change before the advice is carried out: gaussian:SD of every weight,
    /// relative:SHARE of a layer's typical weight, or bounded:RADIUS around the weights of a linear
    /// model. Weights act on scaled values.
    #[arg(long, value_name = "SPEC", value_parser = model_shift)]
    pub(crate) model_shift: Option<String>,
    /// Schema file; none ignores the model's own.
    #[arg(long, value_name = "FILE|none", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Features that may not change.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) immutable: Vec<String>,
    /// Certificates: P(certified and true rate above r) is at most 1 − C, for each row; of `rate`,
    /// that of its intervals. Exact rates need none.
    #[arg(
        long,
        default_value_t = 0.999,
        value_parser = rate,
        allow_negative_numbers = true,
        value_name = "C"
    )]
    pub(crate) confidence: f64,
    /// Which class of the model is favourable; 0 negates the margin.
    #[arg(
        long,
        value_name = "0|1",
        default_value_t = 1,
        value_parser = clap::value_parser!(u8).range(0..=1)
    )]
    pub(crate) favourable_class: u8,
    /// Cut-off on the margin, instead of the model's own.
    #[arg(long, value_name = "T", allow_hyphen_values = true, value_parser = finite)]
    pub(crate) threshold: Option<f64>,
    /// Cut-off on the probability of the favourable class, instead of --threshold.
    #[arg(
        long,
        value_name = "P",
        value_parser = rate,
        allow_negative_numbers = true,
        conflicts_with = "threshold"
    )]
    pub(crate) threshold_prob: Option<f64>,
}

/// What is sought: flags of the commands that find recourse. Given points have none of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Seek {
    /// Target invalidation rate: the share of noisy implementations that may fail.
    #[arg(
        short = 'r',
        long,
        default_value_t = 0.1,
        value_parser = rate,
        allow_negative_numbers = true,
        value_name = "R"
    )]
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
    /// Features that people would rather change: they count a tenth in the choice. The reported
    /// cost stays what it is.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) prefer: Vec<String>,
    /// Features that people would rather not change: they count ten times.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) avoid: Vec<String>,
    /// How to find recourse: probe, or methods to compare with: the paper's own ways,
    /// probe-gradient, probe-mc and probe-tree (which looks at one tree that imitates the model);
    /// wachter, growing-spheres, ar, ar-lime and dice, which look for another decision whatever its
    /// rate; roar and arar, which are robust in other ways. Where the rate of their answers is
    /// above r, status is found.
    #[arg(long, default_value = "probe", value_name = "NAME", value_parser = method)]
    pub(crate) method: String,
    /// Setting of the method; repeatable. probe-gradient and probe-mc have preset, lambda1,
    /// lambda2, lambda3 (a list), loss (mse, bce or score-mse), target-score, loop (text or
    /// printed), keep (first or best), learning-rate and steps; probe-mc also tau or temperature,
    /// and samples. probe-tree has no loss, and the tree's depth, its noisy copies of each row, and
    /// points, drawn where there are no reference rows. wachter: solver (auto, gradient,
    /// closed-form), loss, target-score, lambda, searches, kink (shortest, plain), learning-rate,
    /// steps. growing-spheres: radius, samples, layers, sparsify (yes, no). roar: epsilon, norm
    /// (linf, l2), lambda (a list), kink, learning-rate, steps, surrogate (lime, gradient),
    /// samples, spread. arar: epsilon, lambda (a list), kink, inner-steps, learning-rate, steps.
    /// ar: step. ar-lime: step, tries, samples, spread (a list). dice: count (answers per person),
    /// proximity, diversity, sparsity, learning-rate, steps. growing-spheres, ar, ar-lime, roar and
    /// arar also have version (paper, library): library searches as the recourse library does that
    /// the paper's numbers were made with.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) option: Vec<String>,
    /// Rows like those that the model was trained on, in the same units as PEOPLE, for methods that
    /// need data; default: the schema's ranges.
    #[arg(long, value_name = "DATA", value_hint = ValueHint::FilePath)]
    pub(crate) reference: Option<PathBuf>,
    /// With probe-gradient and probe-mc: weights and loss of the paper's text, which reach few
    /// targets, instead of the released ones. The same as --option preset=paper-text.
    #[arg(long)]
    pub(crate) paper_text: bool,
    /// How much work one person is worth: quick answers sooner, thorough looks longer for cheaper
    /// answers. Counted in steps, not timed: the same flags give the same answers.
    #[arg(
        long,
        value_name = "quick|normal|thorough",
        default_value = "normal",
        value_enum,
        hide_possible_values = true
    )]
    pub(crate) effort: Effort,
    /// Skip sampling for certificates; exact rates stay certified.
    #[arg(long)]
    pub(crate) no_certify: bool,
    /// Also seek recourse for favourable people whose rate is above r.
    #[arg(long)]
    pub(crate) also_favourable: bool,
}

/// What is promised where rates are sampled. Exact rates need none of it.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = ASSURANCE)]
pub(crate) struct Assurance {
    /// Share of r that the search aims at: closer to 1 is cheaper for the person, takes more
    /// samples to certify and is more often left uncertified at first, which costs another search
    /// [default: by r, about 0.985 at 0.35 and 0.96 at 0.05].
    #[arg(long, value_name = "SHARE", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) aim: Option<f64>,
    /// What --confidence covers: each row by itself, or all rows of the file together, 1 − C
    /// divided over them. The rows of a file are counted first.
    #[arg(
        long,
        value_name = "row|file",
        default_value = "row",
        value_enum,
        hide_possible_values = true
    )]
    pub(crate) confidence_scope: Scope,
    /// Number of rows that --confidence-scope file divides over, instead of counting: for standard
    /// input, or for a table that is served in parts. More rows than this are an error.
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

/// `--effort`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Effort {
    /// The first answer that holds.
    Quick,
    /// What suits most people.
    Normal,
    /// As cheap an answer as the search can find.
    Thorough,
}

/// More of what is sought: flags of one answer or several to each person.
#[derive(Debug, Clone, Args)]
pub(crate) struct Wishes {
    /// Spend at most this cost for the lowest rate, instead of reaching -r at the lowest cost.
    #[arg(long, value_name = "B", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,
    /// Tell each person this many different ways, cheapest first: each does without some feature of
    /// every way before it. Adds the column `option`; where there is no further way, its reason is
    /// no-other-way.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=20)
    )]
    pub(crate) options: u16,
    /// Leave room for misses beyond the noise, reported as `tolerance` in JSON: the search aims at
    /// three quarters of r unless --aim says otherwise, which costs a little more, and the
    /// certificate goes on to a bound below r. For networks under independent Gaussian noise;
    /// linear models have tolerances without it.
    #[arg(long, help_heading = ASSURANCE)]
    pub(crate) tolerance: bool,
    /// Also say what would help those whom nothing helps: for each limit alone (a bound, a
    /// direction, a transition, the number of changes) how far it would have to give way. The least
    /// is the column `relaxation`, all of them are `relaxations` in JSON.
    #[arg(long)]
    pub(crate) relax: bool,
}

/// The rates of a frontier.
#[derive(Debug, Clone, Args)]
pub(crate) struct Rates {
    /// Target rates.
    #[arg(
        long,
        value_delimiter = ',',
        value_parser = rate,
        allow_negative_numbers = true,
        value_name = "R,R,…",
        default_value = "0.45,0.4,0.35,0.3,0.25,0.2,0.15,0.1,0.05,0.01"
    )]
    pub(crate) rates: Vec<f64>,
}

/// How rates of given points are found.
#[derive(Debug, Clone, Args)]
pub(crate) struct Measure {
    /// How: auto is exact where that is possible at a fair cost and monte-carlo elsewhere. exact is
    /// Theorem 2 of the paper for trees, under noise that misses each feature on its own: the rate,
    /// or a certain interval around it. closed-form is Theorem 1, exact for linear models under
    /// Gaussian noise; enumeration sums over residuals of a noise file, exact for all models; line
    /// and monte-carlo-sobol need fewer draws; smoothed-monte-carlo is the paper's differentiable
    /// estimate, which is biased.
    #[arg(
        long,
        default_value = "auto",
        value_name = concat!(
            "auto|exact|closed-form|enumeration|monte-carlo|line|",
            "monte-carlo-sobol|smoothed-monte-carlo"
        )
    )]
    pub(crate) estimator: String,
    /// Number of noisy implementations, or lines, to draw per point (estimators that sample).
    #[arg(
        long,
        default_value_t = 10_000,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) samples: u64,
}
