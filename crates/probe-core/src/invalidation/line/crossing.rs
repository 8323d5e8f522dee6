//! The mass of the parts of a line on which a score is not positive.

use crate::math::normal::{cdf, pdf, upper_tail};
use crate::math::quick_cdf_and_pdf;
use crate::noise::Shape;

/// The distribution of the position along a line, in units of its standard deviation.
#[derive(Clone, Copy)]
pub(super) enum Marginal<'a> {
    /// Standard normal.
    Normal,
    /// The distribution of one feature, with the two ends of the part that is evaluated.
    Shape(&'a dyn Shape, f64, f64),
}

/// Mass on each side of a line beyond the part that is evaluated.
const BEYOND: f64 = 1e-11;

impl<'a> Marginal<'a> {
    /// Ends of the part of a feature's distribution that is evaluated.
    pub(super) fn ends(shape: &dyn Shape) -> (f64, f64) {
        (shape.quantile(BEYOND), shape.quantile(1.0 - BEYOND))
    }

    /// Ends of the part of a line that is evaluated. Beyond ±9 a normal distribution has a mass of
    /// $2\bar\Phi(9) \approx 2\cdot10^{-19}$.
    pub(super) fn reach(self) -> (f64, f64) {
        match self {
            Self::Normal => (-9.0, 9.0),
            Self::Shape(_, from, to) => (from, to),
        }
    }

    /// $P(T \le t)$.
    pub(super) fn below(self, t: f64) -> f64 {
        match self {
            Self::Normal => cdf(t),
            Self::Shape(shape, ..) => shape.cdf(t),
        }
    }

    /// $P(T > t)$, without cancellation.
    pub(super) fn above(self, t: f64) -> f64 {
        match self {
            Self::Normal => upper_tail(t),
            Self::Shape(shape, ..) => shape.upper_tail(t),
        }
    }

    /// Density at `t`.
    pub(super) fn density(self, t: f64) -> f64 {
        match self {
            Self::Normal => pdf(t),
            Self::Shape(shape, ..) => shape.density(t),
        }
    }

    /// $P(T \le t)$ to $10^{-10}$ and the density at `t` to about $10^{-7}$; faster than the exact
    /// functions.
    pub(super) fn quick(self, t: f64) -> (f64, f64) {
        match self {
            Self::Normal => quick_cdf_and_pdf(t),
            Self::Shape(shape, ..) => shape.quick_cdf_and_density(t),
        }
    }

    /// $P(a < T \le b)$ without cancellation in the tails.
    fn between(self, a: f64, b: f64) -> f64 {
        if a > 0.0 { self.above(a) - self.above(b) } else { self.below(b) - self.below(a) }
    }
}

/// A root of the score on a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Root {
    /// Position.
    pub at: f64,
    /// Slope of the score along the line.
    pub slope: f64,
}

/// Adds up the mass of the rejected parts of a line while a score is followed from left to right.
#[derive(Clone, Copy)]
pub(super) struct Refused<'a> {
    marginal: Marginal<'a>,
    /// The left end of the current rejected part; `None` while the score is positive.
    since: Option<f64>,
    mass: f64,
}

impl<'a> Refused<'a> {
    /// Starts at the left end, where the score is `score`.
    pub(super) fn start(marginal: Marginal<'a>, score: f64) -> Self {
        Self {
            marginal,
            since: if score > 0.0 { None } else { Some(f64::NEG_INFINITY) },
            mass: 0.0,
        }
    }

    /// The score becomes positive at `t`.
    pub(super) fn up(&mut self, t: f64) {
        if let Some(from) = self.since.take() {
            self.mass += if from == f64::NEG_INFINITY {
                self.marginal.below(t)
            } else {
                self.marginal.between(from, t)
            };
        }
    }

    /// The score stops being positive at `t`.
    pub(super) fn down(&mut self, t: f64) {
        self.since.get_or_insert(t);
    }

    /// The mass of all rejected parts, at most 1.
    pub(super) fn finish(self) -> f64 {
        (self.mass + self.since.map_or(0.0, |t| self.marginal.above(t))).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masses_of_hand_worked_lines() {
        let start = |score| Refused::start(Marginal::Normal, score);
        // Refused below 1: Phi(1).
        let mut refused = start(-1.0);
        refused.up(1.0);
        assert!((refused.finish() - 0.841_344_746_068_542_9).abs() < 1e-15);
        // Refused between 0 and 1: Phi(1) - 1/2. Refused above 8: a tail that 1 - cdf would lose.
        let mut refused = start(0.5);
        refused.down(0.0);
        refused.up(1.0);
        assert!((refused.finish() - 0.341_344_746_068_542_9).abs() < 1e-15);
        let mut refused = start(0.5);
        refused.down(8.0);
        assert!((refused.finish() / 6.220_960_574_271_786e-16 - 1.0).abs() < 1e-12);
        // Never refused, always refused: ties are refused.
        assert_eq!(start(1e-300).finish(), 0.0);
        assert_eq!(start(0.0).finish(), 1.0);
    }
}
