//! Cases without an answer, or with an odd one: they end, and say why.

use crate::shared::{audit, denied, plain_setup};
use probe_core::noise::NoiseSpec;
use probe_core::{
    Activation, Answer, Cost, Covariance, Dense, Engine, Gaussian, Linear, Mlp, Model, NoiseOn,
    Reason, Rows, Setup, Status,
};
use std::sync::Arc;

fn answers(setup: Setup, people: &[f64]) -> Vec<Answer> {
    let d = setup.names.len();
    let max_rate = setup.max_rate;
    let answers = Engine::new(setup).unwrap().recourse(Rows::new(people, d).unwrap()).unwrap();
    for (person, answer) in people.chunks(d).zip(&answers) {
        let rates = [Some(answer.rate), Some(answer.rate_upper), answer.best_rate];
        assert!(rates.iter().flatten().all(|rate| (0.0..=1.0).contains(rate)), "{answer:?}");
        assert!(answer.point.iter().all(|v| v.is_finite()));
        match answer.status {
            Status::Certified => {
                assert!(
                    answer.score_after > 0.0
                        && answer.rate_upper <= max_rate
                        && answer.reason.is_none()
                );
            }
            Status::Found => {
                assert!(
                    answer.score_after > 0.0
                        && answer.reason.is_some()
                        && answer.best_rate.is_some()
                );
            }
            Status::None => {
                assert!(
                    answer.reason.is_some() && answer.best_rate.is_some() && answer.cost.is_none()
                );
                assert_eq!(answer.point, person, "no advice leaves the person where they are");
            }
            Status::Favourable => panic!("denied before: {answer:?}"),
        }
    }
    answers
}

fn shallow(
    d: usize,
    hidden: (Vec<f64>, Vec<f64>),
    output: (Vec<f64>, f64),
    activation: Activation,
) -> Arc<Mlp> {
    assert_eq!(hidden.0.len(), d * hidden.1.len());
    let hidden = Dense { weight: hidden.0, bias: hidden.1 };
    let output = Dense { weight: output.0, bias: vec![output.1] };
    Arc::new(Mlp::new(vec![hidden, output], activation, 0.0).unwrap())
}

#[test]
fn nobody_reaches_what_does_not_exist() {
    let people = [0.1, -0.2, 0.5, 0.3];
    let dead = shallow(
        2,
        (vec![1.0, 2.0, -1.0, 0.5], vec![-100.0; 2]),
        (vec![1.0; 2], -1.0),
        Activation::Relu,
    );
    let constant = shallow(2, (vec![1.0; 4], vec![0.1; 2]), (vec![0.0; 2], -1.0), Activation::Tanh);
    let flat = shallow(2, (vec![0.0; 4], vec![1.0; 2]), (vec![1.0; 2], -3.0), Activation::Relu);
    // At most -0.5, though it rises for ever.
    let below = shallow(2, (vec![1.0; 4], vec![0.0; 2]), (vec![0.25; 2], -1.0), Activation::Tanh);
    for (name, model) in [("dead", dead), ("constant", constant), ("flat", flat), ("below", below)]
    {
        for max_rate in [0.2, 0.7] {
            let mut setup = plain_setup(model.clone(), max_rate);
            setup.actions.intersect(-2.0, 2.0).unwrap();
            for answer in answers(setup, &people) {
                assert_eq!(answer.status, Status::None, "{name}: {answer:?}");
                assert_eq!((answer.rate, answer.best_rate), (1.0, Some(1.0)), "{name}");
                let reason = answer.reason.unwrap();
                let moves = [Reason::NoAdmissibleMove, Reason::InfeasibleWithinBounds];
                assert!(moves.contains(&reason), "{name}: {reason:?}");
            }
        }
    }
}

#[test]
fn a_rate_out_of_reach_comes_with_the_best_one() {
    // tanh(x) - 0.99 with x up to 3: favourable above atanh(0.99), so the best rate is Φ(-(3 -
    // atanh(0.99)) / 0.5).
    let model = shallow(1, (vec![1.0], vec![0.0]), (vec![1.0], -0.99), Activation::Tanh);
    let mut setup = plain_setup(model, 0.1);
    setup.noise = Arc::new(Gaussian::isotropic(1, 0.5).unwrap());
    setup.actions.intersect(-3.0, 3.0).unwrap();
    let answer = answers(setup, &[0.0]).remove(0);
    let best = 0.5 * libm::erfc((3.0 - 0.99_f64.atanh()) / 0.5 / 2.0_f64.sqrt());
    // A search has ended, on samples: that proves nothing.
    assert_eq!((answer.status, answer.reason), (Status::Found, Some(Reason::NotFound)));
    assert!(!answer.proven && answer.cost_lower > 0.0, "{answer:?}");
    assert!((answer.best_rate.unwrap() - best).abs() < 1e-9, "{answer:?} {best}");
    assert_eq!(answer.nearest, [3.0]);
}

#[test]
fn a_first_yes_that_is_never_safe_does_not_end_the_search() {
    // The score depends on s = x0 + x1 alone: a yes between 0.3 and 0.35, which noise of 0.1 hardly
    // ever hits, and from 1.6 on, where one feature alone does not get.
    let model = shallow(
        2,
        (vec![1.0; 8], vec![-0.05, -0.325, -0.6, -1.5]),
        (vec![4.0, -8.0, 4.0, 10.0], -1.0),
        Activation::Relu,
    );
    let max_rate = 0.05;
    let mut setup = plain_setup(model, max_rate);
    setup.noise = Arc::new(Gaussian::isotropic(2, 0.1).unwrap());
    setup.actions.intersect(0.0, 1.0).unwrap();
    let people = [0.0, 0.0, 0.02, 0.01, 0.1, 0.0, 0.0, 0.7];
    let below =
        |sum: f64, end: f64| 0.5 * libm::erfc((sum - end) / 0.02_f64.sqrt() / 2.0_f64.sqrt());
    for (person, answer) in people.chunks(2).zip(answers(setup, &people)) {
        assert_eq!(answer.status, Status::Certified, "{answer:?}");
        let sum = answer.point[0] + answer.point[1];
        let rate = below(sum, 1.6) - (below(sum, 0.35) - below(sum, 0.3));
        assert!(rate <= max_rate, "{rate}");
        let least = 1.6 + 1.644_853_626_951_473 * 0.02_f64.sqrt() - person[0] - person[1];
        assert!(answer.cost.unwrap() <= 1.02 * least, "{answer:?} {least}");
    }
}

#[test]
fn nothing_may_change() {
    let (model, people) = denied(4);
    let d = model.n_features();
    let mut fixed = plain_setup(model.clone(), 0.2);
    (0..d).for_each(|j| fixed.actions.fix(j));
    let mut none = plain_setup(model.clone(), 0.2);
    none.actions = none.actions.clone().with_max_changes(Some(0));
    let mut everything = plain_setup(model.clone(), 0.2);
    everything.noise_on = NoiseOn::Changed;
    everything.actions = everything.actions.clone().with_max_changes(Some(0));
    for setup in [fixed, none, everything] {
        for answer in answers(setup, &people) {
            assert_eq!(
                (answer.status, answer.reason),
                (Status::None, Some(Reason::NoAdmissibleMove))
            );
        }
    }
}

#[test]
fn extreme_targets() {
    let (model, people) = denied(4);
    let d = model.n_features();
    // Lines count at least 4e-7 of each as refused: 1e-9 is never certified, and the search says
    // what it got.
    for answer in answers(plain_setup(model.clone(), 1e-9), &people) {
        assert_eq!(answer.status, Status::Found, "{answer:?}");
        assert!(answer.best_rate.unwrap() < 1e-2, "{answer:?}");
    }
    // At one half and above the advice itself must be favourable; `answers` checks that.
    for max_rate in [0.5, 0.9, 0.999] {
        for answer in answers(plain_setup(model.clone(), max_rate), &people) {
            assert_eq!(answer.status, Status::Certified, "r {max_rate}: {answer:?}");
            let (rate, error) = audit(&*model, &answer.point, &vec![0.1; d], 50_000, 3);
            assert!(rate <= max_rate + 4.0 * error);
        }
    }
}

#[test]
fn hardly_any_noise_and_far_too_much() {
    let (model, people) = denied(4);
    let d = model.n_features();
    let with = |sigma: f64| {
        let mut setup = plain_setup(model.clone(), 0.1);
        setup.noise = Arc::new(Gaussian::isotropic(d, sigma).unwrap());
        setup
    };
    for answer in answers(with(1e-9), &people) {
        assert_eq!(answer.status, Status::Certified, "{answer:?}");
        // The boundary itself: within some deviations of a score of zero.
        assert!(answer.score_after < 1e-6, "{answer:?}");
    }
    for answer in answers(with(1e6), &people) {
        if answer.status == Status::Certified {
            let (rate, error) = audit(&*model, &answer.point, &vec![1e6; d], 50_000, 3);
            assert!(rate <= 0.1 + 4.0 * error, "{rate}");
        }
    }
}

#[test]
fn units_do_not_matter() {
    // The same question in units from 1e-4 to 1e4: deviations and costs in step.
    let (model, people) = denied(4);
    let d = model.n_features();
    let width: Vec<f64> = (0..d).map(|j| 10.0_f64.powi([4, -4, 0, 2, -2, 3, -3, 1][j])).collect();
    // Feature j in new units is the old one over its width.
    let stretched = Arc::new(model.with_input(&vec![0.0; d], &width).unwrap());
    let mut setup = plain_setup(stretched.clone(), 0.2);
    setup.noise = Arc::new(
        Gaussian::new(vec![0.0; d], Covariance::Diagonal(width.iter().map(|w| 0.1 / w).collect()))
            .unwrap(),
    );
    setup.cost = Cost::new("l1", width.clone(), width.clone()).unwrap();
    let moved: Vec<f64> = people.iter().enumerate().map(|(i, v)| v / width[i % d]).collect();
    let expected = answers(plain_setup(model, 0.2), &people);
    for (answer, expected) in answers(setup, &moved).iter().zip(&expected) {
        assert_eq!((answer.status, expected.status), (Status::Certified, Status::Certified));
        let (cost, other) = (answer.cost.unwrap(), expected.cost.unwrap());
        assert!(cost <= 1.05 * other && other <= 1.05 * cost, "{cost} against {other}");
    }
}

#[test]
fn scores_that_are_not_numbers_are_no_yes() {
    // x₂ as long as x₁ < 0, then ∞ - ∞: two units whose outputs overflow.
    let hidden = (vec![0.0, 1.0, 0.0, -1.0, 1e200, 0.0, 1e200, 0.0], vec![0.0; 4]);
    let output = (vec![1.0, -1.0, 1e200, -1e200], 0.0);
    for activation in
        [Activation::Relu, Activation::LeakyRelu, Activation::Softplus, Activation::Gelu]
    {
        let model = shallow(2, hidden.clone(), output.clone(), activation);
        let person = [-0.05, -1.0];
        if !model.score(&person).unwrap().is_finite() {
            continue;
        }
        for answer in answers(plain_setup(model.clone(), 0.2), &person) {
            if answer.status == Status::Certified {
                let (rate, error) = audit(&*model, &answer.point, &[0.1; 2], 50_000, 3);
                assert!(rate <= 0.2 + 4.0 * error, "{activation:?}: {rate} {answer:?}");
            }
        }
    }
}

#[test]
fn a_bump_is_found_across_flat_ground() {
    // Zero and below everywhere but between 0.27 and 0.48, and below 0.08: steps see no slope from
    // most places.
    let weights = vec![1.0, 1.0, 1.0, 1.0, -1.0];
    let bump = shallow(
        1,
        (weights, vec![-0.25, -0.3, -0.45, -0.5, 0.1]),
        (vec![40.0, -40.0, -40.0, 40.0, 40.0], -1.0),
        Activation::Relu,
    );
    let mut setup = plain_setup(bump, 0.05);
    setup.noise = Arc::new(Gaussian::isotropic(1, 0.02).unwrap());
    for (person, answer) in
        [1.1, 0.8, 0.7, 0.6, 0.55].iter().zip(answers(setup, &[1.1, 0.8, 0.7, 0.6, 0.55]))
    {
        assert_eq!(answer.status, Status::Certified, "{person}: {answer:?}");
        // The upper end is 0.475, and what the target asks for is 1.645 deviations.
        assert!((0.435..0.4425).contains(&answer.point[0]), "{person}: {answer:?}");
    }
}

#[test]
fn bounds_that_leave_no_way_are_named_whatever_the_noise() {
    let model = Arc::new(Linear::new(vec![1.0, -2.0], -5.0, 0.0).unwrap());
    let mut setup = plain_setup(model, 0.1);
    setup.noise = NoiseSpec::parse("uniform:0.1").unwrap().build(vec![0.1; 2]).unwrap();
    setup.actions.intersect(0.0, 1.0).unwrap();
    for answer in answers(setup, &[0.5, 0.5]) {
        assert_eq!(
            (answer.status, answer.reason),
            (Status::None, Some(Reason::InfeasibleWithinBounds))
        );
    }
}
