//! Eight lines in vector registers, and the passes over hidden units that a shallow network's lines
//! are made of.
//!
//! The registers are named (`pulp::Simd`), because the compiler does badly with loops that keep
//! several sums of eight (ADR 0013). Products and sums are fused on every machine, in software
//! where there is no instruction for it, so the bits are the same everywhere.

use super::{LANES, Lanes};
use pulp::Simd;

/// Eight numbers in as many vector registers as they need. Only the first parts are used.
#[derive(Clone, Copy)]
pub(super) struct Wide<S: Simd>(pub(super) [S::f64s; LANES]);

/// Which of `z` are beyond `bound`: above it for units of positive weight, below it for units of
/// negative weight.
#[inline(always)]
fn beyond<S: Simd, const UP: bool>(simd: S, z: S::f64s, bound: S::f64s) -> S::m64s {
    if UP { simd.greater_than_f64s(z, bound) } else { simd.less_than_f64s(z, bound) }
}

/// The part of `z` beyond zero, in the same sense.
#[inline(always)]
fn rectified<S: Simd, const UP: bool>(simd: S, z: S::f64s, zero: S::f64s) -> S::f64s {
    if UP { simd.max_f64s(z, zero) } else { simd.min_f64s(z, zero) }
}

/// `sum + c` where the unit is on at `z`, by the sign bit alone; `sum` elsewhere.
#[inline(always)]
fn add_where_on<S: Simd, const UP: bool>(simd: S, z: S::f64s, sum: S::f64s, c: S::f64s) -> S::f64s {
    let negative = simd.less_than_i64s(simd.transmute_i64s_f64s(z), simd.splat_i64s(0));
    let with = simd.add_f64s(sum, c);
    if UP { simd.select_f64s(negative, sum, with) } else { simd.select_f64s(negative, with, sum) }
}

impl<S: Simd> Wide<S> {
    pub(super) const PARTS: usize = LANES / S::F64_LANES;

    #[inline(always)]
    pub(super) fn splat(simd: S, x: f64) -> Self {
        Self([simd.splat_f64s(x); LANES])
    }

    #[inline(always)]
    pub(super) fn load(simd: S, lanes: &Lanes) -> Self {
        let mut wide = Self::splat(simd, 0.0);
        wide.0[..Self::PARTS].copy_from_slice(S::as_simd_f64s(lanes).0);
        wide
    }

    #[inline(always)]
    pub(super) fn store(self, lanes: &mut Lanes) {
        S::as_mut_simd_f64s(lanes).0.copy_from_slice(&self.0[..Self::PARTS]);
    }

    #[inline(always)]
    pub(super) fn lanes(self) -> Lanes {
        let mut lanes = [0.0; LANES];
        self.store(&mut lanes);
        lanes
    }
}

/// [`Shallow::place`] for units of one sign: their images, and what they add to slope bound, score
/// and slope. `start` holds the units' base and the value beyond which their sign is settled, and
/// `back` how far the lines' bases lie behind the errors.
#[inline(always)]
pub(super) fn place_units<S: Simd, const UP: bool>(
    simd: S,
    (start, rate): (&[[f64; 2]], &[f64]),
    (image, back): (&[Lanes], Wide<S>),
    p: &mut [Lanes],
    [least, score, slope]: &mut [Wide<S>; 3],
) {
    let zero = simd.splat_f64s(0.0);
    for (((&[b, settled], &c), image), p) in start.iter().zip(rate).zip(image).zip(p) {
        let (b, c, image) = (simd.splat_f64s(b), simd.splat_f64s(c), Wide::load(simd, image));
        let settled = simd.splat_f64s(settled);
        let mut row = image;
        for h in 0..Wide::<S>::PARTS {
            let z = simd.mul_add_f64s(back.0[h], c, simd.add_f64s(b, image.0[h]));
            row.0[h] = z;
            let sure = beyond::<S, UP>(simd, z, settled);
            least.0[h] = simd.select_f64s(sure, simd.add_f64s(least.0[h], c), least.0[h]);
            score.0[h] = simd.add_f64s(score.0[h], rectified::<S, UP>(simd, z, zero));
            slope.0[h] = add_where_on::<S, UP>(simd, z, slope.0[h], c);
        }
        row.store(p);
    }
}

/// Adds one unit to scores and slopes at the lines' positions.
#[inline(always)]
fn add_unit<S: Simd, const UP: bool>(
    simd: S,
    (rate, p): (f64, &Lanes),
    t: Wide<S>,
    (score, slope): (&mut Wide<S>, &mut Wide<S>),
) {
    let (zero, c, p) = (simd.splat_f64s(0.0), simd.splat_f64s(rate), Wide::load(simd, p));
    for h in 0..Wide::<S>::PARTS {
        let z = simd.mul_add_f64s(t.0[h], c, p.0[h]);
        score.0[h] = simd.add_f64s(score.0[h], rectified::<S, UP>(simd, z, zero));
        slope.0[h] = add_where_on::<S, UP>(simd, z, slope.0[h], c);
    }
}

/// Adds the units of one sign to scores and slopes at the lines' positions. Two sums take turns, so
/// that no addition waits for the previous one.
#[inline(always)]
pub(super) fn add_units<S: Simd, const UP: bool>(
    simd: S,
    rate: &[f64],
    p: &[Lanes],
    t: Wide<S>,
    (score, slope): (&mut Wide<S>, &mut Wide<S>),
) {
    let (rates, last_rate) = rate.as_chunks::<2>();
    let (rows, last_row) = p.as_chunks::<2>();
    let (mut score_odd, mut slope_odd) = (Wide::splat(simd, 0.0), Wide::splat(simd, 0.0));
    for (c, row) in rates.iter().zip(rows) {
        add_unit::<S, UP>(simd, (c[0], &row[0]), t, (score, slope));
        add_unit::<S, UP>(simd, (c[1], &row[1]), t, (&mut score_odd, &mut slope_odd));
    }
    for (c, row) in last_rate.iter().zip(last_row) {
        add_unit::<S, UP>(simd, (*c, row), t, (score, slope));
    }
    for h in 0..Wide::<S>::PARTS {
        score.0[h] = simd.add_f64s(score.0[h], score_odd.0[h]);
        slope.0[h] = simd.add_f64s(slope.0[h], slope_odd.0[h]);
    }
}

/// Adds the lines' weights to the sums of those units of one sign that are on at the lines'
/// positions.
#[inline(always)]
pub(super) fn add_weights<S: Simd, const UP: bool>(
    simd: S,
    rate: &[f64],
    p: &[Lanes],
    (t, weights): (Wide<S>, Wide<S>),
    leak: f64,
    sums: &mut [Lanes],
) {
    let (zero, leak) = (simd.splat_f64s(0.0), simd.splat_f64s(leak));
    for ((&c, row), total) in rate.iter().zip(p).zip(sums) {
        let (c, row, mut sum) =
            (simd.splat_f64s(c), Wide::load(simd, row), Wide::load(simd, total));
        for h in 0..Wide::<S>::PARTS {
            let (z, w) = (simd.mul_add_f64s(t.0[h], c, row.0[h]), weights.0[h]);
            let on = simd.select_f64s(beyond::<S, UP>(simd, z, zero), w, zero);
            sum.0[h] = simd.add_f64s(sum.0[h], simd.mul_add_f64s(leak, w, on));
        }
        sum.store(total);
    }
}

/// Points of a line whose scores are summed together: enough that no addition waits for the
/// previous one.
pub(super) const TOGETHER: usize = 8;

/// Eight numbers of single precision.
pub(super) type Singles = [f32; LANES];

/// [`Wide`] in single precision.
#[derive(Clone, Copy)]
pub(super) struct Short<S: Simd>(pub(super) [S::f32s; LANES]);

impl<S: Simd> Short<S> {
    pub(super) const PARTS: usize = {
        assert!(LANES.is_multiple_of(S::F32_LANES), "a register holds eight numbers at most");
        LANES / S::F32_LANES
    };

    #[inline(always)]
    pub(super) fn splat(simd: S, x: f32) -> Self {
        Self([simd.splat_f32s(x); LANES])
    }

    #[inline(always)]
    pub(super) fn load(simd: S, singles: &Singles) -> Self {
        let mut short = Self::splat(simd, 0.0);
        short.0[..Self::PARTS].copy_from_slice(S::as_simd_f32s(singles).0);
        short
    }

    #[inline(always)]
    pub(super) fn singles(self) -> Singles {
        let mut singles = [0.0; LANES];
        S::as_mut_simd_f32s(&mut singles).0.copy_from_slice(&self.0[..Self::PARTS]);
        singles
    }
}

/// Adds the units of one sign to scores at several points of the lines. `back` is how far the
/// lines' bases lie behind the errors.
#[inline(always)]
fn add_scores<S: Simd, const UP: bool>(
    simd: S,
    (base, rate): (&[f32], &[f32]),
    (image, back): (&[Singles], Short<S>),
    t: &[Short<S>; TOGETHER],
    scores: &mut [Short<S>; TOGETHER],
) {
    let zero = simd.splat_f32s(0.0);
    for ((&b, &c), row) in base.iter().zip(rate).zip(image) {
        let (b, c, mut row) = (simd.splat_f32s(b), simd.splat_f32s(c), Short::load(simd, row));
        for h in 0..Short::<S>::PARTS {
            row.0[h] = simd.mul_add_f32s(back.0[h], c, simd.add_f32s(b, row.0[h]));
        }
        for (t, score) in t.iter().zip(&mut *scores) {
            for h in 0..Short::<S>::PARTS {
                let z = simd.mul_add_f32s(t.0[h], c, row.0[h]);
                let on = if UP { simd.max_f32s(z, zero) } else { simd.min_f32s(z, zero) };
                score.0[h] = simd.add_f32s(score.0[h], on);
            }
        }
    }
}

/// A network around a point, in single precision: images of the point and of the direction, the
/// number of units of positive weight, and where sums begin.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub base: &'a [f32],
    pub rate: &'a [f32],
    pub n_up: usize,
    pub bias: f32,
}

/// For each line, the total size of the strata whose point is accepted for certain. `group` is the
/// number of the group of lines. `doubt` bounds the rounding error of a score: its value at
/// position 0, line by line, and its increase per unit of distance. NaN counts as a rejection.
#[inline(always)]
pub(super) fn accepted<S: Simd>(
    simd: S,
    around: Around<'_>,
    (image, back): (&[Singles], &Singles),
    doubt: (&Singles, f32),
    (points, sizes, group): (&[&[Singles]], &[f32], usize),
) -> Singles {
    let Around { base, rate, n_up, bias } = around;
    let (image_up, image_down) = image.split_at(n_up);
    let ((base_up, base_down), (rate_up, rate_down)) = (base.split_at(n_up), rate.split_at(n_up));
    let mut total = Short::splat(simd, 0.0);
    let (zero, grows) = (simd.splat_f32s(0.0), simd.splat_f32s(doubt.1));
    let (doubt, back) = (Short::<S>::load(simd, doubt.0), Short::<S>::load(simd, back));
    for (some, sizes) in
        points.as_chunks::<TOGETHER>().0.iter().zip(sizes.as_chunks::<TOGETHER>().0)
    {
        let mut t = [Short::splat(simd, 0.0); TOGETHER];
        for (t, singles) in t.iter_mut().zip(some) {
            *t = Short::load(simd, &singles[group]);
        }
        let mut scores = [Short::splat(simd, bias); TOGETHER];
        add_scores::<S, true>(simd, (base_up, rate_up), (image_up, back), &t, &mut scores);
        add_scores::<S, false>(simd, (base_down, rate_down), (image_down, back), &t, &mut scores);
        for ((t, score), size) in t.iter().zip(&scores).zip(sizes) {
            let size = simd.splat_f32s(*size);
            for h in 0..Short::<S>::PARTS {
                let least = simd.mul_add_f32s(simd.abs_f32s(t.0[h]), grows, doubt.0[h]);
                let yes = simd.greater_than_f32s(score.0[h], least);
                total.0[h] = simd.add_f32s(total.0[h], simd.select_f32s(yes, size, zero));
            }
        }
    }
    total.singles()
}
