//! One tree: arrays by node. Children are −1 at a leaf, whose value then stands in the place of the
//! condition.

use super::super::grown::{Part, grow};
use super::{singles, whole};
use crate::error::Result;
use crate::json::Node;
use probe_core::model::Tree;
use serde_json::Value;

/// Tree `number`, its leaves times `weight`.
pub(super) fn read(node: &Node<'_>, number: usize, n_features: usize, weight: f64) -> Result<Tree> {
    refuse_others(node, number)?;
    let lefts = node.need("left_children")?;
    let n = lefts.values()?.len();
    if n == 0 {
        return Err(lefts.error("expected at least one node"));
    }
    let left = Children::read(lefts, n)?;
    let right = Children::read(node.need("right_children")?, n)?;
    let features = node.need("split_indices")?;
    let sides = node.need("default_left")?;
    for array in [&features, &sides] {
        let found = array.values()?.len();
        if found != n {
            return Err(array.error(format!("expected {n} entries (one per node), found {found}")));
        }
    }
    let conditions = singles(&node.need("split_conditions")?, n, "node")?;
    let part = |i: usize| {
        let (left, right) = match (left.of(i)?, right.of(i)?) {
            (Some(left), Some(right)) => (left, right),
            // A product of two singles is exact.
            (None, None) => return Ok(Part::Leaf(weight * conditions[i])),
            _ => {
                return Err(node.error(format!(
                    "node {i} has one child only: expected two, or -1 and -1 at a leaf"
                )));
            }
        };
        let feature = features.values()?[i].as_u64().filter(|&j| j < n_features as u64);
        let default_left = match &sides.values()?[i] {
            Value::Bool(side) => Some(*side),
            other => other.as_u64().filter(|&side| side <= 1).map(|side| side == 1),
        };
        Ok(Part::Split {
            feature: feature.ok_or_else(|| {
                features
                    .item(i)
                    .expected(&format!("a feature (a whole number from 0 to {})", n_features - 1))
            })? as usize,
            threshold: conditions[i],
            left,
            right,
            default_left: default_left.ok_or_else(|| sides.item(i).expected("0 or 1"))?,
        })
    };
    grow(n, part, |i| node.error(format!("two ways lead to node {i}: this is not a tree")))
}

/// Fails on splits that are not numeric, and on leaves of several values.
fn refuse_others(node: &Node<'_>, number: usize) -> Result<()> {
    let categories = || format!("tree {number} splits on categories, which is not read");
    if let Some(types) = node.get("split_type")?
        && let Some(i) = types.values()?.iter().position(|kind| kind.as_u64() != Some(0))
    {
        return Err(types.item(i).error(categories()));
    }
    if let Some(sets) = node.get("categories")?
        && !sets.values()?.is_empty()
    {
        return Err(sets.error(categories()));
    }
    if let Some(size) = node.need("tree_param")?.get("size_leaf_vector")? {
        let found = whole(&size)?;
        if found > 1 {
            return Err(size.error(format!(
                "tree {number} has leaves of {found} values; leaves of one are read"
            )));
        }
    }
    Ok(())
}

/// Children on one side, by node.
struct Children<'a> {
    array: Node<'a>,
    values: &'a [Value],
}

impl<'a> Children<'a> {
    fn read(array: Node<'a>, n: usize) -> Result<Self> {
        let values = array.values()?;
        if values.len() != n {
            return Err(
                array.error(format!("expected {n} entries (one per node), found {}", values.len()))
            );
        }
        Ok(Self { array, values })
    }

    /// The child of node `i`; `None` at a leaf.
    fn of(&self, i: usize) -> Result<Option<usize>> {
        match self.values[i].as_i64() {
            Some(-1) => Ok(None),
            Some(child) if child > 0 && (child as u64) < self.values.len() as u64 => {
                Ok(Some(child as usize))
            }
            _ => {
                let last = self.values.len() - 1;
                Err(self.array.item(i).expected(&format!("a node (1 to {last}), or -1 at a leaf")))
            }
        }
    }
}
