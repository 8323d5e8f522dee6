use super::*;
use crate::math::normal::{cdf, upper_tail};
use crate::seed::{Purpose, Seed};

/// A network of units with weights `v` and pre-activations `p + t q`, in image space.
struct Case {
    net: Shallow,
    p: Vec<f64>,
    c: Vec<f64>,
}

fn case(v: &[f64], bias: f64, alpha: f64, p: &[f64], q: &[f64]) -> Case {
    let (net, units) = Shallow::new(v, bias, alpha);
    let image = |x: &[f64]| units.iter().map(|&(i, factor)| factor * x[i]).collect();
    Case { net, p: image(p), c: image(q) }
}

/// One group of lines for the machine's vector units.
struct Trace<'a> {
    net: &'a Shallow,
    bundle: &'a Bundle<'a>,
    lines: (&'a [Lanes], &'a Lanes),
    sums: &'a mut [Lanes],
    scratch: &'a mut Scratch,
}

impl pulp::WithSimd for Trace<'_> {
    type Output = Lanes;

    fn with_simd<S: Simd>(self, simd: S) -> Lanes {
        self.net.masses(simd, self.bundle, self.lines, self.sums, self.scratch)
    }
}

impl Case {
    fn walked(&self) -> (f64, Vec<Root>) {
        let mut roots = Vec::new();
        let mass =
            self.net.refused_mass(Marginal::Normal, &self.p, &self.c, &mut Vec::new(), &mut roots);
        (mass, roots)
    }

    /// All lanes hold the same line.
    fn traced(&self, sums: &mut [Lanes], guess: f64) -> f64 {
        let image: Vec<Lanes> = self.p.iter().map(|&p| [p; LANES]).collect();
        let zero = vec![0.0; self.p.len()];
        let bundle = Bundle {
            number: 0,
            base: &zero,
            rate: &self.c,
            guess,
            slope: 1.0,
            marginal: Marginal::Normal,
            rounding_error: 0.0,
            rough: false,
        };
        let scratch = &mut Scratch::default();
        let lines = (&image[..], &[0.0; LANES]);
        self.net.start(&zero, &self.c, guess, &mut scratch.start);
        let mut plain_sums = sums.to_vec();
        let plain = self.net.masses(pulp::Scalar::new(), &bundle, lines, &mut plain_sums, scratch);
        let trace = Trace { net: &self.net, bundle: &bundle, lines, sums, scratch };
        let masses = pulp::Arch::new().dispatch(trace);
        // Vector units give the bits of plain numbers.
        assert_eq!((masses, &*sums), (plain, &plain_sums[..]));
        assert!(masses.iter().all(|m| *m == masses[0]));
        masses[0]
    }
}

#[test]
fn a_tent_is_accepted_between_its_feet() {
    // f = 1 - |t| = 1 - relu(t) - relu(-t): accepted on (-1, 1).
    let tent = case(&[-1.0, -1.0], 1.0, 0.0, &[0.0, 0.0], &[1.0, -1.0]);
    let (mass, roots) = tent.walked();
    assert!((mass - 2.0 * upper_tail(1.0)).abs() < 1e-15);
    assert_eq!(roots, [Root { at: -1.0, slope: 1.0 }, Root { at: 1.0, slope: -1.0 }]);
    let traced = tent.traced(&mut [], 0.0);
    assert!((mass..mass + 4.0 * SAFETY).contains(&traced), "{traced} {mass}");
}

#[test]
fn dead_units_leave_a_constant() {
    assert_eq!(case(&[2.0], -0.5, 0.0, &[-30.0], &[1.0]).walked().0, 1.0);
    assert_eq!(case(&[2.0], 0.5, 0.0, &[-30.0], &[0.0]).walked().0, 0.0);
    assert_eq!(case(&[2.0], -0.5, 0.0, &[-30.0], &[1.0]).traced(&mut [], 0.0), 1.0);
    assert_eq!(case(&[0.0], -0.5, 0.0, &[1.0], &[1.0]).traced(&mut [], 0.0), 1.0);
}

#[test]
fn a_leaky_line_is_a_line() {
    // leak 0.5: f = t/2 below 0, t above, minus -0.25: root at -0.5.
    let leaky = case(&[1.0], 0.25, 0.5, &[0.0], &[1.0]);
    assert!((leaky.walked().0 - cdf(-0.5)).abs() < 1e-15);
    // The quick distribution is within 5e-11.
    assert!((leaky.traced(&mut [], 0.3) - cdf(-0.5) - SAFETY).abs() < 5e-11);
}

/// The fast path and the walk compute the same number; the slopes with respect to the image are
/// checked by finite differences of the walk.
#[test]
fn newton_and_walk_agree() {
    let mut stream = Seed(4).stream(Purpose::Data, 0);
    let (mut quick, mut with_root) = (0, 0);
    for number in 0..500 {
        let h = 12;
        // Mostly rising lines, as along a gradient; every fourth has units that fall.
        let (mut v, mut p, mut q) = (vec![0.0; h], vec![0.0; h], vec![0.0; h]);
        for i in 0..h {
            q[i] = stream.normal();
            v[i] = if number % 4 == 0 { stream.normal() } else { stream.uniform().copysign(q[i]) };
            p[i] = 4.0 * stream.normal();
        }
        let alpha = if number % 2 == 0 { 0.0 } else { 0.1 };
        let mut line = case(&v, 2.0 * stream.normal(), alpha, &p, &q);
        let (expected, roots) = line.walked();
        let mut sums = vec![[0.0; LANES]; line.p.len()];
        let mass = line.traced(&mut sums, 0.1);
        let excess = mass - expected;
        assert!((0.0..=6.0 * SAFETY).contains(&excess), "{number}: {mass} {expected}");
        quick += usize::from(excess > 0.5 * SAFETY);
        // A kink within a step of a root has no slope to compare.
        let smooth = roots
            .iter()
            .all(|r| line.p.iter().zip(&line.c).all(|(p, c)| (p + r.at * c).abs() > 1e-4));
        if roots.len() == 1 && roots[0].at.abs() < 4.0 && smooth {
            with_root += 1;
            for (i, sum) in sums.iter().enumerate() {
                let mut at = |step: f64| {
                    let old = line.p[i];
                    line.p[i] += step;
                    let mass = line.walked().0;
                    line.p[i] = old;
                    mass
                };
                let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
                let scale = 1.0 + difference.abs();
                assert!(
                    (sum[3] - difference).abs() < 1e-5 * scale,
                    "{number} {i}: {} {difference}",
                    sum[3]
                );
            }
        }
    }
    assert!(quick > 100 && with_root > 100, "{quick} {with_root}");
}
