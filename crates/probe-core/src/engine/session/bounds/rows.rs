//! All possible rows, if everything that may change is countable.
//!
//! Rows are printed and judged like answers, in ascending order of cost. A row is not an answer if
//! it is not admissible, if it is rejected, or if its exact rate is above the target. The cost of
//! the first row that may be an answer is a lower bound; if there is no such row, there is no
//! answer.

use super::{Bound, Make, Person};
use crate::engine::outcome::Proof;
use crate::error::Result;
use crate::recourse::{Reason, Task};

/// Most rows that are judged to show that there is no answer.
const MOST_ROWS: usize = 100_000;
/// Most rows that are judged to show that no answer is cheaper than the one found.
const MOST_CHEAPER_ROWS: usize = 512;
/// Most exact rates that are computed for one person.
const MOST_RATES: usize = 2_048;
/// Costs that differ by less than this share count as equal.
const ROUNDING: f64 = 1e-9;

pub(super) const MAKE: Make = |engine| {
    let task = engine.task();
    let actions = &task.actions;
    let countable = |j: usize| !actions.is_mutable_numeric(j) || actions.grid(j).is_some();
    let n = actions.n_features();
    (0..n).all(countable).then(|| Box::new(Rows { task }) as _)
};

struct Rows<'e> {
    task: &'e Task,
}

/// One value that a feature or a category may take: its columns with their values, and what the
/// change adds to the norm's total.
struct Choice {
    total: f64,
    values: Vec<(usize, f64)>,
}

impl Bound for Rows<'_> {
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()> {
        let below = person.answer_cost.map_or(f64::INFINITY, |cost| cost * (1.0 - ROUNDING));
        let most = if person.answer_cost.is_some() { MOST_CHEAPER_ROWS } else { MOST_ROWS };
        let Some(choices) = self.choices(person) else { return Ok(()) };
        let Some(rows) = self.rows(person, &choices, below, most) else { return Ok(()) };
        let printed = person.rounding.keep();
        let found = first_possible_answer(person, &choices, &rows);
        person.rounding.restore(printed);
        *proof = proof.and(&match (found?, person.answer_cost) {
            (Ok(least), _) => Proof::certain(least),
            (Err(_), Some(answer_cost)) => Proof::certain(answer_cost),
            (Err(Reason::InfeasibleWithinBounds), None) if self.limits_changes(&choices) => {
                Proof::none(Reason::InfeasibleWithinMaxChanges)
            }
            (Err(reason), None) => Proof::none(reason),
        });
        Ok(())
    }
}

impl Rows<'_> {
    /// The choices of each feature and category, the person's own value first. `None` if there are
    /// too many, or if a feature has no admissible value.
    fn choices(&self, person: &Person<'_, '_>) -> Option<Vec<Vec<Choice>>> {
        let (actions, cost, from) = (&self.task.actions, person.cost, person.rounding.from());
        let norm = cost.norm();
        let mut all = Vec::new();
        for (j, &x) in from.iter().enumerate().filter(|(j, _)| actions.is_mutable_numeric(*j)) {
            let (grid, (low, high)) = (actions.grid(j)?, actions.interval(j, x)?);
            let (first, last) = (grid.above(low), grid.below(high));
            let n = ((last - first) / grid.step).round();
            if n.is_nan() || n >= MOST_ROWS as f64 {
                return None;
            }
            let own = std::iter::once(x);
            let steps = (0..=n.max(-1.0) as i64).map(|k| first + grid.step * k as f64);
            let choice = |to: f64| Choice {
                total: norm.add(0.0, cost.weight(j, to - x) * (to - x).abs()),
                values: vec![(j, to)],
            };
            all.push(own.chain(steps.filter(|to| *to != x)).map(choice).collect());
        }
        for (g, group) in actions.groups().iter().enumerate() {
            let current = group.option_of(from)?;
            let may = |o: &usize| {
                *o != current && actions.is_mutable_group(g) && group.allows(current, *o)
            };
            let others = (0..group.n_options()).filter(may);
            let choice = |o: usize| Choice {
                total: cost.of_choice(group, current, o),
                values: group.columns().iter().copied().zip(group.values(o).to_vec()).collect(),
            };
            all.push(std::iter::once(current).chain(others).map(choice).collect());
        }
        Some(all)
    }

    /// Whether the limit on the number of changes can bind.
    fn limits_changes(&self, choices: &[Vec<Choice>]) -> bool {
        let movable = choices.iter().filter(|feature| feature.len() > 1).count();
        self.task.actions.max_changes().is_some_and(|most| most < movable)
    }

    /// Rows that cost less than `below`, as numbers of choices, with their totals and in ascending
    /// order of them; `None` if there are more than `most`.
    fn rows(
        &self,
        person: &Person<'_, '_>,
        choices: &[Vec<Choice>],
        below: f64,
        most: usize,
    ) -> Option<Vec<(f64, Vec<u32>)>> {
        let norm = person.cost.norm();
        let limit = if below.is_finite() { norm.total_of(below) } else { f64::INFINITY };
        let changes = self.task.actions.max_changes().unwrap_or(usize::MAX);
        let mut rows: Vec<(f64, usize, Vec<u32>)> = vec![(0.0, 0, Vec::new())];
        for feature in choices {
            let mut longer = Vec::new();
            for (total, n_changed, row) in &rows {
                for (k, choice) in (0u32..).zip(feature) {
                    let total = norm.join(*total, choice.total);
                    let n_changed = n_changed + usize::from(k > 0);
                    if total < limit && n_changed <= changes {
                        let mut row = row.clone();
                        row.push(k);
                        longer.push((total, n_changed, row));
                    }
                }
                if longer.len() > most {
                    return None;
                }
            }
            rows = longer;
        }
        let mut rows: Vec<_> = rows.into_iter().map(|(total, _, row)| (total, row)).collect();
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(rows)
    }
}

/// The cost of the first of these rows that may be an answer, or the reason why none is.
fn first_possible_answer(
    person: &mut Person<'_, '_>,
    choices: &[Vec<Choice>],
    rows: &[(f64, Vec<u32>)],
) -> Result<std::result::Result<f64, Reason>> {
    let (mut rejected, mut rates) = (Reason::NoAdmissibleMove, 0);
    let mut point = person.rounding.from().to_vec();
    for (_, row) in rows {
        for (feature, &k) in choices.iter().zip(row) {
            feature[k as usize].values.iter().for_each(|&(j, to)| point[j] = to);
        }
        person.rounding.print(person.raw, &point);
        if may_be_an_answer(person, &mut rejected, &mut rates)? {
            return Ok(Ok(person.rounding.cost(person.cost)));
        }
    }
    Ok(Err(rejected))
}

/// Whether the printed row may be an answer. `rejected` is the reason why no row so far is one, and
/// `rates` counts the exact rates computed so far.
fn may_be_an_answer(
    person: &mut Person<'_, '_>,
    rejected: &mut Reason,
    rates: &mut usize,
) -> Result<bool> {
    let rounding = &*person.rounding;
    if *rejected == Reason::NoAdmissibleMove && rounding.n_changed(person.raw) > 0 {
        *rejected = Reason::InfeasibleWithinBounds;
    }
    let score = rounding.score()?;
    // NaN counts as a rejection.
    if !(rounding.is_admissible() && score > 0.0) {
        return Ok(false);
    }
    *rejected = Reason::RateNotReachable;
    if !person.judge.expects_exact_rates() || *rates >= MOST_RATES {
        return Ok(true);
    }
    *rates += 1;
    let rate = person.judge.rate_if_exact(rounding.change(person.raw), score)?;
    Ok(rate.is_none_or(|rate| rate <= person.max_rate))
}
