//! Propositions 2 and 3: what a target rate costs along a fixed direction, and how fast that price
//! rises.
//!
//! For an affine score, going the $\ell_2$ length $\ell$ in a direction whose cosine with the
//! gradient is $\omega > 0$ raises the margin from $c = s(x)/(\sigma\lVert g\rVert)$ to $c +
//! \omega\ell/\sigma$. The rate $r$ therefore costs
//!
//! $$\ell(r) = \max\Big(0, \frac{\sigma}{\omega}(z_r - c)\Big), \qquad \frac{d\ell}{d(1-r)} =
//! \frac{\sigma}{\omega}\,\frac{1}{\varphi(z_r)} \text{ where } \ell > 0, \qquad \Delta(\ell) =
//! \bar\Phi(c + \omega\ell/\sigma).$$
//!
//! Source: PROBE, arXiv:2203.06768, Propositions 2 and 3. What differs and why:
//! - The paper takes $r \in (0, 1)$ and a favourable $x'$ at once; with centred noise $s(x') > 0$
//!   means $r < 1/2$, so other rates are refused here.
//! - A person who already meets $r$ pays nothing; the paper's formula would pay them a negative
//!   length, with a positive slope.
//! - The slope holds $\omega$ fixed: it is the price along one direction, not along the path of
//!   cheapest recourses, whose direction may turn with $r$ when features have limits.
//! - [`Tradeoff::along`] takes any centred Gaussian noise: margin per unit length is then $w^\top
//!   u/\sqrt{w^\top\Sigma w}$.
//!
//! Cost: constant per rate; [`Tradeoff::along`] is $O(d)$, and $O(d^2)$ for a full covariance.

use super::{check_features, check_len};
use crate::error::{Error, Result, require};
use crate::math::dot;
use crate::math::normal::{pdf, upper_quantile, upper_tail};
use crate::model::{Linear, Model};
use crate::noise::Gaussian;

/// Cost against rate along one direction of an affine score.
///
/// ```
/// use probe_core::theory::Tradeoff;
/// // A person half a noise radius below the boundary who walks straight at it.
/// let line = Tradeoff::isotropic(0.1, 1.0, -0.5)?;
/// let cost = line.cost(0.05)?;
/// assert!((cost - 0.1 * (1.6448536269514727 + 0.5)).abs() < 1e-15);
/// assert!((line.rate(cost) - 0.05).abs() < 1e-15);
/// # Ok::<(), probe_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tradeoff {
    start: f64,
    gain: f64,
}

impl Tradeoff {
    /// The paper's case: noise `sigma` on every feature, cosine `omega` in (0, 1], starting margin
    /// `start` (its $c$).
    pub fn isotropic(sigma: f64, omega: f64, start: f64) -> Result<Self> {
        require(sigma > 0.0 && sigma.is_finite(), "sigma", "positive and finite", sigma)?;
        require(omega > 0.0 && omega <= 1.0, "cosine with the gradient", "in (0, 1]", omega)?;
        require(start.is_finite(), "starting margin", "finite", start)?;
        Ok(Self { start, gain: omega / sigma })
    }

    /// From `factual` in `direction` (any length) of `model` under `noise` on the `active`
    /// features.
    ///
    /// Fails unless the direction raises the score, some noise acts along the weights, and the
    /// noise's mean does not move the score: with a helpful mean the rate can be met at a point
    /// that is itself refused.
    pub fn along(
        model: &Linear,
        noise: &Gaussian,
        active: &[bool],
        factual: &[f64],
        direction: &[f64],
    ) -> Result<Self> {
        check_features(model.n_features(), noise.mean().len(), active.len(), factual.len())?;
        check_len("entries of the direction", model.n_features(), direction.len())?;
        let (weights, is_active) = (model.weights(), |j: usize| active[j]);
        let sd = noise.sd_along(weights, is_active);
        require(sd > 0.0 && sd.is_finite(), "noise along the weights", "positive and finite", sd)?;
        let shift = noise.mean_along(weights, is_active);
        if shift.is_nan() || shift.abs() > 0.0 {
            return Err(Error::Unsupported {
                what: "the cost of a rate under noise whose mean moves the score".to_owned(),
                why: "the rate alone would not make the point favourable; \
                      use the solver, which holds both"
                    .to_owned(),
            });
        }
        let rise = dot(weights, direction) / dot(direction, direction).sqrt();
        require(
            rise > 0.0 && rise.is_finite(),
            "rise of the score along the direction",
            "positive",
            rise,
        )?;
        Ok(Self { start: model.score_row(factual) / sd, gain: rise / sd })
    }

    /// The margin at the start, $c$.
    pub fn start(&self) -> f64 {
        self.start
    }

    /// Margin gained per unit of $\ell_2$ length, $\omega/\sigma$.
    pub fn gain(&self) -> f64 {
        self.gain
    }

    /// Proposition 2: the $\ell_2$ length at which the rate is `target_rate`, or 0 if it is met at
    /// the start.
    ///
    /// Fails unless `target_rate` is in (0, 1/2).
    pub fn cost(&self, target_rate: f64) -> Result<f64> {
        Ok(((checked_quantile(target_rate)? - self.start) / self.gain).max(0.0))
    }

    /// Proposition 3: $d\,$cost$/d(1-r)$ at `target_rate`, 0 where the rate is met at the start.
    ///
    /// Fails unless `target_rate` is in (0, 1/2).
    pub fn slope(&self, target_rate: f64) -> Result<f64> {
        let z = checked_quantile(target_rate)?;
        Ok(if z > self.start { 1.0 / (self.gain * pdf(z)) } else { 0.0 })
    }

    /// The rate after going `length`: the inverse of [`Tradeoff::cost`].
    pub fn rate(&self, length: f64) -> f64 {
        upper_tail(self.start + self.gain * length)
    }
}

fn checked_quantile(target_rate: f64) -> Result<f64> {
    require(
        target_rate > 0.0 && target_rate < 0.5,
        "target rate",
        "in (0, 0.5), since a point with a rate of one half or more is itself refused",
        target_rate,
    )?;
    Ok(upper_quantile(target_rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Covariance;
    use crate::theory::first_order;

    #[test]
    fn cost_and_rate_are_inverse_down_to_1e_minus_300() {
        let line = Tradeoff::isotropic(0.1, 0.3, -4.0).unwrap();
        for rate in [0.499, 0.35, 0.1, 0.05, 1e-3, 1e-12, 1e-100, 1e-300] {
            let cost = line.cost(rate).unwrap();
            assert!((line.rate(cost) / rate - 1.0).abs() < 1e-12, "{rate:e}");
        }
    }

    #[test]
    fn slope_is_the_derivative_of_the_cost() {
        let line = Tradeoff::isotropic(0.2, 0.6, -1.0).unwrap();
        for rate in [0.4, 0.2, 0.05, 1e-3] {
            let h = rate * 1e-5;
            // Robustness is 1 - r: a lower rate is a higher robustness.
            let numeric = (line.cost(rate - h).unwrap() - line.cost(rate + h).unwrap()) / (2.0 * h);
            assert!((numeric / line.slope(rate).unwrap() - 1.0).abs() < 1e-8);
        }
        // mpmath 1.4.1: (0.2/0.6)/φ(Φ⁻¹(0.95)).
        assert!((line.slope(0.05).unwrap() / 3.2319897575671916 - 1.0).abs() < 1e-14);
        assert!(line.slope(1e-300).unwrap() > 1e296);
    }

    #[test]
    fn along_agrees_with_theorem_1_at_the_end_point() {
        let model = Linear::new(vec![1.0, -2.0, 0.5], -1.0, 0.1).unwrap();
        let full = vec![0.04, 0.01, 0.0, 0.01, 0.09, 0.02, 0.0, 0.02, 0.05];
        let (factual, direction) = ([0.1, 0.2, 0.3], [2.0, -1.0, 0.5]);
        for covariance in [
            Covariance::Isotropic(0.1),
            Covariance::Diagonal(vec![0.1, 0.2, 0.0]),
            Covariance::Full(full),
        ] {
            let noise = Gaussian::new(vec![0.0; 3], covariance).unwrap();
            for active in [[true; 3], [true, false, true]] {
                let line = Tradeoff::along(&model, &noise, &active, &factual, &direction).unwrap();
                let length = line.cost(0.1).unwrap() / dot(&direction, &direction).sqrt();
                let end: Vec<f64> =
                    factual.iter().zip(&direction).map(|(x, d)| x + length * d).collect();
                let found = first_order(&model, &noise, &active, &end).unwrap();
                assert!((found.rate - 0.1).abs() < 1e-14 && found.score > 0.0);
            }
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Tradeoff::isotropic(0.0, 1.0, 0.0).is_err());
        assert!(Tradeoff::isotropic(0.1, 0.0, 0.0).is_err());
        assert!(Tradeoff::isotropic(0.1, 1.1, 0.0).is_err());
        assert!(Tradeoff::isotropic(0.1, 1.0, f64::NAN).is_err());
        let model = Linear::new(vec![1.0, 0.0], 0.0, 0.0).unwrap();
        let centred = Gaussian::isotropic(2, 0.1).unwrap();
        let along = |noise: &Gaussian, active: [bool; 2], direction: [f64; 2]| {
            Tradeoff::along(&model, noise, &active, &[0.0; 2], &direction)
        };
        assert!(along(&centred, [true; 2], [1.0, 1.0]).is_ok());
        assert!(along(&centred, [true; 2], [-1.0, 0.0]).is_err());
        assert!(along(&centred, [true; 2], [0.0, 0.0]).is_err());
        assert!(along(&centred, [false, true], [1.0, 0.0]).is_err());
        let biased = Gaussian::new(vec![0.1, 0.0], Covariance::Isotropic(0.1)).unwrap();
        assert!(along(&biased, [true; 2], [1.0, 0.0]).is_err());
    }
}
