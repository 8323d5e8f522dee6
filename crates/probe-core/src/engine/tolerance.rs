//! How far the advice may be missed, beyond the noise already allowed for.
//!
//! With $M = (s + w^\top\mu)/\sqrt{w^\top\Sigma w}$ the margin of the printed point and $\kappa = M - z_r$, a systematic miss $b$ keeps the
//! rate at most $r$ iff $-w^\top b \le \kappa\sqrt{w^\top\Sigma w}$. One feature alone: $\kappa\sqrt{w^\top\Sigma w}/|w_j|$ in its harmful
//! direction; all changed features together: $\alpha\sigma_j$ each with $\alpha = \kappa\sqrt{w^\top\Sigma w}/\sum|w_j|\sigma_j$. An
//! optimal answer meets $r$ exactly, so it has no slack for the target; the slack until the answer itself turns into
//! a no is given beside it.

use super::session::noise_along;
use super::{Answer, Engine, Status};
use crate::error::Result;
use crate::math::normal::upper_quantile;

/// How far one changed feature may be missed, in raw units, towards the harmful side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slack {
    /// Feature index.
    pub feature: usize,
    /// Whether too low a value is the harmful side (else too high).
    pub harmful_below: bool,
    /// If only this feature is missed.
    pub alone: f64,
    /// If every changed feature is missed at once, each in proportion to its noise.
    pub jointly: f64,
}

/// Tolerances of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Tolerance {
    /// Systematic miss, on top of the noise, with the target rate still held.
    pub at_target: Vec<Slack>,
    /// Miss, without further noise, with the decision still favourable.
    pub favourable: Vec<Slack>,
    /// $\kappa$: any miss $b$ with $b^\top\Sigma^{-1}b \le \kappa^2$ keeps the target rate.
    pub kappa: f64,
}

impl Engine {
    /// Tolerances of a certified or found `answer` of the person `from`; `None` if the answer asks for no change, and for
    /// models that have no exact tolerance.
    pub fn tolerance(&self, from: &[f64], answer: &Answer) -> Result<Option<Tolerance>> {
        if answer.changed == 0
            || self.setup().shift.is_some()
            || !matches!(answer.status, Status::Certified | Status::Found)
        {
            return Ok(None);
        }
        let (Some(linear), Some(gaussian)) = (self.task().model.as_linear(), self.task().noise.as_gaussian())
        else {
            return Ok(None);
        };
        let (sd, shift) = noise_along(self, &mut vec![false; from.len()], from, &answer.point)?;
        let weights = linear.weights();
        let changed: Vec<usize> =
            (0..weights.len()).filter(|&j| from[j] != answer.point[j] && weights[j] != 0.0).collect();
        let kappa = if sd > 0.0 {
            ((answer.score_after + shift) / sd - upper_quantile(self.setup().max_rate)).max(0.0)
        } else {
            f64::INFINITY
        };
        let spread: f64 = changed.iter().map(|&j| weights[j].abs() * gaussian.sd(j)).sum();
        let slacks = |score: f64| {
            let slack = |&j: &usize| Slack {
                feature: j,
                harmful_below: weights[j] > 0.0,
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
}
