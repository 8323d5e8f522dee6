//! Answers whose rate has no closed form: searched on one set of samples, certified on another,
//! reported from a third.
//!
//! The search aims a little under the target; what it finds is printed, and the printed row is
//! tested on fresh lines by a bet that may be looked at at any time. Where the bet is not won the
//! search aims lower and the next attempt pays with a part of what is left of the error
//! probability.
//!
//! Everybody's certificate reads the same pool of fresh errors, drawn once per run. Each
//! certificate is valid on its own: what is tested (the printed row, the direction of the lines,
//! the stakes expected) never depends on the pool, aims are fixed in advance, each attempt reads a
//! segment of its own, and the error probability is split over attempts and over the points of a
//! frontier. False certificates of different people are not independent of each other, but their
//! expected share is as promised.

use super::certify::{Attempt, Target};
use super::sampler::{ATTEMPTS, Sampler, Sampling};
use super::{Session, Status};
use crate::engine::answer::Answer;
use crate::engine::tolerance::ROOM;
use crate::error::Result;
use crate::invalidation::certificate::share_of_attempt;
use crate::recourse::{Goal, Proposal, Reason, Verdict};

/// How far under the target each attempt aims, in terms of the first.
const AIMS: [f64; ATTEMPTS] = [1.0, 1.0, 2.0, 5.0];
/// Searches that correct the aim of a method which does not know the noise itself.
const CORRECTIONS: usize = 8;

impl<'e> Session<'e> {
    /// The recourse of `person` for a rate, one of so many that are asked for, where the rate must
    /// be sampled.
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
            answer.rate = self.audited_rate(sampler, person, max_rate)?;
            answer.rate_upper = if sampler.is_exact() { answer.rate } else { 1.0 };
            if !(setup.also_favourable && answer.rate > max_rate) {
                answer.status = Status::Favourable;
                answer.cost = Some(0.0);
                return Ok(());
            }
        }
        let delta = (1.0 - setup.confidence) / of as f64;
        let retries = self.worker.retries();
        let further = self.engine.seeks_tolerance();
        let mut aim = match setup.aim {
            _ if !retries => max_rate,
            Some(share) => share * max_rate,
            None if further => ROOM * max_rate,
            None => sampler.first_aim(max_rate),
        };
        let mut last = Attempt::NONE;
        let (mut asked, mut meant) = (aim, aim);
        for (attempt, under) in AIMS.into_iter().enumerate() {
            if attempt > 0 {
                // What was asked for came out as the last attempt's mean. What is tested next may
                // depend on that: it reads another segment.
                let room = under * (max_rate - aim).max(0.01 * max_rate);
                meant = (max_rate - room).max(0.5 * aim);
                asked *= (meant / last.mean).clamp(0.5, 0.995);
            }
            let goal = setup.budget.map_or(Goal::Rate(asked), Goal::Budget);
            let (score, admissible) = match goal {
                Goal::Rate(rate) if retries && !sampler.trusts_the_search() => {
                    self.propose_corrected(sampler, person, rate, proposal)?
                }
                Goal::Rate(_) if retries && attempt == 0 && !further && setup.aim.is_none() => {
                    let gap = max_rate - aim;
                    self.ask(Goal::Rate(max_rate), Some(gap), proposal)?;
                    asked = proposal.aim.unwrap_or(max_rate - gap);
                    meant = asked;
                    let proposed = self.weigh(sampler, person, proposal)?;
                    self.correct(sampler, person, asked, proposal, proposed)?
                }
                Goal::Rate(mut rate) if retries => {
                    let mut proposed = self.propose(sampler, person, goal, proposal)?;
                    if attempt == 0
                        && further
                        && setup.aim.is_none()
                        && proposal.verdict != Verdict::Reached
                    {
                        // No room to spare, but perhaps an answer.
                        aim = sampler.first_aim(max_rate);
                        (asked, rate) = (aim, aim);
                        proposed = self.propose(sampler, person, Goal::Rate(rate), proposal)?;
                    }
                    self.correct(sampler, person, rate, proposal, proposed)?
                }
                _ => self.propose(sampler, person, goal, proposal)?,
            };
            // A score that is not a number is no yes.
            let favourable = score > 0.0;
            if !(favourable && admissible) {
                return self.no_recourse(sampler, person, (max_rate, proposal, admissible), answer);
            }
            if !setup.certify {
                break;
            }
            let again = retries && setup.budget.is_none() && proposal.verdict == Verdict::Reached;
            // Where the aim is closer than usual a lower one is expensive, and more lines are worth it.
            let may_give_up =
                again && attempt + 1 < ATTEMPTS && (meant <= aim || sampler.is_expensive());
            last = sampler.certify(&Target {
                max_rate,
                meant,
                may_give_up,
                further,
                delta: share_of_attempt(delta, attempt as u32),
                segment: attempt,
            })?;
            if last.certified || !again {
                break;
            }
        }
        self.fill(sampler, person, max_rate, proposal, last, answer)
    }

    /// Asks the method once, and judges what it proposes.
    fn propose(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        goal: Goal,
        proposal: &mut Proposal,
    ) -> Result<(f64, bool)> {
        self.ask(goal, None, proposal)?;
        self.weigh(sampler, person, proposal)
    }

    /// The printed row's score and whether it is admissible. The sampler looks at it, if it is
    /// both.
    fn weigh(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        proposal: &Proposal,
    ) -> Result<(f64, bool)> {
        let setup = self.setup();
        self.print(person, &proposal.point);
        let mut worth = self.worth(person)?;
        if let Some(budget) = setup.budget {
            worth = self.step_inward(person, budget, worth)?;
        }
        let admissible = self.is_admissible();
        if worth.score > 0.0 && admissible {
            self.look(sampler, person)?;
        }
        Ok((worth.score, admissible))
    }

    /// Asks for less where the pilot samples see clearly more than the `rate` that was asked for: a search
    /// fits its own samples.
    fn correct(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        rate: f64,
        proposal: &mut Proposal,
        mut proposed: (f64, bool),
    ) -> Result<(f64, bool)> {
        let mut asked = rate;
        for _ in 0..3 {
            let doubt = 2.0 * sampler.std_error();
            let good = proposed.0 > 0.0 && proposed.1 && proposal.verdict == Verdict::Reached;
            if !good || sampler.mean() <= 1.02 * rate + doubt {
                break;
            }
            asked *= (rate / sampler.mean()).max(0.3);
            proposed = self.propose(sampler, person, Goal::Rate(asked), proposal)?;
        }
        Ok(proposed)
    }

    /// [`Session::propose`] for a method that searched under other noise: asks again, for a lower
    /// or a higher rate, until the rate that the pilot samples see is just below `rate`. Of the rows that
    /// are, the cheapest is taken.
    fn propose_corrected(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        rate: f64,
        proposal: &mut Proposal,
    ) -> Result<(f64, bool)> {
        let mut asked = rate;
        let mut best: Option<(f64, Proposal)> = None;
        let mut last = (f64::NAN, false);
        for _ in 0..CORRECTIONS {
            last = self.propose(sampler, person, Goal::Rate(asked), proposal)?;
            let good = last.0 > 0.0 && last.1 && proposal.verdict == Verdict::Reached;
            if !good {
                break;
            }
            let seen = sampler.mean();
            let cost = self.search_cost().between(&self.scaled, &self.target);
            if seen <= rate && best.as_ref().is_none_or(|(least, _)| cost < *least) {
                best = Some((cost, proposal.clone()));
            }
            if seen <= rate && seen >= 0.98 * rate {
                break;
            }
            // The rate under other noise moves with the real one, if not in step.
            asked = (asked * (0.99 * rate / seen.max(0.05 * rate)).clamp(0.2, 3.0)).min(0.999);
        }
        if let Some((_, found)) = best {
            proposal.clone_from(&found);
            self.print(person, &proposal.point);
            last = (self.worth(person)?.score, true);
            self.look(sampler, person)?;
        }
        Ok(last)
    }

    fn no_recourse(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        (max_rate, proposal, admissible): (f64, &Proposal, bool),
        answer: &mut Answer,
    ) -> Result<()> {
        answer.status = Status::None;
        answer.cost = None;
        answer.reason = Some(match proposal.verdict {
            _ if self.setup().budget.is_some() => Reason::BudgetExhausted,
            // The search has ended, and proves nothing.
            Verdict::Short(Reason::RateNotReachable | Reason::RateIgnored) | Verdict::Reached => {
                Reason::NotFound
            }
            Verdict::Short(reason) => reason,
        });
        let near = self.printed.clone();
        self.printed.copy_from_slice(person);
        answer.rate = self.audited_rate(sampler, person, max_rate)?;
        answer.rate_upper = if sampler.is_exact() { answer.rate } else { 1.0 };
        answer.best_rate = Some(answer.rate);
        if admissible {
            self.printed.copy_from_slice(&near);
            answer.best_rate = Some(self.audited_rate(sampler, person, max_rate)?.min(answer.rate));
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
        answer.rate = sampler.report(max_rate)?;
        if attempt.certified {
            // The certificate has read far more: an estimate above its bound is off.
            answer.rate = answer.rate.min(attempt.upper);
        }
        answer.status = if attempt.certified { Status::Certified } else { Status::Found };
        answer.reason = match proposal.verdict {
            _ if attempt.certified => None,
            _ if setup.budget.is_some() && answer.rate > max_rate => Some(Reason::BudgetExhausted),
            // The last search fell short of a lower aim than the target.
            Verdict::Short(Reason::RateNotReachable) if answer.rate <= max_rate => {
                Some(Reason::NotCertified)
            }
            Verdict::Short(reason) => Some(reason),
            Verdict::Reached => Some(Reason::NotCertified),
        };
        answer.point.copy_from_slice(&self.printed);
        answer.score_after = self.worth(person)?.score;
        answer.cost = Some(self.cost().between(&self.scaled, &self.target));
        answer.changed = setup.actions.n_changed(person, &self.printed);
        answer.outside_range = answer.outside_range.map(|_| self.outside_range(person));
        answer.rate_upper = attempt.upper;
        answer.claimed_rate = proposal.claimed;
        answer.source = proposal.source;
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
        sampler.look(&self.scaled, &self.target, &self.active)
    }

    /// The rate of the printed row, as pilot samples see it, or exact.
    pub(super) fn rate_sampled(&mut self, sampling: &'e Sampling, person: &[f64]) -> Result<f64> {
        let mut sampler = match self.sampler.take() {
            Some(sampler) => sampler,
            None => Sampler::new(sampling, self.engine.task())?,
        };
        let looked = self.look(&mut sampler, person);
        let rate = sampler.mean();
        self.sampler = Some(sampler);
        looked.map(|()| rate)
    }

    fn audited_rate(
        &mut self,
        sampler: &mut Sampler<'e>,
        person: &[f64],
        max_rate: f64,
    ) -> Result<f64> {
        self.look(sampler, person)?;
        sampler.report(max_rate)
    }
}
