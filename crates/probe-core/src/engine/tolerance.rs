//! How far the advice may be missed, beyond the noise already allowed for.
//!
//! With $M = (s + w^\top\mu)/\sqrt{w^\top\Sigma w}$ the margin of the printed point and $\kappa =
//! M - z_r$, a systematic miss $b$ keeps the rate at most $r$ iff $-w^\top b \le
//! \kappa\sqrt{w^\top\Sigma w}$. One feature alone: $\kappa\sqrt{w^\top\Sigma w}/|w_j|$ in its
//! harmful direction; all changed features together: $\alpha\sigma_j$ each with $\alpha =
//! \kappa\sqrt{w^\top\Sigma w}/\sum|w_j|\sigma_j$. An optimal answer meets $r$ exactly, so it has
//! no slack for the target; the slack until the answer itself is rejected is reported as well.
//!
//! Any other classifier under Gaussian noise has a smoothed margin $M = \bar\Phi^{-1}(\Delta)$ that
//! is Lipschitz with constant 1 in units of the noise: $M(x+b) \ge M(x) -
//! \sqrt{b^\top\Sigma^{-1}b}$ (Salman et al. 2019, arXiv:1906.04584, Lemma 2;
//! `theory::rates_within` is the same fact). With a certified bound $u$ on the rate, $\kappa =
//! \bar\Phi^{-1}(u) - z_r$ therefore covers every miss in the same ellipsoid, on either side: one
//! feature alone by $\kappa\sigma_j$; all $n$ noisy features at once by $\kappa\sigma_j/\sqrt n$
//! each. It holds with the confidence of the certificate. If the bound is the target itself,
//! $\kappa = 0$: nothing beyond the noise is covered, and no slack is listed. This is so for a
//! certificate that ends as soon as the target is certified.
//! [`Setup::tolerance`](super::Setup::tolerance) asks for more: the search aims at
//! [`TOLERANCE_AIM`] times the target, and the certificate continues to lower bounds.

use super::{Answer, Engine, Status};
use crate::error::Result;
use crate::math::normal::upper_quantile;
use crate::noise::Gaussian;

/// The search aims at this share of the target if a tolerance is asked for. At r = 0.1 it aims at
/// 0.075, which leaves κ = 0.16 at most, a sixth of a feature's noise; at r = 0.35, κ = 0.25.
pub(super) const TOLERANCE_AIM: f64 = 0.75;

/// Which side of the advice does harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Too low a value.
    Below,
    /// Too high a value.
    Above,
    /// Either side can do harm: the slack holds on both.
    Either,
}

impl Side {
    /// The word that stands in output files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::Above => "above",
            Self::Either => "either",
        }
    }
}

/// How far one changed feature may be missed, in raw units, towards the harmful side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slack {
    /// Feature index.
    pub feature: usize,
    /// The harmful side.
    pub harmful: Side,
    /// If only this feature is missed.
    pub alone: f64,
    /// If every changed feature (for other models than linear ones: every noisy one) is missed at
    /// once, each in proportion to its noise.
    pub jointly: f64,
}

/// Tolerances of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerance {
    /// Systematic miss, on top of the noise, that keeps the rate at most the target. Empty if the
    /// rate is only known to be at most the target, which leaves no slack.
    pub at_target: Vec<Slack>,
    /// Miss, without any noise, that keeps the decision favourable. Empty for models that are not
    /// linear, because it is not known there.
    pub favourable: Vec<Slack>,
    /// $\kappa$: any miss $b$ with $b^\top\Sigma^{-1}b \le \kappa^2$ keeps the target rate.
    pub kappa: f64,
}

impl Engine {
    /// Whether tolerances of sampled answers are asked for and supported.
    pub fn seeks_tolerance(&self) -> bool {
        let gaussian = self.task().noise.as_gaussian();
        self.setup().tolerance
            && self.setup().shift.is_none()
            && gaussian.is_some_and(Gaussian::is_diagonal)
    }

    /// Tolerances of a certified or found `answer` for the person `from`. `None` if the answer asks
    /// for no change, if the model may change, and if no tolerance is proven: under noise that is
    /// not Gaussian, and for models that are not linear also under correlated noise or without a
    /// certificate.
    pub fn tolerance(&self, from: &[f64], answer: &Answer) -> Result<Option<Tolerance>> {
        if answer.changed == 0
            || self.setup().shift.is_some()
            || !matches!(answer.status, Status::Certified | Status::Found)
        {
            return Ok(None);
        }
        if let Some(filled) = self.filled(from)? {
            let point = filled.fill(from, &answer.point);
            return filled.engine.tolerance(&filled.person, &Answer { point, ..answer.clone() });
        }
        let Some(gaussian) = self.task().noise.as_gaussian() else { return Ok(None) };
        let Some(linear) = self.task().model.as_linear() else {
            return Ok(self.certified_tolerance(from, answer, gaussian));
        };
        let (sd, shift) = self.noise_along(&mut vec![false; from.len()], from, &answer.point)?;
        let weights = linear.weights();
        // A category is reached or not, so that it has no tolerance.
        let misses = |j: &usize| {
            from[*j] != answer.point[*j]
                && weights[*j] != 0.0
                && !self.setup().actions.is_grouped(*j)
        };
        let changed: Vec<usize> = (0..weights.len()).filter(misses).collect();
        let kappa = if sd > 0.0 {
            ((answer.score_after + shift) / sd - upper_quantile(self.setup().max_rate)).max(0.0)
        } else {
            f64::INFINITY
        };
        let spread: f64 = changed.iter().map(|&j| weights[j].abs() * gaussian.sd(j)).sum();
        let slacks = |score: f64| {
            let slack = |&j: &usize| Slack {
                feature: j,
                harmful: if weights[j] > 0.0 { Side::Below } else { Side::Above },
                alone: score / weights[j].abs() * self.setup().space.width(j),
                jointly: if spread > 0.0 {
                    score / spread * gaussian.sd(j) * self.setup().space.width(j)
                } else {
                    0.0
                },
            };
            changed.iter().map(slack).collect::<Vec<_>>()
        };
        let slack_at_target = if sd > 0.0 { kappa * sd } else { answer.score_after };
        Ok(Some(Tolerance {
            at_target: slacks(slack_at_target.max(0.0)),
            favourable: slacks(answer.score_after.max(0.0)),
            kappa,
        }))
    }

    /// The tolerance of a certified answer for any classifier, from the certificate's bound.
    fn certified_tolerance(
        &self,
        from: &[f64],
        answer: &Answer,
        gaussian: &Gaussian,
    ) -> Option<Tolerance> {
        let (setup, task) = (self.setup(), self.task());
        let proven = answer.status == Status::Certified && answer.rate_upper <= setup.max_rate;
        if !proven || !gaussian.is_diagonal() {
            return None;
        }
        let mut active = vec![false; from.len()];
        task.noise_on.active_into(&task.actions, from, &answer.point, &mut active);
        let n_active = active.iter().filter(|on| **on).count();
        let kappa = (upper_quantile(answer.rate_upper) - upper_quantile(setup.max_rate)).max(0.0);
        let slack = |j: usize| {
            let alone = kappa * gaussian.sd(j) * setup.space.width(j);
            Slack {
                feature: j,
                harmful: Side::Either,
                alone,
                jointly: alone / (n_active as f64).sqrt(),
            }
        };
        let differs = |j: usize| from[j] != answer.point[j] && !setup.actions.is_grouped(j);
        let noisy = (0..from.len()).filter(|&j| differs(j) && active[j]);
        let at_target = if kappa > 0.0 { noisy.map(slack).collect() } else { Vec::new() };
        Some(Tolerance { at_target, favourable: Vec::new(), kappa })
    }
}
