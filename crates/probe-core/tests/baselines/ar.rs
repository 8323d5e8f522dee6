//! `ar` and `ar-lime`: integer programs small enough to be solved by hand or by listing.

use crate::support::{answer, assert_near, curved, linear, refusal, setup};
use probe_core::{Actions, Answer, Group, Purpose, Reason, Room, Rows, Seed, Setup, Status};
use std::sync::Arc;

#[test]
fn the_cheapest_grid_points_by_hand() {
    // Steps of 0.25: 3 x0 + 2 x1 > 2.1 from 0. x0 = 0.75 gains 2.25 for 0.75; no cheaper pair does: 0.5 + 0.25 gains 2.
    let model = linear(&[3.0, 2.0], -2.1);
    let found = answer(setup(&model, "ar", &["step=0.25"]), &[0.0; 2]);
    assert_eq!((found.point.as_slice(), found.changed), ([0.75, 0.0].as_slice(), 1));
    assert!((found.score_after - 0.15).abs() < 1e-12 && found.rate < 0.5, "{found:?}");
    // From 0.1 the first grid point is 0.25; the person's own value need not be on the grid.
    let found = answer(setup(&model, "ar", &["step=0.25"]), &[0.1, 0.2]);
    assert_near(&found.point, &[0.75, 0.2], 1e-15);
    // The grid ends at 1: 3 + 2 > 4.9, and 5.1 is out of reach.
    assert_near(&answer(setup(&linear(&[3.0, 2.0], -4.9), "ar", &[]), &[0.0; 2]).point, &[1.0, 0.96], 1e-12);
    let none = answer(setup(&linear(&[3.0, 2.0], -5.1), "ar", &[]), &[0.0; 2]);
    assert_eq!((none.status, none.reason), (Status::None, Some(Reason::NotFound)));
}

#[test]
fn a_score_of_zero_on_the_grid_is_not_enough() {
    let found = answer(setup(&linear(&[2.0], -1.0), "ar", &["step=0.25"]), &[0.0]);
    assert_eq!(found.point, [0.75], "0.5 is on the boundary");
}

#[test]
fn ranges_come_from_the_reference_rows() {
    let mut with_rows = setup(&linear(&[1.0, 1.0], -3.0), "ar", &["step=0.5"]);
    with_rows.reference = Some(Arc::from([0.0, 0.0, 1.0, 4.0]));
    // Steps of 0.5 up to 1, and of 2 up to 4.
    assert_near(&answer(with_rows, &[0.0; 2]).point, &[0.0, 4.0], 1e-12);
}

#[test]
fn limits_groups_and_norms_are_part_of_the_program() {
    let model = linear(&[3.0, 2.0, 0.0, 2.5], -4.3);
    let actions = || {
        let rooms =
            vec![Room { high: 0.5, ..Room::default() }, Room::default(), Room::default(), Room::default()];
        Actions::new(rooms).with_groups(vec![Group::one_hot(vec![2, 3])]).unwrap()
    };
    let ask = |actions: Actions, norm: &str| {
        let mut asked = setup(&model, "ar", &["step=0.25"]);
        asked.set_norm(norm).unwrap();
        asked.actions = actions;
        answer(asked, &[0.0, 0.0, 1.0, 0.0])
    };
    // Without the group at most 1.5 + 2 is gained. The other option gains 2.5 for 2, the rest is cheapest by x0 = 0.5 and x1 = 0.25.
    assert_near(&ask(actions(), "l1").point, &[0.5, 0.25, 0.0, 1.0], 1e-12);
    // At most two changes: the option and x1 = 1.
    assert_near(&ask(actions().with_max_changes(Some(2)), "l1").point, &[0.0, 1.0, 0.0, 1.0], 1e-12);
    let none = ask(actions().with_max_changes(Some(1)), "l1");
    assert_eq!(none.status, Status::None);
    // An option that may not be taken: 3.5 is not enough.
    let mut stuck = actions();
    stuck.fix(2);
    assert_eq!(ask(stuck, "l1").status, Status::None);
    // The option's move of 1 is the largest: everything else up to 1 is free, and the cheapest of that breaks the tie.
    assert_near(&ask(actions(), "linf").point, &[0.5, 0.25, 0.0, 1.0], 1e-12);
    let mut euclid = setup(&model, "ar", &[]);
    euclid.set_norm("l2").unwrap();
    assert!(refusal(euclid).contains("l1 or linf"));
    assert!(refusal(setup(&curved(&[1.0], 0.5), "ar", &[])).contains("ar-lime"));
    assert!(refusal(setup(&model, "ar", &["step=0"])).contains("step"));
}

/// The cheapest favourable point of the grid, by trying all of them.
fn by_listing(weights: &[f64], bias: f64, person: &[f64], steps: usize) -> Option<f64> {
    let mut least: Option<f64> = None;
    for code in 0..(steps + 2).pow(weights.len() as u32) {
        let (mut score, mut cost, mut rest) = (bias, 0.0, code);
        for (w, x) in weights.iter().zip(person) {
            let k = rest % (steps + 2);
            rest /= steps + 2;
            // The last choice is to stay.
            let to = if k == steps + 1 { *x } else { k as f64 / steps as f64 };
            score += w * to;
            cost += (to - x).abs();
        }
        if score > 1e-8 {
            least = Some(least.map_or(cost, |known| known.min(cost)));
        }
    }
    least
}

#[test]
fn nothing_on_the_grid_is_cheaper() {
    let mut draw = Seed(3).stream(Purpose::Data, 1);
    let (mut answered, mut refused) = (0, 0);
    for _ in 0..100 {
        let weights: Vec<f64> = (0..4).map(|_| draw.normal()).collect();
        let person: Vec<f64> = (0..4).map(|_| draw.uniform()).collect();
        let bias = -2.0 * draw.uniform();
        let model = linear(&weights, bias);
        let found = answer(setup(&model, "ar", &["step=0.125"]), &person);
        match by_listing(&weights, bias, &person, 8) {
            _ if found.status == Status::Favourable => continue,
            Some(least) => {
                let cost = found.cost.unwrap();
                assert!((cost - least).abs() < 1e-9, "{cost} {least} {weights:?} {bias} {person:?}");
                answered += 1;
            }
            None => {
                assert_eq!(found.status, Status::None);
                refused += 1;
            }
        }
    }
    assert!(answered > 30 && refused > 30, "{answered} {refused}");
}

fn lime(model: &Arc<dyn probe_core::Model>, options: &[&str]) -> Setup {
    setup(model, "ar-lime", options)
}

#[test]
fn a_likeness_of_a_gently_curved_score_leads_across_its_boundary() {
    // tanh(2 x0 - x1) > 0.5 from 0: 2 x0 > 0.549, so 0.28. The likeness is the steeper tangent, stops at 0.26 and has no other set of features.
    let model = curved(&[2.0, -1.0], 0.5);
    let found = answer(lime(&model, &["samples=5000"]), &[0.0; 2]);
    assert_eq!((found.status, found.reason), (Status::None, Some(Reason::NotFound)));
    assert_near(&found.nearest, &[0.26, 0.0], 1e-12);
    // For a nearly straight one the first try is right.
    let model = curved(&[0.2, -0.1], 0.05);
    let found = answer(lime(&model, &["samples=5000", "tries=1"]), &[0.0, 0.5]);
    let on_grid = |x: f64| (100.0 * x - (100.0 * x).round()).abs() < 1e-9;
    assert!(found.score_after > 0.0 && found.point.iter().all(|x| on_grid(*x)), "{found:?}");
    // 0.2 x0 - 0.1 x1 > atanh(0.05) = 0.05004: 0.5004 / 2 + 0.25 to the next hundredth, one more for the likeness' error.
    assert!((found.point[0] - 0.51).abs() < 0.011 && found.point[1] == 0.5, "{found:?}");
}

#[test]
fn likenesses_are_the_same_for_any_order_and_threads() {
    let model = curved(&[0.2, -0.1], 0.05);
    let engine = probe_core::Engine::new(lime(&model, &[])).unwrap();
    let people = [0.0, 0.5, 0.1, 0.9];
    let both: Vec<Answer> = engine.recourse(Rows::new(&people, 2).unwrap()).unwrap();
    let turned = [0.1, 0.9, 0.0, 0.5];
    let back: Vec<Answer> = engine.recourse(Rows::new(&turned, 2).unwrap()).unwrap();
    assert_eq!(both, back.into_iter().rev().collect::<Vec<_>>());
    assert!(refusal(lime(&model, &["tries=0"])).contains("tries"));
}
