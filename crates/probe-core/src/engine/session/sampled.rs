//! Answers whose rate has no closed form: searched on one set of samples, certified on another, reported from a third.
//!
//! The search aims a little under the target; what it finds is printed, and the printed row is tested on fresh lines by a bet
//! that may be looked at at any time. Where the bet is not won the search aims lower and the next attempt pays with a part of
//! what is left of the error probability.
//!
//! Everybody's certificate reads the same pool of fresh errors, drawn once per run. Each certificate is valid on its own: what
//! is tested (the printed row, the direction of the lines, the stakes expected) never depends on the pool, aims are fixed in advance, each
//! attempt reads a segment of its own, and the error probability is split over attempts and over the points of a frontier. False
//! certificates of different people are not independent of each other, but their expected share is as promised.

use super::{Session, Status};
use crate::engine::answer::Answer;
use crate::error::Result;
use crate::invalidation::certificate::{Bet, Betting, UpperBound, share_of_attempt};
use crate::invalidation::{BLOCK, Lines, Pool};
use crate::recourse::{Goal, Proposal, Reason, Task, Verdict};
use crate::seed::Purpose;

/// Shares of the first aim that later attempts take.
const ATTEMPTS: [f64; 4] = [1.0, 0.96, 0.9, 0.75];
/// Blocks of lines that one attempt may read.
const MAX_BLOCKS: usize = 640;
/// Lines that look around a point before it is certified.
const SCOUTS: usize = 64;
/// Lines behind the reported rate.
const AUDITORS: usize = 128;
/// Share of the error probability that pays for the reported upper bound; the rest pays for the certificate.
const SHARE_OF_BOUND: f64 = 0.1;

/// A little under the target: closer where the rate is easy to estimate. Measured costs and sample counts meet about here.
fn first_aim(rate: f64) -> f64 {
    rate * (1.0 - 0.015 * (0.35 / rate).sqrt()).max(0.85)
}

/// Samples that all sessions share.
pub(in crate::engine) struct Sampling {
    /// Where the noise acts, unless that depends on the changes.
    active: Option<Vec<bool>>,
    scouts: Pool,
    fresh: Pool,
    auditors: Pool,
}

impl Sampling {
    /// Fails where neither lines nor a closed form are to be had.
    pub(in crate::engine) fn new(task: &Task) -> Result<Self> {
        let active = task.noise_on.fixed(&task.actions);
        let lines = Lines::new(&*task.model, &*task.noise, active.as_deref())?;
        Ok(Self {
            scouts: Pool::even(task.seed, Purpose::Search, &lines),
            fresh: Pool::fresh(task.seed, Purpose::Certificate, ATTEMPTS.len() as u64, &lines),
            auditors: Pool::even(task.seed, Purpose::Audit, &lines),
            active,
        })
    }
}

/// One thread's lines around printed rows.
pub(super) struct Sampler<'e> {
    sampling: &'e Sampling,
    lines: Lines<'e>,
    gradient: Vec<f64>,
    masses: [f64; BLOCK],
    /// Mean and variance of the scouts' lines.
    mean: f64,
    variance: f64,
}

/// How an attempt to certify ended.
#[derive(Clone, Copy)]
struct Attempt {
    certified: bool,
    upper: f64,
}

impl<'e> Sampler<'e> {
    fn new(sampling: &'e Sampling, task: &'e Task) -> Result<Self> {
        let lines = Lines::new(&*task.model, &*task.noise, sampling.active.as_deref())?;
        let gradient = vec![0.0; task.model.n_features()];
        Ok(Self { sampling, lines, gradient, masses: [0.0; BLOCK], mean: f64::NAN, variance: f64::NAN })
    }

    /// Looks around `point` and turns the lines the way its rate changes most. What is seen here comes from the search's
    /// samples, so that a certificate may rest on it.
    fn look(&mut self, point: &[f64], active: &[bool]) -> Result<()> {
        self.lines.activate(active);
        self.lines.aim(point, None)?;
        let (_, spread) = self.lines.margin(&self.sampling.scouts, SCOUTS, Some(&mut self.gradient))?;
        (self.mean, self.variance) = (spread.mean(), spread.variance());
        self.lines.aim(point, Some(&self.gradient))
    }

    /// Tests the point on the fresh lines of a segment.
    fn certify(&mut self, max_rate: f64, delta: f64, segment: usize) -> Result<Attempt> {
        let mut bet = Betting::expecting(max_rate, self.mean, self.variance)?;
        let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
        let mut spare = None;
        for index in 0..MAX_BLOCKS {
            let block = self.sampling.fresh.block(segment, index, &self.lines, &mut spare);
            self.lines.masses(block, &mut self.masses)?;
            bet.observe_all(&self.masses);
            upper.observe_all(&self.masses);
            if bet.certifies((1.0 - SHARE_OF_BOUND) * delta) {
                return Ok(Attempt { certified: true, upper: upper.upper().min(max_rate) });
            }
            // Clearly not below the target: more lines would not help.
            if index >= 31 && index % 8 == 7 && bet.mean() >= max_rate {
                break;
            }
        }
        Ok(Attempt { certified: false, upper: upper.upper() })
    }

    /// The point's rate, from samples that neither search nor certificate saw.
    fn audit(&mut self) -> Result<f64> {
        Ok(self.lines.rate(&self.sampling.auditors, 0, AUDITORS)?.mean())
    }
}

impl<'e> Session<'e> {
    /// The recourse of `person` for a rate, one of so many that are asked for, where the rate must be sampled.
    pub(super) fn recourse_sampled(
        &mut self,
        sampling: &'e Sampling,
        person: &[f64],
        rate_of: (f64, usize),
        answer: &mut Answer,
    ) -> Result<()> {
        let mut sampler = match self.sampler.take() {
            Some(sampler) => sampler,
            None => Sampler::new(sampling, self.engine.task())?,
        };
        let mut proposal = std::mem::replace(&mut self.proposal, Proposal::new(0));
        let result = self.recourse_with(&mut sampler, person, rate_of, &mut proposal, answer);
        self.sampler = Some(sampler);
        self.proposal = proposal;
        result
    }

    fn recourse_with(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        (max_rate, of): (f64, usize),
        proposal: &mut Proposal,
        answer: &mut Answer,
    ) -> Result<()> {
        let setup = self.setup();
        let now = self.start(person, answer)?;
        answer.rate_upper = 1.0;
        if now.score > 0.0 {
            answer.rate = self.audited_rate(sampler, person)?;
            if !(setup.also_favourable && answer.rate > max_rate) {
                answer.status = Status::Favourable;
                answer.cost = Some(0.0);
                return Ok(());
            }
        }
        let delta = (1.0 - setup.confidence) / of as f64;
        let aim = setup.aim.map_or_else(|| first_aim(max_rate), |share| share * max_rate);
        let mut last = Attempt { certified: false, upper: 1.0 };
        for (attempt, share) in ATTEMPTS.into_iter().enumerate() {
            let goal = setup.budget.map_or(Goal::Rate(aim * share), Goal::Budget);
            self.worker.find(&self.scaled, goal, proposal)?;
            self.print(person, &proposal.point);
            if let Some(budget) = setup.budget {
                let worth = self.worth(person)?;
                self.step_inward(person, budget, worth)?;
            }
            let worth = self.worth(person)?;
            let admissible = self.printed.iter().all(|v| v.is_finite())
                && setup.actions.violations(&self.scaled, &self.target).is_empty();
            if worth.score <= 0.0 || !admissible {
                return self.no_recourse(sampler, person, proposal, admissible, answer);
            }
            self.look(sampler, person)?;
            if !setup.certify {
                break;
            }
            let delta = share_of_attempt(delta, attempt as u32);
            last = sampler.certify(max_rate, delta, attempt)?;
            if last.certified || proposal.verdict != Verdict::Reached || setup.budget.is_some() {
                break;
            }
        }
        self.fill(sampler, person, max_rate, proposal, last, answer)
    }

    fn no_recourse(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        proposal: &Proposal,
        admissible: bool,
        answer: &mut Answer,
    ) -> Result<()> {
        answer.status = Status::None;
        answer.cost = None;
        answer.reason = Some(match proposal.verdict {
            _ if self.setup().budget.is_some() => Reason::BudgetExhausted,
            Verdict::Short(Reason::RateNotReachable) | Verdict::Reached => Reason::InfeasibleWithinBounds,
            Verdict::Short(reason) => reason,
        });
        let near = self.printed.clone();
        self.printed.copy_from_slice(person);
        answer.rate = self.audited_rate(sampler, person)?;
        answer.best_rate = Some(answer.rate);
        if admissible {
            self.printed.copy_from_slice(&near);
            answer.best_rate = Some(self.audited_rate(sampler, person)?.min(answer.rate));
            answer.nearest.extend_from_slice(&near);
        }
        Ok(())
    }

    /// Fills in a favourable answer, which the sampler looks at.
    fn fill(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        max_rate: f64,
        proposal: &Proposal,
        attempt: Attempt,
        answer: &mut Answer,
    ) -> Result<()> {
        let setup = self.setup();
        answer.rate = sampler.audit()?;
        answer.status = if attempt.certified { Status::Certified } else { Status::Found };
        answer.reason = match proposal.verdict {
            _ if attempt.certified => None,
            _ if setup.budget.is_some() && answer.rate > max_rate => Some(Reason::BudgetExhausted),
            Verdict::Short(reason) => Some(reason),
            Verdict::Reached => Some(Reason::NotCertified),
        };
        answer.point.copy_from_slice(&self.printed);
        answer.score_after = self.worth(person)?.score;
        answer.cost = Some(setup.cost.between(&self.scaled, &self.target));
        answer.changed = setup.actions.n_changed(person, &self.printed);
        answer.outside_range = answer.outside_range.map(|_| self.outside_range(person));
        answer.rate_upper = attempt.upper;
        if !attempt.certified {
            answer.best_rate = Some(answer.rate);
            answer.nearest.extend_from_slice(&self.printed);
        }
        Ok(())
    }

    /// Turns the sampler to the printed row of `person`.
    fn look(&mut self, sampler: &mut Sampler<'e>, person: &[f64]) -> Result<()> {
        let task = self.engine.task();
        self.setup().space.scale_into(&self.printed, &mut self.target);
        task.noise_on.active_into(&task.actions, person, &self.printed, &mut self.active);
        sampler.look(&self.target, &self.active)
    }

    fn audited_rate(&mut self, sampler: &mut Sampler<'e>, person: &[f64]) -> Result<f64> {
        self.look(sampler, person)?;
        sampler.audit()
    }
}
