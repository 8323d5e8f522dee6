//! Networks along a line, given the pre-activations of the first layer.

use super::crossing::{Marginal, Refused, Root};
use super::deep::Deep;
use super::follow;
use super::shallow::ASIDE;
use super::{LANES, Lanes, smooth};
use crate::math::{dot, vectorised};
use crate::model::{Layer, Mlp, Model};

/// Any network that is not a shallow one of rectifiers. Its image is the pre-activation of the
/// first layer.
pub(super) struct Network<'a> {
    mlp: &'a Mlp,
    /// For rectifiers: the weights of each layer after the first, by input.
    columns: Vec<Vec<f64>>,
    /// The same for eight lines at once.
    pub(super) deep: Deep,
}

/// Values and slopes of the current layer.
#[derive(Default)]
pub(super) struct Scratch {
    values: Vec<f64>,
    slopes: Vec<f64>,
    /// Pre-activations of all hidden layers, one after the other.
    before: Vec<f64>,
    roots: Vec<Root>,
    at_root: Vec<f64>,
    at_root_slopes: Vec<f64>,
    walk: Walk,
    smooth: smooth::Scratch,
}

#[cfg(test)]
impl Scratch {
    /// Roots of the line that was evaluated last.
    pub(super) fn roots(&self) -> &[Root] {
        &self.roots
    }
}

/// All hidden units at a point of a line, layer after layer: pre-activations, their slopes, and the
/// rectifier's slope there.
#[derive(Default)]
struct Walk {
    z: Vec<f64>,
    dz: Vec<f64>,
    share: Vec<f64>,
    /// First unit of each hidden layer, and one past the last.
    starts: Vec<usize>,
    score: f64,
    slope: f64,
    /// A score counts as positive only above this.
    rounding_error: f64,
}

/// A line of rectifiers is followed up to this distance. The mass beyond it, $2\bar\Phi(6.5)
/// \approx 8\cdot10^{-11}$, counts like the end that it follows.
const FAR: f64 = 6.5;
/// A limit on the number of kinks, far above what ordinary networks have.
const MOST_KINKS: usize = 1_000_000;
/// Kinks after which values are recomputed, so that rounding errors do not accumulate.
const FRESH: usize = 64;

impl<'a> Network<'a> {
    pub(super) fn new(mlp: &'a Mlp) -> Self {
        let by_input = |layer: &Layer| {
            (0..layer.n_in())
                .flat_map(|i| (0..layer.n_out()).map(move |o| layer.row(o)[i]))
                .collect()
        };
        let columns = match mlp.activation().is_piecewise_linear() {
            true => mlp.layers()[1..].iter().map(by_input).collect(),
            false => Vec::new(),
        };
        Self { mlp, columns, deep: Deep::new(mlp) }
    }

    /// The score at an image, and its slopes with respect to the image.
    pub(super) fn score_and_slopes(
        &self,
        image: &[f64],
        slopes: &mut [f64],
        scratch: &mut Scratch,
    ) -> f64 {
        let activation = self.mlp.activation();
        let layers = self.mlp.layers();
        let Scratch { values, before, slopes: delta, .. } = scratch;
        before.clear();
        before.extend_from_slice(image);
        let mut from = 0;
        for layer in &layers[1..layers.len() - 1] {
            values.clear();
            values.extend(before[from..].iter().map(|&z| activation.value(z)));
            from = before.len();
            before.extend((0..layer.n_out()).map(|i| dot(layer.row(i), values) + layer.bias()[i]));
        }
        values.clear();
        values.extend(before[from..].iter().map(|&z| activation.value(z)));
        let (weights, bias) = self.mlp.output();
        let score = dot(weights, values) + (bias - self.mlp.threshold());
        delta.clear();
        delta.extend(
            weights.iter().zip(&before[from..]).map(|(w, &z)| w * activation.derivative(z)),
        );
        for layer in layers[1..layers.len() - 1].iter().rev() {
            from -= layer.n_in();
            values.clear();
            values.resize(layer.n_in(), 0.0);
            for (i, d) in delta.iter().enumerate().filter(|(_, d)| **d != 0.0) {
                values.iter_mut().zip(layer.row(i)).for_each(|(v, w)| *v += d * w);
            }
            let here = &before[from..from + layer.n_in()];
            delta.clear();
            delta.extend(values.iter().zip(here).map(|(v, &z)| v * activation.derivative(z)));
        }
        slopes.copy_from_slice(delta);
        score
    }

    /// Number of hidden units and scores.
    pub(super) fn n_units(&self) -> usize {
        self.mlp.layers().iter().map(Layer::n_out).sum()
    }

    /// Sum of the magnitudes of all terms of a score, given those of the image.
    pub(super) fn magnitude(&self, image: &[f64]) -> f64 {
        let mut units = image.to_vec();
        for layer in &self.mlp.layers()[1..] {
            // For any activation and |x| ≤ z, |φ(x)| is at most the larger of |φ(z)| and z.
            units.iter_mut().for_each(|z| *z = self.mlp.activation().value(*z).abs().max(*z));
            let sum =
                |i: usize| layer.row(i).iter().zip(&units).map(|(w, z)| w.abs() * z).sum::<f64>();
            units = (0..layer.n_out()).map(|i| layer.bias()[i].abs() + sum(i)).collect();
        }
        units.iter().sum::<f64>() + self.mlp.threshold().abs()
    }

    /// The rejected mass of the line `p + t q`, where scores up to `rounding_error` count as
    /// rejected. With `sums`, adds the slopes of its roots.
    pub(super) fn mass(
        &self,
        (p, q): (&[f64], &[f64]),
        rounding_error: f64,
        marginal: Marginal<'_>,
        sums: Option<&mut [f64]>,
        scratch: &mut Scratch,
    ) -> f64 {
        let mut roots = std::mem::take(&mut scratch.roots);
        scratch.walk.rounding_error = rounding_error;
        let mass = if self.mlp.activation().is_piecewise_linear() {
            vectorised(
                #[inline(always)]
                || self.walk(p, q, marginal, &mut roots, &mut scratch.walk),
            )
        } else {
            let mut along =
                smooth::Along { mlp: self.mlp, p, q, rounding_error, scratch: &mut scratch.smooth };
            vectorised(
                #[inline(always)]
                || follow::refused_mass(&mut along, marginal, &mut roots),
            )
        };
        if let Some(sums) = sums {
            let mut at = std::mem::take(&mut scratch.at_root);
            let mut slopes = std::mem::take(&mut scratch.at_root_slopes);
            slopes.resize(p.len(), 0.0);
            for root in &roots {
                at.clear();
                // Slightly beyond the root, to avoid a kink.
                at.extend(p.iter().zip(q).map(|(p, q)| p + (root.at + ASIDE) * q));
                self.score_and_slopes(&at, &mut slopes, scratch);
                let weight = -marginal.density(root.at) / dot(&slopes, q).abs();
                if weight.is_finite() {
                    sums.iter_mut().zip(&slopes).for_each(|(sum, slope)| *sum += weight * slope);
                }
            }
            (scratch.at_root, scratch.at_root_slopes) = (at, slopes);
        }
        scratch.roots = roots;
        mass
    }
}

impl Network<'_> {
    /// The rejected mass of a line of rectifiers. Goes from kink to kink; at each, updates the
    /// later layers instead of recomputing them. Exact up to rounding and the mass beyond [`FAR`].
    #[inline(always)]
    fn walk(
        &self,
        p: &[f64],
        q: &[f64],
        marginal: Marginal<'_>,
        roots: &mut Vec<Root>,
        walk: &mut Walk,
    ) -> f64 {
        roots.clear();
        let (from, to) = match marginal {
            Marginal::Normal => (-FAR, FAR),
            other => other.reach(),
        };
        walk.share.clear();
        self.forward(p, q, from, walk);
        let mut refused = Refused::start(marginal, walk.score);
        let (mut here, mut kinks) = (from, 0);
        loop {
            let (unit, step) = walk.next_kink();
            let there = (here + step).min(to);
            let next = walk.score + walk.slope * (there - here);
            if (walk.score > 0.0) != (next > 0.0) {
                let at = (here - walk.score / walk.slope).clamp(here, there);
                if next > 0.0 {
                    refused.up(at)
                } else {
                    refused.down(at)
                }
                roots.push(Root { at, slope: walk.slope });
            }
            if there >= to || kinks >= MOST_KINKS {
                return refused.finish();
            }
            kinks += 1;
            walk.advance(there - here);
            walk.score = next;
            here = there;
            self.flip(unit, walk);
            if kinks % FRESH == 0 {
                let tracked = walk.score;
                self.forward(p, q, here, walk);
                // If rounding alone changed the sign, keep the tracked one, so that no root is
                // missed.
                if (walk.score <= 0.0) != (tracked <= 0.0) {
                    walk.score = tracked;
                }
            }
        }
    }

    /// Computes all units at `t`. A unit keeps its state, on or off. If no states are known yet,
    /// the sign of its value decides or, at a kink, that of its slope.
    #[inline(always)]
    fn forward(&self, p: &[f64], q: &[f64], t: f64, walk: &mut Walk) {
        let leak = self.mlp.activation().derivative(-1.0);
        let known = !walk.share.is_empty();
        let Walk { z, dz, share, starts, score, slope, rounding_error } = walk;
        z.clear();
        dz.clear();
        starts.clear();
        z.extend(p.iter().zip(q).map(|(p, q)| p + t * q));
        dz.extend_from_slice(q);
        starts.push(0);
        let mut from = 0;
        for (layer, columns) in self.mlp.layers()[1..].iter().zip(&self.columns) {
            let to = z.len();
            starts.push(to);
            z.extend_from_slice(layer.bias());
            dz.resize(z.len(), 0.0);
            let (before, after) = z.split_at_mut(to);
            let (slope_before, slope_after) = dz.split_at_mut(to);
            for (i, column) in columns.chunks_exact(layer.n_out()).enumerate() {
                let (value, rate) = (before[from + i], slope_before[from + i]);
                if !known {
                    // At a kink the slope to the right counts.
                    let off = value < 0.0 || (value == 0.0 && rate <= 0.0);
                    share.push(if off { leak } else { 1.0 });
                }
                let s = share[from + i];
                if s != 0.0 {
                    let (value, rate) = (s * value, s * rate);
                    for ((a, b), w) in after.iter_mut().zip(slope_after.iter_mut()).zip(column) {
                        *a += value * w;
                        *b += rate * w;
                    }
                }
            }
            from = to;
        }
        // The last layer is the score.
        *score = (z[from] - self.mlp.threshold()) - *rounding_error;
        *slope = dz[from];
        z.truncate(from);
        dz.truncate(from);
    }

    /// Lets unit number `unit`, counted over all layers, cross its kink, and updates the slopes of
    /// all later layers.
    #[inline(always)]
    fn flip(&self, unit: usize, walk: &mut Walk) {
        let leak = self.mlp.activation().derivative(-1.0);
        let Walk { z, dz, share, starts, slope, .. } = walk;
        let layer = starts.partition_point(|&start| start <= unit) - 1;
        // A unit that crosses zero upwards is on from here, downwards off.
        let now = if dz[unit] > 0.0 { 1.0 } else { leak };
        let change = (now - share[unit]) * dz[unit];
        share[unit] = now;
        z[unit] = 0.0;
        let last = starts.len() - 2;
        let width = |l: usize| self.mlp.layers()[l].n_out();
        let column =
            |l: usize, i: usize| &self.columns[l][i * width(l + 1)..(i + 1) * width(l + 1)];
        if layer == last {
            *slope += change * column(layer, unit - starts[layer])[0];
            return;
        }
        for (d, w) in dz[starts[layer + 1]..].iter_mut().zip(column(layer, unit - starts[layer])) {
            *d += change * w;
        }
        for l in layer + 2..=last {
            let (before, after) = dz.split_at_mut(starts[l]);
            let after = &mut after[..width(l)];
            after.fill(0.0);
            for i in 0..width(l - 1) {
                let rate = share[starts[l - 1] + i] * before[starts[l - 1] + i];
                if rate != 0.0 {
                    after.iter_mut().zip(column(l - 1, i)).for_each(|(d, w)| *d += rate * w);
                }
            }
        }
        let (weights, _) = self.mlp.output();
        *slope = (0..weights.len())
            .map(|i| weights[i] * share[starts[last] + i] * dz[starts[last] + i])
            .sum();
    }
}

impl Walk {
    /// The unit that crosses its kink next, and how far that is: one that is on and falls, or off
    /// and rises.
    #[inline(always)]
    fn next_kink(&self) -> (usize, f64) {
        let distance = |((z, dz), share): ((&f64, &f64), &f64)| {
            let heads = if *share > 0.5 { -*dz } else { *dz };
            let step = -z / dz;
            let step = if step > 0.0 { step } else { 0.0 };
            if heads > 0.0 { step } else { f64::INFINITY }
        };
        let (mut least, mut whose) = ([f64::INFINITY; LANES], [0.0; LANES]);
        let (z, dz, share) =
            (self.z.as_chunks().0, self.dz.as_chunks().0, self.share.as_chunks().0);
        let mut number = 0.0;
        for ((z, dz), share) in z.iter().zip(dz).zip(share) {
            let (z, dz, share): (&Lanes, &Lanes, &Lanes) = (z, dz, share);
            for lane in 0..LANES {
                let here = distance(((&z[lane], &dz[lane]), &share[lane]));
                let nearer = here < least[lane];
                least[lane] = if nearer { here } else { least[lane] };
                whose[lane] = if nearer { number } else { whose[lane] };
            }
            number += 1.0;
        }
        // The nearest of all; of several, the first.
        let whole = self.z.len() / LANES * LANES;
        let units = (0..LANES).map(|lane| (whose[lane] as usize * LANES + lane, least[lane]));
        let rest = self.z.iter().zip(&self.dz).zip(&self.share).enumerate().skip(whole);
        units.chain(rest.map(|(i, unit)| (i, distance(unit)))).fold(
            (0, f64::INFINITY),
            |best, unit| {
                if unit.1 < best.1 || (unit.1 == best.1 && unit.0 < best.0) { unit } else { best }
            },
        )
    }

    /// Moves all units on by `step`.
    #[inline(always)]
    fn advance(&mut self, step: f64) {
        for (z, dz) in self.z.iter_mut().zip(&self.dz) {
            *z += step * dz;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::pdf;
    use crate::model::{Activation, Dense};
    use crate::seed::{Purpose, Seed};

    fn network(widths: &[usize], activation: Activation, seed: u64) -> Mlp {
        let mut stream = Seed(seed).stream(Purpose::Data, 0);
        let layers = widths
            .windows(2)
            .map(|pair| Dense {
                weight: (0..pair[0] * pair[1])
                    .map(|_| stream.normal() / (pair[0] as f64).sqrt())
                    .collect(),
                bias: (0..pair[1]).map(|_| 0.3 * stream.normal()).collect(),
            })
            .collect();
        Mlp::new(layers, activation, 0.05).unwrap()
    }

    /// The walk against the model's own scores, sampled densely and summed cell by cell.
    #[test]
    fn the_walk_sees_what_the_model_says() {
        for (case, widths) in
            [&[3, 9, 1][..], &[3, 12, 10, 1], &[2, 8, 8, 8, 2], &[4, 20, 70, 1]].iter().enumerate()
        {
            for activation in [Activation::Relu, Activation::LeakyRelu] {
                let mlp = network(widths, activation, case as u64);
                let d = widths[0];
                let mut stream = Seed(9).stream(Purpose::Data, case as u64);
                for _ in 0..20 {
                    let base: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
                    let direction: Vec<f64> = (0..d).map(|_| stream.normal()).collect();
                    let layer = &mlp.layers()[0];
                    let image = |x: &[f64], biased: f64| -> Vec<f64> {
                        (0..layer.n_out())
                            .map(|i| dot(layer.row(i), x) + biased * layer.bias()[i])
                            .collect()
                    };
                    let (p, q) = (image(&base, 1.0), image(&direction, 0.0));
                    let net = Network::new(&mlp);
                    let mass =
                        net.mass((&p, &q), 0.0, Marginal::Normal, None, &mut Scratch::default());
                    // Strata whose ends differ in sign are halved by the straight line between the
                    // ends.
                    let (cells, mut expected, mut before) = (26_000, 0.0, f64::NAN);
                    for cell in 0..=cells {
                        let t = -6.5 + 13.0 * f64::from(cell) / f64::from(cells);
                        let x: Vec<f64> =
                            base.iter().zip(&direction).map(|(b, v)| b + t * v).collect();
                        let score = mlp.score(&x).unwrap();
                        let width = 13.0 / f64::from(cells);
                        let share = match (before <= 0.0, score <= 0.0) {
                            (true, true) => 1.0,
                            (false, false) => 0.0,
                            (true, false) => before / (before - score),
                            (false, true) => score / (score - before),
                        };
                        if cell > 0 {
                            expected += share * width * pdf(t - 0.5 * width);
                        }
                        before = score;
                    }
                    // A crossing in a cell with a kink is off by a cell at most, 0.0002 of the
                    // mass; the midpoint rule by far less. No line here has more than five such
                    // cells.
                    assert!(
                        (mass - expected).abs() < 1e-3,
                        "{widths:?} {activation:?}: {mass} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn gradients_in_image_space_are_those_of_finite_differences() {
        for activation in Activation::ALL {
            let mlp = network(&[3, 7, 6, 1], activation, 4);
            let net = Network::new(&mlp);
            let mut scratch = Scratch::default();
            let image: Vec<f64> = (0..7).map(|i| 0.37 * f64::from(i) - 1.1).collect();
            let mut slopes = vec![0.0; 7];
            net.score_and_slopes(&image, &mut slopes, &mut scratch);
            for i in 0..7 {
                let mut at = |step: f64| {
                    let mut moved = image.clone();
                    moved[i] += step;
                    net.score_and_slopes(&moved, &mut [0.0; 7], &mut scratch)
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                assert!(
                    (slopes[i] - difference).abs() < 1e-7,
                    "{activation:?} {i}: {} {difference}",
                    slopes[i]
                );
            }
        }
    }
}
