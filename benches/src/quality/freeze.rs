//! The freezing test: an answer must not get cheaper where less may change.

use super::ask::{Way, certified};
use super::draws::{Judge, is_violation};
use super::reference::Bench;
use super::starts::audited;
use anyhow::Result;
use serde::Serialize;

/// Sets of features that are frozen for one person, at most.
const SETS: usize = 12;

/// What came of one person.
pub(super) struct Frozen {
    pub(super) id: String,
    /// The answer's cost over that of the cheapest one with features frozen; at least 1.
    pub(super) ratio: f64,
    /// Whether there is an answer only with features frozen.
    pub(super) only_frozen: bool,
}

/// Freezes every changed feature, pairs of them and all categories, one set after the other. Counts
/// certified answers that pass the audit under all of the noise. `None` for people without any.
pub(super) fn person(
    bench: &Bench<'_>,
    (row, person): (usize, &[f64]),
    r: f64,
) -> Result<Option<Frozen>> {
    let way = Way { r, seed: 0, effort: bench.effort, frozen: Vec::new() };
    let answer = bench.engines.answer(&way, person)?;
    let cost = certified(&answer);
    let mut judge = Judge::new(&bench.case.problem, bench.draws);
    let mut least = cost;
    let sets = bench.frozen_columns(person, &answer.point);
    for frozen in sets.into_iter().take(SETS) {
        let other = bench.engines.answer(&Way { frozen, ..way.clone() }, person)?;
        let Some(found) = certified(&other) else { continue };
        let passes = |judge: &mut Judge<'_>| -> Result<bool> {
            let landed = audited(judge, person, &other.point)?;
            Ok(landed.is_some_and(|landed| !is_violation(landed.rate, r)))
        };
        if least.is_none_or(|least| found < least) && passes(&mut judge)? {
            least = Some(found);
        }
    }
    Ok(least.map(|least| Frozen {
        id: bench.case.id(row),
        ratio: cost.map_or(1.0, |cost| cost / least),
        only_frozen: cost.is_none(),
    }))
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    subject: String,
    r: f64,
    people: usize,
    cheaper: [usize; 3],
    worst: f64,
    only_frozen: usize,
    worst_ids: Vec<String>,
}

impl Row {
    pub(super) fn of(subject: &str, r: f64, mut people: Vec<Frozen>) -> Self {
        people.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let above = |limit: f64| people.iter().filter(|frozen| frozen.ratio > limit).count();
        let worst = people.iter().filter(|frozen| frozen.ratio > 1.02).take(4);
        Self {
            subject: subject.to_owned(),
            r,
            people: people.len(),
            cheaper: [above(1.02), above(1.1), above(1.5)],
            worst: people.first().map_or(f64::NAN, |frozen| frozen.ratio),
            only_frozen: people.iter().filter(|frozen| frozen.only_frozen).count(),
            worst_ids: worst.map(|frozen| format!("{} {:.2}", frozen.id, frozen.ratio)).collect(),
        }
    }

    pub(super) fn line(&self) -> String {
        let share =
            |n: usize| format!("{n} ({:.1} %)", 100.0 * n as f64 / self.people.max(1) as f64);
        format!(
            "| {} | {} | {} | {} | {} | {} | {:.2} | {} | {} |",
            self.subject,
            self.r,
            self.people,
            share(self.cheaper[0]),
            share(self.cheaper[1]),
            share(self.cheaper[2]),
            self.worst,
            self.only_frozen,
            self.worst_ids.join("; ")
        )
    }
}

pub(super) const HEADER: &str = "\
| freezing test | r | people | > 2 % cheaper | > 10 % | > 50 % | worst | answer only when frozen \
| worst people |
|---|---|---|---|---|---|---|---|---|";
