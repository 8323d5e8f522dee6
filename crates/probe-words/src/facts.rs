//! The facts that a letter may state about one answer. Every number of a letter is one of them.

use probe_core::Status;
use serde::Serialize;

/// A value of a feature, in the person's units.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A category by name.
    Category(String),
}

/// The side of the advice that a [`Leeway`] is on, and what it guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeewaySide {
    /// A lower value is still accepted, if everything else is exactly as advised.
    Below,
    /// A higher value is still accepted, if everything else is exactly as advised.
    Above,
    /// Aiming this far off on either side, for this feature alone, keeps the promised rate.
    Either,
}

/// How far a target may be missed, in the person's units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Leeway {
    /// On which side.
    pub side: LeewaySide,
    /// How far.
    pub by: f64,
    /// Whether `by` is a whole number of steps, which is printed without rounding.
    pub steps: bool,
}

/// One feature that the answer changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The feature's name in the data.
    pub feature: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Today's value.
    pub from: Value,
    /// The value to aim for, which is certified.
    pub to: Value,
    /// Cost of this change alone, in scaled space, without personal cost factors.
    pub cost: f64,
    /// Root mean square of the noise, if it acts on this feature.
    pub usual_miss: Option<f64>,
    /// How far the target may be missed, if that is proven.
    pub leeway: Option<Leeway>,
    /// Whether the person would still be accepted without this change if all others were exact. The
    /// change then only adds safety.
    pub spare: bool,
    /// Whether the new value is outside the range seen in training.
    pub outside: bool,
    /// Probability that the person fails to make the change, if that was taken into account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_fail: Option<f64>,
}

/// A feature that the answer does not change, but that the noise acts on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The feature's name in the data.
    pub feature: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Root mean square of the noise.
    pub usual_miss: f64,
}

/// The limit that prevents a feature from helping more.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// It may not change.
    Immutable,
    /// It may only move in the other direction.
    Direction,
    /// Its highest allowed value.
    AtMost(f64),
    /// Its lowest allowed value.
    AtLeast(f64),
    /// Only so many features may change.
    MaxChanges,
}

/// A feature and the limit that stops it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limited {
    /// The feature's name in the data.
    pub feature: String,
    /// Its unit.
    pub unit: Option<String>,
    /// The limit.
    pub stop: Stop,
}

/// A rule that would have to be relaxed for an answer to exist.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Relief {
    /// The feature's name in the data; `None` if the rule limits the number of changes.
    pub feature: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// The value that the feature would need.
    pub to: Value,
    /// For a number: whether it would have to rise (true) or fall (false).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upward: Option<bool>,
}

/// A relation between features of which at least one changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bond {
    /// Words of a rule about numbers, features by their names in the data: `total`, `=`, `wages`,
    /// `+`, `other`.
    Rule(Vec<String>),
    /// Features that move together.
    Together(Vec<String>),
}

/// How the principal reasons were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// By the advice: the score that is lost if one change is left out. Only changed features can
    /// be reasons.
    Advice,
    /// By comparison with approved people of the reference data: the mean gain in score if the
    /// person had their value of this feature. Any feature can be a reason.
    Reference,
}

/// The person to whom a letter is addressed.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Addressee {
    /// Row of the input, from 0.
    pub row: u64,
    /// Index of the answer, from 0, if people have several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<usize>,
    /// Id columns, names and values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<(String, String)>,
}

/// Everything that a letter may say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// The person to whom it is addressed.
    #[serde(flatten)]
    pub to: Addressee,
    /// Status of the answer.
    pub status: Status,
    /// The reason why the goal was missed, by its code.
    pub reason: Option<String>,
    /// The changes, the most expensive first.
    pub changes: Vec<Change>,
    /// Unchanged features that the noise acts on.
    pub drifts: Vec<Drift>,
    /// The share of attempts that may fail.
    pub max_rate: f64,
    /// The share of attempts that fail: exact or estimated.
    pub rate: f64,
    /// Upper bound on `rate`.
    pub rate_upper: f64,
    /// The lowest rate that was found, if the target was missed.
    pub best_rate: Option<f64>,
    /// Whether the rate of a certified answer is exact.
    pub exact: bool,
    /// Confidence of the bound, if the rate is not exact.
    pub confidence: f64,
    /// Features that are the principal reasons for the rejection, the most important first.
    pub reasons: Vec<String>,
    /// How the reasons were found.
    pub reasons_by: Basis,
    /// The limits that prevent an answer, if the goal was missed.
    pub limits: Vec<Limited>,
    /// Relaxations of limits that would help, if there is no answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relaxations: Vec<Relief>,
    /// Relations between features that the changes keep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bonds: Vec<Bond>,
    /// Whether a change of the model was taken into account.
    pub model_may_change: bool,
}
