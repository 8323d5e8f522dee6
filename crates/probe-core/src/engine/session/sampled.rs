//! Answers whose rate has no closed form. They are searched on one set of samples, certified on a
//! second, and their rate is reported from a third.
//!
//! The search aims slightly below the target. Its point is rounded to the printed row, and that row
//! is tested on fresh samples by a betting test, which may stop at any time. If the test fails, the
//! search aims lower, and the next attempt uses a part of the remaining error probability.
//!
//! The certificates of all people read the same pool of fresh errors, drawn once per run. Each
//! certificate is valid on its own. What is tested (the printed row, the direction of the lines,
//! the expected stakes) never depends on the samples that test it: each attempt reads a segment of
//! its own. The error probability is split over attempts and over the points of a frontier. False
//! certificates of different people are not independent of each other, but their expected share is
//! as promised.

use super::Case;
use super::certify::Attempt;
use super::judge::SampledJudge;
use crate::engine::answer::Answer;
use crate::engine::outcome::{Evidence, Judgement, Nearest, Outcome};
use crate::error::Result;

/// The printed row of a proposal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Printed {
    pub(super) score: f64,
    pub(super) admissible: bool,
}

impl Printed {
    /// Whether the row is favourable and admissible. NaN counts as a rejection.
    pub(super) fn is_recourse(self) -> bool {
        self.score > 0.0 && self.admissible
    }
}

impl Case<'_, '_, SampledJudge<'_>> {
    /// The recourse for one target rate. `of` answers share the error probability; this is one of
    /// them.
    pub(super) fn recourse(
        &mut self,
        (max_rate, of): (f64, usize),
        answer: &mut Answer,
    ) -> Result<()> {
        let score = self.enter()?;
        if score > 0.0 {
            let rate = self.judge.report(self.rounding.no_change(self.person), max_rate)?;
            if !(self.setup().also_favourable && rate.value > max_rate) {
                answer.fill(&self.asked(score, max_rate), Outcome::Favourable(rate));
                return Ok(());
            }
        }
        let (printed, attempt) = self.attempt(max_rate, of)?;
        match printed.is_recourse() {
            true => self.fill_recourse((score, max_rate), (printed, attempt), answer),
            false => self.fill_none((score, max_rate), printed, answer),
        }
    }

    /// Fills in an answer without recourse.
    fn fill_none(
        &mut self,
        (score, max_rate): (f64, f64),
        printed: Printed,
        answer: &mut Answer,
    ) -> Result<()> {
        let own = self.judge.report(self.rounding.no_change(self.person), max_rate)?;
        let mut best_rate = own.value;
        if printed.admissible {
            let change = self.rounding.change(self.person);
            best_rate = self.judge.report(change, max_rate)?.value.min(own.value);
        }
        let proof = self.prove((score, max_rate), None)?;
        let nearest = Nearest {
            row: printed.admissible.then(|| self.rounding.row()),
            best_rate: Some(best_rate),
            verdict: self.proposer.proposal.verdict,
            exact: None,
            proof,
        };
        answer.fill(&self.asked(score, max_rate), Outcome::None { own, nearest });
        Ok(())
    }

    /// Fills in a recourse. The pilot samples were drawn around it.
    fn fill_recourse(
        &mut self,
        (score, max_rate): (f64, f64),
        (printed, attempt): (Printed, Attempt),
        answer: &mut Answer,
    ) -> Result<()> {
        let rate = self.judge.sampler.report(max_rate)?;
        let cost = self.rounding.cost(self.proposer.cost());
        let proof = self.prove((score, max_rate), attempt.certified.then_some(cost))?;
        let judgement = Judgement { score: printed.score, rate };
        let std_error = self.judge.sampler.std_error_of_report();
        let evidence =
            Evidence::Sampled { certified: attempt.certified, upper: attempt.upper, std_error };
        let recourse = self.printed_recourse((judgement, cost), evidence, proof);
        answer.fill(&self.asked(score, max_rate), Outcome::Recourse(recourse));
        Ok(())
    }
}
