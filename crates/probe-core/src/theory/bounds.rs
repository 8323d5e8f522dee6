//! Proposition 4: an upper bound on the rate from the size and sparsity of the change, and what is
//! left of it without linearity.
//!
//! With $\delta = x' - x$, $\omega$ the cosine between $g(x) = \nabla s(x)$ and $\delta$, and
//! $\mu = 0$, $\Sigma = \sigma^2 I$:
//!
//! $$\tilde\Delta(x') \le \bar\Phi\Big(\frac{s(x) + \omega\lVert
//! g(x)\rVert_2\,\lVert\delta\rVert_1/\sqrt{\lVert\delta\rVert_0}} {\sigma\lVert
//! g(x')\rVert_2}\Big)$$
//!
//! because $\lVert\delta\rVert_1 \le \sqrt{\lVert\delta\rVert_0}\,\lVert\delta\rVert_2$, *if*
//! $s(x') = s(x) + g(x)^\top\delta$. That holds for affine scores. If only $\nabla s$ is
//! $L$-Lipschitz, $s(x') \ge s(x) + g(x)^\top\delta - L\lVert\delta\rVert_2^2/2$, and subtracting
//! $L\lVert\delta\rVert_2^2/2$ from the numerator makes it a theorem about $\tilde\Delta$ again.
//!
//! Source: PROBE, arXiv:2203.06768, Proposition 4. What differs and why:
//! - The paper claims the bound for every differentiable model, but its proof replaces $s(x')$ by
//!   the linearisation at $x$. A one-dimensional ReLU score breaks it by a factor of thousands, so
//!   the value comes with a [`BoundKind`].
//! - The statement divides $s(x)$ by $\lVert g(x)\rVert$, the proof by $\lVert g(x')\rVert$. The
//!   proof's form is used: it is the one that follows, and the two agree where the bound holds.
//! - The paper's $\omega > 0$ is needed: for $\omega < 0$ the inequality turns. The functions then
//!   use $g(x)^\top\delta$ itself, which is safe.
//! - The bound is tight iff all changed $|\delta_j|$ are equal, which $\lVert\delta\rVert_0 = 1$ is
//!   only one case of.
//! - Any Gaussian noise: denominator $\sqrt{g(x')^\top\Sigma g(x')}$, and $g(x')^\top\mu$ joins the
//!   numerator.
//!
//! A bound on the true rate of every classifier is in [`rates_within`](super::rates_within). Cost:
//! two gradients.

use super::{check_features, check_len, first_order::affine_rate};
use crate::error::{Result, require};
use crate::math::dot;
use crate::model::Differentiable;
use crate::noise::Gaussian;

/// A change from `factual` to `point`, and the noise around the latter.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    /// The model.
    pub model: &'a dyn Differentiable,
    /// The noise.
    pub noise: &'a Gaussian,
    /// Which features it acts on.
    pub active: &'a [bool],
    /// Where the person is, $x$.
    pub factual: &'a [f64],
    /// Where they aim, $x'$.
    pub point: &'a [f64],
}

/// What a [`Bound`] may be relied on for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundKind {
    /// Proved: the true rate is at most the value.
    Theorem,
    /// Proved for Theorem 1's first-order rate $\tilde\Delta$; the true rate may be larger.
    OnFirstOrder,
    /// Not a bound: the formula with every score replaced by its linearisation. Either rate may be
    /// larger.
    FirstOrder,
}

/// A value that the rate is claimed not to exceed, and the force of that claim.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// The value.
    pub value: f64,
    /// The force of the claim.
    pub kind: BoundKind,
}

/// Proposition 4: a theorem for affine scores, a first-order estimate for others. Fails on lengths
/// that do not match.
///
/// ```
/// use probe_core::{Gaussian, Linear, theory::{BoundKind, Step, upper_bound}};
/// let (model, noise) = (Linear::new(vec![1.0, 1.0], -1.0, 0.0)?, Gaussian::isotropic(2, 0.1)?);
/// let step = Step { model: &model, noise: &noise, active: &[true, true], factual: &[0.0, 0.0],
/// point: &[1.0, 0.2] };
/// assert_eq!(upper_bound(&step)?.kind, BoundKind::Theorem);
/// # Ok::<(), probe_core::Error>(())
/// ```
pub fn upper_bound(step: &Step<'_>) -> Result<Bound> {
    let kind =
        if step.model.as_linear().is_some() { BoundKind::Theorem } else { BoundKind::FirstOrder };
    Ok(Bound { value: bound(step, 0.0)?, kind })
}

/// Proposition 4 for a score whose gradient is Lipschitz with constant `smoothness` ($L$) between
/// the two points.
///
/// $L = 0$ claims an affine score, and then the bound is one on the true rate only if the model
/// says so too. Fails unless `smoothness` is finite and at least 0, and on lengths that do not
/// match.
pub fn smooth_upper_bound(step: &Step<'_>, smoothness: f64) -> Result<Bound> {
    let rule = "at least 0 and finite";
    require(smoothness >= 0.0 && smoothness.is_finite(), "smoothness constant", rule, smoothness)?;
    let kind =
        if step.model.as_linear().is_some() { BoundKind::Theorem } else { BoundKind::OnFirstOrder };
    Ok(Bound { value: bound(step, smoothness)?, kind })
}

fn bound(step: &Step<'_>, smoothness: f64) -> Result<f64> {
    let d = step.model.n_features();
    check_features(d, step.noise.mean().len(), step.active.len(), step.point.len())?;
    check_len("features of the factual", d, step.factual.len())?;
    let mut gradient = vec![0.0; d];
    let score = step.model.score_and_gradient(step.factual, &mut gradient)?;
    let delta: Vec<f64> = step.point.iter().zip(step.factual).map(|(to, from)| to - from).collect();
    let rise = dot(&gradient, &delta);
    let square = dot(&delta, &delta);
    let sum: f64 = delta.iter().map(|v| v.abs()).sum();
    let changed = delta.iter().filter(|v| v.abs() > 0.0).count() as f64;
    // ω‖g‖‖δ‖₁/√‖δ‖₀ = g'δ · evenness, where evenness = ‖δ‖₁/(√‖δ‖₀‖δ‖₂) ≤ 1 and is 1 iff all
    // changes are equally large.
    let evenness = if square > 0.0 { (sum / (changed * square).sqrt()).min(1.0) } else { 1.0 };
    let reach = if rise > 0.0 { rise * evenness } else { rise };
    step.model.score_and_gradient(step.point, &mut gradient)?;
    let is_active = |j: usize| step.active[j];
    let (shift, sd) =
        (step.noise.mean_along(&gradient, is_active), step.noise.sd_along(&gradient, is_active));
    Ok(affine_rate(score + reach - 0.5 * smoothness * square, shift, sd))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Linear, Model};
    use crate::noise::Covariance;
    use crate::seed::{Purpose, Seed};
    use crate::theory::first_order;

    #[test]
    fn linear_bound_holds_on_thousands_of_random_steps() {
        let mut stream = Seed(11).stream(Purpose::Data, 0);
        let (mut tight, mut negative) = (0, 0);
        for _ in 0..5_000 {
            let d = 1 + stream.below(8);
            let mut draw = |scale: f64| (0..d).map(|_| scale * stream.normal()).collect::<Vec<_>>();
            let (weights, factual, moved) = (draw(1.0), draw(1.0), draw(1.0));
            let noise = Gaussian::new(draw(0.1), Covariance::Diagonal(vec![0.3; d])).unwrap();
            let keep: Vec<bool> = (0..d).map(|_| stream.uniform() < 0.6).collect();
            let active: Vec<bool> = (0..d).map(|j| j == 0 || stream.uniform() < 0.7).collect();
            let point: Vec<f64> =
                (0..d).map(|j| factual[j] + if keep[j] { moved[j] } else { 0.0 }).collect();
            let model = Linear::new(weights, stream.normal(), 0.0).unwrap();
            let step = Step {
                model: &model,
                noise: &noise,
                active: &active,
                factual: &factual,
                point: &point,
            };
            let found = upper_bound(&step).unwrap();
            let rate = first_order(&model, &noise, &active, &point).unwrap().rate;
            assert_eq!(found.kind, BoundKind::Theorem);
            assert!(rate <= found.value * (1.0 + 1e-9) + 1e-15, "{rate:e} > {:e}", found.value);
            tight += usize::from((rate / found.value - 1.0).abs() < 1e-9);
            negative += usize::from(model.score(&point).unwrap() < model.score(&factual).unwrap());
        }
        assert!(
            tight > 500 && negative > 500,
            "both the tight and the downhill case occur: {tight} {negative}"
        );
    }

    #[test]
    fn tight_iff_all_changes_are_equally_large() {
        let model = Linear::new(vec![1.0, 0.4, -0.3], -1.0, 0.0).unwrap();
        let noise = Gaussian::isotropic(3, 0.2).unwrap();
        let gap = |point: &[f64; 3]| {
            let step = Step {
                model: &model,
                noise: &noise,
                active: &[true; 3],
                factual: &[0.0; 3],
                point,
            };
            upper_bound(&step).unwrap().value
                - first_order(&model, &noise, &[true; 3], point).unwrap().rate
        };
        assert!(gap(&[1.2, 0.0, 0.0]).abs() < 1e-15, "one feature");
        assert!(gap(&[0.8, 0.8, -0.8]).abs() < 1e-15, "dense and even");
        assert!(gap(&[1.2, 0.3, 0.0]) > 1e-3, "uneven");
    }

    #[test]
    fn no_change_and_nonsense() {
        let model = Linear::new(vec![1.0, 1.0], 0.2, 0.0).unwrap();
        let noise = Gaussian::isotropic(2, 0.1).unwrap();
        let step = |point| Step {
            model: &model,
            noise: &noise,
            active: &[true; 2],
            factual: &[0.0; 2],
            point,
        };
        let still = upper_bound(&step(&[0.0; 2])).unwrap().value;
        let rate = first_order(&model, &noise, &[true; 2], &[0.0; 2]).unwrap().rate;
        assert!((still - rate).abs() < 1e-15);
        assert!(upper_bound(&step(&[0.0; 3])).is_err());
        assert!(smooth_upper_bound(&step(&[1.0, 0.0]), -1.0).is_err());
        assert!(smooth_upper_bound(&step(&[1.0, 0.0]), f64::NAN).is_err());
    }
}
