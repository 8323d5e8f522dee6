//! Networks of smooth activations along a line: score, slope, and bounds on both over a cell.
//!
//! Let $m$ be the middle and $h$ the half width of a cell, and let a unit's pre-activation $z$ have
//! $|z'| \le D$ and $|z''| \le S$ on it. In the first layer, where $z = p + tq$, $D = |q|$ and $S =
//! 0$. Then $z$ stays within $r = |z'(m)|h + Sh^2/2$ of $z(m)$. On that interval the activation has
//! $|\varphi''| \le E$ and $|\varphi'| \le A = |\varphi'(z(m))| + rE$, so that $|\varphi(z)'| \le
//! AD$ and $|\varphi(z)''| \le ED^2 + AS$. Sums of these with absolute weights are $D$ and $S$ of
//! the next layer, where $|z'(m)| + hS$ replaces $D$ if it is smaller.

use super::follow::{Enclosure, Profile};
use crate::math::dot;
use crate::model::{Activation, Layer, Mlp, Model};

/// Buffers for the current layer.
#[derive(Default)]
pub(super) struct Scratch {
    units: Vec<Unit>,
    values: Vec<f64>,
    slopes: Vec<f64>,
    steepest: Vec<f64>,
    bends: Vec<f64>,
}

/// A unit before its activation: value and slope in the middle of a cell, and upper bounds on the
/// magnitudes of its slope and second derivative on the whole cell.
#[derive(Clone, Copy)]
struct Unit {
    value: f64,
    slope: f64,
    steepest: f64,
    bend: f64,
}

impl Unit {
    /// Upper bound on the distance of the value from that in the middle.
    #[inline(always)]
    fn spread(&self, half: f64) -> f64 {
        let spread = (self.slope.abs() + 0.5 * self.bend * half) * half;
        let plain = self.steepest * half;
        if plain < spread { plain } else { spread }
    }
}

/// A network along a line. `p + t q` are the pre-activations of its first layer.
pub(super) struct Along<'a> {
    pub mlp: &'a Mlp,
    pub p: &'a [f64],
    pub q: &'a [f64],
    /// A score counts as positive only above this.
    pub rounding_error: f64,
    pub scratch: &'a mut Scratch,
}

impl Profile for Along<'_> {
    fn value_and_slope(&mut self, t: f64) -> (f64, f64) {
        let activation = self.mlp.activation();
        let Scratch { values, slopes, units, .. } = &mut *self.scratch;
        let unit = |value, slope| Unit { value, slope, steepest: 0.0, bend: 0.0 };
        units.clear();
        units.extend(self.p.iter().zip(self.q).map(|(p, q)| unit(p + t * q, *q)));
        for layer in &self.mlp.layers()[1..] {
            values.clear();
            slopes.clear();
            for z in units.iter() {
                let (value, derivative) = jet(activation, z.value);
                values.push(value);
                slopes.push(derivative * z.slope);
            }
            units.clear();
            units.extend(
                rows(layer).map(|(row, bias)| unit(dot(row, values) + bias, dot(row, slopes))),
            );
        }
        units.first().map_or((0.0, 0.0), |z| {
            ((z.value - self.mlp.threshold()) - self.rounding_error, z.slope)
        })
    }

    fn enclose(&mut self, middle: f64, half: f64) -> Option<Enclosure> {
        let activation = self.mlp.activation();
        let Scratch { units, values, slopes, steepest, bends } = &mut *self.scratch;
        units.clear();
        units.extend(self.p.iter().zip(self.q).map(|(p, q)| Unit {
            value: p + middle * q,
            slope: *q,
            steepest: q.abs(),
            bend: 0.0,
        }));
        for layer in &self.mlp.layers()[1..] {
            values.clear();
            slopes.clear();
            steepest.clear();
            bends.clear();
            for z in units.iter() {
                let spread = z.spread(half);
                let most = activation.most_bend(z.value.abs() - spread)?;
                let (value, derivative) = jet(activation, z.value);
                let share = (derivative.abs() + spread * most).min(activation.most_slope());
                values.push(value);
                slopes.push(derivative * z.slope);
                steepest.push(share * z.steepest);
                bends.push(most * z.steepest * z.steepest + share * z.bend);
            }
            units.clear();
            units.extend(rows(layer).map(|(row, bias)| {
                let (slope, bend) = (dot(row, slopes), absolute_dot(row, bends));
                let (all, near) = (absolute_dot(row, steepest), slope.abs() + half * bend);
                Unit {
                    value: dot(row, values) + bias,
                    slope,
                    steepest: if all < near { all } else { near },
                    bend,
                }
            }));
        }
        let z = units.first()?;
        let score = (z.value - self.mlp.threshold()) - self.rounding_error;
        Some(Enclosure { score, slope: z.slope, spread: z.spread(half), bend: z.bend })
    }
}

/// Value and derivative. The derivative has a rounding error of about `f64::EPSILON`, absolute and
/// not relative. That is enough because derivatives are only added here.
#[inline(always)]
pub(super) fn jet(activation: Activation, z: f64) -> (f64, f64) {
    let value = activation.value(z);
    let derivative = match activation {
        Activation::Tanh => (1.0 - value) * (1.0 + value),
        Activation::Sigmoid => value * (1.0 - value),
        other => other.derivative(z),
    };
    (value, derivative)
}

#[inline(always)]
fn rows(layer: &Layer) -> impl Iterator<Item = (&[f64], f64)> {
    (0..layer.n_out()).map(|i| (layer.row(i), layer.bias()[i]))
}

/// Sum of `|a| b`.
#[inline(always)]
fn absolute_dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a_chunks, b_chunks) = (a.chunks_exact(8), b.chunks_exact(8));
    let tail: f64 =
        a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x.abs() * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..8 {
            sums[lane] += x[lane].abs() * y[lane];
        }
    }
    sums.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::super::crossing::Marginal;
    use super::super::follow::refused_mass;
    use super::*;
    use crate::math::normal::{cdf, pdf};
    use crate::model::Dense;
    use crate::seed::{Purpose, Seed};

    /// For a network of one feature: the rejected mass of its line, the same computed on a grid,
    /// and a bound on the error of the grid.
    fn masses(mlp: &Mlp) -> (f64, f64, f64) {
        let first = &mlp.layers()[0];
        let mut scratch = Scratch::default();
        let mut along = Along {
            mlp,
            p: first.bias(),
            q: first.weight(),
            rounding_error: 0.0,
            scratch: &mut scratch,
        };
        let mut roots = Vec::new();
        let mass = refused_mass(&mut along, Marginal::Normal, &mut roots);
        let (n, step) = (100_000, 18.0 / 100_000.0);
        let refused = |k: i32| mlp.score(&[-9.0 + (f64::from(k) + 0.5) * step]).unwrap() <= 0.0;
        let (mut grid, mut changes, mut before) = (0.0, 0, refused(0));
        for k in 0..n {
            let now = refused(k);
            grid += if now { step * pdf(-9.0 + (f64::from(k) + 0.5) * step) } else { 0.0 };
            changes += usize::from(now != before);
            before = now;
        }
        // The grid misplaces each root by one cell at most.
        (mass, grid, 1e-8 + 0.4 * step * changes.max(roots.len()) as f64)
    }

    /// Teeth a tenth of a standard deviation wide, between which the score is flat.
    #[test]
    fn no_tooth_of_a_comb_is_missed() {
        let starts: Vec<f64> = (0..12).map(|k| -2.3 + 0.37 * f64::from(k)).collect();
        let edges = || starts.iter().flat_map(|start| [(*start, -1.0), (start + 0.1, 1.0)]);
        for steep in [300.0, 1e5] {
            let comb = vec![
                Dense {
                    weight: vec![steep; 24],
                    bias: edges().map(|(at, _)| -steep * at).collect(),
                },
                Dense { weight: edges().map(|(_, sign)| sign).collect(), bias: vec![1.0] },
            ];
            let (mass, grid, off) = masses(&Mlp::new(comb, Activation::Tanh, 0.0).unwrap());
            let by_hand: f64 = starts.iter().map(|start| cdf(start + 0.1) - cdf(*start)).sum();
            assert!((mass - by_hand).abs() < 1e-6, "{mass} {by_hand}");
            assert!((mass - grid).abs() < off, "{mass} {grid}");
        }
    }

    #[test]
    fn steep_random_networks_are_not_understated() {
        for case in 0..60 {
            let mut stream = Seed(case).stream(Purpose::Data, 5);
            let widths: &[usize] = if case % 3 == 2 { &[1, 4, 4, 1] } else { &[1, 8, 1] };
            let layers = widths.windows(2).map(|pair| Dense {
                weight: (0..pair[0] * pair[1]).map(|_| 10.0 * stream.normal()).collect(),
                bias: (0..pair[1]).map(|_| 10.0 * stream.normal()).collect(),
            });
            let layers: Vec<Dense> = layers.collect();
            for activation in Activation::ALL.into_iter().filter(|a| !a.is_piecewise_linear()) {
                let (mass, grid, off) = masses(&Mlp::new(layers.clone(), activation, 0.0).unwrap());
                assert!((mass - grid).abs() < off, "{case} {activation}: {mass} {grid} {off:e}");
            }
        }
    }

    #[test]
    fn activations_keep_their_bounds() {
        for activation in Activation::ALL.into_iter().filter(|a| !a.is_piecewise_linear()) {
            let mut most = 0.0_f64;
            for k in (-1..6_000).rev() {
                let t = f64::from(k) * 0.005;
                most = most.max(activation.second_derivative(t).abs());
                assert!(activation.most_bend(t).unwrap() >= most, "{activation} {t}");
                for t in [t, -t] {
                    assert!(
                        activation.derivative(t).abs() <= activation.most_slope(),
                        "{activation} {t}"
                    );
                }
            }
        }
    }
}
