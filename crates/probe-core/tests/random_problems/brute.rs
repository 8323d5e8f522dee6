//! The most robust admissible row by brute force: every row of a grid, points anywhere, and small
//! random moves from the best of them.

use crate::chance::Chance;
use crate::subject::{Draws, Problem};

/// Rows of the grid at most; a random selection of them where there are more.
const ROWS: usize = 40_000;
/// Points anywhere.
const SCATTERED: usize = 6_000;
/// Draws that tell a rate at first, those of small moves, and those of the last ones.
const GLANCE: usize = 60;
const CLOSE: usize = 400;
const LAST: usize = 3_000;
/// Draws of the rate that is reported, none of which the search has seen.
pub(crate) const FRESH: usize = 20_000;
/// Rows from which small moves start, and how many each makes.
const STARTS: usize = 16;
const MOVES: usize = 80;

/// The most robust row and its rate on fresh draws; `None` if no accepted row was seen.
pub(crate) fn most_robust(problem: &Problem, chance: &mut Chance) -> Option<(Vec<f64>, f64)> {
    let draws = problem.draws(LAST, chance);
    let mut seen: Vec<(f64, Vec<f64>)> = Vec::new();
    let mut worst_kept = f64::INFINITY;
    let mut look = |row: &[f64]| {
        if !problem.is_admissible(row) || problem.score(row) <= 0.0 {
            return;
        }
        let rate = problem.rate(row, &draws, GLANCE);
        if rate < worst_kept || seen.len() < STARTS {
            seen.push((rate, row.to_vec()));
            if seen.len() >= 8 * STARTS {
                seen.sort_by(|a, b| a.0.total_cmp(&b.0));
                seen.truncate(STARTS);
                worst_kept = seen[STARTS - 1].0;
            }
        }
    };
    grid(problem, chance, &mut look);
    for _ in 0..SCATTERED {
        look(&anywhere(problem, chance));
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    seen.truncate(STARTS);
    let best = seen
        .into_iter()
        .map(|(_, row)| climb(problem, row, &draws, chance))
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let rate = problem.rate(&best.1, &problem.draws(FRESH, chance), FRESH);
    Some((best.1, rate))
}

/// Every row of a grid.
fn grid(problem: &Problem, chance: &mut Chance, look: &mut dyn FnMut(&[f64])) {
    let n_free = problem.columns.iter().filter(|column| column.is_free_number()).count();
    let points = [2, 600, 45, 15, 9][n_free.min(4)];
    let values: Vec<Vec<f64>> = problem
        .columns
        .iter()
        .zip(&problem.person)
        .map(|(column, from)| column.values(*from, points))
        .collect();
    let all: usize = values.iter().map(Vec::len).product();
    for number in 0..all.min(ROWS) {
        let mut rest = if all <= ROWS { number } else { chance.below(all) };
        let value = |values: &Vec<f64>| {
            let value = values[rest % values.len()];
            rest /= values.len();
            value
        };
        let row: Vec<f64> = values.iter().map(value).collect();
        look(&row);
    }
}

/// A row with random values of some features.
fn anywhere(problem: &Problem, chance: &mut Chance) -> Vec<f64> {
    let mut row = problem.person.clone();
    for (k, column) in problem.columns.iter().enumerate() {
        if chance.one_in(3) {
            continue;
        }
        if column.is_free_number() {
            let (low, high) = column.reach(problem.person[k]);
            let to = chance.between(low, high);
            row[k] = if chance.one_in(8) { chance.pick(&[low, high]) } else { to };
        } else {
            let values = column.values(problem.person[k], 2);
            row[k] = values[chance.below(values.len())];
        }
    }
    row
}

/// Small random moves for a lower rate, from `row`. The rate is that of many draws.
fn climb(
    problem: &Problem,
    mut row: Vec<f64>,
    draws: &Draws,
    chance: &mut Chance,
) -> (f64, Vec<f64>) {
    let mut rate = problem.rate(&row, draws, CLOSE);
    for i in 0..MOVES {
        let width = 0.2 * (1.0 - i as f64 / MOVES as f64).powi(3) + 0.002;
        let mut trial = row.clone();
        for (k, column) in problem.columns.iter().enumerate() {
            let (low, high) = column.reach(problem.person[k]);
            if column.is_free_number() && (low < high) && row[k] != problem.person[k] {
                let to = row[k] + width * (high - low) * chance.normal();
                trial[k] = to.clamp(low, high);
            }
        }
        if problem.is_admissible(&trial) && problem.score(&trial) > 0.0 {
            let then = problem.rate(&trial, draws, CLOSE);
            if then < rate {
                (rate, row) = (then, trial);
            }
        }
    }
    (problem.rate(&row, draws, LAST), row)
}
