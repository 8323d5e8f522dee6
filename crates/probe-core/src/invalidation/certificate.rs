//! Certificates that may be checked at any time: a bet against "the rate is above $r$". If that
//! statement is true, the expected wealth of the bet does not grow.
//!
//! For observations $X_i \in [0, 1]$ with mean $\Delta$ and stakes $\lambda_i$ that depend on the
//! past only, $K_n = \prod_i (1 + \lambda_i (r - X_i))$ is a non-negative supermartingale whenever
//! $\Delta \ge r$, so by Ville's inequality $P(\sup_n K_n \ge 1/\delta) \le \delta$: a test that
//! stops at the first $K_n \ge 1/\delta$ and certifies is wrong with probability at most $\delta$,
//! whenever it stops. Observations must be fresh and independent; the search must not have seen
//! them. (Waudby-Smith and Ramdas, arXiv:2010.09686; Shafer, "Testing by betting", 2021.)
//!
//! There are two kinds of bets. [`Betting`] is for observations with a small spread, such as the
//! masses of lines. [`Mixture`] is for plain draws, which are 0 or 1; it bets on several
//! alternatives at once, because the best stake is not known.

use crate::error::{Result, require};

/// A running bet against "the mean is at least r".
pub trait Bet {
    /// Takes several fresh observations in [0, 1] with the same stakes; the wealth is checked
    /// after the last.
    fn observe_all(&mut self, observations: &[f64]);

    /// Takes one fresh observation in [0, 1].
    fn observe(&mut self, x: f64) {
        self.observe_all(&[x]);
    }

    /// Mean of the observations; NaN before the first.
    fn mean(&self) -> f64;

    /// Logarithm of the largest wealth so far.
    fn log_wealth(&self) -> f64;

    /// Whether the claim "the mean is below r" is certified with error probability `delta`.
    fn certifies(&self, delta: f64) -> bool {
        self.log_wealth() >= -libm::log(delta)
    }
}

fn check_rate(rate: f64) -> Result<()> {
    Ok(require(
        rate > 0.0 && rate < 1.0,
        "the target invalidation rate r",
        "between 0 and 1",
        rate,
    )?)
}

/// Bets with stakes that follow from mean and variance of the past observations, and from those
/// expected before the first.
///
/// The money is divided. Most of it follows the bold stake, which is best if observations hardly
/// spread. A rare observation near 1, which mean and variance do not show, can ruin it. The rest
/// follows the careful stake, which gains on average for every distribution with this mean and
/// variance. The wealth is the sum of both.
#[derive(Debug, Clone)]
pub struct Betting {
    rate: f64,
    /// Logarithms of the wealth of one unit of money on the bold and on the careful stake.
    now: [f64; 2],
    best: f64,
    past: Moments,
    n: f64,
    sum: f64,
}

/// Sums over observations, including imaginary ones before the first.
#[derive(Debug, Clone, Copy)]
struct Moments {
    n: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl Moments {
    /// As if `n` observations of this mean and variance had been seen.
    fn expecting(n: f64, mean: f64, variance: f64) -> Self {
        Self { n, sum: n * mean, sum_of_squares: n * (mean * mean + variance) }
    }

    fn add(&mut self, x: f64) {
        self.n += 1.0;
        self.sum += x;
        self.sum_of_squares += x * x;
    }

    fn mean(&self) -> f64 {
        self.sum / self.n
    }

    fn variance(&self) -> f64 {
        (self.sum_of_squares / self.n - self.mean().powi(2)).max(0.0)
    }
}

/// Weight of the expectation, in observations.
const EXPECTATION: f64 = 64.0;
/// Share of the money on the bold stake.
const BOLD: f64 = 0.9;

impl Betting {
    /// Expects nothing. One imaginary observation at r makes the first stake zero and keeps the
    /// second one small. Fails unless `rate` is inside (0, 1).
    pub fn new(rate: f64) -> Result<Self> {
        Self::starting(rate, Moments::expecting(1.0, rate, rate * (1.0 - rate)))
    }

    /// Expects observations of this mean and variance, estimated from samples that the certificate
    /// does not use. With a wrong expectation the certificate takes longer, but stays valid.
    pub fn expecting(rate: f64, mean: f64, variance: f64) -> Result<Self> {
        Self::starting(rate, Moments::expecting(EXPECTATION, mean, variance))
    }

    fn starting(rate: f64, past: Moments) -> Result<Self> {
        check_rate(rate)?;
        Ok(Self { rate, now: [0.0; 2], best: 0.0, past, n: 0.0, sum: 0.0 })
    }

    /// The stakes for the next observations. Bold: $\mathrm{gap}/(\mathrm{var} + \mathrm{gap}^2)$,
    /// limited so that one observation of 1 does not lose everything. Careful: at most half of that
    /// limit, where $\ln(1+y) \ge y - ky^2$ with $k = 4\ln 2 - 2$, and at most
    /// $\mathrm{gap}/(2k(\mathrm{var} + \mathrm{gap}^2))$, which maximises that bound's mean.
    fn stakes(&self) -> [f64; 2] {
        const K: f64 = 4.0 * std::f64::consts::LN_2 - 2.0;
        let gap = self.rate - self.past.mean();
        if gap > 0.0 {
            let (stake, limit) =
                (gap / (self.past.variance() + gap * gap), 1.0 / (1.0 - self.rate));
            [stake.min(0.98 * limit), (stake / (2.0 * K)).min(0.5 * limit)]
        } else {
            [0.0; 2]
        }
    }
}

impl Bet for Betting {
    fn observe_all(&mut self, observations: &[f64]) {
        // In small chunks, so that the wealth's factor cannot underflow.
        for some in observations.chunks(128) {
            let [bold, careful] = self.stakes();
            let mut factors = [1.0; 2];
            for &x in some {
                factors[0] *= 1.0 + bold * (self.rate - x);
                factors[1] *= 1.0 + careful * (self.rate - x);
                self.past.add(x);
                self.sum += x;
            }
            self.n += some.len() as f64;
            self.now[0] += libm::log(factors[0]);
            self.now[1] += libm::log(factors[1]);
            let [bold, careful] = self.now;
            let larger = bold.max(careful);
            let total =
                BOLD * libm::exp(bold - larger) + (1.0 - BOLD) * libm::exp(careful - larger);
            self.best = self.best.max(larger + libm::log(total));
        }
    }

    fn mean(&self) -> f64 {
        self.sum / self.n
    }

    fn log_wealth(&self) -> f64 {
        self.best
    }
}

/// Shares of r that [`Mixture`] bets on, with equal money on each.
const ALTERNATIVES: [f64; 9] = [0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.94, 0.97];

/// A mixture of likelihood ratios of rates below r against r, for observations that are 0 or 1.
#[derive(Debug, Clone)]
pub struct Mixture {
    /// Logarithms of the factors for a 1 and for a 0, for each alternative, and the money on it.
    factors: Vec<(f64, f64, f64)>,
    ones: f64,
    n: f64,
    best: f64,
}

impl Mixture {
    /// Fails unless `rate` is inside (0, 1).
    pub fn new(rate: f64) -> Result<Self> {
        check_rate(rate)?;
        let money = 1.0 / ALTERNATIVES.len() as f64;
        let factors =
            ALTERNATIVES.iter().map(|&share| Self::alternative(rate, share, money)).collect();
        Ok(Self { factors, ones: 0.0, n: 0.0, best: 0.0 })
    }

    /// Puts most of the stake on a mean estimated from samples that the certificate does not use.
    /// With a wrong mean the certificate takes longer, but stays valid.
    pub fn expecting(rate: f64, mean: f64) -> Result<Self> {
        const ON_IT: f64 = 0.75;
        let mut mixture = Self::new(rate)?;
        let share = mean / rate;
        if share > 0.0 && share < 0.995 {
            mixture.factors.iter_mut().for_each(|(_, _, money)| *money *= 1.0 - ON_IT);
            mixture.factors.push(Self::alternative(rate, share.max(ALTERNATIVES[0]), ON_IT));
        }
        Ok(mixture)
    }

    fn alternative(rate: f64, share: f64, money: f64) -> (f64, f64, f64) {
        (libm::log(share), libm::log1p(rate * (1.0 - share) / (1.0 - rate)), money)
    }

    /// Takes `ones` ones among `n` fresh draws at once: the wealth is checked only after all of
    /// them.
    pub fn observe_many(&mut self, ones: u64, n: u64) {
        self.ones += ones as f64;
        self.n += n as f64;
        let (ones, zeros) = (self.ones, self.n - self.ones);
        let logs =
            || self.factors.iter().map(|(one, zero, money)| (ones * one + zeros * zero, money));
        let largest = logs().fold(f64::NEG_INFINITY, |most, (log, _)| most.max(log));
        let mean: f64 = logs().map(|(log, money)| money * libm::exp(log - largest)).sum();
        self.best = self.best.max(largest + libm::log(mean));
    }
}

impl Bet for Mixture {
    fn observe_all(&mut self, observations: &[f64]) {
        let ones = observations.iter().filter(|x| **x > 0.5).count();
        self.observe_many(ones as u64, observations.len() as u64);
    }

    fn mean(&self) -> f64 {
        self.ones / self.n
    }

    fn log_wealth(&self) -> f64 {
        self.best
    }
}

/// Splits an error probability over attempts without knowing how many there will be: attempt k may
/// spend $\frac{9}{10}\delta/10^k$. The first gets the most because it nearly always suffices.
pub fn share_of_attempt(delta: f64, attempt: u32) -> f64 {
    0.9 * delta * 0.1_f64.powi(attempt.min(300) as i32)
}

/// An upper bound on a mean that holds at all times at once: the predictable plug-in
/// empirical-Bernstein sequence (arXiv:2010.09686, Theorem 2), one-sided.
#[derive(Debug, Clone)]
pub struct UpperBound {
    log_inverse_delta: f64,
    /// Half an observation at 0 and half at 1 before the first.
    past: Moments,
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
            past: Moments::expecting(1.0, 0.5, 0.25),
            weights: 0.0,
            weighted: 0.0,
            penalty: 0.0,
            upper: 1.0,
        })
    }

    /// Takes one fresh observation in [0, 1].
    pub fn observe(&mut self, x: f64) {
        self.observe_all(&[x]);
    }

    /// Takes several fresh observations in [0, 1] with one stake.
    pub fn observe_all(&mut self, observations: &[f64]) {
        // Mean and variance of the past only.
        let (mean, variance) = (self.past.mean(), self.past.variance());
        let n = self.past.n + observations.len() as f64 - 1.0;
        let spread = (variance.max(1e-12) * n * libm::log1p(n)).max(1e-300);
        let stake = (2.0 * self.log_inverse_delta / spread).sqrt().min(0.5);
        // psi_E(stake) = (-ln(1 - stake) - stake) / 4, with v = 4 (x - past mean)^2.
        let mut squares = 0.0;
        let before = self.past.sum;
        for &x in observations {
            squares += (x - mean).powi(2);
            self.past.add(x);
        }
        self.penalty += squares * (-libm::log1p(-stake) - stake);
        self.weights += stake * observations.len() as f64;
        self.weighted += stake * (self.past.sum - before);
        let upper =
            self.weighted / self.weights + (self.log_inverse_delta + self.penalty) / self.weights;
        self.upper = self.upper.min(upper);
    }

    /// The smallest bound so far; at most 1.
    pub fn upper(&self) -> f64 {
        self.upper
    }
}

/// A lower bound on the mean of independent `observations` in [0, 1] that fails with probability
/// `delta`. It is a bet that is evaluated once.
///
/// With $Y = 1 - X$, $W(m) = \prod_i (1 + m - Y_i)$ has a mean of at most 1 where $E[Y] \ge m$, so
/// that $P(W(m) \ge 1/\delta) \le \delta$ by Markov's inequality. $W$ grows with $m$: the $m$ at
/// which it is $1/\delta$ is above the true mean with that probability at most.
pub(crate) fn mean_at_least(observations: &[f64], delta: f64) -> f64 {
    let wins = |m: f64| {
        // In small chunks, so that a product cannot underflow.
        let log = |some: &[f64]| libm::log(some.iter().map(|x| m + x).product::<f64>());
        observations.chunks(64).map(log).sum::<f64>() >= -libm::log(delta)
    };
    let (mut lost, mut won) = (0.0, 1.0);
    if !wins(won) {
        return 0.0;
    }
    for _ in 0..12 {
        let middle = 0.5 * (lost + won);
        if wins(middle) { won = middle } else { lost = middle }
    }
    1.0 - won
}

/// A lower bound on a probability that fails with probability `delta`, given the `share` of
/// successes among `n` independent draws: Chernoff's bound in Hoeffding's form, $P(\hat p \ge q)
/// \le e^{-n\,\mathrm{KL}(q \Vert p)}$ for $q \ge p$.
pub(crate) fn share_at_least(share: f64, n: usize, delta: f64) -> f64 {
    let allowed = -libm::log(delta) / n as f64;
    let part = |q: f64, p: f64| if q > 0.0 { q * libm::log(q / p) } else { 0.0 };
    let divergence = |p: f64| part(share, p) + part(1.0 - share, 1.0 - p);
    let (mut low, mut high) = (0.0, share);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        if divergence(middle) >= allowed { low = middle } else { high = middle }
    }
    low
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

    fn run_bet(
        bet: &mut dyn Bet,
        delta: f64,
        limit: usize,
        mut draw: impl FnMut() -> f64,
    ) -> Option<usize> {
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
                    |s| {
                        run_bet(&mut Betting::new(rate).unwrap(), delta, 3_000, || {
                            truth * 2.0 * s.uniform()
                        })
                    },
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
            |s| {
                run_bet(&mut Betting::new(0.1).unwrap(), delta, 5_000, || {
                    0.08 + 0.02 * (s.uniform() - 0.5)
                })
            },
            200,
        );
        assert!(share > 0.99 && draws < 600.0, "{share} {draws}");
    }

    #[test]
    fn rare_observations_near_one_do_not_ruin_the_bet() {
        // 1 with probability 0.02, else 0.1633: mean 0.18, and variance 0.0137 asks for a stake at
        // the limit, with which the mean of ln(1 + 1.225 (0.2 - X)) is 0.02 ln 0.02 + 0.98 ln 1.045
        // < 0.
        let (share, draws) = play(
            |s| {
                run_bet(&mut Betting::new(0.2).unwrap(), 1e-3, 10_000, || {
                    if s.uniform() < 0.02 { 1.0 } else { 0.1633 }
                })
            },
            200,
        );
        // Wealth grows by gap²/(4k(var + gap²)) = 0.0091 a draw, so ln(5/δ) takes about 940.
        assert!(share > 0.99 && draws < 1_500.0, "{share} {draws}");
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
