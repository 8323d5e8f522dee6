//! Answers whose rate has a closed form: propose, print, judge.

use super::Case;
use super::judge::{ExactJudge, Judge};
use crate::engine::answer::Answer;
use crate::engine::outcome::{Evidence, Judgement, Nearest, Outcome, Proof, Rate};
use crate::error::Result;
use crate::noise::NoiseOn;
use crate::recourse::{Goal, Reason, Verdict};

/// Shares of the target by which a lower rate is asked for, if rounding missed the target and
/// steps of single ulps do not repair that.
const LOWER: [f64; 4] = [1e-9, 1e-7, 1e-5, 1e-3];
/// Rounding numbers for printing may raise a cost by this share.
const ROUNDING: f64 = 1e-9;

/// What a method proved.
#[derive(Debug, Clone, Copy)]
enum Solved {
    /// Nothing costs less than what was printed.
    Printed,
    /// Nothing costs less than this.
    Least(f64),
    /// There is no answer, for this reason.
    None(Reason),
    /// Nothing.
    Nothing,
}

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
        let (judgement, solved) = self.print(max_rate)?;
        let admissible = self.rounding.is_admissible();
        if !(judgement.is_favourable() && admissible) {
            return self.no_recourse(now, max_rate, (judgement, admissible, solved), answer);
        }
        let cost = self.rounding.cost(self.proposer.cost());
        let answer_cost = judgement.meets(max_rate).then_some(cost);
        let proof = self.proof(solved, (now.score, max_rate), answer_cost)?;
        let recourse = self.printed_recourse((judgement, cost), Evidence::Exact, proof);
        answer.fill(&self.asked(now.score, max_rate), Outcome::Recourse(recourse));
        Ok(())
    }

    /// Prints the proposal, and moves the row further if rounding missed the target or the budget.
    /// Says what the method had proved before anything else was asked of it.
    #[inline]
    fn print(&mut self, max_rate: f64) -> Result<(Judgement, Solved)> {
        self.rounding.print(self.person, &self.proposer.proposal.point);
        if let Some(budget) = self.setup().budget {
            self.rounding.step_inward(self.person, budget, self.proposer.cost());
            let judgement = self.judge.judge(self.rounding, self.person)?;
            return Ok((judgement, Solved::Nothing));
        }
        let judgement = self.judge.judge(self.rounding, self.person)?;
        let lost = self.proposer.proposal.verdict == Verdict::Reached && !judgement.meets(max_rate);
        if !lost {
            return Ok((judgement, self.solved(self.rounding.is_plain())));
        }
        let solved = self.solved(false);
        let Self { person, proposer, rounding, judge, .. } = self;
        let further = rounding.step_outward(person, &proposer.proposal.point, |rounding| {
            Ok(Some(judge.judge(rounding, person)?).filter(|it| it.meets(max_rate)))
        })?;
        let judgement = match further {
            Some(judgement) => judgement,
            None if self.proposer.retries() => self.aim_lower(max_rate)?.unwrap_or(judgement),
            None => judgement,
        };
        Ok((judgement, solved))
    }

    /// What the method proved with its last proposal. `as_proposed` says whether it was printed
    /// without other changes than the rounding of numbers.
    #[inline(always)]
    fn solved(&self, as_proposed: bool) -> Solved {
        let proposal = &self.proposer.proposal;
        let same_costs = as_proposed && self.setup().preference.is_empty();
        match same_costs && proposal.proven && proposal.verdict == Verdict::Reached {
            true => Solved::Printed,
            false => self.solved_otherwise(),
        }
    }

    #[cold]
    fn solved_otherwise(&self) -> Solved {
        let proposal = &self.proposer.proposal;
        let least = match (proposal.proven, proposal.verdict) {
            (true, Verdict::Short(reason)) => return Solved::None(reason),
            (true, Verdict::Reached) => {
                self.proposer.search_cost().between(self.rounding.from(), &proposal.point)
            }
            (false, _) => proposal.lower_bound,
        };
        match least > 0.0 {
            true => Solved::Least(self.proposer.least_cost(least)),
            false => Solved::Nothing,
        }
    }

    /// What is proven about all answers to a person whose score is `score`, given what the method
    /// proved. `answer_cost` is the cost of the answer, if it meets the target.
    #[inline]
    fn proof(
        &mut self,
        solved: Solved,
        (score, max_rate): (f64, f64),
        answer_cost: Option<f64>,
    ) -> Result<Proof> {
        match (solved, answer_cost) {
            (Solved::Printed, Some(cost)) => Ok(Proof::certain(cost)),
            _ => self.proof_of_more(solved, (score, max_rate), answer_cost),
        }
    }

    /// [`Case::proof`] for answers that are not simply the proven optimum.
    #[cold]
    fn proof_of_more(
        &mut self,
        solved: Solved,
        (score, max_rate): (f64, f64),
        answer_cost: Option<f64>,
    ) -> Result<Proof> {
        Ok(match (solved, answer_cost) {
            // The difference is rounding.
            (Solved::Least(least), Some(cost)) if least >= cost * (1.0 - ROUNDING) => {
                Proof::certain(cost)
            }
            (Solved::None(reason), _) => Proof::none(reason),
            (Solved::Least(least), _) => {
                Proof::certain(least).and(&self.prove((score, max_rate), answer_cost)?)
            }
            (Solved::Printed | Solved::Nothing, _) => self.prove((score, max_rate), answer_cost)?,
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
        (judgement, admissible, solved): (Judgement, bool, Solved),
        answer: &mut Answer,
    ) -> Result<()> {
        let proof = self.proof(solved, (now.score, max_rate), None)?;
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
            proof,
        };
        let asked = self.asked(now.score, max_rate);
        answer.fill(&asked, Outcome::None { own: Rate::exact(own), nearest });
        Ok(())
    }
}
