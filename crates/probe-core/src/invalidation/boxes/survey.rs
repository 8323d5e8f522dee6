//! Refused boxes that stay: where noise acts on few features and the others do not move, what is
//! refused is the same set of boxes wherever the point is. Found once, they give the rate of every
//! further point as a sum of products.

use super::collapse::Collapsed;
use super::marginal::{End, Marginals};

/// The boxes of one choice of noisy features, at one choice of values of the others.
#[derive(Default)]
pub(super) struct Survey {
    /// Bits of the values of all certain features, and `None` for noisy ones.
    certain: Vec<Option<u64>>,
    /// Points that were evaluated with these, up to two.
    seen: u8,
    complete: bool,
    /// The model's number of each noisy feature that splits are on.
    features: Vec<u32>,
    /// Where a noisy feature's marks begin, and where the last one's end.
    rows: Vec<u32>,
    marks: Vec<f64>,
    /// The refused boxes: for each noisy feature, the places of the ends among the marks.
    refused: Vec<[u32; 2]>,
    ends: Vec<End>,
    densities: Vec<f64>,
    sides: Vec<[f64; 2]>,
}

impl Survey {
    /// Takes note of a point, where `features` are. Says whether boxes are to be found: at the
    /// second point that differs in noisy features only, so that points which differ in others cost
    /// nothing.
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

    /// Keeps the refused boxes of `parts`, collapsed under noise that reaches everywhere; `None`
    /// where they are too many.
    pub(super) fn keep(&mut self, refused: Option<Vec<[u32; 2]>>, parts: &Collapsed) {
        self.complete = refused.is_some();
        self.refused = refused.unwrap_or_default();
        self.features.clone_from(&parts.features);
        self.rows.clone_from(&parts.rows);
        self.marks.clone_from(&parts.marks);
    }

    /// The rate of the point where `features` are, if its boxes are known; `gradient` gets its
    /// derivatives by the point.
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
            // One box, refused or not, with no ends at all.
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
                self.sides.push([side, self.densities[from] - self.densities[to]]);
            }
            rate += mass;
            if sloped && mass > 0.0 {
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
