//! Random difficult instances: ties, zero weights, empty intervals, people outside their
//! bounds, rates out of reach.

use crate::instance::{Direction, Feature, Group, Instance, Mask, Noise, Spread};
use probe_core::Stream;

/// What random instances may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Fewest columns.
    pub min_columns: usize,
    /// Most columns; references enumerate, so 8 or so.
    pub max_columns: usize,
    /// Whether there may be one-hot groups.
    pub groups: bool,
    /// Whether the number of changes may be limited.
    pub max_changes: bool,
    /// Whether bounds may be strict.
    pub strict: bool,
    /// The noisy columns; any if `None`.
    pub mask: Option<Mask>,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            min_columns: 1,
            max_columns: 8,
            groups: true,
            max_changes: true,
            strict: true,
            mask: None,
        }
    }
}

/// True with probability `p`.
fn chance(stream: &mut Stream, p: f64) -> bool {
    stream.uniform() < p
}

/// Log-uniform between `low` and `high`.
fn magnitude(stream: &mut Stream, low: f64, high: f64) -> f64 {
    low * libm::pow(high / low, stream.uniform())
}

/// A number on a coarse grid, so that sums are exact and ties happen, or anywhere.
fn number(stream: &mut Stream, coarse: bool) -> f64 {
    if coarse { (stream.below(17) as f64 - 8.0) / 4.0 } else { stream.normal() }
}

impl Instance {
    /// Draws an instance; it never has [`faults`](Instance::faults).
    pub fn random(stream: &mut Stream, shape: Shape) -> Self {
        let n = shape.min_columns + stream.below(shape.max_columns - shape.min_columns + 1);
        let coarse = chance(stream, 0.4);
        let weights: Vec<f64> = (0..n).map(|_| weight(stream, coarse)).collect();
        let mut person: Vec<f64> = (0..n).map(|_| number(stream, coarse)).collect();
        let cost_style = stream.below(4);
        let mut features: Vec<Feature> = (0..n)
            .map(|j| {
                let (cost_up, cost_down) = costs(stream, cost_style, weights[j]);
                room(stream, person[j], Feature { cost_up, cost_down, ..Feature::default() })
            })
            .collect();
        let groups = if shape.groups { groups(stream, n) } else { Vec::new() };
        for group in &groups {
            let hot = stream.below(group.columns.len());
            let fixed = chance(stream, 0.15);
            for (option, &c) in group.columns.iter().enumerate() {
                person[c] = if option == hot { 1.0 } else { 0.0 };
                features[c] = Feature {
                    low: 0.0,
                    high: 1.0,
                    mutable: !(fixed && option == 0),
                    direction: Direction::Any,
                    ..features[c].clone()
                };
            }
        }
        let units = n + groups.len() - groups.iter().map(|g| g.columns.len()).sum::<usize>();
        let max_changes = (shape.max_changes && chance(stream, 0.5))
            .then(|| stream.below(units + 1).max(stream.below(2)));
        let strict = shape.strict && chance(stream, 0.3);
        let mask = shape
            .mask
            .unwrap_or_else(|| [Mask::All, Mask::Mutable, Mask::Changed][stream.below(3)]);
        let noise = noise(stream, &weights, mask);
        let mut instance = Self {
            weights,
            bias: 0.0,
            person,
            features,
            groups,
            max_changes,
            strict,
            noise,
            rate: rate(stream, mask),
        };
        instance.drop_certain_shift();
        instance.deny(stream, coarse);
        instance
    }

    /// A shift without any spread would ask for a score strictly above a number; not in scope.
    fn drop_certain_shift(&mut self) {
        let grouped = |j: usize| self.groups.iter().any(|g| g.columns.contains(&j));
        let noisy: Vec<usize> = (0..self.n_columns())
            .filter(|&j| self.noise.mask == Mask::All || (self.features[j].mutable && !grouped(j)))
            .collect();
        if noisy.iter().all(|&j| self.weights[j] * self.covariance(j, j) == 0.0) {
            self.noise.mean.fill(0.0);
        }
    }

    /// Sets the bias so that the person is denied, sometimes by nothing at all.
    fn deny(&mut self, stream: &mut Stream, coarse: bool) {
        let gap = match stream.below(12) {
            0 => 0.0,
            1..=3 => magnitude(stream, 1e-3, 0.3),
            _ => number(stream, coarse).abs() * 1.5,
        };
        self.bias = -(self.score(&self.person) + gap);
        while self.score(&self.person) > 0.0 {
            self.bias -= f64::EPSILON * self.bias.abs().max(1.0);
        }
    }
}

/// Zero, or well away from zero.
fn weight(stream: &mut Stream, coarse: bool) -> f64 {
    if chance(stream, 0.12) {
        return 0.0;
    }
    let w = number(stream, coarse);
    if w.abs() < 0.05 { 0.05_f64.copysign(w) } else { w }
}

/// Costs up and down: all one, in proportion to the weight (every ratio ties), symmetric, or
/// anything.
fn costs(stream: &mut Stream, style: usize, weight: f64) -> (f64, f64) {
    match style {
        0 => (1.0, 1.0),
        1 if weight != 0.0 => {
            let ratio = [0.5, 1.0, 2.0][stream.below(3)];
            (weight.abs() * ratio, weight.abs() * [0.5, 1.0][stream.below(2)])
        }
        2 => {
            let cost = magnitude(stream, 0.2, 5.0);
            (cost, cost)
        }
        _ => (magnitude(stream, 0.2, 5.0), magnitude(stream, 0.2, 5.0)),
    }
}

/// Bounds around, at, or away from the person's value; mutability; direction.
fn room(stream: &mut Stream, x: f64, feature: Feature) -> Feature {
    let mut side = |sign: f64| match stream.below(10) {
        0..=2 => sign * f64::INFINITY,
        3 => x,
        4..=6 => x + sign * (1 + stream.below(8)) as f64 / 4.0,
        7..=8 => x + sign * magnitude(stream, 0.05, 4.0),
        // The person is outside.
        _ => x - sign * magnitude(stream, 0.05, 1.0),
    };
    let (a, b) = (side(-1.0), side(1.0));
    let direction = match stream.below(6) {
        0 => Direction::Increase,
        1 => Direction::Decrease,
        _ => Direction::Any,
    };
    // Outside on both sides crosses the bounds; swapped, the person is inside.
    Feature { low: a.min(b), high: a.max(b), mutable: chance(stream, 0.85), direction, ..feature }
}

/// None, one or two groups of two or three columns anywhere, with or without a transition table.
fn groups(stream: &mut Stream, n: usize) -> Vec<Group> {
    let mut free: Vec<usize> = (0..n).collect();
    let mut found = Vec::new();
    for _ in 0..[0, 0, 1, 1, 2][stream.below(5)] {
        let size = 2 + stream.below(2);
        if free.len() <= size {
            break;
        }
        let columns: Vec<usize> =
            (0..size).map(|_| free.swap_remove(stream.below(free.len()))).collect();
        let allowed = if chance(stream, 0.5) {
            Vec::new()
        } else {
            (0..size).map(|_| (0..size).map(|_| chance(stream, 0.6)).collect()).collect()
        };
        found.push(Group { columns, allowed });
    }
    found
}

/// Noise that keeps the problem in scope for its mask.
fn noise(stream: &mut Stream, weights: &[f64], mask: Mask) -> Noise {
    let n = weights.len();
    let spread = match stream.below(3) {
        0 => Spread::Isotropic(magnitude(stream, 0.02, 0.6)),
        1 => Spread::Diagonal(
            (0..n)
                .map(|_| if chance(stream, 0.15) { 0.0 } else { magnitude(stream, 0.02, 0.8) })
                .collect(),
        ),
        _ => Spread::Full(full(stream, weights, mask)),
    };
    let shifted = mask != Mask::Changed && chance(stream, 0.5);
    let mean = (0..n).map(|_| if shifted { 0.3 * stream.normal() } else { 0.0 }).collect();
    Noise { mean, spread, mask }
}

/// A positive definite matrix; for noise on changes, one whose terms $w_i\Sigma_{ij}w_j$ are never
/// negative.
fn full(stream: &mut Stream, weights: &[f64], mask: Mask) -> Vec<Vec<f64>> {
    let n = weights.len();
    let scale = magnitude(stream, 0.03, 0.4);
    let factor: Vec<Vec<f64>> = weights
        .iter()
        .map(|w| {
            (0..n)
                .map(|_| {
                    let a = scale * stream.normal();
                    if mask == Mask::Changed { a.abs().copysign(*w) } else { a }
                })
                .collect()
        })
        .collect();
    let entry = |i: usize, j: usize| -> f64 {
        let product: f64 = factor[i].iter().zip(&factor[j]).map(|(a, b)| a * b).sum();
        product + if i == j { 0.01 * scale * scale } else { 0.0 }
    };
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

/// Strict, middling, exactly a half, or lax rates.
fn rate(stream: &mut Stream, mask: Mask) -> f64 {
    let strict = magnitude(stream, 1e-4, 0.49);
    match stream.below(8) {
        0 if mask != Mask::Changed => 0.5,
        1 if mask != Mask::Changed => 0.5 + 0.45 * stream.uniform(),
        2 => 0.05,
        _ => strict,
    }
}
