//! Flags of a request, shared by the commands that compute with a model.

use super::values::{
    at_least_zero, bounds, finite, method, model_shift, names_in, noise_on, norm, positive, rate,
};
use clap::{Args, ValueEnum, ValueHint};
use probe_core::NoiseOn;
use probe_core::cost::NORMS;
use probe_core::invalidation::RATES;
use probe_service::Bounds;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Heading of the flags about sampled rates.
const ASSURANCE: &str = "If rates are sampled (networks, and noise without a closed form)";

/// The registered norms, for help.
static NORM_NAMES: LazyLock<String> = LazyLock::new(|| names_in(NORMS));
/// The estimators, for help.
static ESTIMATOR_NAMES: LazyLock<String> = LazyLock::new(|| format!("auto|{}", names_in(RATES)));

/// Flags of every command that computes with a model.
#[derive(Debug, Clone, Args)]
pub(crate) struct Ask {
    /// Model file: Probe's own (JSON), ONNX, XGBoost (JSON, UBJSON) or LightGBM (text).
    ///
    /// The format is detected from the content. Models of other libraries take raw values unless
    /// the schema says otherwise. A model that cannot be imported exactly is rejected with the
    /// reason. Use --favourable-class and --threshold or --threshold-prob for what their files do
    /// not contain.
    #[arg(value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) model: PathBuf,
    /// People (or points), one per row: CSV, JSON Lines, JSON or Parquet; - for standard input.
    ///
    /// A missing value (an empty cell or NaN, null in JSON and Parquet) is accepted if the model is
    /// of kind trees and every split on that feature has a default direction. It stays missing: it
    /// does not change and has no noise.
    #[arg(value_name = "PEOPLE", value_hint = ValueHint::FilePath)]
    pub(crate) people: PathBuf,
    #[command(flatten)]
    pub(crate) assume: Assume,
}

/// What is assumed about people, noise and the model.
#[derive(Debug, Clone, Args)]
pub(crate) struct Assume {
    /// Standard deviation of the noise on each feature, in scaled units.
    #[arg(
        long,
        value_parser = positive,
        allow_negative_numbers = true,
        value_name = "S",
        default_value_t = 0.1
    )]
    pub(crate) sigma: f64,
    /// Variance of the noise, instead of --sigma.
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
    /// SD is the standard deviation of each feature; features are independent; df is above 2.
    /// Effort noise has standard deviation √(SD² + rho²·change²) and mean a·change. A noise file
    /// has, by feature, mean and sd or covariance, or residuals; `probe noise fit` writes one.
    #[arg(long, value_name = "SPEC", conflicts_with_all = ["sigma", "sigma2"])]
    pub(crate) noise: Option<String>,
    /// Features that the noise acts on; default: all without a schema, mutable with one.
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
    /// Confidence of certificates: for each row, P(certified and true rate above r) is at most
    /// 1 − C. For `probe rate`, the confidence of its intervals. Exact rates need none.
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

/// Flags of the commands that search for recourse. `probe rate` has none of them.
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
    /// What a change costs: this norm of the weighted, scaled changes.
    #[arg(long, value_name = NORM_NAMES.as_str(), default_value = "l1", value_parser = norm)]
    pub(crate) cost: String,
    /// Bounds on every feature, in scaled units; none drops the bounds learned in training.
    #[arg(long, value_name = "LO,HI|none", allow_hyphen_values = true, value_parser = bounds)]
    pub(crate) bounds: Option<Bounds>,
    /// People outside the bounds must move inside. Otherwise changing nothing is always admissible.
    #[arg(long)]
    pub(crate) strict_bounds: bool,
    /// At most this many features may change.
    #[arg(long, value_name = "K")]
    pub(crate) max_changes: Option<usize>,
    /// Features that people would rather change: the search counts a tenth of their cost. The
    /// reported cost is not affected.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) prefer: Vec<String>,
    /// Features that people would rather not change: the search counts ten times their cost.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) avoid: Vec<String>,
    /// How to find recourse: probe, or a method to compare with. probe-gradient, probe-mc and
    /// probe-tree (which searches one tree that imitates the model) are the paper's own algorithms.
    /// wachter, growing-spheres, ar, ar-lime and dice only change the decision and ignore the rate.
    /// roar and arar are robust in other ways. If the rate of an answer is above r, its status is
    /// found.
    #[arg(long, default_value = "probe", value_name = "NAME", value_parser = method)]
    pub(crate) method: String,
    /// Setting of the method; repeatable. probe-gradient and probe-mc have preset, lambda1,
    /// lambda2, lambda3 (a list), loss (mse, bce or score-mse), target-score, loop (text or
    /// printed), keep (first or best), learning-rate and steps; probe-mc also tau or temperature,
    /// and samples. probe-tree has no loss, but depth (of the tree), copies (noisy copies of each
    /// row) and points (drawn if there are no reference rows). wachter: solver (auto, gradient,
    /// closed-form), loss, target-score, lambda, searches, kink (shortest, plain), learning-rate,
    /// steps. growing-spheres: radius, samples, layers, sparsify (yes, no). roar: epsilon, norm
    /// (linf, l2), lambda (a list), kink, learning-rate, steps, surrogate (lime, gradient),
    /// samples, spread. arar: epsilon, lambda (a list), kink, inner-steps, learning-rate, steps.
    /// ar: step. ar-lime: step, tries, samples, spread (a list). dice: count (answers per person),
    /// proximity, diversity, sparsity, learning-rate, steps. growing-spheres, ar, ar-lime, roar and
    /// arar also have version (paper, library): library searches as implemented in CARLA, with
    /// which the paper's numbers were computed.
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
    /// How thoroughly to search: quick is faster, thorough searches longer for cheaper answers.
    /// Work is counted and not timed, so that the same flags give the same answers.
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

/// Flags for sampled rates. Exact rates need none of them.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = ASSURANCE)]
pub(crate) struct Assurance {
    /// Share of r that the search aims at. Closer to 1, answers are cheaper but need more samples
    /// to certify, and the first attempt fails more often, which costs another search [default:
    /// depends on r, about 0.985 at 0.35 and 0.96 at 0.05].
    #[arg(long, value_name = "SHARE", value_parser = rate, allow_negative_numbers = true)]
    pub(crate) aim: Option<f64>,
    /// What --confidence covers: each row by itself, or all rows of the file together, by dividing
    /// 1 − C over them. The rows of a file are counted first.
    #[arg(
        long,
        value_name = "row|file",
        default_value = "row",
        value_enum,
        hide_possible_values = true
    )]
    pub(crate) confidence_scope: Scope,
    /// Number of rows for --confidence-scope file, instead of counting them: for standard input, or
    /// for a table that is processed in parts. More rows than this are an error.
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
    /// Good answers for most people.
    Normal,
    /// As cheap an answer as the search can find.
    Thorough,
}

/// Further flags of `probe recourse`, about the answers to each person.
#[derive(Debug, Clone, Args)]
pub(crate) struct Wishes {
    /// Spend at most this cost for the lowest rate, instead of reaching -r at the lowest cost.
    #[arg(long, value_name = "B", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) budget: Option<f64>,
    /// Number of alternatives for each person, cheapest first: each avoids a key change of the
    /// previous ones. Adds the column `option`; the reason of a missing alternative is
    /// no-other-way.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..=20)
    )]
    pub(crate) options: u16,
    /// Find answers that tolerate misses beyond the noise, reported as `tolerance` in JSON. The
    /// search aims at three quarters of r (or at --aim), which costs slightly more, and the
    /// certificate continues to a bound below r. For networks and trees under independent Gaussian
    /// noise; linear models have tolerances without it.
    #[arg(long, help_heading = ASSURANCE)]
    pub(crate) tolerance: bool,
    /// For people without an answer, also say what would help: for each single limit (a bound, a
    /// direction, a transition, the number of changes), how far it would have to be relaxed. The
    /// column `relaxation` has the smallest, `relaxations` in JSON all of them.
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

/// Flags of the estimator of rates.
#[derive(Debug, Clone, Args)]
pub(crate) struct Measure {
    /// Estimator. auto is exact if that is possible in reasonable time, else monte-carlo. exact is
    /// Theorem 2 of the paper, for trees under noise that is independent over features: the rate,
    /// or an interval that contains it for sure. closed-form is Theorem 1, exact for linear models
    /// under Gaussian noise. enumeration sums over the residuals of a noise file, exact for all
    /// models. line and monte-carlo-sobol need fewer draws. smoothed-monte-carlo is the paper's
    /// differentiable estimate, which is biased.
    #[arg(
        long,
        default_value = "auto",
        value_name = ESTIMATOR_NAMES.as_str()
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
