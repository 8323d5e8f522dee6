//! Proposition 5: how far a sampled rate is from the true one, and why the sigmoid estimator does
//! not obey it.
//!
//! The share of refused implementations among $K$ independent draws has
//!
//! $$E\big[(\tilde\Delta_{MC} - \Delta)^2\big] = \frac{\Delta(1-\Delta)}{K} \le \frac{1}{4K}.$$
//!
//! The differentiable estimator of the paper's Algorithm 2 averages $1 - S(t\,s(x+\varepsilon))$,
//! $S$ the logistic function, instead of indicators. Where the score is affine with standard
//! deviation $q$ under the noise, its mean depends on $\tau = tq$ and the margin $m = z_\Delta$
//! alone and exceeds $\Delta$ by
//!
//! $$\beta(\tau, m) = \int_0^\infty \frac{\varphi(y-m) - \varphi(y+m)}{1 + e^{\tau y}}\,dy ,$$
//!
//! from folding $E[S(-\tau Y) - 1_{Y\le0}]$, $Y \sim N(m, 1)$, at 0. The integrand is positive iff
//! $m > 0$: below one half the sigmoid overstates the rate, above it understates it. More samples
//! do not help; the mean squared error stays above $\beta^2$.
//!
//! Source: PROBE, arXiv:2203.06768, Proposition 5 and the differentiable estimator after it. What
//! differs and why:
//! - The exact error replaces the bound $1/(4K)$ (kept as [`indicator_mse_bound`] for a rate not
//!   known yet).
//! - The proposition is proved for indicators and does not cover the sigmoid estimator that the
//!   algorithm uses.
//! - It is about one point chosen before sampling. A search that stops at its first estimate $\le
//!   r$ picks lucky samples, so the rate it stopped on says little; certify with fresh ones.
//!
//! Cost: constant; [`sigmoid_bias`] evaluates about two thousand exponentials.

use crate::error::{Result, require};
use crate::math::normal::{pdf, upper_quantile};

/// Mean squared error $\Delta(1-\Delta)/K$ of a sampled rate. Fails unless `rate` is in [0, 1] and
/// `samples` at least 1.
pub fn indicator_mse(rate: f64, samples: usize) -> Result<f64> {
    require((0.0..=1.0).contains(&rate), "rate", "in [0, 1]", rate)?;
    require(samples >= 1, "samples", "at least 1", samples as f64)?;
    Ok(rate * (1.0 - rate) / samples as f64)
}

/// Proposition 5: $1/(4K)$, whatever the rate. Fails unless `samples` is at least 1.
pub fn indicator_mse_bound(samples: usize) -> Result<f64> {
    indicator_mse(0.5, samples)
}

/// Bias $\beta$ of the sigmoid estimator at true `rate` and temperature `tau` = $tq$, in units of
/// the score's noise.
///
/// Exact for affine scores under Gaussian noise, to about twelve digits relative. Its square is the
/// floor of the mean squared error. Fails unless `tau` is positive and finite and `rate` in (0, 1).
///
/// ```
/// use probe_core::theory::sigmoid_bias;
/// // At a true rate of 5 %, a sigmoid with tau = 2 reports 10.8 % on average.
/// assert!((sigmoid_bias(2.0, 0.05)? - 0.0584).abs() < 1e-4);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn sigmoid_bias(tau: f64, rate: f64) -> Result<f64> {
    require(tau > 0.0 && tau.is_finite(), "tau", "positive and finite", tau)?;
    require(rate > 0.0 && rate < 1.0, "rate", "in (0, 1)", rate)?;
    let signed = upper_quantile(rate);
    let margin = signed.abs();
    // φ(y-m) - φ(y+m) = φ(y-m)(1 - e^{-2my}), without cancellation; the logistic factor without
    // overflow.
    let integrand = |y: f64| {
        let damp = libm::exp(-tau * y);
        pdf(y - margin) * -libm::expm1(-2.0 * margin * y) * damp / (1.0 + damp)
    };
    // With y = e^u the integrand is analytic and dies out on both sides, where the trapezoidal rule
    // converges exponentially. Below the smallest scale it falls like y²; beyond the Gaussian
    // nothing is left.
    const STEP: f64 = 1.0 / 64.0;
    let smallest = (1.0 / tau).min(1.0 / (1.0 + margin));
    let from = libm::log(smallest) - 20.0;
    let steps = ((libm::log(margin + 40.0) - from) / STEP).ceil() as usize;
    let area: f64 = (0..=steps)
        .map(|i| {
            let y = libm::exp(from + STEP * i as f64);
            y * integrand(y)
        })
        .sum();
    Ok(signed.signum() * STEP * area)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::upper_tail;
    use crate::seed::{Purpose, Seed};

    #[test]
    fn bias_matches_high_precision_quadrature() {
        // mpmath 1.4.1 at 40 digits: quad of the folded integral over its largest value, in panels
        // of 1/(2τ) and 1/2.
        for &(rate, tau, bias) in REFERENCE {
            let found = sigmoid_bias(tau, rate).unwrap();
            assert!(
                (found / bias - 1.0).abs() < 1e-11,
                "r = {rate:e}, tau = {tau}: {found:e} for {bias:e}"
            );
            if rate > 1e-9 {
                let mirrored = sigmoid_bias(tau, 1.0 - rate).unwrap();
                assert!((mirrored / -bias - 1.0).abs() < 1e-9);
            }
        }
        assert!(sigmoid_bias(3.0, 0.5).unwrap().abs() <= 0.0);
    }

    const REFERENCE: &[(f64, f64, f64)] = &[
        (0.35, 0.1, 0.14039213119414554),
        (0.35, 1.0, 0.07097512985257462),
        (0.35, 2.0, 0.035014080683909876),
        (0.35, 5.0, 0.00835174120753282),
        (0.35, 10.0, 0.002274176534971833),
        (0.35, 25.0, 0.0003736721642127978),
        (0.35, 200.0, 5.868738322869531e-06),
        (0.1, 0.1, 0.36808425560651586),
        (0.1, 1.0, 0.15536803384511413),
        (0.1, 2.0, 0.06691798148498598),
        (0.1, 5.0, 0.013919030866690928),
        (0.1, 10.0, 0.003642412451290601),
        (0.1, 25.0, 0.0005904616228896332),
        (0.1, 200.0, 9.248698233521913e-06),
        (0.05, 0.1, 0.4090725029070206),
        (0.05, 1.0, 0.15067284594257208),
        (0.05, 2.0, 0.05842902745838048),
        (0.05, 5.0, 0.010938905232555234),
        (0.05, 10.0, 0.0027796126420965724),
        (0.05, 25.0, 0.00044623396727152734),
        (0.05, 200.0, 6.976230911178925e-06),
        (1e-06, 0.1, 0.38362603243947274),
        (1e-06, 1.0, 0.013712131022300098),
        (1e-06, 2.0, 0.0005365156589110707),
        (1e-06, 5.0, 4.219243777590716e-06),
        (1e-06, 10.0, 4.89588053091641e-07),
        (1e-06, 25.0, 6.419885806564879e-08),
        (1e-06, 200.0, 9.678297779969123e-10),
        (1e-100, 0.1, 0.10684151028526259),
        (1e-100, 1.0, 9.510508701913183e-10),
        (1e-100, 2.0, 2.45867983132768e-18),
        (1e-100, 5.0, 1.713813505956381e-41),
        (1e-100, 10.0, 2.1148967491208333e-71),
        (1e-100, 25.0, 4.58962042067698e-100),
        (1e-100, 200.0, 1.8895925360953987e-102),
        (1e-290, 0.1, 0.025647405471881428),
        (1e-290, 1.0, 2.5108712756825277e-16),
        (1e-290, 2.0, 1.7137338642714607e-31),
        (1e-290, 5.0, 2.19819927869755e-74),
        (1e-290, 10.0, 3.479334389489158e-137),
        (1e-290, 25.0, 1.9228959332198304e-260),
        (1e-290, 200.0, 5.674354972428773e-292),
    ];

    #[test]
    fn sharp_sigmoids_approach_the_asymptote() {
        // φ(m) m (π²/6)/τ² for large τ.
        for rate in [0.35f64, 0.05] {
            let m = upper_quantile(rate);
            let limit = pdf(m) * m * std::f64::consts::PI.powi(2) / 6.0 / 1e8;
            assert!((sigmoid_bias(1e4, rate).unwrap() / limit - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn blunt_sigmoids_report_one_half() {
        assert!((sigmoid_bias(1e-9, 0.05).unwrap() - 0.45).abs() < 1e-8);
    }

    #[test]
    fn indicator_error_is_what_sampling_shows() {
        let mut stream = Seed(9).stream(Purpose::Data, 0);
        let (rate, samples, repeats) = (upper_tail(1.2), 40, 20_000);
        let mut total = 0.0;
        for _ in 0..repeats {
            let refused = (0..samples).filter(|_| stream.normal() <= -1.2).count();
            total += (refused as f64 / samples as f64 - rate).powi(2);
        }
        let expected = indicator_mse(rate, samples).unwrap();
        // Squared errors are about chi-square with one degree: relative standard error
        // √(2/repeats), four allowed.
        assert!(
            (total / f64::from(repeats) / expected - 1.0).abs()
                < 4.0 * (2.2 / f64::from(repeats)).sqrt()
        );
        assert!(expected < indicator_mse_bound(samples).unwrap());
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(indicator_mse(1.1, 10).is_err() && indicator_mse(f64::NAN, 10).is_err());
        assert!(indicator_mse_bound(0).is_err());
        assert!(sigmoid_bias(0.0, 0.1).is_err() && sigmoid_bias(f64::INFINITY, 0.1).is_err());
        assert!(sigmoid_bias(1.0, 0.0).is_err() && sigmoid_bias(1.0, f64::NAN).is_err());
    }
}
