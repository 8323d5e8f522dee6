//! Certificates that may be looked at at any time: a bet against "the rate is above $r$" whose wealth cannot grow if that is so.
//!
//! For observations $X_i \in [0, 1]$ with mean $\Delta$ and stakes $\lambda_i$ that depend on the past only, $K_n = \prod_i
//! (1 + \lambda_i (r - X_i))$ is a non-negative supermartingale whenever $\Delta \ge r$, so by Ville's inequality $P(\sup_n K_n \ge
//! 1/\delta) \le \delta$: whoever stops at the first $K_n \ge 1/\delta$ and certifies is wrong with probability at most $\delta$,
//! whenever they stop. Observations must be fresh and independent: none that the search has seen. (Waudby-Smith and Ramdas,
//! arXiv:2010.09686; Shafer, "Testing by betting", 2021.)
//!
//! Two bettors: [`Betting`] for conditional rates of a line, whose spread is small; [`Mixture`] for plain yes/no draws,
//! which bets on several alternatives at once because one stake must not be guessed.

use crate::error::{Result, require};

/// A running bet against "the mean is at least r".
pub trait Bet {
    /// Takes one fresh observation in [0, 1].
    fn observe(&mut self, x: f64);

    /// Logarithm of the largest wealth so far.
    fn log_wealth(&self) -> f64;

    /// Whether the claim "the mean is below r" is certified with error probability `delta`.
    fn certifies(&self, delta: f64) -> bool {
        self.log_wealth() >= -libm::log(delta)
    }
}

fn check_rate(rate: f64) -> Result<()> {
    Ok(require(rate > 0.0 && rate < 1.0, "the target invalidation rate r", "between 0 and 1", rate)?)
}

/// Bets with a stake from the mean and variance seen so far.
#[derive(Debug, Clone)]
pub struct Betting {
    rate: f64,
    /// Logarithms of the wealth now and of the largest so far.
    now: f64,
    best: f64,
    n: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl Betting {
    /// Fails unless `rate` is inside (0, 1).
    pub fn new(rate: f64) -> Result<Self> {
        check_rate(rate)?;
        Ok(Self { rate, now: 0.0, best: 0.0, n: 0.0, sum: 0.0, sum_of_squares: 0.0 })
    }

    /// Mean of the observations; NaN before the first.
    pub fn mean(&self) -> f64 {
        self.sum / self.n
    }

    /// The stake for the next observation: $\mathrm{gap}/(\mathrm{var} + \mathrm{gap}^2)$, with one made-up observation at $r$ so that
    /// the first stake is zero and the second not reckless.
    fn stake(&self) -> f64 {
        let n = self.n + 1.0;
        let mean = (self.sum + self.rate) / n;
        let gap = self.rate - mean;
        if gap <= 0.0 {
            return 0.0;
        }
        let second = (self.sum_of_squares + self.rate * self.rate + self.rate * (1.0 - self.rate)) / n;
        let variance = (second - mean * mean).max(0.0);
        (gap / (variance + gap * gap)).min(0.95 / (1.0 - self.rate))
    }
}

impl Bet for Betting {
    fn observe(&mut self, x: f64) {
        self.now += libm::log1p(self.stake() * (self.rate - x));
        self.best = self.best.max(self.now);
        self.n += 1.0;
        self.sum += x;
        self.sum_of_squares += x * x;
    }

    fn log_wealth(&self) -> f64 {
        self.best
    }
}

/// Shares of r that [`Mixture`] bets on, with equal money on each.
const ALTERNATIVES: [f64; 9] = [0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97];

/// Likelihood ratios of rates below r against r, mixed; for observations that are 0 or 1.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// Logarithms of the factors for a 1 and for a 0, for each alternative.
    factors: [(f64, f64); ALTERNATIVES.len()],
    ones: f64,
    n: f64,
    best: f64,
}

impl Mixture {
    /// Fails unless `rate` is inside (0, 1).
    pub fn new(rate: f64) -> Result<Self> {
        check_rate(rate)?;
        let factors =
            ALTERNATIVES.map(|share| (libm::log(share), libm::log1p(rate * (1.0 - share) / (1.0 - rate))));
        Ok(Self { factors, ones: 0.0, n: 0.0, best: 0.0 })
    }

    /// Takes `ones` ones among `n` fresh draws at once: the wealth is looked at only after all of them.
    pub fn observe_many(&mut self, ones: u64, n: u64) {
        self.ones += ones as f64;
        self.n += n as f64;
        let (ones, zeros) = (self.ones, self.n - self.ones);
        let logs = self.factors.map(|(one, zero)| ones * one + zeros * zero);
        let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = logs.iter().map(|log| libm::exp(log - largest)).sum::<f64>() / logs.len() as f64;
        self.best = self.best.max(largest + libm::log(mean));
    }
}

impl Bet for Mixture {
    fn observe(&mut self, x: f64) {
        self.observe_many(u64::from(x > 0.5), 1);
    }

    fn log_wealth(&self) -> f64 {
        self.best
    }
}

/// Splits an error probability over attempts without knowing how many there will be: attempt k may spend $\delta/2^{k+1}$.
pub fn share_of_attempt(delta: f64, attempt: u32) -> f64 {
    delta * 0.5_f64.powi(attempt.saturating_add(1).min(1_000) as i32)
}

/// An upper bound on a mean that holds at all times at once: the predictable plug-in empirical-Bernstein sequence
/// (arXiv:2010.09686, Theorem 2), one-sided.
#[derive(Debug, Clone)]
pub struct UpperBound {
    log_inverse_delta: f64,
    n: f64,
    sum: f64,
    sum_of_squares: f64,
    weights: f64,
    weighted: f64,
    penalty: f64,
    upper: f64,
}

impl UpperBound {
    /// Fails unless `delta`, the probability that the bound ever fails, is inside (0, 1).
    pub fn new(delta: f64) -> Result<Self> {
        require(delta > 0.0 && delta < 1.0, "the error probability", "between 0 and 1", delta)?;
        Ok(Self {
            log_inverse_delta: -libm::log(delta),
            n: 0.0,
            sum: 0.0,
            sum_of_squares: 0.0,
            weights: 0.0,
            weighted: 0.0,
            penalty: 0.0,
            upper: 1.0,
        })
    }

    /// Takes one fresh observation in [0, 1].
    pub fn observe(&mut self, x: f64) {
        // Mean and variance of the past, with half an observation at one half.
        let mean = (self.sum + 0.5) / (self.n + 1.0);
        let variance = (self.sum_of_squares + 0.5) / (self.n + 1.0) - mean * mean;
        let spread = (variance.max(1e-12) * (self.n + 1.0) * libm::log1p(self.n + 1.0)).max(1e-300);
        let stake = (2.0 * self.log_inverse_delta / spread).sqrt().min(0.5);
        // psi_E(stake) = (-ln(1 - stake) - stake) / 4, with v = 4 (x - past mean)^2.
        self.penalty += 4.0 * (x - mean).powi(2) * (-libm::log1p(-stake) - stake) / 4.0;
        self.weights += stake;
        self.weighted += stake * x;
        self.n += 1.0;
        self.sum += x;
        self.sum_of_squares += x * x;
        let upper = self.weighted / self.weights + (self.log_inverse_delta + self.penalty) / self.weights;
        self.upper = self.upper.min(upper);
    }

    /// The smallest bound so far; at most 1.
    pub fn upper(&self) -> f64 {
        self.upper
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Purpose, Seed, Stream};

    /// Share of `runs` bets that certify within `n` draws, and the mean number of draws that took.
    fn play(mut bet: impl FnMut(&mut Stream) -> Option<usize>, runs: u64) -> (f64, f64) {
        let (mut certified, mut draws) = (0, 0);
        for run in 0..runs {
            if let Some(n) = bet(&mut Seed(11).stream(Purpose::Certificate, run)) {
                certified += 1;
                draws += n;
            }
        }
        (certified as f64 / runs as f64, draws as f64 / certified.max(1) as f64)
    }

    fn run_bet(bet: &mut dyn Bet, delta: f64, limit: usize, mut draw: impl FnMut() -> f64) -> Option<usize> {
        (1..=limit).find(|_| {
            bet.observe(draw());
            bet.certifies(delta)
        })
    }

    /// Four standard errors above a nominal share.
    fn allowance(share: f64, runs: u64) -> f64 {
        share + 4.0 * (share * (1.0 - share) / runs as f64).sqrt()
    }

    #[test]
    fn false_certificates_are_as_rare_as_promised_at_the_boundary() {
        let (runs, delta) = (2_000, 0.05);
        for rate in [0.05, 0.35] {
            // Rates at and just above r, as a search that optimises on samples would leave them.
            for truth in [rate, 1.01 * rate] {
                let (mixture, _) = play(
                    |s| {
                        run_bet(&mut Mixture::new(rate).unwrap(), delta, 3_000, || {
                            f64::from(u8::from(s.uniform() < truth))
                        })
                    },
                    runs,
                );
                assert!(mixture <= allowance(delta, runs), "mixture, r {rate}: {mixture}");
                // Line-like observations: spread around the truth, inside [0, 1].
                let (betting, _) = play(
                    |s| run_bet(&mut Betting::new(rate).unwrap(), delta, 3_000, || truth * 2.0 * s.uniform()),
                    runs,
                );
                assert!(betting <= allowance(delta, runs), "betting, r {rate}: {betting}");
            }
        }
    }

    #[test]
    fn a_rate_below_the_target_is_certified_soon() {
        let delta = 1e-3;
        // ln(1/delta) / KL(0.08, 0.1) is 2,916 draws; nothing can need fewer on average.
        let (share, draws) = play(
            |s| {
                run_bet(&mut Mixture::new(0.1).unwrap(), delta, 40_000, || {
                    f64::from(u8::from(s.uniform() < 0.08))
                })
            },
            200,
        );
        assert!(share > 0.99 && (2_000.0..4_500.0).contains(&draws), "{share} {draws}");
        // Low spread: far fewer.
        let (share, draws) = play(
            |s| run_bet(&mut Betting::new(0.1).unwrap(), delta, 5_000, || 0.08 + 0.02 * (s.uniform() - 0.5)),
            200,
        );
        assert!(share > 0.99 && draws < 600.0, "{share} {draws}");
    }

    #[test]
    fn the_upper_bound_holds_at_all_times_and_shrinks() {
        let (runs, delta, mean) = (2_000u64, 0.05, 0.2);
        let mut failures = 0;
        let mut widths = 0.0;
        for run in 0..runs {
            let mut stream = Seed(5).stream(Purpose::Certificate, run);
            let mut bound = UpperBound::new(delta).unwrap();
            for _ in 0..1_000 {
                bound.observe(2.0 * mean * stream.uniform());
            }
            failures += usize::from(bound.upper() < mean);
            widths += bound.upper() - mean;
        }
        assert!(failures as f64 / runs as f64 <= allowance(delta, runs), "{failures}");
        assert!(widths / (runs as f64) < 0.03, "{}", widths / runs as f64);
    }

    #[test]
    fn attempts_share_the_error_probability() {
        let spent: f64 = (0..50).map(|k| share_of_attempt(1e-3, k)).sum();
        assert!(spent <= 1e-3 && spent > 0.999e-3);
        assert!(share_of_attempt(1e-3, u32::MAX) >= 0.0);
    }

    #[test]
    fn rates_outside_their_domain_are_refused() {
        for rate in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(Betting::new(rate).is_err() && Mixture::new(rate).is_err());
        }
    }
}
