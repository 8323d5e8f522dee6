//! Rejected boxes that many points share. If noise acts on few features and the others keep their
//! values, the set of rejected boxes is the same for all points. It is found once, and the rate of
//! every further point is then a sum of products.

use super::collapse::Collapsed;
use super::marginal::{End, Marginals};

/// A box of less mass is left out: all of them together change no digit of a rate.
const NOTHING: f64 = 1e-30;

/// The boxes of one choice of noisy features, at one choice of values of the others.
#[derive(Default)]
pub(super) struct Survey {
    /// Bits of the values of all features without noise; `None` for noisy ones.
    certain: Vec<Option<u64>>,
    /// Number of points with these values so far, up to two.
    seen: u8,
    complete: bool,
    /// Index in the model of each noisy feature that has splits.
    features: Vec<u32>,
    /// Index of each noisy feature's first mark, and the number of marks.
    rows: Vec<u32>,
    marks: Vec<f64>,
    /// The rejected boxes: for each noisy feature, the indices of both ends among the marks.
    refused: Vec<[u32; 2]>,
    ends: Vec<End>,
    densities: Vec<f64>,
    sides: Vec<[f64; 2]>,
}

impl Survey {
    /// Registers the noisy point `features` and returns whether the boxes should be found now. That
    /// is so at the second point with the same values of all features without noise. A single point
    /// would not repay the work.
    pub(super) fn begin(&mut self, features: &Marginals<'_>) -> bool {
        let now = (0..features.n_features()).map(|j| features.certain(j).map(f64::to_bits));
        if !now.clone().eq(self.certain.iter().copied()) {
            self.certain.clear();
            self.certain.extend(now);
            (self.seen, self.complete) = (1, false);
            return false;
        }
        let second = self.seen == 1;
        self.seen = 2;
        second
    }

    /// Stores the rejected boxes of `parts`, which must be reduced under noise that reaches
    /// everywhere; `None` if they are too many.
    pub(super) fn keep(&mut self, refused: Option<Vec<[u32; 2]>>, parts: &Collapsed) {
        self.complete = refused.is_some();
        self.refused = refused.unwrap_or_default();
        self.features.clone_from(&parts.features);
        self.rows.clone_from(&parts.rows);
        self.marks.clone_from(&parts.marks);
    }

    /// Number of rejected boxes, if they are known.
    pub(super) fn n_boxes(&self) -> Option<usize> {
        let k = self.features.len();
        (self.complete && k > 0).then(|| self.refused.len() / k)
    }

    /// The rate of the noisy point `features`, if its boxes are known. Fills `gradient` with its
    /// derivatives with respect to the point.
    pub(super) fn rate(
        &mut self,
        features: &Marginals<'_>,
        gradient: Option<&mut [f64]>,
    ) -> Option<f64> {
        if !self.complete {
            return None;
        }
        let k = self.features.len();
        if k == 0 {
            // There is a single box without ends, which the search handles.
            return None;
        }
        let sloped = gradient.is_some();
        self.ends.clear();
        self.densities.clear();
        for (row, &j) in self.rows.windows(2).zip(&self.features) {
            for &mark in &self.marks[row[0] as usize..row[1] as usize] {
                let inside = sloped && mark.is_finite();
                self.densities.push(if inside { features.density(j as usize, mark) } else { 0.0 });
                self.ends.push(match mark {
                    f64::NEG_INFINITY => End::LOWEST,
                    f64::INFINITY => End::HIGHEST,
                    cut => features.end(j as usize, cut),
                });
            }
        }
        let mut slopes = vec![0.0; k];
        let mut rate = 0.0;
        for bounds in self.refused.chunks_exact(k) {
            self.sides.clear();
            let mut mass = 1.0;
            for (&row, [from, to]) in self.rows.iter().zip(bounds) {
                let (from, to) = ((row + from) as usize, (row + to) as usize);
                let side = self.ends[from].mass_to(self.ends[to]);
                mass *= side;
                if mass < NOTHING {
                    break;
                }
                self.sides.push([side, self.densities[from] - self.densities[to]]);
            }
            if mass < NOTHING {
                continue;
            }
            rate += mass;
            if sloped {
                for (slope, [side, change]) in slopes.iter_mut().zip(&self.sides) {
                    *slope += mass / side * change;
                }
            }
        }
        if let Some(gradient) = gradient {
            gradient.fill(0.0);
            self.features.iter().zip(slopes).for_each(|(&j, slope)| gradient[j as usize] = slope);
        }
        Some(rate.min(1.0))
    }
}
