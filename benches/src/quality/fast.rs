//! Scores of many draws around one point, by code of its own that is faster than the models': trees
//! lose what the draws cannot reach, and the first layer of a network is applied to the draws once
//! and for all. In `f32`, so that only choices are made by it; audits ask the model itself.

use super::problem::Problem;
use probe_core::model::{Aggregate, Split, Tree};
use probe_core::{Activation, Mlp, Model as _, Trees};

/// Numbers that are computed side by side.
const LANES: usize = 8;
/// Draws that are scored at a time. They lie column by column.
pub(super) const BLOCK: usize = 256;

/// What is prepared once for a model and its draws.
pub(super) enum Fast {
    Trees(Ensemble),
    Network(Network),
}

/// What is prepared for a point.
#[derive(Default)]
pub(super) struct AtPoint {
    nodes: Vec<Node>,
    roots: Vec<(u32, u32)>,
    constant: f32,
    values: Vec<[f32; BLOCK]>,
    first: Vec<f32>,
    units: Vec<f32>,
    next: Vec<f32>,
}

pub(super) struct Ensemble {
    trees: Vec<Tree>,
    /// By column: its place among the noisy ones, and the draws' ends there.
    noisy: Vec<Option<(usize, [f64; 2])>>,
    or_equal: bool,
    /// Every leaf is worth this many times its value; of votes, whether it is above one half.
    factor: f64,
    votes: bool,
    /// What is added to the sum of the leaves.
    base: f64,
}

/// A split of a pruned tree, or a leaf, which leads to itself.
#[derive(Clone, Copy)]
struct Node {
    cut: f32,
    place: u32,
    next: [u32; 2],
    adds: f32,
}

pub(super) struct Network {
    /// Weights by output, padded to whole lanes of outputs, and biases.
    layers: Vec<(Vec<Vec<f32>>, Vec<f32>)>,
    out: (Vec<f32>, f32),
    activation: Activation,
    /// The first layer's weights on the draws, row after row.
    moves: Vec<f32>,
    width: usize,
}

impl Fast {
    /// `errors`: blocks of errors of the noisy columns, in units of the model's input. `None` for
    /// kinds of models that are fast by themselves or unknown.
    pub(super) fn new(problem: &Problem, errors: &[f32], n_noisy: usize) -> Option<Self> {
        if n_noisy == 0 {
            return None;
        }
        if let Some(trees) = problem.model.as_trees() {
            return Some(Self::Trees(Ensemble::new(problem, trees, errors, n_noisy)));
        }
        let mlp = problem.model.as_mlp()?;
        let known = matches!(
            mlp.activation(),
            Activation::Relu | Activation::Tanh | Activation::Sigmoid | Activation::Gelu
        );
        (known && mlp.as_linear().is_none() && !mlp.hidden().is_empty())
            .then(|| Self::Network(Network::new(problem, mlp, errors, n_noisy)))
    }

    /// Prepares for a point, given as the model's input.
    pub(super) fn prepare(&self, input: &[f64], at: &mut AtPoint) {
        match self {
            Self::Trees(ensemble) => ensemble.prepare(input, at),
            Self::Network(network) => network.prepare(input, at),
        }
    }

    /// Scores of the draws from `from` on.
    pub(super) fn scores(
        &self,
        at: &mut AtPoint,
        (errors, n_noisy): (&[f32], usize),
        from: usize,
        out: &mut [f64],
    ) {
        match self {
            Self::Trees(_) => {
                let columns = &errors[from * n_noisy..][..BLOCK * n_noisy];
                at.evaluate(columns, out);
            }
            Self::Network(network) => network.scores(at, from, out),
        }
    }
}

impl Ensemble {
    fn new(problem: &Problem, trees: &Trees, errors: &[f32], n_noisy: usize) -> Self {
        let rules = trees.rules();
        let mut noisy = vec![None; problem.n_columns()];
        for (place, number) in problem.noisy().enumerate() {
            let own = || errors.chunks(BLOCK).skip(place).step_by(n_noisy).flatten();
            let own = || own().map(|error| f64::from(*error));
            let low = own().fold(0.0, f64::min);
            noisy[number.column] = Some((place, [low, own().fold(0.0, f64::max)]));
        }
        let n = trees.trees().len() as f64;
        let sums = rules.aggregate == Aggregate::Sum;
        Self {
            trees: trees.trees().to_vec(),
            noisy,
            or_equal: rules.split == Split::AtMost,
            factor: if sums { 1.0 } else { 1.0 / n },
            votes: rules.aggregate == Aggregate::Vote,
            base: if sums { rules.base } else { -0.5 } - trees.threshold(),
        }
    }

    fn prepare(&self, input: &[f64], at: &mut AtPoint) {
        at.nodes.clear();
        at.roots.clear();
        let mut constant = self.base;
        for tree in &self.trees {
            let first = at.nodes.len();
            let (root, depth) = self.prune(tree, 0, input, &mut at.nodes);
            if depth == 0 {
                constant += f64::from(at.nodes[root as usize].adds);
                at.nodes.truncate(first);
            } else {
                at.roots.push((root, depth));
            }
        }
        at.constant = constant as f32;
    }

    /// Adds the part of a tree that the draws reach; returns its root and depth.
    fn prune(&self, tree: &Tree, at: usize, input: &[f64], nodes: &mut Vec<Node>) -> (u32, u32) {
        if tree.left[at] < 0 {
            let value =
                if self.votes { f64::from(u8::from(tree.value[at] > 0.5)) } else { tree.value[at] };
            let own = nodes.len() as u32;
            let adds = (self.factor * value) as f32;
            nodes.push(Node { cut: f32::INFINITY, place: 0, next: [own, own], adds });
            return (own, 0);
        }
        let (column, cut) = (tree.feature[at], tree.threshold[at]);
        let x = input[column];
        let left = |x: f64| if self.or_equal { x <= cut } else { x < cut };
        let children = [tree.left[at] as usize, tree.right[at] as usize];
        let (place, [low, high]) = self.noisy[column].unwrap_or((0, [0.0, 0.0]));
        if left(x + high) {
            return self.prune(tree, children[0], input, nodes);
        }
        if !left(x + low) {
            return self.prune(tree, children[1], input, nodes);
        }
        let own = nodes.len();
        let node = Node { cut: (cut - x) as f32, place: place as u32, next: [0; 2], adds: 0.0 };
        nodes.push(node);
        let (one, depth) = self.prune(tree, children[0], input, nodes);
        let (other, deeper) = self.prune(tree, children[1], input, nodes);
        nodes[own].next = [one, other];
        (own as u32, 1 + depth.max(deeper))
    }
}

impl AtPoint {
    /// Scores a block of draws, `columns` of which are [`BLOCK`] long.
    fn evaluate(&mut self, columns: &[f32], out: &mut [f64]) {
        let mut sums = [self.constant; BLOCK];
        for &(root, depth) in &self.roots {
            self.values.resize((depth as usize + 1).max(self.values.len()), [0.0; BLOCK]);
            evaluate(&self.nodes, root, columns, &mut self.values);
            sums.iter_mut().zip(&self.values[0]).for_each(|(sum, value)| *sum += value);
        }
        out.iter_mut().zip(sums).for_each(|(out, sum)| *out = f64::from(sum));
    }
}

/// Writes what a tree from node `at` on says about a block of draws into the first of `values`.
fn evaluate(nodes: &[Node], at: u32, columns: &[f32], values: &mut [[f32; BLOCK]]) {
    let node = nodes[at as usize];
    if node.next[0] == at {
        return values[0].fill(node.adds);
    }
    let [left, right] = node.next;
    evaluate(nodes, left, columns, values);
    let column = &columns[node.place as usize * BLOCK..][..BLOCK];
    let other = nodes[right as usize];
    let (own, rest) = values.split_at_mut(1);
    if other.next[0] == right {
        for (own, x) in own[0].iter_mut().zip(column) {
            *own = if *x > node.cut { other.adds } else { *own };
        }
    } else {
        evaluate(nodes, right, columns, rest);
        for ((own, x), other) in own[0].iter_mut().zip(column).zip(&rest[0]) {
            *own = if *x > node.cut { *other } else { *own };
        }
    }
}

impl Network {
    fn new(problem: &Problem, mlp: &Mlp, errors: &[f32], n_noisy: usize) -> Self {
        let padded = |n: usize| n.next_multiple_of(LANES);
        let mut layers = Vec::new();
        for dense in mlp.dense().take(mlp.hidden().len()) {
            let n_out = dense.bias.len();
            let n_in = dense.weight.len() / n_out;
            // By input, so that outputs lie side by side.
            let column = |i: usize| {
                let own = (0..n_out).map(|o| dense.weight[o * n_in + i] as f32);
                own.chain(std::iter::repeat_n(0.0, padded(n_out) - n_out)).collect()
            };
            let mut bias: Vec<f32> = dense.bias.iter().map(|b| *b as f32).collect();
            bias.resize(padded(n_out), 0.0);
            layers.push(((0..n_in).map(column).collect::<Vec<Vec<f32>>>(), bias));
        }
        let (weights, bias) = mlp.output();
        let width = layers[0].1.len();
        let mut out: Vec<f32> = weights.iter().map(|w| *w as f32).collect();
        out.resize(layers[layers.len() - 1].1.len(), 0.0);
        let mut moves = vec![0.0; errors.len() / n_noisy * width];
        for (i, moves) in moves.chunks_exact_mut(width).enumerate() {
            for (place, number) in problem.noisy().enumerate() {
                let error = errors[(i / BLOCK * n_noisy + place) * BLOCK + i % BLOCK];
                let weights = &layers[0].0[number.column];
                moves.iter_mut().zip(weights).for_each(|(m, w)| *m += w * error);
            }
        }
        Self {
            layers,
            out: (out, (bias - mlp.threshold()) as f32),
            activation: mlp.activation(),
            moves,
            width,
        }
    }

    fn prepare(&self, input: &[f64], at: &mut AtPoint) {
        let (weights, bias) = &self.layers[0];
        at.first.clone_from(bias);
        for (x, weights) in input.iter().zip(weights) {
            at.first.iter_mut().zip(weights).for_each(|(sum, w)| *sum += *x as f32 * w);
        }
    }

    fn scores(&self, at: &mut AtPoint, from: usize, out: &mut [f64]) {
        let AtPoint { first, units, next, .. } = at;
        let moves = self.moves[from * self.width..].chunks_exact(self.width);
        for (out, moves) in out.iter_mut().zip(moves) {
            units.clear();
            units.extend(first.iter().zip(moves).map(|(a, b)| a + b));
            self.activate(units);
            for (weights, bias) in &self.layers[1..] {
                next.clone_from(bias);
                for (unit, weights) in units.iter().zip(weights) {
                    next.iter_mut().zip(weights).for_each(|(sum, w)| *sum += unit * w);
                }
                std::mem::swap(units, next);
                self.activate(units);
            }
            let mut lanes = [0.0; LANES];
            for (units, weights) in units.chunks_exact(LANES).zip(self.out.0.chunks_exact(LANES)) {
                for lane in 0..LANES {
                    lanes[lane] += units[lane] * weights[lane];
                }
            }
            *out = f64::from(lanes.iter().sum::<f32>() + self.out.1);
        }
    }

    fn activate(&self, units: &mut [f32]) {
        match self.activation {
            Activation::Tanh => units.iter_mut().for_each(|t| *t = tanh(*t)),
            Activation::Sigmoid => units.iter_mut().for_each(|t| *t = 0.5 + 0.5 * tanh(0.5 * *t)),
            Activation::Gelu => units.iter_mut().for_each(|t| *t *= normal(*t)),
            _ => units.iter_mut().for_each(|t| *t = t.max(0.0)),
        }
    }
}

/// A quotient of polynomials, with the coefficients that Eigen uses; its error is below 1e-6.
fn tanh(t: f32) -> f32 {
    let t = t.clamp(-7.9, 7.9);
    let s = t * t;
    let top =
        ((((((-2.760_768_5e-16 * s + 2.000_188e-13) * s - 8.604_672e-11) * s + 5.122_297e-8) * s
            + 1.485_722_4e-5)
            * s
            + 6.372_619_3e-4)
            * s
            + 4.893_524_6e-3)
            * t;
    let bottom = ((1.198_258_4e-6 * s + 1.185_347_1e-4) * s + 2.268_434_6e-3) * s + 4.893_525e-3;
    top / bottom
}

/// The normal distribution function, by formula 7.1.28 of Abramowitz and Stegun; its error is below
/// 2e-7.
fn normal(t: f32) -> f32 {
    let z = t.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let p = 1.0
        + z * (0.070_523_08
            + z * (0.042_282_01
                + z * (0.009_270_527
                    + z * (0.000_152_014_3 + z * (0.000_276_567_2 + z * 0.000_043_063_8)))));
    let p2 = p * p;
    let p4 = p2 * p2;
    let p8 = p4 * p4;
    let tail = 0.5 / (p8 * p8);
    if t < 0.0 { tail } else { 1.0 - tail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probe_core::math::normal::cdf;

    #[test]
    fn curves_are_close() {
        for i in -2_000..=2_000 {
            let t = f64::from(i) * 0.005;
            assert!((f64::from(tanh(t as f32)) - t.tanh()).abs() < 1e-6, "{t}");
            assert!((f64::from(normal(t as f32)) - cdf(t)).abs() < 1e-6, "{t}");
        }
    }
}
