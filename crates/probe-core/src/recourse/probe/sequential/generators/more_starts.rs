//! More starts and more neighbours of the answer, for people who are worth the work
//! ([`SearchEffort::Thorough`]): moves of single features and of pairs of them, and the answer
//! without one of its changes.

use super::super::incumbent::Incumbent;
use super::super::problem::Problem;
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::recourse::SearchEffort;

/// Shares of what a single feature may move at the cost of the answer, and from how many of the
/// points with most margin descents start.
const SHARES: [f64; 3] = [0.3, 0.6, 1.0];
const SINGLES: usize = 16;
/// How many of these are taken in pairs, each half as far.
const PAIRED: usize = 6;

pub(super) struct MoreStarts;

impl Generator for MoreStarts {
    fn name(&self) -> &'static str {
        "more_starts"
    }

    fn applies(&self, _: &Search<'_>, problem: Problem<'_>, best: &Incumbent) -> bool {
        problem.effort == SearchEffort::Thorough && best.cost.is_finite()
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        let factual = problem.factual;
        let singles = search.strongest_singles(problem, best.cost, &SHARES, SINGLES)?;
        let mut starts = neighbours(factual, &best.point);
        starts.extend(pairs(factual, &singles));
        starts.extend(singles);
        let near = search.margin.largest_sd();
        for mut start in starts {
            if problem.budget.is_exhausted() {
                break;
            }
            if search.is_admissible(factual, &start) {
                search.hint.clear();
                search.restrict_support(factual, &start);
                search.descend(problem, problem.coarse, near, &mut start, best)?;
            }
        }
        best.ask_for_polish();
        Ok(())
    }
}

/// The answer without one of its changes, for each of them.
fn neighbours(factual: &[f64], point: &[f64]) -> Vec<Vec<f64>> {
    let changed = (0..point.len()).filter(|&j| point[j] != factual[j]);
    let without = |j: usize| {
        let mut start = point.to_vec();
        start[j] = factual[j];
        start
    };
    changed.map(without).filter(|start| start != factual).collect()
}

/// Pairs of the strongest moves, each half as far.
fn pairs(factual: &[f64], singles: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let few = &singles[..singles.len().min(PAIRED)];
    let mut found = Vec::new();
    for (i, a) in few.iter().enumerate() {
        for b in &few[i + 1..] {
            let middle = |j: usize| factual[j] + 0.5 * (a[j] - factual[j] + b[j] - factual[j]);
            found.push((0..factual.len()).map(middle).collect());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_pairs_of_a_small_answer() {
        let factual = [0.0, 1.0, 2.0];
        assert_eq!(neighbours(&factual, &[0.5, 1.0, 2.0]), Vec::<Vec<f64>>::new());
        assert_eq!(
            neighbours(&factual, &[0.5, 1.0, 3.0]),
            [[0.0, 1.0, 3.0], [0.5, 1.0, 2.0]].map(Vec::from)
        );
        let singles = [vec![1.0, 1.0, 2.0], vec![0.0, 3.0, 2.0]];
        assert_eq!(pairs(&factual, &singles), [vec![0.5, 2.0, 2.0]]);
    }
}
