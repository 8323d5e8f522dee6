//! One thread's work: propose, print, judge.
//!
//! A session answers one person after another. The method proposes a point ([`propose`]), which is
//! rounded to the row that is printed ([`rounding`]); a judge says what that row is worth
//! ([`judge`]). Answers with a closed form are made in [`exact`]. The others ([`sampled`]) make
//! several [`attempts`], correct what was proposed ([`correct`]) and test it ([`certify`]) on the
//! samples of [`sampler`]. Frontier, shortfall and relaxations are built on top.

mod attempts;
mod certify;
mod correct;
mod exact;
mod frontier;
mod judge;
mod propose;
mod relax;
mod rounding;
mod sampled;
mod sampler;
mod shortfall;

pub use relax::{Relaxation, Relaxed};
pub(super) use sampler::Sampling;

use super::answer::{Answer, Status};
use super::outcome::{Asked, Judgement};
use super::{Engine, Setup};
use crate::error::{Result, require};
use crate::recourse::Worker;
use judge::{AnyJudge, ExactJudge, Judge, SampledJudge};
use propose::Proposer;
use rounding::Rounding;
use std::sync::atomic::AtomicBool;

/// Answers one person after another with buffers of its own.
pub struct Session<'e> {
    engine: &'e Engine,
    proposer: Proposer<'e>,
    rounding: Rounding<'e>,
    judge: AnyJudge<'e>,
}

impl<'e> Session<'e> {
    pub(super) fn new(engine: &'e Engine, worker: Box<dyn Worker + 'e>) -> Self {
        Self {
            engine,
            proposer: Proposer::new(engine, worker),
            rounding: Rounding::new(engine),
            judge: AnyJudge::new(engine),
        }
    }

    /// Ends searches and certificates soon after the flag is set: what is asked then is
    /// [`crate::Error::Cancelled`].
    pub fn end_on(&mut self, cancelled: &'e AtomicBool) {
        self.proposer.cancelled = Some(cancelled);
    }

    /// Whose session it is.
    pub fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// How many lines ([`crate::LineSampling`]) were read so far: for searches, and to judge what
    /// they found. What an answer takes apart from the machine; both are 0 where rates are exact or
    /// models have no lines.
    pub fn n_lines(&self) -> [u64; 2] {
        [self.proposer.n_lines(), self.judge.n_lines()]
    }

    /// How many lines searches have asked for so far, or as many samples as are worth them: their
    /// work for models of any kind ([`crate::Budget`]).
    pub fn n_evaluations(&self) -> u64 {
        self.proposer.n_evaluations()
    }

    /// The recourse of the person with raw values `person`, in the model's feature order. Values
    /// are finite, or NaN where they are missing and the model takes that; then they stay so.
    pub fn recourse(&mut self, person: &[f64], answer: &mut Answer) -> Result<()> {
        if let Some(filled) = self.engine.filled(person)? {
            let asked = (self.proposer.option(), self.proposer.cost_factors());
            return filled.recourse(person, asked, self.proposer.cancelled, answer);
        }
        self.recourse_of_all_known(person, answer)
    }

    /// [`Session::recourse`] for a person all of whose values are finite.
    pub(super) fn recourse_of_all_known(
        &mut self,
        person: &[f64],
        answer: &mut Answer,
    ) -> Result<()> {
        let max_rate = self.engine.setup.max_rate;
        match self.case(person)? {
            AnyCase::Exact(mut case) => case.recourse(max_rate, answer)?,
            AnyCase::Sampled(mut case) => {
                let of = case.proposer.n_options();
                case.recourse((max_rate, of), answer)?;
            }
        }
        self.proposer.check()
    }

    /// From now on, changes cost so many times what they usually do, column by column; `None` for
    /// what they usually do. Fails unless factors are positive and finite.
    pub fn set_cost_factors(&mut self, factors: Option<&[f64]>) -> Result<()> {
        self.proposer.set_cost_factors(factors)
    }

    /// All of a person's answers ([`Session::n_options`]), certified ones first, cheapest first.
    pub fn recourse_options(&mut self, person: &[f64], answers: &mut [Answer]) -> Result<()> {
        for (option, answer) in answers.iter_mut().enumerate() {
            self.recourse_option(person, option, answer)?;
        }
        let rank = |answer: &Answer| match answer.status {
            Status::Favourable | Status::Certified => 0,
            Status::Found => 1,
            Status::None => 2,
        };
        answers.sort_by(|a, b| {
            let cost = |answer: &Answer| answer.cost.unwrap_or(f64::INFINITY);
            rank(a).cmp(&rank(b)).then(cost(a).total_cmp(&cost(b)))
        });
        Ok(())
    }

    /// How many answers the method has for each person. One, unless a method such as `dice` is
    /// asked for more.
    pub fn n_options(&self) -> usize {
        self.proposer.n_options()
    }

    /// As [`Session::recourse`], for one of the method's answers, cheapest first; ask for a
    /// person's one after the other. Certificates share the error probability, so that all of them
    /// hold together.
    pub fn recourse_option(
        &mut self,
        person: &[f64],
        option: usize,
        answer: &mut Answer,
    ) -> Result<()> {
        self.proposer.turn_to_option(option);
        let done = self.recourse(person, answer);
        self.proposer.turn_to_option(0);
        done
    }

    /// One person before the session's judge.
    #[inline]
    fn case<'s>(&'s mut self, person: &'s [f64]) -> Result<AnyCase<'s, 'e>> {
        let Self { engine, proposer, rounding, judge } = self;
        Ok(match judge {
            AnyJudge::Exact(judge) => {
                AnyCase::Exact(Case { engine, person, proposer, rounding, judge })
            }
            AnyJudge::Sampled(sampling, slot) => {
                let judge = SampledJudge::in_slot(slot, sampling, engine.task())?;
                judge.sampler.cancelled = proposer.cancelled;
                AnyCase::Sampled(Case { engine, person, proposer, rounding, judge })
            }
        })
    }

    /// Score and rate of a raw row, whatever the limits; the rate is an estimate where rates are
    /// sampled. `person` is the one that [`Rounding::start`] turned to.
    fn judge_row(&mut self, person: &[f64], raw: &[f64]) -> Result<Judgement> {
        self.rounding.set(raw);
        match self.case(person)? {
            AnyCase::Exact(case) => case.judge.judge(case.rounding, person),
            AnyCase::Sampled(case) => case.judge.judge(case.rounding, person),
        }
    }
}

/// One person before a judge of some kind.
enum AnyCase<'s, 'e> {
    Exact(Case<'s, 'e, ExactJudge<'e>>),
    Sampled(Case<'s, 'e, SampledJudge<'e>>),
}

/// One person before a judge.
struct Case<'s, 'e, J> {
    engine: &'e Engine,
    /// Raw.
    person: &'s [f64],
    proposer: &'s mut Proposer<'e>,
    rounding: &'s mut Rounding<'e>,
    judge: &'s mut J,
}

impl<'s, 'e, J> Case<'s, 'e, J> {
    fn setup(&self) -> &'e Setup {
        &self.engine.setup
    }

    /// Scales the person; their score. Fails unless that is finite.
    #[inline]
    fn enter(&mut self) -> Result<f64> {
        self.proposer.start();
        self.rounding.start(self.person);
        let score = self.rounding.score()?;
        require(
            score.is_finite(),
            "the score of a person",
            "finite (values or weights are too large)",
            score,
        )?;
        Ok(score)
    }

    /// What the person, who scores `score`, asked for.
    #[inline]
    fn asked(&self, score: f64, max_rate: f64) -> Asked<'s> {
        Asked {
            person: self.person,
            score,
            max_rate,
            has_budget: self.setup().budget.is_some(),
            knows_ranges: self.rounding.knows_ranges(),
        }
    }
}

#[cfg(test)]
mod tests;
