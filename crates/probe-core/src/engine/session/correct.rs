//! Asks a method until what it proposes has the rate that was asked for, as pilot samples see it.

use super::Case;
use super::judge::SampledJudge;
use super::sampled::Printed;
use crate::error::Result;
use crate::recourse::{Goal, Proposal, Verdict};

/// Searches that correct what a search on samples of its own asked for.
const CORRECTIONS: usize = 3;
/// Searches that correct the aim of a method which does not know the noise itself.
const CORRECTIONS_OF_NOISE: usize = 8;

impl Case<'_, '_, SampledJudge<'_>> {
    /// Asks the method once, and prints what it proposes.
    pub(super) fn propose(&mut self, goal: Goal) -> Result<Printed> {
        self.proposer.find(self.rounding.from(), goal)?;
        self.print()
    }

    /// Prints what the method proposed. The sampler looks at the row, if it is a recourse.
    pub(super) fn print(&mut self) -> Result<Printed> {
        self.rounding.print(self.person, &self.proposer.proposal.point);
        if let Some(budget) = self.setup().budget {
            self.rounding.step_inward(self.person, budget, self.proposer.cost());
        }
        let score = self.rounding.score()?;
        let printed = Printed { score, admissible: self.rounding.is_admissible() };
        if printed.is_recourse() {
            self.judge.look(self.rounding.change(self.person))?;
        }
        Ok(printed)
    }

    /// Whether the method says that it reached its goal, and `printed` is a recourse.
    fn is_reached(&self, printed: Printed) -> bool {
        printed.is_recourse() && self.proposer.proposal.verdict == Verdict::Reached
    }

    /// Asks for less where the pilot samples see clearly more than the `rate` that was asked for: a
    /// search fits its own samples.
    pub(super) fn correct(&mut self, rate: f64, mut printed: Printed) -> Result<Printed> {
        let mut asked = rate;
        for _ in 0..CORRECTIONS {
            let sampler = &self.judge.sampler;
            let (mean, doubt) = (sampler.mean(), 2.0 * sampler.std_error());
            if !self.is_reached(printed) || mean <= 1.02 * rate + doubt {
                break;
            }
            asked *= (rate / mean).max(0.3);
            printed = self.propose(Goal::Rate(asked))?;
        }
        Ok(printed)
    }

    /// [`Case::propose`] for a method that searched under other noise: asks again, for a lower or a
    /// higher rate, until the rate that the pilot samples see is just below `rate`. Of the rows
    /// that are, the cheapest is taken.
    pub(super) fn propose_corrected(&mut self, rate: f64) -> Result<Printed> {
        let mut asked = rate;
        let mut best: Option<(f64, Proposal)> = None;
        let mut last = Printed { score: f64::NAN, admissible: false };
        for _ in 0..CORRECTIONS_OF_NOISE {
            last = self.propose(Goal::Rate(asked))?;
            if !self.is_reached(last) {
                break;
            }
            let seen = self.judge.sampler.mean();
            let cost = self.rounding.cost(self.proposer.search_cost());
            if seen <= rate && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, self.proposer.proposal.clone()));
            }
            if seen <= rate && seen >= 0.98 * rate {
                break;
            }
            // The rate under other noise moves with the real one, if not in step.
            asked = (asked * (0.99 * rate / seen.max(0.05 * rate)).clamp(0.2, 3.0)).min(0.999);
        }
        if let Some((_, found)) = best {
            self.proposer.proposal = found;
            last = self.print()?;
        }
        Ok(last)
    }
}
