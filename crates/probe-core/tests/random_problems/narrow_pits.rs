//! Findings 14 and 15 of an audit: people who are rejected exactly where they are, and whom nearly
//! every error takes to where they are accepted, were told `none`.

use crate::chance::{Chance, Family, Law};
use crate::own_model::{Node, Own};
use crate::subject::{Column, Part, Problem};
use probe_core::model::Aggregate;
use probe_core::{NoiseOn, Status};

/// Somebody at `value` of the first of two numbers, whose scaled values between `left` and `right`
/// are rejected.
fn problem(value: f64, step: Option<f64>, (left, right): (f64, f64), seed: u64) -> Problem {
    let number = |scale: f64, step: Option<f64>| Column {
        part: Part::Number {
            scale: [0.0, scale],
            low: Some(0.0),
            high: Some(scale),
            step,
            way: 0.0,
        },
        mutable: true,
        cost: 1.0,
    };
    let pit = vec![
        Node::split(0, left, 1, 2),
        Node::leaf(1.0),
        Node::split(0, right, 3, 4),
        Node::leaf(-1.0),
        Node::leaf(1.0),
    ];
    let trees = Own::Trees { trees: vec![pit], aggregate: Aggregate::Sum, threshold: 0.0, n: 2 };
    Problem {
        columns: vec![number(6.0, step), number(1.0, None)],
        model: trees,
        person: vec![value, 0.5],
        law: Law::Family { family: Family::Gaussian, sd: 0.05, common: 0.5 },
        noise_on: NoiseOn::All,
        shift: None,
        norm: "l1",
        rate: 0.1,
        max_changes: None,
        seed,
    }
}

fn assert_answered(problem: &Problem, most: f64) {
    let answer = problem.ask();
    assert_eq!(answer.status, Status::Certified, "{answer:?}");
    let row = problem.row_of(&answer);
    assert!(problem.score(&row) > 0.0 && problem.cost(&row) <= most, "{answer:?}");
    let mut chance = Chance::new(14, problem.seed);
    assert!(problem.rate(&row, &problem.draws(4_000, &mut chance), 4_000) < 0.1);
}

/// The nearest accepted point, printed, was the person's own value again.
#[test]
fn finding_14_the_next_number_is_told() {
    let at = 1.0_f64 / 6.0;
    for seed in 0..4 {
        for width in [1e-6, 1e-8, 1e-10, 1e-16] {
            assert_answered(&problem(1.0, None, (at.next_down(), at + width), seed), 2e-6);
            assert_answered(&problem(1.0, None, (at - width, at), seed), 2e-6);
            assert_answered(&problem(1.0, None, (at - width, at + width), seed), 2e-6);
        }
    }
}

#[test]
fn finding_15_the_next_step_is_told() {
    let at = 1.0_f64 / 6.0;
    for seed in 0..4 {
        for width in [1e-2, 1e-6, 1e-8, 1e-10] {
            assert_answered(&problem(1.0, Some(1.0), (at - width, at + width), seed), 0.17);
        }
    }
}
