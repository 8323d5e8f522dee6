//! Networks of several layers, eight lines side by side: scores at stratified points, and during a
//! search one root per line.
//!
//! The image of a point is the pre-activation of the first layer. Along a line it is $p + tq$,
//! which costs nothing. Each further layer is a product of its matrix with eight columns. Several
//! rows are computed at a time and their sums stay in registers, so that inputs are loaded once for
//! all of them. A stratified point takes one pass through the layers (`strata.rs` says why points
//! are enough). A Newton step takes one pass forwards and one backwards, which gives the slopes
//! with respect to the image. Following a line from kink to kink takes one pass per kink, for one
//! line at a time.

mod short;

use super::shallow::{Bundle, NEAR};
use super::smooth::jet;
use super::wide::{Singles, Wide};
use super::{LANES, Lanes};
use crate::math::quick_cdf_and_pdf;
use crate::model::{Activation, Layer, Mlp, Model};
use pulp::Simd;
use short::InShort;
use std::sync::OnceLock;

/// Rows of a matrix whose sums are kept in registers together.
const TOGETHER: usize = 4;
/// At most this many steps to a root; the last position then counts as the root.
const MAX_STEPS: usize = 12;
/// A step of at most this length, in standard deviations, is the last one: few lines have a kink
/// within it.
const SHORT: f64 = 5e-3;

/// The part of a network after the pre-activations of the first layer.
pub(super) struct Deep {
    activation: Activation,
    /// Hidden layers after the first, for passes forwards and backwards.
    layers: Vec<[Matrix; 2]>,
    /// Weights of the score.
    output: Vec<f64>,
    /// Bias of the score minus the threshold.
    bias: f64,
    n_units: usize,
    /// The network in single precision, if that is precise enough; built when first needed.
    short: OnceLock<Option<InShort>>,
}

/// A matrix in groups of rows; each group is stored input by input. The last group is padded with
/// zeros.
struct Matrix {
    n_in: usize,
    n_out: usize,
    weights: Vec<[f64; TOGETHER]>,
    bias: Vec<[f64; TOGETHER]>,
}

/// Scratch of one thread, for eight lines.
#[derive(Default)]
pub(super) struct Scratch {
    /// Images of the lines' bases.
    p: Vec<Lanes>,
    /// Activations of all hidden layers, one after the other, and their derivatives.
    values: Vec<Lanes>,
    derivatives: Vec<Lanes>,
    /// Slopes of the score with respect to the pre-activations of a layer.
    slopes: Vec<Lanes>,
    /// A buffer for the slopes of the next layer.
    spare: Vec<Lanes>,
    active: Vec<usize>,
    short: short::Scratch,
}

/// The search for a root of one line.
#[derive(Clone, Copy)]
struct Steps {
    /// The next position, and the root once it is known.
    at: f64,
    root: f64,
    /// The line is rejected at `low` and accepted at `high`, or these are its ends.
    low: f64,
    high: f64,
    slope: f64,
    /// The previous position, and its score.
    before: Option<(f64, f64)>,
}

impl Steps {
    fn new(bundle: &Bundle<'_>) -> Self {
        let Bundle { guess: at, slope, .. } = *bundle;
        Self { at, root: f64::NAN, low: -NEAR, high: NEAR, slope, before: None }
    }

    /// Takes the score at the current position, and chooses the next position or the root.
    #[inline(always)]
    fn update(&mut self, score: f64) {
        let here = self.at;
        if !self.root.is_nan() {
            return;
        }
        if let Some((at, other)) = self.before.replace((here, score)) {
            self.slope = (score - other) / (here - at);
        }
        let end = if score > 0.0 { &mut self.high } else { &mut self.low };
        *end = here;
        let step = -score / self.slope;
        let next = here + step;
        if (here <= -NEAR && score > 0.0) || (here >= NEAR && score <= 0.0) {
            // Accepted at the left end, or rejected at the right one: there is no root.
            self.root = here;
        } else if self.slope > 0.0 && next > self.low && next < self.high {
            (self.at, self.root) =
                if step.abs() <= SHORT { (here, next) } else { (next, f64::NAN) };
        } else if self.slope > 0.0 && next <= -NEAR && self.low == -NEAR {
            self.at = -NEAR;
        } else if self.slope > 0.0 && next >= NEAR && self.high == NEAR {
            self.at = NEAR;
        } else {
            self.at = 0.5 * (self.low + self.high);
        }
    }
}

impl Matrix {
    fn new(n_in: usize, n_out: usize, weight: impl Fn(usize, usize) -> f64, bias: &[f64]) -> Self {
        let row = |group: usize, k: usize| Some(group * TOGETHER + k).filter(|row| *row < n_out);
        let groups = 0..n_out.div_ceil(TOGETHER);
        let inputs = groups.clone().flat_map(|group| (0..n_in).map(move |i| (group, i)));
        Self {
            n_in,
            n_out,
            weights: inputs
                .map(|(group, i)| {
                    std::array::from_fn(|k| row(group, k).map_or(0.0, |row| weight(row, i)))
                })
                .collect(),
            bias: groups
                .map(|group| {
                    std::array::from_fn(|k| {
                        row(group, k).and_then(|row| bias.get(row)).map_or(0.0, |b| *b)
                    })
                })
                .collect(),
        }
    }

    /// The product with eight columns, and the bias. `output` needs room for whole groups. Inputs
    /// that are zero in all lanes, half of the rectifiers, are left out; `active` is scratch.
    #[inline(always)]
    fn product<S: Simd>(
        &self,
        simd: S,
        input: &[Lanes],
        active: &mut Vec<usize>,
        output: &mut [Lanes],
    ) {
        active.clear();
        active.extend((0..self.n_in).filter(|i| input[*i].iter().any(|x| *x != 0.0)));
        let groups = self.weights.chunks_exact(self.n_in).zip(&self.bias);
        for ((weights, bias), output) in groups.zip(output.as_chunks_mut::<TOGETHER>().0) {
            let mut sums = bias.map(|b| Wide::<S>::splat(simd, b));
            for &i in &*active {
                let input = Wide::<S>::load(simd, &input[i]);
                for (sum, w) in sums.iter_mut().zip(&weights[i]) {
                    let w = simd.splat_f64s(*w);
                    for h in 0..Wide::<S>::PARTS {
                        sum.0[h] = simd.mul_add_f64s(w, input.0[h], sum.0[h]);
                    }
                }
            }
            for (sum, output) in sums.into_iter().zip(output) {
                sum.store(output);
            }
        }
    }
}

impl Deep {
    pub(super) fn new(mlp: &Mlp) -> Self {
        let both = |layer: &Layer| {
            let (n_in, n_out) = (layer.n_in(), layer.n_out());
            [
                Matrix::new(n_in, n_out, |o, i| layer.row(o)[i], layer.bias()),
                Matrix::new(n_out, n_in, |i, o| layer.row(o)[i], &[]),
            ]
        };
        let (output, bias) = mlp.output();
        Self {
            activation: mlp.activation(),
            layers: mlp.hidden()[1..].iter().map(both).collect(),
            output: output.to_vec(),
            bias: bias - mlp.threshold(),
            n_units: mlp.hidden().iter().map(Layer::n_out).sum(),
            short: OnceLock::new(),
        }
    }

    /// The rejected masses of eight lines, estimated from one point in each stratum: the total size
    /// of the strata whose point is rejected. `points` are those of all groups, stratum by stratum;
    /// `group` is the number of this group.
    #[inline(always)]
    pub(super) fn shares<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        lines: (&[Lanes], &Lanes),
        (points, sizes, group): (&[&[Singles]], &[f64], usize),
        scratch: &mut Scratch,
    ) -> Lanes {
        self.place(simd, bundle, lines, scratch);
        let short = self.short.get_or_init(|| InShort::new(self)).as_ref();
        if let Some(short) = short {
            short.place(&scratch.p, bundle.rate, &mut scratch.short);
        }
        let mut refused = [1.0; LANES];
        for (points, sizes) in points.chunks(2).zip(sizes.chunks(2)) {
            let t: short::Pair = std::array::from_fn(|k| points[k % points.len()][group]);
            let seen = short.map(|short| short.scores(simd, &t, &mut scratch.short));
            for (k, size) in sizes.iter().enumerate() {
                let (mut scores, doubts) = match &seen {
                    Some((scores, doubts)) => (scores[k].map(f64::from), doubts[k]),
                    None => ([0.0; LANES], [f64::INFINITY; LANES]),
                };
                // A comparison with NaN is false, so that NaN counts as undecided.
                let known: [bool; LANES] = std::array::from_fn(|lane| {
                    (scores[lane] - bundle.rounding_error).abs() > doubts[lane]
                });
                if !known.iter().all(|known| *known) {
                    let t = Wide::load(simd, &t[k].map(f64::from));
                    let closer = self.scores::<S, false>(simd, bundle.rate, t, scratch).lanes();
                    scores =
                        std::array::from_fn(
                            |lane| if known[lane] { scores[lane] } else { closer[lane] },
                        );
                }
                for (refused, score) in refused.iter_mut().zip(scores) {
                    // Sizes are powers of two: their sums are exact. NaN counts as a
                    // rejection.
                    *refused -= if score > bundle.rounding_error { *size } else { 0.0 };
                }
            }
        }
        refused
    }

    /// The masses of eight lines under the assumption that each has a single root: the one that
    /// secant steps reach from the expected position. Unless `sums` is empty, the roots' slopes are
    /// added to it.
    #[inline(always)]
    pub(super) fn rough_masses<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        lines: (&[Lanes], &Lanes),
        sums: &mut [Lanes],
        scratch: &mut Scratch,
    ) -> Lanes {
        self.place(simd, bundle, lines, scratch);
        let roots = self.roots(simd, bundle, scratch);
        let along = match sums.is_empty() {
            true => [f64::INFINITY; LANES],
            false => self.slopes(simd, bundle.rate, scratch),
        };
        let (mut masses, mut weights) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let (below, density) = quick_cdf_and_pdf(roots[lane]);
            masses[lane] = below;
            // A line without a root, or flat at its root, has no density.
            let weight = -density / along[lane].abs();
            weights[lane] =
                if roots[lane].abs() < NEAR && weight.is_finite() { weight } else { 0.0 };
        }
        if !sums.is_empty() {
            let weights = Wide::<S>::load(simd, &weights);
            for (sum, slopes) in sums.iter_mut().zip(&scratch.slopes) {
                let (mut total, slopes) =
                    (Wide::<S>::load(simd, sum), Wide::<S>::load(simd, slopes));
                for h in 0..Wide::<S>::PARTS {
                    total.0[h] = simd.mul_add_f64s(weights.0[h], slopes.0[h], total.0[h]);
                }
                total.store(sum);
            }
        }
        masses
    }

    /// Roots of the placed lines, by secant steps from the expected position; ±[`NEAR`] for lines
    /// without a root in between. The last computed scores are at the roots or next to them.
    #[inline(always)]
    fn roots<S: Simd>(&self, simd: S, bundle: &Bundle<'_>, scratch: &mut Scratch) -> Lanes {
        let mut lines = [Steps::new(bundle); LANES];
        for _ in 0..MAX_STEPS {
            let t = lines.map(|line| line.at);
            let scores =
                self.scores::<S, true>(simd, bundle.rate, Wide::load(simd, &t), scratch).lanes();
            for (line, score) in lines.iter_mut().zip(scores) {
                line.update(score - bundle.rounding_error);
            }
            if lines.iter().all(|line| !line.root.is_nan()) {
                break;
            }
        }
        lines.map(|line| if line.root.is_nan() { line.at } else { line.root })
    }

    /// Puts the images of the lines' bases into `p`.
    #[inline(always)]
    fn place<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        (image, along): (&[Lanes], &Lanes),
        scratch: &mut Scratch,
    ) {
        // Products fill whole groups of rows.
        let room = self.n_units + TOGETHER;
        for buffer in
            [&mut scratch.values, &mut scratch.derivatives, &mut scratch.slopes, &mut scratch.spare]
        {
            buffer.resize(room, [0.0; LANES]);
        }
        scratch.p.resize(image.len(), [0.0; LANES]);
        let back = Wide::<S>::load(simd, &along.map(|t| -t));
        for ((p, image), (b, c)) in
            scratch.p.iter_mut().zip(image).zip(bundle.base.iter().zip(bundle.rate))
        {
            let (b, c, mut row) =
                (simd.splat_f64s(*b), simd.splat_f64s(*c), Wide::<S>::load(simd, image));
            for h in 0..Wide::<S>::PARTS {
                row.0[h] = simd.mul_add_f64s(back.0[h], c, simd.add_f64s(b, row.0[h]));
            }
            row.store(p);
        }
    }

    /// Scores of the lines, each at its own position. With `SLOPES`, derivatives of the activations
    /// are stored.
    #[inline(always)]
    fn scores<S: Simd, const SLOPES: bool>(
        &self,
        simd: S,
        rate: &[f64],
        t: Wide<S>,
        scratch: &mut Scratch,
    ) -> Wide<S> {
        let Scratch { p, values, derivatives, active, .. } = scratch;
        for ((p, c), value) in p.iter().zip(rate).zip(&mut *values) {
            let (c, mut z) = (simd.splat_f64s(*c), Wide::<S>::load(simd, p));
            for h in 0..Wide::<S>::PARTS {
                z.0[h] = simd.mul_add_f64s(t.0[h], c, z.0[h]);
            }
            z.store(value);
        }
        let (mut from, mut to) = (0, p.len());
        self.activate::<S, SLOPES>(simd, &mut values[..to], &mut derivatives[..to]);
        for [forwards, _] in &self.layers {
            let (before, after) = values.split_at_mut(to);
            forwards.product(simd, &before[from..], active, after);
            (from, to) = (to, to + forwards.n_out);
            self.activate::<S, SLOPES>(simd, &mut values[from..to], &mut derivatives[from..to]);
        }
        // Two sums that take turns, so that no addition waits for the previous one.
        let mut sums = [self.bias, 0.0].map(|x| Wide::<S>::splat(simd, x));
        for (i, (value, w)) in values[from..to].iter().zip(&self.output).enumerate() {
            let (value, w, sum) =
                (Wide::<S>::load(simd, value), simd.splat_f64s(*w), &mut sums[i % 2]);
            for h in 0..Wide::<S>::PARTS {
                sum.0[h] = simd.mul_add_f64s(w, value.0[h], sum.0[h]);
            }
        }
        let [mut score, other] = sums;
        for h in 0..Wide::<S>::PARTS {
            score.0[h] = simd.add_f64s(score.0[h], other.0[h]);
        }
        score
    }

    /// The slopes along the lines at the positions of the last scores. The slopes with respect to
    /// the image are left in `scratch.slopes`.
    #[inline(always)]
    fn slopes<S: Simd>(&self, simd: S, rate: &[f64], scratch: &mut Scratch) -> Lanes {
        let Scratch { derivatives, slopes, spare, active, .. } = scratch;
        let mut from = self.n_units - self.output.len();
        for ((slope, w), derivative) in
            slopes.iter_mut().zip(&self.output).zip(&derivatives[from..])
        {
            for lane in 0..LANES {
                slope[lane] = w * derivative[lane];
            }
        }
        for [_, back] in self.layers.iter().rev() {
            back.product(simd, slopes, active, spare);
            from -= back.n_out;
            for (slope, derivative) in spare.iter_mut().zip(&derivatives[from..from + back.n_out]) {
                for lane in 0..LANES {
                    slope[lane] *= derivative[lane];
                }
            }
            std::mem::swap(slopes, spare);
        }
        let mut along = Wide::<S>::splat(simd, 0.0);
        for (slope, c) in slopes.iter().zip(rate) {
            let (slope, c) = (Wide::<S>::load(simd, slope), simd.splat_f64s(*c));
            for h in 0..Wide::<S>::PARTS {
                along.0[h] = simd.mul_add_f64s(c, slope.0[h], along.0[h]);
            }
        }
        along.lanes()
    }

    /// Replaces pre-activations by activations.
    #[inline(always)]
    fn activate<S: Simd, const SLOPES: bool>(
        &self,
        simd: S,
        values: &mut [Lanes],
        derivatives: &mut [Lanes],
    ) {
        if !self.activation.is_piecewise_linear() {
            for (value, derivative) in values.iter_mut().zip(derivatives) {
                for lane in 0..LANES {
                    if SLOPES {
                        (value[lane], derivative[lane]) = jet(self.activation, value[lane]);
                    } else {
                        value[lane] = self.activation.value(value[lane]);
                    }
                }
            }
            return;
        }
        let leak = self.activation.derivative(-1.0);
        let [zero, one, leak] = [0.0, 1.0, leak].map(|x| simd.splat_f64s(x));
        for (value, derivative) in values.iter_mut().zip(derivatives) {
            let mut z = Wide::<S>::load(simd, value);
            let mut on = z;
            for h in 0..Wide::<S>::PARTS {
                if SLOPES {
                    on.0[h] = simd.select_f64s(simd.greater_than_f64s(z.0[h], zero), one, leak);
                }
                z.0[h] = simd.max_f64s(z.0[h], simd.mul_f64s(leak, z.0[h]));
            }
            if SLOPES {
                on.store(derivative);
            }
            z.store(value);
        }
    }
}

#[cfg(test)]
mod tests;
