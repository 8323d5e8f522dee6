//! Answers whose rate has a closed form: propose, print, judge.

use super::Case;
use super::judge::{ExactJudge, Judge};
use crate::engine::answer::Answer;
use crate::engine::outcome::{Evidence, Judgement, Nearest, Outcome, Rate, Recourse};
use crate::error::Result;
use crate::noise::NoiseOn;
use crate::recourse::{Goal, Verdict};

/// Shares of the target by which a lower rate is asked for, if rounding missed the target and
/// steps of single ulps do not repair that.
const LOWER: [f64; 4] = [1e-9, 1e-7, 1e-5, 1e-3];

impl Case<'_, '_, ExactJudge<'_>> {
    /// The recourse for one target rate.
    #[inline]
    pub(super) fn recourse(&mut self, max_rate: f64, answer: &mut Answer) -> Result<()> {
        let now = self.start()?;
        if self.is_settled(now, max_rate, answer) {
            return Ok(());
        }
        let goal = self.setup().budget.map_or(Goal::Rate(max_rate), Goal::Budget);
        self.proposer.find(self.rounding.from(), goal)?;
        self.answer(now, max_rate, answer)
    }

    /// One recourse per target rate. The method shares work between them.
    pub(super) fn frontier(&mut self, rates: &[f64]) -> Result<Vec<Answer>> {
        let now = self.start()?;
        let mut answers = vec![Answer::new(self.person.len()); rates.len()];
        let proposals = self.proposer.find_all(self.rounding.from(), rates)?;
        for ((answer, proposal), &rate) in answers.iter_mut().zip(proposals).zip(rates) {
            if !self.is_settled(now, rate, answer) {
                self.proposer.proposal = proposal;
                self.answer(now, rate, answer)?;
            }
        }
        Ok(answers)
    }

    /// Score and rate of the person as they are. The rate is NaN for a rejected person: it is
    /// reported only if they have no recourse, and computed then.
    #[inline]
    fn start(&mut self) -> Result<Judgement> {
        let score = self.enter()?;
        let rate = if score > 0.0 { self.own_rate(score)? } else { f64::NAN };
        Ok(Judgement { score, rate })
    }

    fn own_rate(&mut self, score: f64) -> Result<f64> {
        self.judge.rate(self.rounding.no_change(self.person), score)
    }

    /// Whether the person needs no recourse; fills in the answer if so.
    #[inline]
    fn is_settled(&self, now: Judgement, max_rate: f64, answer: &mut Answer) -> bool {
        let seeks = self.setup().also_favourable && now.rate > max_rate;
        let settled = now.score > 0.0 && !seeks;
        if settled {
            let outcome = Outcome::Favourable(Rate::exact(now.rate));
            answer.fill(&self.asked(now.score, max_rate), outcome);
        }
        settled
    }

    /// Prints and judges what the method proposed.
    fn answer(&mut self, now: Judgement, max_rate: f64, answer: &mut Answer) -> Result<()> {
        let judgement = self.print(max_rate)?;
        let admissible = self.rounding.is_admissible();
        if !(judgement.is_favourable() && admissible) {
            return self.no_recourse(now, max_rate, (judgement, admissible), answer);
        }
        let recourse = Recourse {
            row: self.rounding.row(),
            judgement,
            cost: self.rounding.cost(self.proposer.cost()),
            changed: self.rounding.n_changed(self.person),
            outside_range: self.rounding.outside_range(self.person),
            verdict: self.proposer.proposal.verdict,
            claimed: self.proposer.proposal.claimed,
            source: self.proposer.proposal.source,
            evidence: Evidence::Exact,
        };
        answer.fill(&self.asked(now.score, max_rate), Outcome::Recourse(recourse));
        Ok(())
    }

    /// Prints the proposal, and moves the row further if rounding missed the target or the budget.
    #[inline]
    fn print(&mut self, max_rate: f64) -> Result<Judgement> {
        self.rounding.print(self.person, &self.proposer.proposal.point);
        if let Some(budget) = self.setup().budget {
            self.rounding.step_inward(self.person, budget, self.proposer.cost());
            return self.judge.judge(self.rounding, self.person);
        }
        let judgement = self.judge.judge(self.rounding, self.person)?;
        let lost = self.proposer.proposal.verdict == Verdict::Reached && !judgement.meets(max_rate);
        if !lost {
            return Ok(judgement);
        }
        let Self { person, proposer, rounding, judge, .. } = self;
        let further = rounding.step_outward(person, &proposer.proposal.point, |rounding| {
            Ok(Some(judge.judge(rounding, person)?).filter(|it| it.meets(max_rate)))
        })?;
        Ok(match further {
            Some(judgement) => judgement,
            None if self.proposer.retries() => self.aim_lower(max_rate)?.unwrap_or(judgement),
            None => judgement,
        })
    }

    /// Asks for a slightly lower rate, if rounding missed the target and steps of single ulps did
    /// not repair that. This happens if large terms of the score cancel. If nothing helps, restores
    /// the printed row and returns `None`.
    fn aim_lower(&mut self, max_rate: f64) -> Result<Option<Judgement>> {
        let first = self.rounding.keep();
        for less in LOWER {
            self.proposer.find(self.rounding.from(), Goal::Rate(max_rate * (1.0 - less)))?;
            self.rounding.print(self.person, &self.proposer.proposal.point);
            let judgement = self.judge.judge(self.rounding, self.person)?;
            if judgement.meets(max_rate) {
                return Ok(Some(judgement));
            }
        }
        self.rounding.restore(first);
        Ok(None)
    }

    /// Fills in an answer without recourse.
    fn no_recourse(
        &mut self,
        now: Judgement,
        max_rate: f64,
        (judgement, admissible): (Judgement, bool),
        answer: &mut Answer,
    ) -> Result<()> {
        let (setup, from) = (self.setup(), self.rounding.from());
        let may_stay = setup.actions.violations(from, from).is_empty();
        let own = self.own_rate(now.score)?;
        // If noise acts only on changed features and no point is favourable, more noise lowers the
        // rate. There is then no lowest rate.
        let known = admissible && setup.noise_on != NoiseOn::Changed;
        let best = judgement.rate.min(if may_stay { own } else { 1.0 });
        let nearest = Nearest {
            row: admissible.then(|| self.rounding.row()),
            best_rate: known.then_some(best),
            verdict: self.proposer.proposal.verdict,
            exact: Some(judgement),
        };
        let asked = self.asked(now.score, max_rate);
        answer.fill(&asked, Outcome::None { own: Rate::exact(own), nearest });
        Ok(())
    }
}
