//! Small numerics: the normal distribution with accurate tails, exact binomial bounds, Cholesky
//! factors, Sobol' points, Adam.

pub mod adam;
pub mod binomial;
pub mod cholesky;
pub mod normal;
mod normal_quick;
pub mod sobol;
pub mod student;
mod vectorise;

pub use normal_quick::quick_cdf_and_pdf;
pub use vectorise::vectorised;

/// Sum of products, in a fixed order: eight running sums, so that it vectorises and gives the same
/// bits everywhere.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (a_chunks, b_chunks) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let tail: f64 = a_chunks.remainder().iter().zip(b_chunks.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a_chunks.zip(b_chunks) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let halves = [sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]];
    (halves[0] + halves[2]) + (halves[1] + halves[3]) + tail
}
