//! Asks a method repeatedly until its proposal has the wanted rate, as estimated by pilot samples.

use super::Case;
use super::judge::SampledJudge;
use super::rounding::Rounding;
use super::sampled::Printed;
use crate::error::Result;
use crate::recourse::{Goal, Proposal, Verdict};

/// Searches with a corrected aim, for a method that searches under the same noise. It fits its own
/// samples, and fresh samples may show a higher rate.
const CORRECTIONS: usize = 3;
/// Searches with a corrected aim, for a method that searches under other noise or none.
const CORRECTIONS_OF_NOISE: usize = 8;

impl Case<'_, '_, SampledJudge<'_>> {
    /// Asks the method once, and prints what it proposes.
    pub(super) fn propose(&mut self, goal: Goal) -> Result<Printed> {
        self.proposer.find(self.rounding.from(), goal)?;
        self.print()
    }

    /// Rounds the proposal to the printed row. If that is a recourse, estimates its rate with pilot
    /// samples.
    pub(super) fn print(&mut self) -> Result<Printed> {
        self.rounding.print(self.person, &self.proposer.proposal.point);
        if let Some(budget) = self.setup().budget {
            self.rounding.step_inward(self.person, budget, self.proposer.cost());
        }
        let mut score = self.rounding.score()?;
        let reached = self.proposer.proposal.verdict == Verdict::Reached;
        // Rounding can put a point back on the other side of a cut.
        if reached && score <= 0.0 && self.setup().budget.is_none() {
            let Self { person, proposer, rounding, .. } = self;
            let accepted =
                |rounding: &Rounding<'_>| Ok(Some(rounding.score()?).filter(|s| *s > 0.0));
            let further = rounding.step_outward(person, &proposer.proposal.point, accepted)?;
            score = further.unwrap_or(score);
        }
        let printed = Printed { score, admissible: self.rounding.is_admissible() };
        if printed.is_recourse() {
            self.judge.run_pilot(self.rounding.change(self.person))?;
        }
        Ok(printed)
    }

    /// Whether the method says that it reached its goal, and `printed` is a recourse.
    fn is_reached(&self, printed: Printed) -> bool {
        printed.is_recourse() && self.proposer.proposal.verdict == Verdict::Reached
    }

    /// Asks for a lower rate if the pilot samples show clearly more than the wanted `rate`. A
    /// search fits its own samples, so that fresh ones may show a higher rate.
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

    /// [`Case::propose`] for a method that searches under other noise: asks again, for a lower or
    /// higher rate, until the pilot samples estimate a rate just below `rate`. Prints the cheapest
    /// row with an estimate of at most `rate`.
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
            // The rate under other noise rises and falls with the real one, but not in proportion.
            asked = (asked * (0.99 * rate / seen.max(0.05 * rate)).clamp(0.2, 3.0)).min(0.999);
        }
        if let Some((_, found)) = best {
            self.proposer.proposal = found;
            last = self.print()?;
        } else if self.proposer.looks_far() {
            self.proposer.find_far(self.rounding.from(), rate)?;
            last = self.print()?;
        }
        Ok(last)
    }
}
