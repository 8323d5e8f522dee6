//! How much of the noise a ball holds, and how large a ball holds a given share of it.
//!
//! For $\varepsilon \sim N(0, \sigma^2 I_d)$, $\lVert\varepsilon\rVert^2/\sigma^2$ is chi-square
//! with $d$ degrees, so
//!
//! $$P(\lVert\varepsilon\rVert \le k\sigma) = P(d/2,\ k^2/2),$$
//!
//! the regularised lower incomplete gamma function; in two dimensions $1 - e^{-k^2/2}$.
//!
//! Source: PROBE, arXiv:2203.06768, captions of its figures with circles of radius $2\sigma$ "where
//! 95 % of recourse inaccuracies fall". That is the share in one dimension; in the plane of the
//! figures it is 86.5 %, and with 20 features it is less than one in twenty thousand.
//!
//! Cost: constant; the radius takes about sixty evaluations of the mass.

use crate::error::{Result, require};
use statrs::function::gamma::{gamma_lr, gamma_ur};

/// The share of isotropic noise on `dim` features that falls within `k` standard deviations of its
/// centre.
///
/// Fails unless `dim` is at least 1 and `k` at least 0 (infinity allowed).
///
/// ```
/// use probe_core::theory::ball_mass;
/// assert!((ball_mass(2, 2.0)? - 0.8647).abs() < 1e-4);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn ball_mass(dim: usize, k: f64) -> Result<f64> {
    require(dim >= 1, "dimension", "at least 1", dim as f64)?;
    require(k >= 0.0, "radius in standard deviations", "at least 0", k)?;
    let half = 0.5 * k * k;
    Ok(if half <= 0.0 {
        0.0
    } else if half.is_finite() {
        gamma_lr(0.5 * dim as f64, half)
    } else {
        1.0
    })
}

/// The radius, in standard deviations, of the ball that holds the share `mass` of the noise on
/// `dim` features.
///
/// Fails unless `dim` is at least 1 and `mass` in (0, 1).
///
/// ```
/// use probe_core::theory::ball_radius;
/// assert!((ball_radius(2, 0.95)? - 2.4477).abs() < 1e-4);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn ball_radius(dim: usize, mass: f64) -> Result<f64> {
    require(dim >= 1, "dimension", "at least 1", dim as f64)?;
    require(mass > 0.0 && mass < 1.0, "mass of the ball", "in (0, 1)", mass)?;
    let shape = 0.5 * dim as f64;
    // Compare on the smaller tail, so that masses near 1 keep their digits.
    let inside = |k: f64| {
        let half = 0.5 * k * k;
        // A radius whose square underflows holds nothing.
        half <= 0.0
            || if mass < 0.5 {
                gamma_lr(shape, half) < mass
            } else {
                gamma_ur(shape, half) > 1.0 - mass
            }
    };
    let (mut low, mut high) = (0.0, 1.0);
    while inside(high) {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return Ok(middle);
        }
        if inside(middle) { low = middle } else { high = middle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_match_high_precision_values() {
        // mpmath 1.4.1: gammainc(d/2, 0, k²/2, regularized=True).
        for (dim, k, mass) in [
            (1, 2.0, 0.954_499_736_103_641_6),
            (2, 2.0, 0.864_664_716_763_387_3),
            (3, 2.0, 0.738_535_870_050_889_4),
            (10, 2.0, 0.052_653_017_343_711_16),
            (20, 2.0, 4.649_807_501_726_381e-5),
            (20, 5.0, 0.798_568_895_054_464_2),
            (100, 12.0, 0.997_370_749_082_548_7),
        ] {
            assert!((ball_mass(dim, k).unwrap() / mass - 1.0).abs() < 1e-11, "{dim} {k}");
        }
    }

    #[test]
    fn radius_inverts_mass() {
        for dim in [1, 2, 5, 20, 300] {
            for mass in [1e-9, 0.1, 0.5, 0.95, 1.0 - 1e-9] {
                let found = ball_mass(dim, ball_radius(dim, mass).unwrap()).unwrap();
                assert!((found - mass).abs() < 1e-11 * mass, "{dim} {mass}: {found}");
            }
        }
        // Masses of radii whose squares underflow still end the search.
        assert!(
            ball_radius(1, 1e-300).unwrap() < 1e-150 && ball_radius(400, 1e-300).unwrap() > 0.0
        );
        // In the plane the mass has a closed form.
        assert!((ball_radius(2, 0.95).unwrap() - (-2.0 * 0.05f64.ln()).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn ends_and_nonsense() {
        assert!(ball_mass(3, 0.0).unwrap().abs() <= 0.0);
        assert!((ball_mass(3, f64::INFINITY).unwrap() - 1.0).abs() <= 0.0);
        assert!(
            ball_mass(0, 1.0).is_err()
                && ball_mass(2, -1.0).is_err()
                && ball_mass(2, f64::NAN).is_err()
        );
        assert!(
            ball_radius(0, 0.5).is_err()
                && ball_radius(2, 0.0).is_err()
                && ball_radius(2, 1.0).is_err()
        );
    }
}
