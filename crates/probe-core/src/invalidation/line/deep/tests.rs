//! Places and roots of eight lines against those of one line that is walked or cut into cells.

use super::super::crossing::Marginal;
use super::super::network::{self, Network};
use super::*;
use crate::math::normal::quantile;
use crate::model::Dense;
use crate::seed::{Purpose, Seed};

const KINDS: [(&[usize], Activation); 5] = [
    (&[3, 12, 10, 1], Activation::Relu),
    (&[3, 9, 8, 7, 2], Activation::Relu),
    (&[3, 7, 6, 1], Activation::LeakyRelu),
    (&[3, 8, 5, 1], Activation::Tanh),
    (&[3, 6, 1], Activation::Silu),
];

/// A network and a line in the space of its image.
fn line((widths, activation): (&[usize], Activation), number: u64) -> (Mlp, Vec<f64>, Vec<f64>) {
    let mut stream = Seed(number).stream(Purpose::Data, 11);
    let layers = widths.windows(2).map(|pair| Dense {
        weight: (0..pair[0] * pair[1])
            .map(|_| 1.5 * stream.normal() / (pair[0] as f64).sqrt())
            .collect(),
        bias: (0..pair[1]).map(|_| 0.5 * stream.normal()).collect(),
    });
    let mlp = Mlp::new(layers.collect(), activation, 0.1).unwrap();
    let mut normals = || (0..widths[1]).map(|_| stream.normal()).collect();
    (mlp, normals(), normals())
}

/// What is done to eight lines that are all `p + t rate`.
struct Trace<'a> {
    net: &'a Deep,
    bundle: &'a Bundle<'a>,
    image: &'a [Lanes],
    points: Option<&'a [&'a [Singles]]>,
    sums: &'a mut [Lanes],
}

impl pulp::WithSimd for Trace<'_> {
    type Output = Lanes;

    fn with_simd<S: Simd>(self, simd: S) -> Lanes {
        let Self { net, bundle, image, points, sums } = self;
        let (lines, scratch) = ((image, &[0.0; LANES]), &mut Scratch::default());
        match points {
            Some(points) => net.shares(simd, bundle, lines, (points, &[0.125; 8], 0), scratch),
            None => net.rough_masses(simd, bundle, lines, sums, scratch),
        }
    }
}

/// Masses, and sums of slopes where there is no place to look at.
fn trace(
    net: &Deep,
    (p, rate): (&[f64], &[f64]),
    rounding_error: f64,
    points: Option<&[Singles]>,
) -> (Lanes, Vec<Lanes>) {
    let image: Vec<Lanes> = p.iter().map(|p| [*p; LANES]).collect();
    let base = vec![0.0; p.len()];
    let bundle = Bundle {
        number: 0,
        base: &base,
        rate,
        guess: 0.0,
        slope: 0.3,
        marginal: Marginal::Normal,
        rounding_error,
        rough: true,
    };
    let points: Option<Vec<&[Singles]>> =
        points.map(|points| points.iter().map(std::slice::from_ref).collect());
    let on = |vectors: bool| {
        let mut sums = vec![[0.0; LANES]; p.len()];
        let trace = Trace {
            net,
            bundle: &bundle,
            image: &image,
            points: points.as_deref(),
            sums: &mut sums,
        };
        let masses = match vectors {
            true => pulp::Arch::new().dispatch(trace),
            false => pulp::WithSimd::with_simd(trace, pulp::Scalar::new()),
        };
        (masses, sums)
    };
    // Vector units give the bits of plain numbers.
    assert_eq!(on(true), on(false));
    on(true)
}

/// Over evenly spread numbers the places are evenly spread too: each root is off by half a step at
/// most.
#[test]
fn shares_have_the_walks_mass_as_their_mean() {
    let (mut several, each, draws) = (0, 8, 64);
    for (kind, number) in
        KINDS.into_iter().flat_map(|kind| (0..60).map(move |number| (kind, number)))
    {
        let (mlp, p, q) = line(kind, number);
        let mut scratch = network::Scratch::default();
        let net = Network::new(&mlp);
        let expected = net.mass((&p, &q), 0.0, Marginal::Normal, None, &mut scratch);
        let roots = scratch.roots().len();
        several += usize::from(roots > 1);
        let mut sum = 0.0;
        for group in 0..draws / LANES {
            let drawn: Lanes =
                std::array::from_fn(|lane| ((group * LANES + lane) as f64 + 0.5) / draws as f64);
            let point = |k: usize| drawn.map(|w| quantile((k as f64 + w) / each as f64) as f32);
            let points: Vec<Singles> = (0..each).map(point).collect();
            sum += trace(&net.deep, (&p, &q), 0.0, Some(&points)).0.iter().sum::<f64>();
        }
        // Places in single precision, and what cells of smooth networks leave in doubt.
        let allowed = 0.5 * roots as f64 / (each * draws) as f64 + 1e-6;
        let off = sum / draws as f64 - expected;
        assert!(off.abs() <= allowed, "{kind:?} {number}: {off:e} {allowed:e}");
    }
    assert!(several > 20, "{several}");
}

/// On lines that rise through one root, the mass and its slopes are those of the root.
#[test]
fn one_root_is_the_walks() {
    let (mut lines, mut alike) = (0, 0);
    for (kind, number) in
        KINDS.into_iter().flat_map(|kind| (0..200).map(move |number| (kind, number)))
    {
        let (mlp, p, q) = line(kind, number);
        let mut scratch = network::Scratch::default();
        let net = Network::new(&mlp);
        let mut expected = vec![0.0; p.len()];
        let mass = net.mass((&p, &q), 0.0, Marginal::Normal, Some(&mut expected), &mut scratch);
        if !matches!(scratch.roots(), [root] if root.slope > 0.05 && root.at.abs() < 5.0) {
            continue;
        }
        lines += 1;
        let (masses, sums) = trace(&net.deep, (&p, &q), 0.0, None);
        let off = (masses[0] - mass).abs();
        assert!(off < 0.02, "{kind:?} {number}: {} {mass}", masses[0]);
        let size = expected.iter().map(|x| x.abs()).sum::<f64>();
        let miss = expected.iter().zip(&sums).map(|(e, s)| (e - s[0]).abs()).sum::<f64>();
        // The last step is 0.005 at most, and a density 0.4.
        alike += usize::from(off < 2e-3 && miss < 0.03 * size);
    }
    // A few have a kink between the last look and the root, or before it: the steps are the
    // secant's.
    assert!(lines > 100 && 20 * alike > 19 * lines, "{alike} of {lines}");
}

#[test]
fn lines_without_a_root_are_accepted_or_refused() {
    for (bias, mass) in [(50.0, 0.0), (-50.0, 1.0)] {
        let (mlp, p, q) = line(KINDS[0], 3);
        let mut net = Deep::new(&mlp);
        net.bias += bias;
        let (masses, sums) = trace(&net, (&p, &q), 0.0, None);
        assert!(masses.iter().all(|m| (m - mass).abs() < 1e-6), "{masses:?}");
        assert!(sums.iter().flatten().all(|sum| *sum == 0.0));
    }
}

/// Two units that are the same but for the order of their inputs, one less the other: a score of
/// zero, of which rounding leaves an error. It is refused where scores must exceed it, and what
/// is not a number is refused as well.
#[test]
fn rounding_never_makes_a_yes() {
    const N: usize = 9;
    let mut seen = false;
    for number in 0..200 {
        let mut stream = Seed(number).stream(Purpose::Data, 12);
        let weights: Vec<f64> = (0..N).map(|_| stream.normal()).collect();
        let p: Vec<f64> = (0..N).map(|_| 1.0 + stream.normal()).collect();
        let q: Vec<f64> = (0..N).map(|_| stream.normal()).collect();
        let twice = |x: &[f64]| -> Vec<f64> { x.iter().chain(x.iter().rev()).copied().collect() };
        let (p, q) = (twice(&p), twice(&q));
        let zeros = || std::iter::repeat_n(0.0, N);
        let first = weights.iter().copied().chain(zeros());
        let second = zeros().chain(weights.iter().rev().copied());
        let layers = vec![
            Dense { weight: vec![1.0; 2 * N], bias: vec![0.0; 2 * N] },
            Dense { weight: first.chain(second).collect(), bias: vec![8.0; 2] },
            Dense { weight: vec![1.0, -1.0], bias: vec![0.0] },
        ];
        let mlp = Mlp::new(layers, Activation::Relu, 0.0).unwrap();
        let net = Network::new(&mlp);
        let points: Vec<Singles> =
            (0..8).map(|_| std::array::from_fn(|_| stream.normal() as f32)).collect();
        let magnitudes: Vec<f64> = p.iter().zip(&q).map(|(p, q)| p.abs() + 8.0 * q.abs()).collect();
        let rounding_error =
            4.0 * (net.n_units() as f64 + 16.0) * f64::EPSILON * net.magnitude(&magnitudes);
        let shares =
            |p: &[f64], rounding_error| trace(&net.deep, (p, &q), rounding_error, Some(&points)).0;
        seen |= shares(&p, 0.0) != [1.0; LANES];
        assert_eq!(shares(&p, rounding_error), [1.0; LANES], "{number}");
        assert_eq!(shares(&[f64::NAN; 2 * N], rounding_error), [1.0; LANES]);
    }
    assert!(seen, "no rounding error to speak of");
}

/// Single precision against double precision, which is a hundred million times closer.
struct Twice<'a>(&'a Deep, &'a [f64], &'a [f64], &'a short::Pair);

impl pulp::WithSimd for Twice<'_> {
    type Output = (short::Pair, [Lanes; 2], [Lanes; 2]);

    fn with_simd<S: Simd>(self, simd: S) -> Self::Output {
        let Self(net, p, rate, t) = self;
        let scratch = &mut Scratch::default();
        let image: Vec<Lanes> = p.iter().map(|p| [*p; LANES]).collect();
        let base = vec![0.0; p.len()];
        let (guess, slope, marginal) = (0.0, 1.0, Marginal::Normal);
        let bundle = Bundle {
            number: 0,
            base: &base,
            rate,
            guess,
            slope,
            marginal,
            rounding_error: 0.0,
            rough: false,
        };
        net.place(simd, &bundle, (&image, &[0.0; LANES]), scratch);
        let net_short = InShort::new(net).unwrap();
        net_short.place(&scratch.p, rate, &mut scratch.short);
        let (scores, doubts) = net_short.scores(simd, t, &mut scratch.short);
        let closer = t.map(|t| {
            let t = Wide::load(simd, &t.map(f64::from));
            net.scores::<S, false>(simd, rate, t, scratch).lanes()
        });
        (scores, doubts, closer)
    }
}

#[test]
fn single_precision_is_no_further_off_than_its_bound() {
    let wide: &[usize] = &[4, 60, 50, 50, 40, 1];
    let mut closest = f64::INFINITY;
    for (kind, number) in [KINDS[0], KINDS[1], (wide, Activation::Relu)]
        .into_iter()
        .flat_map(|kind| (0..60).map(move |number| (kind, number)))
    {
        let (mlp, p, q) = line(kind, number);
        let net = Deep::new(&mlp);
        let mut stream = Seed(number).stream(Purpose::Data, 13);
        let t: short::Pair =
            std::array::from_fn(|_| std::array::from_fn(|_| 2.0 * stream.normal() as f32));
        let trace = || Twice(&net, &p, &q, &t);
        let seen = pulp::Arch::new().dispatch(trace());
        assert_eq!(seen, pulp::WithSimd::with_simd(trace(), pulp::Scalar::new()));
        let (scores, doubts, closer) = seen;
        for ((score, doubt), closer) in
            scores.as_flattened().iter().zip(doubts.as_flattened()).zip(closer.as_flattened())
        {
            let off = (f64::from(*score) - closer).abs();
            assert!(off <= *doubt, "{kind:?} {number}: {off:e} {doubt:e}");
            assert!(
                *doubt < 0.5 * (1.0 + closer.abs()),
                "{kind:?} {number}: {doubt:e} of {closer}"
            );
            closest = closest.min(doubt / off.max(1e-30));
        }
    }
    // A bound that would hold whatever it is a bound on says nothing.
    assert!(closest < 1e3, "{closest}");
}

#[test]
fn points_are_decided_as_in_double_precision() {
    for (kind, number) in
        KINDS[..2].iter().flat_map(|kind| (0..100).map(move |number| (*kind, number)))
    {
        let (mlp, p, q) = line(kind, number);
        let net = Deep::new(&mlp);
        let closer = Deep { short: OnceLock::from(None), ..Deep::new(&mlp) };
        let mut stream = Seed(number).stream(Purpose::Data, 14);
        // Some points at a root, where single precision cannot decide.
        let scratch = &mut network::Scratch::default();
        Network::new(&mlp).mass((&p, &q), 0.0, Marginal::Normal, None, scratch);
        let root = scratch.roots().first().map_or(0.0, |root| root.at as f32);
        let points: Vec<Singles> = (0..8)
            .map(|k| std::array::from_fn(|_| if k < 2 { root } else { stream.normal() as f32 }))
            .collect();
        let shares = |net: &Deep| trace(net, (&p, &q), 0.0, Some(&points)).0;
        assert_eq!(shares(&net), shares(&closer), "{kind:?} {number}");
    }
}

/// Beyond what single precision holds it says that it does not know.
#[test]
fn what_overflows_is_not_known() {
    let (mlp, p, q) = line(KINDS[0], 1);
    let huge: Vec<f64> = p.iter().map(|p| 1e39 * p).collect();
    let t = [[0.5; LANES]; 2];
    for (p, q) in [(&huge, &q), (&p, &huge)] {
        let (_, doubts, _) = pulp::Arch::new().dispatch(Twice(&Deep::new(&mlp), p, q, &t));
        assert_eq!(doubts, [[f64::INFINITY; LANES]; 2]);
    }
    let layers = vec![
        Dense { weight: vec![1.0; 2], bias: vec![0.0; 2] },
        Dense { weight: vec![1e35, 1.0], bias: vec![0.0] },
    ];
    assert!(InShort::new(&Deep::new(&Mlp::new(layers, Activation::Relu, 0.0).unwrap())).is_none());
}
