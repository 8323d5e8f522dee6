//! Networks with one hidden layer of rectifiers. Along a line the score is piecewise linear, with
//! one kink per hidden unit.
//!
//! The image of a point is $Z_i = v_i (w_i^\top x + b_i)$: hidden units scaled by their weight in
//! the score, those with $v_i > 0$ first. Then $f = c + \sum_{v_i>0} \max(Z_i, 0) + \sum_{v_i<0}
//! \min(Z_i, 0)$, and along a line $Z = P + tC$. Leaky rectifiers with slope $\alpha$ below zero
//! have $v$ scaled by $1-\alpha$, and $\frac{\alpha}{1-\alpha}\sum Z_i$ is added to $f$.
//!
//! Eight lines are evaluated side by side. A unit that does not change its sign on $|t| \le T$ has
//! a fixed slope there; any other has a slope between 0 and $C_i$. Therefore $\underline s =
//! \sum_{\text{always on}} C_i^+ + \sum_{\text{sometimes on}} C_i^-$ is a lower bound of the slope,
//! at the price of one comparison per unit.
//!
//! - If $\underline s > 0$, the score is increasing. Newton steps find its one root; they are exact
//!   once they reach the root's piece. The last step is that with $|f|/\underline s \le 10^{-6}$,
//!   which bounds the distance to the root. The mass of that distance, and the mass beyond $T$,
//!   $\bar\Phi(6) \approx 10^{-9}$, counts as rejected: at most $4\cdot10^{-7}$ per line, so that
//!   the rate is never understated.
//! - Other lines are divided into pieces until the same bounds show that each piece is monotone or
//!   keeps its sign.
//! - Lines that cannot be divided in this way sort their kinks and visit them from left to right,
//!   which gives every root exactly up to rounding.

mod shaped;
mod stratified;
#[cfg(test)]
mod tests;
mod walk;

pub(super) use stratified::ShortImages;

use super::crossing::{Marginal, Root};
use super::wide::{Wide, add_units, add_weights, place_units};
use super::{LANES, Lanes};
use crate::math::{dot, quick_cdf_and_pdf, vectorised};
use pulp::Simd;

/// Half length of the part of a line that the fast path covers.
pub(super) const NEAR: f64 = 6.0;
/// The mass of the largest error of a root plus $\bar\Phi(6)$, rounded up.
const SAFETY: f64 = 4e-7 + 1e-9;
/// Pieces narrower than this are not halved again.
const SMALLEST: f64 = 0.1;
/// Newton steps before a line is left to the exact walk over its kinks.
const MAX_STEPS: usize = 10;
/// Roots are at least this precise before the last step, in standard deviations.
const PRECISION: f64 = 1e-6;
/// The slope at a root is taken this far beyond it, in standard deviations. If a unit has its kink
/// at the root, as in `relu(z) - relu(-z)`, rounding decides whether the unit is on at the
/// root, and without it the slope may be zero.
pub(super) const ASIDE: f64 = 1e-10;

/// The network in image space.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shallow {
    /// Number of units with a positive weight in the score; they come first.
    n_up: usize,
    /// $c$: bias of the score, less its threshold.
    bias: f64,
    /// $\alpha/(1-\alpha)$ for rectifiers with slope $\alpha$ below zero.
    leak: f64,
}

/// The data that all lines around one point share.
pub(super) struct Bundle<'a> {
    /// Identifies a bundle within a thread.
    pub number: u64,
    /// Image of the centre, and its change per unit of $t$.
    pub base: &'a [f64],
    pub rate: &'a [f64],
    /// The expected position of the root, within $|t| \le T$.
    pub guess: f64,
    /// Slope of the score along the line, at the centre.
    pub slope: f64,
    /// The distribution of positions along the line.
    pub marginal: Marginal<'a>,
    /// Scores up to this count as rejected, because rounding could turn a zero into them.
    pub rounding_error: f64,
    /// Whether to use only the root nearest to the expected position, even if there may be others.
    /// Searches do so.
    pub rough: bool,
}

/// Eight lines at one position: scores, and slopes of the units of positive and of negative weight.
#[derive(Clone, Copy)]
struct End {
    at: f64,
    score: Lanes,
    up: Lanes,
    down: Lanes,
}

/// A piece of eight lines: scores at its ends, and the least and largest slope in it.
struct Piece {
    left: Lanes,
    right: Lanes,
    least: Lanes,
    most: Lanes,
}

/// Scratch buffers.
#[derive(Default)]
pub(super) struct Scratch {
    /// Input of [`Shallow::place`] for the expected position of the root; see [`Shallow::start`].
    pub(super) start: Vec<[f64; 2]>,
    p: Vec<Lanes>,
    /// Right ends of the remaining pieces, the nearest last.
    pieces: Vec<End>,
    /// Roots, slopes, and which lanes have one.
    found: Vec<(Lanes, Lanes, Lanes)>,
    line: Vec<f64>,
    kinks: Vec<(f64, f64)>,
    roots: Vec<Root>,
    pub(super) short: stratified::Short,
    /// Number of lines that were not known to be increasing, since this was last set to zero.
    pub(super) bent: usize,
}

impl Shallow {
    /// For hidden units with weights `output` in the score: the units that are not always zero, in
    /// image order, each with its factor.
    pub(super) fn new(output: &[f64], bias: f64, alpha: f64) -> (Self, Vec<(usize, f64)>) {
        let with_sign = |sign: f64| {
            output.iter().enumerate().filter(move |(_, v)| sign * **v > 0.0).map(|(i, v)| (i, *v))
        };
        let n_up = with_sign(1.0).count();
        let mut units: Vec<(usize, f64)> =
            with_sign(1.0).chain(with_sign(-1.0)).map(|(i, v)| (i, v * (1.0 - alpha))).collect();
        if units.is_empty() {
            // A constant score: one unit that is never on.
            units.push((0, 0.0));
        }
        (Self { n_up, bias, leak: alpha / (1.0 - alpha) }, units)
    }

    /// Sum of the magnitudes of all terms of a score, given those of the units.
    pub(super) fn magnitude(&self, units: &[f64]) -> f64 {
        self.bias.abs() + (1.0 + self.leak) * units.iter().sum::<f64>()
    }

    /// Upper bounds on the gain in score from moving up and from moving down along `row` of the
    /// image: as if all units that help were on and all that harm were off.
    pub(super) fn steepest(&self, row: &[f64]) -> [f64; 2] {
        let [mut up, mut down] = [0.0; 2];
        for z in row {
            up += z.max(0.0) + self.leak * z;
            down += (-z).max(0.0) - self.leak * z;
        }
        // A margin for the rounding of the sums.
        [up, down].map(|most| most + 1e-12 * most.abs())
    }

    /// The score at an image, and its slopes with respect to the image.
    pub(super) fn score_and_slopes(&self, image: &[f64], slopes: &mut [f64]) -> f64 {
        vectorised(
            #[inline(always)]
            || {
                let (up, down) = image.split_at(self.n_up);
                let (slopes_up, slopes_down) = slopes.split_at_mut(self.n_up);
                for (z, slope) in up.iter().zip(slopes_up) {
                    *slope = if *z > 0.0 { 1.0 + self.leak } else { self.leak };
                }
                for (z, slope) in down.iter().zip(slopes_down) {
                    *slope = if *z < 0.0 { 1.0 + self.leak } else { self.leak };
                }
                self.bias + dot(slopes, image)
            },
        )
    }

    /// The rejected masses of eight lines through the errors with these images. `along` are the
    /// positions of the errors themselves on their lines; positions are normal. Unless `sums` is
    /// empty, each root adds $-\varphi(t)/f'(t)$ to the sums of the units that are on there, lane
    /// by lane.
    #[inline(always)]
    pub(super) fn masses<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        (image, along): (&[Lanes], &Lanes),
        sums: &mut [Lanes],
        scratch: &mut Scratch,
    ) -> Lanes {
        let net = Self { bias: self.bias - bundle.rounding_error, ..*self };
        scratch.p.resize(image.len(), [0.0; LANES]);
        let Scratch { p, start, .. } = scratch;
        let sums_at_guess = net.place(simd, bundle.rate, start, (image, along), p);
        // Positions are relative to the expected root.
        let (at, slope) = net.newton(simd, bundle, p, sums_at_guess);
        let (mut masses, mut weights) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let root = at[lane] + bundle.guess;
            let (below, density) = quick_cdf_and_pdf(root);
            masses[lane] = (below + SAFETY).min(1.0);
            // A line without a root has no density.
            weights[lane] = if root.abs() < NEAR { -density / slope[lane] } else { 0.0 };
        }
        if !sums.is_empty() {
            net.add_slopes(simd, bundle.rate, &scratch.p, (&at, &weights), sums);
        }
        scratch.bent += sums_at_guess[0].lanes().iter().filter(|least| **least <= 0.0).count();
        if at.iter().any(|t| t.is_nan()) {
            let mut todo: Lanes = at.map(|t| if t.is_nan() { 1.0 } else { 0.0 });
            // From here on positions are relative to the middle.
            net.start(bundle.base, bundle.rate, 0.0, &mut scratch.start);
            net.place(simd, bundle.rate, &scratch.start, (image, along), &mut scratch.p);
            net.start(bundle.base, bundle.rate, bundle.guess, &mut scratch.start);
            net.divide(simd, bundle.rate, &mut todo, &mut masses, sums, scratch);
            for lane in (0..LANES).filter(|&lane| todo[lane] > 0.0) {
                masses[lane] = net.walk(bundle, lane, sums, scratch);
            }
        }
        masses
    }

    /// Masses of the lines in `todo`, which are not known to be increasing. Halves the part within
    /// $T$, for all lines together, until each piece is known to be monotone or to keep its sign.
    /// Lines for which this fails stay in `todo`.
    #[inline(always)]
    fn divide<S: Simd>(
        &self,
        simd: S,
        rate: &[f64],
        todo: &mut Lanes,
        masses: &mut Lanes,
        sums: &mut [Lanes],
        scratch: &mut Scratch,
    ) {
        let Scratch { p, pieces, found, .. } = scratch;
        pieces.clear();
        found.clear();
        let mut left = self.end(simd, rate, p, -NEAR);
        pieces.extend([self.end(simd, rate, p, NEAR), self.end(simd, rate, p, 0.0)]);
        let (first, mut pending) = (left.score, *todo);
        // From left to right: each piece ends where the next one begins.
        while let Some(right) = pieces.last() {
            let (a, b) = (left.at, right.at);
            // The terms with positive weight are convex and the others concave, so that their
            // slopes lie between those at the two ends.
            let (mut lows, mut highs) = ([0.0; LANES], [0.0; LANES]);
            for lane in 0..LANES {
                lows[lane] = left.up[lane] + right.down[lane];
                highs[lane] = right.up[lane] + left.down[lane];
            }
            let piece = Piece { left: left.score, right: right.score, least: lows, most: highs };
            let (mut split, mut roots) = (0.0, 0.0);
            let mut crossing = [0.0; LANES];
            for lane in 0..LANES {
                let (l, r) = (piece.left[lane], piece.right[lane]);
                let (low, high) = (lows[lane], highs[lane]);
                let crosses = (l <= 0.0) != (r <= 0.0);
                let monotone = (low > 0.0) | (high < 0.0);
                // The least and largest score on the piece if slopes lie between `low` and `high`.
                let (width, spread) = (b - a, high - low);
                let least = l + low * ((l - r + high * width) / spread);
                let largest = l + high * ((r - l - low * width) / spread);
                let keeps = (least > 0.0) | (largest < 0.0);
                let settled = monotone | (keeps & !crosses);
                split += if !settled & (pending[lane] > 0.0) { 1.0 } else { 0.0 };
                crossing[lane] = if monotone & crosses & (pending[lane] > 0.0) { 1.0 } else { 0.0 };
                roots += crossing[lane];
            }
            if split > 0.0 && b - a > SMALLEST {
                pieces.push(self.end(simd, rate, p, 0.5 * (a + b)));
                continue;
            }
            if split > 0.0 {
                for (pending, (low, high)) in pending.iter_mut().zip(lows.iter().zip(&highs)) {
                    *pending = if (*low > 0.0) | (*high < 0.0) { *pending } else { 0.0 };
                }
            }
            if roots > 0.0 {
                let (at, slope) = self.newton_within(simd, rate, p, &piece, (a, b), &crossing);
                for lane in 0..LANES {
                    let lost = crossing[lane] > 0.0 && at[lane].is_nan();
                    pending[lane] = if lost { 0.0 } else { pending[lane] };
                    crossing[lane] = if lost { 0.0 } else { crossing[lane] };
                }
                found.push((at, slope, crossing));
            }
            left = *right;
            pieces.pop();
        }
        self.add_up(simd, (rate, p), (&first, &pending), found, (todo, masses), sums);
    }

    /// Adds up the masses of `pending` lines from their roots, in order from the left, where the
    /// scores are `first`.
    #[inline(always)]
    fn add_up<S: Simd>(
        &self,
        simd: S,
        (rate, p): (&[f64], &[Lanes]),
        (first, pending): (&Lanes, &Lanes),
        found: &[(Lanes, Lanes, Lanes)],
        (todo, masses): (&mut Lanes, &mut Lanes),
        sums: &mut [Lanes],
    ) {
        let mut total = [SAFETY; LANES];
        let mut refused = first.map(|f| if f <= 0.0 { 1.0 } else { 0.0 });
        for (at, slope, crossing) in found {
            let mut weights = [0.0; LANES];
            for lane in 0..LANES {
                if crossing[lane] > 0.0 && pending[lane] > 0.0 {
                    let (below, density) = quick_cdf_and_pdf(at[lane]);
                    // A rising root ends a rejected part, a falling one begins it.
                    total[lane] += SAFETY + if slope[lane] > 0.0 { below } else { -below };
                    refused[lane] = if slope[lane] > 0.0 { 0.0 } else { 1.0 };
                    weights[lane] = -density / slope[lane].abs();
                }
            }
            if !sums.is_empty() {
                self.add_slopes(simd, rate, p, (at, &weights), sums);
            }
        }
        for lane in 0..LANES {
            if pending[lane] > 0.0 {
                masses[lane] = (total[lane] + refused[lane]).clamp(0.0, 1.0);
                todo[lane] = 0.0;
            }
        }
    }

    /// Scores and slopes of all lines at one position, with separate slopes for units of positive
    /// and of negative weight.
    #[inline(always)]
    fn end<S: Simd>(&self, simd: S, rate: &[f64], p: &[Lanes], at: f64) -> End {
        let [mut score, mut rising, mut falling] =
            [self.bias, 0.0, 0.0].map(|x| Wide::splat(simd, x));
        let t = Wide::splat(simd, at);
        let (up, down) = p.split_at(self.n_up);
        let (rate_up, rate_down) = rate.split_at(self.n_up);
        add_units::<S, true>(simd, rate_up, up, t, (&mut score, &mut rising));
        add_units::<S, false>(simd, rate_down, down, t, (&mut score, &mut falling));
        self.add_leaks(simd, rate, p, t, (&mut score, &mut rising));
        End { at, score: score.lanes(), up: rising.lanes(), down: falling.lanes() }
    }

    /// Roots of the `crossing` lines, which are monotone between `a` and `b`; NaN if Newton steps
    /// do not converge.
    #[inline(always)]
    fn newton_within<S: Simd>(
        &self,
        simd: S,
        rate: &[f64],
        p: &[Lanes],
        piece: &Piece,
        (a, b): (f64, f64),
        crossing: &Lanes,
    ) -> (Lanes, Lanes) {
        let mut t = [0.0; LANES];
        for lane in 0..LANES {
            let (l, r) = (piece.left[lane], piece.right[lane]);
            t[lane] = if crossing[lane] > 0.0 { a + (b - a) * (l / (l - r)) } else { a };
        }
        let (mut slope, mut done) = ([0.0; LANES], [0.0; LANES]);
        for _ in 0..MAX_STEPS {
            let (score, steep) = self.evaluate(simd, rate, p, Wide::load(simd, &t));
            let score = score.lanes();
            slope = steep.lanes();
            let mut open = 0.0;
            for lane in 0..LANES {
                let least = piece.least[lane].max(-piece.most[lane]);
                done[lane] = if score[lane].abs() <= PRECISION * least { 1.0 } else { 0.0 };
                let next = (t[lane] + ASIDE) - score[lane] / slope[lane];
                let next = if next > b { b } else { next };
                let next = if next < a { a } else { next };
                t[lane] = if crossing[lane] > 0.0 { next } else { a };
                open += crossing[lane] * (1.0 - done[lane]);
            }
            if open == 0.0 {
                break;
            }
        }
        for lane in 0..LANES {
            t[lane] = if done[lane] > 0.0 { t[lane] - ASIDE } else { f64::NAN };
        }
        (t, slope)
    }

    /// Prepares [`Shallow::place`] for all lines around one point: for each unit, its image at the
    /// position `from`, and the threshold of that image beyond which its sign does not change on
    /// $|t| \le T$.
    #[inline(always)]
    pub(super) fn start(&self, base: &[f64], rate: &[f64], from: f64, start: &mut Vec<[f64; 2]>) {
        start.clear();
        start.extend(base.iter().zip(rate).enumerate().map(|(i, (b, c))| {
            let near = if i < self.n_up { NEAR } else { -NEAR };
            [b + from * c, (near + from) * c]
        }));
    }

    /// Puts the images of the lines' bases into `p`. Returns a lower bound on each line's slope
    /// over $|t| \le T$, and scores and slopes at the position given to [`Shallow::start`].
    #[inline(always)]
    fn place<S: Simd>(
        &self,
        simd: S,
        rate: &[f64],
        start: &[[f64; 2]],
        (image, along): (&[Lanes], &Lanes),
        p: &mut [Lanes],
    ) -> [Wide<S>; 3] {
        let leaked = if self.leak != 0.0 { self.leak * rate.iter().sum::<f64>() } else { 0.0 };
        let mut sums = [leaked, self.bias, 0.0].map(|x| Wide::splat(simd, x));
        let (up, down) = p.split_at_mut(self.n_up);
        let (image_up, image_down) = image.split_at(self.n_up);
        let (start_up, start_down) = start.split_at(self.n_up);
        let (rate_up, rate_down) = rate.split_at(self.n_up);
        let back = Wide::load(simd, &along.map(|t| -t));
        place_units::<S, true>(simd, (start_up, rate_up), (image_up, back), up, &mut sums);
        place_units::<S, false>(simd, (start_down, rate_down), (image_down, back), down, &mut sums);
        let [least, mut score, mut slope] = sums;
        self.add_leaks(simd, rate, p, Wide::splat(simd, 0.0), (&mut score, &mut slope));
        [least, score, slope]
    }

    /// Score and slope of eight lines, each at its own position.
    #[inline(always)]
    fn evaluate<S: Simd>(
        &self,
        simd: S,
        rate: &[f64],
        p: &[Lanes],
        t: Wide<S>,
    ) -> (Wide<S>, Wide<S>) {
        let [mut score, mut slope] = [self.bias, 0.0].map(|x| Wide::splat(simd, x));
        let (up, down) = p.split_at(self.n_up);
        let (rate_up, rate_down) = rate.split_at(self.n_up);
        add_units::<S, true>(simd, rate_up, up, t, (&mut score, &mut slope));
        add_units::<S, false>(simd, rate_down, down, t, (&mut score, &mut slope));
        self.add_leaks(simd, rate, p, t, (&mut score, &mut slope));
        (score, slope)
    }

    /// Adds the leak of leaky rectifiers to scores and slopes.
    #[inline(always)]
    fn add_leaks<S: Simd>(
        &self,
        simd: S,
        rate: &[f64],
        p: &[Lanes],
        t: Wide<S>,
        (score, slope): (&mut Wide<S>, &mut Wide<S>),
    ) {
        if self.leak != 0.0 {
            let leak = simd.splat_f64s(self.leak);
            for (p, c) in p.iter().zip(rate) {
                let (c, p) = (simd.splat_f64s(*c), Wide::load(simd, p));
                for h in 0..Wide::<S>::PARTS {
                    let z = simd.add_f64s(p.0[h], simd.mul_f64s(t.0[h], c));
                    score.0[h] = simd.add_f64s(score.0[h], simd.mul_f64s(leak, z));
                    slope.0[h] = simd.add_f64s(slope.0[h], simd.mul_f64s(leak, c));
                }
            }
        }
    }

    /// Roots by Newton steps, relative to their expected position, and the slopes there. Starts
    /// with the scores and slopes at the expected position. A root of ∞ means that the whole line
    /// is rejected, −∞ that none of it is, and NaN that this method cannot decide.
    #[inline(always)]
    fn newton<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        p: &[Lanes],
        [least, mut score, mut slope]: [Wide<S>; 3],
    ) -> (Lanes, Lanes) {
        let mut t = Wide::splat(simd, 0.0);
        let mut found = Wide::splat(simd, 0.0);
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (left, right) = (-NEAR - bundle.guess, NEAR - bundle.guess);
        let [far, near, precision, aside, tenth] =
            [left, right, PRECISION, ASIDE, 0.1].map(|x| simd.splat_f64s(x));
        for step in 0..MAX_STEPS {
            if step > 0 {
                (score, slope) = self.evaluate(simd, bundle.rate, p, t);
            }
            let mut open = zero;
            for h in 0..Wide::<S>::PARTS {
                let (here, mut low) = (t.0[h], least.0[h]);
                if bundle.rough {
                    low = simd.max_f64s(low, simd.mul_f64s(tenth, slope.0[h]));
                }
                let beside = simd.add_f64s(here, aside);
                let next = simd.sub_f64s(beside, simd.div_f64s(score.0[h], slope.0[h]));
                let next = simd.select_f64s(simd.greater_than_f64s(next, near), near, next);
                let next = simd.select_f64s(simd.less_than_f64s(next, far), far, next);
                let off = simd.abs_f64s(score.0[h]);
                let close = simd.less_than_or_equal_f64s(off, simd.mul_f64s(precision, low));
                // The score is still negative at the right end, or already positive at the left.
                let end = simd.equal_f64s(next, here);
                let done = simd.or_m64s(close, end);
                found.0[h] = simd.select_f64s(done, one, zero);
                t.0[h] = next;
                let rising = simd.select_f64s(simd.greater_than_f64s(low, zero), one, zero);
                open = simd.add_f64s(open, simd.select_f64s(done, zero, rising));
            }
            if simd.reduce_sum_f64s(open) == 0.0 {
                break;
            }
        }
        let (mut t, least, found) = (t.lanes(), least.lanes(), found.lanes());
        for lane in 0..LANES {
            let sure = (least[lane] > 0.0 || bundle.rough) && found[lane] > 0.0;
            t[lane] = match t[lane] {
                _ if !sure => f64::NAN,
                at if at >= right => f64::INFINITY,
                at if at <= left => f64::NEG_INFINITY,
                beside => beside - ASIDE,
            };
        }
        (t, slope.lanes())
    }

    /// Adds `weights` to the sums of the units that are on at the lines' positions.
    #[inline(always)]
    fn add_slopes<S: Simd>(
        &self,
        simd: S,
        rate: &[f64],
        p: &[Lanes],
        (at, weights): (&Lanes, &Lanes),
        sums: &mut [Lanes],
    ) {
        // Lines without a root have weight zero. Their positions are infinite and must not be used.
        let t: Lanes =
            std::array::from_fn(|lane| if weights[lane] != 0.0 { at[lane] + ASIDE } else { 0.0 });
        let lines = (Wide::load(simd, &t), Wide::load(simd, weights));
        let (up, down) = p.split_at(self.n_up);
        let (rate_up, rate_down) = rate.split_at(self.n_up);
        let (sums_up, sums_down) = sums.split_at_mut(self.n_up);
        add_weights::<S, true>(simd, rate_up, up, lines, self.leak, sums_up);
        add_weights::<S, false>(simd, rate_down, down, lines, self.leak, sums_down);
    }
}
