//! For people without recourse: how far a single limit would have to be relaxed.
//!
//! The starting point is the most robust point within the limits. From there, one limit at a time
//! is removed: a number moves beyond its bound or against its direction until the target is met, a
//! category takes a forbidden value, or more features change. The reported relaxation is
//! sufficient with all other features as at the starting point. For affine scores, where the
//! effects of features add up, it is also the smallest. Features that may not change at all stay
//! fixed: nobody is advised to have another age.

use super::Session;
use super::rounding::onto_step;
use crate::engine::{Answer, Engine, Setup, Status};
use crate::error::Result;
use crate::recourse::Reason;
use crate::schema::{Direction, Violation};

/// A limit that prevents recourse, and a relaxation of it that would be enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Relaxation {
    /// Which limit.
    pub limit: Relaxed,
    /// The point that would then be the advice, raw.
    pub point: Vec<f64>,
    /// Its invalidation rate; an estimate if rates are sampled.
    pub rate: f64,
    /// The cost of the part of the change that lies beyond the limit.
    pub beyond: f64,
}

/// A limit that is relaxed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Relaxed {
    /// A column's upper bound would have to be `needed`, raw.
    AtMost {
        /// The column.
        column: usize,
        /// What the bound would have to be.
        needed: f64,
    },
    /// A column's lower bound would have to be `needed`, raw.
    AtLeast {
        /// The column.
        column: usize,
        /// What the bound would have to be.
        needed: f64,
    },
    /// A column would have to move to `needed`, raw, against the direction it may move in.
    Direction {
        /// The column.
        column: usize,
        /// What it would have to become.
        needed: f64,
    },
    /// A group would have to take an option that it may not take from its current one.
    Transition {
        /// The group.
        group: usize,
        /// The option.
        option: usize,
    },
    /// This many features would have to change.
    MaxChanges(usize),
}

/// Doublings of the step until it is enough.
const DOUBLINGS: usize = 12;
/// Halvings of the interval after that, to find the least that is enough.
const HALVINGS: usize = 24;
/// The first step, in scaled units.
const FIRST_STEP: f64 = 1.0 / 64.0;
/// An estimated rate must be below this share of the target, because it has a sampling error.
const ESTIMATED_SHARE: f64 = 0.95;

impl Session<'_> {
    /// What would help `person`, whose `answer` missed its target: the limits whose relaxation
    /// alone would be enough, the smallest relaxation first. Empty if the target was met, if no
    /// single limit is enough, under a budget (which is a limit itself), for people with missing
    /// values, and if only a further alternative is missing.
    pub fn relaxations(&mut self, person: &[f64], answer: &Answer) -> Result<Vec<Relaxation>> {
        let missed = matches!(answer.status, Status::None | Status::Found)
            && answer.best_rate.is_some()
            && answer.reason != Some(Reason::NoOtherWay);
        if !missed || self.engine.setup.budget.is_some() || person.iter().any(|x| x.is_nan()) {
            return Ok(Vec::new());
        }
        let base = if answer.nearest.is_empty() { person } else { &answer.nearest };
        self.rounding.start(person);
        let found = Limits { session: self, person, base }.relaxations()?;
        self.proposer.check()?;
        Ok(found)
    }
}

/// The limits of a person, with the most robust point within them.
struct Limits<'s, 'e> {
    session: &'s mut Session<'e>,
    /// The person, raw.
    person: &'s [f64],
    /// The most robust point, raw.
    base: &'s [f64],
}

impl<'e> Limits<'_, 'e> {
    fn setup(&self) -> &'e Setup {
        &self.session.engine.setup
    }

    fn relaxations(&mut self) -> Result<Vec<Relaxation>> {
        let actions = &self.setup().actions;
        let mut found = Vec::new();
        for j in (0..self.base.len()).filter(|&j| actions.is_mutable_numeric(j)) {
            for way in [1.0, -1.0] {
                found.extend(self.beyond(j, way)?);
            }
        }
        for g in 0..actions.groups().len() {
            found.extend(self.forbidden(g)?);
        }
        found.sort_by(|a, b| a.beyond.total_cmp(&b.beyond));
        if let Some(more) = self.more_changes()? {
            found.insert(0, more);
        }
        Ok(found)
    }

    /// Whether a raw row meets the target, with a small safety gap if its rate is estimated.
    fn is_enough(&mut self, raw: &[f64]) -> Result<bool> {
        let judgement = self.session.judge_row(self.person, raw)?;
        let share = if self.session.engine.rates.is_sampled() { ESTIMATED_SHARE } else { 1.0 };
        Ok(judgement.meets(share * self.setup().max_rate))
    }

    /// How far column `j` would have to go beyond the end of its interval, in one direction.
    fn beyond(&mut self, j: usize, way: f64) -> Result<Option<Relaxation>> {
        let (setup, base) = (self.setup(), self.base);
        let space = &setup.space;
        let at = space.to_scaled(j, base[j]);
        let end = setup
            .actions
            .interval(j, self.session.rounding.from()[j])
            .map_or(at, |(low, high)| if way > 0.0 { high } else { low });
        // The end limits only a value that has reached it, up to one step.
        let near = setup.actions.grid(j).map_or(1e-9, |grid| grid.step);
        if !end.is_finite() || (end - at).abs() > near {
            return Ok(None);
        }
        let value = |u: f64| {
            let raw = space.to_raw(j, end + way * u);
            match setup.steps[j] {
                Some(step) => {
                    let far = space.to_raw(j, end + way * (u + 2.0 * near));
                    // A value that differs from a step by rounding alone counts as on it.
                    let slack = 1e-5 * step;
                    onto_step(step, base[j], raw, (raw.min(far) - slack, raw.max(far) + slack))
                }
                None => raw,
            }
        };
        let Some(needed) = self.least_enough(j, &value)? else { return Ok(None) };
        let mut row = base.to_vec();
        row[j] = needed;
        let rate = self.session.judge_row(self.person, &row)?.rate;
        // A feature that cannot be negative, such as a number of loans, must not become negative.
        let is_impossible =
            setup.raw_bounds.get(j).is_some_and(|(low, _)| low.is_some_and(|low| low >= 0.0))
                && needed < 0.0;
        let own = [Violation::Bounds(j), Violation::Direction(j)];
        if is_impossible
            || self.session.rounding.violations().iter().any(|rule| !own.contains(rule))
        {
            return Ok(None);
        }
        let against = if way > 0.0 { Direction::Decrease } else { Direction::Increase };
        let limit = match setup.actions.room(j).direction == against {
            true => Relaxed::Direction { column: j, needed },
            false if way > 0.0 => Relaxed::AtMost { column: j, needed },
            false => Relaxed::AtLeast { column: j, needed },
        };
        let weight = self.session.proposer.cost().weight(j, way);
        let beyond = weight * (space.to_scaled(j, needed) - end).abs();
        Ok(Some(Relaxation { limit, point: row, rate, beyond }))
    }

    /// The least value of column `j` that is enough. `value` maps a distance beyond the end to a
    /// value; the distance is found by doubling, then halving. `None` if none is enough.
    fn least_enough(&mut self, j: usize, value: &dyn Fn(f64) -> f64) -> Result<Option<f64>> {
        let mut row = self.base.to_vec();
        let (mut short, mut enough) = (0.0, f64::NAN);
        for doubling in 0..DOUBLINGS {
            let u = FIRST_STEP * (1_u64 << doubling) as f64;
            row[j] = value(u);
            if self.is_enough(&row)? {
                enough = u;
                break;
            }
            short = u;
        }
        if enough.is_nan() {
            return Ok(None);
        }
        for _ in 0..HALVINGS {
            let middle = 0.5 * (short + enough);
            row[j] = value(middle);
            if self.is_enough(&row)? {
                enough = middle
            } else {
                short = middle
            }
            // More digits would be below the accuracy of an estimated rate.
            if enough - short <= 1e-4 * enough && self.session.engine.rates.is_sampled() {
                break;
            }
        }
        Ok(Some(value(enough)))
    }

    /// The cheapest option that group `g` may not take and that would be enough.
    fn forbidden(&mut self, g: usize) -> Result<Option<Relaxation>> {
        let setup = self.setup();
        let group = &setup.actions.groups()[g];
        let current = group.option_of(self.person).filter(|_| setup.actions.is_mutable_group(g));
        let Some(current) = current else { return Ok(None) };
        let mut best: Option<Relaxation> = None;
        for option in (0..group.n_options()).filter(|&o| !group.allows(current, o)) {
            let cost = self.session.proposer.cost();
            let beyond = cost.norm().finish(cost.of_choice(group, current, option));
            if best.as_ref().is_some_and(|best| best.beyond <= beyond) {
                continue;
            }
            let mut row = self.base.to_vec();
            group.set(option, &mut row);
            let enough = self.is_enough(&row)?;
            if enough && self.session.rounding.violations() == [Violation::Transition(g)] {
                let rate = self.session.judge_row(self.person, &row)?.rate;
                let limit = Relaxed::Transition { group: g, option };
                best = Some(Relaxation { limit, point: row, rate, beyond });
            }
        }
        Ok(best)
    }

    /// How many features would have to change if their number were not limited.
    fn more_changes(&self) -> Result<Option<Relaxation>> {
        let (setup, person) = (self.setup(), self.person);
        if setup.actions.max_changes().is_none() {
            return Ok(None);
        }
        let with = |most: Option<usize>| -> Result<Answer> {
            let actions = setup.actions.clone().with_max_changes(most);
            let free = Engine::new(Setup { actions, alternatives: 1, ..setup.clone() })?;
            let mut answer = Answer::new(person.len());
            let mut session = free.session();
            self.session.proposer.cancelled.into_iter().for_each(|flag| session.end_on(flag));
            session.recourse(person, &mut answer)?;
            Ok(answer)
        };
        let mut answer = with(None)?;
        if answer.status != Status::Certified {
            return Ok(None);
        }
        // The cheapest answer need not be the one with the fewest changes.
        for most in setup.actions.max_changes().unwrap_or(0) + 1..answer.changed {
            let fewer = with(Some(most))?;
            if fewer.status == Status::Certified {
                answer = fewer;
                break;
            }
        }
        let Answer { changed, point, rate, .. } = answer;
        Ok(Some(Relaxation { limit: Relaxed::MaxChanges(changed), point, rate, beyond: 0.0 }))
    }
}
