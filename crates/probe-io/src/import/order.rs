//! The columns of a model, their order, and the features behind them.

use super::columns::{Element, Source};
use probe_core::schema::{Coding, Kind};
use probe_core::{Encoding, Feature, ModelInput, Schema};
use std::collections::BTreeSet;

/// A raw feature.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    pub name: String,
    pub element: Element,
    /// Categories, once they are known, and their encoding.
    pub categories: Option<(Vec<String>, Coding)>,
}

/// Positions of input columns among those of the model.
pub(super) struct Order {
    /// By the number of the source; `None` for one that the model does not have.
    pub place: Vec<Option<usize>>,
    pub names: Vec<String>,
    /// Known properties other than names, if any.
    pub schema: Option<Schema>,
}

/// Why features do not form a model.
pub(super) enum Misfit {
    /// One of them, by its number.
    Input(usize, String),
    /// All of them together.
    Inputs(String),
    Core(probe_core::Error),
}

impl From<probe_core::Error> for Misfit {
    fn from(error: probe_core::Error) -> Self {
        Self::Core(error)
    }
}

impl Order {
    /// Features in the order of the inputs, a category's columns in their own order. The first
    /// `sources` are the numbers of all `raws`; `used` says of each source whether the model
    /// depends on it.
    pub(super) fn new(raws: &[Raw], sources: &[Source], used: &[bool]) -> Result<Self, Misfit> {
        let mut order = Self { place: vec![None; sources.len()], names: Vec::new(), schema: None };
        let mut columns_of = vec![Vec::new(); raws.len()];
        for (j, source) in sources.iter().enumerate() {
            if !matches!(source, Source::Number(_)) {
                columns_of[source.raw()].push(j);
            }
        }
        let mut features = Vec::new();
        for (raw, about) in raws.iter().enumerate() {
            let mut feature = Feature::numeric(&about.name);
            match &about.categories {
                Some((categories, coding)) => {
                    if used[raw] {
                        return Err(Misfit::Input(
                            raw,
                            "it is both a number and a category".to_owned(),
                        ));
                    }
                    feature.kind = Kind::Categorical;
                    feature.categories.clone_from(categories);
                    feature.encoding = Some(*coding);
                    for (k, &j) in columns_of[raw].iter().enumerate() {
                        order.place[j] = Some(order.names.len() + k);
                    }
                }
                None if about.element == Element::Text => {
                    if used[raw] {
                        return Err(Misfit::Input(raw, "a text is used as a number".to_owned()));
                    }
                    continue;
                }
                None => {
                    order.place[raw] = Some(order.names.len());
                    if about.element == Element::Whole {
                        feature.kind = Kind::Integer;
                    }
                }
            }
            order.names.extend(feature.column_names());
            features.push(feature);
        }
        let mut seen = BTreeSet::new();
        if let Some(name) = order.names.iter().find(|name| name.is_empty() || !seen.insert(*name)) {
            return Err(Misfit::Inputs(format!(
                "the feature name '{name}' is empty or given twice"
            )));
        }
        if !features.iter().all(|feature| feature.kind == Kind::Numeric) {
            let schema = Schema { model_input: Some(ModelInput::Raw), ..Schema::new(features) };
            schema.check()?;
            Encoding::new(&schema, &order.names)?;
            order.schema = Some(schema);
        }
        Ok(order)
    }
}
