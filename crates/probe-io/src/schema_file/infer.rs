//! A first schema from data, for a person to edit.

use crate::error::{Error, Result};
use crate::table::{Columns, Id, TableReader};
use probe_core::schema::Kind;
use probe_core::{Coding, Feature, Schema};
use std::collections::{BTreeMap, BTreeSet};

/// A column of texts with more distinct values than this is not a category.
const MOST_CATEGORIES: usize = 50;
/// Approximate number of steps from the lowest value to the highest.
const STEPS: f64 = 200.0;
/// Words in names of features that people cannot change, or must not be asked to change.
const FIXED: [&str; 22] = [
    "age",
    "birth",
    "born",
    "sex",
    "gender",
    "race",
    "ethnic",
    "nation",
    "country",
    "citizen",
    "religion",
    "marital",
    "married",
    "relationship",
    "husband",
    "disab",
    "pregnan",
    "orientation",
    "recid",
    "id",
    "foreign",
    "widow",
];

/// What was guessed, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Inferred {
    /// The schema.
    pub schema: Schema,
    /// Notes on what to check, one sentence each.
    pub notes: Vec<String>,
}

/// What the cells of one column hold.
#[derive(Debug, Clone)]
struct Cells {
    low: f64,
    high: f64,
    numbers: bool,
    whole: bool,
    missing: u64,
    /// Distinct texts and how often they occur, up to one more than a category may have.
    texts: BTreeMap<String, u64>,
}

impl Cells {
    fn new() -> Self {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        Self { low, high, numbers: true, whole: true, missing: 0, texts: BTreeMap::new() }
    }

    fn add(&mut self, text: &str) {
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => {
                (self.low, self.high) = (self.low.min(value), self.high.max(value));
                self.whole &= value.fract() == 0.0;
            }
            _ => self.numbers = false,
        }
        if self.texts.len() <= MOST_CATEGORIES {
            *self.texts.entry(text.to_owned()).or_default() += 1;
        }
    }
}

/// Guesses a schema from the columns of a table. Columns in `immutable` may not change, and neither
/// may columns whose names suggest that nobody can change them.
pub fn infer_schema(
    reader: TableReader,
    target: Option<&str>,
    immutable: &[String],
) -> Result<Inferred> {
    let file = reader.name().to_owned();
    let header = reader.header().to_vec();
    let wanted = Columns { ids: header.clone(), ignore_extra: true, ..Columns::default() };
    let mut columns = vec![Cells::new(); header.len()];
    let mut n_rows = 0_u64;
    for chunk in reader.select(&wanted)? {
        let chunk = chunk?;
        for row in 0..chunk.n_rows() {
            n_rows += 1;
            for (k, cells) in columns.iter_mut().enumerate() {
                match chunk.id(row, k)? {
                    id if id.is_missing() => cells.missing += 1,
                    Id::Text(text) => cells.add(text.trim_matches([' ', '\t'])),
                    other => cells.add(&other.to_json().to_string()),
                }
            }
        }
    }
    if n_rows == 0 {
        return Err(Error::file(&file, "no rows to learn a schema from"));
    }
    for name in immutable.iter().map(String::as_str).chain(target) {
        if !header.iter().any(|known| known == name) {
            return Err(Error::MissingColumn {
                file,
                column: name.to_owned(),
                hint: String::new(),
            });
        }
    }
    let (mut features, mut notes) = (Vec::new(), Vec::new());
    for (name, cells) in header.iter().zip(&columns) {
        if target != Some(name) {
            features.extend(feature(name, cells, n_rows, immutable.contains(name), &mut notes));
        }
    }
    let mut schema = Schema::new(features);
    schema.target = target.map(str::to_owned);
    schema.favourable = target.and_then(|target| {
        let of = header.iter().position(|name| name == target)?;
        let known: BTreeSet<&str> = columns[of].texts.keys().map(String::as_str).collect();
        obvious_favourable(&known).map(str::to_owned)
    });
    if let (Some(target), None) = (target, &schema.favourable) {
        notes.push(format!("which value of '{target}' is favourable? set favourable"));
    }
    schema.check().map_err(|source| Error::Core { file, source })?;
    Ok(Inferred { schema, notes })
}

/// The value of a binary target that clearly means yes, if there is one.
pub fn obvious_favourable(values: &BTreeSet<&str>) -> Option<&'static str> {
    let obvious =
        ["1", "1.0", "yes", "Yes", "true", "True"].into_iter().find(|v| values.contains(v));
    obvious.filter(|_| values.len() == 2)
}

/// One column as a feature; `None` if it is of no use to a model.
fn feature(
    name: &str,
    cells: &Cells,
    n_rows: u64,
    fixed: bool,
    notes: &mut Vec<String>,
) -> Option<Feature> {
    let mut feature = Feature::numeric(name);
    if cells.missing > 0 {
        notes.push(format!("'{name}' is missing in {} of {n_rows} rows", cells.missing));
    }
    if cells.texts.is_empty() {
        notes.push(format!("'{name}' holds nothing and is left out"));
        return None;
    }
    let two_codes = cells.numbers
        && cells.texts.len() == 2
        && cells.texts.contains_key("0")
        && cells.texts.contains_key("1");
    if !cells.numbers || two_codes {
        if cells.texts.len() > MOST_CATEGORIES {
            notes.push(format!(
                "'{name}' holds more than {MOST_CATEGORIES} different texts and is left out"
            ));
            return None;
        }
        feature.kind = Kind::Categorical;
        feature.categories = cells.texts.keys().cloned().collect();
        feature.encoding = (feature.categories.len() == 2).then_some(Coding::Binary);
        if let Some((rare, n)) =
            cells.texts.iter().min_by_key(|(_, n)| **n).filter(|(_, n)| **n < 10)
        {
            notes
                .push(format!("'{name}': only {n} rows have '{rare}'; a model knows little of it"));
        }
    } else {
        if cells.whole {
            feature.kind = Kind::Integer;
        }
        (feature.min, feature.max) = (Some(cells.low), Some(cells.high));
        if cells.low == cells.high {
            notes.push(format!("'{name}' is always {}", cells.low));
            feature.mutable = false;
        } else {
            feature.scale = Some([cells.low, cells.high]);
            let step = round_step((cells.high - cells.low) / STEPS);
            feature.step = if cells.whole {
                Some(step.max(1.0)).filter(|step| *step > 1.0)
            } else {
                Some(step)
            };
            // A bound must be a multiple of the step.
            let step = feature.step().unwrap_or(1.0);
            feature.min = Some((cells.low / step).floor() * step);
            feature.max = Some((cells.high / step).ceil() * step);
        }
    }
    let suspect = looks_fixed(name);
    if suspect && !fixed {
        notes.push(format!("'{name}' sounds like something nobody can change: mutable = false"));
    }
    feature.mutable &= !(fixed || suspect);
    Some(feature)
}

/// 1, 2 or 5 times a power of ten, at most `step`.
fn round_step(step: f64) -> f64 {
    let power = step.log10().floor();
    let unit = 10f64.powf(power);
    let times = [5.0, 2.0, 1.0]
        .into_iter()
        .find(|times| times * unit <= step * (1.0 + 1e-9))
        .unwrap_or(1.0);
    // Exact tenths, hundredths and so on.
    if power < 0.0 { times / 10f64.powf(-power) } else { times * unit }
}

/// Whether the name contains such a word.
fn looks_fixed(name: &str) -> bool {
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| {
        FIXED.iter().any(|fixed| word == *fixed || (fixed.len() > 4 && word.starts_with(fixed)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round_numbers() {
        for (range, step) in
            [(0.0049, 0.002), (0.3, 0.2), (1.0, 1.0), (365.0, 200.0), (0.05, 0.05), (7.3, 5.0)]
        {
            assert_eq!(round_step(range), step, "{range}");
        }
    }

    #[test]
    fn names_of_what_nobody_changes() {
        for name in ["age", "Marital-Status", "native_country", "sex", "is_disabled"] {
            assert!(looks_fixed(name), "{name}");
        }
        for name in ["wage", "mortgage", "balance", "average_debt", "hours-per-week"] {
            assert!(!looks_fixed(name), "{name}");
        }
    }
}
