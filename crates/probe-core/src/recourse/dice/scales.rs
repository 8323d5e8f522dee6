//! How much each feature varies among people: what distances are measured by, and which changes are
//! small.

use crate::recourse::Task;

/// One number per feature.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scales {
    /// Median absolute deviation from the median.
    pub(super) deviation: Vec<f64>,
    /// Changes up to this may be taken back.
    pub(super) small: Vec<f64>,
}

impl Scales {
    /// From the reference rows; without them as if values were spread evenly over each feature's
    /// range. `quantile` is that of the absolute deviations below which a change is small.
    pub(super) fn new(task: &Task, quantile: f64) -> Self {
        let ranges = task.reference.ranges();
        // A constant has no units.
        let width = |[low, high]: &[f64; 2]| if high > low { high - low } else { 1.0 };
        let Some(rows) = task.reference.rows() else {
            // Deviations from the middle are then even between 0 and half of the range.
            return Self {
                deviation: ranges.iter().map(|range| width(range) / 4.0).collect(),
                small: ranges.iter().map(|range| quantile * width(range) / 2.0).collect(),
            };
        };
        let (mut deviation, mut small) = (Vec::new(), Vec::new());
        for j in 0..ranges.len() {
            let mut values: Vec<f64> = rows.iter().map(|row| row[j]).collect();
            let middle = quantile_of(&mut values, 0.5);
            values.iter_mut().for_each(|v| *v = (*v - middle).abs());
            let median = quantile_of(&mut values, 0.5);
            // Where most people have the same value a deviation of 0 would forbid every change; as
            // in the published program, the range takes its place.
            deviation.push(if median > 0.0 { median } else { width(&ranges[j]) });
            small.push(quantile_of(&mut values, quantile));
        }
        Self { deviation, small }
    }
}

/// The quantile of at least one value, between neighbours in proportion. Sorts.
fn quantile_of(values: &mut [f64], quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = quantile * (values.len() - 1) as f64;
    let (low, share) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(values.len() - 1);
    values[low] + share * (values[high] - values[low])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_by_hand() {
        let mut values = [4.0, 1.0, 2.0, 10.0];
        assert_eq!(quantile_of(&mut values, 0.5), 3.0);
        assert_eq!(quantile_of(&mut values, 0.0), 1.0);
        assert_eq!(quantile_of(&mut values, 1.0), 10.0);
        assert!((quantile_of(&mut values, 0.1) - 1.3).abs() < 1e-15);
    }
}
