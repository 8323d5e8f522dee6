//! Scores of rectifier networks in single precision, at two points of each of eight lines at once,
//! with a bound on each rounding error.
//!
//! Let $u = 2^{-24}$, $\hat a$ the computed activations of a layer, $a$ the exact ones, and $E \ge
//! \lVert\hat a - a\rVert$. A sum of $n$ fused products with rounded weights has an error of at
//! most $(n + 1)u$ times the sum of the magnitudes of its terms, to first order. By Cauchy and
//! Schwarz this sum is at most $|b_o| + \lVert w_o\rVert\lVert\hat a\rVert$ for unit $o$.
//! Rectifiers do not increase the distance of two numbers. The next layer therefore has $E' =
//! \lVert W\rVert_2 E + (n + 1)u\,(\lVert b\rVert + \lVert W\rVert_F\lVert\hat a\rVert)$, where
//! $\lVert\hat a\rVert$ is computed at each point, with one product per unit. In the first layer
//! $p + tq$ is rounded three times. On three layers, a bound from products of absolute weights
//! would be a thousand times larger.

use super::{Deep, Lanes, Matrix, TOGETHER};
use crate::invalidation::line::LANES;
use crate::invalidation::line::wide::{Short, Singles};
use crate::model::Activation;
use pulp::Simd;

/// Half a unit in the last place of single precision, rounded up to cover terms of higher order.
const ROUNDING: f64 = 1.01 / 16_777_216.0;
/// Added to norms. Far larger than the errors of subnormal numbers, and far too small to matter.
const TINY: f64 = 1e-17;
/// Above this, numbers may overflow: larger bounds count as infinite, and networks with larger
/// weights use double precision.
const LARGEST: f64 = 1e30;
/// The norm of a matrix with up to this many rows is bounded through its product with its own
/// transpose.
const MOST_ROWS: usize = 256;

/// With up to this many units, the rounding error of a sum of squares is below a thousandth.
const MOST_UNITS: usize = 8_000;

/// Two points of each of eight lines.
pub(super) type Pair = [Singles; 2];

/// [`Deep`] in single precision.
pub(super) struct InShort {
    layers: Vec<Layer>,
    output: Vec<f32>,
    bias: f32,
    last: Norms,
}

struct Layer {
    n_in: usize,
    n_out: usize,
    weights: Vec<[f32; TOGETHER]>,
    bias: Vec<[f32; TOGETHER]>,
    norms: Norms,
}

/// Bounds on the norms of a matrix and its bias, and on the rounding error of a sum of that many
/// products.
struct Norms {
    largest: f64,
    frobenius: f64,
    bias: f64,
    share: f64,
}

/// Eight lines in single precision, with the norms of their bases and of their change per unit of
/// $t$.
#[derive(Default)]
pub(super) struct Scratch {
    p: Vec<Singles>,
    rate: Vec<f32>,
    norms: Lanes,
    rate_norm: f64,
    values: Vec<Pair>,
    next: Vec<Pair>,
    active: Vec<usize>,
}

impl Norms {
    /// From rows of numbers, one after the other.
    fn new(weights: &[f64], n_in: usize, bias: &[f64]) -> Self {
        let rows = || weights.chunks_exact(n_in);
        let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let frobenius = norm(weights);
        let by_row = rows().map(|row| row.iter().map(|w| w.abs()).sum::<f64>()).fold(0.0, f64::max);
        let column = |i: usize| rows().map(|row| row[i].abs()).sum::<f64>();
        let by_column = (0..n_in).map(column).fold(0.0, f64::max);
        let mut largest = frobenius.min((by_row * by_column).sqrt());
        if rows().len() <= MOST_ROWS {
            // The fourth powers of singular values sum to the squares of the products of rows.
            let product =
                |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>().powi(2);
            let fourth: f64 = rows().map(|a| rows().map(|b| product(a, b)).sum::<f64>()).sum();
            largest = largest.min(fourth.sqrt().sqrt());
        }
        // Leaves room for the rounding of the sums.
        let up = |norm: f64| 1.000_001 * norm + TINY;
        let share = (n_in as f64 + 2.0) * ROUNDING;
        Self { largest: up(largest), frobenius: up(frobenius), bias: up(norm(bias)), share }
    }

    /// $E'$ for $E$ and $\lVert\hat a\rVert^2$.
    #[inline(always)]
    fn add(&self, errors: &mut [Lanes; 2], squares: &Pair) {
        for (error, square) in errors.as_flattened_mut().iter_mut().zip(squares.as_flattened()) {
            let norm = 1.001 * f64::from(*square).sqrt() + TINY;
            let next = self.largest * *error + self.share * (self.bias + self.frobenius * norm);
            *error = if *error < LARGEST && next < LARGEST { next } else { f64::INFINITY };
        }
    }
}

impl InShort {
    /// `None` if the network needs double precision.
    pub(super) fn new(net: &Deep) -> Option<Self> {
        let numbers =
            net.layers.iter().flat_map(|[forwards, _]| [&forwards.weights, &forwards.bias]);
        let numbers =
            numbers.flat_map(|some| some.as_flattened()).chain(&net.output).chain([&net.bias]);
        let is_small = numbers.into_iter().all(|x| x.abs() < LARGEST) && net.n_units <= MOST_UNITS;
        if !(is_small && net.activation == Activation::Relu) {
            return None;
        }
        let short = |four: &[f64; TOGETHER]| four.map(|w| w as f32);
        let layer = |matrix: &Matrix| {
            let Matrix { n_in, n_out, weights, bias } = matrix;
            let row = |row: usize| {
                let inputs = weights.chunks_exact(*n_in).nth(row / TOGETHER).unwrap_or_default();
                inputs.iter().map(move |four| four[row % TOGETHER])
            };
            let rows: Vec<f64> = (0..*n_out).flat_map(row).collect();
            Layer {
                n_in: *n_in,
                n_out: *n_out,
                weights: weights.iter().map(short).collect(),
                bias: bias.iter().map(short).collect(),
                norms: Norms::new(&rows, *n_in, bias.as_flattened()),
            }
        };
        Some(Self {
            layers: net.layers.iter().map(|[forwards, _]| layer(forwards)).collect(),
            output: net.output.iter().map(|w| *w as f32).collect(),
            bias: net.bias as f32,
            last: Norms::new(&net.output, net.output.len(), &[net.bias]),
        })
    }

    /// Converts lines that were placed in double precision.
    pub(super) fn place(&self, p: &[Lanes], rate: &[f64], scratch: &mut Scratch) {
        scratch.p.clear();
        scratch.p.extend(p.iter().map(|lanes| lanes.map(|z| z as f32)));
        scratch.rate.clear();
        scratch.rate.extend(rate.iter().map(|c| *c as f32));
        let mut squares = [0.0; LANES];
        for lanes in p {
            squares.iter_mut().zip(lanes).for_each(|(sum, z)| *sum += z * z);
        }
        scratch.norms = squares.map(|sum| sum.sqrt() + TINY);
        scratch.rate_norm = rate.iter().map(|c| c * c).sum::<f64>().sqrt() + TINY;
    }

    /// Scores at two points of the placed lines, and bounds on their errors; infinite if there is
    /// no bound.
    #[inline(always)]
    pub(super) fn scores<S: Simd>(
        &self,
        simd: S,
        t: &Pair,
        scratch: &mut Scratch,
    ) -> (Pair, [Lanes; 2]) {
        let Scratch { p, rate, norms, rate_norm, values, next, active } = scratch;
        let points = t.map(|t| Short::<S>::load(simd, &t));
        values.resize(p.len(), Pair::default());
        for ((value, p), c) in values.iter_mut().zip(&*p).zip(&*rate) {
            let (p, c) = (Short::<S>::load(simd, p), simd.splat_f32s(*c));
            for (value, t) in value.iter_mut().zip(&points) {
                let mut z = p;
                for h in 0..Short::<S>::PARTS {
                    z.0[h] = simd.mul_add_f32s(t.0[h], c, p.0[h]);
                }
                *value = z.singles();
            }
        }
        let mut errors = [[0.0; LANES]; 2];
        for (errors, t) in errors.iter_mut().zip(t) {
            for lane in 0..LANES {
                let size = norms[lane] + (1.0 + f64::from(t[lane].abs())) * *rate_norm;
                errors[lane] = 3.0 * ROUNDING * size + TINY;
            }
        }
        for layer in &self.layers {
            let sizes = rectify(simd, values, active);
            layer.norms.add(&mut errors, &sizes);
            layer.product(simd, (values, active), next);
            std::mem::swap(values, next);
        }
        let sizes = rectify(simd, values, active);
        self.last.add(&mut errors, &sizes);
        let mut sums = [Short::<S>::splat(simd, self.bias); 2];
        for &i in &*active {
            let w = simd.splat_f32s(self.output[i]);
            for (sum, value) in sums.iter_mut().zip(&values[i]) {
                let value = Short::<S>::load(simd, value);
                for h in 0..Short::<S>::PARTS {
                    sum.0[h] = simd.mul_add_f32s(w, value.0[h], sum.0[h]);
                }
            }
        }
        (sums.map(Short::singles), errors)
    }
}

/// Applies the rectifier, lists the units that are on in some lane, and returns the sums of
/// squares.
#[inline(always)]
fn rectify<S: Simd>(simd: S, values: &mut [Pair], active: &mut Vec<usize>) -> Pair {
    let zero = simd.splat_f32s(0.0);
    let mut squares = [Short::<S>::splat(simd, 0.0); 2];
    active.clear();
    for (i, pair) in values.iter_mut().enumerate() {
        let mut largest = zero;
        for (value, square) in pair.iter_mut().zip(&mut squares) {
            let mut z = Short::<S>::load(simd, value);
            for h in 0..Short::<S>::PARTS {
                z.0[h] = simd.max_f32s(z.0[h], zero);
                square.0[h] = simd.mul_add_f32s(z.0[h], z.0[h], square.0[h]);
                largest = simd.max_f32s(largest, z.0[h]);
            }
            *value = z.singles();
        }
        if simd.reduce_max_f32s(largest) > 0.0 {
            active.push(i);
        }
    }
    squares.map(Short::singles)
}

impl Layer {
    /// [`Matrix::product`].
    #[inline(always)]
    fn product<S: Simd>(
        &self,
        simd: S,
        (input, active): (&[Pair], &[usize]),
        output: &mut Vec<Pair>,
    ) {
        output.resize(self.bias.len() * TOGETHER, Pair::default());
        let groups = self.weights.chunks_exact(self.n_in).zip(&self.bias);
        for ((weights, bias), output) in groups.zip(output.as_chunks_mut::<TOGETHER>().0) {
            let mut sums = bias.map(|b| [Short::<S>::splat(simd, b); 2]);
            for &i in active {
                let input = input[i].map(|value| Short::<S>::load(simd, &value));
                for (sum, w) in sums.iter_mut().zip(&weights[i]) {
                    let w = simd.splat_f32s(*w);
                    for (sum, input) in sum.iter_mut().zip(&input) {
                        for h in 0..Short::<S>::PARTS {
                            sum.0[h] = simd.mul_add_f32s(w, input.0[h], sum.0[h]);
                        }
                    }
                }
            }
            for (sum, output) in sums.into_iter().zip(output) {
                *output = sum.map(Short::singles);
            }
        }
        output.truncate(self.n_out);
    }
}
