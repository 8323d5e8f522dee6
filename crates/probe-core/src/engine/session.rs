//! One thread's work: propose, print, judge.

mod certify;
mod frontier;
mod relax;
mod sampled;
mod sampler;

pub use relax::{Relaxation, Relaxed};
pub(super) use sampler::Sampling;

use super::answer::{Answer, Limit, Shortfall, Status};
use super::{Engine, Setup};
use crate::cost::Cost;
use crate::error::{Error, Result, require};
use crate::invalidation::affine_rate;
use crate::math::normal::upper_quantile;
use crate::noise::NoiseOn;
use crate::recourse::{Ask, Budget, Goal, Proposal, Reason, Verdict, Worker};
use crate::schema::{Direction, ModelInput, Tie};

/// Answers one person after another with buffers of its own.
pub struct Session<'e> {
    engine: &'e Engine,
    worker: Box<dyn Worker + 'e>,
    proposal: Proposal,
    scaled: Vec<f64>,
    /// The raw row to be printed, and the same in scaled space.
    printed: Vec<f64>,
    target: Vec<f64>,
    /// Columns, in ascending order, outside of which the printed row is the person's.
    moved: Vec<usize>,
    /// Whether ranges seen in training are known.
    knows_ranges: bool,
    active: Vec<bool>,
    /// Noise of the score, where it does not depend on the point.
    fixed_noise: Option<(f64, f64)>,
    /// Which of the method's answers is asked for.
    option: usize,
    /// Costs of a person's own.
    own_costs: Option<OwnCosts>,
    /// The work that is left for the person at hand, and what all before took.
    budget: Budget<'static>,
    spent: u64,
    /// Made for the first person whose rate must be sampled.
    sampler: Option<sampler::Sampler<'e>>,
}

/// The multiple of `step` that a move from `from` to `to` ends on: the next one further out that
/// the bounds allow, else the last before.
fn onto_step(step: f64, from: f64, to: f64, (low, high): (f64, f64)) -> f64 {
    // A share of a step this small is rounding.
    const NEAR: f64 = 1e-6;
    let at = to / step;
    let (out, back) = match to > from {
        true => ((at - NEAR).ceil(), (at + NEAR).floor()),
        false => ((at + NEAR).floor(), (at - NEAR).ceil()),
    };
    let may = |value: &f64| low <= *value && *value <= high && (*value > from) == (to > from);
    [out, back].into_iter().map(|k| multiple(k, step)).find(may).unwrap_or(from)
}

/// The number nearest to `k` steps: 0.3 and not 0.30000000000000004 for three tenths.
fn multiple(k: f64, step: f64) -> f64 {
    let per_unit = (1.0 / step).round();
    let is_share = per_unit >= 2.0 && (per_unit * step - 1.0).abs() <= 1e-12;
    if is_share { k / per_unit } else { k * step }
}

/// Costs of a person's own.
struct OwnCosts {
    /// Times the usual ones, column by column.
    factors: Vec<f64>,
    cost: Cost,
    /// With preferences.
    search: Cost,
}

/// What the printed row is worth.
#[derive(Clone, Copy)]
struct Judgement {
    score: f64,
    rate: f64,
}

impl<'e> Session<'e> {
    pub(super) fn new(engine: &'e Engine, worker: Box<dyn Worker + 'e>) -> Self {
        let n = engine.setup.names.len();
        let mut session = Self {
            engine,
            worker,
            proposal: Proposal::new(n),
            scaled: vec![0.0; n],
            printed: vec![0.0; n],
            target: vec![0.0; n],
            moved: Vec::with_capacity(n),
            knows_ranges: engine.setup.ranges.iter().any(Option::is_some),
            active: vec![false; n],
            fixed_noise: None,
            option: 0,
            own_costs: None,
            budget: Budget::new(engine.setup.effort),
            spent: 0,
            sampler: None,
        };
        if engine.setup.noise_on != NoiseOn::Changed {
            session.fixed_noise = noise_along(engine, &mut session.active, &[], &[]).ok();
        }
        session
    }

    /// Whose session it is.
    pub fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// How many lines ([`crate::LineSampling`]) were read so far: for searches, and to judge what
    /// they found. What an answer takes apart from the machine; both are 0 where rates are exact or
    /// models have no lines.
    pub fn n_lines(&self) -> [u64; 2] {
        [self.worker.n_lines(), self.sampler.as_ref().map_or(0, sampler::Sampler::n_lines)]
    }

    /// How many lines searches have asked for so far, or as many samples as are worth them: their
    /// work for models of any kind ([`Budget`]).
    pub fn n_evaluations(&self) -> u64 {
        self.spent + self.budget.spent()
    }

    fn setup(&self) -> &'e Setup {
        &self.engine.setup
    }

    /// The recourse of the person with raw values `person`, in the model's feature order. Values
    /// are finite, or NaN where they are missing and the model takes that; then they stay so.
    pub fn recourse(&mut self, person: &[f64], answer: &mut Answer) -> Result<()> {
        if let Some(filled) = self.engine.filled(person)? {
            let factors = self.own_costs.as_ref().map(|own| &own.factors[..]);
            return filled.recourse(person, (self.option, factors), answer);
        }
        self.recourse_of_all_known(person, answer)
    }

    /// [`Session::recourse`] for a person all of whose values are finite.
    pub(super) fn recourse_of_all_known(
        &mut self,
        person: &[f64],
        answer: &mut Answer,
    ) -> Result<()> {
        let setup = self.setup();
        if let Some(sampling) = &self.engine.sampling {
            let of = self.worker.n_options();
            return self.recourse_sampled(sampling, person, (setup.max_rate, of), answer);
        }
        let now = self.start(person, answer)?;
        if self.is_settled(now, setup.max_rate, answer) {
            return Ok(());
        }
        let goal = setup.budget.map_or(Goal::Rate(setup.max_rate), Goal::Budget);
        let mut proposal = std::mem::replace(&mut self.proposal, Proposal::new(0));
        let found = self.ask(goal, None, &mut proposal);
        let judged = found.and_then(|()| self.judge(person, setup.max_rate, &mut proposal, answer));
        self.proposal = proposal;
        judged
    }

    /// From now on, changes cost so many times what they usually do, column by column; `None` for
    /// what they usually do. Fails unless factors are positive and finite.
    pub fn set_cost_factors(&mut self, factors: Option<&[f64]>) -> Result<()> {
        let (setup, task) = (self.setup(), self.engine.task());
        if factors.is_some() || self.own_costs.is_some() {
            let own = match factors {
                None => None,
                Some(factors) => {
                    let (cost, search) = (setup.cost.times(factors)?, task.cost.times(factors)?);
                    Some(OwnCosts { factors: factors.to_vec(), cost, search })
                }
            };
            if !self.worker.serves_own_costs() {
                return Err(Error::Unsupported {
                    what: "costs of a person's own with this method".to_owned(),
                    why: "it is prepared for one set of costs; use method probe".to_owned(),
                });
            }
            self.own_costs = own;
        }
        Ok(())
    }

    /// What changes cost the person.
    fn cost(&self) -> &Cost {
        self.own_costs.as_ref().map_or(&self.engine.setup.cost, |own| &own.cost)
    }

    /// What changes cost in the search, which has preferences.
    fn search_cost(&self) -> &Cost {
        self.own_costs.as_ref().map_or(&self.engine.task.cost, |own| &own.search)
    }

    /// All of a person's answers ([`Session::n_options`]), certified ones first, cheapest first.
    pub fn recourse_options(&mut self, person: &[f64], answers: &mut [Answer]) -> Result<()> {
        for (option, answer) in answers.iter_mut().enumerate() {
            self.recourse_option(person, option, answer)?;
        }
        let rank = |answer: &Answer| match answer.status {
            Status::Favourable | Status::Certified => 0,
            Status::Found => 1,
            Status::None => 2,
        };
        answers.sort_by(|a, b| {
            let cost = |answer: &Answer| answer.cost.unwrap_or(f64::INFINITY);
            rank(a).cmp(&rank(b)).then(cost(a).total_cmp(&cost(b)))
        });
        Ok(())
    }

    /// How many answers the method has for each person. One, unless a method such as `dice` is
    /// asked for more.
    pub fn n_options(&self) -> usize {
        self.worker.n_options()
    }

    /// As [`Session::recourse`], for one of the method's answers, cheapest first; ask for a
    /// person's one after the other. Certificates share the error probability, so that all of them
    /// hold together.
    pub fn recourse_option(
        &mut self,
        person: &[f64],
        option: usize,
        answer: &mut Answer,
    ) -> Result<()> {
        self.option = option;
        let done = self.recourse(person, answer);
        self.option = 0;
        done
    }

    /// Asks the method for the person at hand.
    fn ask(&mut self, goal: Goal, gap: Option<f64>, proposal: &mut Proposal) -> Result<()> {
        (proposal.aim, proposal.source) = (None, "");
        // Half of what is left: the next attempt may need some.
        let budget = self.budget.part(2);
        let ask = Ask {
            gap,
            alternative: self.option,
            cost: self.own_costs.as_ref().map(|own| &own.search),
            effort: self.setup().effort,
            ..Ask::new(&self.scaled, goal, &budget)
        };
        self.worker.find(&ask, proposal)
    }

    /// Scales the person and fills in what holds before any change.
    fn start(&mut self, person: &[f64], answer: &mut Answer) -> Result<Judgement> {
        let setup = self.setup();
        self.spent += self.budget.spent();
        self.budget = Budget::new(setup.effort);
        setup.space.scale_into(person, &mut self.scaled);
        self.printed.copy_from_slice(person);
        let score = self.score()?;
        require(
            score.is_finite(),
            "the score of a person",
            "finite (values or weights are too large)",
            score,
        )?;
        // Whoever is refused asks for another rate than their own, which is told where they have no
        // way.
        let rate = if score > 0.0 { self.rate(person, score)? } else { f64::NAN };
        let now = Judgement { score, rate };
        answer.point.resize(person.len(), 0.0);
        answer.point.copy_from_slice(person);
        answer.nearest.clear();
        answer.reason = None;
        answer.best_rate = None;
        answer.claimed_rate = None;
        answer.source = "";
        answer.changed = 0;
        answer.outside_range = self.knows_ranges.then_some(0);
        answer.score_before = now.score;
        answer.score_after = now.score;
        answer.rate = now.rate;
        answer.rate_upper = now.rate;
        Ok(now)
    }

    /// Whether the person needs no recourse; fills in the answer if so.
    fn is_settled(&self, now: Judgement, max_rate: f64, answer: &mut Answer) -> bool {
        let seeks = self.setup().also_favourable && now.rate > max_rate;
        if now.score <= 0.0 || seeks {
            return false;
        }
        answer.status = Status::Favourable;
        answer.cost = Some(0.0);
        true
    }

    /// Turns a proposal into a judged answer.
    fn judge(
        &mut self,
        person: &[f64],
        max_rate: f64,
        proposal: &mut Proposal,
        answer: &mut Answer,
    ) -> Result<()> {
        let setup = self.setup();
        let met = |j: &Judgement| j.score > 0.0 && j.rate <= max_rate;
        self.print(person, &proposal.point);
        let mut worth = self.worth(person)?;
        if proposal.verdict == Verdict::Reached && setup.budget.is_none() && !met(&worth) {
            worth = match self.step_outward(person, &proposal.point, &met)? {
                Some(worth) => worth,
                None if self.worker.retries() => {
                    self.aim_lower(person, max_rate, proposal, &met)?.unwrap_or(worth)
                }
                None => worth,
            };
        }
        if let Some(budget) = setup.budget {
            worth = self.step_inward(person, budget, worth)?;
        }
        let admissible = self.is_admissible();
        let reason = match proposal.verdict {
            Verdict::Short(reason) => Some(reason),
            Verdict::Reached if !met(&worth) => Some(if setup.budget.is_some() {
                Reason::BudgetExhausted
            } else {
                Reason::RateNotReachable
            }),
            Verdict::Reached => None,
        };
        // A score that is not a number is no yes.
        let favourable = worth.score > 0.0;
        if !(favourable && admissible) {
            answer.status = Status::None;
            answer.reason = match reason {
                // Rounding lost what the method had found.
                Some(Reason::RateIgnored) => Some(Reason::NotFound),
                other => other.or(Some(Reason::RateNotReachable)),
            };
            answer.cost = None;
            answer.rate = self.own_rate(person, answer.score_before)?;
            answer.rate_upper = answer.rate;
            // Where noise follows the changes and nothing is favourable, more noise lowers the
            // rate: there is no best one.
            let known = admissible && setup.noise_on != NoiseOn::Changed;
            let may_stay = setup.actions.violations(&self.scaled, &self.scaled).is_empty();
            let own = if may_stay { answer.rate } else { 1.0 };
            answer.best_rate = known.then_some(worth.rate.min(own));
            if admissible {
                answer.nearest.extend_from_slice(&self.printed);
            }
            return Ok(());
        }
        let certified = met(&worth);
        answer.claimed_rate = proposal.claimed;
        answer.source = proposal.source;
        answer.status = if certified { Status::Certified } else { Status::Found };
        answer.reason =
            if certified { reason.filter(|r| *r == Reason::SearchLimit) } else { reason };
        answer.best_rate = (!certified).then_some(worth.rate);
        if !certified {
            answer.nearest.extend_from_slice(&self.printed);
        }
        answer.point.copy_from_slice(&self.printed);
        answer.cost = Some(self.cost().between_moved(&self.scaled, &self.target, &self.moved));
        answer.changed = self.n_changed(person);
        answer.score_after = worth.score;
        answer.rate = worth.rate;
        answer.rate_upper = worth.rate;
        answer.outside_range = answer.outside_range.map(|_| self.outside_range(person));
        Ok(())
    }

    /// The row that would be printed for `point`: unchanged features to the bit, bounds to the bit,
    /// the rest in raw units.
    fn print(&mut self, person: &[f64], point: &[f64]) {
        let setup = self.setup();
        self.printed.copy_from_slice(person);
        self.moved.clear();
        for (j, &to) in point.iter().enumerate() {
            if to == self.scaled[j] {
                continue;
            }
            self.moved.push(j);
            let raw = setup.space.to_raw(j, to);
            self.printed[j] = if setup.actions.is_grouped(j) {
                raw
            } else {
                self.within_bounds(j, person[j], raw)
            };
        }
        self.balance(person);
    }

    /// Whether the printed row is one that the person may become.
    fn is_admissible(&self) -> bool {
        let finite = self.moved.iter().all(|&j| self.printed[j].is_finite());
        finite && self.setup().actions.admits(&self.scaled, &self.target, &self.moved)
    }

    /// How many features the printed row changes; a category counts as one.
    fn n_changed(&self, person: &[f64]) -> usize {
        let actions = &self.setup().actions;
        if !actions.groups().is_empty() {
            return actions.n_changed(person, &self.printed);
        }
        self.moved.iter().filter(|&&j| self.printed[j] != person[j]).count()
    }

    /// Makes up for rounding in sums that stay what they are: their first number that may take any
    /// value follows from the others.
    fn balance(&mut self, person: &[f64]) {
        let setup = self.setup();
        for tie in setup.actions.ties() {
            let Tie::Sum { terms, equal: true, .. } = tie else { continue };
            // Weights are of scaled values; raw ones differ by their scale.
            let weight =
                |c: usize, k: f64| k / (setup.space.to_raw(c, 1.0) - setup.space.to_raw(c, 0.0));
            let free = terms
                .iter()
                .find(|(c, _)| self.is_continuous(*c) && self.printed[*c] != person[*c]);
            let Some(&(free, k)) = free else { continue };
            let others = terms.iter().filter(|(c, _)| *c != free);
            let moved: f64 =
                others.map(|&(c, k)| weight(c, k) * (self.printed[c] - person[c])).sum();
            // A bound is met to the bit; a sum is, but for rounding.
            self.printed[free] =
                self.within_bounds(free, person[free], person[free] - moved / weight(free, k));
        }
    }

    /// `raw` brought inside the raw bounds of feature `j`, for a person who has `x`.
    fn within_bounds(&self, j: usize, x: f64, raw: f64) -> f64 {
        let (low, high) = self.setup().raw_bounds.get(j).copied().unwrap_or((None, None));
        let mut low = low.map_or(f64::NEG_INFINITY, |low| low.min(x));
        let mut high = high.map_or(f64::INFINITY, |high| high.max(x));
        // Two raw values may have one scaled value: the direction is kept in raw units.
        match self.setup().actions.room(j).direction {
            Direction::Any => {}
            Direction::Increase => low = low.max(x),
            Direction::Decrease => high = high.min(x),
        }
        let mut value = raw.max(low).min(high);
        if let Some(step) = self.setup().steps[j] {
            return onto_step(step, x, value, (low, high));
        }
        let (actions, space) = (&self.setup().actions, &self.setup().space);
        if let Some((from, to)) = actions.interval(j, space.to_scaled(j, x)) {
            let scaled = space.to_scaled(j, value);
            if scaled < from || scaled > to {
                value = space.to_raw(j, scaled.clamp(from, to)).max(low).min(high);
            }
            // Back and forth between the spaces may end an ulp outside the scaled interval: step
            // back in, by ulps of what is subtracted where that is larger.
            let ulp = f64::EPSILON * value.abs().max(space.offset(j).abs());
            for k in 0..4 {
                let scaled = space.to_scaled(j, value);
                if scaled > to {
                    value = value.next_down().min(value - f64::from(k) * ulp);
                } else if scaled < from {
                    value = value.next_up().max(value + f64::from(k) * ulp);
                }
            }
        }
        value
    }

    /// Whether feature `j` is part of a sum that is limited: it moves with others.
    fn is_tied(&self, j: usize) -> bool {
        let ties = self.setup().actions.ties();
        ties.iter()
            .any(|tie| matches!(tie, Tie::Sum { terms, .. } if terms.iter().any(|(c, _)| *c == j)))
    }

    /// Whether feature `j` may take any value: neither a category nor bound to steps.
    fn is_continuous(&self, j: usize) -> bool {
        !self.setup().actions.is_grouped(j) && self.setup().steps[j].is_none()
    }

    /// Moves the changed features further by ulps, doubling, until `met`; `None` if nothing helps.
    fn step_outward(
        &mut self,
        person: &[f64],
        point: &[f64],
        met: &dyn Fn(&Judgement) -> bool,
    ) -> Result<Option<Judgement>> {
        let first = self.printed.clone();
        let linear = self.engine.task().model.as_linear();
        let nudged = self.nudged(person, point);
        // Nothing was moved before.
        self.moved.extend(nudged.map(|(j, _)| j));
        for doubling in 0..40 {
            let ulps = f64::EPSILON * (1u64 << doubling) as f64;
            let mut moved = false;
            for j in 0..first.len() {
                // A move too small for raw units still has a direction.
                let delta = match nudged {
                    Some((nudged, way)) if nudged == j => way,
                    _ => point[j] - self.scaled[j],
                };
                // Moves that strict bounds force against the score must not go further.
                let helps = linear.is_none_or(|l| l.weights()[j] * delta > 0.0);
                if delta == 0.0 || !helps || self.is_tied(j) {
                    continue;
                }
                if self.is_continuous(j) {
                    let step = ulps * first[j].abs().max((first[j] - person[j]).abs());
                    let further = first[j] + step.copysign(delta);
                    self.printed[j] = self.within_bounds(j, person[j], further);
                    moved |= self.printed[j] != first[j];
                }
            }
            let worth = self.worth(person)?;
            if met(&worth) {
                return Ok(Some(worth));
            }
            if !moved && doubling > 2 {
                break;
            }
        }
        self.printed = first;
        self.worth(person).map(|_| None)
    }

    /// Asks for a slightly lower rate where rounding lost the target for good, as it does where
    /// large terms cancel.
    fn aim_lower(
        &mut self,
        person: &[f64],
        max_rate: f64,
        proposal: &mut Proposal,
        met: &dyn Fn(&Judgement) -> bool,
    ) -> Result<Option<Judgement>> {
        let (first, moved, point) =
            (self.printed.clone(), self.moved.clone(), proposal.point.clone());
        for less in [1e-9, 1e-7, 1e-5, 1e-3] {
            self.ask(Goal::Rate(max_rate * (1.0 - less)), None, proposal)?;
            self.print(person, &proposal.point);
            let worth = self.worth(person)?;
            if met(&worth) {
                return Ok(Some(worth));
            }
        }
        (self.printed, self.moved) = (first, moved);
        proposal.point = point;
        self.worth(person).map(|_| None)
    }

    /// Takes back what rounding spent beyond the budget.
    fn step_inward(&mut self, person: &[f64], budget: f64, worth: Judgement) -> Result<Judgement> {
        let first = self.printed.clone();
        let mut worth = worth;
        for doubling in 0..40 {
            if self.cost().between(&self.scaled, &self.target) <= budget {
                break;
            }
            let kept = 1.0 - f64::EPSILON * (1u64 << doubling) as f64;
            for j in 0..first.len() {
                if first[j] != person[j] && self.is_continuous(j) {
                    self.printed[j] =
                        self.within_bounds(j, person[j], person[j] + kept * (first[j] - person[j]));
                }
            }
            worth = self.worth(person)?;
        }
        Ok(worth)
    }

    /// The feature to move first, and which way, where the method saw no need to move at all: it
    /// works in scaled units, where a model of raw ones rounds otherwise.
    fn nudged(&self, person: &[f64], point: &[f64]) -> Option<(usize, f64)> {
        let still = point.iter().zip(&self.scaled).all(|(to, from)| to == from);
        if !still || self.setup().actions.max_changes() == Some(0) {
            return None;
        }
        let weights = self.engine.task().model.as_linear()?.weights();
        let may = |&j: &usize| {
            weights[j] != 0.0 && self.is_continuous(j) && self.has_room(j, person[j], weights[j])
        };
        let strongest = (0..weights.len())
            .filter(may)
            .max_by(|&a, &b| weights[a].abs().total_cmp(&weights[b].abs()));
        strongest.map(|j| (j, weights[j]))
    }

    /// Score and exact rate of the printed row, for a person at raw `from`; NaN where there is no
    /// exact rate, which meets no target.
    fn worth(&mut self, from: &[f64]) -> Result<Judgement> {
        let score = self.score()?;
        Ok(Judgement { score, rate: self.rate(from, score)? })
    }

    /// The score of the printed row.
    fn score(&mut self) -> Result<f64> {
        let setup = self.setup();
        setup.space.scale_into(&self.printed, &mut self.target);
        let input = match setup.space.model_input() {
            ModelInput::Raw => &self.printed,
            ModelInput::Scaled => &self.target,
        };
        setup.model.score(input)
    }

    /// The exact rate of a person as they are, who score `score`. What is printed stays.
    fn own_rate(&mut self, person: &[f64], score: f64) -> Result<f64> {
        let (printed, target) = (self.printed.clone(), self.target.clone());
        self.printed.copy_from_slice(person);
        self.target.copy_from_slice(&self.scaled);
        let rate = self.rate(person, score);
        (self.printed, self.target) = (printed, target);
        rate
    }

    /// The exact rate of the printed row, which scores `score`; NaN where there is none.
    fn rate(&mut self, from: &[f64], score: f64) -> Result<f64> {
        let setup = self.setup();
        if self.engine.sampling.is_some() {
            return Ok(f64::NAN);
        }
        let (sd, shift) = match self.fixed_noise {
            Some(noise) => noise,
            None => noise_along(self.engine, &mut self.active, from, &self.printed)?,
        };
        let noise_alone = || affine_rate(score, shift, sd);
        let rate =
            self.engine.shifted.as_ref().map_or_else(noise_alone, |joint| joint.rate(&self.target));
        let outcomes = setup.actions.outcomes(from, &self.printed);
        if outcomes.is_empty() {
            return Ok(rate);
        }
        let mut all = 0.0;
        for (p, raw) in &outcomes {
            all += p * affine_rate(self.engine.score(raw)?, shift, sd);
        }
        Ok(all)
    }

    /// Whether feature `j` of a person who has raw `x` could still move the way that helps a weight
    /// `w`.
    fn has_room(&self, j: usize, x: f64, w: f64) -> bool {
        let scaled = self.setup().space.to_scaled(j, x);
        self.setup()
            .actions
            .interval(j, scaled)
            .is_some_and(|(low, high)| if w > 0.0 { high > scaled } else { low < scaled })
    }

    fn outside_range(&self, person: &[f64]) -> usize {
        let outside = |j: usize| {
            let range = self.setup().ranges[j];
            self.printed[j] != person[j]
                && range.is_some_and(|[low, high]| !(low..=high).contains(&self.printed[j]))
        };
        self.moved.iter().filter(|&&j| outside(j)).count()
    }

    /// What stands in the way of `person`, whose answer missed its target. `None` if it did not,
    /// and for models whose features do not act one by one.
    pub fn shortfall(&mut self, person: &[f64], answer: &Answer) -> Result<Option<Shortfall>> {
        if answer.best_rate.is_none() {
            return Ok(None);
        }
        let setup = self.setup();
        let best: &[f64] = if answer.nearest.is_empty() { person } else { &answer.nearest };
        let Some(linear) = self
            .engine
            .task()
            .model
            .as_linear()
            .filter(|_| self.engine.sampling.is_none() && setup.shift.is_none())
        else {
            return Ok(None);
        };
        self.printed.copy_from_slice(best);
        let score = self.worth(person)?.score;
        let (sd, shift) = noise_along(self.engine, &mut self.active, person, best)?;
        let needed = (upper_quantile(setup.max_rate) * sd - shift).max(0.0);
        let limit = |j: usize| {
            let (w, room) = (linear.weights()[j], setup.actions.room(j));
            let against = if w > 0.0 { Direction::Decrease } else { Direction::Increase };
            if w == 0.0 {
                Limit::NoEffect
            } else if !room.mutable {
                Limit::Immutable
            } else if room.direction == against {
                Limit::Direction
            } else if best[j] == person[j] && self.has_room(j, person[j], w) {
                Limit::MaxChanges
            } else if w > 0.0 {
                Limit::AtMost(best[j])
            } else {
                Limit::AtLeast(best[j])
            }
        };
        let limits = (0..person.len()).map(|j| (j, limit(j))).collect();
        Ok(Some(Shortfall { limits, score, needed }))
    }
}

/// Standard deviation and mean of the score's noise for a person at raw `from` who aims at raw
/// `to`. Fails where that is not all there is to know: judging by it would certify anything.
pub(super) fn noise_along(
    engine: &Engine,
    active: &mut [bool],
    from: &[f64],
    to: &[f64],
) -> Result<(f64, f64)> {
    let task = engine.task();
    let (Some(linear), Some(gaussian)) = (task.model.as_linear(), task.noise.as_gaussian()) else {
        return Err(Error::Unsupported {
            what: format!(
                "judging answers of a {} model under {} noise",
                task.model.name(),
                task.noise.name()
            ),
            why: "only linear models under Gaussian noise have an exact rate".to_owned(),
        });
    };
    // Raw values differ exactly where scaled ones do: unchanged features are copied to the bit.
    task.noise_on.active_into(&task.actions, from, to, active);
    Ok((
        gaussian.sd_along(linear.weights(), |j| active[j]),
        gaussian.mean_along(linear.weights(), |j| active[j]),
    ))
}

#[cfg(test)]
mod tests;
