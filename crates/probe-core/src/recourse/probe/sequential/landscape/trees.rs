//! Trees: a fixed set of errors, read as ranks.
//!
//! On a fixed set the rate is a step function of the point; its gradient is that of the smooth rate behind it, estimated by how refusals go with errors:
//! $\nabla\Delta = \Sigma^{-1}\,\mathrm{Cov}(1[\text{refused}], \varepsilon)$ for Gaussian errors, and the best linear fit for others. Where
//! nearly all errors are refused, or hardly any, the score's mean over its deviation takes the place of the margin.

mod correlated;

use super::super::Look;
use super::{Landscape, Place, Seen};
use crate::error::Result;
use crate::invalidation::{Boxes, Errors, Forest};
use crate::math::normal::{pdf, upper_quantile};
use crate::model::{Model, Trees};
use crate::noise::Noise;
use crate::recourse::{Reason, Task, shortcoming};
use crate::schema::Actions;
use correlated::Correlated;

/// Errors in the set.
pub(super) const MOST: usize = 8_192;
/// Errors that are worth a line, and that look around a point at first.
const WORTH: usize = 32;
const FIRST: usize = 512;
/// Exact rates closer to 0 or 1 than this say little about the margin.
const LEAST: f64 = 1e-6;
/// How closely errors can meet a target, in units of the margin.
const PRECISION: f64 = 2e-3;
/// Fewer refused, or accepted, than this say little about the margin.
const FEW: usize = 12;
/// Trees, at most, whose leaves are looked at for a start.
const TREES: usize = 100;
/// How much wider the noise is taken where it does not move the score.
const STRETCHES: [f64; 4] = [1.0, 3.0, 9.0, 27.0];

pub(super) struct OnErrors<'a> {
    model: &'a Trees,
    forest: Forest<'a>,
    errors: &'a Errors,
    boxes: Option<Boxes<'a>>,
    /// Whether rates are likely to be exact.
    exact: bool,
    /// Features that neither move nor are missed; empty where that depends on the move.
    fixed: Vec<bool>,
    sd: Vec<f64>,
    correlated: Option<Correlated>,
    active: Vec<bool>,
    refused: Vec<bool>,
    scores: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> OnErrors<'a> {
    /// Noise acts on the features `active`, unless that depends on the move; `actions` says what cannot move.
    pub(super) fn new(
        model: &'a Trees,
        noise: &'a dyn Noise,
        errors: &'a Errors,
        actions: &Actions,
        active: Option<&[bool]>,
    ) -> Self {
        let d = model.n_features();
        let boxes = Boxes::new(model, noise);
        let is_fixed = |(j, active): (usize, &bool)| !active && !actions.room(j).mutable;
        let sd = (0..d).map(|j| errors.sd(j)).collect();
        Self {
            forest: Forest::new(model),
            correlated: noise.as_gaussian().filter(|noise| !noise.is_diagonal()).map(Correlated::new),
            exact: boxes.as_ref().zip(active).is_some_and(|(boxes, active)| boxes.expects_few(active)),
            fixed: active.unwrap_or(&[]).iter().enumerate().map(is_fixed).collect(),
            boxes,
            model,
            errors,
            sd,
            active: vec![true; d],
            refused: Vec::new(),
            scores: Vec::new(),
            slopes: vec![0.0; d],
        }
    }

    /// Scores the first `n` errors around `x`; says how many are refused.
    fn score(&mut self, x: &[f64], n: usize, stretch: f64) -> usize {
        self.refused.resize(n, false);
        self.scores.resize(n, 0.0);
        self.forest.aim(self.errors, x, &self.active, stretch);
        let around = (x, &self.active[..], stretch);
        self.forest.refused(self.errors, 0, around, &mut self.refused, &mut self.scores);
        self.refused.iter().filter(|refused| **refused).count()
    }

    /// Slopes of the best linear fit of `value` in the errors.
    fn fit(&mut self, stretch: f64, value: impl Fn(&Self, usize) -> f64) {
        let n = self.refused.len();
        let mut slopes = std::mem::take(&mut self.slopes);
        slopes.fill(0.0);
        let mean = (0..n).map(|i| value(self, i)).sum::<f64>() / n as f64;
        for i in 0..n {
            let weight = value(self, i) - mean;
            if weight != 0.0 {
                slopes.iter_mut().zip(self.errors.row(i)).for_each(|(slope, e)| *slope += weight * e);
            }
        }
        match &mut self.correlated {
            Some(correlated) => correlated.solve(&self.active, &mut slopes),
            None => slopes.iter_mut().zip(&self.sd).for_each(|(slope, sd)| *slope /= sd * sd),
        }
        for (j, slope) in slopes.iter_mut().enumerate() {
            let acts = self.active[j] && self.sd[j] > 0.0;
            *slope = if acts { *slope / (n as f64 * stretch) } else { 0.0 };
        }
        self.slopes = slopes;
    }

    /// Mean of the score over its deviation, with its gradient.
    fn first_order(&mut self, x: &[f64], n: usize, gradient: &mut [f64]) -> f64 {
        for stretch in STRETCHES {
            self.score(x, n, stretch);
            let mean = self.scores.iter().sum::<f64>() / n as f64;
            let variance = self.scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / n as f64;
            if variance > self.forest.least_variance() {
                let sd = variance.sqrt();
                self.fit(stretch, |at, i| at.scores[i]);
                for (g, slope) in gradient.iter_mut().zip(&self.slopes) {
                    *g = slope / sd;
                }
                return mean / sd;
            }
        }
        gradient.fill(0.0);
        if self.scores[0] > 0.0 { 1e9 } else { -1e9 }
    }

    /// The margin on `n` errors, or exactly, with its gradient, and the variance of one sample.
    fn margin(&mut self, x: &[f64], n: usize, gradient: &mut [f64]) -> (f64, f64) {
        let exact = self.boxes.as_mut().and_then(|boxes| boxes.rate_if_few(x, &self.active, Some(gradient)));
        if let Some(rate) = exact {
            if (LEAST..=1.0 - LEAST).contains(&rate) {
                let margin = upper_quantile(rate);
                let scale = -1.0 / pdf(margin);
                gradient.iter_mut().for_each(|g| *g *= scale);
                return (margin, 0.0);
            }
            let (margin, limit) = (self.first_order(x, FIRST, gradient), upper_quantile(LEAST));
            return (if rate < LEAST { margin.max(limit) } else { margin.min(-limit) }, 0.0);
        }
        let n = n.clamp(128, MOST);
        let refused = self.score(x, n, 1.0);
        let rate = refused as f64 / n as f64;
        let variance = (rate * (1.0 - rate)).max(0.5 / n as f64);
        let margin = if refused < FEW || refused > n - FEW {
            // No safer, nor less safe, than the count allows.
            let limit = upper_quantile(FEW as f64 / n as f64);
            let margin = self.first_order(x, n.min(FIRST), gradient);
            if refused < FEW { margin.max(limit) } else { margin.min(-limit) }
        } else {
            let margin = upper_quantile(rate);
            self.fit(1.0, |at, i| f64::from(u8::from(at.refused[i])));
            let scale = -1.0 / pdf(margin);
            for (g, slope) in gradient.iter_mut().zip(&self.slopes) {
                *g = scale * slope;
            }
            margin
        };
        (margin, variance)
    }
}

impl Landscape for OnErrors<'_> {
    fn begin(&mut self, person: &[f64]) {
        if self.fixed.contains(&true) {
            self.forest.prune(person, &self.fixed);
        }
    }

    fn slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        look: Look,
        _hint: Option<&[f64]>,
        gradient: &mut [f64],
    ) -> Result<Seen> {
        self.active.copy_from_slice(place.active);
        let (margin, variance) = match look {
            Look::FirstOrder => (self.first_order(place.to, FIRST, gradient), 0.0),
            Look::Lines(n) => self.margin(place.to, WORTH * n, gradient),
        };
        let favourable = self.model.score(place.to)? > 0.0;
        // More than the last corrections forgive.
        let edge = -10.0 * PRECISION;
        let slack = if favourable || look == Look::FirstOrder { margin - z } else { (margin - z).min(edge) };
        Ok(Seen { slack, favourable, variance })
    }

    fn anchor(&mut self, place: Place<'_>, _hint: Option<&[f64]>, lines: usize) -> Result<f64> {
        self.active.copy_from_slice(place.active);
        let mut unused = vec![0.0; place.to.len()];
        Ok(self.margin(place.to, WORTH * lines, &mut unused).0)
    }

    fn slack_of_single(&mut self, _change: (usize, f64), _z: f64, _lines: usize) -> Result<Option<f64>> {
        Ok(None)
    }

    fn sd(&self, j: usize) -> f64 {
        self.sd[j]
    }

    fn largest_sd(&self) -> f64 {
        let sds = self.sd.iter().zip(&self.active).filter(|(_, active)| **active);
        sds.fold(0.0, |most, (sd, _)| most.max(*sd))
    }

    fn precision(&self) -> f64 {
        if self.exact { 1e-4 } else { PRECISION }
    }

    /// Just beyond the cuts on either side, up to four deviations away.
    fn edges_into(&self, x: &[f64], edges: &mut Vec<(usize, f64)>) {
        for (j, &at) in x.iter().enumerate() {
            let (reach, beyond) = (4.0 * self.sd[j], 1e-4 * self.sd[j]);
            for &cut in self.forest.cuts_of(j) {
                if cut >= at && cut - at <= reach {
                    edges.push((j, cut + beyond));
                } else if cut < at && at - cut <= reach {
                    edges.push((j, cut - beyond));
                }
            }
        }
    }

    fn stops_into(&self, j: usize, (low, high): (f64, f64), stops: &mut Vec<f64>) {
        let cuts = self.forest.cuts_of(j);
        // A cut is the last value on its left.
        let inside = &cuts[cuts.partition_point(|c| *c < low)..cuts.partition_point(|c| *c < high)];
        let (Some(first), Some(last)) = (inside.first(), inside.last()) else { return };
        let beyond = |cut: f64| (4.0 * self.sd[j]).max(1e-6 * cut.abs()).max(1e-9);
        stops.push((first - beyond(*first)).max(low));
        stops.extend(inside.windows(2).map(|pair| pair[0] + 0.5 * (pair[1] - pair[0])));
        stops.push((last + beyond(*last)).min(high));
    }

    /// From the leaves: of each, the nearest point that lies three deviations inside, or in the middle. The one that the model likes best, and
    /// the cheapest of those that it accepts.
    fn starts_into(&self, person: &[f64], task: &Task, starts: &mut Vec<Vec<f64>>) {
        let ranges = shortcoming::ranges(person, &task.actions);
        let (mut liked, mut cheapest) = ((f64::NEG_INFINITY, Vec::new()), (f64::INFINITY, Vec::new()));
        let mut point = person.to_vec();
        let n = self.model.roots().len();
        for number in (0..n).step_by(n.div_ceil(TREES)) {
            self.model.for_each_leaf(number, &ranges, &mut |part, _| {
                for (j, (low, high)) in part.iter().enumerate() {
                    let room = (3.0 * self.sd[j]).min(0.5 * (high - low));
                    // On the right of a cut, not on it.
                    let least = if *low > ranges[j].0 { (low + room).max(low.next_up()) } else { *low };
                    let most = if *high < ranges[j].1 { high - room } else { *high };
                    point[j] = if least <= most { person[j].clamp(least, most) } else { least };
                }
                let score = self.model.score_row(&point);
                if score > liked.0 && task.actions.violations(person, &point).is_empty() {
                    liked = (score, point.clone());
                }
                let cost = task.cost.between(person, &point);
                if score > 0.0 && cost < cheapest.0 && task.actions.violations(person, &point).is_empty() {
                    cheapest = (cost, point.clone());
                }
            });
        }
        starts.extend([cheapest.1, liked.1].into_iter().filter(|start| !start.is_empty()));
    }

    fn shortcoming(&self, person: &[f64], actions: &Actions) -> Option<Reason> {
        Some(shortcoming::of_trees(self.model, person, actions))
    }

    fn noise(&self) -> f64 {
        self.precision()
    }

    fn closer(&self) -> Option<usize> {
        Some(MOST / WORTH)
    }

    fn fair_samples(&self) -> f64 {
        100_000.0
    }
}
