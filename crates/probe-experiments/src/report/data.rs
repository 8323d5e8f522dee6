//! The data of a report. Plain data, filled in by the caller.

use super::batch::Batch;
use probe_core::NoiseOn;
pub use probe_core::Status;
use serde::{Deserialize, Serialize};

/// Everything in a report about one person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Heading of the page, for example the name of the data set.
    pub title: String,
    /// Who the report is about: an id, a row.
    pub person: String,
    /// The model that decides.
    pub model: ModelCard,
    /// What was asked for.
    pub settings: Settings,
    /// The person's features, in the order of the data.
    pub features: Vec<PersonFeature>,
    /// What was found.
    pub answer: Answer,
    /// Cost against invalidation rate.
    pub frontier: Option<Frontier>,
    /// Noisy implementations of the answer.
    pub cloud: Option<Cloud>,
    /// The same question for many people.
    pub batch: Option<Batch>,
    /// Other methods on the same question; no table where empty.
    pub methods: Vec<Method>,
    /// The same person scored by a network.
    #[serde(default)]
    pub network: Option<NetworkPart>,
    /// The letter to the person, as text.
    #[serde(default)]
    pub letter: Option<String>,
}

/// The same person scored by a network, next to the report's own model, and methods on that
/// network.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkPart {
    /// The answer under each model, the report's own model first.
    pub answers: Vec<ModelAnswer>,
    /// Number of people behind `methods`.
    pub n_people: usize,
    /// Methods on the network; no table where empty.
    pub methods: Vec<Method>,
}

/// What one model asks of the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The model, in a word.
    pub name: String,
    /// Its share of right decisions on rows it was not fitted on.
    pub accuracy: Option<f64>,
    /// How the search ended.
    pub status: Status,
    /// Cost in scaled space.
    pub cost: Option<f64>,
    /// Invalidation rate of the answer.
    pub rate: Option<f64>,
    /// Upper bound on it, where the rate was sampled.
    pub bound: Option<Bound>,
    /// The person's features with what this answer asks of each.
    pub features: Vec<PersonFeature>,
}

/// The model in a few numbers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelCard {
    /// Kind, as in the model file.
    pub kind: String,
    /// Number of model-input columns.
    pub n_features: usize,
    /// Rows it was fitted on, where known.
    pub n_train: Option<usize>,
    /// Rows the figures below are from.
    pub n_test: Option<usize>,
    /// Share of right decisions.
    pub accuracy: Option<f64>,
    /// Mean of the shares of right decisions in both classes.
    pub balanced_accuracy: Option<f64>,
    /// Area under the ROC curve.
    pub auc: Option<f64>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Target invalidation rate $r$.
    pub max_rate: f64,
    /// The noise in words, for example `gaussian`.
    pub noise: String,
    /// Standard deviation in scaled units, where it is one number.
    pub sigma: Option<f64>,
    /// Which features the noise acts on.
    pub noise_on: NoiseOn,
    /// Name of the cost.
    pub cost: String,
    /// Method that searched.
    pub method: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// Version of the engine.
    pub version: String,
}

/// A value in a person's own units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// The name of a category.
    Category(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

/// One feature of the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PersonFeature {
    /// Name, as in the data.
    pub name: String,
    /// Unit, for texts.
    pub unit: Option<String>,
    /// Whether the person can change it.
    pub mutable: bool,
    /// Today's value.
    pub current: Value,
    /// Recommended value; today's where nothing is to change.
    pub recommended: Value,
    /// Change in scaled units, with its sign.
    pub scaled_change: f64,
    /// Share of the total cost, 0 to 1.
    pub cost_share: f64,
    /// How far this feature alone may miss the recommended value, in the direction that hurts,
    /// before the yes becomes a no; raw units, all other features carried out exactly. Infinite
    /// where it can never do so alone, `None` where it is not known.
    pub tolerance: Option<f64>,
    /// Standard deviation of how far people miss, raw units; `None` where it is carried out
    /// exactly.
    pub noise_sd: Option<f64>,
}

impl PersonFeature {
    /// Whether the advice changes this feature.
    pub fn changed(&self) -> bool {
        self.current != self.recommended
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// How the search ended.
    pub status: Status,
    /// As in the output column `reason`; may be empty.
    pub reason: String,
    /// Whether the status is proven, as in the output column.
    #[serde(default)]
    pub proven: bool,
    /// Cost in scaled space.
    pub cost: Option<f64>,
    /// Invalidation rate of the answer.
    pub rate: Option<f64>,
    /// Upper bound on the rate, where the rate was sampled; `None` where it is exact.
    pub bound: Option<Bound>,
    /// Lowest rate that could be reached, where the target was missed.
    pub best_rate: Option<f64>,
    /// Model score today; yes above 0.
    pub score_before: f64,
    /// Model score at the recommendation, carried out exactly.
    pub score_after: Option<f64>,
}

/// An upper bound on a sampled rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// The bound.
    pub upper: f64,
    /// Probability that it holds, over the samples drawn.
    pub confidence: f64,
}

/// Cost against invalidation rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Frontier {
    /// Points that could be reached, in any order.
    pub points: Vec<FrontierPoint>,
    /// The answer of this report, as an index of `points`.
    pub chosen: Option<usize>,
    /// The cheapest point with a yes: what advice without robustness would say.
    pub cheapest_flip: Option<FrontierPoint>,
}

/// One answer on the frontier.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FrontierPoint {
    /// Rate that was asked for.
    pub target_rate: f64,
    /// Rate of the answer.
    pub rate: f64,
    /// Its cost.
    pub cost: f64,
    /// Number of changed features.
    pub changed: usize,
}

/// Noisy implementations of the answer, seen in two features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cloud {
    /// Horizontal feature: the most changed.
    pub x: CloudAxis,
    /// Vertical feature: the second most changed or, where only one changes, the most important
    /// other.
    pub y: CloudAxis,
    /// Correlation of the noise in the two features.
    pub correlation: f64,
    /// Where the model says yes in these two features, all others at their recommended values.
    pub region: Option<Region>,
    /// Draws, decided by the model on all features.
    pub samples: Vec<Sample>,
    /// Whether features that are not drawn are noisy, too. A draw may then seem to lie on the wrong
    /// side.
    pub others_noisy: bool,
}

/// One axis of the cloud, in raw units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CloudAxis {
    /// Feature name.
    pub name: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Today's value.
    pub person: f64,
    /// Recommended value; the best that could be reached where there is no recourse.
    pub centre: f64,
    /// Standard deviation of the noise; 0 where the feature is carried out exactly.
    pub sd: f64,
}

/// Where the model says yes, in the plane of two features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Region {
    /// Yes where `a x + b y > c`: linear models.
    HalfPlane {
        /// Factor of the horizontal feature.
        a: f64,
        /// Factor of the vertical feature.
        b: f64,
        /// Right-hand side.
        c: f64,
    },
    /// Decisions at the centres of equal cells: any model.
    Grid {
        /// Lowest and highest horizontal value.
        x: [f64; 2],
        /// Lowest and highest vertical value.
        y: [f64; 2],
        /// Number of cells in a row.
        columns: usize,
        /// Row after row from the lowest `y`, in each from the lowest `x`.
        accepted: Vec<bool>,
    },
}

/// One noisy implementation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Horizontal feature, raw units.
    pub x: f64,
    /// Vertical feature, raw units.
    pub y: f64,
    /// The model's decision on all features.
    pub accepted: bool,
}

/// One method in the comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// A short description.
    pub note: String,
    /// Share of people who got a yes when the advice is carried out exactly.
    pub accuracy: Option<f64>,
    /// Invalidation rate it reached.
    pub rate: Option<f64>,
    /// Its cost.
    pub cost: Option<f64>,
    /// Share of people whose answer was certified, where that was tested.
    #[serde(default)]
    pub certified: Option<f64>,
}
