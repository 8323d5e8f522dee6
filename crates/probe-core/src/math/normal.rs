//! The standard normal distribution, with tails that stay accurate down to $10^{-300}$.
//!
//! Everything goes through `erfc`; nothing computes `1 - cdf`.

use statrs::function::erf::erfc_inv;
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};

const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// Density $\varphi(z)$.
pub fn pdf(z: f64) -> f64 {
    INV_SQRT_TAU * libm::exp(-0.5 * z * z)
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
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// $z_p$ with $\bar\Phi(z_p) = p$, that is $\Phi^{-1}(1-p)$, for $0 \le p \le 1$ (±∞ at the ends).
///
/// The library value is polished by one Newton step, which also makes it accurate deep in the tail.
pub fn upper_quantile(p: f64) -> f64 {
    if p > 0.5 {
        // 1 - p is exact for p in [0.5, 1].
        return -upper_quantile(1.0 - p);
    }
    if p <= 0.0 {
        return if p < 0.0 { f64::NAN } else { f64::INFINITY };
    }
    let z = SQRT_2 * erfc_inv(2.0 * p);
    let density = pdf(z);
    if density > 0.0 { z + (upper_tail(z) - p) / density } else { z }
}

/// $\Phi^{-1}(p)$.
pub fn quantile(p: f64) -> f64 {
    -upper_quantile(p)
}
