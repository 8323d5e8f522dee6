//! What a letter may say about one answer, and nothing else: every number of a letter is one of
//! these.

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

/// Which side of the advice a [`Leeway`] is on, and what holds there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LeewaySide {
    /// A lower value is still a yes, if everything else is exactly as advised.
    Below,
    /// A higher value is still a yes, if everything else is exactly as advised.
    Above,
    /// Aiming so far off on either side, at this feature alone, keeps the promised rate.
    Either,
}

/// How far a target may be missed, in the person's units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Leeway {
    /// Where.
    pub side: LeewaySide,
    /// How far.
    pub by: f64,
    /// Whether that is a whole number of steps, and printed as it is.
    pub steps: bool,
}

/// One feature that the answer changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The feature's name in the data.
    pub feature: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Today.
    pub from: Value,
    /// What to aim for: the certified value.
    pub to: Value,
    /// Cost of this change by itself, in scaled space, as it is for everybody.
    pub cost: f64,
    /// Root mean square of how far people miss, where the noise acts on it.
    pub usual_miss: Option<f64>,
    /// How far it may be missed, where that is proven.
    pub leeway: Option<Leeway>,
    /// Whether the answer without this change, and otherwise exact, still is a yes: the change is
    /// there for safety.
    pub spare: bool,
    /// Whether the new value is outside the range seen in training.
    pub outside: bool,
    /// Probability that the person does not manage it, where that was allowed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_fail: Option<f64>,
}

/// A feature that stays as it is, but may drift.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The feature's name in the data.
    pub feature: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Root mean square of how far it drifts.
    pub usual_miss: f64,
}

/// What stops a feature from helping more.
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

/// A feature and what stops it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limited {
    /// The feature's name in the data.
    pub feature: String,
    /// Its unit.
    pub unit: Option<String>,
    /// What stops it.
    pub stop: Stop,
}

/// A rule that would have to give for there to be an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Relief {
    /// The feature's name in the data; none where it is the number of changes that is limited.
    pub feature: Option<String>,
    /// Its unit.
    pub unit: Option<String>,
    /// The value that it would need.
    pub to: Value,
    /// Whether a number would have to rise to it, or fall.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upward: Option<bool>,
}

/// A rule between features, some of which change.
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
    /// By what the advice is worth: the score that is lost if one change is left out. Names only
    /// what the advice changes.
    Advice,
    /// Against approved people of a reference: the mean gain in score if this feature alone were
    /// theirs. Names any feature.
    Reference,
}

/// Who a letter is to.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Addressee {
    /// Row of the input, from 0.
    pub row: u64,
    /// Which of the person's answers, from 0, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub option: Option<usize>,
    /// Id columns, names and values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<(String, String)>,
}

/// Everything that a letter may say.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Facts {
    /// Who it is to.
    #[serde(flatten)]
    pub to: Addressee,
    /// What became of the person.
    pub status: Status,
    /// Why, by its code, where the goal was missed.
    pub reason: Option<String>,
    /// What changes, the costliest first.
    pub changes: Vec<Change>,
    /// What stays but may drift.
    pub drifts: Vec<Drift>,
    /// The share of attempts that was allowed to fail.
    pub max_rate: f64,
    /// The share that fails, as far as is known.
    pub rate: f64,
    /// Upper bound on it.
    pub rate_upper: f64,
    /// The lowest share that could be reached, where the target was missed.
    pub best_rate: Option<f64>,
    /// Whether the rate of a certified answer is exact.
    pub exact: bool,
    /// Confidence of the bound, where it is not.
    pub confidence: f64,
    /// Principal reasons for the no: features, the weightiest first.
    pub reasons: Vec<String>,
    /// How they were found.
    pub reasons_by: Basis,
    /// The limits that prevent an answer, if the goal was missed.
    pub limits: Vec<Limited>,
    /// What would help, where there is no answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relaxations: Vec<Relief>,
    /// Rules between features that the changes keep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bonds: Vec<Bond>,
    /// Whether a change of the model was allowed for.
    pub model_may_change: bool,
}
