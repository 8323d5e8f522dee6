//! Evaluates lines that bend at a few points, instead of finding their roots.
//!
//! `line/strata.rs` explains which points, and why that is enough. It takes three instructions per
//! unit and point, without bounds, roots or branches.
//!
//! Scores are summed in single precision, which is twice as fast. A point counts as accepted only
//! if its score exceeds a bound on the rounding error: $(n + 12)\,2^{-24}$ times the sum of the
//! magnitudes of all terms, because each of the $n$ terms passes through at most $n$ additions and
//! was itself computed with a few roundings. The rate is therefore overstated by a relative
//! $10^{-4}$ or so and never understated.

use super::{Bundle, Scratch, Shallow};
use crate::invalidation::line::strata::Strata;
use crate::invalidation::line::wide::{Around, Singles, accepted};
use crate::invalidation::line::{LANES, Lanes};
use pulp::Simd;

/// Half a unit in the last place of single precision.
const ROUNDING: f64 = 1.0 / 16_777_216.0;

/// If magnitudes add up to more than this, single precision may overflow and no point is accepted.
const LARGEST: f64 = 1e36;
/// No point is further from the centre than this, in standard deviations.
const FARTHEST: f64 = 40.0;

/// The point and the direction of its lines in single precision, for [`Shallow::shares`].
#[derive(Default)]
pub(in crate::invalidation::line) struct Short {
    base: Vec<f32>,
    rate: Vec<f32>,
    /// Sum of the magnitudes of `base` and of the bias.
    base_magnitude: f64,
    /// Sum of the magnitudes of `rate`.
    rate_magnitude: f64,
    /// Sizes of the strata.
    sizes: Vec<f32>,
    /// The bundle and the strata that this was built from.
    made_of: Option<(u64, Strata)>,
}

/// Eight errors' images in single precision, and the sums of their magnitudes.
#[derive(Clone, Copy)]
pub(in crate::invalidation::line) struct ShortImages<'a> {
    pub images: &'a [Singles],
    pub magnitudes: &'a Lanes,
}

impl Shallow {
    /// Whether lines may be evaluated at stratified points.
    pub(in crate::invalidation::line) fn can_stratify(&self) -> bool {
        self.leak == 0.0
    }

    /// Prepares [`Shallow::shares`].
    pub(in crate::invalidation::line) fn shorten(
        &self,
        bundle: &Bundle<'_>,
        strata: &Strata,
        scratch: &mut Scratch,
    ) {
        let Short { base, rate, base_magnitude, rate_magnitude, sizes, made_of } =
            &mut scratch.short;
        if made_of.replace((bundle.number, *strata)) == Some((bundle.number, *strata)) {
            return;
        }
        sizes.clear();
        sizes.extend(strata.sizes());
        base.clear();
        base.extend(bundle.base.iter().map(|b| *b as f32));
        rate.clear();
        rate.extend(bundle.rate.iter().map(|c| *c as f32));
        let bias = self.bias - bundle.rounding_error;
        *base_magnitude = bias.abs() + bundle.base.iter().map(|b| b.abs()).sum::<f64>();
        *rate_magnitude = bundle.rate.iter().map(|c| c.abs()).sum();
    }

    /// The rejected masses of eight lines, estimated from one point in each stratum. `points` are
    /// those of all groups, stratum by stratum; `group` is the number of this group.
    #[inline(always)]
    pub(in crate::invalidation::line) fn shares<S: Simd>(
        &self,
        simd: S,
        bundle: &Bundle<'_>,
        (errors, along): (ShortImages<'_>, &Lanes),
        (points, group): (&[&[Singles]], usize),
        scratch: &Scratch,
    ) -> Lanes {
        let Short { base, rate, base_magnitude, rate_magnitude, sizes, .. } = &scratch.short;
        let bias = self.bias - bundle.rounding_error;
        // The bound of the rounding error, with a margin for its own rounding.
        let share = 1.01 * (rate.len() as f64 + 12.0) * ROUNDING;
        let (mut doubt, mut back) = ([0.0; LANES], [0.0; LANES]);
        for lane in 0..LANES {
            let sum = base_magnitude + errors.magnitudes[lane] + along[lane].abs() * rate_magnitude;
            // Above this, single precision may overflow.
            let known = sum + FARTHEST * rate_magnitude < LARGEST;
            let bound = (share * sum + f64::from(f32::MIN_POSITIVE)) as f32;
            doubt[lane] = if known { bound } else { f32::INFINITY };
            back[lane] = -along[lane] as f32;
        }
        let around = Around { base, rate, n_up: self.n_up, bias: bias as f32 };
        let grows = (share * rate_magnitude) as f32;
        let accepted =
            accepted(simd, around, (errors.images, &back), (&doubt, grows), (points, sizes, group));
        // Sizes are powers of two: their sums are exact.
        accepted.map(|accepted| 1.0 - f64::from(accepted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalidation::line::crossing::Marginal;
    use crate::math::normal::quantile;
    use crate::seed::{Purpose, Seed};

    struct Trace<'a>(&'a Shallow, &'a Bundle<'a>, &'a [Singles], &'a Lanes, &'a [&'a [Singles]]);

    impl pulp::WithSimd for Trace<'_> {
        type Output = Lanes;

        fn with_simd<S: Simd>(self, simd: S) -> Lanes {
            let scratch = &mut Scratch::default();
            self.0.shorten(self.1, &Strata::even(), scratch);
            let errors = ShortImages { images: self.2, magnitudes: self.3 };
            self.0.shares(simd, self.1, (errors, &[0.0; LANES]), (self.4, 0), scratch)
        }
    }

    /// The estimated masses of the line `p + t c`, which is the same in all lanes.
    fn shares(net: &Shallow, p: &[f64], c: &[f64], points: &[Singles]) -> Lanes {
        let image: Vec<Singles> = p.iter().map(|&p| [p as f32; LANES]).collect();
        let magnitudes = [p.iter().map(|p| p.abs()).sum(); LANES];
        let base = vec![0.0; p.len()];
        let bundle = Bundle {
            number: 0,
            base: &base,
            rate: c,
            guess: 0.0,
            slope: 1.0,
            marginal: Marginal::Normal,
            rounding_error: 0.0,
            rough: false,
        };
        let points: Vec<&[Singles]> = points.iter().map(std::slice::from_ref).collect();
        let trace = || Trace(net, &bundle, &image, &magnitudes, &points);
        let vectors = pulp::Arch::new().dispatch(trace());
        // SIMD instructions give the same bits as scalar ones.
        assert_eq!(vectors, pulp::WithSimd::with_simd(trace(), pulp::Scalar::new()));
        vectors
    }

    /// A line that bends, in image space.
    fn line(number: u64) -> (Shallow, Vec<f64>, Vec<f64>) {
        let mut stream = Seed(number).stream(Purpose::Data, 9);
        let weights: Vec<f64> = (0..16).map(|_| stream.normal()).collect();
        let (net, units) = Shallow::new(&weights, 2.0 * stream.normal(), 0.0);
        let p = units.iter().map(|(_, v)| 2.0 * v * stream.normal()).collect();
        let c = units.iter().map(|(_, v)| v * stream.normal()).collect();
        (net, p, c)
    }

    /// With evenly spread numbers the points are evenly spread too, so that each root adds an error
    /// of half a step at most.
    #[test]
    fn shares_have_the_walks_mass_as_their_mean() {
        let (mut several, each, draws) = (0, 8, 64);
        for number in 0..200 {
            let (net, p, c) = line(number);
            let mut roots = Vec::new();
            let expected = net.refused_mass(Marginal::Normal, &p, &c, &mut Vec::new(), &mut roots);
            several += usize::from(roots.len() > 1);
            let mut sum = 0.0;
            for group in 0..draws / LANES {
                let drawn: Lanes = std::array::from_fn(|lane| {
                    ((group * LANES + lane) as f64 + 0.5) / draws as f64
                });
                let point = |k: usize| drawn.map(|w| quantile((k as f64 + w) / each as f64) as f32);
                let points: Vec<Singles> = (0..each).map(point).collect();
                sum += shares(&net, &p, &c, &points).iter().sum::<f64>();
            }
            let allowed = 0.5 * roots.len() as f64 / (each * draws) as f64 + 1e-12;
            let off = sum / draws as f64 - expected;
            assert!((-allowed..=allowed + 1e-4).contains(&off), "{number}: {off:e} {allowed:e}");
        }
        assert!(several > 20, "{several}");
    }

    /// A score just below zero is rejected for any rounding in single precision. A score clearly
    /// above zero is accepted.
    #[test]
    fn rounding_never_accepts_a_rejected_score() {
        for number in 0..300 {
            let (mut net, p, c) = line(number);
            let mut stream = Seed(number).stream(Purpose::Data, 10);
            let at = (3.0 * stream.normal()) as f32;
            let units = p.iter().zip(&c).map(|(p, c)| p + f64::from(at) * c).enumerate();
            let on = units.map(|(i, z)| if i < net.n_up { z.max(0.0) } else { z.min(0.0) });
            let (score, magnitude) =
                on.fold((0.0, 1.0), |(sum, all), z| (sum + z, all + f64::abs(z)));
            let points = [[at; LANES]; 8];
            net.bias = -score - 1e-13 * magnitude;
            assert_eq!(shares(&net, &p, &c, &points), [1.0; LANES], "{number}");
            net.bias = -score + 1e-4 * (magnitude + 20.0);
            assert_eq!(shares(&net, &p, &c, &points), [0.0; LANES], "{number}");
        }
        // Nothing is accepted beyond the range of single precision.
        let (net, _) = Shallow::new(&[1.0, 1.0], 1.0, 0.0);
        assert_eq!(shares(&net, &[1e39, -1.0], &[1.0, 1.0], &[[0.0; LANES]; 8]), [1.0; LANES]);
    }
}
