use crate::support::{answer, assert_near, curved, linear, refusal, setup};
use probe_core::{Actions, Answer, Engine, FeatureLimits, Reason, Status};
use std::sync::Arc;

/// All of a person's answers.
fn answers(setup: probe_core::Setup, person: &[f64]) -> Vec<Answer> {
    let engine = Engine::new(setup).unwrap();
    let mut session = engine.session();
    (0..session.n_options())
        .map(|option| {
            let mut answer = Answer::new(person.len());
            session.recourse_option(person, option, &mut answer).unwrap();
            answer
        })
        .collect()
}

#[test]
fn one_point_goes_to_the_end_of_the_hinge() {
    // Per unit of x0 the hinge falls by 4 and the distance, of ranges [0, 1], rises by 0.5 · 4 /
    // 2 = 1: x0 moves until 4 x0 - 1 = 1. Nothing pulls at x1 any more than that, since 0.9 < 1.
    let model = linear(&[4.0, 0.9], -1.0);
    let found = answer(
        setup(&model, "dice", &["sparsity=0", "learning-rate=0.001", "steps=2000"]),
        &[0.0; 2],
    );
    assert_near(&found.point, &[0.5, 0.0], 2e-3);
    assert_eq!(found.point[1], 0.0);
    // With everything up to half of the range small, the move is taken back as far as the decision
    // holds.
    let sparse = answer(setup(&model, "dice", &["sparsity=1"]), &[0.0; 2]);
    assert_near(&sparse.point, &[0.25, 0.0], 1e-5);
    assert_eq!((sparse.status, sparse.reason), (Status::Found, Some(Reason::RateIgnored)));
}

#[test]
fn distances_are_in_units_of_the_median_deviation() {
    // x0: values 0, 1, 2, 10, 11 have median 2 and absolute deviations 0, 1, 2, 8, 9, so 2; x1:
    // 0.25.
    let mut asked = setup(
        &linear(&[1.0, 1.0], -2.0),
        "dice",
        &["sparsity=0", "proximity=0.6", "learning-rate=0.005"],
    );
    let rows = [0.0, 0.0, 1.0, 0.25, 2.0, 0.5, 10.0, 0.75, 11.0, 1.0];
    asked.reference = Some(Arc::from(rows));
    // Moving x0 costs 0.6 / (2 · 2) per unit, moving x1 0.6 / (2 · 0.25) = 1.2, which is more than
    // the hinge falls.
    let found = answer(asked, &[0.0; 2]);
    assert_near(&found.point, &[3.0, 0.0], 0.01);
    assert_eq!(found.point[1], 0.0);
}

#[test]
fn where_most_people_are_alike_the_range_is_the_unit() {
    // x0: most people have 0, and the median deviation is 0. In units of the range a move costs 0.6
    // / 2, in x1 it costs 0.6 / (2 · 0.25).
    let mut asked = setup(
        &linear(&[1.0, 1.0], 0.5),
        "dice",
        &["sparsity=0", "proximity=0.6", "learning-rate=0.005"],
    );
    asked.reference = Some(Arc::from([0.0, 0.0, 0.0, 0.25, 0.0, 0.5, 0.0, 0.75, 1.0, 1.0]));
    let found = answer(asked, &[-0.5, 0.0]);
    // From a score of 0 to the hinge's end at 1, as far as the range goes.
    assert!(found.point[0] > 0.4 && found.point[1] == 0.0, "{found:?}");
}

#[test]
fn a_weight_that_holds_everybody_back_is_lowered() {
    // Per unit of x0 the hinge falls by 4 and the distance rises by 200, 50, 12.5 and then 3.1.
    let found = answer(setup(&linear(&[4.0, 1.0], -1.0), "dice", &["proximity=100"]), &[0.0; 2]);
    assert!(found.score_after > 0.0 && found.cost.unwrap() < 0.6, "{found:?}");
}

#[test]
fn several_points_are_favourable_different_and_in_order() {
    let model = curved(&[2.0, 2.0, -1.0], 0.5);
    let found = answers(setup(&model, "dice", &["count=4"]), &[0.0; 3]);
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|a| a.score_after > 0.0), "{found:?}");
    assert!(found.windows(2).all(|pair| pair[0].cost <= pair[1].cost), "cheapest first");
    for (i, a) in found.iter().enumerate() {
        for b in &found[i + 1..] {
            let apart: f64 = a.point.iter().zip(&b.point).map(|(x, y)| (x - y).abs()).sum();
            assert!(apart > 0.2, "{:?} {:?}", a.point, b.point);
        }
    }
    // Diversity is what keeps them apart.
    let alike = answers(setup(&model, "dice", &["count=4", "diversity=0"]), &[0.0; 3]);
    let spread = |found: &[Answer]| {
        let pairs = found.iter().flat_map(|a| found.iter().map(move |b| (a, b)));
        pairs
            .map(|(a, b)| a.point.iter().zip(&b.point).map(|(x, y)| (x - y).abs()).sum::<f64>())
            .sum::<f64>()
    };
    assert!(spread(&found) > 1.5 * spread(&alike), "{} {}", spread(&found), spread(&alike));
    // The library's answer is the first one.
    assert_eq!(answer(setup(&model, "dice", &["count=4"]), &[0.0; 3]), found[0]);
}

#[test]
fn limits_are_kept_and_wrong_settings_refused() {
    let model = linear(&[4.0, 3.0, 9.0], -1.0);
    let mut limited = setup(&model, "dice", &["count=3", "sparsity=0"]);
    let low = FeatureLimits { high: 0.1, ..FeatureLimits::default() };
    let mut actions = Actions::new(vec![low, FeatureLimits::default(), FeatureLimits::default()]);
    actions.fix(2);
    limited.actions = actions;
    for found in answers(limited.clone(), &[0.0; 3]) {
        assert!(
            found.score_after > 0.0 && found.point[0] <= 0.1 && found.point[2] == 0.0,
            "{found:?}"
        );
    }
    limited.actions = limited.actions.with_max_changes(Some(1));
    assert!(refusal(limited).contains("number of changes"));
    for wrong in ["count=0", "count=101", "sparsity=2", "proximity=-1", "k=2"] {
        assert!(!refusal(setup(&model, "dice", &[wrong])).is_empty(), "{wrong}");
    }
}
