//! The values that each feature may take for one person, for methods that move numbers and leave
//! one-hot groups unchanged.

use super::Reason;
use crate::schema::Actions;

/// An interval per feature; grouped and fixed features have no width.
#[derive(Debug, Clone)]
pub(super) struct Reach {
    ends: Vec<(f64, f64)>,
}

impl Reach {
    pub(super) fn new(n_features: usize) -> Self {
        Self { ends: vec![(0.0, 0.0); n_features] }
    }

    /// Starts a person; fails with the reason if no point is admissible.
    pub(super) fn turn_to(&mut self, actions: &Actions, factual: &[f64]) -> Result<(), Reason> {
        for (j, ends) in self.ends.iter_mut().enumerate() {
            *ends = if actions.is_grouped(j) {
                (factual[j], factual[j])
            } else {
                actions.interval(j, factual[j]).ok_or(Reason::InfeasibleWithinBounds)?
            };
        }
        let one_hot = actions.groups().iter().all(|group| group.option_of(factual).is_some());
        if one_hot { Ok(()) } else { Err(Reason::NotOneHot) }
    }

    /// The same within `ranges`, but always including the person's own values.
    pub(super) fn within(&self, ranges: &[[f64; 2]], factual: &[f64]) -> Self {
        let one = |((&(low, high), range), x): ((&(f64, f64), &[f64; 2]), &f64)| {
            // Where the search begins.
            let x = x.clamp(low, high);
            (low.max(range[0].min(x)), high.min(range[1].max(x)))
        };
        Self { ends: self.ends.iter().zip(ranges).zip(factual).map(one).collect() }
    }

    /// Whether some feature may change.
    pub(super) fn allows_a_move(&self, factual: &[f64]) -> bool {
        self.ends.iter().zip(factual).any(|((low, high), x)| low < x || high > x)
    }

    /// The values feature `j` may take.
    pub(super) fn ends(&self, j: usize) -> (f64, f64) {
        self.ends[j]
    }

    /// Whether feature `j` may take more than one value.
    pub(super) fn is_open(&self, j: usize) -> bool {
        self.ends[j].0 < self.ends[j].1
    }

    /// Brings `point` inside.
    pub(super) fn confine(&self, point: &mut [f64]) {
        for (x, (low, high)) in point.iter_mut().zip(&self.ends) {
            *x = x.clamp(*low, *high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_narrow_what_bounds_leave_open_and_never_leave_the_person_out() {
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        let reach = Reach { ends: vec![free, free, (0.2, 0.8), (0.5, 0.5)] };
        let within = reach.within(&[[0.0, 1.0]; 4], &[0.3, 1.5, 0.1, 0.5]);
        // Beyond the range the person may stay; under strict bounds they begin at the bound.
        assert_eq!(within.ends, [(0.0, 1.0), (0.0, 1.5), (0.2, 0.8), (0.5, 0.5)]);
    }
}
