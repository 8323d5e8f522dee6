//! Where steps end without an answer, because scores jump or bend: one feature after the other to
//! wherever the margin is largest, over all of its range. Slow, and for those few whom nothing else
//! helps.

use super::super::incumbent::Incumbent;
use super::super::polish::FINEST;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::super::{COARSE, GLANCE};
use super::Generator;
use crate::error::Result;
use crate::math::normal::upper_quantile;
use crate::recourse::{Reason, SearchEffort};
use crate::seed::Purpose;
use std::sync::Arc;

/// Places of a feature that are looked at in one round, rounds, and rounds without a gain that end
/// it.
const PLACES: usize = 16;
const ROUNDS: usize = 8;
const VAIN: usize = 2;
/// Random combinations of places, and the number of their stream.
const COMBINATIONS: usize = 192;
const COMBINED: u64 = 10;
/// Points that are started from besides the person and the best so far.
const STARTS: usize = 4;
/// Lines, or as many samples as are worth them, for one look.
const LINES: usize = 16;
/// What a refused point's own score counts for, at most, in units of the margin: less than what
/// being refused costs.
const PULL: f64 = 0.01;
/// Halvings that take back what a change need not have.
const HALVINGS: usize = 10;

pub(super) struct CoordinateSearch {
    /// Margin to spare that is looked for: measurements on fewer samples are less sharp.
    spare: f64,
    /// Whether it runs only where the polish lost what the first run found.
    again: bool,
}

impl CoordinateSearch {
    pub(super) const FIRST: Self = Self { spare: 0.1, again: false };
    pub(super) const AGAIN: Self = Self { spare: 0.4, again: true };
}

impl Generator for CoordinateSearch {
    fn name(&self) -> &'static str {
        "coordinate_search"
    }

    fn applies(&self, _: &Search<'_>, problem: Problem<'_>, best: &Incumbent) -> bool {
        problem.effort != SearchEffort::Quick && (!self.again || best.last_polished == self.name())
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        let problem = problem.with_margin(problem.z + self.spare);
        if search.coordinate_search(problem, best)? {
            best.ask_for_polish();
        }
        Ok(())
    }

    /// Steps do not take back what jumps, nor what bends on the way.
    fn finish(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        rate: f64,
        here: &mut [f64],
    ) -> Result<()> {
        let lines = search.tuning.closer.unwrap_or(FINEST);
        search.shorten(problem.with_margin(upper_quantile(rate)), lines, here)
    }
}

impl Search<'_> {
    /// Looks far and wide for a point with margin `z`; offers it to `best` and says whether there
    /// is one.
    pub(super) fn coordinate_search(
        &mut self,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<bool> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let mut stops = vec![Vec::new(); factual.len()];
        for (j, stops) in
            stops.iter_mut().enumerate().filter(|(j, _)| task.actions.is_mutable_numeric(*j))
        {
            if let Some(range) = task.actions.interval(j, factual[j]) {
                self.margin.stops_into(j, range, stops);
            }
        }
        let hopeless = self.margin.infeasibility(factual, &task.actions);
        if stops.iter().all(Vec::is_empty)
            || hopeless.is_some_and(|reason| reason != Reason::NotFound)
        {
            return Ok(false);
        }
        let mut starts = vec![factual.to_vec()];
        if best.most_robust != factual && self.is_admissible(factual, &best.most_robust) {
            // Steps see more where lines bend than is there.
            best.slack = self.worth(problem, &best.most_robust, COARSE)?;
            starts.push(best.most_robust.clone());
        }
        starts.extend(self.other_starts(problem)?);
        starts.extend(self.combined_starts(problem, &stops)?);
        best.cost = f64::INFINITY;
        for mut here in starts {
            let worth = self.worth(problem, &here, LINES)?;
            best.offer_accepted(
                &here,
                worth,
                self.favourable && self.is_admissible(factual, &here),
            );
            self.climb(problem, &stops, &mut here)?;
            let worth = self.worth(problem, &here, COARSE)?;
            if worth < 0.0 {
                best.offer_accepted(&here, worth, self.favourable);
                best.offer(&here, f64::INFINITY, worth);
                continue;
            }
            self.shorten(problem, COARSE, &mut here)?;
            self.restrict_support(factual, &here);
            best.offer(&here, task.cost.between(factual, &here), 0.0);
            let near = 0.5 * self.margin.largest_sd();
            self.descend(problem, Precision::Lines(COARSE), near, &mut here, best)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// What the margin proposes to start from; of many, those with most margin.
    fn other_starts(&mut self, problem: Problem<'_>) -> Result<Vec<Vec<f64>>> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let mut starts = Vec::new();
        self.margin.starts_into(factual, &task, &mut starts);
        if starts.len() <= STARTS {
            return Ok(starts);
        }
        let mut worths = Vec::with_capacity(starts.len());
        for start in
            starts.into_iter().filter(|start| task.actions.violations(factual, start).is_empty())
        {
            worths.push((self.worth(problem, &start, GLANCE)?, start));
        }
        // Stable: of equals the first.
        worths.sort_by(|a, b| b.0.total_cmp(&a.0));
        worths.truncate(STARTS);
        Ok(worths.into_iter().map(|(_, start)| start).collect())
    }

    /// Of random combinations of the features' `stops`, those with most margin: one feature after
    /// the other does not lead to what two must change for together.
    fn combined_starts(
        &mut self,
        problem: Problem<'_>,
        stops: &[Vec<f64>],
    ) -> Result<Vec<Vec<f64>>> {
        let (factual, task) = (problem.factual, Arc::clone(&self.task));
        let mut stream = task.seed.stream(Purpose::Search, COMBINED);
        let mut worths = Vec::with_capacity(COMBINATIONS);
        for _ in 0..COMBINATIONS {
            let mut x = factual.to_vec();
            for (x, stops) in x.iter_mut().zip(stops).filter(|(_, stops)| !stops.is_empty()) {
                match stream.below(4) {
                    0 => {}
                    // The outermost as often as all others.
                    1 => *x = stops[(stops.len() - 1) * stream.below(2)],
                    _ => *x = stops[stream.below(stops.len())],
                }
            }
            if !problem.budget.is_exhausted() && self.is_admissible(factual, &x) {
                worths.push((self.worth(problem, &x, GLANCE)?, x));
            }
        }
        // Stable: of equals the first.
        worths.sort_by(|a, b| b.0.total_cmp(&a.0));
        worths.truncate(STARTS);
        Ok(worths.into_iter().map(|(_, start)| start).collect())
    }

    /// [`Search::slack`], by which points that are refused themselves differ by their score, too.
    fn worth(&mut self, problem: Problem<'_>, x: &[f64], lines: usize) -> Result<f64> {
        let factual = problem.factual;
        self.restrict_support(factual, x);
        let slack = self.closer_slack(problem, x, lines)?;
        if self.favourable {
            return Ok(slack);
        }
        let model = &self.task.model;
        let (score, own) = (model.score(x)?, model.score(factual)?.abs());
        let pull = score / (score.abs() + own.max(f64::MIN_POSITIVE));
        Ok(slack + if pull.is_finite() { PULL * pull } else { 0.0 })
    }

    /// Moves one feature after the other to the best of its `stops`, the cheapest of those that
    /// meet the target.
    fn climb(&mut self, problem: Problem<'_>, stops: &[Vec<f64>], here: &mut [f64]) -> Result<()> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let mut best = self.worth(problem, here, LINES)?.min(0.0);
        let mut vain = 0;
        for round in 0..ROUNDS {
            let before = best;
            for (j, stops) in stops.iter().enumerate() {
                if problem.budget.is_exhausted() {
                    return Ok(());
                }
                let (mut to, mut cost) = (here[j], task.cost.between(factual, here));
                let old = here[j];
                let n = stops.len().min(PLACES);
                // Other places in each round, the outermost in the first.
                let place = |i: usize| match round {
                    0 => i * (stops.len() - 1) / (n - 1).max(1),
                    _ => (i * stops.len() + round * stops.len() / ROUNDS) / n,
                };
                let values = (0..n).map(|i| stops[place(i)]).chain([factual[j]]);
                for value in values.filter(|value| *value != old) {
                    here[j] = value;
                    if !self.is_admissible(factual, here) {
                        continue;
                    }
                    let worth = self.worth(problem, here, LINES)?.min(0.0);
                    let price = task.cost.between(factual, here);
                    if worth > best || (worth == best && price < cost) {
                        (best, to, cost) = (worth, value, price);
                    }
                }
                here[j] = to;
            }
            vain = if best > before { 0 } else { vain + 1 };
            if vain == VAIN || best >= 0.0 && self.worth(problem, here, COARSE)? >= 0.0 {
                break;
            }
        }
        Ok(())
    }

    /// Takes back of each change what the target does not need, the most expensive first.
    pub(super) fn shorten(
        &mut self,
        problem: Problem<'_>,
        lines: usize,
        here: &mut [f64],
    ) -> Result<()> {
        let factual = problem.factual;
        let task = Arc::clone(&self.task);
        let cost = &task.cost;
        let price = |x: f64, j: usize| cost.weight(j, x - factual[j]) * (x - factual[j]).abs();
        let mut order: Vec<usize> = (0..here.len()).filter(|&j| here[j] != factual[j]).collect();
        order.sort_by(|&a, &b| price(here[b], b).total_cmp(&price(here[a], a)).then(a.cmp(&b)));
        for j in order {
            let whole = here[j];
            let (mut enough, mut short) = (1.0, 0.0);
            for halving in 0..=HALVINGS {
                let share = if halving == 0 { 0.0 } else { 0.5 * (enough + short) };
                here[j] = factual[j] + share * (whole - factual[j]);
                let meets =
                    self.is_admissible(factual, here) && self.worth(problem, here, lines)? >= 0.0;
                *(if meets { &mut enough } else { &mut short }) = share;
                if enough == 0.0 {
                    break;
                }
            }
            here[j] =
                if enough == 1.0 { whole } else { factual[j] + enough * (whole - factual[j]) };
        }
        Ok(())
    }
}
