//! Follows a smooth score along a line and finds its roots.
//!
//! For a network of smooth activations, `smooth` bounds the second derivative on parts of a line.
//! With $|f''| \le B$ on a cell of middle $m$ and half width $h$, the score keeps its sign if
//! $|f(m)| > |f'(m)|h + Bh^2/2$, and it has at most one root if $|f'(m)| > Bh$. That root is then
//! refined to rounding. A cell for which neither holds is halved. A cell that is still undecided at
//! width [`NARROWEST`], or after [`MOST_CELLS`] cells, counts as rejected, and so does everything
//! beyond the ends of the evaluated part. Apart from rounding, the mass is therefore never
//! understated. Where the score touches zero without crossing it, the mass is overstated by about
//! $10^{-8}$.
//!
//! A score that only has a gradient is evaluated on a grid of a quarter of a standard deviation. A
//! cell whose ends have the same sign is halved, down to a width of 1/256, if a root between them
//! seems possible: the score at both ends slopes towards zero, or a curvature of four times that of
//! the cubic through both ends would reach zero. There is no guarantee: two roots in one cell are
//! missed if the ends do not show them.

use super::crossing::{Marginal, Refused, Root};

/// A score along a line.
pub(super) trait Profile {
    /// Score and slope at `t`.
    fn value_and_slope(&mut self, t: f64) -> (f64, f64);

    /// Bounds on the score within `half` of `middle`. A score without bounds returns `None` for
    /// every cell.
    fn enclose(&mut self, _middle: f64, _half: f64) -> Option<Enclosure> {
        None
    }
}

/// The score in the middle of a cell, and bounds on it all over the cell.
#[derive(Debug, Clone, Copy)]
pub(super) struct Enclosure {
    /// Score in the middle.
    pub score: f64,
    /// Slope in the middle.
    pub slope: f64,
    /// Upper bound of $|f(t) - f(m)|$.
    pub spread: f64,
    /// Upper bound of $|f''(t)|$.
    pub bend: f64,
}

/// A cell narrower than this is not halved again: in standard deviations or, far out, as a share of
/// the cell's distance from the centre.
const NARROWEST: f64 = 1e-9;
/// A limit on the number of cells, far above what ordinary networks need.
const MOST_CELLS: usize = 1 << 12;
/// The first cells end at this distance from the centre, at four times this, and so on.
const FIRST: f64 = 9.0;

/// The rejected mass of a line. Fills in its roots.
pub(super) fn refused_mass(
    profile: &mut dyn Profile,
    marginal: Marginal<'_>,
    roots: &mut Vec<Root>,
) -> f64 {
    roots.clear();
    if let Some(mass) = bounded_mass(profile, marginal, roots) {
        return mass;
    }
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

/// The rejected mass from bounds, cell by cell from left to right. `None` if the score has no
/// bounds.
fn bounded_mass(
    profile: &mut dyn Profile,
    marginal: Marginal<'_>,
    roots: &mut Vec<Root>,
) -> Option<f64> {
    let (from, to) = marginal.reach();
    let mut refused = Refused::start(marginal, f64::NEG_INFINITY);
    let mut cells = 0;
    let mut open: Vec<(f64, f64)> = Vec::with_capacity(64);
    let mut here = from;
    while here < to {
        open.push((here, first_end(here).min(to)));
        here = first_end(here);
        while let Some((left, right)) = open.pop() {
            cells += 1;
            let (middle, half) = (0.5 * (left + right), 0.5 * (right - left));
            let cell = profile.enclose(middle, half)?;
            let Enclosure { score, slope, spread, bend } = cell;
            if score - spread > 0.0 {
                refused.up(left);
            } else if score + spread <= 0.0 {
                refused.down(left);
            } else if slope.abs() > bend * half {
                one_root(profile, (left, right), cell, &mut refused, roots);
            } else if half <= NARROWEST * middle.abs().max(1.0)
                || cells > MOST_CELLS
                || !score.is_finite()
            {
                refused.down(left);
            } else {
                open.push((middle, right));
                open.push((left, middle));
            }
        }
    }
    refused.down(to);
    Some(refused.finish())
}

/// The right end of the first cell that begins at `left`.
fn first_end(left: f64) -> f64 {
    let mut end = FIRST;
    if left >= -FIRST {
        while end <= left {
            end *= 4.0;
        }
        return end;
    }
    while 4.0 * end < -left {
        end *= 4.0;
    }
    -end
}

/// Handles a cell on which the score is monotone, so that it has at most one root.
fn one_root(
    profile: &mut dyn Profile,
    (left, right): (f64, f64),
    cell: Enclosure,
    refused: &mut Refused<'_>,
    roots: &mut Vec<Root>,
) {
    let rising = cell.slope > 0.0;
    let middle = Sampled { at: 0.5 * (left + right), score: cell.score, slope: cell.slope };
    let root_is_left = (cell.score > 0.0) == rising;
    let end = sample(profile, if root_is_left { left } else { right });
    if (end.score > 0.0) == (cell.score > 0.0) {
        if cell.score > 0.0 {
            refused.up(left)
        } else {
            refused.down(left)
        }
        return;
    }
    let (a, b) = if root_is_left { (end, middle) } else { (middle, end) };
    let root = refine(profile, a, b, Some(cell.bend));
    if rising {
        refused.down(left);
        refused.up(root.at);
    } else {
        refused.up(left);
        refused.down(root.at);
    }
    roots.push(root);
}

/// Width of the grid, in standard deviations.
const CELL: f64 = 0.25;
const HALVINGS: u32 = 6;

fn scan(profile: &mut dyn Profile, (from, reach): (f64, f64), roots: &mut Vec<Root>) {
    let mut left = sample(profile, from);
    while left.at < reach {
        // Beyond 9 standard deviations, which matters for heavy tails only, cells grow with the
        // distance.
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

fn in_cell(
    profile: &mut dyn Profile,
    left: Sampled,
    right: Sampled,
    halvings: u32,
    roots: &mut Vec<Root>,
) {
    if (left.score > 0.0) != (right.score > 0.0) {
        roots.push(refine(profile, left, right, None));
        return;
    }
    if halvings > 0 && may_touch_zero(left, right) {
        let middle = sample(profile, 0.5 * (left.at + right.at));
        in_cell(profile, left, middle, halvings - 1, roots);
        in_cell(profile, middle, right, halvings - 1, roots);
    }
}

/// Whether a score with the same sign at both ends seems to have two roots between them.
fn may_touch_zero(left: Sampled, right: Sampled) -> bool {
    let sign = if left.score <= 0.0 { -1.0 } else { 1.0 };
    if sign * left.slope < 0.0 && sign * right.slope > 0.0 {
        return true;
    }
    let width = right.at - left.at;
    let chord = (right.score - left.score) / width;
    // The largest second derivative of the cubic with the values and slopes of both ends.
    let bend = (6.0 * chord - 4.0 * left.slope - 2.0 * right.slope)
        .abs()
        .max((6.0 * chord - 2.0 * left.slope - 4.0 * right.slope).abs())
        / width;
    let half = 0.5 * width;
    let lowest = |score: f64, slope: f64| {
        sign * score + (sign * slope).min(0.0) * half - 2.0 * bend * half * half
    };
    lowest(left.score, left.slope).min(lowest(right.score, -right.slope)) <= 0.0
}

/// Finds the root between `left` and `right` by Newton steps, with bisection as a fallback. `bend`
/// is a bound on the second derivative, if one is known.
fn refine(
    profile: &mut dyn Profile,
    mut left: Sampled,
    mut right: Sampled,
    bend: Option<f64>,
) -> Root {
    let rising = left.score <= 0.0;
    let mut best = if left.score.abs() < right.score.abs() { left } else { right };
    let mut last = right.at - left.at;
    for _ in 0..200 {
        let step = best.score / best.slope;
        let newton = best.at - step;
        let within = newton >= left.at && newton <= right.at;
        let exact = 1e-15 * best.at.abs().max(1.0);
        // The error that a Newton step leaves.
        let left_over = bend.map_or(f64::INFINITY, |bend| bend * step * step / best.slope.abs());
        if within && (step.abs() <= exact || left_over <= exact) {
            best.at = newton;
            break;
        }
        let halve = !within || step.abs() > 0.5 * last;
        let at = if halve { 0.5 * (left.at + right.at) } else { newton };
        last = if halve { right.at - left.at } else { step.abs() };
        best = sample(profile, at);
        if (best.score <= 0.0) == rising {
            left = best
        } else {
            right = best
        }
        if right.at - left.at <= exact || best.score == 0.0 {
            break;
        }
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
        let mass =
            refused_mass(&mut Function(|t| (t * t - 0.25, 2.0 * t)), Marginal::Normal, &mut roots);
        assert!((mass - (cdf(0.5) - cdf(-0.5))).abs() < 1e-13, "{mass}");
        // A dip of width 0.2 inside one cell: found because the score slopes down to it at both
        // ends.
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
