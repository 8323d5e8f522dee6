use crate::support::{answer, assert_near, linear, refusal, setup};
use probe_core::{Actions, Direction, FeatureLimits, Reason, Seed, Status};

#[test]
fn the_nearest_point_of_a_half_plane() {
    // The boundary is 1 away along (0.6, 0.8), so that the layer from 1 to 1.05 is the first with
    // favourable points, at most √(1.05² - 1) sideways. The part of it beyond the boundary and
    // nearer than 1.01 has an area of 4/3 √2 · 0.01^1.5 = 0.0019 of its 0.32: among 10,000 draws 58
    // are expected there, and none with probability 1e-25.
    let model = linear(&[0.6, 0.8], -1.0);
    for seed in 0..5 {
        let mut asked =
            setup(&model, "growing-spheres", &["samples=10000", "radius=0.05", "sparsify=no"]);
        asked.seed = Seed(seed);
        let found = answer(asked, &[0.0, 0.0]);
        assert_eq!((found.status, found.reason), (Status::Found, Some(Reason::RateIgnored)));
        let length = found.point[0].hypot(found.point[1]);
        let sideways = 0.8 * found.point[0] - 0.6 * found.point[1];
        assert!((1.0..1.01).contains(&length) && sideways.abs() < 0.33, "{found:?}");
    }
}

#[test]
fn features_that_do_not_matter_are_put_back() {
    let model = linear(&[1.0, 0.0, 0.0, 0.0], -0.5);
    let dense = answer(setup(&model, "growing-spheres", &["sparsify=no"]), &[0.0; 4]);
    assert_eq!(dense.changed, 4);
    let sparse = answer(setup(&model, "growing-spheres", &[]), &[0.0; 4]);
    assert_eq!(
        (sparse.changed, sparse.point[0]),
        (1, dense.point[0]),
        "the same draw, without the rest"
    );
    assert_eq!(sparse.point[1..], [0.0; 3]);
}

#[test]
fn a_boundary_nearer_than_the_first_radius_is_found_by_shrinking() {
    let found =
        answer(setup(&linear(&[1.0, 1.0], -1e-4), "growing-spheres", &["radius=1"]), &[0.0; 2]);
    assert!(found.score_after > 0.0 && found.cost.unwrap() < 4e-4, "{found:?}");
}

#[test]
fn draws_keep_bounds_directions_and_immutables() {
    let mut limited = setup(&linear(&[1.0, 1.0, 1.0], -1.0), "growing-spheres", &["sparsify=no"]);
    let down = FeatureLimits { direction: Direction::Decrease, ..FeatureLimits::default() };
    let low = FeatureLimits { high: 0.4, ..FeatureLimits::default() };
    let mut actions = Actions::new(vec![FeatureLimits::default(), low, down]);
    limited.actions = actions.clone();
    let found = answer(limited.clone(), &[0.0; 3]);
    assert!(
        found.status == Status::Found && found.point[1] <= 0.4 && found.point[2] <= 0.0,
        "{found:?}"
    );
    // Nothing is favourable inside the box: the spheres end with it, and for a linear score that is
    // a proof.
    actions.fix(0);
    limited.actions = actions;
    let none = answer(limited, &[0.0; 3]);
    assert_eq!((none.status, none.reason), (Status::None, Some(Reason::InfeasibleWithinBounds)));
    assert_near(&none.point, &[0.0; 3], 0.0);
}

#[test]
fn the_library_tosses_coins_for_what_is_zero_or_one() {
    let model = linear(&[1.0, 1.0], -0.5);
    let asked = |options: &[&str]| {
        let mut asked = setup(&model, "growing-spheres", options);
        asked.reference = Some(std::sync::Arc::from([0.0, 0.3, 1.0, 0.6, 1.0, 0.1]));
        asked
    };
    // Heads is enough: half of the first layer's 1,000 draws are favourable, and the nearest of
    // them has hardly moved in the other feature (more than 0.01 of an even 0.2 with probability
    // 0.95^450 = 1e-10).
    let tossed = answer(asked(&["version=library"]), &[0.0; 2]);
    assert!(tossed.point[0] == 1.0 && tossed.point[1].abs() < 0.01, "{tossed:?}");
    // As in the paper, every feature moves freely, at most to the end of the first layer that
    // reaches the boundary at 0.354.
    let free = answer(asked(&[]), &[0.0; 2]);
    assert!(free.cost.unwrap() < 0.65, "{free:?}");
    // Without rows nothing is known to be 0 or 1; the second layer, from 0.2 to 0.4, is the first
    // that reaches the boundary.
    let plain = answer(setup(&model, "growing-spheres", &["version=library"]), &[0.0; 2]);
    let length = plain.point[0].hypot(plain.point[1]);
    assert!((0.353..0.4).contains(&length) && plain.changed == 2, "{plain:?}");
}

#[test]
fn what_cannot_be_served_is_refused() {
    let model = linear(&[1.0], -1.0);
    assert!(refusal(setup(&model, "growing-spheres", &["radius=0"])).contains("radius"));
    assert!(refusal(setup(&model, "growing-spheres", &["sparsify=2"])).contains("yes, no"));
    assert!(refusal(setup(&model, "growing-spheres", &["version=3"])).contains("paper, library"));
    let mut limited = setup(&model, "growing-spheres", &[]);
    limited.actions = limited.actions.with_max_changes(Some(1));
    assert!(refusal(limited).contains("number of changes"));
}

#[test]
fn models_without_a_gradient_are_served_or_refused_by_name() {
    use probe_core::model::{Aggregate, Split, Tree, TreeRules};
    use probe_core::{Model, Trees};
    use std::sync::Arc;
    // Yes where x0 is above 0.5.
    let tree = Tree {
        feature: vec![0, 0, 0],
        threshold: vec![0.5, 0.0, 0.0],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, -1.0, 1.0],
        default_left: Vec::new(),
    };
    let rules =
        TreeRules { split: Split::AtMost, aggregate: Aggregate::Sum, base: 0.0, single: false };
    let model: Arc<dyn Model> = Arc::new(Trees::new(2, vec![tree], rules, 0.0).unwrap());
    let found = answer(setup(&model, "growing-spheres", &[]), &[0.45, 0.3]);
    assert!(found.point[0] > 0.5 && found.point[0] < 0.6 && found.point[1] == 0.3, "{found:?}");
    // A surrogate that covers the step leads over it, but farther than necessary.
    let found = answer(setup(&model, "ar-lime", &["spread=0.5"]), &[0.45, 0.3]);
    assert!(found.status == Status::Found || found.status == Status::Certified, "{found:?}");
    for method in ["wachter", "arar", "dice"] {
        assert!(refusal(setup(&model, method, &[])).contains("no gradient"), "{method}");
    }
}
