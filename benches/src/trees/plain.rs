//! Trees for what shares nothing with the engine: walked from root to leaf, one draw after the
//! other.

use crate::offline::Rates;
use probe_core::math::sobol::ScrambledSobol;
use probe_core::model::{Aggregate, Trees};
use probe_core::{Model as _, Purpose, Seed};
use rayon::prelude::*;

/// Draws behind the offline search's first three steps, the fourth and the last.
const LEVELS: [usize; 3] = [1_024, 4_096, 32_768];
/// Draws at a time.
const BLOCK: usize = 4_096;
/// Walks side by side.
const LANES: usize = 8;
const SEED: Seed = Seed(0x6175_6469_7401);

/// One node: a split at `cut`, or a leaf, whose `left` is itself.
#[derive(Clone, Copy)]
struct Node {
    feature: usize,
    cut: f64,
    left: usize,
    right: usize,
    value: f64,
}

/// Steps to the deepest leaf of a tree with these children.
fn depth_of(left: &[i64], right: &[i64]) -> usize {
    let (mut deepest, mut todo) = (0, vec![(0, 0)]);
    while let Some((at, depth)) = todo.pop() {
        deepest = deepest.max(depth);
        if left[at] >= 0 {
            todo.extend([left[at], right[at]].map(|child| (child as usize, depth + 1)));
        }
    }
    deepest
}

/// Trees whose splits are `<=`, as `probe train` makes them.
pub(crate) struct Plain {
    d: usize,
    nodes: Vec<Node>,
    roots: Vec<usize>,
    /// Steps to the deepest leaf of each tree.
    depths: Vec<usize>,
    /// Score from the sum of the leaves: times this, plus that.
    times: f64,
    plus: f64,
}

impl Plain {
    pub(crate) fn of(model: &Trees) -> Self {
        let (mut nodes, mut roots, mut depths) = (Vec::new(), Vec::new(), Vec::new());
        for tree in model.trees() {
            let first = nodes.len();
            roots.push(first);
            depths.push(depth_of(&tree.left, &tree.right));
            for i in 0..tree.left.len() {
                let child = |child: i64| if child < 0 { first + i } else { first + child as usize };
                nodes.push(Node {
                    feature: tree.feature[i].min(model.n_features() - 1),
                    cut: tree.threshold[i],
                    left: child(tree.left[i]),
                    right: child(tree.right[i]),
                    value: tree.value[i],
                });
            }
        }
        let (times, plus) = match model.rules().aggregate {
            Aggregate::Sum => (1.0, model.rules().base),
            _ => (1.0 / model.trees().len() as f64, -0.5),
        };
        Self { d: model.n_features(), nodes, roots, depths, times, plus: plus - model.threshold() }
    }

    pub(super) fn accepts(&self, x: &[f64]) -> bool {
        self.accepted(&[x; LANES])[0]
    }

    /// Some points at a time: walks that do not wait for one another.
    fn accepted(&self, points: &[&[f64]; LANES]) -> [bool; LANES] {
        let mut sums = [0.0; LANES];
        for (&root, &depth) in self.roots.iter().zip(&self.depths) {
            let mut at = [root; LANES];
            for _ in 0..depth {
                for (at, x) in at.iter_mut().zip(points) {
                    let node = &self.nodes[*at];
                    *at = if x[node.feature] <= node.cut { node.left } else { node.right };
                }
            }
            sums.iter_mut().zip(at).for_each(|(sum, at)| *sum += self.nodes[at].value);
        }
        sums.map(|sum| self.times * sum + self.plus > 0.0)
    }

    /// Each point's rate on plain draws, the same ones for all points.
    pub(crate) fn rates(&self, points: &[&[f64]], sigma: f64, draws: usize) -> Vec<f64> {
        let count = |block: usize| {
            let n = BLOCK.min(draws - block * BLOCK);
            let mut stream = SEED.stream(Purpose::Data, block as u64);
            let errors: Vec<f64> = (0..n * self.d).map(|_| sigma * stream.normal()).collect();
            points.iter().map(|point| self.n_refused(point, &errors)).collect::<Vec<_>>()
        };
        let add = |mut a: Vec<usize>, b: Vec<usize>| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        };
        let blocks = (0..draws.div_ceil(BLOCK)).into_par_iter();
        let refused = blocks.map(count).reduce(|| vec![0; points.len()], add);
        refused.into_iter().map(|n| n as f64 / draws as f64).collect()
    }

    fn n_refused(&self, point: &[f64], errors: &[f64]) -> usize {
        let mut x = vec![0.0; LANES * self.d];
        let mut refused = 0;
        for rows in errors.chunks(LANES * self.d) {
            for (x, row) in x.chunks_exact_mut(self.d).zip(rows.chunks_exact(self.d)) {
                x.iter_mut().zip(point.iter().zip(row)).for_each(|(x, (p, e))| *x = p + e);
            }
            let accepted =
                self.accepted(&std::array::from_fn(|lane| &x[lane * self.d..][..self.d]));
            refused +=
                accepted[..rows.len() / self.d].iter().filter(|accepted| !**accepted).count();
        }
        refused
    }
}

/// The offline search's rates: evenly spread draws, the same for everybody.
pub(super) struct OnDraws<'a> {
    plain: &'a Plain,
    person: &'a [f64],
    levels: [Vec<f64>; 3],
}

impl<'a> OnDraws<'a> {
    pub(super) fn new(plain: &'a Plain, person: &'a [f64], sigma: f64) -> Self {
        let levels = [0, 1, 2].map(|level| {
            let points = ScrambledSobol::new(plain.d, &mut SEED.stream(Purpose::Search, level));
            let mut errors = vec![0.0; LEVELS[level as usize] * plain.d];
            for (i, row) in errors.chunks_exact_mut(plain.d).enumerate() {
                points.normal_into(i, row);
                row.iter_mut().for_each(|e| *e *= sigma);
            }
            errors
        });
        Self { plain, person, levels }
    }
}

impl Rates for OnDraws<'_> {
    fn person(&self) -> &[f64] {
        self.person
    }

    fn rate(&self, change: &[f64], level: usize) -> f64 {
        let point: Vec<f64> = self.person.iter().zip(change).map(|(x, c)| x + c).collect();
        if !self.plain.accepts(&point) {
            return 1.0;
        }
        self.plain.n_refused(&point, &self.levels[level]) as f64 / LEVELS[level] as f64
    }

    fn start(&self) -> Option<Vec<f64>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::math::normal::{upper_quantile, upper_tail};
    use probe_core::model::{Tree, TreeRules};

    /// A step of feature 1 at 0.7.
    fn step() -> Plain {
        let tree = Tree {
            feature: vec![1, 0, 0],
            threshold: vec![0.7, 0.0, 0.0],
            left: vec![1, -1, -1],
            right: vec![2, -1, -1],
            value: vec![0.0, -1.0, 1.0],
            default_left: vec![],
        };
        Plain::of(&Trees::new(2, vec![tree], TreeRules::default(), 0.0).unwrap())
    }

    #[test]
    fn draws_know_the_rate_of_a_step() {
        let rate = step().rates(&[&[0.0, 0.8]], 0.1, 100_000)[0];
        let exact = upper_tail(1.0);
        assert!(
            (rate - exact).abs() < 4.0 * (exact * (1.0 - exact) / 1e5_f64).sqrt(),
            "{rate} {exact}"
        );
    }

    #[test]
    fn the_offline_search_solves_a_step() {
        let (plain, person) = (step(), [0.5, 0.2]);
        let point = crate::offline::search(&OnDraws::new(&plain, &person, 0.1), 0.1).unwrap();
        let expected = 0.7 + 0.1 * upper_quantile(0.1);
        assert!(point[0] == 0.5 && (point[1] - expected).abs() < 1e-3, "{point:?} {expected}");
    }
}
