//! What would help those whom nothing helps: for each limit, how far it would have to give way.
//!
//! Everything starts from the most robust point within the limits. One limit alone is taken away: a
//! number goes on beyond its bound or against its direction until the target is met, a category
//! becomes what it may not become, or more features change. What is reported would be enough, with
//! everything else as at that point; on affine scores, where features add up, it is also the least.
//! Features that may not change at all are never asked to: nobody is told to have another age.

use super::Session;
use super::rounding::onto_step;
use crate::engine::{Answer, Engine, Setup, Status};
use crate::error::Result;
use crate::recourse::Reason;
use crate::schema::{Direction, Violation};

/// A limit that stands in the way, and what would be enough.
#[derive(Debug, Clone, PartialEq)]
pub struct Relaxation {
    /// Which limit.
    pub limit: Relaxed,
    /// The point that would be told then, raw.
    pub point: Vec<f64>,
    /// Its invalidation rate; an estimate where rates are sampled.
    pub rate: f64,
    /// How far beyond the limit it goes, in terms of what it costs.
    pub beyond: f64,
}

/// A limit that gives way.
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
    /// A group would have to take an option that it may not take from where it is.
    Transition {
        /// The group.
        group: usize,
        /// The option.
        option: usize,
    },
    /// So many features would have to change.
    MaxChanges(usize),
}

/// Steps outward, doubling, and halvings back.
const DOUBLINGS: usize = 12;
const HALVINGS: usize = 24;
/// The first step, in scaled units.
const FIRST: f64 = 1.0 / 64.0;
/// What a rate that is looked at must stay below, as a share of the target.
const SPARE: f64 = 0.95;

impl Session<'_> {
    /// What would help `person`, whose `answer` missed its target: limits that, each by itself,
    /// would have to give way, the least first. Empty where the target was met, where no single
    /// limit would do, under a budget, which is a limit itself, for people with missing values and
    /// for a further way that there is not.
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

/// The limits of a person, seen from the most robust point within them.
struct Limits<'s, 'e> {
    session: &'s mut Session<'e>,
    /// The person and that point, raw.
    person: &'s [f64],
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

    /// Whether a raw row meets the target, with a little to spare where its rate is only looked at.
    fn is_enough(&mut self, raw: &[f64]) -> Result<bool> {
        let judgement = self.session.judge_row(self.person, raw)?;
        let share = if self.session.engine.rates.is_sampled() { SPARE } else { 1.0 };
        Ok(judgement.meets(share * self.setup().max_rate))
    }

    /// How far column `j` would have to go beyond its end, in one direction.
    fn beyond(&mut self, j: usize, way: f64) -> Result<Option<Relaxation>> {
        let (setup, base) = (self.setup(), self.base);
        let space = &setup.space;
        let at = space.to_scaled(j, base[j]);
        let end = setup
            .actions
            .interval(j, self.session.rounding.from()[j])
            .map_or(at, |(low, high)| if way > 0.0 { high } else { low });
        // Only what is at its end, up to a step, is limited by it.
        let near = setup.actions.grid(j).map_or(1e-9, |grid| grid.step);
        if !end.is_finite() || (end - at).abs() > near {
            return Ok(None);
        }
        let value = |u: f64| {
            let raw = space.to_raw(j, end + way * u);
            match setup.steps[j] {
                Some(step) => {
                    let far = space.to_raw(j, end + way * (u + 2.0 * near));
                    // What lies on a step but for rounding is on it.
                    let room = 1e-5 * step;
                    onto_step(step, base[j], raw, (raw.min(far) - room, raw.max(far) + room))
                }
                None => raw,
            }
        };
        let Some(needed) = self.least_enough(j, &value)? else { return Ok(None) };
        let mut row = base.to_vec();
        row[j] = needed;
        let rate = self.session.judge_row(self.person, &row)?.rate;
        // What nobody can have: fewer than none of something.
        let none =
            setup.raw_bounds.get(j).is_some_and(|(low, _)| low.is_some_and(|low| low >= 0.0))
                && needed < 0.0;
        let own = [Violation::Bounds(j), Violation::Direction(j)];
        if none || self.session.rounding.violations().iter().any(|rule| !own.contains(rule)) {
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

    /// The value of column `j` that is enough, of those that `value` gives for distances beyond its
    /// end: found by doubling, then halving. `None` if all are too little.
    fn least_enough(&mut self, j: usize, value: &dyn Fn(f64) -> f64) -> Result<Option<f64>> {
        let mut row = self.base.to_vec();
        let (mut short, mut enough) = (0.0, f64::NAN);
        for doubling in 0..DOUBLINGS {
            let u = FIRST * (1_u64 << doubling) as f64;
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
            // An estimate is not worth more digits.
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

    /// How many changes it would take without a limit on them.
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
