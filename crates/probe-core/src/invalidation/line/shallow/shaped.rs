//! Lines whose position is not normal. Heavy tails reach far beyond $T$, so that each distribution
//! has its own evaluated part.
//!
//! It is cut into pieces that are monotone or keep their sign, as in [`Shallow::divide`], eight
//! lines side by side. Lines for which this fails are walked from kink to kink. Far from the centre
//! pieces are long, because little mass lies there. Roots are known to $10^{-6}$ and distribution
//! functions to $10^{-10}$; the mass of both errors counts as rejected.

use super::{End, LANES, Lanes, PRECISION, Piece, SMALLEST, Scratch, Shallow};
use crate::invalidation::line::shallow::Bundle;
use pulp::Simd;

/// The largest error of a quick distribution function.
const DOUBT: f64 = 1e-10;
/// Pieces longer than this are not cut in the middle; see [`between`].
const LONG: f64 = 4.0;

impl Shallow {
    /// [`Shallow::masses`] for positions of any distribution.
    #[inline(always)]
    pub(in crate::invalidation::line) fn masses_shaped<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        group: (&[Lanes], &Lanes),
        sums: &mut [Lanes],
        scratch: &mut Scratch,
    ) -> Lanes {
        let net = Self { bias: self.bias - bundle.rounding_error, ..*self };
        scratch.p.resize(group.0.len(), [0.0; LANES]);
        net.place(simd, bundle.rate, &scratch.start, group, &mut scratch.p);
        let (first, known) = net.cut(simd, bundle, scratch);
        let mut masses = net.mass_between_roots(simd, bundle, (&first, &known), sums, scratch);
        for lane in (0..LANES).filter(|&lane| known[lane] == 0.0) {
            masses[lane] = net.walk(bundle, lane, sums, scratch);
        }
        masses
    }

    /// Finds the roots of all lines, from left to right. Returns the scores at the left end, and
    /// for which lines this succeeded.
    #[inline(always)]
    fn cut<S: Simd>(&self, simd: S, bundle: &Bundle<'_>, scratch: &mut Scratch) -> (Lanes, Lanes) {
        let (rate, (from, to)) = (bundle.rate, bundle.marginal.reach());
        let Scratch { p, pieces, found, .. } = scratch;
        pieces.clear();
        found.clear();
        let mut left = self.end(simd, rate, p, from);
        pieces.push(self.end(simd, rate, p, to));
        let (first, mut known) = (left.score, [1.0; LANES]);
        while let Some(right) = pieces.last() {
            let (a, b) = (left.at, right.at);
            let (piece, crossing, open) = bound_piece(&left, right, &known);
            if open > 0.0 && b - a > SMALLEST * (1.0 + a.abs().min(b.abs())) {
                pieces.push(self.end(simd, rate, p, between(a, b)));
                continue;
            }
            if open > 0.0 {
                for (known, (low, high)) in
                    known.iter_mut().zip(piece.least.iter().zip(&piece.most))
                {
                    *known = if (*low > 0.0) | (*high < 0.0) { *known } else { 0.0 };
                }
            }
            if crossing.iter().any(|c| *c > 0.0) {
                let (at, slope) = self.newton_within(simd, rate, p, &piece, (a, b), &crossing);
                for lane in 0..LANES {
                    let lost = crossing[lane] > 0.0 && at[lane].is_nan();
                    known[lane] = if lost { 0.0 } else { known[lane] };
                }
                found.push((at, slope, crossing));
            }
            left = *right;
            pieces.pop();
        }
        (first, known)
    }

    /// Masses of the `known` lines, whose scores at the left end are `first`.
    #[inline(always)]
    fn mass_between_roots<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        (first, known): (&Lanes, &Lanes),
        sums: &mut [Lanes],
        scratch: &Scratch,
    ) -> Lanes {
        let mut total = [0.0; LANES];
        let mut refused = first.map(|f| if f <= 0.0 { 1.0 } else { 0.0 });
        for (at, slope, crossing) in &scratch.found {
            let mut weights = [0.0; LANES];
            for lane in (0..LANES).filter(|&lane| crossing[lane] > 0.0 && known[lane] > 0.0) {
                // A rising line is rejected up to slightly beyond its root, a falling one from
                // slightly before it.
                let rising = slope[lane] > 0.0;
                let safe = at[lane] + if rising { PRECISION } else { -PRECISION };
                let (below, density) = bundle.marginal.quick(safe);
                total[lane] += DOUBT + if rising { below } else { -below };
                refused[lane] = if rising { 0.0 } else { 1.0 };
                weights[lane] = -density / slope[lane].abs();
            }
            if !sums.is_empty() {
                self.add_slopes(simd, bundle.rate, &scratch.p, (at, &weights), sums);
            }
        }
        std::array::from_fn(|lane| (total[lane] + refused[lane]).clamp(0.0, 1.0))
    }
}

/// The piece between two ends, which lines are monotone and cross zero in it, and how many of the
/// `known` lines need shorter pieces.
#[inline(always)]
fn bound_piece(left: &End, right: &End, known: &Lanes) -> (Piece, Lanes, f64) {
    let width = right.at - left.at;
    let mut piece =
        Piece { left: left.score, right: right.score, least: [0.0; LANES], most: [0.0; LANES] };
    let (mut crossing, mut open) = ([0.0; LANES], 0.0);
    for lane in 0..LANES {
        // The terms with positive weight are convex and the others concave, so that their slopes
        // lie between those at the two ends.
        let (low, high) = (left.up[lane] + right.down[lane], right.up[lane] + left.down[lane]);
        (piece.least[lane], piece.most[lane]) = (low, high);
        let (l, r) = (left.score[lane], right.score[lane]);
        let crosses = (l <= 0.0) != (r <= 0.0);
        let monotone = (low > 0.0) | (high < 0.0);
        // The least and largest score on the piece if slopes lie between `low` and `high`.
        let least = l + low * ((l - r + high * width) / (high - low));
        let largest = l + high * ((r - l - low * width) / (high - low));
        let settled = monotone | (((least > 0.0) | (largest < 0.0)) & !crosses);
        open += if !settled & (known[lane] > 0.0) { 1.0 } else { 0.0 };
        crossing[lane] = if monotone & crosses & (known[lane] > 0.0) { 1.0 } else { 0.0 };
    }
    (piece, crossing, open)
}

/// The position at which the piece from `a` to `b` is cut: at 0 if it contains 0, in the middle if
/// it is short, else where both parts grow by the same factor.
fn between(a: f64, b: f64) -> f64 {
    if a < 0.0 && b > 0.0 {
        0.0
    } else if b - a <= LONG {
        0.5 * (a + b)
    } else if a >= 0.0 {
        ((1.0 + a) * (1.0 + b)).sqrt() - 1.0
    } else {
        1.0 - ((1.0 - a) * (1.0 - b)).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalidation::line::crossing::Marginal;
    use crate::noise::NoiseSpec;
    use crate::seed::{Purpose, Seed};

    struct Trace<'a>(&'a Shallow, &'a Bundle<'a>, &'a [Lanes], &'a mut [Lanes]);

    impl pulp::WithSimd for Trace<'_> {
        type Output = Lanes;

        fn with_simd<S: Simd>(self, simd: S) -> Lanes {
            let Self(net, bundle, image, sums) = self;
            let mut scratch = Scratch::default();
            net.start(bundle.base, bundle.rate, 0.0, &mut scratch.start);
            net.masses_shaped(simd, bundle, (image, &[0.0; LANES]), sums, &mut scratch)
        }
    }

    /// Pieces and the walk compute the same number, whatever the distribution and the machine;
    /// so are slopes, by finite differences.
    #[test]
    fn pieces_and_walk_agree() {
        let mut stream = Seed(9).stream(Purpose::Data, 0);
        for spec in
            ["laplace", "uniform", "student-t:1,df=4", "student-t:1,df=2.1", "student-t:1,df=40"]
        {
            let noise = NoiseSpec::parse(spec).unwrap().build(vec![1.0]).unwrap();
            let shape = noise.as_independent().unwrap().shape(0);
            let (from, to) = Marginal::ends(shape);
            let marginal = Marginal::Shape(shape, from, to);
            let mut with_slope = 0;
            for number in 0..100 {
                let h = 9;
                let v: Vec<f64> = (0..h).map(|_| stream.normal()).collect();
                let alpha = if number % 2 == 0 { 0.0 } else { 0.1 };
                let (net, units) = Shallow::new(&v, stream.normal(), alpha);
                let c: Vec<f64> =
                    units.iter().map(|(_, factor)| factor * stream.normal()).collect();
                let image: Vec<Lanes> = units
                    .iter()
                    .map(|(_, factor)| std::array::from_fn(|_| 2.0 * factor * stream.normal()))
                    .collect();
                let base = vec![0.0; h];
                let bundle = Bundle {
                    number: 0,
                    base: &base,
                    rate: &c,
                    guess: 0.1,
                    slope: 1.0,
                    marginal,
                    rounding_error: 0.0,
                    rough: false,
                };
                let (mut sums, mut plain_sums) = (vec![[0.0; LANES]; h], vec![[0.0; LANES]; h]);
                let masses = pulp::Arch::new().dispatch(Trace(&net, &bundle, &image, &mut sums));
                let plain = pulp::WithSimd::with_simd(
                    Trace(&net, &bundle, &image, &mut plain_sums),
                    pulp::Scalar::new(),
                );
                assert_eq!((masses, &sums), (plain, &plain_sums), "{spec}");
                for lane in 0..LANES {
                    let mut line: Vec<f64> = image.iter().map(|row| row[lane]).collect();
                    let (mut kinks, mut roots) = (Vec::new(), Vec::new());
                    let expected = net.refused_mass(marginal, &line, &c, &mut kinks, &mut roots);
                    // A root is off by 1e-6 and then moved by as much; the density is at most that
                    // at 0. The last is rounding at the far ends.
                    let allowed =
                        roots.len() as f64 * (2e-6 * shape.density(0.0) + 2.0 * DOUBT) + 1e-13;
                    let excess = masses[lane] - expected;
                    assert!(
                        (-1e-13..=allowed).contains(&excess),
                        "{spec} {number}: {excess} {roots:?}"
                    );
                    let smooth = roots.len() == 1
                        && shape.density(roots[0].at) > 1e-3
                        && line.iter().zip(&c).all(|(p, c)| (p + roots[0].at * c).abs() > 1e-4)
                        && (roots[0].at.abs() > 1e-3)
                        && (roots[0].at - to).abs().min((roots[0].at - from).abs()) > 1e-3;
                    if smooth && roots[0].slope.abs() > 0.1 {
                        with_slope += 1;
                        let mut at = |step: f64| {
                            let old = line[3];
                            line[3] += step;
                            let mass =
                                net.refused_mass(marginal, &line, &c, &mut kinks, &mut roots);
                            line[3] = old;
                            mass
                        };
                        let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                        let scale = 1.0 + difference.abs();
                        assert!(
                            (sums[3][lane] - difference).abs() < 1e-4 * scale,
                            "{spec} {number}"
                        );
                    }
                }
            }
            assert!(with_slope > 100, "{spec}: {with_slope}");
        }
    }
}
