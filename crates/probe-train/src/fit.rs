//! From raw rows and a yes/no target to a model with its schema and an honest report.

use crate::design::check_finite;
use crate::error::{Error, Result, both_classes, same_length};
use crate::learner::Learner;
use crate::metrics::{Metrics, log_loss};
use crate::scaling::{for_model_input, learn, match_columns, scaled_rows};
use crate::split::{DEFAULT_TEST_SHARE, Split};
use probe_core::{Encoding, Error as CoreError, Feature, Model, Rows, Schema, Seed};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Raw rows, each with its target.
#[derive(Debug, Clone, Copy)]
pub struct Labelled<'a> {
    /// Column names.
    pub names: &'a [String],
    /// The features, in raw units.
    pub rows: Rows<'a>,
    /// Whether each row's target has the favourable value.
    pub favourable: &'a [bool],
    /// Name of the target column.
    pub target: &'a str,
    /// The favourable value, as text.
    pub favourable_value: &'a str,
}

/// Settings of [`fit_model`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FitParams {
    /// What to fit, and how.
    pub learner: Learner,
    /// Share of the rows kept for testing; 0 trains on all of them.
    pub test_share: f64,
}

impl Default for FitParams {
    fn default() -> Self {
        Self { learner: Learner::default(), test_share: DEFAULT_TEST_SHARE }
    }
}

/// A model, its schema, and its quality.
#[derive(Clone)]
#[non_exhaustive]
pub struct Trained {
    /// Log-odds of the favourable value; of a forest, its probability less one half. Its columns
    /// are those of [`Schema::column_names`].
    pub model: Arc<dyn Model>,
    /// The given schema, completed by target, scale and range seen in training.
    pub schema: Schema,
    /// Results of the training.
    pub report: TrainReport,
}

impl fmt::Debug for Trained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trained")
            .field("model", &self.model.name())
            .field("schema", &self.schema)
            .field("report", &self.report)
            .finish()
    }
}

/// Results of a training.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct TrainReport {
    /// Rows learned from.
    pub n_train: usize,
    /// Rows kept for testing.
    pub n_test: usize,
    /// Share of all rows that are favourable.
    pub share_favourable: f64,
    /// On the rows learned from.
    pub train: Metrics,
    /// On the rows kept for testing; `None` if there are none.
    pub test: Option<Metrics>,
    /// Newton steps of a regression, epochs of a network, trees.
    pub iterations: usize,
    /// Whether a regression converged; other kinds end by their own rules, which is always true.
    pub converged: bool,
}

/// Fits a model to `data`: by default a logistic regression.
///
/// The rows are split by `seed`, stratified by target. From the training rows alone come each
/// feature's range and, where `schema` has none, a min-max scale (width 1 for a constant column).
/// The model is fitted in scaled space; with `model_input = "raw"` its weights or cuts are then
/// turned into raw units. Everything else that `schema` says is kept, features stand in its order;
/// its target and favourable value are replaced by those of `data`. Without a schema every column
/// is a numeric feature that may change.
///
/// Fails on what the learner fails on ([`Logistic::fit`](crate::Logistic::fit),
/// [`MlpTrainer::fit`](crate::MlpTrainer::fit), [`ForestTrainer::fit`](crate::ForestTrainer::fit),
/// [`BoostedTrainer::fit`](crate::BoostedTrainer::fit)), on a schema that does not pass
/// [`Schema::check`] or whose features are not exactly the columns, and if the target is among the
/// columns.
pub fn fit_model(
    data: &Labelled<'_>,
    schema: Option<&Schema>,
    params: &FitParams,
    seed: Seed,
) -> Result<Trained> {
    params.learner.check()?;
    let n_yes = check(data)?;
    let mut schema = complete(data, schema)?;
    schema.check()?;
    let columns = match_columns(&schema, data.names)?;
    let split = Split::stratified(data.favourable, params.test_share, seed)?;

    let raw_train: Vec<f64> = split
        .train
        .iter()
        .flat_map(|&row| columns.iter().map(move |&c| data.rows.row(row)[c]))
        .collect();
    learn(&mut schema.features, Rows::new(&raw_train, columns.len())?)?;
    schema.check()?;

    let names = schema.column_names();
    let encoding = Encoding::new(&schema, &names)?;
    let places: Vec<usize> = encoding
        .features()
        .iter()
        .filter_map(|feature| data.names.iter().position(|name| *name == feature.name))
        .collect();
    let part = |which: &[usize]| {
        let favourable: Vec<bool> = which.iter().map(|&row| data.favourable[row]).collect();
        (scaled_rows(&encoding, data.rows, &places, which), favourable)
    };
    let (train, train_target) = part(&split.train);
    let (test, test_target) = part(&split.test);
    let fit = params.learner.fit(Rows::new(&train, names.len())?, &names, &train_target, seed)?;
    let judge = |scaled: &[f64], favourable: &[bool]| {
        let mut scores = vec![0.0; favourable.len()];
        fit.model.score_batch(Rows::new(scaled, names.len())?, &mut scores)?;
        let metrics = Metrics::of(&scores, favourable)?;
        if !matches!(params.learner, Learner::Forest(_)) {
            return Ok(metrics);
        }
        // A forest's score is its probability less one half; the loss is that of the log-odds.
        scores.iter_mut().for_each(|score| *score = log_odds(*score));
        Ok::<_, Error>(Metrics { log_loss: log_loss(&scores, favourable)?, ..metrics })
    };
    let report = TrainReport {
        n_train: split.train.len(),
        n_test: split.test.len(),
        share_favourable: n_yes as f64 / data.favourable.len() as f64,
        train: judge(&train, &train_target)?,
        test: if test_target.is_empty() { None } else { Some(judge(&test, &test_target)?) },
        iterations: fit.iterations,
        converged: fit.converged,
    };
    Ok(Trained { model: for_model_input(fit.model, encoding.columns())?, schema, report })
}

/// The log-odds of a probability less one half, which is kept 1e-15 away from 0 and 1.
fn log_odds(score: f64) -> f64 {
    2.0 * libm::atanh(2.0 * score.clamp(-0.5 + 1e-15, 0.5 - 1e-15))
}

/// Fails on data that cannot be trained on; returns the number of favourable rows.
fn check(data: &Labelled<'_>) -> Result<usize> {
    same_length("column names, one per column", data.rows.n_cols(), data.names.len())?;
    same_length("values of the target, one per row", data.rows.n_rows(), data.favourable.len())?;
    if data.names.iter().any(|name| name == data.target) {
        let what = format!("'{}' as a feature", data.target);
        return Err(CoreError::Unsupported { what, why: "it is the target".to_owned() }.into());
    }
    check_finite(data.rows, data.names)?;
    both_classes(data.favourable, "fit a model to")
}

/// The user's schema, or one of plain numeric columns, with the target filled in.
fn complete(data: &Labelled<'_>, schema: Option<&Schema>) -> Result<Schema> {
    let plain = Schema::new(data.names.iter().map(|name| Feature::numeric(name)).collect());
    // Also with a schema: column names must be unique.
    plain.check()?;
    Ok(Schema {
        target: Some(data.target.to_owned()),
        favourable: Some(data.favourable_value.to_owned()),
        ..schema.cloned().unwrap_or(plain)
    })
}

#[cfg(test)]
mod tests;
