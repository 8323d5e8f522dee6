//! Tolerances of answers that were certified by sampling, tried out.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use probe_core::math::normal::{upper_quantile, upper_tail};
use probe_core::{
    Actions, Activation, Answer, Covariance, Dense, Engine, FeatureLimits, Gaussian, Mlp,
    MonteCarlo, NoiseOn, Purpose, Rows, Seed, Setup, Side, Status,
};
use std::sync::Arc;

const SD: [f64; 3] = [0.1, 0.2, 0.05];
const RATE: f64 = 0.3;
const DRAWS: usize = 50_000;

/// Layers of random weights, or `2 a + b - c - 2` as a rectifier of it less a rectifier of its
/// negative.
fn network(affine: bool) -> Mlp {
    let layer =
        |weight: &[f64], bias: &[f64]| Dense { weight: weight.to_vec(), bias: bias.to_vec() };
    if affine {
        let first = layer(&[2.0, 1.0, -1.0, -2.0, -1.0, 1.0], &[-2.0, 2.0]);
        return Mlp::new(vec![first, layer(&[1.0, -1.0], &[0.0])], Activation::Relu, 0.0).unwrap();
    }
    let mut stream = Seed(5).stream(Purpose::Search, 0);
    let mut random = |n: usize| (0..n).map(|_| stream.normal()).collect::<Vec<f64>>();
    let (w, b, v) = (random(36), random(12), random(12));
    Mlp::new(vec![layer(&w, &b), layer(&v, &[0.0])], Activation::Tanh, 2.6).unwrap()
}

fn engine(affine: bool, change: impl Fn(&mut Setup)) -> Engine {
    let names = ["a", "b", "c"].map(str::to_owned).to_vec();
    let mut setup = Setup::new(Arc::new(network(affine)), names, None, 0.1).unwrap();
    setup.noise = Arc::new(Gaussian::new(vec![0.0; 3], Covariance::Diagonal(SD.to_vec())).unwrap());
    (setup.max_rate, setup.aim) = (RATE, Some(0.6));
    setup.actions.intersect(-2.0, 2.0).unwrap();
    change(&mut setup);
    Engine::new(setup).unwrap()
}

/// Certified answers with the people they are for.
fn answers(engine: &Engine) -> Vec<([f64; 3], Answer)> {
    let mut stream = Seed(8).stream(Purpose::Search, 1);
    let people: Vec<[f64; 3]> =
        (0..40).map(|_| std::array::from_fn(|_| 0.7 * stream.normal())).collect();
    let found = engine.recourse(Rows::new(people.as_flattened(), 3).unwrap()).unwrap();
    people.into_iter().zip(found).filter(|(_, a)| a.status == Status::Certified).collect()
}

/// The answer with the sharpest bound that samples give: what a patient certificate would say.
fn sharpened(engine: &Engine, person: &[f64], answer: &Answer) -> Answer {
    let seen = engine.rate(&answer.point, Some(person), &MonteCarlo { samples: DRAWS }).unwrap();
    let rate_upper = (seen.rate + 4.0 * (RATE * (1.0 - RATE) / DRAWS as f64).sqrt()).min(RATE);
    Answer { rate_upper, ..answer.clone() }
}

#[test]
fn every_miss_in_the_ellipsoid_keeps_the_target() {
    let engine = engine(false, |_| {});
    let mut stream = Seed(9).stream(Purpose::Audit, 0);
    let four_errors = 4.0 * (RATE * (1.0 - RATE) / DRAWS as f64).sqrt();
    let (mut tried, mut highest) = (0, 0.0_f64);
    for (person, answer) in answers(&engine).into_iter().take(6) {
        let answer = sharpened(&engine, &person, &answer);
        let tolerance = engine.tolerance(&person, &answer).unwrap().unwrap();
        assert!(tolerance.favourable.is_empty() && tolerance.kappa > 0.1, "{tolerance:?}");
        let mut misses: Vec<[f64; 3]> = Vec::new();
        for slack in &tolerance.at_target {
            assert_eq!(slack.harmful, Side::Either);
            for sign in [-1.0, 1.0] {
                let mut miss = [0.0; 3];
                miss[slack.feature] = sign * slack.alone;
                misses.push(miss);
            }
        }
        // Corners of the box, and points of the surface.
        let box_side = tolerance.at_target[0].jointly / SD[tolerance.at_target[0].feature];
        for corner in 0..8 {
            let sign = |j: usize| if corner >> j & 1 == 0 { box_side } else { -box_side };
            misses.push(std::array::from_fn(|j| sign(j) * SD[j]));
        }
        for _ in 0..6 {
            let z: [f64; 3] = std::array::from_fn(|_| stream.normal());
            let length = z.iter().map(|v| v * v).sum::<f64>().sqrt();
            misses.push(std::array::from_fn(|j| tolerance.kappa * SD[j] * z[j] / length));
        }
        for miss in misses {
            let square: f64 = (0..3).map(|j| (miss[j] / SD[j]).powi(2)).sum();
            assert!(square <= tolerance.kappa.powi(2) * (1.0 + 1e-12), "outside the ellipsoid");
            let point: Vec<f64> = answer.point.iter().zip(miss).map(|(x, b)| x + b).collect();
            let rate =
                engine.rate(&point, Some(&person), &MonteCarlo { samples: DRAWS }).unwrap().rate;
            assert!(rate <= RATE + four_errors, "{rate} after a miss of {miss:?}");
            highest = highest.max(rate);
            tried += 1;
        }
    }
    // Misses that all help, or hardly matter, would show nothing.
    assert!(tried > 80 && highest > 0.9 * RATE, "{tried} {highest}");
}

#[test]
fn an_affine_network_uses_up_the_whole_tolerance() {
    let engine = engine(true, |_| {});
    let spread = (4.0 * 0.01 + 0.04 + 0.0025_f64).sqrt();
    for (person, answer) in answers(&engine).into_iter().take(5) {
        let point = &answer.point;
        let margin = (2.0 * point[0] + point[1] - point[2] - 2.0) / spread;
        let exact = Answer { rate_upper: upper_tail(margin), ..answer.clone() };
        let kappa = engine.tolerance(&person, &exact).unwrap().unwrap().kappa;
        // Against the gradient, κ takes the margin down to z_r, and the rate up to r.
        assert!((upper_tail(margin - kappa) / RATE - 1.0).abs() < 1e-9, "{margin} {kappa}");
        // The certificate's own bound is not sharper than the truth.
        let own = engine.tolerance(&person, &answer).unwrap().unwrap().kappa;
        assert!(own < kappa, "{own} {kappa}");
    }
}

#[test]
fn slacks_are_in_raw_units_and_absent_where_nothing_is_proven() {
    let plain = engine(true, |_| {});
    let (person, mut answer) = answers(&plain).remove(0);
    answer.rate_upper = upper_tail(1.0);
    let tolerance = plain.tolerance(&person, &answer).unwrap().unwrap();
    let kappa = 1.0 - upper_quantile(RATE);
    assert!((tolerance.kappa - kappa).abs() < 1e-12);
    for slack in &tolerance.at_target {
        assert!((slack.alone - kappa * SD[slack.feature]).abs() < 1e-12);
        assert!(
            (slack.jointly * 3f64.sqrt() - slack.alone).abs() < 1e-12,
            "three features are noisy"
        );
    }
    let changed = (0..3).filter(|&j| person[j] != answer.point[j]).count();
    assert_eq!(tolerance.at_target.len(), changed);
    // The bound is the target: there is no tolerance, and none is reported as zero.
    answer.rate_upper = RATE;
    let none = plain.tolerance(&person, &answer).unwrap().unwrap();
    assert!(none.at_target.is_empty() && none.kappa == 0.0);
    // Above the target, not certified, or another noise: unknown.
    answer.rate_upper = 0.31;
    assert_eq!(plain.tolerance(&person, &answer).unwrap(), None);
    (answer.rate_upper, answer.status) = (0.2, Status::Found);
    assert_eq!(plain.tolerance(&person, &answer).unwrap(), None);
    answer.status = Status::Certified;
    let correlated = vec![0.01, 0.005, 0.0, 0.005, 0.04, 0.0, 0.0, 0.0, 0.0025];
    let full = Arc::new(Gaussian::new(vec![0.0; 3], Covariance::Full(correlated)).unwrap());
    let other = engine(true, |setup| setup.noise = full.clone());
    assert_eq!(other.tolerance(&person, &answer).unwrap(), None);
    let laplace =
        probe_core::noise::NoiseSpec::parse("laplace:0.1").unwrap().build(SD.to_vec()).unwrap();
    let other = engine(true, |setup| setup.noise = laplace.clone());
    assert_eq!(other.tolerance(&person, &answer).unwrap(), None);
    // Noise on what changes alone: fewer features share the box.
    let fewer = engine(true, |setup| setup.noise_on = NoiseOn::Changed);
    let tolerance = fewer.tolerance(&person, &answer).unwrap().unwrap();
    for slack in &tolerance.at_target {
        assert!((slack.jointly * (changed as f64).sqrt() - slack.alone).abs() < 1e-12);
    }
}

/// κ if the rate were known to be what the search aims at, three quarters of the target.
fn whole_room() -> f64 {
    upper_quantile(0.75 * RATE) - upper_quantile(RATE)
}

fn asked(setup: &mut Setup) {
    (setup.tolerance, setup.aim) = (true, None);
}

#[test]
fn a_tolerance_that_is_asked_for_is_there_and_holds_at_its_ends() {
    let engine = engine(false, asked);
    let all = answers(&engine);
    // Of forty people many are favourable already; asking loses none of the others.
    let plain = answers(&self::engine(false, |setup| setup.aim = None)).len();
    assert!(plain >= 10 && all.len() >= plain, "{} {plain}", all.len());
    let four_errors = 4.0 * (RATE * (1.0 - RATE) / DRAWS as f64).sqrt();
    let (mut tried, mut highest) = (0, 0.0_f64);
    for (number, (person, answer)) in all.iter().enumerate() {
        let tolerance = engine.tolerance(person, answer).unwrap().unwrap();
        let changed: Vec<usize> = (0..3).filter(|&j| person[j] != answer.point[j]).collect();
        let listed: Vec<usize> = tolerance.at_target.iter().map(|slack| slack.feature).collect();
        assert_eq!(listed, changed, "person {number}");
        // The last rung leaves 0.85 of the gap between rate and target, the third a half.
        assert!(tolerance.kappa > 0.5 * whole_room(), "person {number}: {tolerance:?} {answer:?}");
        if number >= 8 {
            continue;
        }
        let mut misses: Vec<[f64; 3]> = Vec::new();
        for slack in &tolerance.at_target {
            for sign in [-1.0, 1.0] {
                let mut miss = [0.0; 3];
                miss[slack.feature] = sign * slack.alone;
                misses.push(miss);
            }
        }
        for corner in 0..1 << tolerance.at_target.len() {
            let mut miss = [0.0; 3];
            for (k, slack) in tolerance.at_target.iter().enumerate() {
                miss[slack.feature] =
                    if corner >> k & 1 == 0 { slack.jointly } else { -slack.jointly };
            }
            misses.push(miss);
        }
        for miss in misses {
            let point: Vec<f64> = answer.point.iter().zip(miss).map(|(x, b)| x + b).collect();
            let rate =
                engine.rate(&point, Some(person), &MonteCarlo { samples: DRAWS }).unwrap().rate;
            assert!(rate <= RATE + four_errors, "{rate} after a miss of {miss:?}");
            highest = highest.max(rate);
            tried += 1;
        }
    }
    // Misses that hardly matter would show nothing: some take most of the way from 0.225 back to
    // 0.3.
    assert!(tried > 30 && highest > 0.26, "{tried} {highest}");
}

#[test]
fn an_affine_network_s_tolerance_ends_just_before_the_target() {
    let spread = (4.0 * 0.01 + 0.04 + 0.0025_f64).sqrt();
    let all = answers(&engine(true, asked));
    assert!(all.len() > 20);
    for (person, answer) in all {
        let point = &answer.point;
        let margin = (2.0 * point[0] + point[1] - point[2] - 2.0) / spread;
        assert!((upper_tail(margin) / (0.75 * RATE) - 1.0).abs() < 0.02, "{margin}");
        let kappa = engine(true, asked).tolerance(&person, &answer).unwrap().unwrap().kappa;
        // Against the gradient, κ takes the rate nearly to r and not beyond.
        let at_the_end = upper_tail(margin - kappa);
        assert!(at_the_end <= RATE && at_the_end > 0.93 * RATE, "{at_the_end} {kappa}");
    }
}

#[test]
fn without_room_to_spare_the_answer_is_the_plain_one() {
    // `a` alone moves, and no further than to where the rate is 0.9 r.
    let spread = (4.0 * 0.01 + 0.04 + 0.0025_f64).sqrt();
    let furthest = 0.5 * (2.0 + upper_quantile(0.9 * RATE) * spread);
    let narrow = |setup: &mut Setup| {
        let fixed = FeatureLimits { mutable: false, ..FeatureLimits::default() };
        let first = FeatureLimits { high: furthest, ..FeatureLimits::default() };
        setup.actions = Actions::new(vec![first, fixed, fixed]);
        (setup.noise_on, setup.aim) = (NoiseOn::All, None);
    };
    let person = [0.2, 0.0, 0.0];
    let answer = |tolerance: bool| {
        let engine = engine(true, |setup| {
            narrow(setup);
            setup.tolerance = tolerance;
        });
        engine.recourse(Rows::new(&person, 3).unwrap()).unwrap().remove(0)
    };
    let (plain, roomy) = (answer(false), answer(true));
    assert_eq!((plain.status, roomy.status), (Status::Certified, Status::Certified));
    assert!((roomy.cost.unwrap() / plain.cost.unwrap() - 1.0).abs() < 0.01, "{roomy:?} {plain:?}");
    // Where no tolerance would be proven, asking for one changes nothing.
    let laplace =
        probe_core::noise::NoiseSpec::parse("laplace:0.1").unwrap().build(SD.to_vec()).unwrap();
    let ask = |tolerance: bool| {
        let engine = engine(true, |setup| {
            (setup.noise, setup.tolerance, setup.aim) = (laplace.clone(), tolerance, None);
        });
        engine.recourse(Rows::new(&person, 3).unwrap()).unwrap()
    };
    assert_eq!(ask(true), ask(false));
}
