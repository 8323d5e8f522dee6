//! Scrambled Sobol' points: more even than random ones, and still each of them uniform.
//!
//! A mean over $n = 2^k$ points of a scrambled net has the variance of plain sampling at worst
//! times a constant, and for smooth integrands $O(n^{-3+o(1)})$ instead of $O(n^{-1})$
//! (Owen, *Scrambled net variance for integrals of smooth functions*, Annals of Statistics 25,
//! 1997). The error of one point set is not known from within; the spread over several independent
//! scrambles is an honest estimate of it.
//!
//! Direction numbers (Joe and Kuo 2008) and the nested scramble by hashing (Burley, *Practical
//! Hash-based Owen Scrambling*, JCGT 9, 2020) are those of the crate `sobol_burley`. A hash is only
//! nearly an Owen scramble, so each dimension is also given a random digital shift of 53 bits:
//! whatever the hash does, every point is exactly uniform on the grid of $2^{-53}$, independently
//! over dimensions, so means are unbiased. The crate's own `f32` output would cut the normal tail
//! at $10^{-7}$.
//!
//! Cost per coordinate: at most sixteen exclusive-ors and one hash; a normal adds one quantile.

use crate::math::normal;
use crate::seed::Stream;
use sobol_burley::parts::{owen_scramble_rev, sobol_rev};

/// Points after which a sequence repeats: draw another scramble instead.
pub const MAX_POINTS: usize = 1 << 16;

/// Dimensions that are jointly even. Further ones come in blocks of as many: even among themselves,
/// and matched to the others by an independent shuffle of the points.
pub const JOINT_DIMENSIONS: usize = sobol_burley::NUM_DIMENSIONS as usize;

/// One scrambled Sobol' sequence in any number of dimensions; points are asked for by index, in any
/// order.
///
/// ```
/// use probe_core::math::sobol::ScrambledSobol;
/// use probe_core::{Purpose, Seed};
/// let points = ScrambledSobol::new(2, &mut Seed(1).stream(Purpose::Search, 7));
/// let mut point = [0.0; 2];
/// // Of the first 8 points, one falls into each eighth of every axis.
/// let mut seen = [0; 8];
/// for i in 0..8 {
///     points.uniform_into(i, &mut point);
///     seen[(8.0 * point[1]) as usize] += 1;
/// }
/// assert_eq!(seen, [1; 8]);
/// ```
#[derive(Debug, Clone)]
pub struct ScrambledSobol {
    dimensions: Vec<Dimension>,
    /// Keys of the shuffles of the second and later blocks.
    shuffles: Vec<u32>,
}

/// Random choices for one dimension.
#[derive(Debug, Clone, Copy)]
struct Dimension {
    scramble: u32,
    shift: u64,
}

impl ScrambledSobol {
    /// Draws a scramble for points of `dim` coordinates.
    pub fn new(dim: usize, stream: &mut Stream) -> Self {
        let dimensions = (0..dim)
            .map(|_| Dimension {
                scramble: (stream.bits() >> 32) as u32,
                shift: stream.bits() >> 11,
            })
            .collect();
        let shuffles =
            (1..dim.div_ceil(JOINT_DIMENSIONS)).map(|_| (stream.bits() >> 32) as u32).collect();
        Self { dimensions, shuffles }
    }

    /// Number of coordinates of a point.
    pub fn dim(&self) -> usize {
        self.dimensions.len()
    }

    /// Point number `index` of the sequence, taken modulo [`MAX_POINTS`]: the first
    /// [`dim`](Self::dim) entries of `out` become uniform on the open interval (0, 1). Use powers
    /// of two of points, from 0 on, for the best balance.
    pub fn uniform_into(&self, index: usize, out: &mut [f64]) {
        let reversed = ((index % MAX_POINTS) as u32).reverse_bits();
        for (block, (dimensions, out)) in self
            .dimensions
            .chunks(JOINT_DIMENSIONS)
            .zip(out.chunks_mut(JOINT_DIMENSIONS))
            .enumerate()
        {
            // A nested scramble of the index permutes points so that each prefix of 2^k stays a
            // net.
            let index = match block.checked_sub(1) {
                None => reversed,
                Some(later) => owen_scramble_rev(reversed, self.shuffles[later]),
            };
            for (j, (dimension, u)) in dimensions.iter().zip(out).enumerate() {
                let bits = owen_scramble_rev(sobol_rev(index, j as u32), dimension.scramble)
                    .reverse_bits();
                let bits = (u64::from(bits) << 21) ^ dimension.shift;
                *u = (bits as f64 + 0.5) * (1.0 / 9_007_199_254_740_992.0);
            }
        }
    }

    /// The same point as independent standard normals, $z_j = \Phi^{-1}(u_j)$.
    pub fn normal_into(&self, index: usize, out: &mut [f64]) {
        let out = &mut out[..self.dimensions.len()];
        self.uniform_into(index, out);
        for z in out {
            *z = normal::quantile(*z);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};

    fn draw(dim: usize, key: u64) -> ScrambledSobol {
        ScrambledSobol::new(dim, &mut Seed(11).stream(Purpose::Search, key))
    }

    #[test]
    fn every_prefix_of_a_power_of_two_is_stratified_in_every_dimension() {
        // Two blocks, so that the shuffled one is held to it as well.
        let (points, n) = (draw(300, 0), 256);
        let mut rows = vec![vec![0.0; 300]; n];
        rows.iter_mut().enumerate().for_each(|(i, row)| points.uniform_into(i, row));
        for prefix in [1, 2, 16, 256] {
            for j in 0..300 {
                let mut seen = vec![0; prefix];
                rows[..prefix].iter().for_each(|row| seen[(row[j] * prefix as f64) as usize] += 1);
                assert!(seen.iter().all(|&count| count == 1), "dimension {j} of {prefix} points");
            }
        }
        assert!(rows.iter().flatten().all(|&u| u > 0.0 && u < 1.0));
    }

    #[test]
    fn the_first_two_dimensions_are_a_net_and_other_blocks_are_not_copies() {
        // Sobol's first two dimensions are a (0, k, 2)-net: one of 64 points in each box of area
        // 1/64, whatever its shape.
        let points = draw(512, 1);
        let mut rows = vec![vec![0.0; 512]; 64];
        rows.iter_mut().enumerate().for_each(|(i, row)| points.uniform_into(i, row));
        for k in 0..=6 {
            let (across, down) = (1usize << k, 64 >> k);
            let mut seen = vec![0; 64];
            for row in &rows {
                seen[(row[0] * across as f64) as usize * down + (row[1] * down as f64) as usize] +=
                    1;
            }
            assert!(seen.iter().all(|&count| count == 1), "{across} by {down}");
        }
        // Dimension 256 is dimension 0 of the next block; its points come in another order.
        let correlation: f64 =
            rows.iter().map(|row| 12.0 * (row[0] - 0.5) * (row[256] - 0.5)).sum::<f64>() / 64.0;
        // Four standard deviations of a mean of 64 products of independent uniforms.
        assert!(correlation.abs() < 4.0 / 8.0, "{correlation}");
    }

    #[test]
    fn means_are_unbiased_and_far_closer_than_random_ones() {
        // E[exp(0.3 Σ z)] = exp(d 0.045): smooth, so 1024 points and 32 scrambles settle it to a
        // few parts in 1e5.
        let (d, n, scrambles) = (4, 1024, 32);
        let mut z = vec![0.0; d];
        let means: Vec<f64> = (0..scrambles)
            .map(|key| {
                let points = draw(d, 100 + key);
                let value = |i| {
                    points.normal_into(i, &mut z);
                    libm::exp(0.3 * z.iter().sum::<f64>())
                };
                (0..n).map(value).sum::<f64>() / n as f64
            })
            .collect();
        let mean = means.iter().sum::<f64>() / scrambles as f64;
        let variance =
            means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / (scrambles - 1) as f64;
        let truth = libm::exp(0.045 * d as f64);
        // Four standard errors of the mean over scrambles.
        assert!(
            (mean - truth).abs() < 4.0 * (variance / scrambles as f64).sqrt(),
            "{mean} for {truth}"
        );
        // The variance of plain sampling: E[e^{2X}] - E[e^X]^2 with X ~ N(0, 0.09 d), over n. At
        // least fifty times more.
        let plain = (libm::exp(0.18 * d as f64) - truth * truth) / n as f64;
        assert!(variance < plain / 50.0, "{variance:e} against {plain:e}");
    }

    #[test]
    fn scrambles_repeat_and_differ_and_no_index_panics() {
        let at = |points: &ScrambledSobol, i| {
            let mut out = [0.0; 3];
            points.uniform_into(i, &mut out);
            out
        };
        assert_eq!(at(&draw(3, 5), 9), at(&draw(3, 5), 9));
        assert_ne!(at(&draw(3, 5), 9), at(&draw(3, 6), 9));
        assert_eq!(at(&draw(3, 5), 0), at(&draw(3, 5), MAX_POINTS));
        assert_ne!(at(&draw(3, 5), 0), at(&draw(3, 5), MAX_POINTS - 1));
        draw(0, 0).uniform_into(usize::MAX, &mut []);
    }
}
