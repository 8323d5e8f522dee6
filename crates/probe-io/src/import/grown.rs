//! From nodes as a file lists them to a [`Tree`].

use crate::error::{Error, Result};
use probe_core::model::Tree;

/// A node of a file.
pub(super) enum Part {
    Leaf(f64),
    Split { feature: usize, threshold: f64, left: usize, right: usize, default_left: bool },
}

/// The tree below node 0 of `n`. Nodes that nothing leads to are left out: libraries that prune
/// leave some behind. Fails with `twice` on a node with two parents, which every cycle has.
pub(super) fn grow(
    n: usize,
    part: impl Fn(usize) -> Result<Part>,
    twice: impl Fn(usize) -> Error,
) -> Result<Tree> {
    let mut tree = Tree::default();
    let mut seen = vec![false; n];
    // Nodes to come, each with its parent and whether it is its left child.
    let mut todo: Vec<(usize, Option<(usize, bool)>)> = vec![(0, None)];
    while let Some((node, parent)) = todo.pop() {
        if seen.get_mut(node).is_none_or(|seen| std::mem::replace(seen, true)) {
            return Err(twice(node));
        }
        let part = part(node)?;
        let at = tree.push_leaf(if let Part::Leaf(value) = part { value } else { 0.0 });
        tree.default_left.push(false);
        if let Some((parent, is_left)) = parent {
            let children = if is_left { &mut tree.left } else { &mut tree.right };
            children[parent] = at as i64;
        }
        if let Part::Split { feature, threshold, left, right, default_left } = part {
            (tree.feature[at], tree.threshold[at], tree.default_left[at]) =
                (feature, threshold, default_left);
            todo.extend([(right, Some((at, false))), (left, Some((at, true)))]);
        }
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(left: usize, right: usize) -> Part {
        Part::Split { feature: 1, threshold: 0.5, left, right, default_left: true }
    }

    #[test]
    fn nodes_are_renumbered_and_what_nothing_leads_to_is_left_out() {
        // 0 → (3, 1); 1 → (4, 5); 2 leads into the tree and is not part of it.
        let part = |node| {
            Ok(match node {
                0 => split(3, 1),
                1 => split(4, 5),
                2 => split(3, 3),
                leaf => Part::Leaf(leaf as f64),
            })
        };
        let tree = grow(6, part, |_| unreachable!("a tree")).unwrap();
        assert_eq!(tree.left, [1, -1, 3, -1, -1]);
        assert_eq!(tree.right, [2, -1, 4, -1, -1]);
        assert_eq!(tree.value, [0.0, 3.0, 0.0, 4.0, 5.0]);
        assert_eq!(tree.default_left, [true, false, true, false, false]);
        assert_eq!((tree.feature[2], tree.threshold[2]), (1, 0.5));
    }

    #[test]
    fn a_node_with_two_ways_to_it_is_refused() {
        let error = |node: usize| Error::file("m", format!("node {node}"));
        for shape in [[0, 1], [1, 1], [1, 9]] {
            let part =
                |node| Ok(if node == 0 { split(shape[0], shape[1]) } else { Part::Leaf(1.0) });
            assert!(grow(2, part, error).is_err(), "{shape:?}");
        }
    }
}
