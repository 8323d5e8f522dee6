//! Training and test rows, drawn by seed so that both have the same share of favourable rows.

use crate::error::{Error, Result};
use probe_core::error::require;
use probe_core::{Purpose, Seed, Stream};

/// The share of rows kept for testing unless said otherwise.
pub const DEFAULT_TEST_SHARE: f64 = 0.2;

/// Names the stream of the split among all streams of [`Purpose::Training`].
const SPLIT_STREAM: u64 = 1;

/// Row numbers of the two parts, each ascending; together every row once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Rows to learn from.
    pub train: Vec<usize>,
    /// Rows to judge on.
    pub test: Vec<usize>,
}

impl Split {
    /// A stratified split: `test_share` of the rows of each class, to the nearest row, are drawn
    /// for testing.
    ///
    /// The test part has `test_share` of all rows, rounded to the nearest whole number, but a class
    /// that occurs keeps at least one row for training. The same seed and target give the same
    /// split on every machine. Fails without rows and unless 0 ≤ `test_share` < 1.
    ///
    /// ```
    /// use probe_core::Seed;
    /// use probe_train::Split;
    /// let favourable = [true, true, true, true, true, false, false, false, false, false];
    /// let split = Split::stratified(&favourable, 0.2, Seed(0))?;
    /// assert_eq!((split.train.len(), split.test.len()), (8, 2));
    /// assert_eq!(split.test.iter().filter(|&&row| favourable[row]).count(), 1);
    /// # Ok::<(), probe_train::Error>(())
    /// ```
    pub fn stratified(favourable: &[bool], test_share: f64, seed: Seed) -> Result<Self> {
        Self::draw(favourable, test_share, &mut seed.stream(Purpose::Training, SPLIT_STREAM))
    }

    /// As [`Split::stratified`], drawn from `stream`.
    pub(crate) fn draw(favourable: &[bool], test_share: f64, stream: &mut Stream) -> Result<Self> {
        require(
            (0.0..1.0).contains(&test_share),
            "test_share",
            "at least 0 and below 1",
            test_share,
        )?;
        if favourable.is_empty() {
            return Err(Error::NoRows { what: "split" });
        }
        let rows_of =
            |class: bool| (0..favourable.len()).filter(|&row| favourable[row] == class).collect();
        let mut classes: [Vec<usize>; 2] = [rows_of(false), rows_of(true)];
        let n_test = test_counts([classes[0].len(), classes[1].len()], test_share);
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for (rows, n) in classes.iter_mut().zip(n_test) {
            shuffle(rows, stream);
            test.extend_from_slice(&rows[..n]);
            train.extend_from_slice(&rows[n..]);
        }
        train.sort_unstable();
        test.sort_unstable();
        Ok(Self { train, test })
    }
}

/// How many rows of each class to draw: whole parts first, then the larger fraction until the total
/// is reached.
fn test_counts(sizes: [usize; 2], test_share: f64) -> [usize; 2] {
    let exact = sizes.map(|n| n as f64 * test_share);
    let mut counts = exact.map(|n| n.floor() as usize);
    let total = ((sizes[0] + sizes[1]) as f64 * test_share).round() as usize;
    let fraction = exact.map(f64::fract);
    let by_fraction = if fraction[1] > fraction[0] { [1, 0] } else { [0, 1] };
    for class in by_fraction {
        if counts[0] + counts[1] < total {
            counts[class] += 1;
        }
    }
    [counts[0].min(sizes[0].saturating_sub(1)), counts[1].min(sizes[1].saturating_sub(1))]
}

/// Fisher–Yates.
pub(crate) fn shuffle(rows: &mut [usize], stream: &mut Stream) {
    for last in (1..rows.len()).rev() {
        rows.swap(last, stream.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(n: usize, n_yes: usize) -> Vec<bool> {
        (0..n).map(|row| (row * 7919) % n < n_yes).collect()
    }

    #[test]
    fn parts_are_complete_disjoint_and_stratified() {
        let favourable = target(1003, 307);
        let split = Split::stratified(&favourable, DEFAULT_TEST_SHARE, Seed(5)).unwrap();
        let mut all: Vec<usize> = split.train.iter().chain(&split.test).copied().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1003).collect::<Vec<_>>());
        // 0.2 × 1003 = 200.6 → 201; 0.2 × 307 = 61.4 and 0.2 × 696 = 139.2: 61 and 139, and one
        // more favourable.
        assert_eq!(split.test.len(), 201);
        assert_eq!(split.test.iter().filter(|&&row| favourable[row]).count(), 62);
        assert!(split.train.is_sorted() && split.test.is_sorted());
    }

    #[test]
    fn same_seed_same_split_and_other_seed_another() {
        let favourable = target(200, 90);
        let draw = |seed| Split::stratified(&favourable, 0.3, Seed(seed)).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn every_row_is_as_likely_to_be_tested() {
        // 2000 seeds: each row of 20 is tested Binomial(2000, 0.25) times, sd 19.4; five of them
        // allowed.
        let favourable = target(20, 8);
        let mut tested = [0i32; 20];
        for seed in 0..2000 {
            let split = Split::stratified(&favourable, 0.25, Seed(seed)).unwrap();
            split.test.iter().for_each(|&row| tested[row] += 1);
        }
        assert!(tested.iter().all(|&n| (n - 500).abs() < 97), "{tested:?}");
    }

    #[test]
    fn small_classes_stay_in_training() {
        let split = Split::stratified(&[true, false, false, false], 0.9, Seed(0)).unwrap();
        assert!(split.train.contains(&0));
        assert_eq!((split.train.len(), split.test.len()), (2, 2));
        let none = Split::stratified(&target(10, 5), 0.0, Seed(0)).unwrap();
        assert_eq!((none.train.len(), none.test.len()), (10, 0));
        let one_class = Split::stratified(&[true; 10], 0.2, Seed(0)).unwrap();
        assert_eq!((one_class.train.len(), one_class.test.len()), (8, 2));
    }

    #[test]
    fn bad_input_is_an_error() {
        assert_eq!(Split::stratified(&[], 0.2, Seed(0)), Err(Error::NoRows { what: "split" }));
        for share in [-0.1, 1.0, f64::NAN] {
            assert!(Split::stratified(&[true, false], share, Seed(0)).is_err(), "{share}");
        }
    }
}
