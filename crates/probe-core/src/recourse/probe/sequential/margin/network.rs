//! Differentiable models: lines.

use super::super::problem::Precision;
use super::super::tuning::{Surcharges, Tuning};
use super::super::{COARSE, EDGE};
use super::{Margin, Place, Seen, Structure};
use crate::error::Result;
use crate::invalidation::{LineMode, Lines, Pool};
use crate::math::normal::upper_tail;
use crate::math::sobol::ScrambledSobol;
use crate::model::Mlp;
use crate::recourse::{Reason, Task, infeasibility};
use crate::schema::Actions;
use crate::seed::Purpose;

/// Where nothing else helps: steps between the places of a feature that are looked at, and points
/// to start from.
const STOPS: usize = 64;
const STARTS: usize = 256;

pub(super) struct OnLines<'a> {
    lines: Lines<'a>,
    pool: &'a Pool,
    /// Layers, where the model has some.
    network: Option<&'a Mlp>,
    /// Gradient of the point's own margin.
    kept: Vec<f64>,
    /// Whether whole lines near this person are expensive, because most of them bend or the network
    /// is deep, and whether that is known.
    costly: bool,
    known: bool,
    /// Variance of the lines that were last looked at.
    variance: f64,
}

impl<'a> OnLines<'a> {
    pub(super) fn new(lines: Lines<'a>, pool: &'a Pool, network: Option<&'a Mlp>) -> Self {
        Self { lines, pool, network, kept: Vec::new(), costly: false, known: false, variance: 0.0 }
    }
}

impl Structure for OnLines<'_> {
    fn sd(&self, j: usize) -> f64 {
        self.lines.sd(j)
    }

    fn largest_sd(&self) -> f64 {
        self.lines.largest_sd()
    }

    fn stops_into(&self, _: usize, (low, high): (f64, f64), stops: &mut Vec<f64>) {
        if (high - low).is_finite() && low < high {
            stops.extend((0..=STOPS).map(|i| low + (high - low) * (i as f64 / STOPS as f64)));
        }
    }

    /// Evenly spread over what may change and has two ends.
    fn starts_into(&self, person: &[f64], task: &Task, starts: &mut Vec<Vec<f64>>) {
        let ends = |j: usize| {
            let range =
                task.actions.interval(j, person[j]).filter(|_| task.actions.is_mutable_numeric(j));
            range
                .filter(|(low, high)| low < high && (high - low).is_finite())
                .map(|range| (j, range))
        };
        let open: Vec<_> = (0..person.len()).filter_map(ends).collect();
        let points =
            ScrambledSobol::new(open.len(), &mut task.seed.stream(Purpose::Search, STARTS as u64));
        let mut shares = vec![0.0; open.len()];
        for i in 0..STARTS {
            points.uniform_into(i, &mut shares);
            let mut start = person.to_vec();
            for ((j, (low, high)), share) in open.iter().zip(&shares) {
                start[*j] = low + share * (high - low);
            }
            starts.push(start);
        }
    }

    fn infeasibility(&self, person: &[f64], actions: &Actions) -> Option<Reason> {
        let reason = infeasibility::of_network(self.network?, person, actions);
        (reason != Reason::NotFound).then_some(reason)
    }
}

impl Margin for OnLines<'_> {
    fn tuning(&self) -> Tuning {
        Tuning {
            // The last corrections take more: half are enough to find the way, where lines follow
            // the gradient.
            coarse: if self.lines.follow_gradients() { COARSE / 2 } else { COARSE },
            surcharges: Surcharges { fair: 0.02, expensive: 0.04, cheap: 0.014 },
            limits_gap_of_steps: true,
            ..Tuning::new(2e-4)
        }
    }

    fn begin(&mut self, person: &[f64]) {
        self.lines.stay_near(person);
        (self.costly, self.known) = (false, false);
        self.lines.take_roughly(false);
    }

    /// Where the point is refused itself, its score over the score's deviation counts.
    fn slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        look: Precision,
        hint: Option<&[f64]>,
        gradient: &mut [f64],
    ) -> Result<Seen> {
        let x = place.to;
        self.lines.enter(place.from, x, place.active)?;
        match look {
            Precision::FirstOrder => self.lines.visit(x)?,
            Precision::Lines(_) => self.lines.aim(x, hint)?,
        }
        let centre = self.lines.first_order(gradient);
        self.kept.resize(x.len(), 0.0);
        self.kept.copy_from_slice(gradient);
        let own = match self.lines.is_centred() {
            true => centre,
            false => self.lines.first_order_at(x, &mut self.kept)?,
        };
        let favourable = own > 1e-9;
        let seen = |slack, excess, variance| Ok(Seen { slack, excess, favourable, variance });
        let Precision::Lines(n) = look else {
            if own - EDGE < centre - z {
                gradient.copy_from_slice(&self.kept);
            }
            return seen((centre - z).min(own - EDGE), centre - z, 0.0);
        };
        if own <= 1e-9 && z <= 0.0 {
            gradient.copy_from_slice(&self.kept);
            return seen(own - EDGE, f64::INFINITY, 0.0);
        }
        if !self.known {
            // Where lines are expensive the way is found on one root each, and what matters is
            // looked at in places.
            self.known = true;
            self.costly = self.lines.bend(self.pool)?;
            self.lines.take_roughly(self.costly);
        }
        let (margin, spread) = self.lines.margin(self.pool, n, Some(&mut *gradient))?;
        self.variance = spread.variance();
        if !favourable && own - EDGE < margin - z {
            // Robust under noise, but rejected at the point itself.
            gradient.copy_from_slice(&self.kept);
            return seen(own - EDGE, margin - z, spread.variance());
        }
        seen(margin - z, margin - z, spread.variance())
    }

    fn bends(&self) -> bool {
        self.costly && !self.lines.are_deep()
    }

    fn looks_closer(&self) -> bool {
        self.costly
    }

    fn closer_slack(
        &mut self,
        place: Place<'_>,
        z: f64,
        lines: usize,
        hint: Option<&[f64]>,
    ) -> Result<Option<(f64, f64)>> {
        if !(self.costly && self.lines.is_fixed() && self.lines.is_centred()) {
            return Ok(None);
        }
        self.lines.aim(place.to, hint)?;
        self.kept.resize(place.to.len(), 0.0);
        let own = self.lines.first_order(&mut self.kept);
        if own <= 1e-9 {
            return Ok(None);
        }
        let look = LineMode::closely(upper_tail(z), self.variance);
        let (margin, spread) = self.lines.stratified_margin(self.pool, lines, look)?;
        self.variance = spread.variance();
        Ok(Some((margin - z, spread.variance())))
    }

    fn anchor(&mut self, place: Place<'_>, hint: Option<&[f64]>, lines: usize) -> Result<f64> {
        self.lines.enter(place.from, place.to, place.active)?;
        self.lines.aim(place.to, hint)?;
        self.lines.anchor();
        Ok(self.lines.margin(self.pool, lines, None)?.0)
    }

    fn slack_of_single(
        &mut self,
        (j, change): (usize, f64),
        z: f64,
        lines: usize,
    ) -> Result<Option<f64>> {
        if !(self.lines.is_fixed() && self.lines.is_centred()) {
            return Ok(None);
        }
        // A point that is refused itself is no answer, whatever the noise does: most features fail
        // here.
        if self.lines.is_out_of_reach(j, change) || self.lines.nudge(j, change)? <= 0.0 {
            return Ok(Some(-1.0));
        }
        Ok(Some(self.lines.margin(self.pool, lines, None)?.0 - z))
    }

    fn n_lines(&self) -> u64 {
        self.lines.n_traced()
    }
}
