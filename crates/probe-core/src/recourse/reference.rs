//! Reference data about people in general, for methods that need it.

use crate::error::{Error, Result, require};
use crate::rows::Rows;
use crate::schema::Actions;
use std::sync::Arc;

/// Ranges of the features and, where they were given, rows like those that the model was trained
/// on; in scaled space.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    rows: Arc<[f64]>,
    ranges: Vec<[f64; 2]>,
}

impl Reference {
    /// Without rows: a feature's range is the one `known` from training, else its bounds where both
    /// are finite, else [0, 1].
    pub fn of_ranges(known: &[Option<[f64; 2]>], actions: &Actions) -> Self {
        let bounded = |j: usize| {
            let room = actions.room(j);
            (room.low.is_finite() && room.high.is_finite()).then_some([room.low, room.high])
        };
        let range = |(j, known): (usize, &Option<[f64; 2]>)| {
            known.or_else(|| bounded(j)).unwrap_or([0.0, 1.0])
        };
        Self { rows: Arc::default(), ranges: known.iter().enumerate().map(range).collect() }
    }

    /// With rows, whose least and largest values are the ranges. Fails without a row and on values
    /// that are not finite.
    pub fn of_rows(rows: Vec<f64>, names: &[String]) -> Result<Self> {
        let n = names.len();
        let view = Rows::new(&rows, n)?;
        require(view.n_rows() > 0, "rows of the reference data", "at least 1", 0.0)?;
        let mut ranges = vec![[f64::INFINITY, f64::NEG_INFINITY]; n];
        for (i, row) in view.iter().enumerate() {
            for (j, (&value, range)) in row.iter().zip(&mut ranges).enumerate() {
                if !value.is_finite() {
                    return Err(Error::NotFinite { row: i, feature: names[j].clone(), value });
                }
                *range = [range[0].min(value), range[1].max(value)];
            }
        }
        Ok(Self { rows: rows.into(), ranges })
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.ranges.len()
    }

    /// The rows, if there are any.
    pub fn rows(&self) -> Option<Rows<'_>> {
        if self.rows.is_empty() { None } else { Rows::new(&self.rows, self.ranges.len()).ok() }
    }

    /// Which features are 0 or 1 in every row; none without rows.
    pub fn zero_or_one(&self) -> Vec<bool> {
        let only = |j: usize| {
            self.rows().is_some_and(|rows| rows.iter().all(|row| row[j] == 0.0 || row[j] == 1.0))
        };
        (0..self.n_features()).map(only).collect()
    }

    /// Least and largest value of each feature.
    pub fn ranges(&self) -> &[[f64; 2]] {
        &self.ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::FeatureLimits;

    #[test]
    fn ranges_come_from_training_then_bounds_then_the_unit_interval() {
        let room = |low, high| FeatureLimits { low, high, ..FeatureLimits::default() };
        let actions = Actions::new(vec![room(0.0, 5.0), room(-2.0, 3.0), room(0.0, f64::INFINITY)]);
        let reference = Reference::of_ranges(&[Some([1.0, 2.0]), None, None], &actions);
        assert_eq!(reference.ranges(), [[1.0, 2.0], [-2.0, 3.0], [0.0, 1.0]]);
        assert!(reference.rows().is_none());
    }

    #[test]
    fn rows_give_their_own_ranges_and_name_what_is_no_number() {
        let names = ["a", "b"].map(str::to_owned);
        let reference = Reference::of_rows(vec![1.0, 5.0, -1.0, 7.0], &names).unwrap();
        assert_eq!(reference.ranges(), [[-1.0, 1.0], [5.0, 7.0]]);
        assert_eq!(reference.rows().unwrap().n_rows(), 2);
        let halves = Reference::of_rows(vec![1.0, 0.5, 0.0, 1.0], &names).unwrap();
        assert_eq!(halves.zero_or_one(), [true, false]);
        let error = Reference::of_rows(vec![1.0, 5.0, -1.0, f64::NAN], &names).unwrap_err();
        assert_eq!(error.to_string(), "row 1, feature 'b': NaN is not a finite number");
        let error = Reference::of_rows(Vec::new(), &names).unwrap_err();
        assert_eq!(error.to_string(), "rows of the reference data must be at least 1, got 0");
    }
}
