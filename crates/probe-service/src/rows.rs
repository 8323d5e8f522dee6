//! Answers as output rows: columns for tables, objects for JSON.

use crate::prepared::Prepared;
use crate::values;
use probe_core::{
    Answer, Encoding, Engine, Feature, Limit, Relaxation, Relaxed, Session, Setup, Slack, Tolerance,
};
use probe_io::{Cell, Chunk, Column};
use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Feature columns of `answers`, in the order of the input. `row_of` gives the row of the chunk
/// that an answer belongs to. Unchanged values keep their text.
pub(crate) fn feature_columns<'c>(
    chunk: &'c Chunk,
    people: &[f64],
    answers: &[Answer],
    steps: &[Option<f64>],
    row_of: impl Fn(usize) -> usize,
) -> Vec<Column<'c>> {
    let (plan, n) = (chunk.plan(), chunk.plan().n_columns());
    let number = |i: usize, k: usize, j: usize| {
        let (row, value) = (row_of(i), answers[i].point[j]);
        if same(value, people[row * n + j]) {
            chunk.unchanged(row, k, value)
        } else {
            printed_cell(value, steps[j])
        }
    };
    let category = |encoding: &'c Encoding, i: usize, k: usize| -> Cow<'c, str> {
        let row = row_of(i);
        let (from, to) = (&people[row * n..(row + 1) * n], &answers[i].point);
        let own =
            (encoding.value(k, from) == encoding.value(k, to)).then(|| chunk.category_text(row, k));
        own.flatten().unwrap_or_else(|| encoding.category(k, to).unwrap_or_default().into())
    };
    // Without input texts and without steps, numbers are written as they are.
    let mut plain = if chunk.has_texts() { Vec::new() } else { numbers(answers, n) };
    let column = |k: usize| {
        let j = plan.encoding().map_or(k, |encoding| encoding.column_of(k));
        match plan.encoding() {
            Some(encoding) if encoding.is_category(k) => {
                Column::texts((0..answers.len()).map(|i| category(encoding, i, k)))
            }
            _ if steps[j].is_none() && !plain.is_empty() => {
                Column::Numbers(std::mem::take(&mut plain[j]))
            }
            _ => Column::Floats((0..answers.len()).map(|i| number(i, k, j)).collect()),
        }
    };
    plan.features_in_file_order().into_iter().map(column).collect()
}

/// The points of the answers, column by column.
fn numbers(answers: &[Answer], n_columns: usize) -> Vec<Vec<f64>> {
    let mut columns: Vec<Vec<f64>> =
        (0..n_columns).map(|_| Vec::with_capacity(answers.len())).collect();
    for answer in answers {
        columns.iter_mut().zip(&answer.point).for_each(|(column, value)| column.push(*value));
    }
    columns
}

/// A value as it is printed: as a whole number if its steps are whole.
fn printed_cell(value: f64, step: Option<f64>) -> Cell<'static> {
    let whole =
        step.is_some_and(|step| step.fract() == 0.0) && value.fract() == 0.0 && value.abs() < 1e15;
    if whole { Cell::Whole(value as i64) } else { Cell::Number(value) }
}

/// Whether two values are the same. A missing value (NaN) equals a missing value.
fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// An answer as a JSON row, written field by field in the order of the table's columns.
pub(crate) struct AnswerRow<'a> {
    pub prepared: &'a Prepared,
    pub person: &'a [f64],
    pub answer: &'a Answer,
    pub row: u64,
    /// Index of the answer, if people have several.
    pub option: Option<usize>,
    /// The target rate, if there are several.
    pub target_rate: Option<f64>,
    /// The relaxations that would help, if they are asked for.
    pub relaxations: Option<&'a [Relaxation]>,
    /// Tolerance and shortfall, if they are part of the row.
    pub details: Option<(Option<ToleranceOf<'a>>, Value)>,
    pub ids: Ids<'a>,
}

/// Id columns of a row.
pub(crate) type Ids<'a> = Vec<(&'a str, Value)>;

impl Serialize for AnswerRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (answer, encoding) = (self.answer, &self.prepared.setup.encoding);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("row", &self.row)?;
        if let Some(option) = self.option {
            map.serialize_entry("option", &option)?;
        }
        if let Some(rate) = self.target_rate {
            map.serialize_entry("target_rate", &rate)?;
        }
        values::serialize_into(answer, &mut map)?;
        map.serialize_entry("from", &ByName(encoding, self.person))?;
        map.serialize_entry("to", &ByName(encoding, &answer.point))?;
        map.serialize_entry("changes", &Changes(self))?;
        if let Some((tolerance, shortfall)) = &self.details {
            map.serialize_entry("tolerance", tolerance)?;
            map.serialize_entry("shortfall", shortfall)?;
        }
        if let Some(relaxations) = self.relaxations {
            let setup = &self.prepared.setup;
            let all: Vec<Value> = relaxations.iter().map(|r| relaxed_value(setup, r)).collect();
            map.serialize_entry("relaxations", &all)?;
        }
        for (name, id) in &self.ids {
            map.serialize_entry(name, id)?;
        }
        map.end()
    }
}

/// Values by feature name.
struct ByName<'a>(&'a Encoding, &'a [f64]);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ByName(encoding, columns) = self;
        let entry = |(k, feature)| (name_of(feature), ValueOf::new(encoding, k, columns));
        serializer.collect_map(encoding.features().iter().enumerate().map(entry))
    }
}

/// A row's features by name.
pub(crate) fn by_name(prepared: &Prepared, columns: &[f64]) -> Value {
    json!(ByName(&prepared.setup.encoding, columns))
}

fn name_of(feature: &Feature) -> &str {
    &feature.name
}

/// A number, or a category by name.
#[derive(Serialize)]
#[serde(untagged)]
enum ValueOf<'a> {
    Number(f64),
    Category(&'a str),
}

impl<'a> ValueOf<'a> {
    fn new(encoding: &'a Encoding, k: usize, columns: &[f64]) -> Self {
        match encoding.category(k, columns) {
            Some(category) => Self::Category(category),
            None => Self::Number(encoding.value(k, columns)),
        }
    }
}

/// The changed features, by name.
struct Changes<'a>(&'a AnswerRow<'a>);

#[derive(Serialize)]
struct Change<'a> {
    from: ValueOf<'a>,
    to: ValueOf<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
}

impl Serialize for Changes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AnswerRow { prepared, person, answer, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        let encoding = &prepared.setup.encoding;
        for (k, feature) in encoding.features().iter().enumerate() {
            let (from, to) = (encoding.value(k, person), encoding.value(k, &answer.point));
            if !same(from, to) {
                let delta = (!encoding.is_category(k)).then_some(to - from);
                let value = |columns| ValueOf::new(encoding, k, columns);
                let (from, to) = (value(person), value(&answer.point));
                map.serialize_entry(
                    &feature.name,
                    &Change { from, to, delta, unit: feature.unit.as_deref() },
                )?;
            }
        }
        map.end()
    }
}

const NO_TOLERANCE: &str = "none beyond the noise itself: the rate is certified to be at most r, \
    and not lower; use --tolerance to tolerate more";

/// How far the advice may be missed, by feature name.
pub(crate) struct ToleranceOf<'a> {
    engine: &'a Engine,
    tolerance: Tolerance,
}

impl<'a> ToleranceOf<'a> {
    /// `None` if there is no advice, or no tolerance is known.
    pub(crate) fn new(
        engine: &'a Engine,
        person: &[f64],
        answer: &Answer,
    ) -> anyhow::Result<Option<Self>> {
        Ok(engine.tolerance(person, answer)?.map(|tolerance| Self { engine, tolerance }))
    }
}

impl Serialize for ToleranceOf<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (setup, tolerance) = (self.engine.setup(), &self.tolerance);
        let slacks = |slacks| Slacks(&setup.names, slacks);
        let mut map = serializer.serialize_map(None)?;
        if setup.model.as_linear().is_some() {
            map.serialize_entry("at_target_rate", &slacks(&tolerance.at_target))?;
            map.serialize_entry("still_favourable", &slacks(&tolerance.favourable))?;
        } else if tolerance.at_target.is_empty() {
            // The certified bound is often the target itself, which leaves no tolerance. A list of
            // zeros would look like a result.
            map.serialize_entry("at_target_rate", &())?;
            map.serialize_entry("note", NO_TOLERANCE)?;
        } else {
            map.serialize_entry("at_target_rate", &slacks(&tolerance.at_target))?;
        }
        map.end()
    }
}

struct Slacks<'a>(&'a [String], &'a [Slack]);

#[derive(Serialize)]
struct SlackOf {
    harmful: &'static str,
    alone: f64,
    jointly: f64,
}

impl Serialize for Slacks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let slack =
            |s: &Slack| SlackOf { harmful: s.harmful.as_str(), alone: s.alone, jointly: s.jointly };
        serializer.collect_map(self.1.iter().map(|s| (&self.0[s.feature], slack(s))))
    }
}

/// The limits that prevent an answer, by feature name; null if the target was met.
pub(crate) fn shortfall_value(
    session: &mut Session<'_>,
    encoding: &Encoding,
    person: &[f64],
    answer: &Answer,
) -> anyhow::Result<Value> {
    let Some(shortfall) = session.shortfall(person, answer)? else { return Ok(Value::Null) };
    let limits: Map<String, Value> = shortfall
        .limits
        .iter()
        .filter(|(_, limit)| *limit != Limit::NoEffect)
        .map(|(j, limit)| {
            (encoding.features()[encoding.feature_of(*j)].name.clone(), json!(limit_words(limit)))
        })
        .collect();
    Ok(json!({ "score": shortfall.score, "score_needed": shortfall.needed, "limits": limits }))
}

/// A limit in words.
pub fn limit_words(limit: &Limit) -> String {
    match limit {
        Limit::Immutable => "may not change".to_owned(),
        Limit::Direction => "may not move in the direction that helps".to_owned(),
        Limit::AtMost(value) => format!("at most {value}"),
        Limit::AtLeast(value) => format!("at least {value}"),
        Limit::MaxChanges => "unused: only so many features may change".to_owned(),
        _ => "has no effect".to_owned(),
    }
}

/// A relaxation as its kind of limit, the feature, and the value that the limit would need.
fn relaxed(setup: &Setup, relaxation: &Relaxation) -> (&'static str, Option<String>, Value) {
    let name =
        |j: usize| Some(setup.encoding.features()[setup.encoding.feature_of(j)].name.clone());
    match relaxation.limit {
        Relaxed::AtMost { column, needed } => ("at-most", name(column), json!(needed)),
        Relaxed::AtLeast { column, needed } => ("at-least", name(column), json!(needed)),
        Relaxed::Direction { column, needed } => ("direction", name(column), json!(needed)),
        Relaxed::Transition { group, option } => {
            let column = setup.actions.groups()[group].columns()[0];
            let feature = &setup.encoding.features()[setup.encoding.feature_of(column)];
            ("transition", name(column), json!(feature.categories[option]))
        }
        Relaxed::MaxChanges(most) => ("max-changes", None, json!(most)),
        _ => ("other", None, Value::Null),
    }
}

/// A relaxation as JSON.
fn relaxed_value(setup: &Setup, relaxation: &Relaxation) -> Value {
    let (limit, feature, needed) = relaxed(setup, relaxation);
    let to = ByName(&setup.encoding, &relaxation.point);
    json!({
        "limit": limit,
        "feature": feature,
        "needed": needed,
        "beyond": relaxation.beyond,
        "rate": relaxation.rate,
        "to": to,
    })
}

/// A relaxation in short, for a table.
pub(crate) fn relaxed_text(setup: &Setup, relaxation: &Relaxation) -> String {
    let (limit, feature, needed) = relaxed(setup, relaxation);
    let needed = needed.as_str().map_or_else(|| needed.to_string(), str::to_owned);
    let feature = feature.unwrap_or_default();
    match limit {
        "at-most" => format!("{feature} <= {needed}"),
        "at-least" => format!("{feature} >= {needed}"),
        "max-changes" => format!("max-changes = {needed}"),
        _ => format!("{feature} -> {needed}"),
    }
}

/// The id columns of `row`.
pub(crate) fn ids(chunk: &Chunk, row: usize) -> anyhow::Result<Ids<'_>> {
    (0..chunk.plan().n_ids())
        .map(|k| Ok((chunk.plan().id(k), chunk.id(row, k)?.to_json())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::{Activation, Dense, Mlp, Setup, Status};
    use std::sync::Arc;

    #[test]
    fn a_network_s_tolerance_in_json() {
        let layers = vec![
            Dense { weight: vec![2.0, 1.0, -2.0, -1.0], bias: vec![-2.0, 2.0] },
            Dense { weight: vec![1.0, -1.0], bias: vec![0.0] },
        ];
        let model = Arc::new(Mlp::new(layers, Activation::Relu, 0.0).unwrap());
        let mut setup = Setup::new(model, vec!["a".to_owned(), "b".to_owned()], None, 0.1).unwrap();
        setup.max_rate = 0.3;
        let engine = Engine::new(setup).unwrap();
        let mut answer = Answer::new(2);
        (answer.status, answer.changed, answer.point) = (Status::Certified, 1, vec![1.2, 0.0]);
        let mut json = |rate_upper: f64| {
            answer.rate_upper = rate_upper;
            serde_json::to_value(ToleranceOf::new(&engine, &[0.0, 0.0], &answer).unwrap()).unwrap()
        };
        // z of 0.1586552539 is 1, that of 0.3 is 0.5244005127: κ = 0.4755994873, of which one
        // feature may use 0.1 κ.
        let slack = json(0.158_655_253_931_457_05)["at_target_rate"]["a"].clone();
        assert!((slack["alone"].as_f64().unwrap() - 0.047_559_948_73).abs() < 1e-11, "{slack}");
        assert!(
            (slack["jointly"].as_f64().unwrap() * 2f64.sqrt() - 0.047_559_948_73).abs() < 1e-11
        );
        assert_eq!(slack["harmful"], "either");
        let none = json(0.3);
        assert_eq!(
            (&none["at_target_rate"], none["note"].as_str()),
            (&Value::Null, Some(NO_TOLERANCE))
        );
        assert_eq!(json(0.4), Value::Null);
    }
}
