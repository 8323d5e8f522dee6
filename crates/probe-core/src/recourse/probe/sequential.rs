//! Recourse for differentiable models: sequential linear programming on the smoothed margin.
//!
//! The problem is to minimise cost subject to $M(x) \ge z_r$, where $M = \Phi^{-1}(1-\Delta)$ is the smoothed margin: the true
//! invalidation rate, not its first-order approximation, is constrained. Each step linearises $M$ at the current point and solves the
//! rest exactly with the linear solver ([`super::linear`]): same costs, bounds, directions, groups and limits, inside a
//! trust region. The first steps follow the first-order margin, which costs one gradient; then $M$ and its gradient come from lines on common
//! random numbers, so the search sees a smooth function; the samples of the search never enter a certificate. A search is local, so
//! single features are tried from the person's own point afterwards: on real networks the best known answers change one feature or two.
//!
//! Where noise acts on changed features only, the margin jumps when a feature starts to change, and no step sees that coming. The search then
//! goes from one set of changed features to the next: the one that moves if all are noisy, the ones that the exact linear solver would take,
//! single features, and from the best of them on with one more and one less. Within a set the margin is smooth again.

use super::super::{Goal, Proposal, Reason, Solver, Task, Verdict, Worker};
use super::linear::Step;
use crate::error::{Error, Result};
use crate::invalidation::{Lines, Pool, has_lines};
use crate::math::normal::upper_quantile;
use crate::noise::{Gaussian, Noise, NoiseOn};
use crate::seed::Purpose;
use std::sync::Arc;

/// Lines for a first look at a point and for a search step; least and most lines for the last corrections.
const GLANCE: usize = 8;
const COARSE: usize = 64;
const FINE: usize = 128;
const FINEST: usize = 2_048;
/// Steps on the first-order margin, and on lines.
const FIRST_STEPS: usize = 12;
const MAX_STEPS: usize = 40;
/// A glance that misses the target by more than this is believed: three standard errors.
const DOUBT: f64 = 0.12;
/// How closely the answer meets the target, in units of the margin.
const PRECISION: f64 = 2e-4;
/// A point that is refused itself misses by this and by what its score misses, in standard deviations: more than precision forgives.
const EDGE: f64 = 2e-3;
/// A margin that misses by less than this is straight in between: what a step of that length leaves is its square at most.
const STRAIGHT: f64 = 0.01;
/// A step that promises less than this share of the cost is the last.
const LEAST_GAIN: f64 = 2e-4;
/// Under noise on changed features: rounds that change the set of them, and features that are tried besides in each.
const ROUNDS: usize = 4;
const NEWCOMERS: usize = 4;

/// What staying under a target may add to the cost; what it may add where it would add more than `DEAR`; and how many lines that may
/// come to.
const FAIR: f64 = 0.0165;
const DEAR: f64 = 0.03;
const CHEAP: f64 = 0.009;
const FAIR_LINES: f64 = 10_000.0;

/// The search, prepared for a task.
pub(crate) struct SequentialSolver {
    task: Arc<Task>,
    /// Stands in for noise that has no lines: of the same mean and covariance.
    surrogate: Option<Gaussian>,
    /// Where the noise acts, unless that depends on the changes.
    active: Option<Vec<bool>>,
    /// Evenly spread errors shared by all people and all steps.
    pool: Pool,
}

impl SequentialSolver {
    /// Fails if the model has no gradient.
    pub(crate) fn new(task: &Arc<Task>) -> Result<Self> {
        if task.model.as_differentiable().is_none() {
            return Err(Error::Unsupported {
                what: format!("method probe on a {} model", task.model.name()),
                why: "the model has no gradient".to_owned(),
            });
        }
        let active = task.noise_on.fixed(&task.actions);
        let surrogate = match has_lines(&*task.noise)? {
            true => None,
            false => Some(Gaussian::like(&*task.noise, &mut task.seed.stream(Purpose::Search, 1))?),
        };
        let noise = surrogate.as_ref().map_or(&*task.noise, |gaussian| gaussian as &dyn Noise);
        let lines = Lines::new(&*task.model, noise, active.as_deref())?;
        let pool = Pool::even(task.seed, Purpose::Search, 0, &lines);
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

    fn find_below(&mut self, factual: &[f64], rate: f64, gap: f64, proposal: &mut Proposal) -> Result<f64> {
        Goal::Rate(rate - gap).check()?;
        self.search_from(factual)?.reach(factual, rate - gap, Some(rate), proposal)
    }
}

impl<'a> SequentialWorker<'a> {
    fn search_from(&mut self, factual: &[f64]) -> Result<&mut Search<'a>> {
        let search = match &mut self.search {
            Some(search) => search,
            none => none.insert(Search::new(self.solver)?),
        };
        search.factual.copy_from_slice(factual);
        Ok(search)
    }
}

/// One thread's search.
struct Search<'a> {
    solver: &'a SequentialSolver,
    lines: Lines<'a>,
    /// Where noise on changed features acts, and then what may change.
    support: Vec<bool>,
    factual: Vec<f64>,
    step: Step,
    /// Gradient of the last point that was looked at.
    gradient: Vec<f64>,
    kept: Vec<f64>,
    /// A gradient of the margin from nearby, for the direction of lines; empty if there is none.
    hint: Vec<f64>,
    trial: Vec<f64>,
    /// Variance of the lines at the last point that was looked at, and whether that point is favourable itself.
    variance: f64,
    favourable: bool,
}

/// How closely a point is looked at.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Look {
    /// The margin of the linearised score.
    FirstOrder,
    /// The smoothed margin on so many lines.
    Lines(usize),
}

/// The best feasible point so far, and the most robust one.
struct Incumbent {
    point: Vec<f64>,
    cost: f64,
    /// Largest slack seen on lines, and where.
    slack: f64,
    most: Vec<f64>,
}

impl Incumbent {
    fn offer(&mut self, point: &[f64], cost: f64, slack: f64) {
        // The last corrections make up for what is missing here.
        if slack >= -5.0 * PRECISION && cost < self.cost {
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
        Ok(Self {
            solver,
            lines: Lines::new(&*task.model, solver.noise(), solver.active.as_deref())?,
            support: solver.active.clone().unwrap_or_else(|| vec![true; n]),
            factual: vec![0.0; n],
            step: Step::default(),
            gradient: vec![0.0; n],
            kept: vec![0.0; n],
            hint: Vec::new(),
            trial: vec![0.0; n],
            variance: 0.0,
            favourable: false,
        })
    }

    /// The cheapest point of this rate; if it is to stay below a target only, of a rate closer to that where it pays. Returns the rate.
    fn reach(
        &mut self,
        factual: &[f64],
        mut rate: f64,
        target: Option<f64>,
        proposal: &mut Proposal,
    ) -> Result<f64> {
        let z = upper_quantile(rate);
        let mut best = Incumbent {
            point: factual.to_vec(),
            cost: f64::INFINITY,
            slack: f64::NEG_INFINITY,
            most: factual.to_vec(),
        };
        self.free_support();
        let mut here = factual.to_vec();
        let free = f64::INFINITY;
        self.descend(factual, z, Look::FirstOrder, free, &mut here, &mut best)?;
        self.descend(factual, z, Look::Lines(COARSE), free, &mut here, &mut best)?;
        if best.cost.is_infinite() {
            // A first step too far may end in a flat place: once more from the person, within reach of the noise.
            let near = 3.0 * self.lines.largest_sd();
            here.copy_from_slice(factual);
            self.hint.clear();
            // Far from the boundary lines see nothing; the score itself has a slope everywhere.
            self.descend(factual, z, Look::FirstOrder, near, &mut here, &mut best)?;
            self.descend(factual, z, Look::Lines(COARSE), near, &mut here, &mut best)?;
        }
        if self.depends_on_changes() {
            // What was found rests on noise that may not be there.
            (best.cost, best.slack) = (f64::INFINITY, f64::NEG_INFINITY);
            self.try_supports(factual, z, &here, &mut best)?;
        }
        if self.try_single_features(factual, z, &mut best)? {
            here.copy_from_slice(&best.point);
            self.restrict_support(factual, &here);
            self.descend(factual, z, Look::Lines(COARSE), free, &mut here, &mut best)?;
        }
        if self.depends_on_changes() {
            self.change_support(factual, z, &mut best)?;
        }
        let found = if best.cost.is_finite() { &best.point } else { &best.most };
        here.copy_from_slice(found);
        self.restrict_support(factual, &here);
        let reached = self.settle(factual, &mut rate, target, &mut here)?;
        proposal.verdict = if reached {
            Verdict::Reached
        } else {
            here.copy_from_slice(&best.most);
            let stuck = here == factual;
            Verdict::Short(if stuck { Reason::NoAdmissibleMove } else { Reason::RateNotReachable })
        };
        proposal.point.copy_from_slice(&here);
        Ok(rate)
    }

    /// The most robust point within a budget: the same steps, with cost and margin in each other's place.
    fn spend(&mut self, factual: &[f64], budget: f64, proposal: &mut Proposal) -> Result<()> {
        self.free_support();
        let mut here = factual.to_vec();
        self.ascend(factual, budget, Look::FirstOrder, &mut here)?;
        let mut slack = self.ascend(factual, budget, Look::Lines(COARSE), &mut here)?;
        if self.depends_on_changes() {
            self.restrict_support(factual, &here);
            slack = self.ascend(factual, budget, Look::Lines(COARSE), &mut here)?;
        }
        // From every single feature that gives more for the budget.
        let mut start = factual.to_vec();
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                let Some(room) = self.room(factual, j, way) else { continue };
                let u = room.min(budget / self.solver.task.cost.weight(j, way));
                start.copy_from_slice(factual);
                start[j] += way * u;
                self.restrict_support(factual, &start);
                if !self.is_admissible(factual, &start)
                    || self.slack(&start, 0.0, Look::Lines(GLANCE))? <= slack - DOUBT
                {
                    continue;
                }
                let more = self.ascend(factual, budget, Look::Lines(COARSE), &mut start)?;
                if more > slack {
                    slack = more;
                    here.copy_from_slice(&start);
                }
            }
        }
        let stuck = slack.is_finite() && here == factual && budget > 0.0;
        proposal.verdict = if stuck { Verdict::Short(Reason::NoAdmissibleMove) } else { Verdict::Reached };
        proposal.point.copy_from_slice(&here);
        Ok(())
    }

    fn task(&self) -> &Task {
        &self.solver.task
    }

    fn depends_on_changes(&self) -> bool {
        self.solver.active.is_none()
    }

    /// Every feature may move.
    fn free_support(&mut self) {
        let task = &self.solver.task;
        if self.solver.active.is_none() {
            NoiseOn::Mutable.active_into(&task.actions, &[], &[], &mut self.support);
        }
        self.hint.clear();
    }

    /// Under noise on changed features, only those that differ may move from here on.
    fn restrict_support(&mut self, factual: &[f64], to: &[f64]) {
        if self.solver.active.is_none() {
            let task = &self.solver.task;
            task.noise_on.active_into(&task.actions, factual, to, &mut self.support);
            self.hint.clear();
        }
    }

    /// Margin less `z` at `x`; its gradient goes to `self.gradient`. A point that is not favourable itself has no slack, whatever
    /// the rate: then score over deviation counts.
    fn slack(&mut self, x: &[f64], z: f64, look: Look) -> Result<f64> {
        let slack = self.slack_of(x, z, look)?;
        if !(slack.is_finite() && self.gradient.iter().all(|g| g.is_finite())) {
            // Numbers too large for the model: nowhere to go from here.
            self.gradient.fill(0.0);
        }
        Ok(if slack.is_finite() { slack } else { -1e9 })
    }

    fn slack_of(&mut self, x: &[f64], z: f64, look: Look) -> Result<f64> {
        self.lines.enter(&self.factual, x, &self.support)?;
        let hint = (!self.hint.is_empty() && look != Look::FirstOrder).then_some(&self.hint[..]);
        self.lines.aim(x, hint)?;
        let centre = self.lines.first_order(&mut self.gradient);
        self.kept.copy_from_slice(&self.gradient);
        let own = match self.lines.is_centred() {
            true => centre,
            false => self.lines.first_order_at(x, &mut self.kept)?,
        };
        self.favourable = own > 1e-9;
        let Look::Lines(n) = look else {
            if own - EDGE < centre - z {
                self.gradient.copy_from_slice(&self.kept);
            }
            return Ok((centre - z).min(own - EDGE));
        };
        if own <= 1e-9 && z <= 0.0 {
            self.gradient.copy_from_slice(&self.kept);
            return Ok(own - EDGE);
        }
        let (margin, spread) = self.lines.margin(&self.solver.pool, n, Some(&mut self.gradient))?;
        self.variance = spread.variance();
        if !self.favourable && own - EDGE < margin - z {
            // Robust on paper, refused itself.
            self.gradient.copy_from_slice(&self.kept);
            return Ok(own - EDGE);
        }
        Ok(margin - z)
    }

    /// How far feature `j` alone may move, up or down; `None` if not at all.
    fn room(&self, factual: &[f64], j: usize, way: f64) -> Option<f64> {
        let task = self.task();
        if !task.actions.is_mutable_numeric(j) || task.actions.max_changes() == Some(0) {
            return None;
        }
        let (low, high) = task.actions.interval(j, factual[j])?;
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

    /// Steps from `here` towards the cheapest point with margin `z`, the first one no further than `radius` in any feature.
    fn descend(
        &mut self,
        factual: &[f64],
        z: f64,
        look: Look,
        mut radius: f64,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let solver = self.solver;
        let task = &*solver.task;
        let n = here.len();
        let mut weight = 0.0_f64;
        let mut slack = self.slack(here, z, look)?;
        let mut gradient = self.gradient.clone();
        let hasty = look == Look::FirstOrder && radius == f64::INFINITY;
        for _ in 0..if hasty { FIRST_STEPS } else { MAX_STEPS } {
            let cost = task.cost.between(factual, here);
            if look != Look::FirstOrder {
                best.offer(here, cost, slack);
                self.hint.clear();
                self.hint.extend_from_slice(&gradient);
            }
            // The margin's linearisation, as seen from the person.
            let offset: f64 = (0..n).map(|j| gradient[j] * (factual[j] - here[j])).sum();
            let mut trial = std::mem::take(&mut self.trial);
            let mut step = std::mem::take(&mut self.step);
            let interval = |j: usize| self.interval(factual, here, radius, j);
            let reached =
                step.cheapest(task, (factual, slack + offset), &gradient, 0.0, interval, &mut trial);
            (self.trial, self.step) = (trial, step);
            // A multiplier above the price of margin: the dearest feature that moves.
            let (mut moved, mut predicted) = (0.0_f64, slack);
            for j in 0..n {
                let change = self.trial[j] - here[j];
                moved = moved.max(change.abs());
                predicted += gradient[j] * change;
                if self.trial[j] != factual[j] && gradient[j] != 0.0 {
                    let price = task.cost.weight(j, self.trial[j] - factual[j]) / gradient[j].abs();
                    weight = weight.max(1.5 * price.min(1e6));
                }
            }
            if moved == 0.0 || !moved.is_finite() {
                break;
            }
            let merit = |cost: f64, slack: f64| cost + weight * (-slack).max(0.0);
            let before = merit(cost, slack);
            let trial = std::mem::take(&mut self.trial);
            let new_cost = task.cost.between(factual, &trial);
            let promised = before - merit(new_cost, predicted);
            if reached && promised <= LEAST_GAIN * cost {
                self.trial = trial;
                break;
            }
            let new_slack = self.slack(&trial, z, look)?;
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
                if look != Look::FirstOrder {
                    best.offer(&trial, new_cost, new_slack);
                }
            }
            self.trial = trial;
            if radius < 1e-7 {
                break;
            }
        }
        if look != Look::FirstOrder {
            best.offer(here, task.cost.between(factual, here), slack);
        }
        Ok(())
    }

    /// Descends with what differs at `here` moving and noisy, whatever else was noisy on the way here. No effect where that is not
    /// admissible, or nothing differs.
    fn refine(&mut self, factual: &[f64], z: f64, here: &mut [f64], best: &mut Incumbent) -> Result<()> {
        let n_changed = |x: &[f64]| x.iter().zip(factual).filter(|(to, from)| to != from).count();
        loop {
            let before = n_changed(here);
            if before == 0 || !self.is_admissible(factual, here) {
                return Ok(());
            }
            self.restrict_support(factual, here);
            self.descend(factual, z, Look::Lines(COARSE), f64::INFINITY, here, best)?;
            // Features that went back take their noise with them: once more without it.
            if n_changed(here) >= before {
                return Ok(());
            }
        }
    }

    /// The exact linear solver's answer to the margin's linearisation at `here`, where each feature brings its noise only if it changes.
    fn choose(&mut self, factual: &[f64], z: f64, here: &[f64], look: Look) -> Result<Vec<f64>> {
        let task = &*self.solver.task;
        let margin = self.slack(here, z, look)? + z;
        let (gradient, lines) = (&self.gradient, &self.lines);
        let noisy = (0..here.len()).filter(|&j| self.support[j]);
        // In units of the noise at hand: one, if the score were affine.
        let unit = noisy.map(|j| (gradient[j] * lines.sd(j)).powi(2)).sum::<f64>().sqrt();
        let offset: f64 = (0..here.len()).map(|j| gradient[j] * (factual[j] - here[j])).sum();
        let mut point = factual.to_vec();
        let value = margin * unit + offset;
        if value.is_finite() {
            let sd = |j: usize| lines.sd(j);
            self.step.cheapest_under_noise(task, (factual, value), gradient, (z, sd), &mut point);
        }
        let finite = point.iter().all(|x| x.is_finite());
        Ok(if finite { point } else { factual.to_vec() })
    }

    /// Under noise on changed features: the set of features that move from here on, first choices. `free` is the answer where
    /// all may and all are noisy.
    fn try_supports(&mut self, factual: &[f64], z: f64, free: &[f64], best: &mut Incumbent) -> Result<()> {
        self.free_support();
        let near = self.choose(factual, z, factual, Look::FirstOrder)?;
        let there = self.choose(factual, z, free, Look::Lines(COARSE))?;
        for mut here in [free.to_vec(), near, there] {
            self.refine(factual, z, &mut here, best)?;
        }
        Ok(())
    }

    /// Under noise on changed features: sets of features near that of the best point, as long as one of them does better. Without a
    /// point that meets the target, the most robust one is improved on.
    fn change_support(&mut self, factual: &[f64], z: f64, best: &mut Incumbent) -> Result<()> {
        let actions = &self.solver.task.actions;
        for _ in 0..ROUNDS {
            let (cost, slack) = (best.cost, best.slack);
            let base = if cost.is_finite() { best.point.clone() } else { best.most.clone() };
            self.restrict_support(factual, &base);
            let mut here = self.choose(factual, z, &base, Look::Lines(COARSE))?;
            let gradient = self.gradient.clone();
            self.refine(factual, z, &mut here, best)?;
            let moves = |j: usize| base[j] != factual[j];
            for j in (0..base.len()).filter(|&j| moves(j) && !actions.is_grouped(j)) {
                // One less, and what it did is up to the others.
                here.copy_from_slice(&base);
                here[j] = factual[j];
                self.refine(factual, z, &mut here, best)?;
            }
            // One more: those that sell margin cheapest.
            let price = |j: usize| self.task().cost.weight(j, gradient[j]) / gradient[j].abs();
            let may = |&j: &usize| {
                !moves(j) && gradient[j] != 0.0 && self.room(factual, j, gradient[j].signum()).is_some()
            };
            let mut others: Vec<usize> = (0..base.len()).filter(may).collect();
            others.sort_by(|&a, &b| price(a).total_cmp(&price(b)).then(a.cmp(&b)));
            for &j in others.iter().take(NEWCOMERS) {
                here.copy_from_slice(&base);
                self.restrict_support(factual, &base);
                self.support[j] = true;
                self.descend(factual, z, Look::Lines(COARSE), f64::INFINITY, &mut here, best)?;
                self.refine(factual, z, &mut here, best)?;
            }
            let better = match cost.is_finite() {
                true => best.cost < (1.0 - LEAST_GAIN) * cost,
                false => best.cost.is_finite() || best.slack > slack + PRECISION,
            };
            if !better {
                break;
            }
        }
        Ok(())
    }

    /// Steps from `here` towards the most robust point within `budget`; returns its margin.
    fn ascend(&mut self, factual: &[f64], budget: f64, look: Look, here: &mut [f64]) -> Result<f64> {
        let solver = self.solver;
        let n = here.len();
        let mut radius = f64::INFINITY;
        let mut slack = self.slack(here, 0.0, look)?;
        let mut gradient = self.gradient.clone();
        for _ in 0..if look == Look::FirstOrder { FIRST_STEPS } else { MAX_STEPS } {
            let mut trial = std::mem::take(&mut self.trial);
            let mut step = std::mem::take(&mut self.step);
            let interval = |j: usize| self.interval(factual, here, radius, j);
            let fits = step.furthest(&solver.task, factual, &gradient, budget, interval, &mut trial);
            let (mut moved, mut promised) = (0.0_f64, 0.0);
            for j in 0..n {
                moved = moved.max((trial[j] - here[j]).abs());
                promised += gradient[j] * (trial[j] - here[j]);
            }
            if !fits || moved == 0.0 || !moved.is_finite() || promised <= PRECISION {
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

    /// The cheapest change of one feature alone, where it beats the best so far; says whether one did.
    fn try_single_features(&mut self, factual: &[f64], z: f64, best: &mut Incumbent) -> Result<bool> {
        let mut improved = false;
        let mut hint = std::mem::take(&mut self.hint);
        if hint.is_empty() {
            self.lines.enter(factual, &best.most, &self.support)?;
            self.lines.aim(&best.most, None)?;
            hint.resize(factual.len(), 0.0);
            self.lines.first_order(&mut hint);
        }
        self.lines.aim(factual, Some(&hint))?;
        self.lines.anchor();
        let own = self.lines.margin(&self.solver.pool, COARSE, None)?.0 - z;
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                if let Some(room) = self.room(factual, j, way) {
                    improved |= self.try_single_feature(factual, z, (j, way, room), own, best)?;
                }
            }
        }
        self.hint = hint;
        Ok(improved)
    }

    /// [`Search::try_single_features`] for one feature and direction; `own` is the slack of no move.
    fn try_single_feature(
        &mut self,
        factual: &[f64],
        z: f64,
        (j, way, room): (usize, f64, f64),
        own: f64,
        best: &mut Incumbent,
    ) -> Result<bool> {
        let cost = &self.solver.task.cost;
        let weight = cost.weight(j, way);
        // Worth it only if clearly cheaper; without an answer so far, look further and further out.
        let known = best.cost.is_finite();
        let mut far = if known { room.min((1.0 - LEAST_GAIN) * best.cost / weight) } else { room.min(0.25) };
        if own >= 0.0 {
            // The noise alone meets the target: only the point itself must become favourable, and the nearest such place may be small.
            let mut closer = far;
            for _ in 0..8 {
                closer /= 3.0;
                if self.slack_of_single(factual, z, (j, way * closer), GLANCE)? >= -DOUBT {
                    far = closer;
                }
            }
        }
        let (mut near, mut missed) = (0.0, own);
        while self.slack_of_single(factual, z, (j, way * far), GLANCE)? < -DOUBT {
            if known || far >= room || far > 1e3 {
                return Ok(false);
            }
            near = far;
            missed = f64::NAN;
            far = (2.0 * far).min(room);
        }
        let mut met = self.slack_of_single(factual, z, (j, way * far), COARSE)?;
        if met < 0.0 {
            return Ok(false);
        }
        // Find where the target is met, by secants kept inside the bracket.
        for _ in 0..12 {
            if met <= 5.0 * PRECISION || far - near <= LEAST_GAIN * far {
                break;
            }
            let secant = near + (far - near) * missed / (missed - met);
            let u = if secant > near && secant < far { secant } else { 0.5 * (near + far) };
            let slack = self.slack_of_single(factual, z, (j, way * u), COARSE)?;
            if slack >= 0.0 {
                (far, met) = (u, slack);
            } else {
                (near, missed) = (u, slack);
            }
        }
        let mut x = factual.to_vec();
        x[j] += way * far;
        let improves = self.is_admissible(factual, &x) && cost.between(factual, &x) < best.cost;
        if improves {
            best.offer(&x, cost.between(factual, &x), met);
        }
        Ok(improves)
    }

    /// [`Search::slack`] of a change of one feature, from the anchored person; without gradient.
    fn slack_of_single(
        &mut self,
        factual: &[f64],
        z: f64,
        (j, change): (usize, f64),
        lines: usize,
    ) -> Result<f64> {
        if !(self.lines.is_fixed() && self.lines.is_centred()) {
            let mut x = factual.to_vec();
            x[j] += change;
            self.restrict_support(factual, &x);
            return self.slack(&x, z, Look::Lines(lines));
        }
        // A point that is refused itself is no answer, whatever the noise does: most features fail here.
        if self.lines.nudge(j, change)? <= 0.0 {
            return Ok(-1.0);
        }
        Ok(self.lines.margin(&self.solver.pool, lines, None)?.0 - z)
    }

    /// Moves `here` to the point of this `rate` as seen by more lines, changing no further feature; says whether it is reached. With a
    /// target to stay below, the rate is taken closer to it where that pays.
    fn settle(
        &mut self,
        factual: &[f64],
        rate: &mut f64,
        target: Option<f64>,
        here: &mut [f64],
    ) -> Result<bool> {
        let solver = self.solver;
        let task = &*solver.task;
        let n = here.len();
        let mut z = upper_quantile(*rate);
        let mut lines = self.fine_lines(*rate);
        let mut slack = self.slack(here, z, Look::Lines(lines))?;
        if self.fine_lines(*rate) > lines {
            // The lines here spread more than those of the search did.
            lines = self.fine_lines(*rate);
            slack = self.slack(here, z, Look::Lines(lines))?;
        }
        if let (Some(target), true) = (target, self.favourable) {
            *rate = target - self.fair_gap(factual, here, target, target - *rate);
            slack += z - upper_quantile(*rate);
            z = upper_quantile(*rate);
        }
        let look = Look::Lines(lines);
        let mut favourable = self.favourable;
        for _ in 0..6 {
            if (-PRECISION..=2.0 * PRECISION).contains(&slack) || !slack.is_finite() {
                return Ok(slack >= -PRECISION);
            }
            if !task.actions.groups().is_empty() {
                break;
            }
            let gradient = self.gradient.clone();
            let offset: f64 = (0..n).map(|j| gradient[j] * (factual[j] - here[j])).sum();
            let mut trial = std::mem::take(&mut self.trial);
            let mut step = std::mem::take(&mut self.step);
            // No further than the slack asks for: the rest of the linearisation is not to be trusted.
            let steepest =
                (0..n).filter(|&j| here[j] != factual[j]).map(|j| gradient[j].abs()).fold(0.0, f64::max);
            let near = 2.0 * slack.abs() / steepest;
            let interval = |j: usize| match here[j] == factual[j] {
                true => Some((here[j], here[j])),
                false => {
                    let (low, high) = task.actions.interval(j, factual[j])?;
                    Some(((here[j] - near).max(low), (here[j] + near).min(high)))
                }
            };
            let reached =
                step.cheapest(task, (factual, slack + offset), &gradient, 0.0, interval, &mut trial);
            let moved = trial != here;
            if reached && moved && favourable && slack.abs() <= STRAIGHT {
                // So short a step is as good as straight: no need to look again.
                here.copy_from_slice(&trial);
                (self.trial, self.step) = (trial, step);
                return Ok(true);
            }
            let new = if moved { self.slack(&trial, z, look)? } else { slack };
            // Not off the edge of what is favourable, beyond which the slack says something else.
            let better = new.abs() < 0.5 * slack.abs() && (self.favourable || !favourable);
            favourable = if better { self.favourable } else { favourable };
            if better {
                here.copy_from_slice(&trial);
                slack = new;
            }
            (self.trial, self.step) = (trial, step);
            if !better {
                break;
            }
        }
        self.scale_back(factual, z, look, here, slack)
    }

    /// How far under the target `rate` to stay, where `gap` is usual: less where that adds much to the cost, at the price of margin that
    /// was last seen. More lines will be needed then, within reason.
    fn fair_gap(&self, factual: &[f64], here: &[f64], rate: f64, gap: f64) -> f64 {
        let cost = &self.task().cost;
        // The cheapest margin that the changed features sell.
        let price = (0..here.len())
            .filter(|&j| here[j] != factual[j] && self.gradient[j] != 0.0)
            .map(|j| cost.weight(j, here[j] - factual[j]) / self.gradient[j].abs())
            .fold(f64::INFINITY, f64::min);
        let margin = upper_quantile(rate - gap) - upper_quantile(rate);
        let surcharge = price * margin / cost.between(factual, here);
        let fair = if surcharge > DEAR { CHEAP } else { FAIR };
        if !(surcharge > fair && surcharge.is_finite()) {
            return gap;
        }
        // A bet that is limited by the spread of the lines takes about 2 ln(1/δ) variance/gap² of them.
        let affordable = (14.0 * self.variance / FAIR_LINES).sqrt();
        (gap * (fair / surcharge).max(0.1)).max(affordable).min(gap)
    }

    /// Lines that tell the rate to a sixth of what an aim stays under the target, given the variance that was last seen: a quarter of a
    /// percent at 0.35. Evenly spread lines are worth three independent ones at least.
    fn fine_lines(&self, rate: f64) -> usize {
        let error = 0.0025 * (0.35 * rate).sqrt();
        let needed = self.variance / (error * error) / 3.0;
        (needed.min(1e9) as usize).next_power_of_two().clamp(FINE, FINEST)
    }

    /// [`Search::settle`] along the straight line from the person, where steps do not get there.
    fn scale_back(
        &mut self,
        factual: &[f64],
        z: f64,
        look: Look,
        here: &mut [f64],
        slack: f64,
    ) -> Result<bool> {
        let actions = &self.solver.task.actions;
        let whole = here.to_vec();
        let scaled = |share: f64| -> Vec<f64> {
            let along = |j: usize| {
                let target = factual[j] + share * (whole[j] - factual[j]);
                match actions.interval(j, factual[j]) {
                    Some((low, high)) if !actions.is_grouped(j) => target.clamp(low, high),
                    _ => whole[j],
                }
            };
            (0..whole.len()).map(along).collect()
        };
        let (mut inside, mut outside) = (0.0, 1.0);
        if slack < 0.0 {
            let mut reached = false;
            for share in [1.02, 1.1, 1.3, 2.0] {
                inside = outside;
                outside = share;
                reached = self.slack(&scaled(share), z, look)? >= 0.0;
                if reached {
                    break;
                }
            }
            if !reached {
                return Ok(false);
            }
        }
        for _ in 0..14 {
            let middle = 0.5 * (inside + outside);
            let slack = self.slack(&scaled(middle), z, look)?;
            if slack >= 0.0 {
                outside = middle
            } else {
                inside = middle
            }
            if (0.0..=2.0 * PRECISION).contains(&slack) {
                break;
            }
        }
        here.copy_from_slice(&scaled(outside));
        Ok(true)
    }
}
