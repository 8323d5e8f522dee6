use crate::support::{answer, assert_near, curved, linear, refusal, setup};
use probe_core::{Actions, Direction, FeatureLimits, Reason, Status};

#[test]
fn the_closed_form_is_the_projection_of_proposition_1() {
    // w = (3, 4), s(x) = -5: the nearest boundary point is x + 5 w / 25; under l1 all of it goes to
    // the larger weight.
    let model = linear(&[3.0, 4.0], -5.0);
    let mut euclid = setup(&model, "wachter", &[]);
    euclid.set_norm("l2").unwrap();
    let found = answer(euclid, &[0.0, 0.0]);
    assert_near(&found.point, &[0.6, 0.8], 1e-8);
    assert_eq!((found.status, found.reason), (Status::Found, Some(Reason::RateIgnored)));
    assert!((found.rate - 0.5).abs() < 1e-7 && found.score_after > 0.0, "{found:?}");
    assert_near(&answer(setup(&model, "wachter", &[]), &[0.0, 0.0]).point, &[0.0, 1.25], 1e-8);
    // A target score of 0.5 is one standard deviation of the noise: 0.1 · |w| = 0.5.
    let aimed = answer(setup(&model, "wachter", &["target-score=0.5"]), &[0.0, 0.0]);
    assert!((aimed.rate - 0.158_655_254).abs() < 1e-7, "{aimed:?}");
    assert_eq!(
        answer(setup(&model, "wachter", &["target-score=1"]), &[0.0; 2]).status,
        Status::Certified
    );
}

#[test]
fn caps_and_directions_move_the_rest_to_the_next_feature() {
    let mut limited = setup(&linear(&[3.0, 4.0, 9.0], -5.0), "wachter", &[]);
    let up_to_one = FeatureLimits { high: 1.0, ..FeatureLimits::default() };
    let down = FeatureLimits { direction: Direction::Decrease, ..FeatureLimits::default() };
    limited.actions = Actions::new(vec![FeatureLimits::default(), up_to_one, down]);
    // 4 of the 5 come from the second feature, the last one from the first.
    assert_near(&answer(limited.clone(), &[0.0; 3]).point, &[1.0 / 3.0, 1.0, 0.0], 1e-8);
    limited.actions = Actions::new(vec![
        FeatureLimits { high: 0.2, ..FeatureLimits::default() },
        up_to_one,
        down,
    ]);
    let none = answer(limited, &[0.0; 3]);
    assert_eq!((none.status, none.reason), (Status::None, Some(Reason::InfeasibleWithinBounds)));
    assert_near(&none.nearest, &[0.2, 1.0, 0.0], 0.0);
}

#[test]
fn descent_ends_where_the_closed_form_does() {
    // λ is searched to 2 %, and with it the score at which loss and cost balance. The squared error
    // of the probability hardly pulls far away and pulls at both features nearer by: equal steps in
    // both cost 2 · 5/7.
    for (loss, most) in [("bce", 1.26), ("score-mse", 1.26), ("mse", 10.0 / 7.0)] {
        let option = format!("loss={loss}");
        let options = ["solver=gradient", &option];
        let found = answer(setup(&linear(&[3.0, 4.0], -5.0), "wachter", &options), &[0.0; 2]);
        let cost = found.cost.unwrap();
        assert!((1.25..most).contains(&cost), "{loss}: {found:?}");
        assert!(found.score_after > 0.0 && found.score_after < 1e-6, "{loss}: {found:?}");
    }
    // tanh(2 x0 - x1) > 0.5 from 0: x0 = atanh(0.5) / 2.
    let found = answer(setup(&curved(&[2.0, -1.0], 0.5), "wachter", &[]), &[0.0; 2]);
    assert_near(&found.point, &[0.274_653_07, 0.0], 2e-3);
}

#[test]
fn descent_keeps_what_may_not_change() {
    let mut limited = setup(&curved(&[2.0, -1.0, 5.0], 0.5), "wachter", &[]);
    let mut actions = Actions::new(vec![
        FeatureLimits { high: 0.2, ..FeatureLimits::default() },
        FeatureLimits::default(),
        FeatureLimits::default(),
    ]);
    actions.fix(2);
    limited.actions = actions;
    // 0.4 of atanh(0.5) from the first feature, the rest from the second.
    let found = answer(limited.clone(), &[0.0; 3]);
    assert_near(&found.point, &[0.2, -0.149_306_14, 0.0], 5e-3);
    limited.actions.fix(0);
    limited.actions.fix(1);
    let stuck = answer(limited, &[0.0; 3]);
    assert_eq!((stuck.status, stuck.reason), (Status::None, Some(Reason::NoAdmissibleMove)));
}

#[test]
fn what_cannot_be_served_is_refused() {
    let (flat, bent) = (linear(&[1.0], -1.0), curved(&[1.0], 0.5));
    assert!(
        refusal(setup(&bent, "wachter", &["solver=closed-form"])).contains("solver=closed-form")
    );
    assert!(refusal(setup(&flat, "wachter", &["target-score=-1"])).contains("-1"));
    assert!(refusal(setup(&flat, "wachter", &["epsilon=1"])).contains("lambda"));
    let mut limited = setup(&flat, "wachter", &[]);
    limited.actions = limited.actions.with_max_changes(Some(1));
    assert!(refusal(limited).contains("number of changes"));
    let mut budget = setup(&flat, "wachter", &[]);
    budget.budget = Some(1.0);
    assert!(refusal(budget).contains("a budget with method wachter"));
}
