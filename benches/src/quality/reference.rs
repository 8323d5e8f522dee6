//! One person: the engine's answer against the best known point, which is improved first.

use super::ask::{Engines, Way, certified};
use super::draws::{Draws, Judge, is_violation};
use super::local::Search;
use super::small::Small;
use super::starts::{Landed, audited};
use super::store::Known;
use super::subject::Case;
use anyhow::Result;
use probe_core::{Answer, Key, Purpose, SearchEffort, Seed, Status};

/// Names the streams of searches among those of [`Purpose::Data`].
const STREAM: u64 = 0x7365_6172_6368;
/// Engine answers that cost this much more than the best are not followed.
const WORSE: f64 = 1.3;
/// Sets of frozen features for which the engine is asked again, at most.
const FROZEN: usize = 6;

/// What all people of a case share.
pub(super) struct Bench<'a> {
    pub(super) case: &'a Case,
    pub(super) draws: &'a Draws,
    pub(super) engines: &'a Engines<'a>,
    pub(super) small: Option<&'a Small<'a>>,
    pub(super) effort: SearchEffort,
    /// Rows that a round of the search may score.
    pub(super) rows: u64,
    /// Rounds of the search that everybody gets.
    pub(super) rounds: u32,
}

/// What came of one person and target.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) id: String,
    pub(super) status: Status,
    pub(super) reason: &'static str,
    /// Of a certified answer.
    pub(super) cost: Option<f64>,
    /// Whether the audit puts a certified answer above the target, or it breaks a rule.
    pub(super) is_wrong: bool,
    /// Costs of the best known point and of what the search found without the engine.
    pub(super) best: Option<f64>,
    pub(super) own: Option<f64>,
    /// Who found the best known point.
    pub(super) source: String,
}

impl Bench<'_> {
    /// Asks the engine and improves what is known at targets `rates`, which rise. A point for a
    /// smaller target is one for a larger target.
    pub(super) fn person(
        &self,
        (row, person): (usize, &[f64]),
        rates: &[f64],
        known: &mut [Known],
    ) -> Result<Vec<Outcome>> {
        let mut outcomes = Vec::new();
        for (i, &r) in rates.iter().enumerate() {
            let (before, rest) = known.split_at_mut(i);
            let stricter: Vec<&Known> = before.iter().filter(|k| k.cost.is_some()).collect();
            outcomes.push(self.target((row, person), r, (&stricter, &mut rest[0]))?);
        }
        Ok(outcomes)
    }

    fn target(
        &self,
        (row, person): (usize, &[f64]),
        r: f64,
        (stricter, known): (&[&Known], &mut Known),
    ) -> Result<Outcome> {
        let way = Way { r, seed: 0, effort: self.effort, frozen: Vec::new() };
        let answer = self.engines.answer(&way, person)?;
        let mut judge = Judge::new(&self.case.problem, self.draws);
        let passed = match certified(&answer) {
            Some(_) => audited(&mut judge, person, &answer.point)?,
            None => None,
        };
        let passed = passed.filter(|landed| !is_violation(landed.rate, r));
        let is_wrong = certified(&answer).is_some() && passed.is_none();
        if known.rounds < self.rounds {
            self.improve(person, (r, &answer), (stricter, known))?;
        }
        for point in stricter {
            if let (Some(cost), Some(rate)) = (point.cost, point.rate) {
                let landed = Landed { point: point.point.clone(), cost, rate };
                known.offer(&landed, "stricter target");
            }
        }
        if let Some(landed) = &passed {
            known.offer(landed, "engine");
        }
        Ok(Outcome {
            id: self.case.id(row),
            status: answer.status,
            reason: answer.reason.map_or("", |reason| reason.code()),
            cost: certified(&answer),
            is_wrong,
            best: known.cost,
            own: known.own,
            source: known.source.clone(),
        })
    }

    /// Runs the missing rounds of the search, and follows the engine's answers in the first one.
    fn improve(
        &self,
        person: &[f64],
        (r, answer): (f64, &Answer),
        (stricter, known): (&[&Known], &mut Known),
    ) -> Result<()> {
        if let Some(small) = self.small {
            self.brute_force(small, person, r, known)?;
            known.rounds = u32::MAX;
            return Ok(());
        }
        let first = known.rounds == 0;
        while known.rounds < self.rounds {
            let key = Key::default().values(person).values(&[r]).word(u64::from(known.rounds));
            let mut stream = Seed(0).stream(Purpose::Data, key.word(STREAM).finish());
            let found = self.search(person, r).explore(&self.case.training, &mut stream)?;
            found.iter().for_each(|landed| known.offer_own(landed));
            known.rounds += 1;
        }
        if first {
            let mut starts: Vec<Vec<f64>> = stricter.iter().map(|k| k.point.clone()).collect();
            starts.extend(self.answers(person, r, answer)?);
            self.follow(person, r, (starts, known))?;
        }
        Ok(())
    }

    fn search<'s>(&'s self, person: &'s [f64], r: f64) -> Search<'s> {
        let judge = Judge::new(&self.case.problem, self.draws);
        Search { judge, person, r, most_rows: self.rows }
    }

    fn brute_force(
        &self,
        small: &Small<'_>,
        person: &[f64],
        r: f64,
        known: &mut Known,
    ) -> Result<()> {
        let points = small.cheapest(person, r, f64::INFINITY)?;
        if !small.is_exact {
            let found = self.search(person, r).settle(points)?;
            found.iter().for_each(|landed| known.offer_own(landed));
            return Ok(());
        }
        let mut judge = Judge::new(&self.case.problem, self.draws);
        for point in points {
            // The sum over cells is checked on draws.
            if let Some(landed) = audited(&mut judge, person, &point)?
                && !is_violation(landed.rate, r)
            {
                known.offer_own(&landed);
                break;
            }
        }
        Ok(())
    }

    /// The engine's answers to the same person, asked in other ways.
    fn answers(&self, person: &[f64], r: f64, answer: &Answer) -> Result<Vec<Vec<f64>>> {
        let way = Way { r, seed: 0, effort: self.effort, frozen: Vec::new() };
        let mut ways = vec![
            Way { seed: 1, ..way.clone() },
            Way { effort: SearchEffort::Thorough, ..way.clone() },
        ];
        let mut points = Vec::new();
        if certified(answer).is_some() {
            points.push(answer.point.clone());
            for frozen in self.frozen_columns(person, &answer.point) {
                ways.push(Way { frozen, ..way.clone() });
            }
        }
        for way in ways.into_iter().take(2 + FROZEN) {
            let other = self.engines.answer(&way, person)?;
            if certified(&other).is_some() && !points.contains(&other.point) {
                points.push(other.point);
            }
        }
        Ok(points)
    }

    /// The columns that freezing tests freeze for an answer.
    pub(super) fn frozen_columns(&self, person: &[f64], point: &[f64]) -> Vec<Vec<usize>> {
        let search = self.search(person, 0.5);
        let sets = search.frozen_sets(point);
        let columns = |set: &Vec<_>| set.iter().flat_map(|p| search.columns(*p)).copied().collect();
        sets.iter().map(columns).collect()
    }

    fn follow(
        &self,
        person: &[f64],
        r: f64,
        (mut starts, known): (Vec<Vec<f64>>, &mut Known),
    ) -> Result<()> {
        let mut judge = Judge::new(&self.case.problem, self.draws);
        for start in &starts {
            let cheaper = |cost| known.cost.is_none_or(|least| cost < least);
            if cheaper(self.case.problem.cost(person, start))
                && let Some(landed) = audited(&mut judge, person, start)?
                && !is_violation(landed.rate, r)
            {
                known.offer(&landed, "engine, asked otherwise");
            }
        }
        let least = known.cost.unwrap_or(f64::INFINITY);
        starts.retain(|start| self.case.problem.cost(person, start) <= WORSE * least);
        let found = self.search(person, r).follow(&starts)?;
        found.iter().for_each(|landed| known.offer(landed, "search from the engine's answers"));
        Ok(())
    }
}
