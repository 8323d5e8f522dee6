//! Exact rates of trees under noise that is independent over features.
//!
//! A tree is constant on boxes, and the mass of a box is a product over features. The rate of one
//! tree is therefore a sum over its leaves (Theorem 2 of Pawelczyk et al., ICLR 2023,
//! arXiv:2203.06768). An ensemble has a box for every intersection of its trees' leaves, which are
//! too many. A box is divided only if bounds of the score do not decide it. The mass of the boxes
//! that are undecided when the budget ends is the width of the interval.

mod bits;
mod collapse;
mod marginal;
mod search;
mod survey;
mod tree;

use crate::model::Trees;
use crate::noise::Noise;
use collapse::Collapsed;
use marginal::Marginals;
use search::{Aim, Found, Search};
use survey::Survey;
use tree::Walk;

/// Computes rates of one model under one noise, for one point after another.
pub(crate) struct Boxes<'a> {
    model: &'a Trees,
    features: Marginals<'a>,
    walk: Walk,
    parts: Collapsed,
    narrow: Search<1>,
    medium: Search<4>,
    wide: Search<16>,
    survey: Survey,
    /// Whether boxes are few with noise on four features, too.
    four: bool,
}

/// Most boxes that are evaluated for an exact rate, and the mass that may be left.
const BOXES: usize = 1 << 14;
const OPEN: f64 = 1e-9;
/// Noisy features that always have few boxes, and that may have.
const FEATURES: usize = 3;
const MOST_FEATURES: usize = 4;
/// Points at which that is tried, and the share of [`BOXES`] that must be enough there.
const TRIALS: usize = 4;
const ENOUGH: usize = 2;

/// Bounds on a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Interval {
    /// The rate is at least this.
    pub(crate) lower: f64,
    /// The rate is at most this.
    pub(crate) upper: f64,
    /// Number of boxes that were evaluated.
    pub(crate) boxes: usize,
}

impl<'a> Boxes<'a> {
    /// `None` unless the noise is independent over features.
    pub(crate) fn new(model: &'a Trees, noise: &'a dyn Noise) -> Option<Self> {
        Some(Self {
            model,
            features: Marginals::of(noise)?,
            walk: Walk::default(),
            parts: Collapsed::default(),
            narrow: Search::default(),
            medium: Search::default(),
            wide: Search::default(),
            survey: Survey::default(),
            four: false,
        })
    }

    /// Whether boxes are few with noise on the `active` features, of which there are four: tried at
    /// a few points on cuts of the model.
    pub(crate) fn are_few_on_four(model: &'a Trees, noise: &'a dyn Noise, active: &[bool]) -> bool {
        let count = active.iter().filter(|active| **active).count();
        let Some(mut boxes) = Self::new(model, noise).filter(|_| count == MOST_FEATURES) else {
            return false;
        };
        let mut cuts = vec![Vec::new(); active.len()];
        for (_, node) in model.nodes().iter().enumerate().filter(|(i, n)| n.left != *i as u32) {
            cuts[node.feature as usize].push(node.cut);
        }
        cuts.iter_mut().for_each(|cuts| cuts.sort_by(f64::total_cmp));
        (0..TRIALS).all(|trial| {
            let at = |(j, cuts): (usize, &Vec<f64>)| {
                // Evenly spread: the fractional parts of multiples of an irrational number.
                let share =
                    (0.5 + 0.618_033_988_749_894_9 * (trial * active.len() + j) as f64).fract();
                cuts.get((share * cuts.len() as f64) as usize).copied().unwrap_or(0.0)
            };
            let point: Vec<f64> = cuts.iter().enumerate().map(at).collect();
            boxes.search(&point, active, (BOXES / ENOUGH, OPEN), None).open <= OPEN
        })
    }

    /// The same, for a model that has few boxes with noise on four features, too.
    #[must_use]
    pub(crate) fn with_four(self, four: bool) -> Self {
        Self { four, ..self }
    }

    /// Finds all rejected boxes for points with these values of the features without noise.
    pub(crate) fn prepare(&mut self, point: &[f64], active: &[bool]) {
        self.features.place(point, active);
        if self.survey.begin(&self.features) || self.survey.begin(&self.features) {
            self.find_all();
        }
    }

    /// Number of rejected boxes, if all were found.
    pub(crate) fn n_rejected(&self) -> Option<usize> {
        self.survey.n_boxes()
    }

    fn find_all(&mut self) {
        self.features.widen(true);
        self.parts.set(self.model, &self.features);
        self.features.widen(false);
        // With more noisy features, boxes are often too many to be worth it.
        let most = if self.parts.n_features() > FEATURES { BOXES / 4 } else { BOXES };
        let (found, _, refused) = self.run((most, 0.0), Aim::Survey);
        let refused = (found.boxes < most).then_some(refused);
        self.survey.keep(refused, &self.parts);
    }

    /// An interval around the rate at `point`, with noise on the `active` features. It is narrowed
    /// until it is at most `tolerance` wide or `budget` boxes were evaluated. For a single tree it
    /// is exact.
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
        let found = self.search(point, active, (budget, tolerance), None);
        let lower = found.refused.min(1.0);
        Interval { lower, upper: (found.refused + found.open).min(1.0), boxes: found.boxes }
    }

    /// The rate if the number of boxes is small: noise on at most three features, one tree, or
    /// noise on four features of an ensemble with few boxes ([`Boxes::with_four`]). It
    /// may be too high by $10^{-9}$ but not too low. Fills `gradient` with its derivatives with
    /// respect to the point.
    pub(crate) fn rate_if_few(
        &mut self,
        point: &[f64],
        active: &[bool],
        gradient: Option<&mut [f64]>,
    ) -> Option<f64> {
        self.rate_within(point, active, OPEN, gradient)
    }

    /// [`Boxes::rate_if_few`], which may be too high by `open`.
    pub(crate) fn rate_within(
        &mut self,
        point: &[f64],
        active: &[bool],
        open: f64,
        mut gradient: Option<&mut [f64]>,
    ) -> Option<f64> {
        if !self.expects_few(active) {
            return None;
        }
        if let Some(rate) = self.rate_and_gradient(point, active, gradient.as_deref_mut()) {
            return Some(rate);
        }
        self.features.place(point, active);
        if self.survey.begin(&self.features) {
            self.find_all();
        }
        if let Some(rate) = self.survey.rate(&self.features, gradient.as_deref_mut()) {
            return Some(rate);
        }
        let found = self.search(point, active, (BOXES, open), gradient);
        (found.open <= open).then_some((found.refused + found.open).min(1.0))
    }

    /// Whether the number of boxes is small with noise on the `active` features.
    pub(crate) fn expects_few(&self, active: &[bool]) -> bool {
        let most = if self.four { MOST_FEATURES } else { FEATURES };
        self.model.roots().len() == 1 || active.iter().filter(|active| **active).count() <= most
    }

    /// The rate of a single tree; `None` for several trees. Fills `gradient` with its derivatives
    /// with respect to the point.
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

    fn search(
        &mut self,
        point: &[f64],
        active: &[bool],
        limits: (usize, f64),
        gradient: Option<&mut [f64]>,
    ) -> Found {
        self.features.place(point, active);
        self.parts.set(self.model, &self.features);
        let Some(gradient) = gradient else { return self.run(limits, Aim::Rate).0 };
        self.parts.find_densities(&self.features);
        let (found, slopes, _) = self.run(limits, Aim::Slopes);
        gradient.fill(0.0);
        self.parts.features.iter().zip(slopes).for_each(|(&j, slope)| gradient[j as usize] = slope);
        found
    }

    /// Searches the reduced model. Also returns the slopes or the rejected boxes, if `aim` asks for
    /// them.
    fn run(&mut self, limits: (usize, f64), aim: Aim) -> (Found, Vec<f64>, Vec<[u32; 2]>) {
        fn on<const W: usize>(
            search: &mut Search<W>,
            (model, parts): (&Trees, &Collapsed),
            limits: (usize, f64),
            aim: Aim,
        ) -> (Found, Vec<f64>, Vec<[u32; 2]>) {
            let found = search.run(model, parts, limits, aim);
            (found, std::mem::take(&mut search.slopes), std::mem::take(&mut search.refused))
        }
        let Self { model, parts, narrow, medium, wide, .. } = self;
        let what = (*model, &*parts);
        match parts.most_leaves() {
            0..=64 => on(narrow, what, limits, aim),
            65..=256 => on(medium, what, limits, aim),
            257..=1024 => on(wide, what, limits, aim),
            // Trees with more leaves do not fit the sets of bits: nothing is decided.
            _ => (Found { open: 1.0, boxes: limits.0, ..Found::default() }, Vec::new(), Vec::new()),
        }
    }
}

#[cfg(test)]
mod tests;
