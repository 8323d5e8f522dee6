//! Places where a score is exactly zero, and people whom noise alone would lift over the boundary.

use crate::shared::{audit, network, people_denied_by, plain_setup};
use probe_core::{
    Activation, Answer, Covariance, Dense, Engine, Gaussian, InvalidationRate, LineSampling, Mlp,
    Model, Purpose, Query, Rows, Seed, Status,
};
use std::sync::Arc;

/// A tie is a rejection, and rounding along a line must not make it a yes: here the score is
/// zero on half of the space or more.
#[test]
fn a_score_of_zero_is_refused_on_lines() {
    // 0.2 max(-0.4 a - 1.3, 0): zero for a >= -3.25, which is 4.3 deviations away.
    let layers = vec![
        Dense { weight: vec![-0.4], bias: vec![-1.3] },
        Dense { weight: vec![0.2], bias: vec![0.0] },
    ];
    let model = Mlp::new(layers, Activation::Relu, 0.0).unwrap();
    let noise = Gaussian::isotropic(1, 0.5).unwrap();
    let query = Query { model: &model, noise: &noise, point: &[-1.1], active: &[true] };
    let estimate = LineSampling { lines: 256 }
        .estimate(&query, 0.99, &mut Seed(1).stream(Purpose::Audit, 0))
        .unwrap();
    // The rest is the upper tail of 4.3, 8.5e-6.
    assert!((estimate.rate - (1.0 - 8.539_9e-6)).abs() < 1e-8, "{}", estimate.rate);
}

/// Scores that are sums of rectifiers and nothing else are zero wherever all of them are off.
#[test]
fn certificates_hold_beside_plateaus_of_zero() {
    let (mut certified, mut plateaus) = (0, 0);
    for number in 0..24u64 {
        let mut stream = Seed(70 + number).stream(Purpose::Data, 0);
        let widths: &[usize] =
            [&[3, 4, 1][..], &[3, 4, 3, 1], &[3, 4, 3, 3, 1]][number as usize % 3];
        let layers: Vec<Dense> = widths
            .windows(2)
            .enumerate()
            .map(|(l, pair)| {
                let last = l + 2 == widths.len();
                Dense {
                    weight: (0..pair[0] * pair[1])
                        .map(|_| stream.normal())
                        .map(|w| if last { w.abs() } else { w })
                        .collect(),
                    bias: (0..pair[1])
                        .map(|_| if last { 0.0 } else { -0.6 * stream.uniform() })
                        .collect(),
                }
            })
            .collect();
        let model = Arc::new(Mlp::new(layers, Activation::Relu, 0.0).unwrap());
        let people: Vec<f64> = (0..200)
            .map(|_| [0.4 * stream.normal(), 0.4 * stream.normal(), 0.4 * stream.normal()])
            .filter(|person| model.score(person).unwrap() == 0.0)
            .take(3)
            .flatten()
            .collect();
        plateaus += people.len() / 3;
        for max_rate in [0.1, 0.35] {
            let engine = Engine::new(plain_setup(model.clone(), max_rate)).unwrap();
            for answer in engine.recourse(Rows::new(&people, 3).unwrap()).unwrap() {
                if answer.status == Status::Certified {
                    certified += 1;
                    let (rate, error) = audit(&*model, &answer.point, &[0.1; 3], 100_000, number);
                    assert!(rate <= max_rate + 4.0 * error, "{number}: {rate} above {max_rate}");
                }
            }
        }
    }
    assert!(plateaus > 20 && certified > 20, "{plateaus} {certified}");
}

/// Where noise has a mean that helps, the rate may be met by points that are refused themselves;
/// the answer must not be one of them, nor may there be none. For a score that is affine near the
/// answer, the cheapest is then on the boundary.
#[test]
fn a_mean_that_helps_does_not_leave_people_without_recourse() {
    // (a + 0.2 b) + (0.1 a + b) - 2, where both are positive.
    let layers = vec![
        Dense { weight: vec![1.0, 0.2, 0.1, 1.0], bias: vec![0.0, 0.0] },
        Dense { weight: vec![1.0, 1.0], bias: vec![-2.0] },
    ];
    let model = Arc::new(Mlp::new(layers, Activation::Relu, 0.0).unwrap());
    for max_rate in [0.05, 0.35, 0.45] {
        let mut setup = plain_setup(model.clone(), max_rate);
        setup.noise = Arc::new(
            Gaussian::new(vec![0.1, 0.1], Covariance::Diagonal(vec![0.05, 0.05])).unwrap(),
        );
        let engine = Engine::new(setup).unwrap();
        for (person, score) in [([0.5, 0.4], -0.97), ([0.2, 0.9], -0.7)] {
            let mut answer = Answer::new(2);
            engine.session().recourse(&person, &mut answer).unwrap();
            assert_eq!(answer.status, Status::Certified, "{answer:?}");
            // 1.2 a unit of b is the most that a change buys.
            let least = -score / 1.2;
            let cost = answer.cost.unwrap();
            assert!((least..least * 1.001 + 1e-4).contains(&cost), "r {max_rate}: {cost} {least}");
        }
    }
}

/// Under much noise most people's own rate is below the target already; what is missing is that the
/// point itself is favourable.
#[test]
fn people_whom_noise_would_lift_are_led_over_the_edge() {
    let (mut lifted, mut expensive) = (0, 0);
    for number in 0..12u64 {
        let mut stream = Seed(900 + number).stream(Purpose::Data, 0);
        let model = Arc::new(network(&[3, 20, 2], Activation::Relu, &mut stream, -0.1));
        let people = people_denied_by(&model, 4, &mut stream);
        let mut setup = plain_setup(model.clone(), 0.6);
        setup.noise = Arc::new(Gaussian::isotropic(3, 1.0).unwrap());
        let engine = Engine::new(setup).unwrap();
        for (person, answer) in
            people.chunks_exact(3).zip(engine.recourse(Rows::new(&people, 3).unwrap()).unwrap())
        {
            let (own, error) = audit(&*model, person, &[1.0; 3], 20_000, number);
            if own > 0.6 - 5.0 * error {
                continue;
            }
            lifted += 1;
            assert_eq!(answer.status, Status::Certified, "{number}: {answer:?}");
            // The nearest favourable move of one feature, on a fine grid, with a rate that holds.
            let mut least = f64::INFINITY;
            for j in 0..3 {
                for step in 1..=2_000 {
                    for way in [0.001, -0.001] {
                        let mut point = person.to_vec();
                        point[j] += way * f64::from(step);
                        let cost = 0.001 * f64::from(step);
                        if cost < least
                            && model.score(&point).unwrap() > 0.0
                            && audit(&*model, &point, &[1.0; 3], 5_000, number).0 < 0.57
                        {
                            least = cost;
                        }
                    }
                }
            }
            expensive += usize::from(answer.cost.unwrap() > 1.1 * least + 0.002);
        }
    }
    assert!(lifted >= 10, "{lifted}");
    assert!(
        expensive * 10 <= lifted,
        "{expensive} of {lifted} pay a tenth more than a grid of single features finds"
    );
}

/// Near r = ½ the cheapest point of a rate lies at the edge of what is favourable, and a last
/// correction must not fall off it: a person with an answer for a low rate has one for every higher
/// rate.
#[test]
fn a_higher_rate_leaves_nobody_behind() {
    for number in 0..2u64 {
        let mut stream = Seed(700 + number).stream(Purpose::Data, 0);
        let model = Arc::new(network(&[8, 20, 2], Activation::Relu, &mut stream, -0.4));
        let people = people_denied_by(&model, 60, &mut stream);
        let rows = Rows::new(&people, 8).unwrap();
        let answers = |max_rate: f64| {
            Engine::new(plain_setup(model.clone(), max_rate)).unwrap().recourse(rows).unwrap()
        };
        let strict = answers(0.3);
        for max_rate in [0.45, 0.49, 0.5, 0.52, 0.6] {
            for (i, (answer, strict)) in answers(max_rate).iter().zip(&strict).enumerate() {
                if strict.status == Status::Certified {
                    assert_eq!(
                        answer.status,
                        Status::Certified,
                        "{number} {i} at {max_rate}: {answer:?}"
                    );
                }
            }
        }
    }
}
