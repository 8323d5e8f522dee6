//! The rate of an affine score if changes of category may fail, independently of each other.
//!
//! If change $k$ fails, which has probability $p_k$, the score $s$ shifts by $d_k$, the same
//! everywhere. With $S = \sum_k B_k d_k$, independent $B_k \sim \text{Bernoulli}(p_k)$ and Gaussian
//! noise of mean $\mu$ and deviation $\sigma$ along the score, the rate is $E[\bar\Phi((s + S +
//! \mu) / \sigma)]$: a sum over the values of $S$. There may be $2^n$ of them. If there are more
//! than [`MOST`], neighbouring values are joined and replaced by the lowest of them. The rate falls
//! as the score rises, so that the result is an upper bound; it is exact if no values were joined.

use crate::error::Result;
use crate::math::normal::upper_quantile;
use crate::schema::Actions;
use crate::theory::affine_rate;

/// The largest number of distinct values of the shift.
const MOST: usize = 1 << 14;
/// Shifts are clipped to this, so that their sums are finite.
const MOST_SCORE: f64 = 1e300;
/// Most steps of the search for the score of a rate.
const STEPS: usize = 200;
/// Relative precision of that search.
const CLOSE: f64 = 1e-15;
/// A score this many deviations below zero is rejected with a probability of 1 in `f64`.
const SURELY: f64 = 9.0;
/// The normal distribution has no mass in `f64` beyond this many deviations.
const NEVER: f64 = 40.0;

/// How changes that fail shift an affine score.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shifts {
    /// Values in ascending order, with their probabilities.
    values: Vec<(f64, f64)>,
}

impl Shifts {
    /// From the probabilities and the shifts of changes that may fail.
    pub(crate) fn new(changes: &[(f64, f64)]) -> Self {
        let mut shifts = Self { values: vec![(0.0, 1.0)] };
        for &(p_fail, by) in changes {
            // A shift that is NaN counts as a rejection.
            shifts.add(
                p_fail,
                if by.is_nan() { -MOST_SCORE } else { by.clamp(-MOST_SCORE, MOST_SCORE) },
            );
            shifts.join(MOST);
        }
        shifts
    }

    /// From all changes between `from` and `to` that may fail. `score` computes the score of a row.
    /// `None` if no change may fail.
    pub(crate) fn between(
        actions: &Actions,
        (from, to): (&[f64], &[f64]),
        mut score: impl FnMut(&[f64]) -> Result<f64>,
    ) -> Result<Option<Self>> {
        let (mut changes, mut failed, success) = (Vec::new(), to.to_vec(), score(to)?);
        for group in actions.failing(from, to) {
            group.columns().iter().for_each(|&c| failed[c] = from[c]);
            changes.push((group.p_fail(), score(&failed)? - success));
            group.columns().iter().for_each(|&c| failed[c] = to[c]);
        }
        Ok((!changes.is_empty()).then(|| Self::new(&changes)))
    }

    /// Adds a change: merges two sorted lists, and joins equal values.
    fn add(&mut self, p_fail: f64, by: f64) {
        let n = self.values.len();
        let mut both: Vec<(f64, f64)> = Vec::with_capacity(2 * n);
        let (mut stays, mut fails) = (0, 0);
        while stays < n || fails < n {
            let kept = self.values.get(stays).map_or(f64::INFINITY, |(value, _)| *value);
            let shifted = self.values.get(fails).map_or(f64::INFINITY, |(value, _)| value + by);
            let (value, p) = if kept <= shifted && stays < n {
                stays += 1;
                (kept, self.values[stays - 1].1 * (1.0 - p_fail))
            } else {
                fails += 1;
                (shifted, self.values[fails - 1].1 * p_fail)
            };
            match both.last_mut() {
                Some((last, sum)) if *last == value => *sum += p,
                _ => both.push((value, p)),
            }
        }
        self.values = both;
    }

    /// If there are more than `most` values, joins neighbours and keeps the lowest of them. Each
    /// group lowers the mean by at most $2R/m^2$, with $R$ the range of values and $m$ = `most`. A
    /// group and the next value take more than that, so that by Cauchy and Schwarz there are at
    /// most $m + 1$.
    fn join(&mut self, most: usize) {
        if self.values.len() <= most {
            return;
        }
        let range = self.values[self.values.len() - 1].0 - self.values[0].0;
        let enough = 2.0 * range / (most as f64).powi(2);
        let mut joined: Vec<(f64, f64)> = Vec::with_capacity(most);
        let mut lost = f64::INFINITY;
        for &(value, p) in &self.values {
            match joined.last_mut() {
                Some((lowest, sum)) if lost + p * (value - *lowest) <= enough => {
                    lost += p * (value - *lowest);
                    *sum += p;
                }
                _ => {
                    joined.push((value, p));
                    lost = 0.0;
                }
            }
        }
        self.values = joined;
    }

    /// The rate of a point whose score is `score` if every change succeeds.
    pub(crate) fn rate(&self, score: f64, noise: (f64, f64)) -> f64 {
        self.rate_within(score, noise, NEVER)
    }

    /// The same, without errors of more than `far` deviations that would turn an accepted score
    /// into a rejected one.
    fn rate_within(&self, score: f64, (mean, sd): (f64, f64), far: f64) -> f64 {
        let surely = self.values.partition_point(|(by, _)| score + by + mean <= -SURELY * sd);
        let maybe = self.values.partition_point(|(by, _)| score + by + mean <= far * sd);
        let refused: f64 = self.values[..surely].iter().map(|(_, p)| p).sum();
        let rest = self.values[surely..maybe.max(surely)].iter();
        refused + rest.map(|(by, p)| p * affine_rate(score + by, mean, sd)).sum::<f64>()
    }

    /// Number of distinct values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The least score, if every change succeeds, of a point with this rate. Without noise all
    /// higher scores have the same rate.
    pub(crate) fn score_of(&self, rate: f64, (mean, sd): (f64, f64)) -> f64 {
        if sd == 0.0 {
            let mut refused = 0.0;
            let last = self.values.iter().find(|(_, p)| {
                refused += p;
                refused > rate
            });
            return last.map_or(f64::NEG_INFINITY, |(by, _)| -by - mean);
        }
        // Between the scores that the best and the worst outcome need.
        let alone = upper_quantile(rate) * sd - mean;
        let ends = self.values.iter().map(|(by, _)| alone - by);
        let (mut low, mut high) =
            ends.fold((alone, alone), |(low, high), end| (low.min(end), high.max(end)));
        let far = upper_quantile(rate * CLOSE).min(NEVER);
        let excess = |score: f64| (self.rate_within(score, (mean, sd), far) / rate).ln();
        let (mut above, mut below) = (excess(low), excess(high));
        for step in 0..STEPS {
            if above <= 0.0 {
                return low;
            }
            if high - low <= CLOSE * high.abs().max(sd) {
                break;
            }
            let line = low + (high - low) * above / (above - below);
            // Interpolation can stay on one side of the root; halving moves the other end.
            let halve = step % 3 == 2 || !(low < line && line < high);
            let next = if halve { 0.5 * (low + high) } else { line };
            let seen = excess(next);
            if seen <= 0.0 { (high, below) = (next, seen) } else { (low, above) = (next, seen) }
        }
        high
    }
}
