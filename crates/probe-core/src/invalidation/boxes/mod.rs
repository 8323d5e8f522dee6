//! Exact rates of trees under noise that misses each feature on its own.
//!
//! A tree is constant on boxes, and the mass of a box is a product over features: one tree's rate is a sum over its leaves (Theorem 2 of Pawelczyk
//! et al., ICLR 2023, arXiv:2203.06768). An ensemble has as many boxes as its trees' leaves have intersections, so boxes are
//! cut only where bounds of the score leave it open; what is left open after a budget is the width of the interval.

mod bits;
mod collapse;
mod marginal;
mod search;
mod tree;

use crate::model::Trees;
use crate::noise::Noise;
use collapse::Collapsed;
use marginal::Marginals;
use search::{Found, Search};
use tree::Walk;

/// Rates of one model under one noise, point after point.
pub(crate) struct Boxes<'a> {
    model: &'a Trees,
    features: Marginals<'a>,
    walk: Walk,
    parts: Collapsed,
    narrow: Search<1>,
    medium: Search<4>,
    wide: Search<16>,
}

/// What is known of a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// The rate is at least this.
    pub(crate) lower: f64,
    /// The rate is at most this.
    pub(crate) upper: f64,
    /// Boxes that it took.
    pub(crate) boxes: usize,
}

impl<'a> Boxes<'a> {
    /// `None` unless features are missed independently of one another.
    pub(crate) fn new(model: &'a Trees, noise: &'a dyn Noise) -> Option<Self> {
        Some(Self {
            model,
            features: Marginals::of(noise)?,
            walk: Walk::default(),
            parts: Collapsed::default(),
            narrow: Search::default(),
            medium: Search::default(),
            wide: Search::default(),
        })
    }

    /// An interval around the rate at `point`, with noise on the `active` features. It is cut down until it is at most `tolerance` wide
    /// or `budget` boxes were looked at; a model of one tree needs none.
    pub(crate) fn interval(
        &mut self,
        point: &[f64],
        active: &[bool],
        budget: usize,
        tolerance: f64,
    ) -> Interval {
        if let Some(rate) = self.rate_and_gradient(point, active, None) {
            return Interval { lower: rate, upper: rate, boxes: 0 };
        }
        let found = self.search(point, active, budget, tolerance);
        let lower = found.refused.min(1.0);
        Interval { lower, upper: (found.refused + found.open).min(1.0), boxes: found.boxes }
    }

    /// The rate where boxes are sure to be few: noise on at most three features, or one tree. It may be too high by $10^{-9}$, not too low.
    pub(crate) fn rate_if_few(&mut self, point: &[f64], active: &[bool]) -> Option<f64> {
        const FEATURES: usize = 3;
        const BOXES: usize = 1 << 14;
        const OPEN: f64 = 1e-9;
        if self.model.roots().len() > 1 && active.iter().filter(|active| **active).count() > FEATURES {
            return None;
        }
        let Interval { lower, upper, .. } = self.interval(point, active, BOXES, OPEN);
        (upper - lower <= OPEN).then_some(upper)
    }

    /// The rate of a single tree, and its derivatives by the point; `None` for more trees.
    pub(crate) fn rate_and_gradient(
        &mut self,
        point: &[f64],
        active: &[bool],
        gradient: Option<&mut [f64]>,
    ) -> Option<f64> {
        if self.model.roots().len() != 1 {
            return None;
        }
        self.features.place(point, active);
        Some(self.walk.refused(self.model, &self.features, gradient).min(1.0))
    }

    fn search(&mut self, point: &[f64], active: &[bool], budget: usize, tolerance: f64) -> Found {
        self.features.place(point, active);
        self.parts.set(self.model, &self.features);
        match self.parts.most_leaves() {
            0..=64 => self.narrow.run(self.model, &self.parts, budget, tolerance),
            65..=256 => self.medium.run(self.model, &self.parts, budget, tolerance),
            257..=1024 => self.wide.run(self.model, &self.parts, budget, tolerance),
            // Too large to begin with.
            _ => Found { open: 1.0, ..Found::default() },
        }
    }
}

#[cfg(test)]
mod tests;
