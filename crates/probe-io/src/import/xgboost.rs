//! XGBoost models, as `save_model` writes them: JSON and UBJSON, versions 1 to 3.
//!
//! A split is `x < condition` on `f32`; the margin is that of the base score plus the leaves (times
//! their weights, for `dart`). XGBoost adds in single precision, Probe in double, so margins differ
//! by rounding.

mod tree;

use super::{Format, Imported, ubjson};
use crate::content;
use crate::error::{Error, Result};
use crate::json::{self, Node};
use probe_core::model::{Aggregate, Split, TreeRules, Trees};
use probe_core::{Linear, Model};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const JSON: Format = Format { name: "XGBoost", is: is_json, read: read_json };
pub(super) const UBJSON: Format = Format { name: "XGBoost", is: is_ubjson, read: read_ubjson };
/// The format before JSON, which is not documented.
pub(super) const BINARY: Format = Format { name: "XGBoost", is: is_binary, read: refuse_binary };

/// Versions whose files are known.
const MAJOR: std::ops::RangeInclusive<u64> = 1..=3;
/// Objectives whose margin is log-odds.
const OBJECTIVES: [&str; 3] = ["binary:logistic", "reg:logistic", RAW];
/// The one whose base score is a margin itself.
const RAW: &str = "binary:logitraw";
/// Limit on the number of features without names in the file. Each gets a name, which takes memory
/// that does not depend on the size of the file.
const MOST_UNNAMED: usize = 1_000_000;

fn is_json(bytes: &[u8]) -> bool {
    content::first_key(bytes, &[b"learner", b"format"]).is_some_and(|(key, _)| key == b"learner")
}

/// After the brace, UBJSON has a letter (the marker of a length), and JSON has not.
fn is_ubjson(bytes: &[u8]) -> bool {
    matches!(bytes, [b'{', b'i' | b'U' | b'I' | b'l' | b'L' | b'#' | b'$', ..])
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"binf")
}

fn read_json(bytes: &[u8], origin: &str) -> Result<Imported> {
    read(&json::parse(&numbers_as_text(content::without_mark(bytes)), origin)?, origin)
}

/// XGBoost writes `NaN` and `Infinity`, which JSON does not have, where a split needs no number.
/// Here they become texts, as they do in UBJSON.
fn numbers_as_text(bytes: &[u8]) -> Cow<'_, [u8]> {
    const WORDS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];
    let (mut changed, mut copied, mut at) = (Vec::new(), 0, 0);
    let mut inside = false;
    while let Some(&byte) = bytes.get(at) {
        let word = WORDS.iter().find(|word| !inside && bytes[at..].starts_with(word));
        match (byte, word) {
            (_, Some(word)) => {
                changed.extend_from_slice(&bytes[copied..at]);
                changed.extend([b"\"", *word, b"\""].concat());
                at += word.len();
                copied = at;
                continue;
            }
            (b'"', _) => inside = !inside,
            (b'\\', _) if inside => at += 1,
            _ => {}
        }
        at += 1;
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    changed.extend_from_slice(&bytes[copied..]);
    Cow::Owned(changed)
}

fn read_ubjson(bytes: &[u8], origin: &str) -> Result<Imported> {
    read(&ubjson::parse(bytes, origin)?, origin)
}

fn refuse_binary(_: &[u8], origin: &str) -> Result<Imported> {
    Err(Error::file(
        origin,
        "XGBoost's old binary format, which is not read: \
         load it with the version that wrote it and save it as model.json or model.ubj",
    ))
}

fn read(value: &Value, origin: &str) -> Result<Imported> {
    let root = Node::root(value, origin);
    let version = version_of(&root.need("version")?)?;
    let learner = root.need("learner")?;
    let objective = objective_of(&learner)?;
    let parameters = learner.need("learner_model_param")?;
    for (field, most) in [("num_class", 1), ("num_target", 1)] {
        if let Some(node) = parameters.get(field)? {
            let found = whole(&node)?;
            if found > most {
                return Err(node.error(format!("{found} outputs; models with one are read")));
            }
        }
    }
    let features = features_of(&learner, &parameters.need("num_feature")?)?;
    let base = base_margin(&parameters.need("base_score")?, objective)?;
    let booster = learner.need("gradient_booster")?;
    let name = booster.need("name")?;
    let kind = name.text()?;
    let (model, size): (Arc<dyn Model>, String) = match kind {
        "gbtree" | "dart" => {
            let (trees, size) = read_trees(&learner, &booster, kind == "dart", features.len())?;
            let rules =
                TreeRules { split: Split::Below, aggregate: Aggregate::Sum, base, single: true };
            let model = Trees::new(features.len(), trees, rules, 0.0);
            (Arc::new(model.map_err(|error| booster.error(error.to_string()))?), size)
        }
        "gblinear" => {
            let node = booster.need("model")?.need("weights")?;
            let mut weights = singles(&node, features.len() + 1, "feature, and the bias")?;
            let bias = weights.pop().unwrap_or(0.0);
            let model = Linear::new(weights, base + bias, 0.0);
            (Arc::new(model.map_err(|error| node.error(error.to_string()))?), "linear".to_owned())
        }
        other => {
            return Err(name.error(format!(
                "the booster '{other}' is not read (read are: gbtree, dart, gblinear)"
            )));
        }
    };
    let about = format!(
        "{version}, objective {objective}, booster {kind}, {size}, {} features",
        features.len()
    );
    Ok(Imported { features, model, schema: None, about })
}

fn version_of(node: &Node<'_>) -> Result<String> {
    let parts: Option<Vec<u64>> = node.values()?.iter().map(Value::as_u64).collect();
    match parts.as_deref() {
        Some([major, ..]) if MAJOR.contains(major) => {
            let parts = node.values()?.iter().map(Value::to_string);
            Ok(parts.collect::<Vec<_>>().join("."))
        }
        _ => {
            let (first, last) = (MAJOR.start(), MAJOR.end());
            Err(node.error(format!(
                "expected a version from {first} to {last}, found {}",
                node.value()
            )))
        }
    }
}

fn objective_of<'a>(learner: &Node<'a>) -> Result<&'a str> {
    let node = learner.need("objective")?.need("name")?;
    let name = node.text()?;
    if !OBJECTIVES.contains(&name) {
        let known = OBJECTIVES.join(", ");
        return Err(node.error(format!("the objective '{name}' is not read (read are: {known})")));
    }
    Ok(name)
}

fn features_of(learner: &Node<'_>, count: &Node<'_>) -> Result<Vec<String>> {
    let n = whole(count)?;
    let names = match learner.get("feature_names")? {
        Some(node) => node
            .items()?
            .iter()
            .map(|item| item.text().map(str::to_owned))
            .collect::<Result<Vec<_>>>()?,
        None => Vec::new(),
    };
    match names.len() {
        0 if n == 0 || n > MOST_UNNAMED => Err(count.error(format!(
            "expected 1 to {MOST_UNNAMED} features, where they have no names, found {n}"
        ))),
        0 => Ok((0..n).map(|j| format!("f{j}")).collect()),
        found if found == n => Ok(names),
        found => {
            let node = learner.need("feature_names")?;
            Err(node.error(format!("expected {n} names (num_feature), found {found}")))
        }
    }
}

/// The base score's part of the margin, in single precision as in XGBoost: with a base near
/// 1 the difference is felt.
fn base_margin(node: &Node<'_>, objective: &str) -> Result<f64> {
    let wrong = || node.expected("a number, as text or not, or one in brackets");
    let value = match node.value() {
        Value::String(text) => {
            let text = text.trim();
            let inside =
                text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
            inside.trim().parse().map_err(|_| wrong())?
        }
        Value::Array(items) => match items.as_slice() {
            [item] => item.as_f64().ok_or_else(wrong)? as f32,
            _ => return Err(wrong()),
        },
        other => other.as_f64().ok_or_else(wrong)? as f32,
    };
    let margin = if objective == RAW {
        value
    } else if value > 0.0 && value < 1.0 {
        -(f64::from(1.0 / value - 1.0).ln() as f32)
    } else {
        return Err(node.expected("a probability between 0 and 1"));
    };
    if margin.is_finite() { Ok(margin.into()) } else { Err(node.expected("a finite number")) }
}

/// The trees that the library predicts with, and how many they are.
fn read_trees(
    learner: &Node<'_>,
    booster: &Node<'_>,
    dart: bool,
    n_features: usize,
) -> Result<(Vec<probe_core::model::Tree>, String)> {
    let model =
        if dart { booster.need("gbtree")?.need("model")? } else { booster.need("model")? };
    let node = model.need("trees")?;
    let items = node.items()?;
    if let Some(groups) = model.get("tree_info")? {
        let is_one = |group: &Value| group.as_u64() == Some(0);
        if let Some(i) = groups.values()?.iter().position(|group| !is_one(group)) {
            return Err(groups
                .item(i)
                .error(format!("tree {i} is of another output than 0; models with one are read")));
        }
    }
    let weights = match dart {
        true => Some(singles(&booster.need("weight_drop")?, items.len(), "tree")?),
        false => None,
    };
    let kept = match best_iteration(learner)? {
        Some(best) => trees_up_to(&model, &best, items.len())?,
        None => items.len(),
    };
    let read = |(i, item): (usize, &Node<'_>)| {
        let weight = weights.as_ref().map_or(1.0, |weights| weights[i]);
        tree::read(item, i, n_features, weight)
    };
    let trees: Vec<_> = items[..kept].iter().enumerate().map(read).collect::<Result<_>>()?;
    if trees.is_empty() {
        return Err(node.error("expected at least one tree"));
    }
    let size = match items.len() {
        all if all == kept => format!("{all} trees"),
        all => {
            format!(
                "{kept} of {all} trees (up to the best iteration, \
                 as scikit-learn's interface predicts)"
            )
        }
    };
    Ok((trees, size))
}

/// The best iteration of early stopping, for files of the scikit-learn interface. That interface
/// predicts with the trees up to it; a `Booster` predicts with all trees.
fn best_iteration<'a>(learner: &Node<'a>) -> Result<Option<Node<'a>>> {
    match learner.get("attributes")? {
        Some(attributes) if attributes.get("scikit_learn")?.is_some() => {
            attributes.get("best_iteration")
        }
        _ => Ok(None),
    }
}

fn trees_up_to(model: &Node<'_>, best: &Node<'_>, n_trees: usize) -> Result<usize> {
    let iterations = whole(best)?.saturating_add(1);
    let trees = match model.get("iteration_indptr")? {
        Some(ends) => {
            ends.values()?.get(iterations).and_then(Value::as_u64).map(|end| end as usize)
        }
        None => {
            let each = whole(&model.need("gbtree_model_param")?.need("num_parallel_tree")?)?;
            iterations.checked_mul(each)
        }
    };
    trees.filter(|&trees| trees > 0 && trees <= n_trees).ok_or_else(|| {
        best.error(format!("the best iteration is not among those of the {n_trees} trees"))
    })
}

/// A whole number, as text or not.
fn whole(node: &Node<'_>) -> Result<usize> {
    let found = match node.value() {
        Value::String(text) => text.parse().ok(),
        other => other.as_u64().and_then(|value| usize::try_from(value).ok()),
    };
    found.ok_or_else(|| node.expected("a whole number"))
}

/// Numbers in single precision: text that was printed from it reads back to it.
fn singles(node: &Node<'_>, n: usize, each: &str) -> Result<Vec<f64>> {
    let mut values = node.numbers(n, each)?;
    for (i, value) in values.iter_mut().enumerate() {
        *value = f64::from(*value as f32);
        if !value.is_finite() {
            return Err(node.item(i).expected("a number in the range of single precision"));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests;
