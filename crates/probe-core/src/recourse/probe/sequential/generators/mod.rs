//! Generators of candidates: where the search looks for a cheaper, or for any, answer.
//!
//! Each is one file. It proposes starting points, runs the one descent from them, and offers what
//! it finds to the incumbent. To add one, write its file and add it to a stage.

mod accepted_intervals;
mod change_sets;
mod coordinate_search;
mod drop_feature;
mod extra_margin;
mod few_numbers;
mod from_person;
mod more_starts;
mod multistart;
mod refine_best;
mod single_feature;
mod walks;

use super::incumbent::Incumbent;
use super::problem::Problem;
use super::search::Search;
use crate::error::Result;
use crate::recourse::probe::discrete;
use accepted_intervals::AcceptedIntervals;
use change_sets::{ChangeSets, NeighbouringSets};
use coordinate_search::CoordinateSearch;
use drop_feature::DropFeature;
use extra_margin::ExtraMargin;
pub(super) use few_numbers::Covered;
use few_numbers::FewNumbers;
use from_person::FromPerson;
use more_starts::MoreStarts;
use multistart::Multistart;
use refine_best::RefineBest;
use single_feature::SingleFeature;
use walks::Walks;

/// A way to find candidates.
pub(super) trait Generator: Sync {
    /// As the ablation prints it.
    fn name(&self) -> &'static str;

    /// Whether it may help here.
    fn applies(&self, search: &Search<'_>, problem: Problem<'_>, best: &Incumbent) -> bool;

    /// Finds candidates and offers them to `best`.
    fn propose(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        best: &mut Incumbent,
    ) -> Result<()>;

    /// Works on a candidate of its own that the polish has confirmed for `rate`.
    fn finish(
        &self,
        search: &mut Search<'_>,
        problem: Problem<'_>,
        rate: f64,
        here: &mut [f64],
    ) -> Result<()> {
        let _ = (search, problem, rate, here);
        Ok(())
    }
}

/// Generators that run for everybody, in this order; the best of what they find is polished.
const IMPROVE: &[&dyn Generator] = &[
    &FromPerson,
    &ChangeSets,
    &SingleFeature,
    &RefineBest,
    &Multistart,
    &DropFeature,
    &NeighbouringSets,
    &FewNumbers,
    &Walks::USUAL,
];

/// The names of all generators of the search for models that are not linear, and of those for steps
/// and categories ([`crate::Report::source`]).
pub const GENERATORS: &[&str] = &[
    "from_person",
    "change_sets",
    "single_feature",
    "refine_best",
    "multistart",
    "drop_feature",
    "neighbouring_sets",
    "few_numbers",
    "walks",
    "extra_margin",
    "all_walks",
    "accepted_intervals",
    "coordinate_search",
    "more_starts",
    "more_walks",
    discrete::SINGLE_STEP,
    discrete::MIXED_WALKS,
];

/// Where an answer is confirmed already and more work is worth it. What they find is taken only if
/// the polish confirms it too and it costs less.
pub(super) const FURTHER: &[&dyn Generator] = &[&MoreStarts, &Walks::THOROUGH];

/// All other generators. A stage runs only where those before it found no answer that the polish
/// confirmed.
pub(super) const STAGES: &[&[&dyn Generator]] = &[
    IMPROVE,
    &[&ExtraMargin],
    &[&Walks::ANYWHERE],
    &[&AcceptedIntervals],
    &[&CoordinateSearch::FIRST],
    &[&CoordinateSearch::AGAIN],
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_generators() {
        let mut names: Vec<&str> =
            STAGES.iter().chain([&FURTHER]).flat_map(|s| s.iter().map(|g| g.name())).collect();
        names.dedup();
        names.extend([discrete::SINGLE_STEP, discrete::MIXED_WALKS]);
        assert_eq!(names, GENERATORS);
    }
}
