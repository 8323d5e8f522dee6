//! The rate of a single tree (Theorem 2 of the paper): the sum of the masses of the rejected
//! leaves, each a product over features. Also its derivatives.

use super::marginal::{End, Marginals};
use crate::model::Trees;

/// The interval of a noisy feature on the path to a node, with the feature's density at both ends.
#[derive(Debug, Clone, Copy)]
struct Interval {
    cuts: [f64; 2],
    ends: [End; 2],
    density: [f64; 2],
    mass: f64,
    /// Number of splits on this feature along the path.
    splits: u32,
}

impl Interval {
    const WHOLE: Self = Self {
        cuts: [f64::NEG_INFINITY, f64::INFINITY],
        ends: [End::LOWEST, End::HIGHEST],
        density: [0.0; 2],
        mass: 1.0,
        splits: 0,
    };
}

enum Step {
    Visit(u32),
    /// Set the feature's interval to that on the right of a split.
    Narrow(u32, Interval),
    /// Set the feature's interval back to that above the split.
    Restore(u32, Interval),
}

/// Buffers for a walk through one tree.
#[derive(Default)]
pub(super) struct Walk {
    steps: Vec<Step>,
    intervals: Vec<Interval>,
    /// Features with splits on the path.
    path: Vec<u32>,
    before: Vec<f64>,
}

impl Walk {
    /// The mass of the rejected leaves of the first tree of `model`. Fills `gradient` with its
    /// derivatives with respect to the point.
    pub(super) fn refused(
        &mut self,
        model: &Trees,
        features: &Marginals<'_>,
        mut gradient: Option<&mut [f64]>,
    ) -> f64 {
        if let Some(gradient) = gradient.as_deref_mut() {
            gradient.fill(0.0);
        }
        self.intervals.clear();
        self.intervals.resize(features.n_features(), Interval::WHOLE);
        self.path.clear();
        self.steps.clear();
        self.steps.push(Step::Visit(model.roots()[0]));
        let mut total = 0.0;
        while let Some(step) = self.steps.pop() {
            match step {
                Step::Visit(at) => {
                    let leaf = self.descend(model, features, at);
                    let accepted = model.aggregate(std::iter::once(leaf)) > 0.0;
                    if !accepted {
                        total += self.add_leaf(gradient.as_deref_mut());
                    }
                }
                Step::Narrow(j, interval) => self.intervals[j as usize] = interval,
                Step::Restore(j, interval) => {
                    self.intervals[j as usize] = interval;
                    if interval.splits == 0 {
                        self.path.pop();
                    }
                }
            }
        }
        total
    }

    /// Goes down to a leaf and returns its value. At a split with mass on both sides, goes left and
    /// puts the right side on the stack.
    fn descend(&mut self, model: &Trees, features: &Marginals<'_>, mut at: u32) -> f64 {
        loop {
            let node = &model.nodes()[at as usize];
            if node.left == node.right {
                return node.adds;
            }
            let j = node.feature as usize;
            if let Some(x) = features.certain(j) {
                at = if Trees::goes_left(node, x) { node.left } else { node.right };
                continue;
            }
            let above = self.intervals[j];
            let end = features.end(j, node.cut);
            let (left, right) = (above.ends[0].mass_to(end), end.mass_to(above.ends[1]));
            if node.cut >= above.cuts[1] || right == 0.0 {
                at = node.left;
                continue;
            }
            if node.cut <= above.cuts[0] || left == 0.0 {
                at = node.right;
                continue;
            }
            let density = features.density(j, node.cut);
            let splits = above.splits + 1;
            let on_left = Interval {
                cuts: [above.cuts[0], node.cut],
                ends: [above.ends[0], end],
                density: [above.density[0], density],
                mass: left,
                splits,
            };
            let on_right = Interval {
                cuts: [node.cut, above.cuts[1]],
                ends: [end, above.ends[1]],
                density: [density, above.density[1]],
                mass: right,
                splits,
            };
            if above.splits == 0 {
                self.path.push(node.feature);
            }
            self.steps.push(Step::Restore(node.feature, above));
            self.steps.push(Step::Visit(node.right));
            self.steps.push(Step::Narrow(node.feature, on_right));
            self.intervals[j] = on_left;
            at = node.left;
        }
    }

    /// The mass of the current leaf. Adds its derivatives to `gradient`.
    fn add_leaf(&mut self, gradient: Option<&mut [f64]>) -> f64 {
        let of = |j: &u32| &self.intervals[*j as usize];
        let Some(gradient) = gradient else {
            return self.path.iter().map(|j| of(j).mass).product();
        };
        self.before.clear();
        let mut mass = 1.0;
        for j in &self.path {
            self.before.push(mass);
            mass *= of(j).mass;
        }
        let mut after = 1.0;
        for (j, before) in self.path.iter().zip(&self.before).rev() {
            let interval = of(j);
            gradient[*j as usize] += before * after * (interval.density[0] - interval.density[1]);
            after *= interval.mass;
        }
        mass
    }
}
