//! Which schema is used with a model, and what the model's own schema adds to it.

use probe_core::schema::Kind;
use probe_core::{Feature, Schema};
use probe_io::ModelFile;
use std::collections::BTreeSet;

/// Which schema is used: units and rules of the features.
#[derive(Debug, Clone, Default)]
pub enum SchemaSource {
    /// The model's own, if it has one.
    #[default]
    Own,
    /// None, even if the model has one.
    Ignored,
    /// This one, completed by what the model's own schema has learned.
    Given(Schema),
}

impl SchemaSource {
    /// The schema to use with the model of `file`.
    pub(crate) fn with(self, file: &ModelFile) -> Option<Schema> {
        let given = match self {
            Self::Ignored => return None,
            Self::Own => None,
            Self::Given(mut schema) => {
                if let Some(own) = &file.schema {
                    learned_from(own, &mut schema);
                }
                Some(schema)
            }
        };
        file.schema_with(given)
    }
}

/// Properties of the model itself, which complete a schema: the scales and ranges that it was
/// trained with, unless the schema has its own, and its encoding of categories.
fn learned_from(own: &Schema, schema: &mut Schema) {
    for feature in &mut schema.features {
        let Some(learned) = own.feature(&feature.name) else { continue };
        if learned.kind == Kind::Categorical {
            coded_as(learned, feature);
            continue;
        }
        if feature.offset_and_width().is_none() {
            (feature.scale, feature.center, feature.scale_by) =
                (learned.scale, learned.center, learned.scale_by);
        }
        feature.range = feature.range.or(learned.range);
    }
}

/// Uses the model's encoding of a category, even if the data look like numbers. A different set of
/// categories is left as it is, and rejected later.
fn coded_as(learned: &Feature, feature: &mut Feature) {
    // Booleans are written in two ways.
    let plain = |text: &String| match text.as_str() {
        "True" => "true".to_owned(),
        "False" => "false".to_owned(),
        other => other.to_owned(),
    };
    let set = |categories: &[String]| categories.iter().map(plain).collect::<BTreeSet<_>>();
    if feature.kind == Kind::Categorical && set(&learned.categories) != set(&feature.categories) {
        return;
    }
    let own = |text: &String| {
        learned.categories.iter().find(|own| plain(own) == plain(text)).unwrap_or(text).clone()
    };
    feature.transitions = std::mem::take(&mut feature.transitions)
        .into_iter()
        .map(|(from, to)| (own(&from), to.iter().map(own).collect()))
        .collect();
    feature.transition_costs = std::mem::take(&mut feature.transition_costs)
        .into_iter()
        .map(|(from, to)| (own(&from), to.iter().map(|(to, cost)| (own(to), *cost)).collect()))
        .collect();
    if feature.kind != Kind::Categorical {
        let (name, mutable, unit) = (feature.name.clone(), feature.mutable, feature.unit.clone());
        *feature = Feature { name, kind: Kind::Categorical, mutable, unit, ..Feature::default() };
    }
    feature.categories.clone_from(&learned.categories);
    feature.columns.clone_from(&learned.columns);
    feature.encoding = learned.encoding;
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::Coding;

    fn category(name: &str, categories: &[&str], encoding: Coding) -> Feature {
        Feature {
            kind: Kind::Categorical,
            categories: categories.iter().map(|&text| text.to_owned()).collect(),
            encoding: Some(encoding),
            ..Feature::numeric(name)
        }
    }

    #[test]
    fn a_model_s_own_coding_goes_before_a_guess() {
        let own = Schema::new(vec![
            category("job", &["boss", "clerk"], Coding::Onehot),
            category("code", &["1", "2", "5"], Coding::Ordinal),
            category("town", &["A", "B"], Coding::Onehot),
        ]);
        let mut job = category("job", &["clerk", "boss"], Coding::Binary);
        job.transitions.insert("clerk".to_owned(), vec!["boss".to_owned()]);
        let code = Feature { mutable: false, scale: Some([1.0, 5.0]), ..Feature::numeric("code") };
        let mut given =
            Schema::new(vec![job.clone(), code, category("town", &["A", "C"], Coding::Binary)]);
        learned_from(&own, &mut given);
        let [job_now, code_now, town_now] = &given.features[..] else { panic!("three features") };
        assert_eq!(
            (&job_now.categories, job_now.encoding),
            (&own.features[0].categories, Some(Coding::Onehot))
        );
        assert_eq!(job_now.transitions, job.transitions);
        assert_eq!(
            (code_now.kind, code_now.mutable, code_now.scale),
            (Kind::Categorical, false, None)
        );
        assert_eq!(code_now.categories, own.features[1].categories);
        // Other categories are for the check of the schema to refuse.
        assert_eq!(town_now.categories, ["A", "C"]);
    }
}
