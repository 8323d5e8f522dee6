//! A bound that every classifier obeys: the smoothed margin cannot change faster than one unit per
//! $\sigma$.
//!
//! For $\varepsilon \sim N(\mu, \sigma^2 I)$ on all features, the smoothed margin $M(x) =
//! \bar\Phi^{-1}(\Delta(x))$ of *any* measurable classifier satisfies $|M(x + \delta) - M(x)| \le
//! \lVert\delta\rVert_2/\sigma$. Hence
//!
//! $$\Delta(x') \le r \ \Rightarrow\ \lVert x' - x\rVert_2 \ge \sigma\,(z_r - M(x)), \qquad
//! \bar\Phi\big(M(x) + \rho/\sigma\big) \le \Delta(x + \delta) \le \bar\Phi\big(M(x) -
//! \rho/\sigma\big) \text{ for } \lVert\delta\rVert_2 \le \rho .$$
//!
//! Source: randomised smoothing, Cohen, Rosenfeld and Kolter (ICML 2019, arXiv:1902.02918), Theorem
//! 1 (by the Neyman–Pearson lemma), and Salman et al. (NeurIPS 2019, arXiv:1906.04584) for the
//! Lipschitz form. It replaces Proposition 4 of PROBE (arXiv:2203.06768), which bounds the
//! rate from above for affine scores only; here the classifier may be a tree, a network or a rule,
//! and both sides are tight for a half-space.
//!
//! The rate at $x$ is usually sampled. Put a bound in the safe direction: an *upper* confidence
//! bound of $M(x)$ (from a lower bound of $\Delta$) into [`least_distance`], and the bound of $M$
//! that the side you use needs into [`rates_within`]. It does not hold for noise on a subset of the
//! features, where a change in the others can do anything. Since $\lVert\delta\rVert_1 \ge
//! \lVert\delta\rVert_2$, the least distance also bounds $\ell_1$ costs. With covariance $\Sigma$
//! use `sigma` = 1 and read distances as $\sqrt{\delta^\top\Sigma^{-1}\delta}$. Cost: constant.

use crate::error::{Result, require};
use crate::math::normal::{upper_quantile, upper_tail};

/// The least $\ell_2$ distance at which any point can have a rate of `target_rate`, from the
/// smoothed `margin` $M(x)$.
///
/// Takes the margin, not the rate, since a refused person's rate may round to 1. Fails unless
/// `sigma` is positive and finite, `target_rate` in (0, 1) and `margin` a number (an infinite one
/// is allowed).
///
/// ```
/// use probe_core::{math::normal::upper_quantile, theory::least_distance};
/// // Refused in 90 % of noisy attempts; a rate of 5 % is at least this far away, whatever
/// // the model.
/// let distance = least_distance(0.1, 0.05, upper_quantile(0.9))?;
/// assert!((distance - 0.1 * (1.6448536269514727 + 1.2815515655446004)).abs() < 1e-15);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn least_distance(sigma: f64, target_rate: f64, margin: f64) -> Result<f64> {
    check(sigma, margin)?;
    require(target_rate > 0.0 && target_rate < 1.0, "target rate", "in (0, 1)", target_rate)?;
    Ok((sigma * (upper_quantile(target_rate) - margin)).max(0.0))
}

/// The lowest and highest rate that any classifier can have within `radius` of a point with
/// smoothed `margin` $M$.
///
/// Fails unless `sigma` is positive and finite, `radius` finite and at least 0, and `margin` a
/// number.
pub fn rates_within(sigma: f64, margin: f64, radius: f64) -> Result<(f64, f64)> {
    check(sigma, margin)?;
    require(radius >= 0.0 && radius.is_finite(), "radius", "at least 0 and finite", radius)?;
    let steps = radius / sigma;
    Ok((upper_tail(margin + steps), upper_tail(margin - steps)))
}

fn check(sigma: f64, margin: f64) -> Result<()> {
    require(sigma > 0.0 && sigma.is_finite(), "sigma", "positive and finite", sigma)?;
    require(!margin.is_nan(), "smoothed margin", "a number", margin)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed};

    /// Exact rate at `x` of the 1-D classifier that accepts the given disjoint, sorted intervals.
    fn rate(x: f64, sigma: f64, accepted: &[(f64, f64)]) -> f64 {
        let mut refused = 1.0;
        for &(low, high) in accepted {
            // Mass from whichever tail is shorter.
            let (a, b) = ((low - x) / sigma, (high - x) / sigma);
            refused -= if a > 0.0 {
                upper_tail(a) - upper_tail(b)
            } else {
                upper_tail(-b) - upper_tail(-a)
            };
        }
        refused
    }

    #[test]
    fn holds_for_random_interval_classifiers() {
        let mut stream = Seed(5).stream(Purpose::Data, 0);
        for _ in 0..3_000 {
            let sigma = 0.05 + stream.uniform();
            let mut cuts: Vec<f64> = (0..8).map(|_| 2.0 * stream.normal()).collect();
            cuts.sort_by(f64::total_cmp);
            let accepted: Vec<(f64, f64)> =
                cuts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let (from, to) = (2.0 * stream.normal(), 2.0 * stream.normal());
            let (start, end) = (rate(from, sigma, &accepted), rate(to, sigma, &accepted));
            // Keep to rates that 1 - mass resolves.
            if start.min(end) < 1e-6 || start.max(end) > 1.0 - 1e-6 {
                continue;
            }
            let margin = upper_quantile(start);
            assert!(least_distance(sigma, end, margin).unwrap() <= (to - from).abs() + 1e-8);
            let (low, high) = rates_within(sigma, margin, (to - from).abs()).unwrap();
            assert!(low <= end + 1e-9 && end <= high + 1e-9);
        }
    }

    #[test]
    fn tight_for_a_half_space() {
        // Accepts x > 0: the margin at x is x/σ, and the rate r sits at σ z_r.
        let (sigma, from) = (0.2, -0.7);
        for target in [0.3, 0.05, 1e-12, 1e-300] {
            let distance = least_distance(sigma, target, from / sigma).unwrap();
            let reached = upper_tail((from + distance) / sigma);
            assert!((reached / target - 1.0).abs() < 1e-12);
        }
        assert!(least_distance(sigma, 0.3, 2.0).unwrap().abs() <= 0.0, "already there");
    }

    #[test]
    fn infinite_margins_and_nonsense() {
        assert_eq!(least_distance(0.1, 0.05, f64::NEG_INFINITY).unwrap(), f64::INFINITY);
        assert_eq!(rates_within(0.1, f64::INFINITY, 1.0).unwrap(), (0.0, 0.0));
        assert!(least_distance(0.1, 0.05, f64::NAN).is_err());
        assert!(least_distance(-0.1, 0.05, 0.0).is_err());
        assert!(least_distance(0.1, 0.0, 0.0).is_err());
        assert!(rates_within(0.1, 0.0, -1.0).is_err());
    }
}
