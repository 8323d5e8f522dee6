//! Means and medians, and numbers as texts quote them.

/// The mean; NaN without values.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
    sum / n
}

/// The middle value; NaN without values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => 0.5 * (values[(n - 1) / 2] + values[n / 2]),
    }
}

/// The smallest and the largest, `"0.95 to 0.99"`; one number where they are printed alike.
pub(crate) fn range(values: impl Iterator<Item = f64>, digits: usize) -> String {
    let (low, high) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (value.min(low), value.max(high)));
    let [low, high] = [low, high].map(|value| format!("{value:.digits$}"));
    if low == high { low } else { format!("{low} to {high}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_median_by_hand() {
        assert_eq!(mean([1.0, 2.0, 6.0].into_iter()), 3.0);
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(range([0.991, 0.95, 0.97].into_iter(), 2), "0.95 to 0.99");
        assert_eq!(range([0.951, 0.95].into_iter(), 2), "0.95");
        assert!(median(&mut []).is_nan() && mean(std::iter::empty()).is_nan());
    }
}
