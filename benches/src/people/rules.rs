//! The rules of a schema, checked once more on rows of text, by code that shares nothing with the
//! engine.

use anyhow::Result;
use serde_json::Value;
use std::collections::BTreeMap;

/// A row by column name.
pub(super) type Row = BTreeMap<String, String>;

fn number(row: &Row, name: &str) -> f64 {
    row.get(name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// Every rule that the move from one row to another breaks, in words. `most` is the limit on
/// changes.
pub(super) fn broken(schema: &Value, from: &Row, to: &Row) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let features = schema["feature"].as_array().map_or(&[][..], Vec::as_slice);
    let mut n_changed = 0;
    for feature in features {
        let name = feature["name"].as_str().unwrap_or_default();
        let (a, b) = (&from[name], &to[name]);
        if a == b {
            continue;
        }
        n_changed += 1;
        let mut breaks = |rule: &str| found.push(format!("{name}: {rule} ({a} to {b})"));
        if feature["mutable"] == false {
            breaks("may not change");
        }
        if feature["kind"] == "categorical" {
            let categories = feature["categories"].as_array().map_or(&[][..], Vec::as_slice);
            let place =
                |text: &String| categories.iter().position(|category| category == text.as_str());
            let (Some(was), Some(is)) = (place(a), place(b)) else {
                breaks("no category");
                continue;
            };
            if let Some(may) = feature["transitions"][a].as_array()
                && !may.iter().any(|category| category == b.as_str())
            {
                breaks("no such transition");
            }
            if feature["direction"] == "increase" && is < was {
                breaks("direction");
            }
            continue;
        }
        let (x, y) = (number(from, name), number(to, name));
        if !y.is_finite() {
            breaks("no number");
        }
        if feature["min"].as_f64().is_some_and(|min| y < min && y < x)
            || feature["max"].as_f64().is_some_and(|max| y > max && y > x)
        {
            breaks("bounds");
        }
        if (feature["direction"] == "increase" && y < x)
            || (feature["direction"] == "decrease" && y > x)
        {
            breaks("direction");
        }
        let step = feature["step"].as_f64().or((feature["kind"] == "integer").then_some(1.0));
        if step.is_some_and(|step| (y / step).fract() != 0.0) {
            breaks("step");
        }
    }
    if schema["max_changes"].as_u64().is_some_and(|most| n_changed > most) {
        found.push(format!("{n_changed} changes"));
    }
    Ok(found)
}

/// What may come of a row: probabilities, and rows in which some changed categories did not change.
pub(super) fn outcomes(schema: &Value, from: &Row, to: &Row) -> Vec<(f64, Row)> {
    let mut all = vec![(1.0, to.clone())];
    for feature in schema["feature"].as_array().map_or(&[][..], Vec::as_slice) {
        let name = feature["name"].as_str().unwrap_or_default();
        let p = feature["p_fail"].as_f64().unwrap_or(0.0);
        if p == 0.0 || from[name] == to[name] {
            continue;
        }
        for i in 0..all.len() {
            let (chance, mut row) = all[i].clone();
            row.insert(name.to_owned(), from[name].clone());
            all[i].0 = chance * (1.0 - p);
            all.push((chance * p, row));
        }
    }
    all
}
