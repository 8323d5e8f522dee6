//! Walks one line at a time from kink to kink, and finds every root exactly up to rounding. Used
//! for lines that the vectorised method cannot decide.

use super::{ASIDE, Bundle, Scratch, Shallow};
use crate::invalidation::line::Lanes;
use crate::invalidation::line::crossing::{Marginal, Refused, Root};

impl Shallow {
    /// The rejected mass of one lane; the slopes of its roots are added to `sums`.
    #[inline(never)]
    pub(super) fn walk(
        &self,
        bundle: &Bundle<'_>,
        lane: usize,
        sums: &mut [Lanes],
        scratch: &mut Scratch,
    ) -> f64 {
        let Scratch { p, line, kinks, roots, .. } = scratch;
        line.clear();
        line.extend(p.iter().map(|p| p[lane]));
        let mass = self.refused_mass(bundle.marginal, line, bundle.rate, kinks, roots);
        if sums.is_empty() {
            return mass;
        }
        for root in roots.iter() {
            // The share of each unit next to the root, and the slope of the score there.
            let shares = line.iter().zip(bundle.rate).enumerate().map(|(i, (p, c))| {
                let z = p + (root.at + ASIDE) * c;
                let on = if i < self.n_up { z > 0.0 } else { z < 0.0 };
                f64::from(u8::from(on)) + self.leak
            });
            let slope: f64 = shares.clone().zip(bundle.rate).map(|(share, c)| share * c).sum();
            let weight = -bundle.marginal.density(root.at) / slope.abs();
            if weight.is_finite() {
                sums.iter_mut().zip(shares).for_each(|(sum, share)| sum[lane] += weight * share);
            }
        }
        mass
    }

    /// The rejected mass of the line with image `p + t c`. Writes its roots to `roots`; `kinks` is
    /// scratch.
    pub(super) fn refused_mass(
        &self,
        marginal: Marginal<'_>,
        p: &[f64],
        c: &[f64],
        kinks: &mut Vec<(f64, f64)>,
        roots: &mut Vec<Root>,
    ) -> f64 {
        kinks.clear();
        roots.clear();
        let (from, reach) = marginal.reach();
        let (mut score, mut slope) = (self.bias, 0.0);
        for (i, (&p, &c)) in p.iter().zip(c).enumerate() {
            // The unit is on where sign·z > 0.
            let sign = if i < self.n_up { 1.0 } else { -1.0 };
            let z = p + from * c;
            let on = sign * z > 0.0 || (z == 0.0 && sign * c > 0.0);
            let share = f64::from(u8::from(on)) + self.leak;
            score += share * z;
            slope += share * c;
            let t = -p / c;
            if t > from && t < reach {
                // Whether the unit turns on or off, the slope increases by its weight times |q|.
                kinks.push((t, sign * c.abs()));
            }
        }
        kinks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut refused = Refused::start(marginal, score);
        let mut here = from;
        for &(t, bend) in kinks.iter().chain(std::iter::once(&(reach, 0.0))) {
            let next = score + slope * (t - here);
            if (score <= 0.0) != (next <= 0.0) {
                let at = (here - score / slope).clamp(here, t);
                if next > 0.0 {
                    refused.up(at)
                } else {
                    refused.down(at)
                }
                roots.push(Root { at, slope });
            }
            (score, here) = (next, t);
            slope += bend;
        }
        refused.finish()
    }
}
