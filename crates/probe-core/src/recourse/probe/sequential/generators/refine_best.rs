//! A descent from the best point, where that point changes a single feature and no descent has
//! started from it.

use super::super::incumbent::Incumbent;
use super::super::problem::Problem;
use super::super::search::Search;
use super::Generator;
use crate::error::Result;

pub(super) struct RefineBest;

impl Generator for RefineBest {
    fn name(&self) -> &'static str {
        "refine_best"
    }

    fn applies(&self, _: &Search<'_>, _: Problem<'_>, best: &Incumbent) -> bool {
        best.undescended
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        let mut here = best.point.clone();
        search.restrict_support(problem.factual, &here);
        search.descend(problem, problem.coarse, f64::INFINITY, &mut here, best)
    }
}
