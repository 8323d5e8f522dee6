//! Flags of `probe train`.

use super::values::{activation, activations, at_least_zero, part, positive, share};
use clap::{Args, ValueEnum, ValueHint};
use probe_core::Activation;
use probe_io::Format;
use std::path::PathBuf;

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
/// Features are scaled to [0, 1] by their range in training; scale and range are kept in the model
/// file, so that people can be given in their own units.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  probe train credit.csv --target approved --schema schema.toml -o model.json
  probe train credit.csv --schema schema.toml --favourable yes --immutable housing --l2 0.1 \
      -o fixed.json
  probe train credit.csv --schema schema.toml --kind mlp --hidden 50 --epochs 100 -o network.json
  probe train credit.csv --schema schema.toml --kind mlp --batch 512 --lr 0.002 --patience 0 \
      -o network.json
  probe train credit.csv --schema schema.toml --kind forest --trees 200 --depth 8 --balanced \
      -o forest.json
  probe train credit.csv --schema schema.toml --kind boosted --trees 300 --depth 3 --lr 0.05 \
      -o boosted.json")]
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
    /// Schema file (TOML or JSON) with units, bounds, directions and costs; default: every column
    /// is a number without limits.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) schema: Option<PathBuf>,
    /// Features that nobody can change.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) immutable: Vec<String>,
    /// Columns to leave out.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub(crate) drop: Vec<String>,
    /// Strength of the squared penalty on the weights, or on the leaves of boosted trees; default:
    /// 1 for linear and boosted, 0 for mlp.
    #[arg(long, value_name = "L", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) l2: Option<f64>,
    /// Weight both classes equally.
    #[arg(long)]
    pub(crate) balanced: bool,
    /// scikit-learn's name for --balanced: balanced, or none.
    #[arg(
        long,
        value_enum,
        value_name = "none|balanced",
        hide_possible_values = true,
        conflicts_with = "balanced"
    )]
    pub(crate) class_weight: Option<ClassWeight>,
    /// Share of the rows kept for the test.
    #[arg(long, default_value_t = 0.2, value_name = "SHARE", value_parser = share)]
    pub(crate) test: f64,
    /// Format of DATA; default: by its extension.
    #[arg(long, value_name = "csv|json|jsonl|parquet")]
    pub(crate) format: Option<Format>,
    /// Model file to write.
    #[arg(long, short, value_name = "MODEL", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    // Last, as all groups with a heading: it stands above whatever follows.
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) trees: TreeArgs,
}

/// Settings of networks.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --kind mlp")]
pub(crate) struct NetworkArgs {
    /// Units of each hidden layer [default: 50].
    #[arg(long, value_delimiter = ',', value_name = "N,N,…")]
    pub(crate) hidden: Option<Vec<usize>>,
    // The help lists all activations.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = activation,
        help = format!("Activation between the layers: {} [default: relu]", activations())
    )]
    pub(crate) activation: Option<Activation>,
    /// Outputs: 2 softmax logits, as in the paper, or 1 margin [default: 2].
    #[arg(long, value_name = "1|2", value_parser = clap::value_parser!(u8).range(1..=2))]
    pub(crate) outputs: Option<u8>,
    /// Most passes over the data [default: 50].
    #[arg(long, value_name = "N")]
    pub(crate) epochs: Option<usize>,
    /// Rows per step [default: 128].
    #[arg(long, value_name = "N")]
    pub(crate) batch: Option<usize>,
    /// Learning rate of Adam [default: 0.001], or of boosting [default: 0.1].
    #[arg(
        long,
        visible_alias = "learning-rate",
        value_name = "RATE",
        value_parser = positive,
        allow_negative_numbers = true
    )]
    pub(crate) lr: Option<f64>,
    /// Stop after this many epochs without improvement on held-out rows; 0 holds no rows out
    /// [default: 10].
    #[arg(long, value_name = "N")]
    pub(crate) patience: Option<usize>,
}

/// Settings of tree ensembles.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --kind forest or boosted")]
pub(crate) struct TreeArgs {
    /// Number of trees [default: 100].
    #[arg(long, value_name = "N")]
    pub(crate) trees: Option<usize>,
    /// Most splits between root and leaf [default: 6 for forest, 4 for boosted].
    #[arg(long, visible_alias = "max-depth", value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// forest: least number of rows in a leaf [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) min_leaf: Option<usize>,
    /// forest: features drawn for each split [default: the square root of their number].
    #[arg(long, value_name = "N")]
    pub(crate) split_features: Option<usize>,
    /// forest: grow every tree on all rows, instead of rows drawn with replacement.
    #[arg(long)]
    pub(crate) no_bootstrap: bool,
    /// boosted: least curvature of the loss in a leaf [default: 1].
    #[arg(long, value_name = "W", value_parser = at_least_zero, allow_negative_numbers = true)]
    pub(crate) min_child_weight: Option<f64>,
    /// boosted: share of the rows drawn for each tree [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub(crate) rows: Option<f64>,
    /// boosted: share of the features drawn for each tree [default: 1].
    #[arg(long, value_name = "SHARE", value_parser = part)]
    pub(crate) columns: Option<f64>,
    /// boosted: most bins per feature [default: 256].
    #[arg(long, value_name = "N")]
    pub(crate) bins: Option<usize>,
}
