//! `roar` and `arar`: where the worst case's loss and the cost balance, by hand.

use crate::support::{answer, assert_near, curved, linear, refusal, setup};
use probe_core::{Actions, Answer, FeatureLimits, Reason, Status};

/// The score at which the logistic loss of slope `gain` per unit of cost falls as fast as the cost
/// rises: gain · S(-s) = lambda.
fn balance(gain: f64, lambda: f64) -> f64 {
    (gain / lambda - 1.0).ln()
}

fn of_the_first(answer: &Answer, others: usize) -> f64 {
    assert_eq!(
        answer.point[1..],
        vec![0.0; others],
        "only the strongest feature moves: {answer:?}"
    );
    answer.point[0]
}

#[test]
fn arar_adds_the_dual_norm_of_the_weights() {
    // |w| = 5. The worst score is 4 x0 - 1 - 5 ε; where the first feature balances, the second one
    // gains 3 · S(-s) < λ.
    let model = linear(&[4.0, 3.0], -1.0);
    for (epsilon, lambda) in [(0.0, 1.0), (0.01, 1.0), (0.2, 1.0), (0.2, 0.5)] {
        let options = [
            format!("epsilon={epsilon}"),
            format!("lambda={lambda}"),
            "learning-rate=0.005".to_owned(),
            "steps=5000".to_owned(),
        ];
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let found = answer(setup(&model, "arar", &options), &[0.0; 2]);
        let expected = (balance(4.0, lambda) + 1.0 + 5.0 * epsilon) / 4.0;
        // Near its minimum the objective is flat: a change of 1e-6 is √(2e-6 / h) in the score,
        // with its curvature h = S(1 - S) ≥ 0.1.
        let allowed = (2e-6_f64 / 0.1).sqrt() / 4.0 + 5e-3;
        assert!((of_the_first(&found, 1) - expected).abs() < allowed, "{found:?} {expected}");
    }
}

#[test]
fn roar_gives_way_in_every_weight_and_the_intercept() {
    // The worst score is 4 x0 - 1 - ε (x0 + 1): the gain is 4 - ε.
    let model = linear(&[4.0, 2.0], -1.0);
    for epsilon in [0.0, 0.01, 0.5] {
        let option = format!("epsilon={epsilon}");
        let options = [&option, "lambda=1", "learning-rate=0.005"];
        let found = answer(setup(&model, "roar", &options), &[0.0; 2]);
        let expected = (balance(4.0 - epsilon, 1.0) + 1.0 + epsilon) / (4.0 - epsilon);
        assert!(
            (of_the_first(&found, 1) - expected).abs() < 7e-3,
            "{epsilon}: {found:?} {expected}"
        );
        // An l2 ball: 4 x0 - 1 - ε √(x0² + 1), where it balances.
        let found = answer(
            setup(&model, "roar", &[&option, "lambda=1", "learning-rate=0.005", "norm=l2"]),
            &[0.0; 2],
        );
        let x = of_the_first(&found, 1);
        let root = x.hypot(1.0);
        let score = balance(4.0 - epsilon * x / root, 1.0);
        assert!((4.0 * x - 1.0 - epsilon * root - score).abs() < 0.03, "{epsilon}: {found:?}");
    }
}

#[test]
fn plain_subgradients_move_what_need_not_move() {
    let model = linear(&[4.0, 1.0, 1.0, 1.0], -1.0);
    for method in ["roar", "arar"] {
        let [shortest, plain] = ["kink=shortest", "kink=plain"].map(|kink| {
            answer(setup(&model, method, &["lambda=1", "learning-rate=0.1", kink]), &[0.0; 4])
        });
        assert_eq!((shortest.changed, plain.changed), (1, 4), "{method}");
    }
}

#[test]
fn the_library_ends_where_its_steps_happen_to_be() {
    let model = linear(&[4.0, 1.0], -1.0);
    // Without a cost Adam moves both features alike, whatever their weights (but for the 1e-8 that
    // keeps it from dividing by zero), by about 0.1 at a time (a little more where slopes grow):
    // the worst case 5t - 1 - 0.01 √17 is positive from t = 0.208 on, which the third step is the
    // first to reach. The first point is taken, not the nearest.
    let safe = answer(setup(&model, "arar", &["version=library", "lambda=0"]), &[0.0; 2]);
    assert!((0.25..0.35).contains(&safe.point[0]), "{safe:?}");
    assert!((safe.point[0] - safe.point[1]).abs() < 1e-7);
    // The loss ln(1 + e^-s) falls by less than 0.001 in a step of at most 0.01 before 0.05 S(-s) =
    // 0.001, at s = 3.9; there is no other end to it.
    let small =
        answer(setup(&model, "roar", &["version=library", "lambda=0", "epsilon=0"]), &[0.0; 2]);
    assert!(
        (small.point[0] - small.point[1]).abs() < 1e-7 && (1.0..3.9).contains(&small.score_after),
        "{small:?}"
    );
    // The same problems carried through move one feature, and less.
    let nearest = answer(setup(&model, "arar", &[]), &[0.0; 2]);
    assert!(nearest.changed == 1 && nearest.cost < safe.cost, "{nearest:?}");
    assert!(refusal(setup(&model, "roar", &["version=1"])).contains("paper, library"));
}

#[test]
fn the_library_takes_a_probability_for_a_score() {
    // The surrogate of S(s), whose slopes are at most a quarter of the score's in a feature's
    // deviation, changes the loss by less than 0.001 in a step of 0.01: the search ends at once.
    // With slopes a hundred times as large it goes on.
    let [flat, steep] = [2.0, 200.0].map(|w| {
        let model = curved(&[w, -w], 0.0);
        answer(setup(&model, "roar", &["version=library", "lambda=0"]), &[0.4, 0.41])
    });
    assert_eq!((flat.status, flat.reason), (Status::Found, Some(Reason::RateIgnored)), "{flat:?}");
    assert!(flat.cost.unwrap() < 0.05, "{flat:?}");
    assert!(steep.cost.unwrap() > 0.05 && steep.changed == 2, "{steep:?}");
}

#[test]
fn lambda_falls_until_the_worst_case_is_favourable() {
    // At λ = 5 nothing moves: 4 · S(1) < 5. At λ = 1 it does.
    let model = linear(&[4.0, 1.0], -1.0);
    for method in ["roar", "arar"] {
        let stays = answer(setup(&model, method, &["lambda=5"]), &[0.0; 2]);
        assert_eq!(
            (stays.status, stays.reason),
            (Status::None, Some(Reason::NotFound)),
            "{method}"
        );
        let moves = answer(setup(&model, method, &["lambda=5,1"]), &[0.0; 2]);
        assert_eq!(moves.point, answer(setup(&model, method, &["lambda=1"]), &[0.0; 2]).point);
        assert!(moves.score_after > 0.9, "{moves:?}");
    }
}

#[test]
fn surrogates_of_an_affine_score_are_the_score_itself() {
    // A network that is affine where it matters: a rectifier that is always on.
    use probe_core::{Activation, Dense, Mlp, Model};
    let layers = vec![
        Dense { weight: vec![4.0, 2.0], bias: vec![100.0] },
        Dense { weight: vec![1.0], bias: vec![-101.0] },
    ];
    let network: std::sync::Arc<dyn Model> =
        std::sync::Arc::new(Mlp::new(layers, Activation::Relu, 0.0).unwrap());
    let truth = answer(setup(&linear(&[4.0, 2.0], -1.0), "roar", &[]), &[0.1, 0.2]);
    let gradient = answer(setup(&network, "roar", &["surrogate=gradient"]), &[0.1, 0.2]);
    assert_near(&gradient.point, &truth.point, 1e-9);
    // The ridge's penalty of 1 takes about one part in (the draws' total weight) off the slopes.
    let lime = answer(setup(&network, "roar", &["samples=20000"]), &[0.1, 0.2]);
    assert_near(&lime.point, &truth.point, 0.02);
}

#[test]
fn arar_meets_the_worst_error_of_a_curved_score() {
    // tanh(2 x0 - x1) - 0.5 falls to tanh(z - ε√5) - 0.5 at worst: beyond the boundary by at least
    // the adversary's reach.
    let epsilon = 0.1;
    let found = answer(
        setup(&curved(&[2.0, -1.0], 0.5), "arar", &["epsilon=0.1", "lambda=0.3,0.2,0.1,0"]),
        &[0.0; 2],
    );
    let z = 2.0 * found.point[0] - found.point[1];
    assert!(z > 0.5_f64.atanh() + epsilon * 5.0_f64.sqrt(), "{found:?}");
}

#[test]
fn bounds_and_immutables_are_kept() {
    for method in ["roar", "arar"] {
        let mut limited = setup(&linear(&[4.0, 2.0, 9.0], -1.0), method, &["lambda=0.5"]);
        let low = FeatureLimits { high: 0.2, ..FeatureLimits::default() };
        let mut actions =
            Actions::new(vec![low, FeatureLimits::default(), FeatureLimits::default()]);
        actions.fix(2);
        limited.actions = actions;
        let found = answer(limited.clone(), &[0.0; 3]);
        assert!(
            found.point[0] == 0.2 && found.point[1] > 0.5 && found.point[2] == 0.0,
            "{found:?}"
        );
        limited.actions = limited.actions.with_max_changes(Some(1));
        assert!(refusal(limited).contains("number of changes"));
        let model = linear(&[1.0], 0.0);
        assert!(refusal(setup(&model, method, &["epsilon=-1"])).contains("epsilon"));
        assert!(refusal(setup(&model, method, &["inner=1"])).contains("lambda"));
    }
}
