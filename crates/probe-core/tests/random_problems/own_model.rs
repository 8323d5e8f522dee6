//! Models scored by code of this test alone, and the same models for the engine.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use crate::chance::Chance;
use probe_core::model::{Aggregate, Tree, TreeRules, Trees};
use probe_core::{Activation, Dense, Linear, Mlp, Model};
use std::sync::Arc;

/// A model in scaled columns; favourable above zero.
#[derive(Debug, Clone)]
pub(crate) enum Own {
    Linear { weights: Vec<f64>, bias: f64 },
    Network { layers: Vec<Layer>, activation: Activation, threshold: f64 },
    Trees { trees: Vec<Vec<Node>>, aggregate: Aggregate, threshold: f64, n: usize },
}

#[derive(Debug, Clone)]
pub(crate) struct Layer {
    pub n_in: usize,
    pub weight: Vec<f64>,
    pub bias: Vec<f64>,
}

/// A split, or a leaf where `children` is `None`.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub feature: usize,
    pub cut: f64,
    pub children: Option<(usize, usize)>,
    pub value: f64,
}

impl Node {
    pub(crate) fn leaf(value: f64) -> Self {
        Self { feature: 0, cut: 0.0, children: None, value }
    }

    pub(crate) fn split(feature: usize, cut: f64, left: usize, right: usize) -> Self {
        Self { feature, cut, children: Some((left, right)), value: 0.0 }
    }
}

/// How the weights change: standard deviation of each, or as a share of the layer's root mean
/// square.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Shift {
    Gaussian(f64),
    Relative(f64),
    Bounded(f64),
}

fn activate(activation: Activation, t: f64) -> f64 {
    let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
    match activation {
        Activation::Relu => t.max(0.0),
        Activation::Tanh => t.tanh(),
        Activation::Sigmoid => sigmoid(t),
        Activation::Silu => t * sigmoid(t),
        Activation::Softplus => t.max(0.0) + (-t.abs()).exp().ln_1p(),
        Activation::LeakyRelu => t.max(0.01 * t),
        other => panic!("{other:?}"),
    }
}

/// Those that this test knows.
pub(crate) const ACTIVATIONS: [Activation; 6] = [
    Activation::Relu,
    Activation::Tanh,
    Activation::Silu,
    Activation::Sigmoid,
    Activation::Softplus,
    Activation::LeakyRelu,
];

fn root_mean_square(values: &[f64]) -> f64 {
    (values.iter().map(|v| v * v).sum::<f64>() / values.len() as f64).sqrt()
}

impl Own {
    pub(crate) fn score(&self, x: &[f64]) -> f64 {
        self.changed_score(x, None)
    }

    pub(crate) fn kind(&self) -> String {
        match self {
            Self::Linear { .. } => "linear".to_owned(),
            Self::Network { layers, activation, .. } => format!("{activation:?} {}", layers.len()),
            Self::Trees { trees, aggregate, .. } => format!("{} trees {aggregate:?}", trees.len()),
        }
    }

    /// How many normals a changed model needs.
    pub(crate) fn n_weights(&self) -> usize {
        match self {
            Self::Linear { weights, .. } => weights.len() + 1,
            Self::Network { layers, .. } => {
                layers.iter().map(|layer| layer.weight.len() + layer.bias.len()).sum()
            }
            Self::Trees { .. } => 0,
        }
    }

    /// The score after a change of all weights by these normals.
    pub(crate) fn changed_score(&self, x: &[f64], change: Option<(Shift, &[f64])>) -> f64 {
        let size = |weights: &[f64]| match change {
            None => 0.0,
            Some((Shift::Gaussian(sd), _)) => sd,
            Some((Shift::Relative(share), _)) => share * root_mean_square(weights),
            Some((Shift::Bounded(_), _)) => panic!("not at random"),
        };
        let mut normals = change.map_or(&[][..], |(_, normals)| normals).iter();
        let mut by = |sd: f64| normals.next().map_or(0.0, |z| sd * z);
        match self {
            Self::Linear { weights, bias } => {
                let sd = size(weights);
                let sum: f64 = weights.iter().zip(x).map(|(w, x)| (w + by(sd)) * x).sum();
                sum + bias + by(sd)
            }
            Self::Network { layers, activation, threshold } => {
                let mut values = x.to_vec();
                for (l, layer) in layers.iter().enumerate() {
                    let sd = size(&layer.weight);
                    let unit = |(weights, bias): (&[f64], &f64)| {
                        let sum: f64 =
                            weights.iter().zip(&values).map(|(w, x)| (w + by(sd)) * x).sum();
                        let sum = sum + bias + by(sd);
                        if l + 1 < layers.len() { activate(*activation, sum) } else { sum }
                    };
                    values = layer.weight.chunks(layer.n_in).zip(&layer.bias).map(unit).collect();
                }
                values[0] - threshold
            }
            Self::Trees { trees, aggregate, threshold, .. } => {
                let leaf = |tree: &Vec<Node>| {
                    let mut node = &tree[0];
                    while let Some((left, right)) = node.children {
                        node = &tree[if x[node.feature] <= node.cut { left } else { right }];
                    }
                    node.value
                };
                let sum: f64 = match aggregate {
                    Aggregate::Vote => trees.iter().filter(|tree| leaf(tree) > 0.5).count() as f64,
                    _ => trees.iter().map(leaf).sum(),
                };
                let margin = match aggregate {
                    Aggregate::Sum => sum,
                    _ => sum / trees.len() as f64 - 0.5,
                };
                margin - threshold
            }
        }
    }

    pub(crate) fn set_threshold(&mut self, to: f64) {
        match self {
            Self::Linear { bias, .. } => *bias = -to,
            Self::Network { threshold, .. } | Self::Trees { threshold, .. } => *threshold = to,
        }
    }

    /// The model for the engine.
    pub(crate) fn for_engine(&self) -> Arc<dyn Model> {
        match self {
            Self::Linear { weights, bias } => {
                Arc::new(Linear::new(weights.clone(), *bias, 0.0).unwrap())
            }
            Self::Network { layers, activation, threshold } => {
                let layers = layers
                    .iter()
                    .map(|l| Dense { weight: l.weight.clone(), bias: l.bias.clone() })
                    .collect();
                Arc::new(Mlp::new(layers, *activation, *threshold).unwrap())
            }
            Self::Trees { trees, aggregate, threshold, n } => {
                let side = |node: &Node, right: bool| {
                    node.children.map_or(-1, |(l, r)| if right { r as i64 } else { l as i64 })
                };
                let tree = |nodes: &Vec<Node>| Tree {
                    feature: nodes.iter().map(|n| n.feature).collect(),
                    threshold: nodes.iter().map(|n| n.cut).collect(),
                    left: nodes.iter().map(|n| side(n, false)).collect(),
                    right: nodes.iter().map(|n| side(n, true)).collect(),
                    value: nodes.iter().map(|n| n.value).collect(),
                    ..Tree::default()
                };
                let rules = TreeRules { aggregate: *aggregate, ..TreeRules::default() };
                let trees = trees.iter().map(tree).collect();
                Arc::new(Trees::new(*n, trees, rules, *threshold).unwrap())
            }
        }
    }

    pub(crate) fn linear(n: usize, chance: &mut Chance) -> Self {
        Self::Linear { weights: chance.normals(n, 1.0), bias: 0.0 }
    }

    /// One or two hidden layers that bend more or less within the unit box.
    pub(crate) fn network(n: usize, activation: Activation, chance: &mut Chance) -> Self {
        let (mut layers, mut n_in) = (Vec::new(), n);
        let bend = chance.pick(&[2.0, 4.0, 6.0]);
        for l in 0..1 + chance.below(2) {
            let n_out = 4 + chance.below(10);
            let sd = if l == 0 { bend } else { 3.0 / (n_in as f64).sqrt() };
            let weight = chance.normals(n_in * n_out, sd);
            layers.push(Layer { n_in, weight, bias: chance.normals(n_out, 0.5 * sd) });
            n_in = n_out;
        }
        layers.push(Layer { n_in, weight: chance.normals(n_in, 1.0), bias: vec![0.0] });
        Self::Network { layers, activation, threshold: 0.0 }
    }

    /// A forest, or boosted trees.
    pub(crate) fn trees(n: usize, chance: &mut Chance) -> Self {
        let aggregate = chance.pick(&[Aggregate::Mean, Aggregate::Sum, Aggregate::Vote]);
        let (n_trees, depth) = (1 + chance.below(24), 1 + chance.below(4));
        let trees = (0..n_trees).map(|_| {
            let mut nodes = Vec::new();
            grow(&mut nodes, depth, n, chance);
            nodes
        });
        Self::Trees { trees: trees.collect(), aggregate, threshold: 0.0, n }
    }
}

/// Appends a random tree; returns its root.
fn grow(nodes: &mut Vec<Node>, depth: usize, n: usize, chance: &mut Chance) -> usize {
    let at = nodes.len();
    nodes.push(Node::leaf(chance.uniform()));
    if depth > 0 && !(at > 0 && chance.one_in(5)) {
        let (feature, cut) = (chance.below(n), chance.uniform());
        let left = grow(nodes, depth - 1, n, chance);
        let right = grow(nodes, depth - 1, n, chance);
        nodes[at] = Node::split(feature, cut, left, right);
    }
    at
}
