//! The schema of a data set, as in schema files and model files.

use super::actions::{Actions, Direction, FeatureLimits, Grid};
use super::relation::Relation;
use super::space::Space;
use crate::error::{Error, Result, require};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// What the model was trained on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelInput {
    /// Scaled columns.
    #[default]
    Scaled,
    /// The raw columns.
    Raw,
}

/// The kind of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A number.
    #[default]
    Numeric,
    /// A whole number. Its step is 1 unless another one is given.
    Integer,
    /// One of some categories.
    Categorical,
}

/// How a category is encoded as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// One column per category: 1 for the person's own category, else 0. One category may have no
    /// column; all columns are then 0.
    #[default]
    Onehot,
    /// One column: 0 for the first, 1 for the second.
    Binary,
    /// One column: 0, 1, 2 and so on, in the order given.
    Ordinal,
}

/// One feature, in raw units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Feature {
    /// Column name in the raw data.
    pub name: String,
    /// A number, a whole number or a category.
    pub kind: Kind,
    /// Whether the person can change it.
    pub mutable: bool,
    /// Lowest value a recourse may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Highest value a recourse may ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// Range seen in training. It bounds the recourse if `min` or `max` is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Answers are multiples of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// The direction in which it may move; for ordered categories, along the order.
    pub direction: Direction,
    /// Cost of one unit of scaled change.
    pub cost: f64,
    /// Cost of increases, if it differs from `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_up: Option<f64>,
    /// Cost of decreases, if it differs from `cost`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_down: Option<f64>,
    /// Raw values that are mapped to 0 and to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 2]>,
    /// Raw value mapped to 0 (with `scale_by`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub center: Option<f64>,
    /// Raw units per scaled unit (with `center`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_by: Option<f64>,
    /// Standard deviation of the noise, in raw units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// Unit, for texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// Names of the categories, as in the raw data.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// How the categories are encoded as numbers; one-hot unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<Coding>,
    /// Names of the model's columns: one per category for one-hot, else one. `name=category` unless
    /// given, or the feature's own name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The categories that each category may change to. From a category that is not listed, all
    /// changes are allowed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub transitions: BTreeMap<String, Vec<String>>,
    /// The cost of each change of category. A change that is not listed has the cost of its
    /// columns.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub transition_costs: BTreeMap<String, BTreeMap<String, f64>>,
    /// Probability that the person fails to make a change of category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p_fail: Option<f64>,
}

impl Default for Feature {
    fn default() -> Self {
        Self {
            name: String::new(),
            kind: Kind::Numeric,
            mutable: true,
            min: None,
            max: None,
            range: None,
            step: None,
            direction: Direction::Any,
            cost: 1.0,
            cost_up: None,
            cost_down: None,
            scale: None,
            center: None,
            scale_by: None,
            noise: None,
            unit: None,
            categories: Vec::new(),
            encoding: None,
            columns: Vec::new(),
            transitions: BTreeMap::new(),
            transition_costs: BTreeMap::new(),
            p_fail: None,
        }
    }
}

impl Feature {
    /// A numeric feature with defaults.
    pub fn numeric(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Raw value at scaled 0, and raw units per scaled unit; `None` without a scale.
    pub fn offset_and_width(&self) -> Option<(f64, f64)> {
        match (self.scale, self.center, self.scale_by) {
            (Some([zero, one]), _, _) => Some((zero, one - zero)),
            (None, Some(center), Some(by)) => Some((center, by)),
            _ => None,
        }
    }

    /// Answers are multiples of this; `None` for any value.
    pub fn step(&self) -> Option<f64> {
        self.step.or((self.kind == Kind::Integer).then_some(1.0))
    }

    /// How the categories are encoded as numbers.
    pub fn coding(&self) -> Coding {
        self.encoding.unwrap_or_default()
    }

    /// Names of the model's columns for this feature, unless the model has others.
    pub fn column_names(&self) -> Vec<String> {
        match (self.kind, self.coding()) {
            _ if !self.columns.is_empty() => self.columns.clone(),
            (Kind::Categorical, Coding::Onehot) => {
                self.categories.iter().map(|category| format!("{}={category}", self.name)).collect()
            }
            _ => vec![self.name.clone()],
        }
    }

    /// Lowest and highest value a recourse may ask for. With `learned`, the range seen in training
    /// replaces missing bounds.
    pub fn bounds(&self, learned: bool) -> (Option<f64>, Option<f64>) {
        let range = if learned { self.range } else { None };
        (self.min.or(range.map(|r| r[0])), self.max.or(range.map(|r| r[1])))
    }

    fn check(&self) -> Result<()> {
        let field = |part: &str| format!("feature '{}': {part}", self.name);
        let finite = |part: &str, value: Option<f64>| {
            value.map_or(Ok(()), |v| require(v.is_finite(), &field(part), "finite", v))
        };
        let positive = |part: &str, value: Option<f64>| {
            value.map_or(Ok(()), |v| {
                require(v > 0.0 && v.is_finite(), &field(part), "positive and finite", v)
            })
        };
        finite("min", self.min)?;
        finite("max", self.max)?;
        finite("center", self.center)?;
        positive("scale_by", self.scale_by)?;
        positive("noise", self.noise)?;
        positive("step", self.step)?;
        positive("cost", Some(self.cost))?;
        positive("cost_up", self.cost_up)?;
        positive("cost_down", self.cost_down)?;
        if let (Some(min), Some(max)) = (self.min, self.max) {
            require(min <= max, &field("max"), "at least min", max)?;
        }
        if let Some([low, high]) = self.range {
            finite("range[0]", Some(low))?;
            require(
                high.is_finite() && low <= high,
                &field("range[1]"),
                "finite and at least range[0]",
                high,
            )?;
        }
        if let Some([zero, one]) = self.scale {
            finite("scale[0]", Some(zero))?;
            require(
                one.is_finite() && one > zero,
                &field("scale[1]"),
                "finite and above scale[0]",
                one,
            )?;
        }
        let both_or_none = self.center.is_some() == self.scale_by.is_some();
        if !both_or_none || (self.scale.is_some() && self.center.is_some()) {
            return Err(Error::Unsupported {
                what: field("this scale"),
                why: "give either scale = [zero, one], or both center and scale_by".to_owned(),
            });
        }
        self.check_categories(&field)
    }
}

/// A schema: the features of a data set, its target, and what the model takes as input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schema {
    /// Format version; 1.
    pub version: u32,
    /// Column to predict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The target's favourable value, as text.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text_or_number")]
    pub favourable: Option<String>,
    /// What the model was trained on; scaled columns if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_input: Option<ModelInput>,
    /// At most this many features may change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_changes: Option<usize>,
    /// The features.
    #[serde(rename = "feature")]
    pub features: Vec<Feature>,
    /// Relations between features.
    #[serde(default, rename = "relation", skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<Relation>,
}

/// The schema version this build reads and writes.
const VERSION: u32 = 1;

impl Schema {
    /// A schema of numeric features.
    pub fn new(features: Vec<Feature>) -> Self {
        Self {
            version: VERSION,
            target: None,
            favourable: None,
            model_input: None,
            max_changes: None,
            features,
            relations: Vec::new(),
        }
    }

    /// Fails on a wrong version, duplicate or empty names and values outside their domain, naming
    /// the feature.
    pub fn check(&self) -> Result<()> {
        require(self.version == VERSION, "schema version", "1", f64::from(self.version))?;
        for (i, feature) in self.features.iter().enumerate() {
            let duplicate = self.features[..i].iter().any(|f| f.name == feature.name);
            if feature.name.is_empty() || duplicate {
                let what = format!("feature {i} with the name '{}'", feature.name);
                let why =
                    if duplicate { "an earlier feature has that name" } else { "it needs a name" };
                return Err(Error::Unsupported { what, why: why.to_owned() });
            }
            feature.check()?;
        }
        self.relations.iter().try_for_each(|relation| relation.check(&self.features))
    }

    /// The feature called `name`.
    pub fn feature(&self, name: &str) -> Option<&Feature> {
        self.features.iter().find(|f| f.name == name)
    }

    /// The schema with its features in the order of `names`; features that are not named are
    /// dropped. Fails if a name has no feature.
    pub fn ordered(&self, names: &[String]) -> Result<Self> {
        let pick = |name: &String| {
            self.feature(name).cloned().ok_or_else(|| Error::UnknownName {
                kind: "feature",
                name: name.clone(),
                known: self.names().join(", "),
            })
        };
        Ok(Self { features: names.iter().map(pick).collect::<Result<_>>()?, ..self.clone() })
    }

    /// Feature names in order.
    pub fn names(&self) -> Vec<String> {
        self.features.iter().map(|f| f.name.clone()).collect()
    }

    /// The map between raw, scaled and model-input space.
    pub fn space(&self) -> Space {
        let (offset, width) =
            self.features.iter().map(|f| f.offset_and_width().unwrap_or((0.0, 1.0))).unzip();
        Space::new(offset, width, self.model_input.unwrap_or_default())
    }

    /// What may change, in scaled space. `learned_bounds`: whether the range seen in training
    /// bounds a feature that has no bound of its own.
    pub fn actions(&self, learned_bounds: bool) -> Actions {
        let limits = self.features.iter().map(|f| {
            let (offset, width) = f.offset_and_width().unwrap_or((0.0, 1.0));
            let (low, high) = f.bounds(learned_bounds);
            FeatureLimits {
                low: low.map_or(f64::NEG_INFINITY, |v| (v - offset) / width),
                high: high.map_or(f64::INFINITY, |v| (v - offset) / width),
                mutable: f.mutable,
                direction: f.direction,
            }
        });
        Actions::new(limits.collect())
    }

    /// Names of the model's columns: numbers first, then categories, each in order, unless the
    /// model itself names them.
    pub fn column_names(&self) -> Vec<String> {
        let of = |categories: bool| {
            self.features.iter().filter(move |f| (f.kind == Kind::Categorical) == categories)
        };
        of(false).chain(of(true)).flat_map(Feature::column_names).collect()
    }

    /// Whether some feature is a category.
    pub fn has_categories(&self) -> bool {
        self.features.iter().any(|f| f.kind == Kind::Categorical)
    }

    /// Steps of each feature, in scaled space.
    pub fn grids(&self) -> Vec<Option<Grid>> {
        let grid = |f: &Feature| {
            let (offset, width) = f.offset_and_width().unwrap_or((0.0, 1.0));
            f.step().map(|step| Grid { zero: -offset / width, step: step / width })
        };
        self.features.iter().map(grid).collect()
    }

    /// Costs per unit of scaled change, up and down.
    pub fn costs(&self) -> (Vec<f64>, Vec<f64>) {
        self.features
            .iter()
            .map(|f| (f.cost_up.unwrap_or(f.cost), f.cost_down.unwrap_or(f.cost)))
            .unzip()
    }

    /// Standard deviations in scaled space: each feature's own, else `sigma`.
    pub fn noise_sd(&self, sigma: f64) -> Vec<f64> {
        let sd = |f: &Feature| {
            f.noise.map_or(sigma, |n| n / f.offset_and_width().map_or(1.0, |(_, width)| width))
        };
        self.features.iter().map(sd).collect()
    }
}

/// Accepts `"yes"`, `1` and `true` alike.
fn text_or_number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<String>, D::Error> {
    use serde::de::Error as _;
    let value = Option::<serde_json::Value>::deserialize(deserializer)?;
    match value {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(text)) => Ok(Some(text)),
        Some(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => {
            Ok(Some(value.to_string()))
        }
        Some(other) => {
            Err(D::Error::custom(format!("favourable must be a text or a number, got {other}")))
        }
    }
}
