//! From one number per person to a line of a table.

use crate::seed::{Key, Purpose, Seed};

/// Resamples of a bootstrap interval.
const RESAMPLES: usize = 1_000;

/// A metric over many people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The metric.
    pub metric: &'static str,
    /// Number of people it was defined for.
    pub n: usize,
    /// Mean; NaN without people.
    pub mean: f64,
    /// Standard deviation (n − 1); NaN for fewer than two.
    pub sd: f64,
    /// Bootstrap confidence interval of the mean: the middle 95 % of 1,000 bootstrap
    /// means (Efron 1979). NaN without people.
    pub interval: [f64; 2],
}

impl Summary {
    /// Of the values that exist. The same values and seed give the same interval.
    pub fn of(
        metric: &'static str,
        values: impl IntoIterator<Item = Option<f64>>,
        seed: Seed,
    ) -> Self {
        let values: Vec<f64> = values.into_iter().flatten().collect();
        let n = values.len();
        let mean = values.iter().sum::<f64>() / n as f64;
        let sd = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n as f64 - 1.0)).sqrt();
        let sd = if n > 1 { sd } else { f64::NAN };
        Self { metric, n, mean, sd, interval: bootstrap(&values, seed) }
    }

    /// Standard error of the mean.
    pub fn std_error(&self) -> f64 {
        self.sd / (self.n as f64).sqrt()
    }
}

fn bootstrap(values: &[f64], seed: Seed) -> [f64; 2] {
    if values.is_empty() {
        return [f64::NAN; 2];
    }
    if values.iter().all(|v| *v == values[0]) {
        // Means of equal values differ by rounding only.
        return [values[0]; 2];
    }
    let mut stream = seed.stream(Purpose::Bootstrap, Key::default().values(values).finish());
    let mut means: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let sum: f64 = (0..values.len()).map(|_| values[stream.below(values.len())]).sum();
            sum / values.len() as f64
        })
        .collect();
    means.sort_by(f64::total_cmp);
    [means[RESAMPLES / 40], means[RESAMPLES - 1 - RESAMPLES / 40]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_do_not_count() {
        let found = Summary::of("m", [Some(1.0), None, Some(3.0)], Seed(0));
        assert_eq!((found.n, found.mean, found.sd), (2, 2.0, 2.0_f64.sqrt()));
        assert_eq!(found.std_error(), 1.0);
        // Four equally likely resamples of two: means 1, 2, 2 and 3.
        assert_eq!(found.interval, [1.0, 3.0]);
        let one = Summary::of("m", [Some(5.0)], Seed(0));
        assert!(one.sd.is_nan() && one.interval == [5.0, 5.0]);
        let nobody = Summary::of("m", [None], Seed(0));
        assert!(nobody.n == 0 && nobody.mean.is_nan() && nobody.interval[0].is_nan());
    }

    #[test]
    fn intervals_are_those_of_the_normal_approximation() {
        // 0 to 999: the mean's deviation is sd/√n = 9.13, so that the interval is 499.5 ± 17.9. An
        // end is the 2.5 % quantile of 1,000 means, known to √(0.025·0.975/1000)/φ(1.96) = 0.084
        // deviations: four of these are 3.1.
        let found = Summary::of("m", (0..1_000).map(|i| Some(f64::from(i))), Seed(3));
        assert!((found.interval[0] - 481.6).abs() < 3.1, "{:?}", found.interval);
        assert!((found.interval[1] - 517.4).abs() < 3.1, "{:?}", found.interval);
        assert_eq!(found, Summary::of("m", (0..1_000).map(|i| Some(f64::from(i))), Seed(3)));
        assert_ne!(found, Summary::of("m", (0..1_000).map(|i| Some(f64::from(i))), Seed(4)));
    }
}
