//! Proposition 1 and Corollary 1: Wachter's recourse for an affine score, its exact rate, and the
//! score that buys a rate.
//!
//! For $s(x) = w^\top x + b$ and a target score $t$, the closest point in $\ell_2$ that scores $t$
//! is
//!
//! $$x' = x + \frac{t - s(x)}{\lVert w\rVert^2}\,w, \qquad
//! \Delta(x') = \bar\Phi\Big(\frac{t + w^\top\mu}{\sqrt{w^\top\Sigma w}}\Big), \qquad
//! t_r = z_r\sqrt{w^\top\Sigma w} - w^\top\mu .$$
//!
//! Source: PROBE, arXiv:2203.06768, Proposition 1 and Corollary 1, with $\mu = 0$ and $\Sigma =
//! \sigma^2 I$: $\Delta = 1 - \Phi(t/(\sigma\lVert w\rVert))$ and $t_r = \sigma\lVert
//! w\rVert\Phi^{-1}(1-r)$. What differs and why:
//! - Any Gaussian noise, on any subset of the features: only two scalars change.
//! - The closed form minimises $(s(x') - t)^2 + \lambda\,d(x, x')$ only in the limit $\lambda \to
//!   0$. With the squared norm the step is $(t - s)w/(\lambda + \lVert w\rVert^2)$, with the plain
//!   norm it is $\max(0, 1 - \lambda/(2\lVert w\rVert\,|t - s|))$ times the closed form: both stop
//!   short of $t$, see [`wachter_point_penalised`].
//! - $t = 0$, the paper's default, lands on the boundary, and a tie is refused: it is no recourse.
//!   So is every $t_r \le 0$, which with centred noise means $r \ge 1/2$.
//!
//! Cost: $O(d)$, and $O(d^2)$ for a full covariance.

use super::{check_features, check_len, first_order::affine_rate};
use crate::error::{Error, Result, require};
use crate::math::dot;
use crate::math::normal::upper_quantile;
use crate::model::{Linear, Model};
use crate::noise::Gaussian;

/// The distance in Wachter's objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// $\lVert x' - x\rVert_2$, as the paper writes it.
    Euclidean,
    /// $\lVert x' - x\rVert_2^2$.
    SquaredEuclidean,
}

/// The closest point in $\ell_2$ that scores `target_score`.
///
/// Fails on a non-finite target, on a wrong length and on a model without any weight, whose score
/// no change can move.
///
/// ```
/// use probe_core::{Linear, Model, theory::wachter_point};
/// let model = Linear::new(vec![1.0, 2.0], -1.5, 0.0)?;
/// let point = wachter_point(&model, &[0.0, 0.0], 1.0)?;
/// assert!((model.score(&point)? - 1.0).abs() < 1e-15);
/// assert!((point[0] - 0.5).abs() < 1e-15 && (point[1] - 1.0).abs() < 1e-15);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn wachter_point(model: &Linear, factual: &[f64], target_score: f64) -> Result<Vec<f64>> {
    wachter_point_penalised(model, factual, target_score, 0.0, Distance::SquaredEuclidean)
}

/// The minimiser of $(s(x') - t)^2 + \lambda\,d(x, x')$, for which $\lambda \to 0$ gives
/// [`wachter_point`].
///
/// Fails as [`wachter_point`] does, and on a $\lambda$ that is not finite and at least 0.
pub fn wachter_point_penalised(
    model: &Linear,
    factual: &[f64],
    target_score: f64,
    lambda: f64,
    distance: Distance,
) -> Result<Vec<f64>> {
    check_len("features of the point", model.n_features(), factual.len())?;
    require(target_score.is_finite(), "target score", "finite", target_score)?;
    require(lambda >= 0.0 && lambda.is_finite(), "lambda", "at least 0 and finite", lambda)?;
    let weights = model.weights();
    // By the largest weight, so that no square over- or underflows.
    let scale = weights.iter().fold(0.0, |top: f64, w| top.max(w.abs()));
    if scale <= 0.0 {
        return Err(Error::Unsupported {
            what: "a recourse for a linear model whose weights are all zero".to_owned(),
            why: "no change of the input changes the score".to_owned(),
        });
    }
    let unit: Vec<f64> = weights.iter().map(|w| w / scale).collect();
    let square = dot(&unit, &unit);
    // From here on in units where the largest weight is 1: the gap shrinks by `scale`, λ by its
    // square.
    let gap = (target_score - model.score_row(factual)) / scale;
    let step = match distance {
        Distance::SquaredEuclidean => gap / (lambda / scale / scale + square),
        Distance::Euclidean => {
            let short = lambda / scale / scale / (2.0 * square.sqrt());
            gap.signum() * (gap.abs() - short).max(0.0) / square
        }
    };
    Ok(factual.iter().zip(&unit).map(|(x, w)| x + step * w).collect())
}

/// Proposition 1: the exact rate of any point of the affine `model` that scores `target_score`.
///
/// Fails on a non-finite target and on lengths that do not match.
pub fn wachter_rate(
    model: &Linear,
    noise: &Gaussian,
    active: &[bool],
    target_score: f64,
) -> Result<f64> {
    require(target_score.is_finite(), "target score", "finite", target_score)?;
    let (shift, sd) = along(model, noise, active)?;
    Ok(affine_rate(target_score, shift, sd))
}

/// Corollary 1: the score $t_r = z_r\sqrt{w^\top\Sigma w} - w^\top\mu$ at which the rate is
/// `target_rate`.
///
/// A point must also score above 0 itself: where the value returned is not positive (centred noise
/// and a rate of one half or more), any positive score keeps the rate below `target_rate`. With no
/// noise along the weights the rate is 0 above $-w^\top\mu$ and 1 up to it; that edge is returned.
/// Fails unless `target_rate` is in (0, 1).
///
/// ```
/// use probe_core::{Gaussian, Linear, theory::{robust_score, wachter_rate}};
/// let (model, noise) = (Linear::new(vec![1.0, 2.0], -1.5, 0.0)?, Gaussian::isotropic(2, 0.1)?);
/// let score = robust_score(&model, &noise, &[true, true], 0.05)?;
/// assert!((wachter_rate(&model, &noise, &[true, true], score)? - 0.05).abs() < 1e-15);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn robust_score(
    model: &Linear,
    noise: &Gaussian,
    active: &[bool],
    target_rate: f64,
) -> Result<f64> {
    require(target_rate > 0.0 && target_rate < 1.0, "target rate", "in (0, 1)", target_rate)?;
    let (shift, sd) = along(model, noise, active)?;
    Ok(upper_quantile(target_rate) * sd - shift)
}

/// $w^\top\mu$ and $\sqrt{w^\top\Sigma w}$ over the active features.
fn along(model: &Linear, noise: &Gaussian, active: &[bool]) -> Result<(f64, f64)> {
    let weights = model.weights();
    check_features(model.n_features(), noise.mean().len(), active.len(), weights.len())?;
    let is_active = |j: usize| active[j];
    Ok((noise.mean_along(weights, is_active), noise.sd_along(weights, is_active)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Covariance;

    fn credit() -> Linear {
        Linear::new(vec![1.0, 2.0], -1.5, 0.0).unwrap()
    }

    #[test]
    fn isotropic_rates_match_the_paper_formula() {
        // mpmath 1.4.1: erfc(t/(0.1 √5 √2))/2 at t = 0.1, 0.5, 5.
        let noise = Gaussian::isotropic(2, 0.1).unwrap();
        for (target, rate) in REFERENCE {
            let found = wachter_rate(&credit(), &noise, &[true; 2], *target).unwrap();
            // The margin is good to two units in the last place, each worth about z² units of the
            // rate.
            let z = target / (0.1 * 5f64.sqrt());
            assert!(
                (found / rate - 1.0).abs() < (4.0 + 2.0 * z * z) * f64::EPSILON,
                "{target}: {found:e}"
            );
        }
    }

    const REFERENCE: &[(f64, f64)] =
        &[(0.1, 0.3273604230092885), (0.5, 0.012673659338734137), (5.0, 4.752698883277178e-111)];

    #[test]
    fn robust_score_inverts_the_rate_for_every_covariance() {
        let full = vec![0.05, 0.02, 0.02, 0.03];
        for covariance in [
            Covariance::Isotropic(0.1),
            Covariance::Diagonal(vec![0.1, 0.3]),
            Covariance::Full(full),
        ] {
            let noise = Gaussian::new(vec![0.2, -0.4], covariance).unwrap();
            for active in [[true, true], [true, false], [false, true]] {
                for rate in [0.9, 0.5, 0.35, 0.05, 1e-12, 1e-300] {
                    let score = robust_score(&credit(), &noise, &active, rate).unwrap();
                    let found = wachter_rate(&credit(), &noise, &active, score).unwrap();
                    assert!((found / rate - 1.0).abs() < 1e-12, "{rate:e}: {found:e}");
                }
            }
        }
    }

    #[test]
    fn the_closed_form_is_the_projection() {
        // No other point of the same score is closer: move along the boundary.
        let point = wachter_point(&credit(), &[0.3, -0.1], 0.4).unwrap();
        let length = |p: &[f64]| (p[0] - 0.3).hypot(p[1] + 0.1);
        for slide in [-0.5, -1e-3, 1e-3, 0.5] {
            assert!(length(&[point[0] + 2.0 * slide, point[1] - slide]) > length(&point));
        }
    }

    #[test]
    fn extreme_weights_neither_overflow_nor_vanish() {
        for size in [1e-200, 1e200] {
            let model = Linear::new(vec![size, -size], 0.0, 0.0).unwrap();
            let point = wachter_point(&model, &[0.0, 0.0], size).unwrap();
            assert!((point[0] - 0.5).abs() < 1e-15 && (point[1] + 0.5).abs() < 1e-15);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let flat = Linear::new(vec![0.0], -1.0, 0.0).unwrap();
        assert!(wachter_point(&flat, &[0.0], 1.0).is_err());
        assert!(wachter_point(&credit(), &[0.0], 1.0).is_err());
        assert!(wachter_point(&credit(), &[0.0; 2], f64::NAN).is_err());
        let noise = Gaussian::isotropic(2, 0.1).unwrap();
        for rate in [0.0, 1.0, f64::NAN] {
            assert!(robust_score(&credit(), &noise, &[true; 2], rate).is_err());
        }
        let penalised =
            wachter_point_penalised(&credit(), &[0.0; 2], 1.0, -1.0, Distance::SquaredEuclidean);
        assert!(penalised.is_err());
    }
}
