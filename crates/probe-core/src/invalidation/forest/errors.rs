//! Sets of errors with their ranks.

use super::LANES;
use crate::error::Result;
use crate::math::sobol::ScrambledSobol;
use crate::noise::{Noise, QuantileMap};
use crate::rows::RowsMut;
use crate::seed::{Key, Purpose, Seed};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A set of errors.
pub(crate) struct Errors {
    n: usize,
    d: usize,
    /// Row by row.
    rows: Vec<f64>,
    /// Feature by feature, ascending.
    sorted: Vec<f64>,
    /// Feature by feature, in the order of the rows, with a gap between features: columns whose
    /// distance is a power of two would evict each other from the L1 cache.
    ranks: Vec<i16>,
    /// Feature by feature: the number of errors in all buckets before each, and in all buckets.
    buckets: Vec<u16>,
    /// Feature by feature: the least error, and the number of buckets per unit.
    scales: Vec<(f64, f64)>,
    /// Identifies a set.
    number: u64,
}

/// Length of the gap between the ranks of two features.
const GAP: usize = 544;
/// Number of buckets of equal width for looking up a feature's errors.
const BUCKETS: usize = 1_024;

/// The bucket of a value. It is monotone in the value, also with rounding.
fn bucket(value: f64, (least, per_unit): (f64, f64)) -> usize {
    (((value - least) * per_unit) as usize).min(BUCKETS - 1)
}

impl Errors {
    /// Most errors in a set.
    pub(crate) const MOST: usize = 16_384;

    /// The errors in `rows` of `d` features each: a multiple of [`LANES`], and at most
    /// [`Errors::MOST`].
    pub(crate) fn new(rows: Vec<f64>, d: usize) -> Self {
        let n = rows.len() / d;
        debug_assert!(n <= Self::MOST && n.is_multiple_of(LANES) && rows.len() == n * d);
        let (mut sorted, mut ranks) = (Vec::with_capacity(n * d), vec![0; (n + GAP) * d]);
        let mut order: Vec<(f64, usize)> = Vec::with_capacity(n);
        let (mut buckets, mut scales) = (vec![0; d * (BUCKETS + 1)], Vec::with_capacity(d));
        for j in 0..d {
            order.clear();
            order.extend((0..n).map(|i| (rows[i * d + j], i)));
            order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            sorted.extend(order.iter().map(|(e, _)| *e));
            for (rank, (_, i)) in (0..).zip(&order) {
                ranks[j * (n + GAP) + i] = rank;
            }
            let least = order.first().map_or(0.0, |(e, _)| *e);
            let per_unit = BUCKETS as f64 / (order.last().map_or(0.0, |(e, _)| *e) - least);
            let scale = (least, if per_unit.is_finite() { per_unit } else { 0.0 });
            let own = &mut buckets[j * (BUCKETS + 1)..][..BUCKETS + 1];
            order.iter().for_each(|(e, _)| own[bucket(*e, scale) + 1] += 1);
            for b in 0..BUCKETS {
                own[b + 1] += own[b];
            }
            scales.push(scale);
        }
        static SETS: AtomicU64 = AtomicU64::new(1);
        let number = SETS.fetch_add(1, Ordering::Relaxed);
        Self { n, d, rows, sorted, ranks, buckets, scales, number }
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

    /// `n` fresh draws in Latin hypercubes of [`STRATA`] draws each, if the noise is a function of
    /// uniform numbers; else independent draws. Each has the distribution of the noise, and those
    /// of one hypercube are spread over every feature. Hypercubes are independent of each other;
    /// the draws within one are not.
    pub(crate) fn latin(
        noise: &dyn Noise,
        seed: Seed,
        (purpose, segment, index): (Purpose, u64, u64),
        n: usize,
    ) -> Result<Self> {
        let Some(map) = QuantileMap::of(noise) else {
            return Self::fresh(noise, seed, (purpose, segment, index), n);
        };
        let d = noise.dim();
        let key = Key::default().word(segment).word(index).word(0x1a71).finish();
        let mut stream = seed.stream(purpose, key);
        let (mut rows, mut uniforms) = (vec![0.0; n * d], vec![0.0; STRATA * d]);
        for cube in rows.chunks_mut(STRATA * d) {
            for j in 0..d {
                let mut strata: [usize; STRATA] = std::array::from_fn(|i| i);
                for i in 0..STRATA {
                    strata.swap(i, i + stream.below(STRATA - i));
                    // The result must be below 1, also with rounding.
                    let within = stream.uniform().min(1.0 - 8.0 * f64::EPSILON);
                    uniforms[i * d + j] = (strata[i] as f64 + within) / STRATA as f64;
                }
            }
            for (uniforms, row) in uniforms.chunks_exact_mut(d).zip(cube.chunks_exact_mut(d)) {
                map.apply_into(uniforms, row);
            }
        }
        Ok(Self::new(rows, d))
    }

    /// `n` evenly spread errors, if the noise is a function of uniform numbers; else independent
    /// draws.
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
        let points = ScrambledSobol::new(
            d,
            &mut seed.stream(purpose, Key::default().word(key).word(0x7ee5).finish()),
        );
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
        let own = &self.sorted[j * self.n..(j + 1) * self.n];
        // Errors in lower buckets are smaller, those in higher ones larger.
        let at = j * (BUCKETS + 1) + bucket(limit, self.scales[j]);
        let (first, end) = (usize::from(self.buckets[at]), usize::from(self.buckets[at + 1]));
        first + own[first..end].partition_point(|e| *e <= limit)
    }

    /// A number that identifies this set.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Ranks of feature `j`, starting with error number `from`.
    #[inline(always)]
    pub(super) fn ranks(&self, j: usize, from: usize) -> &[i16] {
        &self.ranks[j * (self.n + GAP) + from..][..self.n - from]
    }
}

/// Number of draws in a Latin hypercube. Larger hypercubes would reduce the variance more, but
/// leave a bet with too few observations.
pub(crate) const STRATA: usize = 8;

/// Fresh errors: a sequence of sets in each of several independent segments. A set is drawn when it
/// is first read.
pub(crate) struct Draws {
    seed: Seed,
    purpose: Purpose,
    /// Whether to draw hypercubes.
    latin: bool,
    segments: Vec<Vec<OnceLock<Errors>>>,
}

impl Draws {
    /// Errors in a set.
    pub(crate) const SET: usize = 4_096;

    /// Independent draws.
    pub(crate) fn new(seed: Seed, purpose: Purpose, segments: usize, sets: usize) -> Self {
        let segment = || (0..sets).map(|_| OnceLock::new()).collect();
        Self { seed, purpose, latin: false, segments: (0..segments).map(|_| segment()).collect() }
    }

    /// Hypercubes, see [`Errors::latin`].
    pub(crate) fn latin(seed: Seed, purpose: Purpose, segments: usize, sets: usize) -> Self {
        Self { latin: true, ..Self::new(seed, purpose, segments, sets) }
    }

    /// How many sets of a segment were drawn so far.
    #[cfg(test)]
    pub(crate) fn n_drawn(&self, segment: usize) -> usize {
        self.segments[segment].iter().filter(|slot| slot.get().is_some()).count()
    }

    /// Set number `index` of a segment.
    pub(crate) fn set(&self, noise: &dyn Noise, segment: usize, index: usize) -> Result<&Errors> {
        let slot = &self.segments[segment][index];
        if let Some(errors) = slot.get() {
            return Ok(errors);
        }
        // Several threads may draw the set at the same time; all get the same one.
        let draw = if self.latin { Errors::latin } else { Errors::fresh };
        let set = draw(noise, self.seed, (self.purpose, segment as u64, index as u64), Self::SET)?;
        Ok(slot.get_or_init(|| set))
    }
}
