//! Models that refuse the person of a world by so much, and rates of rows recomputed independently.

use super::world::World;
use probe_core::math::normal::upper_tail;
use probe_core::model::{Tree, TreeRules, Trees};
use probe_core::schema::Space;
use probe_core::{Activation, Dense, Linear, Mlp, Model, Setup, Stream};
use std::sync::Arc;

/// Standard deviation of the noise, and how often it is drawn where rates are sampled.
const SIGMA: f64 = 0.1;
const DRAWS: usize = 4_000;

/// Makes a model whose score at a point is minus so much.
pub(crate) type Maker = fn(&[f64], f64, &mut Stream) -> Arc<dyn Model>;

/// An affine score with weights between -1 and 1.
pub(crate) fn linear(at: &[f64], short: f64, stream: &mut Stream) -> Arc<dyn Model> {
    let weights: Vec<f64> = at.iter().map(|_| 2.0 * stream.uniform() - 1.0).collect();
    let now: f64 = weights.iter().zip(at).map(|(w, x)| w * x).sum();
    Arc::new(Linear::new(weights, -now - short, 0.0).unwrap())
}

/// A network with eight rectifiers.
pub(crate) fn network(at: &[f64], short: f64, stream: &mut Stream) -> Arc<dyn Model> {
    let widths = [at.len(), 8, 1];
    let layer = |pair: &[usize], stream: &mut Stream| Dense {
        weight: (0..pair[0] * pair[1])
            .map(|_| stream.normal() * (2.0 / pair[0] as f64).sqrt())
            .collect(),
        bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect(),
    };
    let layers: Vec<Dense> = widths.windows(2).map(|pair| layer(pair, stream)).collect();
    let plain = Mlp::new(layers.clone(), Activation::Relu, 0.0).unwrap();
    let score = plain.score(at).unwrap();
    Arc::new(Mlp::new(layers, Activation::Relu, score + short).unwrap())
}

/// Twelve trees of depth two.
pub(crate) fn trees(at: &[f64], short: f64, stream: &mut Stream) -> Arc<dyn Model> {
    let d = at.len();
    let tree = |stream: &mut Stream| Tree {
        feature: (0..7).map(|_| stream.below(d)).collect(),
        threshold: (0..7).map(|_| stream.uniform()).collect(),
        left: vec![1, 3, 5, -1, -1, -1, -1],
        right: vec![2, 4, 6, -1, -1, -1, -1],
        value: (0..7).map(|_| 0.3 * stream.normal()).collect(),
        ..Tree::default()
    };
    let trees: Vec<Tree> = (0..12).map(|_| tree(stream)).collect();
    let plain = Trees::new(d, trees.clone(), TreeRules::default(), 0.0).unwrap();
    let score = plain.score(at).unwrap();
    Arc::new(Trees::new(d, trees, TreeRules::default(), score + short).unwrap())
}

/// The person of a world, with a model that rejects them.
pub(crate) struct Refusal<'w> {
    world: &'w World,
    pub model: Arc<dyn Model>,
    /// The person's columns, as they are and scaled.
    pub at: Vec<f64>,
    pub scaled: Vec<f64>,
    space: Space,
    /// Columns with noise.
    noisy: Vec<bool>,
}

impl<'w> Refusal<'w> {
    /// A model of this make that is short of a yes by `short`, and a setup that asks about it.
    pub(crate) fn new(
        world: &'w World,
        make: Maker,
        short: f64,
        stream: &mut Stream,
    ) -> (Self, Setup) {
        let names = world.schema.column_names();
        let at = world.encoded(&world.person);
        let space = world.encoding().columns().space();
        let mut scaled = vec![0.0; at.len()];
        space.scale_into(&at, &mut scaled);
        let model = make(&scaled, short, stream);
        let setup = Setup::new(Arc::clone(&model), names, Some(&world.schema), SIGMA).unwrap();
        let noisy = (0..at.len()).map(|j| setup.actions.is_mutable_numeric(j)).collect();
        (Self { world, model, at, scaled, space, noisy }, setup)
    }

    /// Columns of the model.
    pub(crate) fn scale(&self, columns: &[f64]) -> Vec<f64> {
        let mut scaled = vec![0.0; columns.len()];
        self.space.scale_into(columns, &mut scaled);
        scaled
    }

    /// The score of a raw row.
    pub(crate) fn score(&self, row: &[f64]) -> f64 {
        self.model.score(&self.scale(&self.world.encoded(row))).unwrap()
    }

    /// The raw row of an answer.
    pub(crate) fn raw(&self, point: &[f64]) -> Vec<f64> {
        let mut row = vec![0.0; self.world.person.len()];
        self.world.encoding().decode_into(point, &mut row).unwrap();
        row
    }

    /// The rate of a raw row before a linear model.
    pub(crate) fn linear_rate(&self, row: &[f64]) -> f64 {
        let weight = |j: usize| {
            let at = |value: f64| {
                let point: Vec<f64> =
                    (0..self.at.len()).map(|c| if c == j { value } else { 0.0 }).collect();
                self.model.score(&point).unwrap()
            };
            at(1.0) - at(0.0)
        };
        let noisy = (0..self.at.len()).filter(|&j| self.noisy[j]);
        let sd = SIGMA * noisy.map(|j| weight(j).powi(2)).sum::<f64>().sqrt();
        let score = self.score(row);
        if sd > 0.0 { upper_tail(score / sd) } else { f64::from(score <= 0.0) }
    }

    /// Errors to sample rates with.
    pub(crate) fn errors(&self, stream: &mut Stream) -> Vec<f64> {
        let noisy = self.noisy.iter().cycle().take(DRAWS * self.noisy.len());
        noisy.map(|&noisy| if noisy { SIGMA * stream.normal() } else { 0.0 }).collect()
    }

    /// The share of these errors that are refused at a scaled point.
    pub(crate) fn sampled_rate(&self, point: &[f64], errors: &[f64]) -> f64 {
        let mut noisy = vec![0.0; point.len()];
        let refused = errors.chunks(point.len()).filter(|errors| {
            noisy.iter_mut().zip(point).zip(*errors).for_each(|((x, at), error)| *x = at + error);
            self.model.score(&noisy).unwrap() <= 0.0
        });
        refused.count() as f64 / DRAWS as f64
    }

    /// What four thousand draws may be wrong by, about a rate `r`: 4.5 standard errors.
    pub(crate) fn sampling_error(r: f64) -> f64 {
        4.5 * (r * (1.0 - r) / DRAWS as f64).sqrt()
    }
}
