//! Following a smooth score along a line.
//!
//! Scores are sampled every quarter of a standard deviation; a change of sign
//! brackets a root, which is then refined to rounding, and a cell whose ends agree in sign but lean towards zero is
//! halved a few times. A pair of roots closer than 1/64 of a standard deviation inside a cell can be missed; its mass is at
//! most 0.0063.

use super::crossing::{Marginal, Refused, Root};

/// A score along a line.
pub(super) trait Profile {
    /// Score and slope at `t`.
    fn value_and_slope(&mut self, t: f64) -> (f64, f64);
}

/// The refused mass of a line and its roots.
pub(super) fn refused_mass(profile: &mut dyn Profile, marginal: Marginal<'_>, roots: &mut Vec<Root>) -> f64 {
    roots.clear();
    let reach = marginal.reach();
    let (score, _) = profile.value_and_slope(reach.0);
    let mut refused = Refused::start(marginal, score);
    scan(profile, reach, roots);
    for root in roots.iter() {
        if root.slope > 0.0 { refused.up(root.at) } else { refused.down(root.at) }
    }
    refused.finish()
}

const CELL: f64 = 0.25;
const HALVINGS: u32 = 4;

fn scan(profile: &mut dyn Profile, (from, reach): (f64, f64), roots: &mut Vec<Root>) {
    let mut left = sample(profile, from);
    while left.at < reach {
        // Far out, where only heavy tails reach, cells grow with the distance.
        let width = CELL * (left.at.abs() / 9.0).max(1.0);
        let right = sample(profile, (left.at + width).min(reach));
        in_cell(profile, left, right, HALVINGS, roots);
        left = right;
    }
}

/// Position, score and slope.
#[derive(Clone, Copy)]
struct Sampled {
    at: f64,
    score: f64,
    slope: f64,
}

fn sample(profile: &mut dyn Profile, at: f64) -> Sampled {
    let (score, slope) = profile.value_and_slope(at);
    Sampled { at, score, slope }
}

fn in_cell(profile: &mut dyn Profile, left: Sampled, right: Sampled, halvings: u32, roots: &mut Vec<Root>) {
    if (left.score > 0.0) != (right.score > 0.0) {
        roots.push(refine(profile, left, right));
        return;
    }
    // Same sign at both ends, but leaning towards zero from both: there may be a pair of roots between.
    let sign = if left.score <= 0.0 { -1.0 } else { 1.0 };
    let leans = sign * left.slope < 0.0 && sign * right.slope > 0.0;
    if leans && halvings > 0 {
        let middle = sample(profile, 0.5 * (left.at + right.at));
        in_cell(profile, left, middle, halvings - 1, roots);
        in_cell(profile, middle, right, halvings - 1, roots);
    }
}

/// A bracketed root, by Newton steps that fall back to halving.
fn refine(profile: &mut dyn Profile, mut left: Sampled, mut right: Sampled) -> Root {
    let rising = left.score <= 0.0;
    let mut best = if left.score.abs() < right.score.abs() { left } else { right };
    for _ in 0..100 {
        let newton = best.at - best.score / best.slope;
        let at = if newton > left.at && newton < right.at { newton } else { 0.5 * (left.at + right.at) };
        best = sample(profile, at);
        if (best.score <= 0.0) == rising {
            left = best
        } else {
            right = best
        }
        if right.at - left.at < 1e-14 || best.score.abs() <= f64::MIN_POSITIVE {
            break;
        }
        // Newton may creep up from one side: halve as well.
        let middle = sample(profile, 0.5 * (left.at + right.at));
        if (middle.score <= 0.0) == rising { left = middle } else { right = middle }
    }
    let slope = if rising { best.slope.abs() } else { -best.slope.abs() };
    Root { at: best.at, slope }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::normal::{cdf, upper_tail};

    struct Function<F: FnMut(f64) -> (f64, f64)>(F);

    impl<F: FnMut(f64) -> (f64, f64)> Profile for Function<F> {
        fn value_and_slope(&mut self, t: f64) -> (f64, f64) {
            (self.0)(t)
        }
    }

    #[test]
    fn roots_of_smooth_scores() {
        let mut roots = Vec::new();
        // t^2 - 1/4: refused on [-1/2, 1/2].
        let mass = refused_mass(&mut Function(|t| (t * t - 0.25, 2.0 * t)), Marginal::Normal, &mut roots);
        assert!((mass - (cdf(0.5) - cdf(-0.5))).abs() < 1e-13, "{mass}");
        // A dip of width 0.2 inside one cell: found because both ends lean towards it.
        let mass = refused_mass(
            &mut Function(|t| ((t - 0.375).powi(2) - 0.01, 2.0 * (t - 0.375))),
            Marginal::Normal,
            &mut roots,
        );
        assert!((mass - (cdf(0.475) - cdf(0.275))).abs() < 1e-13, "{mass}");
        let mass = refused_mass(&mut Function(|t| (3.0 - t, -1.0)), Marginal::Normal, &mut roots);
        assert!((mass - upper_tail(3.0)).abs() < 1e-16);
        let mass = refused_mass(
            &mut Function(|t| (t.tanh() - 0.5, 1.0 - t.tanh().powi(2))),
            Marginal::Normal,
            &mut roots,
        );
        assert!((mass - cdf(0.5_f64.atanh())).abs() < 1e-13);
    }
}
