//! Sets of errors with their ranks.

use super::LANES;
use crate::error::Result;
use crate::math::sobol::ScrambledSobol;
use crate::noise::{Noise, QuantileMap};
use crate::rows::RowsMut;
use crate::seed::{Key, Purpose, Seed};
use std::sync::OnceLock;

/// A set of errors.
pub(crate) struct Errors {
    n: usize,
    d: usize,
    /// Row by row.
    rows: Vec<f64>,
    /// Feature by feature, ascending.
    sorted: Vec<f64>,
    /// Feature by feature, in the order of the rows.
    ranks: Vec<i16>,
}

impl Errors {
    /// Most errors in a set.
    pub(crate) const MOST: usize = 16_384;

    /// The errors in `rows` of `d` features each: a multiple of [`LANES`], and at most [`Errors::MOST`].
    pub(crate) fn new(rows: Vec<f64>, d: usize) -> Self {
        let n = rows.len() / d;
        debug_assert!(n <= Self::MOST && n.is_multiple_of(LANES) && rows.len() == n * d);
        let (mut sorted, mut ranks) = (Vec::with_capacity(n * d), vec![0; n * d]);
        let mut order: Vec<(f64, usize)> = Vec::with_capacity(n);
        for j in 0..d {
            order.clear();
            order.extend((0..n).map(|i| (rows[i * d + j], i)));
            order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            sorted.extend(order.iter().map(|(e, _)| *e));
            for (rank, (_, i)) in (0..).zip(&order) {
                ranks[j * n + i] = rank;
            }
        }
        Self { n, d, rows, sorted, ranks }
    }

    /// `n` fresh draws of the noise, number `index` of such sets for a purpose.
    pub(crate) fn fresh(
        noise: &dyn Noise,
        seed: Seed,
        (purpose, segment, index): (Purpose, u64, u64),
        n: usize,
    ) -> Result<Self> {
        let d = noise.dim();
        let key = Key::default().word(segment).word(index).word(0x7ee5).finish();
        let mut rows = vec![0.0; n * d];
        noise.sample_into(&mut seed.stream(purpose, key), RowsMut::new(&mut rows, d)?);
        Ok(Self::new(rows, d))
    }

    /// `n` evenly spread errors, where the noise can be had from uniform numbers; else fresh draws.
    pub(crate) fn even(
        noise: &dyn Noise,
        seed: Seed,
        (purpose, key): (Purpose, u64),
        n: usize,
    ) -> Result<Self> {
        let Some(map) = QuantileMap::of(noise) else {
            return Self::fresh(noise, seed, (purpose, key, 0), n);
        };
        let d = noise.dim();
        let points =
            ScrambledSobol::new(d, &mut seed.stream(purpose, Key::default().word(key).word(0x7ee5).finish()));
        let (mut rows, mut uniforms) = (vec![0.0; n * d], vec![0.0; d]);
        for (i, row) in rows.chunks_exact_mut(d).enumerate() {
            points.uniform_into(i, &mut uniforms);
            map.apply_into(&mut uniforms, row);
        }
        Ok(Self::new(rows, d))
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * self.d..(i + 1) * self.d]
    }

    /// Standard deviation of the errors of feature `j`.
    pub(crate) fn sd(&self, j: usize) -> f64 {
        let own = &self.sorted[j * self.n..(j + 1) * self.n];
        let mean = own.iter().sum::<f64>() / self.n as f64;
        (own.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / self.n as f64).sqrt()
    }

    /// How many errors of feature `j` are at most `limit`.
    pub(super) fn n_up_to(&self, j: usize, limit: f64) -> usize {
        self.sorted[j * self.n..(j + 1) * self.n].partition_point(|e| *e <= limit)
    }

    /// Ranks of feature `j`, errors number `from` and on.
    #[inline(always)]
    pub(super) fn ranks(&self, j: usize, from: usize) -> &[i16] {
        &self.ranks[j * self.n + from..(j + 1) * self.n]
    }
}

/// Fresh errors, made when first read: sets one after the other, in independent segments.
pub(crate) struct Draws {
    seed: Seed,
    purpose: Purpose,
    segments: Vec<Vec<OnceLock<Errors>>>,
}

impl Draws {
    /// Errors in a set.
    pub(crate) const SET: usize = 4_096;

    pub(crate) fn new(seed: Seed, purpose: Purpose, segments: usize, sets: usize) -> Self {
        let segment = || (0..sets).map(|_| OnceLock::new()).collect();
        Self { seed, purpose, segments: (0..segments).map(|_| segment()).collect() }
    }

    /// Set number `index` of a segment.
    pub(crate) fn set(&self, noise: &dyn Noise, segment: usize, index: usize) -> Result<&Errors> {
        let slot = &self.segments[segment][index];
        if let Some(errors) = slot.get() {
            return Ok(errors);
        }
        // Whoever comes first makes it; others make the same.
        let made = Errors::fresh(noise, self.seed, (self.purpose, segment as u64, index as u64), Self::SET)?;
        Ok(slot.get_or_init(|| made))
    }
}
