//! One loop for every certificate by sampling: a betting test on fresh observations, and a rule
//! that says when to stop.

use crate::error::{Error, Result};
use crate::invalidation::Ladder;
use crate::invalidation::certificate::{Bet, UpperBound};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Share of the error probability that pays for the reported upper bound; the rest pays for the
/// certificate.
const SHARE_OF_BOUND: f64 = 0.02;

/// The part of an error probability that a certificate itself may use.
pub(super) fn share_of_certificate(delta: f64) -> f64 {
    (1.0 - SHARE_OF_BOUND) * delta
}

/// What an attempt to certify has to show.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target {
    /// The rate that the point must be shown to stay below.
    pub(super) max_rate: f64,
    /// The rate that the search aimed at for this point.
    pub(super) intended: f64,
    /// Whether the attempt may end early in favour of another point, if much less is left of the
    /// safety gap than was intended.
    pub(super) may_give_up: bool,
    /// Whether to read on after the certificate, for an upper bound below the target.
    pub(super) tighten_bound: bool,
    /// Error probability of this attempt.
    pub(super) delta: f64,
    /// The segment of fresh samples that this attempt reads.
    pub(super) segment: usize,
}

impl Target {
    /// The intended distance from the target; `None` if the attempt may not end early.
    pub(super) fn safety_gap(&self) -> Option<f64> {
        self.may_give_up.then_some(self.max_rate - self.intended)
    }

    /// Bets on bounds below the target; empty unless a lower bound is asked for.
    pub(super) fn ladder(&self, mean: f64, variance: f64) -> Result<Ladder> {
        match self.tighten_bound {
            true => Ladder::new(self.max_rate, mean, variance),
            false => Ok(Ladder::default()),
        }
    }
}

/// How an attempt to certify ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) certified: bool,
    pub(super) upper: f64,
    /// Mean of the observations.
    pub(super) mean: f64,
}

impl Attempt {
    /// No observation yet.
    pub(super) const NONE: Self = Self { certified: false, upper: 1.0, mean: f64::NAN };

    /// For a point whose rate is known exactly.
    pub(super) fn exact(rate: f64, max_rate: f64) -> Self {
        Self { certified: rate <= max_rate, upper: rate, mean: rate }
    }
}

/// Fresh, independent observations in [0, 1] whose mean is the rate.
pub(super) trait Observations {
    /// Reads batch number `index` and passes it to `take` in portions, until `take` breaks.
    fn read(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>>;
}

/// When an attempt ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoppingRule {
    /// At most this many batches are read.
    pub(super) max_batches: usize,
    /// At most this many batches are read after the certificate, for a lower bound.
    pub(super) extra_batches: usize,
    /// The rule checks the mean after every so many batches.
    pub(super) check_every: usize,
    /// Batches after which a mean above the target ends the attempt.
    pub(super) hopeless_after: usize,
    /// When a mean that is too close to the target ends the attempt, if ever.
    pub(super) close: Option<TooClose>,
}

/// A mean this close to the target ends an attempt. A certificate needs samples in proportion to
/// the inverse square of the gap, so that a point with a lower rate is cheaper to certify.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooClose {
    /// Batches before the first check.
    pub(super) after: usize,
    /// The attempt continues while the distance to the target is more than this.
    pub(super) least_gap: f64,
    /// The distance must be too small by this many standard errors of the mean.
    pub(super) n_std_errors: f64,
    /// Variance of one observation.
    pub(super) variance: f64,
    /// Observations in a batch.
    pub(super) batch_size: usize,
}

impl StoppingRule {
    /// Reads up to `max_batches`, and stops earlier only with a certificate.
    pub(super) const fn up_to(max_batches: usize) -> Self {
        Self {
            max_batches,
            extra_batches: 0,
            check_every: 1,
            hopeless_after: usize::MAX,
            close: None,
        }
    }

    /// Whether the attempt should end after `n` batches with this mean, because a certificate is
    /// impossible or would need too many samples.
    fn gives_up(&self, n: usize, mean: f64, max_rate: f64) -> bool {
        if !n.is_multiple_of(self.check_every) {
            return false;
        }
        let too_close = |close: &TooClose| {
            let error = (close.variance / (n * close.batch_size) as f64).sqrt();
            n >= close.after && mean >= max_rate - close.least_gap + close.n_std_errors * error
        };
        (n >= self.hopeless_after && mean >= max_rate) || self.close.as_ref().is_some_and(too_close)
    }
}

/// A test that is ready to run.
pub(super) struct Test<'s> {
    pub(super) observations: Box<dyn Observations + 's>,
    pub(super) bet: Box<dyn Bet>,
    pub(super) ladder: Ladder,
    pub(super) rule: StoppingRule,
}

impl Test<'_> {
    /// Reads observations until the rate is certified and the ladder has its lowest bound, or
    /// until the rule gives up. Fails once `cancelled` is set.
    pub(super) fn run(
        self,
        max_rate: f64,
        delta: f64,
        cancelled: Option<&AtomicBool>,
    ) -> Result<Attempt> {
        let own = share_of_certificate(delta);
        let mut upper = UpperBound::new(SHARE_OF_BOUND * delta)?;
        let Self { mut observations, mut bet, mut ladder, rule } = self;
        let (mut won, mut end, mut index) = (false, rule.max_batches, 0);
        while index < end {
            if cancelled.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
                return Err(Error::Cancelled);
            }
            let flow = observations.read(index, &mut |some| {
                bet.observe_all(some);
                upper.observe_all(some);
                ladder.observe_all(some);
                if !won && bet.certifies(own) {
                    (won, end) = (true, rule.max_batches.min(index + 1 + rule.extra_batches));
                }
                match won && ladder.is_climbed(own) {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
            index += 1;
            if flow.is_break() || (!won && rule.gives_up(index, bet.mean(), max_rate)) {
                break;
            }
        }
        let bound = if won { ladder.bound(own).min(max_rate) } else { f64::INFINITY };
        Ok(Attempt { certified: won, upper: upper.upper().min(bound), mean: bet.mean() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalidation::certificate::Betting;

    /// The same value over and over, in batches of ten; counts the batches.
    struct Constant<'n>(f64, &'n mut usize);

    impl Observations for Constant<'_> {
        fn read(
            &mut self,
            _: usize,
            take: &mut dyn FnMut(&[f64]) -> ControlFlow<()>,
        ) -> Result<ControlFlow<()>> {
            *self.1 += 1;
            Ok(take(&[self.0; 10]))
        }
    }

    const RULE: StoppingRule = StoppingRule {
        extra_batches: 3,
        check_every: 2,
        hopeless_after: 20,
        ..StoppingRule::up_to(500)
    };

    fn run(value: f64, rule: StoppingRule, tighten_bound: bool) -> (Attempt, usize) {
        let target = Target {
            max_rate: 0.2,
            intended: 0.1,
            may_give_up: true,
            tighten_bound,
            delta: 1e-3,
            segment: 0,
        };
        let mut n = 0;
        let test = Test {
            observations: Box::new(Constant(value, &mut n)),
            bet: Box::new(Betting::new(0.2).unwrap()),
            ladder: target.ladder(0.1, 1e-3).unwrap(),
            rule,
        };
        let attempt = test.run(0.2, target.delta, None).unwrap();
        (attempt, n)
    }

    #[test]
    fn a_certificate_ends_the_attempt_and_a_ladder_prolongs_it() {
        let (attempt, n) = run(0.1, RULE, false);
        assert!(attempt.certified && n < 20, "{attempt:?} after {n}");
        assert!(attempt.upper <= 0.2 && (attempt.mean - 0.1).abs() < 1e-9);
        // One batch at least, and three at most, go to the lower bound.
        let (lower, more) = run(0.1, RULE, true);
        assert!(lower.certified && more > n && more <= n + 3, "{more} after {n}");
        assert!(lower.upper <= attempt.upper);
    }

    #[test]
    fn a_hopeless_attempt_ends_at_the_first_check() {
        assert_eq!(run(0.2, RULE, false).1, 20);
        assert_eq!(run(0.25, StoppingRule { check_every: 16, ..RULE }, false).1, 32);
        let never = StoppingRule { hopeless_after: usize::MAX, ..RULE };
        let (attempt, n) = run(0.25, never, false);
        assert!(!attempt.certified && n == RULE.max_batches && attempt.upper >= 0.25);
    }

    #[test]
    fn a_mean_too_close_to_the_target_ends_the_attempt() {
        // The gap of 0.199 to the target is 0.001, less than half of the intended 0.1. The standard
        // error after 4 batches, times 1.5, is 0.00075.
        let close = TooClose {
            after: 4,
            least_gap: 0.05,
            n_std_errors: 1.5,
            variance: 1e-5,
            batch_size: 10,
        };
        let rule = StoppingRule { close: Some(close), ..RULE };
        assert_eq!(run(0.199, rule, false).1, 4);
        // With a standard error larger than the shortfall it continues.
        let noisy = TooClose { variance: 10.0, ..close };
        let rule = StoppingRule { close: Some(noisy), ..RULE };
        assert!(run(0.199, rule, false).1 > 4);
    }
}
