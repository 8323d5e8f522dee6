//! More steps from the best point, where finer measurements show that it falls short and the polish
//! does not get there.
//!
//! The polish changes no further feature. So it fails where every changed feature is at a limit,
//! or no feature is changed. Here steps aim for what the finer measurement misses, and a little
//! more.

use super::super::incumbent::Incumbent;
use super::super::polish::FINEST;
use super::super::problem::{Precision, Problem};
use super::super::search::Search;
use super::Generator;
use crate::error::Result;
use crate::math::normal::upper_quantile;

pub(super) struct ExtraMargin;

impl Generator for ExtraMargin {
    fn name(&self) -> &'static str {
        "extra_margin"
    }

    fn applies(&self, _: &Search<'_>, _: Problem<'_>, best: &Incumbent) -> bool {
        best.cost.is_finite()
    }

    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()> {
        let problem = problem.with_margin(upper_quantile(problem.aim));
        let mut here = best.point.clone();
        search.restrict_support(problem.factual, &here);
        let fine = search.slack(problem, &here, Precision::Lines(FINEST))?;
        let overestimate = search.slack(problem, &here, problem.coarse)? - fine;
        best.measure_again();
        let near = search.margin.largest_sd();
        let stricter = problem.with_margin(problem.z + overestimate.max(0.0) + 2.0 * best.missing);
        search.descend(stricter, problem.coarse, near, &mut here, best)?;
        best.ask_for_polish();
        Ok(())
    }
}
