//! The cheapest change whose mean score covers noise that grows with the change.
//!
//! A change $\delta$ is enough if $h(\delta) = c + g^\top\delta - z\sqrt{V_0 + \sum_j v_j
//! \delta_j^2} \ge 0$, with $z \ge 0$: a concave function and one convex constraint. For a price
//! $\nu$ of $h$, the change that minimises cost $- \nu h$ is found from $2\sqrt V = \min_t (V/t +
//! t)$: for given $t$ every feature has its own minimiser, and $t$ is where $V(\delta(t)) = t^2$, a
//! root of a monotone function. $h$ grows with $\nu$; the least $\nu$ with $h \ge 0$ gives the
//! optimum (KKT). Where $h$ jumps at this price, as under `l1`, all mixtures of both sides are
//! minimisers, and one of them has $h = 0$. Under `linf` the largest weighted move takes the place
//! of the price.
//!
//! The point must be accepted itself, too: $s(\delta) > 0$. Where both constraints bind, one
//! mixture $(1 - \mu) h + \mu s \ge 0$ has the same optimum (the surrogate dual of a convex problem
//! has no gap), and it has the same form as $h$.

use crate::cost::{NORMS, Norm};

/// Most steps of a search for a root, and of the search for a price that is high enough.
const STEPS: usize = 120;
const MAX_DOUBLINGS: usize = 200;
/// Limits that stand in for missing ones, in units of the move that would do without noise.
const STAND_INS: [f64; 3] = [16.0, 1e4, 1e8];
/// Tangents of the deviation that are tried where the rate may be above one half.
const TANGENTS: usize = 30;

/// A number that may change by $\delta \in$ [`low`, `high`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// Score per unit of change.
    pub score: f64,
    /// Mean score per unit of change, with the systematic part of the noise.
    pub gain: f64,
    /// Variance of the score's noise per squared unit of change.
    pub growth: f64,
    /// Variance of the score's noise that any change adds.
    pub fixed: f64,
    pub low: f64,
    pub high: f64,
    /// Costs per unit of change.
    pub up: f64,
    pub down: f64,
}

impl Item {
    pub(super) fn weight(&self, delta: f64) -> f64 {
        if delta < 0.0 { self.down } else { self.up }
    }

    /// The least change that is admissible.
    fn least(&self) -> f64 {
        0.0_f64.clamp(self.low, self.high)
    }
}

/// One person's problem, with fixed categories.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub items: Vec<Item>,
    /// Score without a change, and the least score that is needed.
    pub score: f64,
    pub least_score: f64,
    /// Mean score without a change.
    pub mean: f64,
    /// Variance of the score's noise without a change.
    pub variance: f64,
    /// $z_r$.
    pub z: f64,
    /// What rounding may take from a score.
    pub ulps: f64,
}

/// How a program was solved.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Solved {
    /// The change; `None` where no change is enough.
    pub change: Option<Vec<f64>>,
    /// Whether the change is an optimum, or it is certain that none is enough.
    pub proven: bool,
    /// In the norm's total, no change that is enough has less.
    pub bound: f64,
}

impl Solved {
    fn nothing(proven: bool) -> Self {
        Self { change: None, proven, bound: f64::INFINITY }
    }
}

/// A constraint `offset` + gains·δ − `price` √(`variance` + Σ growth δ²) ≥ 0.
struct Constraint {
    offset: f64,
    gains: Vec<f64>,
    price: f64,
    variance: f64,
}

impl Program {
    /// Total of a change under a norm.
    pub(super) fn total(&self, norm: &dyn Norm, change: &[f64]) -> f64 {
        self.items
            .iter()
            .zip(change)
            .fold(0.0, |total, (it, d)| norm.add(total, it.weight(*d) * d.abs()))
    }

    fn score_at(&self, change: &[f64]) -> f64 {
        self.items.iter().zip(change).fold(self.score, |sum, (it, d)| sum + it.score * d)
    }

    /// Variance of the noise, without what any change adds.
    fn variance_at(&self, change: &[f64], base: f64) -> f64 {
        self.items.iter().zip(change).fold(base, |sum, (it, d)| sum + it.growth * d * d)
    }

    /// Mean score less what the noise asks for, at a change to which `fixed` variance belongs.
    pub(super) fn slack(&self, change: &[f64], fixed: f64) -> f64 {
        let mean = self.items.iter().zip(change).fold(self.mean, |sum, (it, d)| sum + it.gain * d);
        mean - self.ulps - self.z * self.variance_at(change, self.variance + fixed).sqrt()
    }

    /// The cheapest change that is enough, where `fixed` is the variance that changes add whatever
    /// their size. Missing limits are replaced by ever wider ones until they do not matter.
    pub(super) fn cheapest(&self, norm: &dyn Norm, fixed: f64) -> Solved {
        if self.items.iter().all(|it| it.low.is_finite() && it.high.is_finite()) {
            return self.cheapest_within(norm, fixed);
        }
        let sd = (self.variance + fixed).sqrt();
        let missing = self.mean.abs().max(self.score.abs()) + self.least_score.abs();
        let missing = missing + self.z.abs() * sd + 1e-9;
        let mut solved = Solved::nothing(false);
        for factor in STAND_INS {
            let mut limited = self.clone();
            let mut caps = Vec::with_capacity(self.items.len());
            for it in &mut limited.items {
                let gain = it.gain.abs().max(it.score.abs());
                let cap = if gain > 0.0 { factor * missing / gain } else { 0.0 } + it.least().abs();
                (it.low, it.high) = (it.low.max(-cap), it.high.min(cap));
                caps.push(cap);
            }
            solved = limited.cheapest_within(norm, fixed);
            let far = match &solved.change {
                Some(change) => change.clone(),
                None => limited.most_robust(fixed),
            };
            let touches = |((it, d), cap): ((&Item, &f64), &f64)| {
                let open = if *d < 0.0 { it.low } else { it.high }.is_infinite();
                open && d.abs() >= 0.99 * cap && it.gain != 0.0
            };
            if !self.items.iter().zip(&far).zip(&caps).any(touches) {
                return solved;
            }
            solved.proven = false;
        }
        solved
    }

    /// The same where all limits are finite.
    fn cheapest_within(&self, norm: &dyn Norm, fixed: f64) -> Solved {
        let accepted = self.accepted();
        let Some(nearest) = self.solve(norm, &accepted) else { return Solved::nothing(true) };
        let optimum = |change: Vec<f64>| {
            let bound = self.total(norm, &change);
            Solved { change: Some(change), proven: true, bound }
        };
        if self.slack(&nearest, fixed) >= 0.0 {
            return optimum(nearest);
        }
        if self.z < 0.0 {
            return self.above_half(norm, fixed, self.total(norm, &nearest));
        }
        let robust = self.robust(fixed);
        let Some(change) = self.solve(norm, &robust) else { return Solved::nothing(true) };
        if self.score_at(&change) >= self.least_score {
            return optimum(change);
        }
        self.both(norm, &robust, &accepted).map_or_else(|| Solved::nothing(true), optimum)
    }

    /// Rates above one half: noise helps, and what is enough need not be convex. Replacing the
    /// deviation by a tangent, which is never above it, leaves a convex part of it.
    fn above_half(&self, norm: &dyn Norm, fixed: f64, bound: f64) -> Solved {
        let (accepted, base) = (self.accepted(), self.variance + fixed);
        let mut best: Option<(f64, Vec<f64>)> = None;
        let mut around: Vec<f64> = self.items.iter().map(Item::least).collect();
        for _ in 0..TANGENTS {
            let variance = self.variance_at(&around, base);
            let sd = variance.sqrt();
            let slope = |(it, d): (&Item, &f64)| {
                if sd > 0.0 { it.gain - self.z * it.growth * d / sd } else { it.gain }
            };
            let rest = if sd > 0.0 { -self.z * base / sd } else { 0.0 };
            let tangent = Constraint {
                offset: self.mean - self.ulps + rest,
                gains: self.items.iter().zip(&around).map(slope).collect(),
                price: 0.0,
                variance: 0.0,
            };
            let Some(change) = self.solve_both(norm, &tangent, &accepted) else { break };
            let total = self.total(norm, &change);
            if best.as_ref().is_some_and(|(least, _)| total >= least * (1.0 - 1e-12)) {
                break;
            }
            around.clone_from(&change);
            best = Some((total, change));
        }
        Solved { change: best.map(|(_, change)| change), proven: false, bound }
    }

    /// The constraint that the point is accepted itself.
    fn accepted(&self) -> Constraint {
        Constraint {
            offset: self.score - self.least_score,
            gains: self.items.iter().map(|it| it.score).collect(),
            price: 0.0,
            variance: 0.0,
        }
    }

    /// The constraint of the rate.
    fn robust(&self, fixed: f64) -> Constraint {
        Constraint {
            offset: self.mean - self.ulps,
            gains: self.items.iter().map(|it| it.gain).collect(),
            price: self.z.max(0.0),
            variance: self.variance + fixed,
        }
    }

    /// The change with the largest slack; limits must be finite.
    fn most_robust(&self, fixed: f64) -> Vec<f64> {
        let mut change = vec![0.0; self.items.len()];
        self.respond(&self.robust(fixed), None, 1.0, &mut change);
        change
    }

    fn value(&self, of: &Constraint, change: &[f64]) -> f64 {
        let gained = of.gains.iter().zip(change).fold(of.offset, |sum, (g, d)| sum + g * d);
        match of.price > 0.0 {
            true => gained - of.price * self.variance_at(change, of.variance).sqrt(),
            false => gained,
        }
    }

    /// The cheapest change under both constraints.
    fn solve_both(
        &self,
        norm: &dyn Norm,
        one: &Constraint,
        other: &Constraint,
    ) -> Option<Vec<f64>> {
        let first = self.solve(norm, one)?;
        if self.value(other, &first) >= 0.0 {
            return Some(first);
        }
        self.both(norm, one, other)
    }

    /// The same where both bind: a mixture of them.
    fn both(&self, norm: &dyn Norm, one: &Constraint, other: &Constraint) -> Option<Vec<f64>> {
        let mixed = |mu: f64| Constraint {
            offset: (1.0 - mu) * one.offset + mu * other.offset,
            gains: (one.gains.iter().zip(&other.gains))
                .map(|(a, b)| (1.0 - mu) * a + mu * b)
                .collect(),
            price: (1.0 - mu) * one.price,
            variance: one.variance,
        };
        let (mut low, mut high) = (self.solve(norm, one)?, self.solve(norm, other)?);
        let (mut least, mut most) = (0.0, 1.0);
        for _ in 0..STEPS {
            let mid = 0.5 * (least + most);
            if mid <= least || mid >= most {
                break;
            }
            let change = self.solve(norm, &mixed(mid))?;
            let (a, b) = (self.value(one, &change), self.value(other, &change));
            if a >= 0.0 && b >= 0.0 {
                return Some(change);
            }
            if b < 0.0 { (least, low) = (mid, change) } else { (most, high) = (mid, change) }
        }
        let change = self.mixture(other, &low, &high);
        (self.value(one, &change) >= -1e-9 * (1.0 + one.offset.abs())).then_some(change)
    }

    /// The cheapest change under one constraint; `None` if there is none. Limits must be finite.
    fn solve(&self, norm: &dyn Norm, of: &Constraint) -> Option<Vec<f64>> {
        let least: Vec<f64> = self.items.iter().map(Item::least).collect();
        if self.value(of, &least) >= 0.0 {
            return Some(least);
        }
        let mut most = vec![0.0; least.len()];
        self.respond(of, None, 1.0, &mut most);
        if self.value(of, &most) < 0.0 {
            return None;
        }
        match norm.is_separable() {
            true => Some(self.solve_by_price(norm, of, most)),
            false => Some(self.solve_by_level(norm, of, &least, &most)),
        }
    }

    /// [`Program::solve`] for costs that add up; `most` is enough.
    fn solve_by_price(&self, norm: &dyn Norm, of: &Constraint, most: Vec<f64>) -> Vec<f64> {
        let mut change = vec![0.0; most.len()];
        let mut slack = |price: f64| {
            self.respond(of, Some(norm), price, &mut change);
            self.value(of, &change)
        };
        let prices = self.items.iter().zip(&of.gains).filter(|(_, g)| **g != 0.0);
        let mut high = prices.map(|(it, g)| it.weight(*g) / g.abs()).fold(f64::INFINITY, f64::min);
        let (mut low, mut doublings) = (0.0, 0);
        while slack(high) < 0.0 {
            (low, high, doublings) = (high, 2.0 * high, doublings + 1);
            if doublings == MAX_DOUBLINGS {
                return most;
            }
        }
        let (low, high) = bracket((low, high), slack);
        let (mut below, mut above) = (vec![0.0; most.len()], most);
        self.respond(of, Some(norm), low, &mut below);
        self.respond(of, Some(norm), high, &mut above);
        self.mixture(of, &below, &above)
    }

    /// [`Program::solve`] for the largest weighted move; among the changes with the least one, one
    /// of least sum.
    fn solve_by_level(
        &self,
        norm: &dyn Norm,
        of: &Constraint,
        least: &[f64],
        most: &[f64],
    ) -> Vec<f64> {
        let within = |level: f64| {
            let mut program = self.clone();
            for it in &mut program.items {
                let forced = it.least();
                it.low = it.low.max(-level / it.down).min(forced);
                it.high = it.high.min(level / it.up).max(forced);
            }
            program
        };
        let mut change = vec![0.0; least.len()];
        let ends = (self.total(norm, least), self.total(norm, most));
        let (_, level) = bracket(ends, |level| {
            within(level).respond(of, None, 1.0, &mut change);
            self.value(of, &change)
        });
        let program = within(level);
        program.respond(of, None, 1.0, &mut change);
        match NORMS.iter().find(|norm| norm.item.is_linear()) {
            Some(sum) => program.solve_by_price(sum.item, of, change),
            None => change,
        }
    }

    /// The mixture of two changes nearest to `below` that meets a constraint; `above` does.
    fn mixture(&self, of: &Constraint, below: &[f64], above: &[f64]) -> Vec<f64> {
        let mixed = |share: f64| -> Vec<f64> {
            let mix = |(a, b): (&f64, &f64)| if a == b { *a } else { a + share * (b - a) };
            below.iter().zip(above).map(mix).collect()
        };
        if self.value(of, below) >= 0.0 {
            return below.to_vec();
        }
        let (_, share) = bracket((0.0, 1.0), |share| self.value(of, &mixed(share)));
        if share >= 1.0 { above.to_vec() } else { mixed(share) }
    }

    /// Writes the change that minimises its cost less `price` times the value of a constraint, or
    /// without a norm the change of largest value.
    fn respond(&self, of: &Constraint, norm: Option<&dyn Norm>, price: f64, change: &mut [f64]) {
        let mut at = |t: f64| {
            let mut variance = of.variance;
            for ((it, g), d) in self.items.iter().zip(&of.gains).zip(change.iter_mut()) {
                let (gain, bend) = (price * g.abs(), price * of.price * it.growth / t);
                let u = match norm {
                    Some(norm) => norm.damped_response(gain, it.weight(*g), bend),
                    None if gain <= 0.0 => 0.0,
                    None => gain / bend,
                };
                *d = u.copysign(*g).clamp(it.low, it.high);
                variance += it.growth * *d * *d;
            }
            variance
        };
        let grows = of.price > 0.0 && price > 0.0 && self.items.iter().any(|it| it.growth > 0.0);
        if !grows {
            at(1.0);
            return;
        }
        let largest = |it: &Item| it.growth * it.low.abs().max(it.high.abs()).powi(2);
        let high = self.items.iter().map(largest).fold(of.variance, |sum, v| sum + v).sqrt();
        let low = of.variance.sqrt().max(1e-14 * high);
        if high > low {
            let (_, t) = bracket((low, high), |t| 1.0 - at(t) / (t * t));
            at(t);
        } else {
            at(high.max(f64::MIN_POSITIVE));
        }
    }
}

/// Both sides of the place where a function that does not fall becomes at least 0, as close as
/// `f64` allows; it is at least 0 at the upper one.
fn bracket((mut low, mut high): (f64, f64), mut f: impl FnMut(f64) -> f64) -> (f64, f64) {
    let (mut below, mut above) = (f(low), f(high));
    if below >= 0.0 {
        return (low, low);
    }
    for step in 0..STEPS {
        if high - low <= 2.0 * f64::EPSILON * high.abs() || above <= 0.0 {
            break;
        }
        let line = low - below * (high - low) / (above - below);
        let halve = step % 3 == 2 || !(low < line && line < high);
        let mid = if halve { 0.5 * (low + high) } else { line };
        if mid <= low || mid >= high {
            break;
        }
        let seen = f(mid);
        if seen >= 0.0 { (high, above) = (mid, seen) } else { (low, below) = (mid, seen) }
    }
    (low, high)
}
