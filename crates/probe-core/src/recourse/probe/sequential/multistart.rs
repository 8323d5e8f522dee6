//! Other starts than the person, where steps from there end at a change of several features: within
//! bounds a network whose score bends has many such ends, of which the first is the dearest by far
//! for some people. Answers that change one feature are hardly ever beaten, and most people have
//! one.

use super::{Incumbent, Precision, Search};
use crate::error::Result;

/// Changes of more features than this are looked at again.
const FEW_CHANGES: usize = 1;
/// How far first steps go when they start once more from the person, in the largest standard
/// deviations of the noise; they went as far as they best_accepted before.
const RADII: [f64; 2] = [3.0, 1.0];
/// Shares of what a single feature may move, and from how many of the points with most margin steps
/// start.
const SHARES: [f64; 2] = [0.3, 1.0];
const MOST: usize = 6;

impl Search<'_> {
    /// Whether the best so far should be doubted: where lines hardly bend, steps that end elsewhere
    /// end at much the same cost.
    pub(super) fn is_worth_other_starts(&self, factual: &[f64], best: &Incumbent) -> bool {
        let changed = best.point.iter().zip(factual).filter(|(to, from)| to != from).count();
        self.margin.bends()
            && !self.depends_on_changes()
            && !self.task.actions.is_hasty()
            && (changed > FEW_CHANGES || best.cost.is_infinite())
    }

    /// Steps that start from the person and go less far, and from moves of single features.
    pub(super) fn multistart(
        &mut self,
        factual: &[f64],
        z: f64,
        coarse: Precision,
        here: &mut [f64],
        best: &mut Incumbent,
    ) -> Result<()> {
        let deviation = self.margin.largest_sd();
        for radius in RADII {
            here.copy_from_slice(factual);
            self.hint.clear();
            self.descend(factual, z, Precision::FirstOrder, radius * deviation, here, best)?;
            self.descend(factual, z, coarse, radius * deviation, here, best)?;
        }
        for start in self.most_robust_singles(factual, z, coarse, best.cost)? {
            here.copy_from_slice(&start);
            self.hint.clear();
            self.descend(factual, z, coarse, deviation, here, best)?;
        }
        Ok(())
    }

    /// Moves of single features that cost at most `cost`, those with most margin.
    fn most_robust_singles(
        &mut self,
        factual: &[f64],
        z: f64,
        coarse: Precision,
        cost: f64,
    ) -> Result<Vec<Vec<f64>>> {
        let mut starts = Vec::new();
        for j in 0..factual.len() {
            for way in [1.0, -1.0] {
                let Some(room) = self.room(factual, j, way) else { continue };
                let far = room.min(cost / self.task.cost.weight(j, way));
                for share in SHARES.iter().filter(|_| far.is_finite()) {
                    let mut start = factual.to_vec();
                    start[j] += way * share * far;
                    if self.is_admissible(factual, &start) {
                        starts.push((self.slack(&start, z, coarse)?, start));
                    }
                }
            }
        }
        // Stable: of equals the first.
        starts.sort_by(|a, b| b.0.total_cmp(&a.0));
        starts.truncate(MOST);
        Ok(starts.into_iter().map(|(_, start)| start).collect())
    }
}
