//! Other starts than the person, where steps from there end at a change of several features: within
//! bounds a network whose score bends has many such ends, of which the first is by far the most
//! expensive for some people. Answers that change one feature are hardly ever beaten, and most
//! people have one.

use super::super::incumbent::Incumbent;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::recourse::SearchEffort;

/// Changes of more features than this are looked at again.
const FEW_CHANGES: usize = 1;
/// How far first steps go when they start once more from the person, in the largest standard
/// deviations of the noise. The first time there was no such limit.
const RADII: [f64; 2] = [3.0, 1.0];
/// Shares of what a single feature may move, and from how many of the points with most margin steps
/// start.
const SHARES: [f64; 2] = [0.3, 1.0];
const MOST: usize = 6;

pub(super) struct Multistart;

impl Generator for Multistart {
    fn name(&self) -> &'static str {
        "multistart"
    }

    fn applies(&self, search: &Search<'_>, problem: Problem<'_>, best: &Incumbent) -> bool {
        search.margin.bends()
            && !search.depends_on_changes()
            && !search.covers(problem)
            && problem.effort != SearchEffort::Quick
            && (problem.n_changed(&best.point) > FEW_CHANGES || best.cost.is_infinite())
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        search.multistart(problem, best)
    }
}

impl Search<'_> {
    /// Descents that start from the person with shorter steps, and from moves of single features.
    fn multistart(&mut self, problem: Problem<'_>, best: &mut Incumbent) -> Result<()> {
        let deviation = self.margin.largest_sd();
        for radius in RADII {
            let mut here = problem.factual.to_vec();
            self.hint.clear();
            let near = radius * deviation;
            self.descend(problem, Precision::FirstOrder, near, &mut here, best)?;
            self.descend(problem, problem.coarse, near, &mut here, best)?;
        }
        for mut start in self.strongest_singles(problem, best.cost, &SHARES, MOST)? {
            self.hint.clear();
            self.descend(problem, problem.coarse, deviation, &mut start, best)?;
        }
        Ok(())
    }

    /// Moves of single features by `shares` of what `cost` pays for; the `most` that have most
    /// margin.
    pub(super) fn strongest_singles(
        &mut self,
        problem: Problem<'_>,
        cost: f64,
        shares: &[f64],
        most: usize,
    ) -> Result<Vec<Vec<f64>>> {
        let factual = problem.factual;
        let mut starts = Vec::new();
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                let Some(room) = self.room(factual, j, way) else { continue };
                let far = room.min(cost / self.task.cost.weight(j, way));
                for share in shares.iter().filter(|_| far.is_finite()) {
                    let mut start = factual.to_vec();
                    start[j] += way * share * far;
                    if self.is_admissible(factual, &start) {
                        starts.push((self.slack(problem, &start, problem.coarse)?, start));
                    }
                }
            }
        }
        // Stable: of equals the first.
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        starts.truncate(most);
        Ok(starts.into_iter().map(|(_, start)| start).collect())
    }
}
