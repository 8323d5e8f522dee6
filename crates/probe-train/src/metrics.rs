//! How well scores predict a target. A score is on the log-odds scale; above 0 it predicts the
//! favourable class.

use crate::error::{Error, Result, same_length};
use serde::Serialize;

/// How often each class was predicted as each class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Confusion {
    /// Favourable, predicted favourable.
    pub true_positive: usize,
    /// Unfavourable, predicted favourable.
    pub false_positive: usize,
    /// Unfavourable, predicted unfavourable.
    pub true_negative: usize,
    /// Favourable, predicted unfavourable.
    pub false_negative: usize,
}

impl Confusion {
    /// Counts predictions. A score of exactly 0 predicts unfavourable. Fails on lengths that
    /// differ.
    pub fn count(scores: &[f64], favourable: &[bool]) -> Result<Self> {
        same_length("scores, one per row of the target", favourable.len(), scores.len())?;
        let mut counts = Self::default();
        for (&score, &yes) in scores.iter().zip(favourable) {
            *match (yes, score > 0.0) {
                (true, true) => &mut counts.true_positive,
                (false, true) => &mut counts.false_positive,
                (false, false) => &mut counts.true_negative,
                (true, false) => &mut counts.false_negative,
            } += 1;
        }
        Ok(counts)
    }

    /// Number of rows counted.
    pub fn n(&self) -> usize {
        self.true_positive + self.false_positive + self.true_negative + self.false_negative
    }

    /// Share of rows predicted rightly; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.true_positive + self.true_negative, self.n())
    }

    /// Mean of the shares of each class predicted rightly; `None` unless both classes occur.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        let favourable = share(self.true_positive, self.true_positive + self.false_negative)?;
        let unfavourable = share(self.true_negative, self.true_negative + self.false_positive)?;
        Some(0.5 * (favourable + unfavourable))
    }
}

/// The metrics of one set of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Metrics {
    /// Share of rows predicted rightly.
    pub accuracy: f64,
    /// Mean over the classes of the share predicted rightly; `None` where a class does not occur.
    pub balanced_accuracy: Option<f64>,
    /// Area under the ROC curve; `None` where a class does not occur.
    pub auc: Option<f64>,
    /// Mean of −log(probability given to what happened).
    pub log_loss: f64,
    /// Counts behind the accuracies.
    pub confusion: Confusion,
}

impl Metrics {
    /// Judges `scores` against what happened. Fails without rows, on lengths that differ and on
    /// NaN, naming the row.
    ///
    /// ```
    /// use probe_train::Metrics;
    /// let metrics = Metrics::of(&[2.0, -1.0, 0.5], &[true, false, false])?;
    /// assert_eq!(metrics.auc, Some(1.0));
    /// assert_eq!(metrics.balanced_accuracy, Some(0.75));
    /// # Ok::<(), probe_train::Error>(())
    /// ```
    pub fn of(scores: &[f64], favourable: &[bool]) -> Result<Self> {
        let confusion = Confusion::count(scores, favourable)?;
        let accuracy = confusion.accuracy().ok_or(Error::NoRows { what: "judge scores on" })?;
        Ok(Self {
            accuracy,
            balanced_accuracy: confusion.balanced_accuracy(),
            auc: auc(scores, favourable)?,
            log_loss: log_loss(scores, favourable)?,
            confusion,
        })
    }
}

/// Area under the ROC curve: the probability that a random favourable row scores above a random
/// unfavourable one, a tie counting half. Pairs are counted in whole numbers, so the only rounding
/// is one division. `None` unless both classes occur; fails on lengths that differ and on NaN.
pub fn auc(scores: &[f64], favourable: &[bool]) -> Result<Option<f64>> {
    same_length("scores, one per row of the target", favourable.len(), scores.len())?;
    if let Some(row) = scores.iter().position(|score| score.is_nan()) {
        return Err(Error::Score { row, value: scores[row] });
    }
    let mut order: Vec<(f64, bool)> =
        scores.iter().copied().zip(favourable.iter().copied()).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut n_yes, mut n_no, mut half_pairs) = (0u128, 0u128, 0u128);
    for tied in order.chunk_by(|a, b| a.0 == b.0) {
        let yes = tied.iter().filter(|(_, yes)| *yes).count() as u128;
        let no = tied.len() as u128 - yes;
        half_pairs += yes * (2 * n_no + no);
        n_yes += yes;
        n_no += no;
    }
    let pairs = n_yes * n_no;
    Ok((pairs > 0).then(|| half_pairs as f64 / (2 * pairs) as f64))
}

/// Mean of −log of the probability that the score gave to what happened. Fails without rows, on
/// lengths that differ and on NaN.
pub fn log_loss(scores: &[f64], favourable: &[bool]) -> Result<f64> {
    same_length("scores, one per row of the target", favourable.len(), scores.len())?;
    if scores.is_empty() {
        return Err(Error::NoRows { what: "judge scores on" });
    }
    let mut total = 0.0;
    for (row, (&score, &yes)) in scores.iter().zip(favourable).enumerate() {
        if score.is_nan() {
            return Err(Error::Score { row, value: score });
        }
        total += softplus(if yes { -score } else { score });
    }
    Ok(total / scores.len() as f64)
}

/// $\log(1 + e^t)$, without overflow and without losing small values.
fn softplus(t: f64) -> f64 {
    t.max(0.0) + libm::log1p(libm::exp(-t.abs()))
}

/// −log of the probability that a score gave to what happened, and its derivatives by the score.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowLoss {
    pub(crate) value: f64,
    pub(crate) slope: f64,
    pub(crate) curvature: f64,
}

impl RowLoss {
    #[inline]
    pub(crate) fn at(score: f64, yes: bool) -> Self {
        let e = libm::exp(-score.abs());
        // Probability of the predicted class and of the other one, both without cancellation.
        let (larger, smaller) = (1.0 / (1.0 + e), e / (1.0 + e));
        let slope = match (yes, score >= 0.0) {
            (true, true) => -smaller,
            (true, false) => -larger,
            (false, true) => larger,
            (false, false) => smaller,
        };
        let value = (if yes { -score } else { score }).max(0.0) + libm::log1p(e);
        Self { value, slope, curvature: larger * smaller }
    }
}

/// The sum of the rows' losses, each times the weight of its class.
pub(crate) fn weighted_loss(scores: &[f64], favourable: &[bool], class_weights: [f64; 2]) -> f64 {
    let loss = |(&score, &yes): (&f64, &bool)| {
        class_weights[usize::from(yes)] * softplus(if yes { -score } else { score })
    };
    scores.iter().zip(favourable).map(loss).sum()
}

/// Weight of an unfavourable and of a favourable row: 1, or so that both classes weigh the same in
/// total.
pub(crate) fn class_weights(favourable: &[bool], balanced: bool) -> [f64; 2] {
    let n_yes = favourable.iter().filter(|&&yes| yes).count() as f64;
    let n = favourable.len() as f64;
    if balanced { [n - n_yes, n_yes].map(|size| n / (2.0 * size)) } else { [1.0; 2] }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_by_hand() {
        // Right: 3 of 4 favourable, 1 of 3 unfavourable; a score of 0 is a no.
        let scores = [1.0, 0.2, 3.0, 0.0, 0.1, -0.5, 2.0];
        let favourable = [true, true, true, true, false, false, false];
        let metrics = Metrics::of(&scores, &favourable).unwrap();
        let expected =
            Confusion { true_positive: 3, false_negative: 1, false_positive: 2, true_negative: 1 };
        assert_eq!(metrics.confusion, expected);
        assert_eq!(metrics.accuracy, 4.0 / 7.0);
        assert_eq!(metrics.balanced_accuracy, Some(0.5 * (0.75 + 1.0 / 3.0)));
    }

    #[test]
    fn auc_by_hand_with_ties() {
        // Pairs (favourable, unfavourable): 1 > 0, 1 > -1, 0 = 0 (a half), 0 > -1: 3.5 of 4. The
        // zeros differ in sign.
        assert_eq!(auc(&[1.0, 0.0, -0.0, -1.0], &[true, true, false, false]).unwrap(), Some(0.875));
        assert_eq!(
            auc(&[5.0; 9], &[true, false, true, false, true, false, true, true, true]).unwrap(),
            Some(0.5)
        );
        assert_eq!(auc(&[f64::NEG_INFINITY, f64::INFINITY], &[true, false]).unwrap(), Some(0.0));
    }

    #[test]
    fn auc_equals_the_count_over_all_pairs() {
        let scores: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 11)).collect();
        let favourable: Vec<bool> = (0..60).map(|i| (i * i) % 7 < 3).collect();
        let (mut won, mut pairs) = (0.0, 0.0);
        for i in (0..60).filter(|&i| favourable[i]) {
            for j in (0..60).filter(|&j| !favourable[j]) {
                won += if scores[i] > scores[j] {
                    1.0
                } else if scores[i] == scores[j] {
                    0.5
                } else {
                    0.0
                };
                pairs += 1.0;
            }
        }
        assert_eq!(auc(&scores, &favourable).unwrap(), Some(won / pairs));
    }

    #[test]
    fn log_loss_by_hand_and_without_overflow() {
        // Scores ±ln 3 give the favourable class 3/4 and 1/4: loss is -(ln 3/4 + ln 3/4 + ln 1/4)
        // / 3.
        let s = 3f64.ln();
        let expected = -(2.0 * 0.75f64.ln() + 0.25f64.ln()) / 3.0;
        assert!((log_loss(&[s, -s, -s], &[true, false, true]).unwrap() - expected).abs() < 1e-15);
        assert_eq!(log_loss(&[-1000.0], &[true]).unwrap(), 1000.0);
        let tiny = log_loss(&[50.0], &[true]).unwrap();
        assert!((tiny / (-50f64).exp() - 1.0).abs() < 1e-14, "{tiny}");
    }

    #[test]
    fn one_class_has_an_accuracy_but_no_auc() {
        let metrics = Metrics::of(&[1.0, -1.0], &[true, true]).unwrap();
        assert_eq!((metrics.accuracy, metrics.auc, metrics.balanced_accuracy), (0.5, None, None));
    }

    #[test]
    fn bad_input_is_an_error() {
        assert_eq!(Metrics::of(&[], &[]), Err(Error::NoRows { what: "judge scores on" }));
        assert!(Metrics::of(&[1.0], &[true, false]).is_err());
        assert!(matches!(auc(&[0.0, f64::NAN], &[true, false]), Err(Error::Score { row: 1, .. })));
        assert!(matches!(log_loss(&[f64::NAN], &[true]), Err(Error::Score { row: 0, .. })));
    }
}
