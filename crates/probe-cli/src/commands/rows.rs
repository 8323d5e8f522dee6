//! Answers as output rows: columns for tables, objects for JSON.

use crate::question::Question;
use anyhow::Result;
use probe_core::{Answer, Engine, Limit, Session, Slack};
use probe_io::{Cell, Chunk, Column};
use serde_json::{Map, Value, json};

/// Feature columns of `answers`, in the order of the input, where `row_of` says which row of the chunk an answer belongs to. What did not change keeps its
/// text.
pub(super) fn feature_columns<'c>(
    chunk: &'c Chunk,
    people: &[f64],
    answers: &[Answer],
    row_of: impl Fn(usize) -> usize,
) -> Vec<Column<'c>> {
    let n = chunk.plan().n_features();
    let cell = |i: usize, j: usize| {
        let (row, value) = (row_of(i), answers[i].point[j]);
        if value == people[row * n + j] { chunk.unchanged(row, j, value) } else { Cell::Number(value) }
    };
    let column = |j: usize| Column::Floats((0..answers.len()).map(|i| cell(i, j)).collect());
    chunk.plan().features_in_file_order().into_iter().map(column).collect()
}

/// The fields that every JSON answer has, in the order of the table's columns.
pub(super) fn answer_object(answer: &Answer, person: &[f64], question: &Question) -> Map<String, Value> {
    let names = &question.setup.names;
    let by_name = |values: &[f64]| -> Map<String, Value> {
        names.iter().cloned().zip(values.iter().map(|&v| json!(v))).collect()
    };
    let mut changes = Map::new();
    for (j, name) in names.iter().enumerate().filter(|&(j, _)| answer.point[j] != person[j]) {
        let mut change =
            json!({ "from": person[j], "to": answer.point[j], "delta": answer.point[j] - person[j] });
        let unit = question.schema.as_ref().and_then(|s| s.feature(name)).and_then(|f| f.unit.as_deref());
        if let (Some(unit), Some(change)) = (unit, change.as_object_mut()) {
            change.insert("unit".to_owned(), json!(unit));
        }
        changes.insert(name.clone(), change);
    }
    let mut object = Map::new();
    object.insert("status".to_owned(), json!(answer.status.as_str()));
    object.insert("reason".to_owned(), json!(answer.reason.map(probe_core::Reason::code)));
    object.insert("cost".to_owned(), json!(answer.cost));
    object.insert("rate".to_owned(), json!(answer.rate));
    object.insert("rate_upper".to_owned(), json!(answer.rate_upper));
    object.insert("best_rate".to_owned(), json!(answer.best_rate));
    object.insert("changed".to_owned(), json!(answer.changed));
    object.insert("outside_range".to_owned(), json!(answer.outside_range));
    object.insert("from".to_owned(), Value::Object(by_name(person)));
    object.insert("to".to_owned(), Value::Object(by_name(&answer.point)));
    object.insert("changes".to_owned(), Value::Object(changes));
    object
}

const NOTHING_TO_SPARE: &str =
    "none beyond the noise itself: the rate is certified to be at most r, and no lower";

/// How far the advice may be missed, by feature name; null where there is no advice.
pub(super) fn tolerance_value(engine: &Engine, person: &[f64], answer: &Answer) -> Result<Value> {
    let Some(tolerance) = engine.tolerance(person, answer)? else { return Ok(Value::Null) };
    let names = &engine.setup().names;
    let slacks = |slacks: &[Slack]| -> Value {
        let entry = |s: &Slack| {
            let side = s.harmful.as_str();
            (names[s.feature].clone(), json!({ "harmful": side, "alone": s.alone, "jointly": s.jointly }))
        };
        Value::Object(slacks.iter().map(entry).collect())
    };
    if engine.setup().model.as_linear().is_none() {
        // The bound of a certificate often is the target itself, and a list of zeros would look like a finding.
        return Ok(if tolerance.at_target.is_empty() {
            json!({ "at_target_rate": null, "note": NOTHING_TO_SPARE })
        } else {
            json!({ "at_target_rate": slacks(&tolerance.at_target) })
        });
    }
    Ok(json!({
        "at_target_rate": slacks(&tolerance.at_target),
        "still_favourable": slacks(&tolerance.favourable),
    }))
}

/// What stands in the way, by feature name; null where nothing does.
pub(super) fn shortfall_value(
    session: &mut Session<'_>,
    names: &[String],
    person: &[f64],
    answer: &Answer,
) -> Result<Value> {
    let Some(shortfall) = session.shortfall(person, answer)? else { return Ok(Value::Null) };
    let limits: Map<String, Value> = shortfall
        .limits
        .iter()
        .filter(|(_, limit)| *limit != Limit::NoEffect)
        .map(|(j, limit)| (names[*j].clone(), json!(limit_words(limit))))
        .collect();
    Ok(json!({ "score": shortfall.score, "score_needed": shortfall.needed, "limits": limits }))
}

/// A limit in words.
pub(super) fn limit_words(limit: &Limit) -> String {
    match limit {
        Limit::Immutable => "may not change".to_owned(),
        Limit::Direction => "may not move in the direction that helps".to_owned(),
        Limit::AtMost(value) => format!("at most {value}"),
        Limit::AtLeast(value) => format!("at least {value}"),
        Limit::MaxChanges => "unused: only so many features may change".to_owned(),
        _ => "has no effect".to_owned(),
    }
}

/// Adds the id columns of `row`.
pub(super) fn add_ids(object: &mut Map<String, Value>, chunk: &Chunk, row: usize) -> Result<()> {
    for k in 0..chunk.plan().n_ids() {
        object.insert(chunk.plan().id(k).to_owned(), chunk.id(row, k)?.to_json());
    }
    Ok(())
}
