//! Trees: a fixed set of errors, read as ranks.

use super::super::problem::Precision;
use super::super::tuning::{LeastGain, Surcharges, Tuning};
use super::scattered::{self, Around, BLOCK, FIRST, PRECISION, Scattered, WORTH};
use super::{Margin, Place, Seen, Structure};
use crate::error::Result;
use crate::invalidation::{Boxes, Errors, Forest, Places};
use crate::math::normal::{pdf, upper_quantile};
use crate::model::{Model, Trees};
use crate::noise::Noise;
use crate::recourse::{Reason, Task, infeasibility};
use crate::schema::Actions;

/// Errors in the set.
pub(super) const MOST: usize = 8_192;
/// Exact rates closer to 0 or 1 than this say little about the margin.
const LEAST: f64 = 1e-6;
/// Exact rates are cheap with noise on so many features. With more, they are computed where more
/// errors than are worth so many lines would be read, or where rejected boxes are few.
const CHEAP_FEATURES: usize = 3;
const CLOSELY: usize = 64;
const CHEAP_BOXES: usize = 1_024;
/// By how much they may be too high then.
const OPEN: f64 = 1e-6;
/// How closely rates that are exact only at the end can meet a target, in units of the margin.
const FINAL_PRECISION: f64 = 3e-4;
/// Trees, at most, whose leaves are looked at for a start.
const TREES: usize = 100;
/// As many errors as are worth so many lines for a step of the search.
const COARSE: usize = 32;

pub(super) struct OnErrors<'a> {
    model: &'a Trees,
    forest: Forest<'a>,
    on: Scattered<'a>,
    boxes: Option<Boxes<'a>>,
    /// Whether rates are likely to be exact, and whether only those that are looked at closely.
    exact: bool,
    only_closely: bool,
    /// Features that neither move nor are missed; empty where that depends on the move.
    fixed: Vec<bool>,
    /// The person whose trees those of `forest` are; empty for nobody.
    person: Vec<f64>,
    refusals: Vec<u32>,
}

impl<'a> OnErrors<'a> {
    /// Noise acts on the features `active`, unless that depends on the move; `actions` says what
    /// cannot move.
    pub(super) fn new(
        model: &'a Trees,
        (noise, errors): (&'a dyn Noise, &'a Errors),
        boxes: Option<Boxes<'a>>,
        actions: &Actions,
        active: Option<&[bool]>,
    ) -> Self {
        let is_fixed = |(j, active): (usize, &bool)| !active && !actions.room(j).mutable;
        let n_noisy = active.map_or(0, |active| active.iter().filter(|active| **active).count());
        let exact =
            boxes.as_ref().zip(active).is_some_and(|(boxes, active)| boxes.expects_few(active));
        let mut on = Scattered::new(noise, errors);
        if let Some(active) = active {
            on.active.copy_from_slice(active);
        }
        Self {
            forest: Forest::new(model),
            exact,
            only_closely: exact && n_noisy > CHEAP_FEATURES && model.roots().len() > 1,
            fixed: active.unwrap_or(&[]).iter().enumerate().map(is_fixed).collect(),
            boxes,
            model,
            on,
            person: Vec::new(),
            refusals: Vec::new(),
        }
    }

    /// The margin on `n` errors, or exactly, with its gradient, and the variance of one sample.
    fn margin(&mut self, x: &[f64], n: usize, gradient: &mut [f64]) -> Result<(f64, f64)> {
        let surveyed = self.boxes.as_ref().and_then(Boxes::n_rejected);
        let cheap = !self.only_closely
            || n > WORTH * CLOSELY
            || surveyed.is_some_and(|boxes| boxes <= n.max(CHEAP_BOXES));
        let boxes = self.boxes.as_mut().filter(|_| cheap);
        let exact = boxes.and_then(|boxes| match self.only_closely {
            true => boxes.rate_within(x, &self.on.active, OPEN, Some(gradient)),
            false => boxes.rate_if_few(x, &self.on.active, Some(gradient)),
        });
        let Some(rate) = exact else {
            return self.on.margin(&mut self.forest, x, n, gradient);
        };
        if (LEAST..=1.0 - LEAST).contains(&rate) {
            let margin = upper_quantile(rate);
            let scale = -1.0 / pdf(margin);
            gradient.iter_mut().for_each(|g| *g *= scale);
            return Ok((margin, 0.0));
        }
        let margin = self.on.first_order(&mut self.forest, x, gradient)?;
        let limit = upper_quantile(LEAST);
        Ok((if rate < LEAST { margin.max(limit) } else { margin.min(-limit) }, 0.0))
    }
}

impl Around for Forest<'_> {
    fn scores_into(
        &mut self,
        errors: &Errors,
        around: (&[f64], &[bool], f64),
        refused: &mut [bool],
        scores: &mut [f64],
    ) -> Result<()> {
        self.aim(errors, around.0, around.1, around.2);
        self.refused(errors, 0, around, refused, scores);
        Ok(())
    }

    fn least_variance(&self) -> f64 {
        Forest::least_variance(self)
    }
}

impl Structure for OnErrors<'_> {
    fn sd(&self, j: usize) -> f64 {
        self.on.sd(j)
    }

    fn largest_sd(&self) -> f64 {
        self.on.largest_sd()
    }

    /// Just beyond the cuts on either side, up to four deviations away.
    fn edges_into(&self, x: &[f64], edges: &mut Vec<(usize, f64)>) {
        for (j, &at) in x.iter().enumerate() {
            let (reach, beyond) = (4.0 * self.on.sd(j), 1e-4 * self.on.sd(j));
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
        let beyond = |cut: f64| (4.0 * self.on.sd(j)).max(1e-6 * cut.abs()).max(1e-9);
        stops.push((first - beyond(*first)).max(low));
        stops.extend(inside.windows(2).map(|pair| pair[0] + 0.5 * (pair[1] - pair[0])));
        stops.push((last + beyond(*last)).min(high));
    }

    /// From the leaves: of each, the nearest point that lies three deviations inside, or in the
    /// middle. The one of the largest score, and the cheapest of those
    /// that the model accepts.
    fn starts_into(&self, person: &[f64], task: &Task, starts: &mut Vec<Vec<f64>>) {
        let ranges = infeasibility::ranges(person, &task.actions);
        let (mut best_scored, mut cheapest) =
            ((f64::NEG_INFINITY, Vec::new()), (f64::INFINITY, Vec::new()));
        let mut point = person.to_vec();
        let n = self.model.roots().len();
        for number in (0..n).step_by(n.div_ceil(TREES)) {
            self.model.for_each_leaf(number, &ranges, &mut |part, _| {
                for (j, (low, high)) in part.iter().enumerate() {
                    let room = (3.0 * self.on.sd(j)).min(0.5 * (high - low));
                    // On the right of a cut, not on it.
                    let least =
                        if *low > ranges[j].0 { (low + room).max(low.next_up()) } else { *low };
                    let most = if *high < ranges[j].1 { high - room } else { *high };
                    point[j] = if least <= most { person[j].clamp(least, most) } else { least };
                }
                let score = self.model.score_row(&point);
                if score > best_scored.0 && task.actions.violations(person, &point).is_empty() {
                    best_scored = (score, point.clone());
                }
                let cost = task.cost.between(person, &point);
                if score > 0.0
                    && cost < cheapest.0
                    && task.actions.violations(person, &point).is_empty()
                {
                    cheapest = (cost, point.clone());
                }
            });
        }
        starts.extend([cheapest.1, best_scored.1].into_iter().filter(|start| !start.is_empty()));
    }

    fn infeasibility(&self, person: &[f64], actions: &Actions) -> Option<Reason> {
        Some(infeasibility::of_trees(self.model, person, actions))
    }
}

impl Margin for OnErrors<'_> {
    fn tuning(&self) -> Tuning {
        let precision = match (self.exact, self.only_closely) {
            (true, false) => 1e-4,
            (true, true) => FINAL_PRECISION,
            (false, _) => PRECISION,
        };
        let sampled_steps = !self.exact || self.only_closely;
        // Samples see no smaller gains: the rate of a thousand errors is off by what several times
        // as much costs.
        let sampled = LeastGain { first_order: 0.01, coarse: 0.002, finer: 0.003 };
        let tuning = Tuning::new(precision);
        Tuning {
            coarse: COARSE,
            closer: Some(MOST / WORTH / 4),
            first_order: (FIRST / WORTH) as u64,
            noise: if sampled_steps { PRECISION } else { precision },
            least_gain: if sampled_steps { sampled } else { tuning.least_gain },
            screens: true,
            fair_samples: 40_000.0,
            // Errors are more expensive than lines.
            surcharges: Surcharges { fair: 0.025, expensive: 0.045, cheap: 0.018 },
            ..tuning
        }
    }

    fn begin(&mut self, person: &[f64]) {
        let same = |j: usize| !self.fixed[j] || self.person[j].to_bits() == person[j].to_bits();
        let known = !self.person.is_empty() && (0..self.fixed.len()).all(same);
        if self.fixed.contains(&true) && !known {
            self.forest.prune(person, &self.fixed);
            self.person.clear();
            self.person.extend_from_slice(person);
        }
        if let Some(boxes) = self.boxes.as_mut().filter(|_| self.only_closely) {
            boxes.prepare(person, &self.on.active);
        }
    }

    fn slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        look: Precision,
        _hint: Option<&[f64]>,
        gradient: &mut [f64],
    ) -> Result<Seen> {
        self.on.active.copy_from_slice(place.active);
        let margin = match look {
            Precision::FirstOrder => {
                (self.on.first_order(&mut self.forest, place.to, gradient)?, 0.0)
            }
            Precision::Lines(n) => self.margin(place.to, WORTH * n, gradient)?,
        };
        let favourable = self.model.score(place.to)? > 0.0;
        Ok(scattered::seen(margin, z, favourable, look != Precision::FirstOrder))
    }

    fn anchor(&mut self, place: Place<'_>, _hint: Option<&[f64]>, lines: usize) -> Result<f64> {
        self.on.active.copy_from_slice(place.active);
        let mut unused = vec![0.0; place.to.len()];
        Ok(self.margin(place.to, WORTH * lines, &mut unused)?.0)
    }

    fn has_profiles(&self) -> bool {
        true
    }

    fn rates_along(
        &mut self,
        place: Place<'_>,
        places: Places,
        lines: usize,
        rates: &mut Vec<f64>,
    ) -> bool {
        let errors = self.on.errors();
        let n = (WORTH * lines).next_multiple_of(BLOCK).min(errors.len());
        let around = (place.to, place.active);
        self.forest.refusals_along(errors, around, places, n, &mut self.refusals);
        rates.clear();
        // No safer, nor less safe, than the count allows.
        let (n, least) = (n as f64, 0.5);
        let rate = |refused: &u32| f64::from(*refused).clamp(least, n - least) / n;
        rates.extend(self.refusals.iter().map(rate));
        true
    }
}
