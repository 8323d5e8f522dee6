//! Immutable features stay, and certified rates hold on independent samples.

use crate::shared::{audit, denied, network, people_denied_by, plain_setup};
use probe_core::{
    Actions, Activation, Direction, Engine, FeatureLimits, Group, Mlp, Model, NoiseOn, Purpose,
    Rows, Seed, Status,
};
use rayon::prelude::*;
use std::sync::Arc;

const SAMPLES: usize = 200_000;

#[test]
fn certified_answers_hold_when_somebody_else_samples() {
    let (model, people) = denied(24);
    let d = model.n_features();
    for max_rate in [0.35, 0.1] {
        let engine = Engine::new(plain_setup(model.clone(), max_rate)).unwrap();
        let answers = engine.recourse(Rows::new(&people, d).unwrap()).unwrap();
        let certified: Vec<_> = answers.iter().filter(|a| a.status == Status::Certified).collect();
        assert!(certified.len() >= 23, "r {max_rate}: {} of 24 certified", certified.len());
        let rates: Vec<f64> = certified
            .par_iter()
            .map(|answer| {
                assert!(answer.rate_upper <= max_rate && answer.cost.unwrap() > 0.0);
                assert!(model.score(&answer.point).unwrap() > 0.0);
                let (rate, error) = audit(&*model, &answer.point, &vec![0.1; d], SAMPLES, 5);
                assert!(rate <= max_rate + 4.0 * error, "{rate} > {max_rate}");
                rate
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        assert!(mean >= 0.85 * max_rate, "r {max_rate}: mean rate {mean} is needlessly low");
    }
}

/// Features: 0 fixed, 1 up only, 2 down only, 3 and 4 within bounds, 5 to 7 one of three options of
/// which the third cannot be left.
fn actions(max_changes: Option<usize>) -> Actions {
    let within = FeatureLimits { low: -1.2, high: 1.2, ..FeatureLimits::default() };
    let mut rooms = vec![within; 8];
    rooms[0].mutable = false;
    rooms[1].direction = Direction::Increase;
    rooms[2].direction = Direction::Decrease;
    let allowed = vec![vec![true; 3], vec![true; 3], vec![false, false, true]];
    let group = Group::one_hot(vec![5, 6, 7]).allowing(allowed);
    Actions::new(rooms).with_groups(vec![group]).unwrap().with_max_changes(max_changes)
}

/// The rules above, in words of this file.
fn assert_kept(person: &[f64], point: &[f64], max_changes: Option<usize>) {
    assert_eq!(point[0], person[0], "fixed");
    assert!(point[1] >= person[1], "up only: {} to {}", person[1], point[1]);
    assert!(point[2] <= person[2], "down only: {} to {}", person[2], point[2]);
    for j in 0..5 {
        assert!(point[j] == person[j] || (-1.2..=1.2).contains(&point[j]), "bounds: {}", point[j]);
    }
    let ones = point[5..].iter().filter(|v| **v == 1.0).count();
    let zeros = point[5..].iter().filter(|v| **v == 0.0).count();
    assert_eq!((ones, zeros), (1, 2), "one option: {:?}", &point[5..]);
    assert!(person[7] != 1.0 || point[7] == 1.0, "the third option was left");
    let numeric = (0..5).filter(|&j| point[j] != person[j]).count();
    let changed = numeric + usize::from(point[5..] != person[5..]);
    assert!(max_changes.is_none_or(|k| changed <= k), "{changed} changes");
}

fn one_hot_people(model: &Mlp, n: usize, seed: u64) -> Vec<f64> {
    let mut stream = Seed(seed).stream(Purpose::Data, 1);
    let mut people = Vec::new();
    while people.len() < n * 8 {
        let mut person: Vec<f64> = (0..8).map(|_| 0.5 * stream.normal()).collect();
        let option = stream.below(3);
        person[5..].iter_mut().enumerate().for_each(|(o, v)| *v = f64::from(u8::from(o == option)));
        if model.score(&person).unwrap() <= 0.0 {
            people.extend(person);
        }
    }
    people
}

#[test]
fn limits_are_kept_under_every_norm() {
    let cases = [(Activation::Relu, 6), (Activation::Softplus, 3)];
    let (mut certified, mut regrouped, mut audits) = (0, 0, Vec::new());
    for (seed, (activation, n)) in (40..).zip(cases) {
        let mut stream = Seed(seed).stream(Purpose::Data, 0);
        let model = Arc::new(network(&[8, 12, 1], activation, &mut stream, -0.5));
        let people = one_hot_people(&model, n, seed);
        let rows = Rows::new(&people, 8).unwrap();
        for norm in ["l1", "l2", "linf"] {
            for max_changes in [Some(1), Some(2), None] {
                let mut setup = plain_setup(model.clone(), 0.25);
                setup.actions = actions(max_changes);
                setup.noise_on = NoiseOn::Mutable;
                setup.set_norm(norm).unwrap();
                let engine = Engine::new(setup).unwrap();
                for (person, answer) in rows.iter().zip(engine.recourse(rows).unwrap()) {
                    assert_kept(person, &answer.point, max_changes);
                    if !answer.nearest.is_empty() {
                        assert_kept(person, &answer.nearest, max_changes);
                    }
                    assert_eq!(
                        answer.reason.is_none(),
                        answer.status == Status::Certified,
                        "{answer:?}"
                    );
                    if answer.status == Status::Certified {
                        certified += 1;
                        regrouped += usize::from(answer.point[5..] != person[5..]);
                        audits.push((model.clone(), answer.point));
                    } else {
                        assert!(
                            answer.best_rate.is_some_and(|r| (0.0..=1.0).contains(&r)),
                            "{answer:?}"
                        );
                    }
                }
            }
        }
    }
    // Noise on the mutable numbers only.
    let sd = [0.0, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0];
    audits.par_iter().for_each(|(model, point)| {
        let (rate, error) = audit(&**model, point, &sd, SAMPLES, 6);
        assert!(rate <= 0.25 + 4.0 * error, "{rate}");
    });
    assert!(
        certified >= 60 && regrouped > 0,
        "{certified} of 81 certified, {regrouped} with another option"
    );
}

#[test]
fn noise_on_changed_features_is_noise_on_what_was_changed() {
    let mut stream = Seed(50).stream(Purpose::Data, 0);
    let model = Arc::new(network(&[6, 16, 1], Activation::Relu, &mut stream, -0.5));
    let people = people_denied_by(&model, 16, &mut stream);
    let mut setup = plain_setup(model.clone(), 0.2);
    setup.noise_on = NoiseOn::Changed;
    let engine = Engine::new(setup).unwrap();
    let rows = Rows::new(&people, 6).unwrap();
    let mut certified = 0;
    for (person, answer) in rows.iter().zip(engine.recourse(rows).unwrap()) {
        if answer.status == Status::Certified {
            let sd: Vec<f64> =
                (0..6).map(|j| if answer.point[j] == person[j] { 0.0 } else { 0.1 }).collect();
            let (rate, error) = audit(&*model, &answer.point, &sd, SAMPLES, 7);
            assert!(rate <= 0.2 + 4.0 * error, "{rate}: {answer:?}");
            // The reported rate comes from 128 lines of a scrambled sequence; plain ones would be
            // off by 0.4/√128 at most.
            assert!((rate - answer.rate).abs() <= 4.0 * (error + 0.4 / 128.0_f64.sqrt()));
            certified += 1;
        }
    }
    assert!(certified >= 14, "{certified} of 16 certified");
}
