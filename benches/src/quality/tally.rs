//! What came of a subject's people, counted.

use super::reference::Outcome;
use probe_bench::stats::mean;
use probe_core::Status;
use serde::Serialize;

/// A share below which one cost is not taken for less than another.
const SAME: f64 = 1e-3;
/// Ids that are named, the worst first.
const NAMED: usize = 3;

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    subject: String,
    r: f64,
    people: usize,
    certified: usize,
    /// Mean over people of the answer's cost over that of the best known point.
    mean: f64,
    /// Shares of the compared people above the best known by more than 2, 10 and 50 %.
    above: [f64; 3],
    worst: f64,
    /// People without a certified answer for whom there is a point.
    false_no: usize,
    /// Of these, people who were told that there is none.
    false_none: usize,
    /// Certified answers that did not pass the audit.
    wrong: usize,
    /// Mean over people of what the reference's own search found over the best known cost.
    search: f64,
    /// Share of the people for whom the engine is cheaper than that search.
    beaten: f64,
    worst_ids: Vec<String>,
    false_no_ids: Vec<String>,
}

impl Row {
    pub(super) fn of(subject: &str, r: f64, outcomes: &[Outcome]) -> Self {
        let mut ratios: Vec<(f64, &Outcome)> = outcomes
            .iter()
            .filter(|outcome| !outcome.is_wrong)
            .filter_map(|outcome| Some((outcome.cost? / outcome.best?, outcome)))
            .filter(|(ratio, _)| ratio.is_finite())
            .collect();
        ratios.sort_by(|a, b| b.0.total_cmp(&a.0));
        let n = ratios.len().max(1) as f64;
        let above = |limit: f64| ratios.iter().filter(|(by, _)| *by > limit).count() as f64 / n;
        let denied: Vec<&Outcome> = outcomes
            .iter()
            .filter(|outcome| outcome.cost.is_none() && outcome.best.is_some())
            .collect();
        let beats = |outcome: &&Outcome| match (outcome.cost, outcome.own) {
            (Some(cost), Some(own)) => cost < own * (1.0 - SAME),
            (Some(_), None) => true,
            _ => false,
        };
        let named = |(by, outcome): &(f64, &Outcome)| {
            format!("{} {by:.2} ({})", outcome.id, outcome.source)
        };
        let worst = ratios.iter().filter(|(by, _)| *by > 1.02).take(NAMED).map(named).collect();
        let why = |outcome: &&Outcome| format!("{} {}", outcome.id, outcome.reason);
        Self {
            subject: subject.to_owned(),
            r,
            people: outcomes.len(),
            certified: outcomes.iter().filter(|outcome| outcome.cost.is_some()).count(),
            mean: mean_or_nan(ratios.iter().map(|(by, _)| *by)),
            above: [above(1.02), above(1.1), above(1.5)],
            worst: ratios.first().map_or(f64::NAN, |(by, _)| *by),
            false_no: denied.len(),
            false_none: denied.iter().filter(|o| o.status == Status::None).count(),
            wrong: outcomes.iter().filter(|outcome| outcome.is_wrong).count(),
            search: mean_or_nan(outcomes.iter().filter_map(|o| Some(o.own? / o.best?))),
            beaten: outcomes.iter().filter(beats).count() as f64 / outcomes.len().max(1) as f64,
            worst_ids: worst,
            false_no_ids: denied.iter().take(NAMED).map(why).collect(),
        }
    }

    /// The line in Markdown.
    pub(super) fn line(&self) -> String {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let ids: Vec<String> = self
            .worst_ids
            .iter()
            .cloned()
            .chain(self.false_no_ids.iter().map(|id| format!("no: {id}")))
            .collect();
        format!(
            "| {} | {} | {} | {} | {:.3} | {} | {} | {} | {:.2} | {} ({}) | {} | {:.3}, {} | {} |",
            self.subject,
            self.r,
            self.people,
            percent(self.certified as f64 / self.people.max(1) as f64),
            self.mean,
            percent(self.above[0]),
            percent(self.above[1]),
            percent(self.above[2]),
            self.worst,
            self.false_no,
            self.false_none,
            self.wrong,
            self.search,
            percent(self.beaten),
            ids.join("; ")
        )
    }
}

fn mean_or_nan(values: impl Iterator<Item = f64> + Clone) -> f64 {
    if values.clone().next().is_none() { f64::NAN } else { mean(values) }
}

pub(super) const HEADER: &str = "\
| subject | r | people | certified | cost to best | > 2 % | > 10 % | > 50 % | worst | false no \
(none) | wrong | search to best, engine beats it | worst people |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

pub(super) const COLUMNS: &str = "\
- **cost to best**: mean over people of the certified answer's cost over that of the best known \
point. **> 2 %**, **> 10 %**, **> 50 %**: shares of these people; **worst**: the largest ratio.
- **false no (none)**: people without a certified answer for whom a point is known, and of these \
those with status `none`.
- **wrong**: certified answers that are not favourable, break a rule, or whose rate on 200,000 \
fresh draws is above r by more than four standard errors.
- **search to best, engine beats it**: mean cost of what the reference found without any help of \
the engine over the best known, and share of the people for whom the certified answer is cheaper \
than that by more than 0.1 %.
- **worst people**: case and row in its data, ratio, and who found the best known point; `no`: \
false no with the engine's reason.
";
