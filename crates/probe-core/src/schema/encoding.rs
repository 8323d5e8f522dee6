//! Converts a person's features to the columns that a model takes, and back.

use super::feature::{Coding, Feature, Kind, Schema};
use super::group::Group;
use super::{Actions, Direction};
use crate::error::{Error, Result, require};

/// How a column is computed from the features.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Source {
    /// The number itself.
    Number(usize),
    /// 1 under this option of a feature, else 0.
    Option(usize, usize),
    /// The option's own number.
    Code(usize),
}

/// A person's features as a model's columns. In a row of features, a category is the index of its
/// option.
#[derive(Debug, Clone, PartialEq)]
pub struct Encoding {
    features: Vec<Feature>,
    sources: Vec<Source>,
    columns: Schema,
    /// For each feature its first column and, for a category, its group of columns.
    parts: Vec<(usize, Option<Group>)>,
}

impl Encoding {
    /// For a model with these column names. Fails if a column belongs to no feature of `schema`, or
    /// the columns cannot represent an option of a category.
    pub fn new(schema: &Schema, names: &[String]) -> Result<Self> {
        let mut features: Vec<&Feature> = Vec::new();
        let mut sources = Vec::with_capacity(names.len());
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let (feature, option) = find(schema, name)?;
            let k = match features.iter().position(|f| f.name == feature.name) {
                Some(k) => k,
                None => {
                    features.push(feature);
                    features.len() - 1
                }
            };
            sources.push(match (feature.kind, option) {
                (Kind::Categorical, Some(option)) => Source::Option(k, option),
                (Kind::Categorical, None) => Source::Code(k),
                _ => Source::Number(k),
            });
            columns.push(match feature.kind {
                Kind::Categorical => feature.as_column(name),
                _ => feature.clone(),
            });
        }
        let mut encoding = Self {
            features: features.into_iter().cloned().collect(),
            sources,
            columns: Schema { features: columns, ..schema.clone() },
            parts: Vec::new(),
        };
        let part = |k: usize| (encoding.first_column(k), encoding.group(k));
        encoding.parts = (0..encoding.features.len()).map(part).collect();
        encoding.check_distinct()?;
        Ok(encoding)
    }

    /// Every column is a numeric feature.
    pub fn identity(names: &[String]) -> Self {
        let features: Vec<Feature> = names.iter().map(|name| Feature::numeric(name)).collect();
        Self {
            sources: (0..names.len()).map(Source::Number).collect(),
            columns: Schema::new(features.clone()),
            features,
            parts: (0..names.len()).map(|j| (j, None)).collect(),
        }
    }

    /// The features, in the order of their first columns.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The columns as numeric features, in the model's order.
    pub fn columns(&self) -> &Schema {
        &self.columns
    }

    /// Whether every feature is one column.
    pub fn is_identity(&self) -> bool {
        self.sources.iter().enumerate().all(|(j, source)| *source == Source::Number(j))
    }

    /// The feature that column `j` belongs to.
    pub fn feature_of(&self, j: usize) -> usize {
        match self.sources[j] {
            Source::Number(k) | Source::Option(k, _) | Source::Code(k) => k,
        }
    }

    /// The columns of a row of features.
    pub fn encode_into(&self, row: &[f64], columns: &mut [f64]) {
        for (source, column) in self.sources.iter().zip(columns) {
            *column = match *source {
                Source::Number(k) | Source::Code(k) => row[k],
                Source::Option(k, option) => f64::from(u8::from(row[k] == option as f64)),
            };
        }
    }

    /// Feature `k` of a row with these columns; NaN for a category whose columns match no option.
    pub fn value(&self, k: usize, columns: &[f64]) -> f64 {
        match &self.parts[k] {
            (first, None) => columns[*first],
            (_, Some(group)) => group.option_of(columns).map_or(f64::NAN, |option| option as f64),
        }
    }

    /// The category of feature `k` in a row with these columns; `None` for a number.
    pub fn category(&self, k: usize, columns: &[f64]) -> Option<&str> {
        let option = self.parts[k].1.as_ref()?.option_of(columns)?;
        self.features[k].categories.get(option).map(String::as_str)
    }

    /// The row of features with these columns. Fails if the columns of a category match no option.
    pub fn decode_into(&self, columns: &[f64], row: &mut [f64]) -> Result<()> {
        for (k, feature) in self.features.iter().enumerate() {
            row[k] = self.value(k, columns);
            if self.parts[k].1.is_some() && row[k].is_nan() {
                return Err(Error::Unsupported {
                    what: format!("feature '{}' with these columns", feature.name),
                    why: "they match none of its categories".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Whether feature `k` is a category.
    pub fn is_category(&self, k: usize) -> bool {
        self.parts[k].1.is_some()
    }

    /// The first column of feature `k`.
    pub fn column_of(&self, k: usize) -> usize {
        self.parts[k].0
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.sources.len()
    }

    fn first_column(&self, k: usize) -> usize {
        (0..self.sources.len()).find(|&j| self.feature_of(j) == k).unwrap_or(0)
    }

    /// The columns of category `k`; `None` for a number.
    fn group(&self, k: usize) -> Option<Group> {
        let feature = &self.features[k];
        let n = feature.categories.len();
        let columns: Vec<usize> =
            (0..self.sources.len()).filter(|&j| self.feature_of(j) == k).collect();
        let group = match (feature.kind, self.sources[*columns.first()?]) {
            (Kind::Categorical, Source::Code(_)) => {
                Group::in_one_column(columns[0], &(0..n).map(|o| o as f64).collect::<Vec<_>>())
            }
            (Kind::Categorical, _) => {
                let hot = |j: usize, o: usize| self.sources[j] == Source::Option(k, o);
                let value = |j: usize, o: usize| if hot(j, o) { 1.0 } else { 0.0 };
                let option = |o: usize| columns.iter().map(|&j| value(j, o)).collect();
                Group::of_options(columns.clone(), (0..n).map(option).collect())
            }
            _ => return None,
        };
        Some(group)
    }

    /// The categories as groups of columns, with their allowed changes and costs.
    pub fn groups(&self) -> Vec<Group> {
        let group = |k: usize| {
            let feature = &self.features[k];
            let mut group = self.parts[k].1.clone()?.allowing(feature.allowed());
            if let Some(costs) = feature.transition_costs() {
                group = group.costing(costs);
            }
            Some(group.failing(feature.p_fail.unwrap_or(0.0)))
        };
        (0..self.features.len()).filter_map(group).collect()
    }

    /// What may change, in scaled space; see [`Schema::actions`].
    pub fn actions(&self, learned_bounds: bool) -> Result<Actions> {
        let actions = self
            .columns
            .actions(learned_bounds)
            .with_groups(self.groups())?
            .with_grids(self.columns.grids())?;
        let mut ties = Vec::new();
        for relation in &self.columns.relations {
            ties.extend(relation.ties(self)?);
        }
        Ok(actions.with_ties(ties).with_max_changes(self.columns.max_changes))
    }

    /// Fails if two categories of a feature have the same columns.
    fn check_distinct(&self) -> Result<()> {
        for (k, feature) in self.features.iter().enumerate() {
            let Some(group) = &self.parts[k].1 else { continue };
            for o in 0..group.n_options() {
                if (0..o).any(|p| group.values(p) == group.values(o)) {
                    return Err(Error::Unsupported {
                        what: format!(
                            "feature '{}', category '{}'",
                            feature.name, feature.categories[o]
                        ),
                        why: "the model has no column for it, nor for another one of the feature"
                            .to_owned(),
                    });
                }
            }
        }
        Ok(())
    }
}

/// The feature that column `name` belongs to and, for a one-hot column, the index of its option.
fn find<'s>(schema: &'s Schema, name: &str) -> Result<(&'s Feature, Option<usize>)> {
    if let Some(feature) = schema.feature(name) {
        let alone = feature.kind != Kind::Categorical || feature.coding() != Coding::Onehot;
        if alone {
            return Ok((feature, None));
        }
    }
    let mut exact = Vec::new();
    let mut loose = Vec::new();
    for feature in schema.features.iter().filter(|f| f.kind == Kind::Categorical) {
        match feature.coding() {
            Coding::Onehot => {
                for (option, category) in feature.categories.iter().enumerate() {
                    if feature.columns.get(option).map_or_else(
                        || format!("{}={category}", feature.name) == name,
                        |column| column == name,
                    ) {
                        exact.push((feature, Some(option)));
                    } else if feature.columns.is_empty()
                        && format!("{}_{category}", feature.name) == name
                    {
                        loose.push((feature, Some(option)));
                    }
                }
            }
            Coding::Binary | Coding::Ordinal => {
                if feature.columns.first().is_some_and(|column| column == name) {
                    exact.push((feature, None));
                }
            }
        }
    }
    match (&exact[..], &loose[..]) {
        ([one], _) | ([], [one]) => Ok(*one),
        ([], []) => Err(Error::UnknownName {
            kind: "feature",
            name: name.to_owned(),
            known: schema.names().join(", "),
        }),
        (several, more) => {
            let of: Vec<&str> =
                several.iter().chain(more.iter()).map(|(f, _)| f.name.as_str()).collect();
            Err(Error::Unsupported {
                what: format!("the model's column '{name}'"),
                why: format!(
                    "it could belong to {}; name the columns in the schema",
                    of.join(" or ")
                ),
            })
        }
    }
}

impl Feature {
    /// A category's column as a number.
    fn as_column(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            mutable: self.mutable,
            cost: self.cost,
            cost_up: self.cost_up,
            cost_down: self.cost_down,
            ..Self::default()
        }
    }

    /// `allowed[from][to]` by transitions and direction; empty if all changes are allowed.
    fn allowed(&self) -> Vec<Vec<bool>> {
        if self.transitions.is_empty() && self.direction == Direction::Any {
            return Vec::new();
        }
        let n = self.categories.len();
        let listed = |from: usize, to: usize| {
            let may = self.transitions.get(&self.categories[from]);
            may.is_none_or(|may| may.contains(&self.categories[to]))
        };
        let forward = |from: usize, to: usize| match self.direction {
            Direction::Any => true,
            Direction::Increase => to > from,
            Direction::Decrease => to < from,
        };
        (0..n)
            .map(|a| (0..n).map(|b| a == b || (listed(a, b) && forward(a, b))).collect())
            .collect()
    }

    /// `costs[from][to]`, `None` for costs that are not given. `None` if none is given.
    fn transition_costs(&self) -> Option<Vec<Vec<Option<f64>>>> {
        if self.transition_costs.is_empty() {
            return None;
        }
        let given = |from: &String, to: &String| self.transition_costs.get(from)?.get(to).copied();
        let row = |from: &String| self.categories.iter().map(|to| given(from, to)).collect();
        Some(self.categories.iter().map(row).collect())
    }

    /// The index of a category; `None` if the feature has no category of that name.
    pub fn option(&self, category: &str) -> Option<usize> {
        self.categories.iter().position(|known| known == category)
    }

    pub(super) fn check_categories(&self, field: &dyn Fn(&str) -> String) -> Result<()> {
        let refuse = |part: &str, why: &str| {
            Err(Error::Unsupported { what: field(part), why: why.to_owned() })
        };
        if self.kind != Kind::Categorical {
            let given = !self.categories.is_empty()
                || self.encoding.is_some()
                || !self.columns.is_empty()
                || !self.transitions.is_empty()
                || !self.transition_costs.is_empty()
                || self.p_fail.is_some();
            return if given {
                refuse(
                    "categories, transitions or p_fail",
                    "only a feature of kind categorical has any",
                )
            } else {
                Ok(())
            };
        }
        if self.categories.is_empty() {
            return refuse("categories", "a feature of kind categorical needs them");
        }
        for (o, category) in self.categories.iter().enumerate() {
            if self.categories[..o].contains(category) {
                return refuse(&format!("category '{category}'"), "it is given twice");
            }
        }
        let n = self.categories.len();
        if self.coding() == Coding::Binary && n != 2 {
            return refuse("encoding binary", &format!("it is for two categories; there are {n}"));
        }
        let wanted = if self.coding() == Coding::Onehot { n } else { 1 };
        if !self.columns.is_empty() && self.columns.len() != wanted {
            let why = format!(
                "{wanted} needed, one per category or one in all; {} given",
                self.columns.len()
            );
            return refuse("columns", &why);
        }
        if self.coding() == Coding::Onehot && self.direction != Direction::Any {
            return refuse(
                "direction",
                "categories have an order with encoding ordinal or binary only",
            );
        }
        let numbers = [self.min, self.max, self.center, self.scale_by, self.noise, self.step];
        if numbers.iter().any(Option::is_some) || self.scale.is_some() || self.range.is_some() {
            return refuse("min, max, step, scale or noise", "a category has none");
        }
        if let Some(p) = self.p_fail {
            require((0.0..1.0).contains(&p), &field("p_fail"), "at least 0 and below 1", p)?;
        }
        let known = |category: &String| match self.option(category) {
            Some(_) => Ok(()),
            None => Err(Error::UnknownName {
                kind: "category",
                name: category.clone(),
                known: format!("{} (feature '{}')", self.categories.join(", "), self.name),
            }),
        };
        for (from, to) in &self.transitions {
            std::iter::once(from).chain(to).try_for_each(known)?;
        }
        for (from, costs) in &self.transition_costs {
            known(from)?;
            for (to, cost) in costs {
                known(to)?;
                let part = format!("transition cost from '{from}' to '{to}'");
                require(
                    *cost > 0.0 && cost.is_finite(),
                    &field(&part),
                    "positive and finite",
                    *cost,
                )?;
            }
        }
        Ok(())
    }
}
