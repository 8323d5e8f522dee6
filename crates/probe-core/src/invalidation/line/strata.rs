//! How a line is evaluated: as a whole, or at stratified points.
//!
//! A certificate may observe any random number in [0, 1] whose mean is the rate. Divide the mass of
//! a line, $(0, 1)$, into strata and evaluate the score at one random point of each: for a stratum
//! $(a, a + s)$ at $\Phi^{-1}(a + sW)$ with $W$ uniform, which is normal on that part of the line.
//! The sum of $s$ over the strata whose point is rejected has the line's rejected mass as its mean,
//! for any score. Each root adds about $s^2/6$ to the variance, where $s$ is the size of its
//! stratum. If a line is rejected up to a single root, the root lies at the line's own mass. Strata
//! are therefore small where masses are expected and large elsewhere.
//!
//! All strata come from repeated halving, so that the points in them can be stored with the errors
//! and shared by all certificates.

use crate::math::quick_cdf_and_pdf;

/// Halvings down to the smallest stratum.
const DEPTH: u32 = 7;
/// The number of strata of all sizes. Number 0 is not used.
pub(super) const N_STRATA: usize = 2 << DEPTH;
/// The usual and the largest number of points per line. Shallow networks use one of these two,
/// because they evaluate eight points at a time.
const FEW: usize = 8;
const MOST: usize = 16;
/// The numbers of points per line to choose from on deep networks.
const COUNTS: [usize; 5] = [4, 6, 8, 12, MOST];
/// Number of unexpected roots per unit of mass: lines that bend have more than one root.
const UNEXPECTED_ROOTS: f64 = 0.05;
/// The work of placing a line, relative to that of evaluating one point.
const PLACING_WORK: f64 = 2.0;

/// Points may add this share of the variance between lines before it pays to use more of them.
const SMALL_SHARE: f64 = 0.3;

/// How a line is evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum LineMode {
    /// As a whole: its rejected mass, exactly.
    Whole,
    /// At one point of each of these strata.
    Stratified(Strata),
}

/// A partition of the mass of a line into strata. Stratum number $2^m + k$ is $(k, k + 1)/2^m$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Strata {
    numbers: [u8; MOST],
    n: usize,
    variance: f64,
}

impl Strata {
    /// The largest number of strata.
    pub(super) const MOST: usize = MOST;

    /// Eight strata of the same size.
    #[cfg(test)]
    pub(super) fn even() -> Self {
        Self { numbers: std::array::from_fn(|i| (8 + i % 8) as u8), n: 8, variance: 0.0 }
    }

    /// The `n` strata that add least to the variance of lines whose masses have this mean and
    /// variance. Divides the stratum that adds most until there are `n`.
    fn around(mean: f64, variance: f64, n: usize) -> Self {
        let sd = variance.sqrt().max(1e-3);
        let below = |mass: f64| quick_cdf_and_pdf((mass - mean) / sd).0;
        // The variance that a stratum adds if it is not divided further.
        let added = |number: u8| {
            let (from, size) = interval(number);
            size * size * (below(from + size) - below(from) + UNEXPECTED_ROOTS * size) / 6.0
        };
        let mut strata = Self { numbers: [0; MOST], n: 1, variance: 0.0 };
        let mut variances = [0.0; MOST];
        (strata.numbers[0], variances[0]) = (1, added(1));
        while strata.n < n {
            let most = (1..strata.n)
                .fold(0, |most, i| if variances[i] > variances[most] { i } else { most });
            // A stratum of the smallest size cannot be divided and counts as adding nothing. There
            // are more of them than `MOST`, so that one of the strata can always be divided.
            let whole = strata.numbers[most];
            for (at, number) in [(most, 2 * whole), (strata.n, 2 * whole + 1)] {
                strata.numbers[at] = number;
                variances[at] = if number < 1 << DEPTH { added(number) } else { 0.0 };
            }
            strata.n += 1;
        }
        strata.variance = variances[..strata.n].iter().sum::<f64>();
        strata
    }

    pub(super) fn numbers(&self) -> &[u8] {
        &self.numbers[..self.n]
    }

    /// Sizes of the strata, in their order.
    pub(super) fn sizes(&self) -> impl Iterator<Item = f32> {
        self.numbers().iter().map(|number| interval(*number).1 as f32)
    }
}

/// The left end and the size of a stratum.
fn interval(number: u8) -> (f64, f64) {
    let depth = number.ilog2();
    let size = 1.0 / f64::from(1u32 << depth);
    (f64::from(u32::from(number) - (1 << depth)) * size, size)
}

/// The point in stratum `number`, in standard deviations, for `drawn` uniform on (0, 1).
pub(super) fn point_in(number: u8, drawn: f64) -> f32 {
    let (from, size) = interval(number);
    quick_quantile(from + size * drawn) as f32
}

/// $\Phi^{-1}$ with a relative error of $1.2\cdot10^{-9}$, far below single precision: P. J.
/// Acklam's rational approximation.
pub(super) fn quick_quantile(mass: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const TAIL: f64 = 0.02425;
    let at = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |mass: f64| {
        let q = (-2.0 * libm::log(mass)).sqrt();
        at(&C, q) / at(&D, q)
    };
    match mass {
        _ if mass < TAIL => tail(mass),
        _ if mass > 1.0 - TAIL => -tail(1.0 - mass),
        _ => {
            let q = mass - 0.5;
            q * at(&A, q * q) / at(&B, q * q)
        }
    }
}

impl LineMode {
    /// Stratified points for a precise mean over evenly spread lines.
    pub(crate) fn closely(mean: f64, variance: f64) -> Self {
        let few = Strata::around(mean, variance, FEW);
        let enough = few.variance < SMALL_SHARE * variance;
        Self::Stratified(if enough { few } else { Strata::around(mean, variance, MOST) })
    }

    /// The stratification that minimises the work of certifying `rate`, for lines whose masses have
    /// this mean and variance and a point `gap` below the rate. On `deep` networks, evaluating a
    /// point takes far longer than placing a line.
    pub(crate) fn cheapest(rate: f64, gap: f64, (mean, variance): (f64, f64), deep: bool) -> Self {
        // Work per unit of evidence, which a bet at its best stake gains on average.
        let work = |n: usize, added: f64| {
            let square = variance + added + gap * gap;
            let stake = (gap / square).min(0.98 / (1.0 - rate));
            let work = if deep { n as f64 } else { n as f64 + PLACING_WORK };
            work / (stake * (gap - 0.5 * stake * square))
        };
        if deep {
            let all = COUNTS.map(|n| Strata::around(mean, variance, n));
            let works = all.map(|strata| work(strata.n, strata.variance));
            let least =
                (1..all.len()).fold(0, |least, i| if works[i] < works[least] { i } else { least });
            return Self::Stratified(all[least]);
        }
        let few = Strata::around(mean, variance, FEW);
        let least = work(FEW, few.variance);
        // More points do not pay even if they added no variance at all.
        if least <= work(MOST, 0.0) {
            return Self::Stratified(few);
        }
        let many = Strata::around(mean, variance, MOST);
        Self::Stratified(if least < work(MOST, many.variance) { few } else { many })
    }

    /// The approximate variance that the points add to a line. An error here makes a certificate
    /// slower but not invalid.
    pub(crate) fn variance(&self) -> f64 {
        match self {
            Self::Whole => 0.0,
            Self::Stratified(strata) => strata.variance,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::quantile;

    #[test]
    fn strata_cover_the_line_and_are_smallest_where_masses_are() {
        for (mean, variance) in [(0.35, 1e-3), (0.1, 1e-4), (0.02, 1e-6), (0.97, 0.02), (0.5, 0.2)]
        {
            for n in [FEW, MOST] {
                let strata = Strata::around(mean, variance, n);
                let mut parts: Vec<(f64, f64)> =
                    strata.numbers().iter().map(|number| interval(*number)).collect();
                parts.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert_eq!(parts.len(), n);
                let mut end = 0.0;
                for (from, size) in &parts {
                    assert_eq!(*from, end);
                    end += size;
                }
                assert_eq!(end, 1.0);
                assert_eq!(strata.sizes().sum::<f32>(), 1.0);
                let at =
                    parts.iter().find(|(from, size)| (*from..from + size).contains(&mean)).unwrap();
                assert!(
                    parts.iter().all(|other| variance > 0.01 || other.1 >= at.1),
                    "{mean} {variance} {n}"
                );
            }
        }
    }

    /// Against the quantile to full precision.
    #[test]
    fn points_are_quantiles_in_single_precision() {
        for number in [1u8, 2, 3, 64, 127, 128, 200, 255] {
            for drawn in [1e-9, 1e-3, 0.2, 0.5, 0.77, 0.999] {
                let (from, size) = interval(number);
                let exact = quantile(from + size * drawn);
                let off = (f64::from(point_in(number, drawn)) - exact).abs();
                assert!(
                    off <= 1.5 * f64::from(f32::EPSILON) * (exact.abs() + 1e-3),
                    "{number} {drawn}: {off:e}"
                );
            }
        }
    }
}
