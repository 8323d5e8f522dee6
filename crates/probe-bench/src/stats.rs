//! Means, medians, percentiles, straight lines through points, and numbers as texts quote them.

use probe_experiments::number::rounded;

/// The mean; NaN without values.
pub fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (n, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
    sum / n
}

/// The middle value; NaN without values.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => f64::NAN,
        n => 0.5 * (values[(n - 1) / 2] + values[n / 2]),
    }
}

/// The smallest and the largest, `"0.95 to 0.99"`; one number if both are printed the same.
pub fn range(values: impl Iterator<Item = f64>, digits: usize) -> String {
    between(values, |value| format!("{value:.digits$}"))
}

/// [`range`] with numbers as in texts ([`figure`]).
pub fn range_of_figures(values: impl Iterator<Item = f64>) -> String {
    between(values, figure)
}

fn between(values: impl Iterator<Item = f64>, text: impl Fn(f64) -> String) -> String {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (value.min(low), value.max(high))
    });
    let [low, high] = [low, high].map(text);
    if low == high { low } else { format!("{low} to {high}") }
}

/// A number for a text: three significant digits, with a comma between thousands; `"18,600"`,
/// `"1.25"`.
pub fn figure(value: f64) -> String {
    let unit = 10f64.powf(value.abs().log10().floor() - 2.0);
    if unit > 1.0 { rounded((value / unit).round() * unit, 3) } else { rounded(value, 3) }
}

/// The smallest of sorted values that at least a share `p` of them do not exceed; NaN without
/// values.
pub fn percentile(sorted: &[f64], p: f64) -> f64 {
    // The product is a little above a whole number where it should be one: 0.99 · 100.
    let place = (p * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(place - 1).copied().unwrap_or(f64::NAN)
}

/// Summary of repeats of one measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    pub median: f64,
    pub least: f64,
    pub most: f64,
}

impl Repeats {
    pub fn of(mut values: Vec<f64>) -> Self {
        let median = median(&mut values);
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        Self { median, least: end(values.first()), most: end(values.last()) }
    }

    /// The summary of `amount / value`, such as rates from times.
    pub fn over(self, amount: f64) -> Self {
        Self { median: amount / self.median, least: amount / self.most, most: amount / self.least }
    }

    /// Ratios of pairs that were measured in turns.
    pub fn ratios(above: &[f64], below: &[f64]) -> Self {
        Self::of(above.iter().zip(below).map(|(a, b)| a / b).collect())
    }
}

impl std::fmt::Display for Repeats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} to {})", figure(self.median), figure(self.least), figure(self.most))
    }
}

/// The exponent $k$ of $y = c x^k$, by least squares on the logarithms of `points` $(x, y)$. `None`
/// for fewer than two different $x$, or numbers that are not positive.
pub fn power(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (mean(logs.iter().map(|p| p.0)), mean(logs.iter().map(|p| p.1)));
    let (mut sxx, mut sxy) = (0.0, 0.0);
    for (x, y) in logs {
        sxx += (x - mx) * (x - mx);
        sxy += (x - mx) * (y - my);
    }
    let slope = sxy / sxx;
    (n >= 2.0 && slope.is_finite()).then_some(slope)
}

/// Of points sorted by their first number, those in the upper half of its range on a logarithmic
/// scale; at least the last two.
pub fn upper_half(points: &[(f64, f64)]) -> &[(f64, f64)] {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return points };
    // A little lower, so that a point in the middle belongs to the upper half.
    let middle = (first.0 * last.0).sqrt() * 0.999;
    let rising = last.0 >= first.0;
    let is_below = |p: &(f64, f64)| if rising { p.0 < middle } else { p.0 > middle * 1.002 };
    let start = points.iter().take_while(|p| is_below(p)).count();
    &points[start.min(points.len().saturating_sub(2))..]
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
        let told = [0.01234, 0.5, 12.345, 123.4, 1234.5, 1_236_567.0, 0.0, f64::NAN].map(figure);
        assert_eq!(told, ["0.0123", "0.5", "12.3", "123", "1,230", "1,240,000", "0", "n/a"]);
        assert!(median(&mut []).is_nan() && mean(std::iter::empty()).is_nan());
    }

    #[test]
    fn percentiles_are_values_that_so_many_do_not_exceed() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        let of = |p| percentile(&hundred, p);
        assert_eq!([of(0.5), of(0.9), of(0.99), of(1.0), of(0.0)], [50.0, 90.0, 99.0, 100.0, 1.0]);
        // 99 % of 10 are all ten; of 200, 198.
        assert_eq!(percentile(&hundred[..10], 0.99), 10.0);
        let more: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(percentile(&more, 0.99), 198.0);
        assert_eq!(percentile(&[7.0], 0.5), 7.0);
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn repeats_know_their_ends_also_as_rates() {
        let seconds = Repeats::of(vec![4.0, 1.0, 2.0]);
        assert_eq!(seconds, Repeats { median: 2.0, least: 1.0, most: 4.0 });
        assert_eq!(seconds.over(8.0), Repeats { median: 4.0, least: 2.0, most: 8.0 });
        let ratios = Repeats::ratios(&[2.0, 6.0, 12.0], &[1.0, 2.0, 3.0]);
        assert_eq!(ratios, Repeats { median: 3.0, least: 2.0, most: 4.0 });
    }

    #[test]
    fn powers_are_found_through_factors() {
        let cubes: Vec<(f64, f64)> =
            [1.0, 2.0, 5.0, 9.0].map(|x: f64| (x, 7.0 * x.powi(3))).to_vec();
        assert!((power(&cubes).unwrap() - 3.0).abs() < 1e-12);
        let falling: Vec<(f64, f64)> = [0.1, 0.01, 0.001].map(|x: f64| (x, 2.0 / x)).to_vec();
        assert!((power(&falling).unwrap() + 1.0).abs() < 1e-12);
        // Least squares through (0, 0), (1, 1), (2, 1) in logarithms: slope 1/2.
        let e = std::f64::consts::E;
        assert!((power(&[(1.0, 1.0), (e, e), (e * e, e)]).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!([power(&[(2.0, 1.0)]), power(&[]), power(&[(2.0, 1.0), (2.0, 3.0)])], [None; 3]);
        assert_eq!(power(&[(1.0, 1.0), (2.0, 0.0)]), None);
    }

    #[test]
    fn the_upper_half_is_that_of_logarithms() {
        let at = |xs: &[f64]| xs.iter().map(|x| (*x, 1.0)).collect::<Vec<_>>();
        let xs = |points: &[(f64, f64)]| points.iter().map(|p| p.0).collect::<Vec<_>>();
        assert_eq!(xs(upper_half(&at(&[1.0, 10.0, 100.0, 1000.0, 1e4]))), [100.0, 1000.0, 1e4]);
        // Towards small numbers, these are the far end.
        assert_eq!(xs(upper_half(&at(&[1.0, 0.1, 0.01, 0.001, 1e-4]))), [0.01, 0.001, 1e-4]);
        assert_eq!(xs(upper_half(&at(&[1.0, 2.0, 1e6]))), [2.0, 1e6]);
        assert_eq!(upper_half(&[]), []);
    }
}
