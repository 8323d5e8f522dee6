//! Answers whose rate has no closed form: searched on one set of samples, certified on another, reported from a third.
//!
//! The search aims a little under the target; what it finds is printed, and the printed row is tested on fresh lines by a bet
//! that may be looked at at any time. Where the bet is not won the search aims lower and the next attempt pays with half of
//! what is left of the error probability. The aim never depends on a certificate's samples.

use super::{Session, Status};
use crate::engine::answer::Answer;
use crate::error::{Error, Result};
use crate::invalidation::certificate::{Bet, Betting, UpperBound, share_of_attempt};
use crate::invalidation::{Lines, Query};
use crate::recourse::{Goal, Proposal, Reason, Verdict};
use crate::seed::{Key, Purpose, Stream};

/// Shares of the first aim that later attempts take.
const ATTEMPTS: [f64; 4] = [1.0, 0.96, 0.9, 0.75];
/// Lines that one attempt may read.
const MAX_LINES: usize = 40_000;
/// Lines behind the reported rate.
const AUDIT_LINES: usize = 512;

/// How an attempt to certify ended.
struct Attempt {
    certified: bool,
    upper: f64,
}

/// A little under the target: closer where the rate is easy to estimate. Measured costs and sample counts meet about here.
fn first_aim(rate: f64) -> f64 {
    rate * (1.0 - 0.015 * (0.35 / rate).sqrt()).max(0.85)
}

impl Session<'_> {
    /// The recourse of `person` for `max_rate`, where the rate must be sampled.
    pub(super) fn recourse_sampled(
        &mut self,
        person: &[f64],
        max_rate: f64,
        answer: &mut Answer,
    ) -> Result<()> {
        let setup = self.setup();
        if setup.budget.is_some() {
            return Err(Error::Unsupported {
                what: format!("a budget with a {} model", setup.model.name()),
                why: "give a target rate instead".to_owned(),
            });
        }
        let now = self.start(person, answer)?;
        answer.rate = self.audited_rate(person)?;
        answer.rate_upper = 1.0;
        if now.score > 0.0 && !(setup.also_favourable && answer.rate > max_rate) {
            answer.status = Status::Favourable;
            answer.cost = Some(0.0);
            return Ok(());
        }
        let key = Key::default().values(&self.scaled).values(&[max_rate]).finish();
        let mut fresh = setup.seed.stream(Purpose::Certificate, key);
        let mut proposal = Proposal::new(person.len());
        let mut last = Attempt { certified: false, upper: 1.0 };
        for (attempt, share) in (0..).zip(ATTEMPTS) {
            let goal = Goal::Rate(first_aim(max_rate) * share);
            self.worker.find(&self.scaled, goal, &mut proposal)?;
            self.print(person, &proposal.point);
            let worth = self.worth(person)?;
            let admissible = self.printed.iter().all(|v| v.is_finite())
                && setup.actions.violations(&self.scaled, &self.target).is_empty();
            if worth.score <= 0.0 || !admissible {
                return self.no_recourse(person, &proposal, admissible, answer);
            }
            let delta = share_of_attempt(1.0 - setup.confidence, attempt);
            if setup.certify {
                last = self.attempt(person, max_rate, delta, &mut fresh)?;
            }
            if last.certified || proposal.verdict != Verdict::Reached || !setup.certify {
                break;
            }
        }
        self.fill(person, &proposal, &last, answer)
    }

    fn no_recourse(
        &mut self,
        person: &[f64],
        proposal: &Proposal,
        admissible: bool,
        answer: &mut Answer,
    ) -> Result<()> {
        answer.status = Status::None;
        answer.cost = None;
        answer.reason = Some(match proposal.verdict {
            Verdict::Short(Reason::RateNotReachable) | Verdict::Reached => Reason::InfeasibleWithinBounds,
            Verdict::Short(reason) => reason,
        });
        if admissible {
            answer.best_rate = Some(self.audited_rate(person)?.min(answer.rate));
            answer.nearest.extend_from_slice(&self.printed);
        }
        Ok(())
    }

    /// Fills in a favourable answer.
    fn fill(
        &mut self,
        person: &[f64],
        proposal: &Proposal,
        attempt: &Attempt,
        answer: &mut Answer,
    ) -> Result<()> {
        let setup = self.setup();
        let rate = self.audited_rate(person)?;
        answer.status = if attempt.certified { Status::Certified } else { Status::Found };
        answer.reason = match proposal.verdict {
            _ if attempt.certified => None,
            Verdict::Short(reason) => Some(reason),
            Verdict::Reached => Some(Reason::NotCertified),
        };
        answer.point.copy_from_slice(&self.printed);
        answer.score_after = self.worth(person)?.score;
        answer.cost = Some(setup.cost.between(&self.scaled, &self.target));
        answer.changed = setup.actions.n_changed(person, &self.printed);
        answer.outside_range = answer.outside_range.map(|_| self.outside_range(person));
        answer.rate = rate;
        answer.rate_upper = attempt.upper;
        if !attempt.certified {
            answer.best_rate = Some(rate);
            answer.nearest.extend_from_slice(&self.printed);
        }
        Ok(())
    }

    /// Tests the printed row on fresh lines.
    fn attempt(&mut self, person: &[f64], max_rate: f64, delta: f64, fresh: &mut Stream) -> Result<Attempt> {
        let mut bet = Betting::new(max_rate)?;
        let mut upper = UpperBound::new(delta)?;
        self.with_lines(person, |lines| {
            for n in 1..=MAX_LINES {
                let mass = lines.sample(fresh)?;
                bet.observe(mass);
                upper.observe(mass);
                if bet.certifies(delta) {
                    return Ok(Attempt { certified: true, upper: upper.upper().min(max_rate) });
                }
                // Clearly not below the target: more lines would not help.
                if n >= 2_000 && n % 500 == 0 && bet.mean() >= max_rate {
                    break;
                }
            }
            Ok(Attempt { certified: false, upper: upper.upper() })
        })
    }

    /// The printed row's rate, from samples that neither search nor certificate saw.
    fn audited_rate(&mut self, person: &[f64]) -> Result<f64> {
        let key = Key::default().values(&self.scaled).values(&self.printed).finish();
        let mut stream = self.setup().seed.stream(Purpose::Audit, key);
        self.with_lines(person, |lines| {
            let mut sum = 0.0;
            for _ in 0..AUDIT_LINES {
                sum += lines.sample(&mut stream)?;
            }
            Ok(sum / AUDIT_LINES as f64)
        })
    }

    /// Calls `work` with lines around the printed row of `person`.
    fn with_lines<T>(&mut self, person: &[f64], work: impl FnOnce(&mut Lines<'_>) -> Result<T>) -> Result<T> {
        let task = self.engine.task();
        let gaussian = task.noise.as_gaussian().ok_or_else(|| Error::Unsupported {
            what: format!("certifying under {} noise", task.noise.name()),
            why: "the noise must be Gaussian".to_owned(),
        })?;
        self.setup().space.scale_into(&self.printed, &mut self.target);
        task.noise_on.active_into(&task.actions, person, &self.printed, &mut self.active);
        let query =
            Query { model: &*task.model, noise: &*task.noise, active: &self.active, point: &self.target };
        work(&mut Lines::new(&query, gaussian)?)
    }
}
