//! Missing values: which features may have them, and the reduced trees if some are missing.

use super::{Node, Tree, Trees};

impl Trees {
    /// Whether every split on `feature` has a default direction for missing values.
    pub fn takes_missing(&self, feature: usize) -> bool {
        self.takes_missing[feature]
    }

    /// For each feature, whether every split on it has a default direction.
    pub(super) fn places_for_missing(n_features: usize, nodes: &[Node]) -> Vec<bool> {
        let mut takes = vec![true; n_features];
        for node in
            nodes.iter().filter(|node| node.left != node.right && node.default_left.is_none())
        {
            takes[node.feature as usize] = false;
        }
        takes
    }

    /// The trees as they act on people whose features marked `missing` are missing: every split on
    /// one of these features is replaced by the branch that a missing value takes. The score is the
    /// same, to the bit, and no longer depends on these features. A split without a default
    /// direction sends them right, as [`Trees::score`](crate::Model::score) does; see
    /// [`Trees::takes_missing`].
    pub fn without(&self, missing: &[bool]) -> Self {
        let (mut trees, mut nodes, mut roots) = (Vec::new(), Vec::new(), Vec::new());
        for (tree, &root) in self.trees.iter().zip(&self.roots) {
            let first = nodes.len();
            roots.push(first as u32);
            let mut kept = Tree::default();
            // Nodes to come, each with its parent's number and whether it is the left child.
            let mut todo = vec![(root, None)];
            while let Some((at, parent)) = todo.pop() {
                let at = self.settled(at, missing);
                let (mut node, own) = (self.nodes[at as usize], (at - root) as usize);
                let number = kept.push_leaf(tree.value[own]);
                kept.threshold[number] = tree.threshold[own];
                kept.feature[number] = tree.feature[own];
                kept.default_left.extend(tree.default_left.get(own));
                if let Some((parent, is_left)) = parent {
                    let (children, node): (&mut Vec<i64>, &mut Node) = (
                        if is_left { &mut kept.left } else { &mut kept.right },
                        &mut nodes[first + parent],
                    );
                    children[parent] = number as i64;
                    *(if is_left { &mut node.left } else { &mut node.right }) =
                        (first + number) as u32;
                }
                if node.left != node.right {
                    todo.push((node.right, Some((number, false))));
                    todo.push((node.left, Some((number, true))));
                }
                (node.left, node.right) = ((first + number) as u32, (first + number) as u32);
                nodes.push(node);
            }
            trees.push(kept);
        }
        let takes_missing = Self::places_for_missing(self.n_features, &nodes);
        Self { trees, nodes, roots, takes_missing, ..*self }
    }

    /// The first node from `at` downwards that does not split on a missing feature.
    fn settled(&self, mut at: u32, missing: &[bool]) -> u32 {
        loop {
            let node = &self.nodes[at as usize];
            if node.left == node.right || !missing[node.feature as usize] {
                return at;
            }
            at = if Self::goes_left(node, f64::NAN) { node.left } else { node.right };
        }
    }
}
