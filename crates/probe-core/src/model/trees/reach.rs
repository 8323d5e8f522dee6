//! Bounds on the score of an ensemble if features are within ranges.

use super::Trees;

/// The least and the greatest value of a feature.
type Range = (f64, f64);

impl Trees {
    /// An upper bound on the score if each feature is within its range, both ends included. Also
    /// whether the output of any tree varies there.
    pub(crate) fn most_within(&self, ranges: &[Range]) -> (f64, bool) {
        let mut varies = false;
        // Floating-point sums are monotone in each term, so that the bound needs no allowance for
        // rounding.
        let leaves = (0..self.roots.len()).map(|number| {
            let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
            self.for_each_leaf(number, ranges, &mut |_, says| {
                (least, most) = (least.min(says), most.max(says))
            });
            varies |= least < most;
            most
        });
        (self.aggregate(leaves), varies)
    }

    /// Visits the leaves of one tree that points within these ranges can reach, each with its part
    /// of the ranges and its value. Parts include both ends, so that a cut belongs to both of its
    /// sides.
    pub(crate) fn for_each_leaf(
        &self,
        number: usize,
        ranges: &[Range],
        visit: &mut dyn FnMut(&[Range], f64),
    ) {
        enum Step {
            Visit(u32),
            Set(usize, Range),
        }
        let mut ranges = ranges.to_vec();
        let mut todo = vec![Step::Visit(self.roots[number])];
        while let Some(step) = todo.pop() {
            let at = match step {
                Step::Visit(at) => at,
                Step::Set(j, range) => {
                    ranges[j] = range;
                    continue;
                }
            };
            let node = &self.nodes[at as usize];
            if node.left == at {
                visit(&ranges, node.adds);
                continue;
            }
            let j = node.feature as usize;
            let (low, high) = ranges[j];
            let (left, right) = (Self::goes_left(node, low), !Self::goes_left(node, high));
            todo.push(Step::Set(j, (low, high)));
            if right {
                todo.extend([Step::Visit(node.right), Step::Set(j, (low.max(node.cut), high))]);
            }
            if left {
                todo.extend([Step::Visit(node.left), Step::Set(j, (low, high.min(node.cut)))]);
            }
        }
    }
}
