//! Several attempts at an answer that samples can certify. Each aims at a lower rate.

use super::Case;
use super::certify::{Attempt, Target};
use super::judge::SampledJudge;
use super::sampled::Printed;
use super::sampler::ATTEMPTS;
use crate::engine::tolerance::TOLERANCE_AIM;
use crate::error::Result;
use crate::invalidation::certificate::share_of_attempt;
use crate::recourse::{Goal, Verdict};

/// How far below the target each attempt aims, as a multiple of the first attempt's gap.
const AIMS: [f64; ATTEMPTS] = [1.0, 1.0, 2.0, 5.0];

/// What an attempt aims at.
struct Aim {
    max_rate: f64,
    /// The rate that the first attempt aimed at.
    first: f64,
    /// The rate that the printed row should have.
    intended: f64,
    /// The rate that the method is asked for. It differs from `intended` if the method's points
    /// turn out to have a higher rate than it was asked for.
    asked: f64,
}

impl Aim {
    fn new(max_rate: f64, first: f64) -> Self {
        Self { max_rate, first, intended: first, asked: first }
    }

    /// Lowers the aim for attempt number `attempt`; the last one observed a rate of `mean`. The
    /// next point may depend on `mean`, because it is tested on another segment of samples.
    fn lower(&mut self, attempt: usize, mean: f64) {
        let usual = (self.max_rate - self.first).max(0.01 * self.max_rate);
        self.intended = (self.max_rate - AIMS[attempt] * usual).max(0.5 * self.first);
        self.asked *= (self.intended / mean).clamp(0.5, 0.995);
    }
}

impl Case<'_, '_, SampledJudge<'_>> {
    /// Proposes and tests until a printed row is certified or no attempt is left. Returns the last
    /// row and how its test ended. `of` answers share the error probability; this is one of them.
    pub(super) fn attempt(&mut self, max_rate: f64, of: usize) -> Result<(Printed, Attempt)> {
        let setup = self.setup();
        let delta = (1.0 - setup.confidence) / of as f64;
        let mut aim = Aim::new(max_rate, self.first_aim(max_rate));
        let (mut number, mut last) = (0, Attempt::NONE);
        loop {
            let printed = self.propose_for(number, &mut aim)?;
            if !printed.is_recourse() || !setup.certify {
                return Ok((printed, last));
            }
            let again = number + 1 < ATTEMPTS
                && setup.budget.is_none()
                && self.proposer.retries()
                && self.proposer.proposal.verdict == Verdict::Reached;
            // The search chooses an aim closer to the target than usual if a lower rate is
            // expensive to reach. It then pays to read more lines instead of giving up.
            let lower_is_better = aim.intended <= aim.first || self.judge.sampler.is_expensive();
            last = self.judge.sampler.certify(&Target {
                max_rate,
                intended: aim.intended,
                may_give_up: again && lower_is_better,
                tighten_bound: self.engine.seeks_tolerance(),
                delta: share_of_attempt(delta, number as u32),
                segment: number,
            })?;
            if last.certified || !again {
                return Ok((printed, last));
            }
            number += 1;
            aim.lower(number, last.mean);
        }
    }

    /// The rate that the first attempt aims at.
    fn first_aim(&self, max_rate: f64) -> f64 {
        match self.setup().aim {
            _ if !self.proposer.retries() => max_rate,
            Some(share) => share * max_rate,
            None if self.engine.seeks_tolerance() => TOLERANCE_AIM * max_rate,
            None => self.judge.sampler.first_aim(max_rate),
        }
    }

    /// Proposes a row for attempt number `attempt`.
    fn propose_for(&mut self, attempt: usize, aim: &mut Aim) -> Result<Printed> {
        let setup = self.setup();
        if let Some(budget) = setup.budget {
            return self.propose(Goal::Budget(budget));
        }
        if !self.proposer.retries() {
            return self.propose(Goal::Rate(aim.asked));
        }
        if !self.judge.sampler.trusts_the_search() {
            return self.propose_corrected(aim.asked);
        }
        // The user set no aim, so that the engine chooses one.
        let chooses = attempt == 0 && setup.aim.is_none();
        if chooses && !self.engine.seeks_tolerance() {
            let gap = aim.max_rate - aim.first;
            aim.asked = self.proposer.find_below(self.rounding.from(), aim.max_rate, gap)?;
            aim.intended = aim.asked;
            let printed = self.print()?;
            return self.correct(aim.asked, printed);
        }
        let mut printed = self.propose(Goal::Rate(aim.asked))?;
        if chooses && self.proposer.proposal.verdict != Verdict::Reached {
            // The lower aim that leaves a tolerance cannot be reached; the usual one perhaps can.
            aim.first = self.judge.sampler.first_aim(aim.max_rate);
            aim.asked = aim.first;
            printed = self.propose(Goal::Rate(aim.asked))?;
        }
        self.correct(aim.asked, printed)
    }
}
