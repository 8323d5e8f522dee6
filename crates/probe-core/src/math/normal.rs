//! The standard normal distribution, with tails that stay accurate down to $10^{-300}$.
//!
//! Everything goes through `erfc`; nothing computes `1 - cdf`. Relative errors are within
//! $10^{-14}$ everywhere, which in the tail takes care: the relative error of $\bar\Phi(z)$ is
//! $z^2$ times that of its argument, so rounding $z/\sqrt2$ alone would cost three digits at $z =
//! 37$.

use statrs::function::erf::{erf_inv, erfc_inv};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// $1/\sqrt2$ less its nearest double.
const FRAC_1_SQRT_2_LOW: f64 = -4.833_646_656_726_457e-17;

/// Density $\varphi(z)$.
pub fn pdf(z: f64) -> f64 {
    if z.abs() <= 4.0 {
        return INV_SQRT_TAU * libm::exp(-0.5 * z * z);
    }
    // z² = head² + (z - head)(z + head), and a head of 26 bits squares without rounding.
    let head = f64::from_bits(z.to_bits() & !0x7ff_ffff);
    let rest = if z.is_finite() { (z - head) * (z + head) } else { 0.0 };
    INV_SQRT_TAU * libm::exp(-0.5 * head * head) * libm::exp(-0.5 * rest)
}

/// Distribution function $\Phi(z)$.
pub fn cdf(z: f64) -> f64 {
    upper_tail(-z)
}

/// Upper tail $\bar\Phi(z) = 1 - \Phi(z)$, without cancellation.
///
/// ```
/// use probe_core::math::normal::upper_tail;
/// assert!(upper_tail(10.0) > 7.6e-24 && upper_tail(10.0) < 7.7e-24);
/// ```
pub fn upper_tail(z: f64) -> f64 {
    let x = z * FRAC_1_SQRT_2;
    let tail = 0.5 * libm::erfc(x);
    if z > 2.0 && z < 40.0 {
        // x misses z/√2 by `miss`; (z + √(z²+4))/2 is the hazard φ/Φ̄ to better than 2 %, enough
        // for a correction.
        let miss = z.mul_add(FRAC_1_SQRT_2, -x) + z * FRAC_1_SQRT_2_LOW;
        tail - tail * (miss * FRAC_1_SQRT_2 * (z + (z * z + 4.0).sqrt()))
    } else {
        tail
    }
}

/// $z_p$ with $\bar\Phi(z_p) = p$, that is $\Phi^{-1}(1-p)$, for $0 \le p \le 1$ (±∞ at the ends,
/// NaN outside).
///
/// The library value is polished by Newton steps: on $1-2p$ around the median, on $\ln p$ in the
/// tail.
///
/// ```
/// use probe_core::math::normal::upper_quantile;
/// assert!((upper_quantile(0.05) - 1.6448536269514727).abs() < 1e-15);
/// ```
pub fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        // 1 - p is exact for p in [0.5, 1].
        return -upper_quantile(1.0 - p);
    }
    if p > 0.25 {
        // 1 - 2p is exact for p in [0.25, 0.5], so the relative accuracy of z survives its zero at
        // the median.
        let centre = 1.0 - 2.0 * p;
        let z = SQRT_2 * erf_inv(centre);
        return z - (libm::erf(z * FRAC_1_SQRT_2) - centre) / (2.0 * pdf(z));
    }
    if p > 0.0 {
        let mut z = SQRT_2 * erfc_inv(2.0 * p);
        // Below 1e-305 the tail itself has lost digits to underflow: nothing to polish with.
        for _ in 0..if p >= 1e-305 { 2 } else { 0 } {
            let tail = upper_tail(z);
            z += libm::log1p((tail - p) / p) * tail / pdf(z);
        }
        return z;
    }
    if p < 0.0 || p.is_nan() { f64::NAN } else { f64::INFINITY }
}

/// $\Phi^{-1}(p)$.
pub fn quantile(p: f64) -> f64 {
    -upper_quantile(p)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Reference values: mpmath 1.4.1 at 60 digits. Tail erfc(z/√2)/2; density exp(-z²/2)/√(2π);
    // quantile as √2·erfinv(1-2p), or for p <= 0.01 the root of ln tail(z) = ln p. Arguments are
    // the exact doubles.
    const TAIL: &[(f64, f64)] = &[
        (-10.0, 1.0),
        (-6.0, 0.999_999_999_013_412_3),
        (-3.0, 0.998_650_101_968_369_9),
        (-1.0, 0.841_344_746_068_542_9),
        (-0.5, 0.691_462_461_274_013_1),
        (0.0, 0.5),
        (0.1, 0.460_172_162_722_971),
        (0.5, 0.308_537_538_725_986_9),
        (1.0, 0.158_655_253_931_457_05),
        (2.0, 0.022_750_131_948_179_21),
        (3.0, 0.001_349_898_031_630_094_6),
        (3.7, 0.000_107_799_733_477_388_26),
        (4.0, 3.167_124_183_311_992_4e-05),
        (5.0, 2.866_515_718_791_939e-07),
        (6.5, 4.016_000_583_859_118e-11),
        (8.3, 5.205_569_744_890_254e-17),
        (10.0, 7.619_853_024_160_525e-24),
        (12.7, 2.956_485_364_852_05e-37),
        (15.0, 3.670_966_199_312_751e-51),
        (20.1, 3.689_680_863_721_389_7e-90),
        (25.0, 3.056_696_706_382_561e-138),
        (29.9, 9.838_968_332_390_558e-197),
        (33.3, 1.930_505_505_927_84e-243),
        (35.0, 1.124_910_706_472_406_2e-268),
        (37.0, 5.725_571_222_524_577e-300),
        (37.5, 4.605_353_009_581_955e-308),
    ];
    const DENSITY: &[(f64, f64)] = &[
        (0.0, 0.398_942_280_401_432_7),
        (0.3, 0.381_387_815_460_524_1),
        (1.0, 0.241_970_724_519_143_34),
        (4.9, 2.438_960_745_893_354_3e-06),
        (5.1, 8.972_435_162_383_345e-07),
        (10.0, 7.694_598_626_706_419e-23),
        (17.3, 4.082_369_601_071_502_5e-66),
        (25.7, 1.504_280_721_340_090_2e-144),
        (33.3, 6.434_370_239_339_347e-242),
        (37.0, 2.120_006_551_524_605_6e-298),
    ];
    const QUANTILE: &[(f64, f64)] = &[
        (0.999, -3.090_232_306_167_813),
        (0.9, -1.281_551_565_544_600_6),
        (0.75, -0.674_489_750_196_081_7),
        (0.6, -0.253_347_103_135_799_7),
        (0.51, -0.025_068_908_258_711_057),
        (0.500_1, -0.000_250_662_830_088_007_47),
        (0.499_9, 0.000_250_662_830_088_007_47),
        (0.49, 0.025_068_908_258_711_057),
        (0.35, 0.385_320_466_407_567_7),
        (0.3, 0.524_400_512_708_040_8),
        (0.25, 0.674_489_750_196_081_7),
        (0.2, 0.841_621_233_572_914_2),
        (0.1, 1.281_551_565_544_600_4),
        (0.05, 1.644_853_626_951_472_6),
        (0.01, 2.326_347_874_040_841),
        (0.001, 3.090_232_306_167_813_6),
        (1e-05, 4.264_890_793_922_825),
        (1e-08, 5.612_001_244_174_789),
        (1e-10, 6.361_340_902_404_057),
        (1e-15, 7.941_345_326_170_997),
        (1e-20, 9.262_340_089_798_407),
        (1e-30, 11.464_024_688_443_615),
        (1e-50, 14.933_337_534_788_489),
        (1e-100, 21.273_453_560_965_326),
        (1e-150, 26.122_961_190_593_983),
        (1e-200, 30.205_594_179_579_64),
        (1e-250, 33.799_586_172_694_84),
        (1e-300, 37.047_096_299_361_2),
        (1e-305, 37.356_346_093_067_1),
    ];

    /// Largest relative error of `f` over a table.
    fn worst(table: &[(f64, f64)], f: impl Fn(f64) -> f64) -> f64 {
        table.iter().map(|&(at, value)| (f(at) / value - 1.0).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn tail_density_and_quantile_match_high_precision_values() {
        assert!(worst(TAIL, upper_tail) < 2e-15, "{:e}", worst(TAIL, upper_tail));
        assert!(worst(DENSITY, pdf) < 2e-15, "{:e}", worst(DENSITY, pdf));
        assert!(worst(QUANTILE, upper_quantile) < 1e-15, "{:e}", worst(QUANTILE, upper_quantile));
    }

    #[test]
    fn tails_mirror() {
        for &(z, value) in TAIL {
            assert!((cdf(-z) / value - 1.0).abs() < 2e-15);
            assert!((upper_tail(z) + upper_tail(-z) - 1.0).abs() < 3e-16);
            assert!((pdf(z) - pdf(-z)).abs() <= 0.0);
        }
        assert!((quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-15);
    }

    #[test]
    fn quantile_round_trip_from_0_999_to_1e_minus_300() {
        let mut p = 0.999;
        while p >= 1e-300 {
            let z = upper_quantile(p);
            // One unit in the last place of z is worth about z² units of p.
            let allowed = (4.0 + z * z) * f64::EPSILON;
            assert!(
                (upper_tail(z) / p - 1.0).abs() < allowed,
                "p = {p:e}: {:e}",
                upper_tail(z) / p - 1.0
            );
            p *= 0.83;
        }
    }

    #[test]
    fn tail_is_monotone_across_the_joins() {
        for join in [2.0, 4.0, 37.5] {
            let mut last = upper_tail(join - 1e-9);
            for i in -999..1000 {
                let tail = upper_tail(join + f64::from(i) * 1e-12);
                assert!(tail <= last * (1.0 + 1e-15));
                last = tail;
            }
        }
    }

    #[test]
    fn ends_and_nonsense() {
        assert_eq!(upper_quantile(0.0), f64::INFINITY);
        assert_eq!(upper_quantile(1.0), f64::NEG_INFINITY);
        assert!(upper_quantile(0.5).abs() <= 0.0);
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(upper_quantile(p).is_nan());
        }
        assert!(upper_tail(f64::INFINITY).abs() <= 0.0 && pdf(f64::NEG_INFINITY).abs() <= 0.0);
        assert!((upper_tail(f64::NEG_INFINITY) - 1.0).abs() <= 0.0);
        // The smallest positive number still has a sane quantile (38.485 by mpmath).
        assert!((upper_quantile(5e-324) - 38.485).abs() < 0.05);
    }
}
