//! Theorem 1: the invalidation rate of the score's first-order expansion, its margin, and the
//! margin's gradient.
//!
//! $$\tilde\Delta(x) = \bar\Phi(m(x)),\qquad m(x) = \frac{s + g^\top\mu}{\sqrt{g^\top\Sigma
//! g}},\qquad s = s(x),\ g = \nabla s(x)$$
//!
//! for $\varepsilon \sim N(\mu, \Sigma)$; $\mu$ and $\Sigma$ are cut down to the features the noise
//! acts on. With $q = \sqrt{g^\top\Sigma g}$ and $H = \nabla^2 s(x)$, the product rule gives
//! $\nabla q = H\Sigma g/q$ and $\nabla(s + g^\top\mu) = g + H\mu$, hence
//!
//! $$\nabla m = \frac{g + H\mu}{q} - \frac{m}{q^2}H\Sigma g = \frac{1}{q}\big(g + H(\mu - m\,\Sigma
//! g/q)\big), \qquad \nabla\tilde\Delta = -\varphi(m)\,\nabla m .$$
//!
//! $H$ enters linearly, so one Hessian-vector product serves both of its terms.
//!
//! Source: PROBE, arXiv:2203.06768, Theorem 1 (proof in its appendix). What differs and why:
//! - $\tilde\Delta$ is the true rate only for affine scores; [`FirstOrder::exact`] says whether it
//!   is.
//! - The paper's proof admits a mean $\mu$ and then drops it; the numerator here keeps $g^\top\mu$.
//! - No noise along the gradient ($q = 0$: a flat region, a noise-free feature) is 0/0 in the
//!   paper; the expansion is then constant, so the rate is 1 if $s + g^\top\mu \le 0$ and 0
//!   otherwise.
//! - The paper states it for $h(x) \in \lbrace 0,1\rbrace$ although the proof sets $h(x) = 1$; as
//!   $P(s(x+\varepsilon)\le 0)$ it holds at every point.
//!
//! Cost: one gradient and $O(d)$ ($O(d^2)$ for a full covariance); the margin's gradient one
//! Hessian-vector product more.

use super::{check_features, check_len};
use crate::error::Result;
use crate::math::normal::{pdf, upper_tail};
use crate::model::Differentiable;
use crate::noise::Gaussian;

/// Theorem 1 at one point.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct FirstOrder {
    /// $s(x)$; the point itself is favourable iff this is positive.
    pub score: f64,
    /// $s + g^\top\mu$, the expansion's mean under the noise.
    pub mean: f64,
    /// $q = \sqrt{g^\top\Sigma g}$, its standard deviation.
    pub sd: f64,
    /// $m$ = `mean` / `sd`; ±∞ where `sd` is 0.
    pub margin: f64,
    /// $\tilde\Delta = \bar\Phi(m)$.
    pub rate: f64,
    /// Whether `rate` is the true rate, because the score is affine.
    pub exact: bool,
}

impl FirstOrder {
    /// $d\tilde\Delta/dm = -\varphi(m)$: times the margin's gradient, this is the rate's gradient.
    ///
    /// It vanishes in both tails ($6\cdot10^{-9}$ at $m = -6$), so searches should climb the
    /// margin, not the rate.
    pub fn rate_slope(&self) -> f64 {
        -pdf(self.margin)
    }
}

/// The rate of an affine score `s` whose noise has mean `shift` and standard deviation `sd`, both
/// in score units.
///
/// ```
/// use probe_core::affine_rate;
/// assert_eq!(affine_rate(0.0, 0.0, 1.0), 0.5);
/// assert_eq!(affine_rate(0.0, 0.0, 0.0), 1.0); // a tie is refused
/// ```
pub fn affine_rate(score: f64, shift: f64, sd: f64) -> f64 {
    upper_tail(affine_margin(score + shift, sd))
}

/// `mean` / `sd`, with the constant score of `sd` = 0 at ±∞ and its ties refused.
fn affine_margin(mean: f64, sd: f64) -> f64 {
    if sd > 0.0 {
        mean / sd
    } else if mean > 0.0 {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    }
}

/// Theorem 1 at `point`, for noise on the `active` features. Fails on lengths that do not match.
///
/// ```
/// use probe_core::{Gaussian, Linear, theory::first_order};
/// let model = Linear::new(vec![3.0, 4.0], 0.0, 0.0)?;
/// let noise = Gaussian::isotropic(2, 0.1)?;
/// let found = first_order(&model, &noise, &[true, true], &[0.1, 0.05])?;
/// assert!((found.margin - 1.0).abs() < 1e-12 && found.exact);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn first_order(
    model: &dyn Differentiable,
    noise: &Gaussian,
    active: &[bool],
    point: &[f64],
) -> Result<FirstOrder> {
    let mut gradient = vec![0.0; point.len()];
    evaluate(model, noise, active, point, &mut gradient)
}

/// Theorem 1 at `point`, writing $\nabla m$ into `out`; multiply by [`FirstOrder::rate_slope`] for
/// the rate's gradient.
///
/// Where no noise acts along the gradient (`sd` = 0) the rate is locally constant and $m$ infinite:
/// `out` is zero.
pub fn margin_gradient_into(
    model: &dyn Differentiable,
    noise: &Gaussian,
    active: &[bool],
    point: &[f64],
    out: &mut [f64],
) -> Result<FirstOrder> {
    margin_gradient_with(model, noise, active, point, &mut Buffers::new(point.len()), out)
}

/// Buffers of [`margin_gradient_with`]; after a call `gradient` is $\nabla s(x)$.
pub(crate) struct Buffers {
    pub(crate) gradient: Vec<f64>,
    masked: Vec<f64>,
    direction: Vec<f64>,
}

impl Buffers {
    pub(crate) fn new(n_features: usize) -> Self {
        let zeros = || vec![0.0; n_features];
        Self { gradient: zeros(), masked: zeros(), direction: zeros() }
    }
}

/// [`margin_gradient_into`] with the caller's buffers.
pub(crate) fn margin_gradient_with(
    model: &dyn Differentiable,
    noise: &Gaussian,
    active: &[bool],
    point: &[f64],
    buffers: &mut Buffers,
    out: &mut [f64],
) -> Result<FirstOrder> {
    check_len("entries of the margin's gradient", point.len(), out.len())?;
    let Buffers { gradient, masked, direction } = buffers;
    let found = evaluate(model, noise, active, point, gradient)?;
    // Not `<= 0`: a NaN must not be divided by either.
    if found.sd.is_nan() || found.sd <= 0.0 {
        out.fill(0.0);
        return Ok(found);
    }
    let keep = |v: &mut [f64]| {
        for (entry, on) in v.iter_mut().zip(active) {
            *entry = if *on { *entry } else { 0.0 };
        }
    };
    masked.copy_from_slice(gradient);
    keep(masked);
    noise.covariance_times(masked, direction);
    // Σg/q stays of the size of the noise however small q is.
    for (v, mean) in direction.iter_mut().zip(noise.mean()) {
        *v = mean - found.margin * (*v / found.sd);
    }
    keep(direction);
    model.hessian_vector(point, direction, out)?;
    for (o, g) in out.iter_mut().zip(&*gradient) {
        *o = (g + *o) / found.sd;
    }
    Ok(found)
}

fn evaluate(
    model: &dyn Differentiable,
    noise: &Gaussian,
    active: &[bool],
    point: &[f64],
    gradient: &mut [f64],
) -> Result<FirstOrder> {
    check_features(model.n_features(), noise.mean().len(), active.len(), point.len())?;
    let score = model.score_and_gradient(point, gradient)?;
    let is_active = |j: usize| active[j];
    let mean = score + noise.mean_along(gradient, is_active);
    let sd = noise.sd_along(gradient, is_active);
    let margin = affine_margin(mean, sd);
    Ok(FirstOrder {
        score,
        mean,
        sd,
        margin,
        rate: upper_tail(margin),
        exact: model.as_linear().is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Linear;
    use crate::noise::Covariance;

    #[test]
    fn known_answers_with_mean_mask_and_full_covariance() {
        // w = (1, -2, 2), s = 0.5 at the origin; worked by hand.
        let model = Linear::new(vec![1.0, -2.0, 2.0], 0.75, 0.25).unwrap();
        let at = [0.0; 3];
        let covariance = vec![0.04, 0.01, 0.0, 0.01, 0.09, -0.02, 0.0, -0.02, 0.16];
        let noise = Gaussian::new(vec![0.1, 0.2, -0.3], Covariance::Full(covariance)).unwrap();
        // All: mean 0.5 + 0.1 - 0.4 - 0.6; variance .04 + .36 + .64 + 2(-.02 + 0 + .08) = 1.16.
        let all = first_order(&model, &noise, &[true; 3], &at).unwrap();
        assert!((all.mean - -0.4).abs() < 1e-15 && (all.sd - 1.16f64.sqrt()).abs() < 1e-15);
        // Feature 1 noise-free: mean 0.5 + 0.1 - 0.6; variance .04 + .64.
        let some = first_order(&model, &noise, &[true, false, true], &at).unwrap();
        assert!(some.mean.abs() < 1e-15 && (some.sd - 0.68f64.sqrt()).abs() < 1e-15);
        assert!((some.rate - 0.5).abs() < 1e-15 && some.exact);
        assert!((some.score - 0.5).abs() < 1e-15, "the threshold is part of the score");
    }

    #[test]
    fn rates_reach_1e_minus_300() {
        let model = Linear::new(vec![2.0], 0.0, 0.0).unwrap();
        let noise = Gaussian::isotropic(1, 0.5).unwrap();
        let found = first_order(&model, &noise, &[true], &[18.5]).unwrap();
        // mpmath 1.4.1: erfc(37/√2)/2.
        assert!((found.rate / 5.725_571_222_524_577e-300 - 1.0).abs() < 1e-14);
    }

    #[test]
    fn affine_gradient_is_weights_over_sd() {
        let model = Linear::new(vec![3.0, 4.0], -1.0, 0.0).unwrap();
        let noise = Gaussian::new(vec![0.3, -0.2], Covariance::Isotropic(0.2)).unwrap();
        let mut gradient = [0.0; 2];
        margin_gradient_into(&model, &noise, &[true; 2], &[0.4, 0.1], &mut gradient).unwrap();
        assert!((gradient[0] - 3.0).abs() < 1e-14 && (gradient[1] - 4.0).abs() < 1e-14);
    }

    #[test]
    fn no_noise_along_the_gradient() {
        let model = Linear::new(vec![1.0, 0.0], 0.0, 0.0).unwrap();
        let noise = Gaussian::new(vec![0.0; 2], Covariance::Diagonal(vec![0.0, 1.0])).unwrap();
        let mut gradient = [1.0; 2];
        for (x, rate) in [(1e-9, 0.0), (0.0, 1.0), (-1.0, 1.0)] {
            let found =
                margin_gradient_into(&model, &noise, &[true; 2], &[x, 0.0], &mut gradient).unwrap();
            assert!((found.rate - rate).abs() <= 0.0 && gradient == [0.0; 2]);
            assert!(found.rate_slope().abs() <= 0.0);
        }
    }

    #[test]
    fn wrong_lengths_are_named() {
        let model = Linear::new(vec![1.0, 2.0], 0.0, 0.0).unwrap();
        let noise = Gaussian::isotropic(2, 0.1).unwrap();
        let message = |found: Result<FirstOrder>| found.unwrap_err().to_string();
        assert!(message(first_order(&model, &noise, &[true; 3], &[0.0; 2])).contains("noise mask"));
        assert!(
            message(first_order(&model, &noise, &[true; 2], &[0.0; 3]))
                .contains("features of the point")
        );
        let short = margin_gradient_into(&model, &noise, &[true; 2], &[0.0; 2], &mut [0.0]);
        assert!(message(short).contains("gradient"));
    }
}
