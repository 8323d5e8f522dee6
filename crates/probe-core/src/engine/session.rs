//! The work of one thread: propose, print, judge.
//!
//! A session answers one person after another. The method proposes a point ([`propose`]), which is
//! rounded to the row that will be printed ([`rounding`]). A judge computes the score and the rate
//! of that row ([`judge`]). If rates have a closed form, [`exact`] gives the answer. Otherwise
//! [`sampled`] makes several [`attempts`]: each corrects the proposal ([`correct`]) and tests it
//! ([`certify`]) on fresh samples ([`sampler`]). [`bounds`] proves lower bounds on the cost of all
//! answers. Frontier, shortfall and relaxations build on this.

mod attempts;
mod bounds;
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
use super::outcome::{Asked, Evidence, Judgement, Proof, Recourse};
use super::{Engine, Setup};
use crate::error::{Result, require};
use crate::recourse::{Proposal, Worker};
use bounds::Bounds;
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
    bounds: Bounds<'e>,
}

impl<'e> Session<'e> {
    pub(super) fn new(engine: &'e Engine, worker: Box<dyn Worker + 'e>) -> Self {
        Self {
            engine,
            proposer: Proposer::new(engine, worker),
            rounding: Rounding::new(engine),
            judge: AnyJudge::new(engine),
            bounds: Bounds::default(),
        }
    }

    /// Ends searches and certificates soon after the flag is set. They then fail with
    /// [`crate::Error::Cancelled`].
    pub fn end_on(&mut self, cancelled: &'e AtomicBool) {
        self.proposer.cancelled = Some(cancelled);
    }

    /// The engine that the session belongs to.
    pub fn engine(&self) -> &'e Engine {
        self.engine
    }

    /// How many lines ([`crate::LineSampling`]) were evaluated so far: by searches, and to judge
    /// what they found. They measure the work of an answer independently of the machine. Both are 0
    /// if rates are exact or the model has no lines.
    pub fn n_lines(&self) -> [u64; 2] {
        [self.proposer.n_lines(), self.judge.n_lines()]
    }

    /// The work of all searches so far, for models of any kind: the number of lines, where samples
    /// of models without lines are converted to lines of about the same cost ([`crate::Budget`]).
    pub fn n_evaluations(&self) -> u64 {
        self.proposer.n_evaluations()
    }

    /// The recourse of the person with raw values `person`, in the model's feature order. A missing
    /// value is NaN, if the model accepts missing values; it stays missing. All others are finite.
    pub fn recourse(&mut self, person: &[f64], answer: &mut Answer) -> Result<()> {
        if let Some(filled) = self.engine.filled(person)? {
            let asked = (self.proposer.option(), self.proposer.cost_factors());
            return filled.recourse(person, asked, self.proposer.cancelled, answer);
        }
        self.recourse_of_all_known(person, answer)
    }

    /// [`Session::recourse`] for a person without missing values.
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

    /// From now on, multiplies the cost of changing each column by its factor. `None` restores the
    /// usual costs. Fails unless all factors are positive and finite.
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

    /// [`Session::recourse`] for one of the method's several answers, cheapest first. Call it with
    /// ascending `option` for each person. The answers' certificates share the error probability,
    /// so that all of them hold together.
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

    /// One person, with the session's judge.
    #[inline]
    fn case<'s>(&'s mut self, person: &'s [f64]) -> Result<AnyCase<'s, 'e>> {
        let Self { engine, proposer, rounding, judge, bounds } = self;
        Ok(match judge {
            AnyJudge::Exact(judge) => {
                AnyCase::Exact(Case { engine, person, proposer, rounding, judge, bounds })
            }
            AnyJudge::Sampled(sampling, slot) => {
                let judge = SampledJudge::in_slot(slot, sampling, engine.task())?;
                judge.sampler.cancelled = proposer.cancelled;
                AnyCase::Sampled(Case { engine, person, proposer, rounding, judge, bounds })
            }
        })
    }

    /// Score and rate of a raw row, which may break the limits. The rate is an estimate if rates
    /// are sampled. Call [`Rounding::start`] with the same `person` first.
    fn judge_row(&mut self, person: &[f64], raw: &[f64]) -> Result<Judgement> {
        self.rounding.set(raw);
        match self.case(person)? {
            AnyCase::Exact(case) => case.judge.judge(case.rounding, person),
            AnyCase::Sampled(case) => case.judge.judge(case.rounding, person),
        }
    }
}

/// One person, with a judge of either kind.
enum AnyCase<'s, 'e> {
    Exact(Case<'s, 'e, ExactJudge<'e>>),
    Sampled(Case<'s, 'e, SampledJudge<'e>>),
}

/// One person, with a judge.
struct Case<'s, 'e, J> {
    engine: &'e Engine,
    /// The person's values, raw.
    person: &'s [f64],
    proposer: &'s mut Proposer<'e>,
    rounding: &'s mut Rounding<'e>,
    judge: &'s mut J,
    bounds: &'s mut Bounds<'e>,
}

impl<'s, 'e, J> Case<'s, 'e, J> {
    fn setup(&self) -> &'e Setup {
        &self.engine.setup
    }

    /// Scales the person and returns their score. Fails if the score is not finite.
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

    /// A recourse to the printed row, which has this score, rate and cost.
    #[inline(always)]
    fn printed_recourse(
        &self,
        (judgement, cost): (Judgement, f64),
        evidence: Evidence,
        proof: Proof,
    ) -> Recourse<'_> {
        let Proposal { verdict, report, .. } = self.proposer.proposal;
        Recourse {
            row: self.rounding.row(),
            judgement,
            cost,
            changed: self.rounding.n_changed(self.person),
            outside_range: self.rounding.outside_range(self.person),
            verdict,
            report,
            evidence,
            proof,
        }
    }

    /// What is asked for this person, whose score is `score`.
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
