//! Descent on a loss plus $\lambda$ times the cost, from the person and inside the reach.
//!
//! Steps are Adam's. A cost that is a sum of moves has a kink at the person's own value. There the
//! shortest subgradient is used: a feature does not move while the loss pulls less than the cost,
//! and a step across the kink ends on it. Plain subgradients oscillate around the kink in every
//! feature, which makes answers more expensive; `kink=plain` shows this.

use super::MethodOptions;
use super::reach::Reach;
use crate::cost::Cost;
use crate::error::Result;
use crate::math::adam::Adam;

/// How to handle the kink of the cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kink {
    /// The shortest subgradient, and no step across.
    Shortest,
    /// Ignore the kink, as the programs published with the methods do.
    Plain,
}

impl Kink {
    pub(super) fn new(options: &MethodOptions) -> Result<Self> {
        options.word(
            "kink",
            Self::Shortest,
            &[("shortest", Self::Shortest), ("plain", Self::Plain)],
        )
    }
}

/// The state of one descent.
pub(super) struct Walk {
    pub(super) point: Vec<f64>,
    kink: Kink,
    adam: Adam,
    cost_gradient: Vec<f64>,
    before: Vec<f64>,
}

impl Walk {
    pub(super) fn new(n_features: usize, learning_rate: f64, kink: Kink) -> Self {
        Self {
            kink,
            point: vec![0.0; n_features],
            adam: Adam::amsgrad(n_features, learning_rate),
            cost_gradient: vec![0.0; n_features],
            before: vec![0.0; n_features],
        }
    }

    /// Restarts from the person.
    pub(super) fn begin(&mut self, factual: &[f64], reach: &Reach) {
        self.point.copy_from_slice(factual);
        reach.confine(&mut self.point);
        self.adam.reset();
    }

    /// One step, given the loss's `gradient`, which is overwritten. False if nothing moved or the
    /// gradient is not finite.
    pub(super) fn step(
        &mut self,
        cost: &Cost,
        (factual, reach): (&[f64], &Reach),
        gradient: &mut [f64],
        lambda: f64,
    ) -> bool {
        let kinked = self.kink == Kink::Shortest && cost.norm().is_linear() && lambda > 0.0;
        cost.subgradient(factual, &self.point, &mut self.cost_gradient);
        for (j, g) in gradient.iter_mut().enumerate() {
            *g = if !reach.is_open(j) {
                0.0
            } else if kinked && self.point[j] == factual[j] {
                let pull = lambda * cost.weight(j, -*g);
                (g.abs() - pull).max(0.0).copysign(*g)
            } else {
                *g + lambda * self.cost_gradient[j]
            };
        }
        if gradient.iter().any(|g| !g.is_finite()) {
            return false;
        }
        self.before.copy_from_slice(&self.point);
        self.adam.step(&mut self.point, gradient);
        reach.confine(&mut self.point);
        let mut moved = false;
        for (j, x) in self.point.iter_mut().enumerate() {
            let (was, is) = (self.before[j] - factual[j], *x - factual[j]);
            let held = was == 0.0 && gradient[j] == 0.0;
            if !reach.is_open(j) {
                *x = self.before[j];
            } else if kinked && (held || was * is < 0.0) {
                *x = factual[j];
            }
            moved |= *x != self.before[j];
        }
        moved
    }
}
