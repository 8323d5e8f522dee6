//! Descents from the person's own point.

use super::super::incumbent::Incumbent;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::Generator;
use crate::error::Result;

/// How far the first step of a second attempt goes, in the largest standard deviations of the
/// noise.
const NEAR: f64 = 3.0;

pub(super) struct FromPerson;

impl Generator for FromPerson {
    fn name(&self) -> &'static str {
        "from_person"
    }

    fn applies(&self, _: &Search<'_>, _: Problem<'_>, _: &Incumbent) -> bool {
        true
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        let mut here = problem.factual.to_vec();
        let free = f64::INFINITY;
        search.descend(problem, Precision::FirstOrder, free, &mut here, best)?;
        search.descend(problem, problem.coarse, free, &mut here, best)?;
        if best.cost.is_infinite() {
            // A long first step may end where the margin is flat: try once more from the person,
            // within reach of the noise.
            let near = NEAR * search.margin.largest_sd();
            here.copy_from_slice(problem.factual);
            search.hint.clear();
            // Far from the boundary samples see no slope; the score itself has one everywhere.
            search.descend(problem, Precision::FirstOrder, near, &mut here, best)?;
            search.descend(problem, problem.coarse, near, &mut here, best)?;
        }
        best.first_end.copy_from_slice(&here);
        best.ask_for_polish();
        Ok(())
    }
}
