//! Recourse for differentiable models: sequential linear programming on the smoothed margin.
//!
//! The problem is to minimise cost subject to $M(x) \ge z_r$, where $M = \Phi^{-1}(1-\Delta)$ is
//! the smoothed margin: the true invalidation rate, not its first-order approximation, is
//! constrained. Each step linearises $M$ at the current point and solves the rest exactly with the
//! linear solver ([`super::linear`]): same costs, bounds, directions, groups and limits, inside a
//! trust region. The first steps follow the first-order margin, which costs one gradient; then $M$
//! and its gradient come from lines on common random numbers, so the search sees a smooth function;
//! the samples of the search never enter a certificate. A search is local, so single features are
//! tried from the person's own point afterwards: on real networks the best known answers change one
//! feature or two.

mod accepted_intervals;
mod change_sets;
mod coordinate_search;
mod drop_feature;
mod escape_rejected;
mod margin;
mod multistart;
mod polish;
mod single_feature;

use super::super::{Goal, Proposal, Reason, Solver, Task, Verdict, Worker, infeasibility};
use super::linear::Step;
use crate::cost::Cost;
use crate::error::Result;
use crate::invalidation::has_lines;
use crate::math::normal::{upper_quantile, upper_tail};
use crate::noise::{Gaussian, Noise, NoiseOn};
use crate::schema::Restriction;
use crate::seed::Purpose;
use margin::{Margin, Place};
use std::sync::Arc;

/// Lines, or as many samples as are worth them, for a first look at a point and for a search step;
/// fewer where [`Margin::coarse`] says so.
const GLANCE: usize = 8;
const COARSE: usize = 64;
/// Steps on the first-order margin, and on lines.
const FIRST_STEPS: usize = 12;
const MAX_STEPS: usize = 40;
/// A glance that misses the target by more than this is believed: three standard errors.
const DOUBT: f64 = 0.12;
/// A point that is refused itself misses by this and by what its score misses, in standard
/// deviations: more than precision forgives.
const EDGE: f64 = 2e-3;
/// A step that promises less than this share of the cost is the last.
const LEAST_GAIN: f64 = 2e-4;

/// The search, prepared for a task.
pub(crate) struct SequentialSolver {
    task: Arc<Task>,
    /// Stands in for noise that has no lines: of the same mean and covariance.
    surrogate: Option<Gaussian>,
    /// Where the noise acts, unless that depends on the changes.
    active: Option<Vec<bool>>,
    /// Evenly spread errors shared by all people and all steps.
    pool: margin::Samples,
}

impl SequentialSolver {
    /// Prepares samples of the noise for everybody.
    pub(crate) fn new(task: &Arc<Task>) -> Result<Self> {
        let active = task.noise_on.fixed(&task.actions);
        let surrogate = match has_lines(&*task.noise)? {
            true => None,
            false => Some(Gaussian::like(&*task.noise, &mut task.seed.stream(Purpose::Search, 1))?),
        };
        let noise = surrogate.as_ref().map_or(&*task.noise, |gaussian| gaussian as &dyn Noise);
        let pool = margin::Samples::new(task, noise, active.as_deref())?;
        Ok(Self { active, pool, surrogate, task: Arc::clone(task) })
    }

    fn noise(&self) -> &dyn Noise {
        self.surrogate.as_ref().map_or(&*self.task.noise, |gaussian| gaussian)
    }
}

impl Solver for SequentialSolver {
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(SequentialWorker { solver: self, search: None })
    }
}

struct SequentialWorker<'a> {
    solver: &'a SequentialSolver,
    /// Made for the first person.
    search: Option<Search<'a>>,
}

impl Worker for SequentialWorker<'_> {
    fn find(&mut self, factual: &[f64], goal: Goal, proposal: &mut Proposal) -> Result<()> {
        goal.check()?;
        let search = self.search_from(factual)?;
        match goal {
            Goal::Rate(rate) => search.reach(factual, rate, None, proposal).map(|_| ()),
            Goal::Budget(budget) => search.spend(factual, budget, proposal),
        }
    }

    fn find_below(
        &mut self,
        factual: &[f64],
        rate: f64,
        gap: f64,
        proposal: &mut Proposal,
    ) -> Result<f64> {
        Goal::Rate(rate - gap).check()?;
        self.search_from(factual)?.reach(factual, rate - gap, Some(rate), proposal)
    }

    fn rate_at(&mut self, from: &[f64], to: &[f64]) -> Result<f64> {
        let search = self.search_from(from)?;
        search.restrict_support(from, to);
        let place = Place { from, to, active: &search.support };
        Ok(upper_tail(search.margin.anchor(place, None, COARSE)?))
    }

    fn n_lines(&self) -> u64 {
        self.search.as_ref().map_or(0, |search| search.margin.n_lines())
    }

    fn confine(&mut self, within: &Restriction) -> Result<()> {
        let search = self.search()?;
        Arc::make_mut(&mut search.task).actions.confine(within);
        Ok(())
    }

    fn reprice(&mut self, cost: &Cost) -> Result<()> {
        let search = self.search()?;
        Arc::make_mut(&mut search.task).cost.clone_from(cost);
        Ok(())
    }
}

impl<'a> SequentialWorker<'a> {
    fn search(&mut self) -> Result<&mut Search<'a>> {
        Ok(match &mut self.search {
            Some(search) => search,
            none => none.insert(Search::new(self.solver)?),
        })
    }

    fn search_from(&mut self, factual: &[f64]) -> Result<&mut Search<'a>> {
        let search = self.search()?;
        search.factual.copy_from_slice(factual);
        search.margin.begin(factual);
        Ok(search)
    }
}

/// One thread's search.
struct Search<'a> {
    solver: &'a SequentialSolver,
    /// The solver's, but for what the search is confined to.
    task: Arc<Task>,
    margin: Box<dyn Margin + 'a>,
    /// How closely an answer meets the target, in units of the margin.
    precision: f64,
    /// Where noise on changed features acts, and then what may change.
    support: Vec<bool>,
    factual: Vec<f64>,
    step: Step,
    /// Gradient of the last point that was looked at.
    gradient: Vec<f64>,
    /// A gradient of the margin from nearby, for the direction of lines; empty if there is none.
    hint: Vec<f64>,
    trial: Vec<f64>,
    /// Variance of the lines at the last point that was looked at, and whether that point is
    /// favourable itself.
    variance: f64,
    favourable: bool,
    /// Steps of one descent, at most.
    most_steps: usize,
}

/// How closely a point is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Precision {
    /// The margin of the linearised score.
    FirstOrder,
    /// The smoothed margin on so many lines, or on as many samples as are worth them.
    Lines(usize),
}

/// The best feasible point so far, and the most robust one.
struct Incumbent {
    point: Vec<f64>,
    cost: f64,
    /// Largest slack seen on lines, and where.
    slack: f64,
    most: Vec<f64>,
    /// How much slack may be missing: the last corrections make up for it.
    missing: f64,
    /// The most robust of the points that are accepted themselves, with its slack; empty where none
    /// was seen.
    best_accepted: (f64, Vec<f64>),
}

impl Incumbent {
    /// The best point, or the most robust one where none is good enough.
    fn found(&self) -> &[f64] {
        if self.cost.is_finite() { &self.point } else { &self.most }
    }

    /// Keeps a point that falls short, if it is accepted itself.
    fn like(&mut self, point: &[f64], slack: f64, favourable: bool) {
        if favourable && slack > self.best_accepted.0 {
            self.best_accepted.0 = slack;
            self.best_accepted.1.clear();
            self.best_accepted.1.extend_from_slice(point);
        }
    }

    fn offer(&mut self, point: &[f64], cost: f64, slack: f64) {
        if slack >= -self.missing && cost < self.cost {
            self.point.copy_from_slice(point);
            self.cost = cost;
        }
        if slack > self.slack {
            self.slack = slack;
            self.most.copy_from_slice(point);
        }
    }
}

impl<'a> Search<'a> {
    fn new(solver: &'a SequentialSolver) -> Result<Self> {
        let task = &*solver.task;
        let n = task.model.n_features();
        let margin = solver.pool.margin(task, solver.noise(), solver.active.as_deref())?;
        Ok(Self {
            solver,
            task: Arc::clone(&solver.task),
            precision: margin.precision(),
            margin,
            support: solver.active.clone().unwrap_or_else(|| vec![true; n]),
            factual: vec![0.0; n],
            step: Step::default(),
            gradient: vec![0.0; n],
            hint: Vec::new(),
            trial: vec![0.0; n],
            variance: 0.0,
            favourable: false,
            most_steps: MAX_STEPS,
        })
    }

    /// The cheapest point of this rate; if it is to stay below a target only, of a rate closer to
    /// that where it pays. Returns the rate.
    fn reach(
        &mut self,
        factual: &[f64],
        mut rate: f64,
        target: Option<f64>,
        proposal: &mut Proposal,
    ) -> Result<f64> {
        let steps =
            target.map_or(rate, |target| rate.max(target - self.margin.gap_of_steps(target)));
        let z = upper_quantile(steps);
        let mut best = Incumbent {
            point: factual.to_vec(),
            cost: f64::INFINITY,
            slack: f64::NEG_INFINITY,
            most: factual.to_vec(),
            missing: 5.0 * self.precision,
            best_accepted: (f64::NEG_INFINITY, Vec::new()),
        };
        self.free_support();
        let coarse = Precision::Lines(self.margin.coarse());
        let mut here = factual.to_vec();
        let free = f64::INFINITY;
        self.descend(factual, z, Precision::FirstOrder, free, &mut here, &mut best)?;
        self.descend(factual, z, coarse, free, &mut here, &mut best)?;
        if best.cost.is_infinite() {
            // A first step too far may end in a flat place: once more from the person, within reach
            // of the noise.
            let near = 3.0 * self.margin.largest_sd();
            here.copy_from_slice(factual);
            self.hint.clear();
            // Far from the boundary lines see nothing; the score itself has a slope everywhere.
            self.descend(factual, z, Precision::FirstOrder, near, &mut here, &mut best)?;
            self.descend(factual, z, coarse, near, &mut here, &mut best)?;
        }
        if self.depends_on_changes() {
            // What was found rests on noise that may not be there.
            (best.cost, best.slack) = (f64::INFINITY, f64::NEG_INFINITY);
            self.try_change_sets(factual, z, &here, &mut best)?;
        }
        let mut improved = self.try_single_features(factual, z, &mut best)?;
        if best.cost.is_finite() && self.margin.screens() {
            improved |= self.try_accepted_intervals(factual, z, &mut best)?;
        }
        if improved {
            here.copy_from_slice(&best.point);
            self.restrict_support(factual, &here);
            self.descend(factual, z, coarse, free, &mut here, &mut best)?;
        }
        if self.is_worth_other_starts(factual, &best) {
            self.multistart(factual, z, coarse, &mut here, &mut best)?;
        }
        let mut before = None;
        if self.may_drop_features(factual, &best) {
            before = Some((best.cost, best.point.clone()));
            self.drop_features(factual, z, coarse, &mut here, &mut best)?;
        }
        if self.depends_on_changes() {
            self.change_support(factual, z, &mut best)?;
        }
        let aim = rate;
        let mut reached = self.finish(factual, (&mut rate, target), &mut here, &mut best)?;
        if let Some((cost, point)) = before.filter(|_| !reached) {
            // What the last steps cannot make good is no answer, however cheap: from where it came.
            (best.cost, best.point) = (cost, point);
            rate = aim;
            reached = self.finish(factual, (&mut rate, target), &mut here, &mut best)?;
        }
        if !reached && best.cost.is_finite() {
            self.extra_margin(factual, upper_quantile(aim), coarse, &mut here, &mut best)?;
            rate = aim;
            reached = self.finish(factual, (&mut rate, target), &mut here, &mut best)?;
        }
        if !reached && !self.task.actions.is_hasty() {
            best.cost = f64::INFINITY;
            if self.try_accepted_intervals(factual, z, &mut best)? {
                here.copy_from_slice(&best.point);
                self.restrict_support(factual, &here);
                let near = 0.5 * self.margin.largest_sd();
                self.descend(factual, z, coarse, near, &mut here, &mut best)?;
                rate = aim;
                reached = self.finish(factual, (&mut rate, target), &mut here, &mut best)?;
            }
        }
        for room in coordinate_search::ROOMS {
            if reached
                || self.task.actions.is_hasty()
                || !self.coordinate_search(factual, z + room, &mut best)?
            {
                break;
            }
            rate = aim;
            reached = self.finish(factual, (&mut rate, target), &mut here, &mut best)?;
            if reached {
                // Steps do not take back what jumps, nor what bends on the way.
                let lines = self.margin.closer().unwrap_or(polish::FINEST);
                self.shorten(factual, upper_quantile(rate), lines, &mut here)?;
            }
        }
        proposal.verdict = if reached {
            Verdict::Reached
        } else {
            here.copy_from_slice(&best.most);
            let good = self.is_admissible(factual, &here) && self.task.model.score(&here)? > 0.0;
            if !good && !best.best_accepted.1.is_empty() {
                here.copy_from_slice(&best.best_accepted.1);
            }
            Verdict::Short(self.infeasibility(factual, &here)?)
        };
        proposal.point.copy_from_slice(&here);
        Ok(rate)
    }

    /// More steps from the best point so far, where a closer look sees that it falls short of `z`
    /// and the last corrections, which change no further feature, do not get there: all that moves
    /// is at a limit, or nothing moves. Steps then see as much missing as that look does, and a
    /// little more.
    fn extra_margin(
        &mut self,
        factual: &[f64],
        z: f64,
        coarse: Precision,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        here.copy_from_slice(&best.point);
        self.restrict_support(factual, here);
        let close = self.slack(here, z, Precision::Lines(polish::FINEST))?;
        let overseen = self.slack(here, z, coarse)? - close;
        (best.cost, best.slack) = (f64::INFINITY, f64::NEG_INFINITY);
        let near = self.margin.largest_sd();
        self.descend(factual, z + overseen.max(0.0) + 2.0 * best.missing, coarse, near, here, best)
    }

    /// Why a search ended at `here`, short of its target.
    fn infeasibility(&self, factual: &[f64], here: &[f64]) -> Result<Reason> {
        let task = self.task();
        if task.model.score(here)? > 0.0 {
            return Ok(Reason::RateNotReachable);
        }
        if let Some(linear) = task.model.as_linear() {
            return Ok(infeasibility::of_affine(linear, factual, &task.actions));
        }
        Ok(self.margin.infeasibility(factual, &task.actions).unwrap_or(Reason::NotFound))
    }

    /// The most robust point within a budget: the same steps, with cost and margin in each other's
    /// place.
    fn spend(&mut self, factual: &[f64], budget: f64, proposal: &mut Proposal) -> Result<()> {
        self.free_support();
        let mut here = factual.to_vec();
        self.ascend(factual, budget, Precision::FirstOrder, &mut here)?;
        let mut slack = self.ascend(factual, budget, Precision::Lines(COARSE), &mut here)?;
        if self.depends_on_changes() {
            self.restrict_support(factual, &here);
            slack = self.ascend(factual, budget, Precision::Lines(COARSE), &mut here)?;
        }
        // From every single feature that gives more for the budget.
        let mut start = factual.to_vec();
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                let Some(room) = self.room(factual, j, way) else { continue };
                let u = room.min(budget / self.task.cost.weight(j, way));
                start.copy_from_slice(factual);
                start[j] += way * u;
                self.restrict_support(factual, &start);
                if !self.is_admissible(factual, &start)
                    || self.slack(&start, 0.0, Precision::Lines(GLANCE))? <= slack - DOUBT
                {
                    continue;
                }
                let more = self.ascend(factual, budget, Precision::Lines(COARSE), &mut start)?;
                if more > slack {
                    slack = more;
                    here.copy_from_slice(&start);
                }
            }
        }
        let stuck = slack.is_finite() && here == factual && budget > 0.0;
        proposal.verdict =
            if stuck { Verdict::Short(Reason::NoAdmissibleMove) } else { Verdict::Reached };
        proposal.point.copy_from_slice(&here);
        Ok(())
    }

    fn task(&self) -> &Task {
        &self.task
    }

    fn depends_on_changes(&self) -> bool {
        self.solver.active.is_none()
    }

    /// Every feature may move.
    fn free_support(&mut self) {
        let task = &self.task;
        if self.solver.active.is_none() {
            NoiseOn::Mutable.active_into(&task.actions, &[], &[], &mut self.support);
        }
        self.hint.clear();
    }

    /// Under noise on changed features, only those that differ may move from here on.
    fn restrict_support(&mut self, factual: &[f64], to: &[f64]) {
        if self.solver.active.is_none() {
            let task = &self.task;
            task.noise_on.active_into(&task.actions, factual, to, &mut self.support);
            self.hint.clear();
        }
    }

    /// Margin less `z` at `x`; its gradient goes to `self.gradient`. A point that is not favourable
    /// itself has no slack, whatever the rate: then score over deviation counts.
    fn slack(&mut self, x: &[f64], z: f64, look: Precision) -> Result<f64> {
        let slack = self.slack_of(x, z, look)?;
        if !(slack.is_finite() && self.gradient.iter().all(|g| g.is_finite())) {
            // Numbers too large for the model: nowhere to go from here.
            self.gradient.fill(0.0);
        }
        Ok(if slack.is_finite() { slack } else { -1e9 })
    }

    fn slack_of(&mut self, x: &[f64], z: f64, look: Precision) -> Result<f64> {
        let hint =
            (!self.hint.is_empty() && look != Precision::FirstOrder).then_some(&self.hint[..]);
        let place = Place { from: &self.factual, to: x, active: &self.support };
        let seen = self.margin.slack(place, z, look, hint, &mut self.gradient)?;
        (self.variance, self.favourable) = (seen.variance, seen.favourable);
        Ok(seen.slack)
    }

    /// How far feature `j` alone may move, up or down; `None` if not at all.
    fn room(&self, factual: &[f64], j: usize, way: f64) -> Option<f64> {
        let task = self.task();
        if !task.actions.is_mutable_numeric(j) || task.actions.max_changes() == Some(0) {
            return None;
        }
        let (low, high) = task.actions.interval_alone(j, factual)?;
        let room = if way > 0.0 { high - factual[j] } else { factual[j] - low };
        (room > 0.0).then_some(room)
    }

    fn is_admissible(&self, factual: &[f64], x: &[f64]) -> bool {
        self.task().actions.violations(factual, x).is_empty()
    }

    /// What feature `j` may become within `radius` of `here`.
    fn interval(&self, factual: &[f64], here: &[f64], radius: f64, j: usize) -> Option<(f64, f64)> {
        let (low, high) = self.task().actions.interval(j, factual[j])?;
        if self.depends_on_changes() && !self.support[j] {
            return Some((here[j], here[j]));
        }
        let (near, far) = ((here[j] - radius).max(low), (here[j] + radius).min(high));
        (near <= far).then_some((near, far))
    }

    /// Steps from `here` towards the cheapest point with margin `z`, the first one no further than
    /// `radius` in any feature.
    fn descend(
        &mut self,
        factual: &[f64],
        z: f64,
        look: Precision,
        mut radius: f64,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let task = Arc::clone(&self.task);
        let n = here.len();
        let mut weight = 0.0_f64;
        let mut slack = self.slack(here, z, look)?;
        let mut gradient = self.gradient.clone();
        let least_gain = self.margin.least_gain(look);
        let hasty = look == Precision::FirstOrder && radius == f64::INFINITY;
        for _ in 0..if hasty { FIRST_STEPS } else { self.most_steps } {
            let cost = task.cost.between(factual, here);
            if look != Precision::FirstOrder {
                best.offer(here, cost, slack);
                self.hint.clear();
                self.hint.extend_from_slice(&gradient);
            }
            // The margin's linearisation, as seen from the person.
            let offset: f64 = (0..n).map(|j| gradient[j] * (factual[j] - here[j])).sum();
            let mut trial = std::mem::take(&mut self.trial);
            let mut step = std::mem::take(&mut self.step);
            let interval = |j: usize| self.interval(factual, here, radius, j);
            let reached = step.cheapest(
                &task,
                (factual, slack + offset),
                &gradient,
                0.0,
                interval,
                &mut trial,
            );
            (self.trial, self.step) = (trial, step);
            // A multiplier above the price of margin: the dearest feature that moves further than
            // the radius makes it.
            let (mut moved, mut predicted) = (0.0_f64, slack);
            for j in 0..n {
                let change = self.trial[j] - here[j];
                moved = moved.max(change.abs());
                predicted += gradient[j] * change;
                let least = self.interval(factual, here, radius, j);
                let least = least.map_or(factual[j], |(low, high)| factual[j].clamp(low, high));
                if self.trial[j] != least && gradient[j] != 0.0 {
                    let price = task.cost.weight(j, self.trial[j] - factual[j]) / gradient[j].abs();
                    weight = weight.max(1.5 * price.min(1e6));
                }
            }
            if moved == 0.0 || !moved.is_finite() {
                break;
            }
            let noise = self.margin.noise();
            let merit = |cost: f64, slack: f64| cost + weight * (-slack - noise).max(0.0);
            let before = merit(cost, slack);
            let trial = std::mem::take(&mut self.trial);
            let new_cost = task.cost.between(factual, &trial);
            let promised = before - merit(new_cost, predicted);
            if reached && promised <= least_gain * cost {
                self.trial = trial;
                break;
            }
            let new_slack = self.slack(&trial, z, look)?;
            if best.cost.is_infinite() && look != Precision::FirstOrder {
                best.like(&trial, new_slack, self.favourable);
            }
            let actual = before - merit(new_cost, new_slack);
            if actual >= 0.1 * promised || (!reached && new_slack > slack) {
                here.copy_from_slice(&trial);
                slack = new_slack;
                gradient.copy_from_slice(&self.gradient);
                if actual >= 0.7 * promised {
                    radius *= 1.8;
                }
            } else {
                radius = 0.4 * moved;
                if look != Precision::FirstOrder {
                    best.offer(&trial, new_cost, new_slack);
                }
            }
            self.trial = trial;
            if radius < 1e-7 {
                break;
            }
        }
        if look != Precision::FirstOrder {
            best.offer(here, task.cost.between(factual, here), slack);
        }
        Ok(())
    }

    /// Steps from `here` towards the most robust point within `budget`; returns its margin.
    fn ascend(
        &mut self,
        factual: &[f64],
        budget: f64,
        look: Precision,
        here: &mut [f64],
    ) -> Result<f64> {
        let task = Arc::clone(&self.task);
        let n = here.len();
        let mut radius = f64::INFINITY;
        let mut slack = self.slack(here, 0.0, look)?;
        let mut gradient = self.gradient.clone();
        for _ in 0..if look == Precision::FirstOrder { FIRST_STEPS } else { MAX_STEPS } {
            let mut trial = std::mem::take(&mut self.trial);
            let mut step = std::mem::take(&mut self.step);
            let interval = |j: usize| self.interval(factual, here, radius, j);
            let fits = step.furthest(&task, factual, &gradient, budget, interval, &mut trial);
            let (mut moved, mut promised) = (0.0_f64, 0.0);
            for j in 0..n {
                moved = moved.max((trial[j] - here[j]).abs());
                promised += gradient[j] * (trial[j] - here[j]);
            }
            if !fits || moved == 0.0 || !moved.is_finite() || promised <= self.precision {
                (self.trial, self.step) = (trial, step);
                break;
            }
            let new = self.slack(&trial, 0.0, look)?;
            if new - slack >= 0.1 * promised {
                here.copy_from_slice(&trial);
                gradient.copy_from_slice(&self.gradient);
                if new - slack >= 0.7 * promised {
                    radius *= 1.8;
                }
                slack = new;
            } else {
                radius = 0.4 * moved;
            }
            (self.trial, self.step) = (trial, step);
            if radius < 1e-7 {
                break;
            }
        }
        Ok(slack)
    }
}
