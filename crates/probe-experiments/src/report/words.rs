//! Turning values, statuses and reasons into words.

use super::data::{PersonFeature, Status, Value};
use crate::number::{self, MISSING};

/// A value of a feature with its unit.
pub(super) fn value(value: &Value, unit: Option<&str>) -> String {
    match value {
        Value::Number(v) => number::quantity(*v, unit),
        Value::Category(name) => name.clone(),
    }
}

/// A change in print: today's value, the recommended one, and the difference where there is one.
pub(super) struct Change {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) by: Option<String>,
    /// Upwards, downwards, or to another category.
    pub(super) upwards: Option<bool>,
}

/// A number with a true minus sign.
pub(super) fn typeset(number: &str) -> String {
    number.strip_prefix('-').map_or_else(|| number.to_owned(), |rest| format!("−{rest}"))
}

/// How the change of a feature is printed, without units.
pub(super) fn change(feature: &PersonFeature) -> Change {
    match (&feature.current, &feature.recommended) {
        (Value::Number(from), Value::Number(to)) => {
            let step = number::step(*from, *to);
            Change {
                from: step.from,
                to: step.to,
                by: Some(typeset(&step.by)),
                upwards: Some(to > from),
            }
        }
        (from, to) => {
            Change { from: value(from, None), to: value(to, None), by: None, upwards: None }
        }
    }
}

/// A status in plain words.
pub(super) fn status(status: Status) -> &'static str {
    match status {
        Status::Certified => "target met",
        Status::Found => "yes, target not confirmed",
        Status::None => "no recourse",
        Status::Favourable => "already a yes",
    }
}

/// A reason in plain words; unknown ones are printed as they are.
pub(super) fn reason(reason: &str) -> String {
    match reason {
        "no-admissible-move" => "none of the features that matter may be changed".to_owned(),
        "infeasible-within-bounds" => "the allowed ranges end before the model says yes".to_owned(),
        "rate-not-reachable" => {
            "the allowed ranges end before the answer is as safe as required".to_owned()
        }
        "budget-exhausted" => "no change within the budget is as safe as required".to_owned(),
        "rate-ignored" => {
            "the method only looks for a yes, and does not consider how often it fails".to_owned()
        }
        "not-found" => {
            "the search ended before it found one; another method or a schema with ranges may"
                .to_owned()
        }
        other => other.replace('-', " "),
    }
}

/// An optional number with three significant digits.
pub(super) fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| MISSING.to_owned(), |v| number::rounded(v, 3))
}

/// Something countable: `1 feature`, `3 features`.
pub(super) fn count(n: usize, singular: &str) -> String {
    let shown = number::fixed(n as f64, 0);
    if n == 1 { format!("{shown} {singular}") } else { format!("{shown} {singular}s") }
}

/// Changed features, the costliest first; ties in the order of the data.
pub(super) fn changed(features: &[PersonFeature]) -> Vec<&PersonFeature> {
    let mut changed: Vec<&PersonFeature> = features.iter().filter(|f| f.changed()).collect();
    let weight = |f: &PersonFeature| if f.cost_share.is_finite() { f.cost_share } else { 0.0 };
    changed.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_reasons_are_not_lost() {
        assert_eq!(reason("solver-went-home"), "solver went home");
        assert_eq!(count(1, "feature"), "1 feature");
        assert_eq!(count(1200, "feature"), "1,200 features");
        assert_eq!(optional(None), "n/a");
    }
}
