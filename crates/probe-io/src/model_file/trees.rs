//! `"kind": "trees"`: trees as arrays indexed by node, with the rule that all of them split by and
//! how leaves become a margin.
//!
//! Values that a node does not use are ignored and may be `null`: `feature` and `threshold` at a
//! leaf, `value` at a split.

use super::Kind;
use crate::error::{Error, Result};
use crate::json::Node;
use probe_core::Model;
use probe_core::model::{Aggregate, Tree, TreeRules, Trees};
use serde_json::{Map, Value, json};
use std::str::FromStr;
use std::sync::Arc;

pub(super) const KIND: Kind =
    Kind { name: "trees", fields: &["trees", "split", "aggregate", "base", "input"], read, write };

/// Arrays of a tree that every node has an entry of.
const ARRAYS: [&str; 5] = ["feature", "threshold", "left", "right", "value"];
const DEFAULT_LEFT: &str = "default_left";

fn read(root: &Node<'_>, n_features: usize, threshold: f64) -> Result<Arc<dyn Model>> {
    let rules = TreeRules {
        split: named(&root.need("split")?)?,
        aggregate: named(&root.need("aggregate")?)?,
        base: root.get("base")?.map_or(Ok(0.0), |node| node.number())?,
        single: root.get("input")?.map_or(Ok(false), |node| read_input(&node))?,
    };
    if let Some(node) =
        root.get("base")?.filter(|_| rules.base != 0.0 && rules.aggregate != Aggregate::Sum)
    {
        let rule = rules.aggregate.name();
        return Err(node.error(format!(
            "expected 0 with aggregate \"{rule}\" (only sums have a base), found {}",
            rules.base
        )));
    }
    let node = root.need("trees")?;
    let items = node.items()?;
    if items.is_empty() {
        return Err(node.error("expected at least one tree"));
    }
    let trees = items.iter().map(|item| read_tree(item, n_features)).collect::<Result<_>>()?;
    let model =
        Trees::new(n_features, trees, rules, threshold).map_err(|source| Error::Document {
            file: node.file().to_owned(),
            path: node.path().to_owned(),
            what: source.to_string(),
        })?;
    Ok(Arc::new(model))
}

/// A text that names something of the engine.
fn named<T: FromStr<Err = probe_core::Error>>(node: &Node<'_>) -> Result<T> {
    node.text()?.parse().map_err(|error: probe_core::Error| node.error(error.to_string()))
}

/// Whether values are rounded to `f32`.
fn read_input(node: &Node<'_>) -> Result<bool> {
    match node.text()? {
        "f64" => Ok(false),
        "f32" => Ok(true),
        other => Err(node.error(format!("unknown input '{other}' (known: f64, f32)"))),
    }
}

fn read_tree(node: &Node<'_>, n_features: usize) -> Result<Tree> {
    node.only(&[&ARRAYS[..], &[DEFAULT_LEFT]].concat())?;
    let (lefts, rights) = (node.need("left")?, node.need("right")?);
    let n = lefts.values()?.len();
    if n == 0 {
        return Err(lefts.error("expected at least one node"));
    }
    let (left, right) = (children(&lefts, n)?, children(&rights, n)?);
    let is_leaf = |i: usize| left[i] == -1;
    if let Some(i) = (0..n).find(|&i| is_leaf(i) != (right[i] == -1)) {
        let what = format!("node {i} has one child only: expected two, or -1 and -1 at a leaf");
        return Err(if is_leaf(i) { &lefts } else { &rights }.item(i).error(what));
    }
    check_parents(&lefts, &left, &rights, &right)?;
    let splits_on =
        |value: &Value, i: usize| match value.as_u64().filter(|&j| j < n_features as u64) {
            Some(j) => Some(j as usize),
            None => is_leaf(i).then(|| unused(value).map(|_| 0))?,
        };
    let feature = format!("a feature (a whole number from 0 to {})", n_features - 1);
    let finite = "a finite number";
    Ok(Tree {
        feature: each(&node.need("feature")?, n, &feature, splits_on)?,
        threshold: each(&node.need("threshold")?, n, finite, |value, i| {
            if is_leaf(i) { unused(value) } else { number(value) }
        })?,
        value: each(&node.need("value")?, n, finite, |value, i| {
            if is_leaf(i) { number(value) } else { unused(value) }
        })?,
        default_left: match node.get(DEFAULT_LEFT)? {
            None => Vec::new(),
            Some(sides) => each(&sides, n, "true or false", |value, _| value.as_bool())?,
        },
        left,
        right,
    })
}

/// One entry per node; `read` returns `None` for a value that is not `expected`.
fn each<T>(
    array: &Node<'_>,
    n: usize,
    expected: &str,
    read: impl Fn(&Value, usize) -> Option<T>,
) -> Result<Vec<T>> {
    let values = array.values()?;
    if values.len() != n {
        return Err(
            array.error(format!("expected {n} entries (one per node), found {}", values.len()))
        );
    }
    let entry = |(i, value)| read(value, i).ok_or_else(|| array.item(i).expected(expected));
    values.iter().enumerate().map(entry).collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}

/// An unused number; 0 for `null`.
fn unused(value: &Value) -> Option<f64> {
    if value.is_null() { Some(0.0) } else { number(value) }
}

/// Children by node: −1, or a node that is not the root.
fn children(array: &Node<'_>, n: usize) -> Result<Vec<i64>> {
    let expected = match n {
        1 => "-1, as the tree has one node".to_owned(),
        _ => format!("a node (a whole number from 1 to {}), or -1 at a leaf", n - 1),
    };
    let is_child = |child: &i64| *child == -1 || (*child > 0 && *child < n as i64);
    each(array, n, &expected, |value, _| value.as_i64().filter(is_child))
}

/// Fails if a node has two parents or if there is a cycle. Other nodes that the root does not reach
/// are allowed, because libraries that prune leave some behind.
fn check_parents(lefts: &Node<'_>, left: &[i64], rights: &Node<'_>, right: &[i64]) -> Result<()> {
    let mut parent: Vec<Option<usize>> = vec![None; left.len()];
    for i in 0..left.len() {
        for (array, child) in [(lefts, left[i]), (rights, right[i])] {
            let Some(slot) = usize::try_from(child).ok().and_then(|child| parent.get_mut(child))
            else {
                continue;
            };
            if let Some(first) = slot.replace(i) {
                let what =
                    format!("node {child} is a child of node {first} already: this is not a tree");
                return Err(array.item(i).error(what));
            }
        }
    }
    // Every node has at most one parent, so that nodes that cannot be reached from a node without a
    // parent are on a cycle or below one.
    let mut todo: Vec<usize> = (0..left.len()).filter(|&i| parent[i].is_none()).collect();
    let mut reached = vec![false; left.len()];
    while let Some(i) = todo.pop() {
        reached[i] = true;
        todo.extend(
            [left[i], right[i]].into_iter().filter_map(|child| usize::try_from(child).ok()),
        );
    }
    match (0..left.len()).find(|&i| !reached[i] && left[i] != -1) {
        Some(i) => Err(lefts.item(i).error(format!("node {i} is on a cycle: this is not a tree"))),
        None => Ok(()),
    }
}

fn write(model: &dyn Model) -> Option<Map<String, Value>> {
    let model = model.as_trees()?;
    let rules = model.rules();
    let trees: Vec<Value> = model.trees().iter().map(write_tree).collect();
    Some(Map::from_iter([
        ("split".to_owned(), json!(rules.split.name())),
        ("aggregate".to_owned(), json!(rules.aggregate.name())),
        ("base".to_owned(), json!(rules.base)),
        ("input".to_owned(), json!(if rules.single { "f32" } else { "f64" })),
        ("trees".to_owned(), json!(trees)),
    ]))
}

fn write_tree(tree: &Tree) -> Value {
    let mut value = json!({
        "feature": tree.feature,
        "threshold": tree.threshold,
        "left": tree.left,
        "right": tree.right,
        "value": tree.value,
    });
    if let Some(map) = value.as_object_mut().filter(|_| !tree.default_left.is_empty()) {
        map.insert(DEFAULT_LEFT.to_owned(), json!(tree.default_left));
    }
    value
}
