//! Answers on trees that no step from the person leads to, and reasons that claim no more than is
//! known.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use probe_core::math::normal::{upper_quantile, upper_tail};
use probe_core::model::{Tree, TreeRules, Trees};
use probe_core::noise::{Covariance, Gaussian};
use probe_core::schema::Kind;
use probe_core::{Answer, Engine, Feature, Reason, Schema, Setup, Status};
use std::sync::Arc;

/// A tree that says `yes` where every feature is above its cut, and −1 elsewhere.
fn all_above(cuts: &[(usize, f64)], yes: f64) -> Tree {
    let mut tree = Tree::default();
    for (feature, cut) in cuts {
        let (split, no) = (tree.push_leaf(0.0), tree.push_leaf(-1.0));
        (tree.feature[split], tree.threshold[split]) = (*feature, *cut);
        (tree.left[split], tree.right[split]) = (no as i64, no as i64 + 1);
    }
    tree.push_leaf(yes);
    tree
}

fn setup(d: usize, trees: Vec<Tree>, sigma: f64, r: f64) -> Setup {
    let model = Arc::new(Trees::new(d, trees, TreeRules::default(), 0.0).unwrap());
    let names = (0..d).map(|j| format!("x{j}")).collect();
    let mut setup = Setup::new(model, names, None, sigma).unwrap();
    setup.max_rate = r;
    setup.actions.intersect(0.0, 1.0).unwrap();
    setup
}

fn answer(setup: Setup, person: &[f64]) -> Answer {
    let mut answer = Answer::new(person.len());
    Engine::new(setup).unwrap().session().recourse(person, &mut answer).unwrap();
    answer
}

#[test]
fn two_features_that_only_help_together_are_found_from_afar() {
    // At the cheapest point each fails with p, 1 − (1 − p)² = 0.1.
    let p = 1.0 - 0.9f64.sqrt();
    let least = 2.0 * (0.7 + 0.01 * upper_quantile(p));
    for copies in [1, 5] {
        let trees = vec![all_above(&[(0, 0.8), (1, 0.8)], 1.0); copies];
        let found = answer(setup(2, trees, 0.01, 0.1), &[0.1, 0.1]);
        assert_eq!(found.status, Status::Certified, "{found:?}");
        let rate = 1.0 - found.point.iter().map(|x| upper_tail((0.8 - x) / 0.01)).product::<f64>();
        assert!(rate <= 0.1, "{rate}");
        assert!(found.cost.unwrap() < 1.005 * least, "{found:?} {least}");
    }
}

#[test]
fn a_feature_without_noise_crosses_its_cut_and_no_more() {
    let trees = vec![all_above(&[(0, 0.6), (1, 0.9), (2, 0.7)], 1.0); 3];
    let mut setup = setup(3, trees, 0.1, 0.1);
    setup.noise =
        Arc::new(Gaussian::new(vec![0.0; 3], Covariance::Diagonal(vec![0.1, 0.0, 0.0])).unwrap());
    let found = answer(setup, &[0.1, 0.1, 0.1]);
    assert_eq!(found.status, Status::Certified, "{found:?}");
    let least = 0.5 + 0.8 + 0.6 + 0.1 * upper_quantile(0.1);
    assert!(found.cost.unwrap() < 1.005 * least, "{found:?} {least}");
}

#[test]
fn small_leaves_are_as_good_as_large_ones() {
    let trees = |unit: f64| -> Vec<Tree> {
        let of = |j: usize| all_above(&[(j % 4, 0.2 + 0.05 * j as f64), ((j + 1) % 4, 0.5)], 0.7);
        let mut trees: Vec<Tree> = (0..12).map(of).collect();
        trees.iter_mut().flat_map(|tree| &mut tree.value).for_each(|value| *value *= unit);
        trees
    };
    let person = [0.2, 0.3, 0.1, 0.4];
    let large = answer(setup(4, trees(1.0), 0.1, 0.1), &person);
    let small = answer(setup(4, trees(2f64.powi(-60)), 0.1, 0.1), &person);
    assert_eq!(large.status, Status::Certified, "{large:?}");
    assert_eq!((small.status, &small.point, small.rate), (large.status, &large.point, large.rate));
}

#[test]
fn reasons_claim_what_is_known() {
    let reason = |trees: Vec<Tree>, person: &[f64]| {
        let found = answer(setup(2, trees, 0.1, 0.1), person);
        assert_eq!(found.status, Status::None, "{found:?}");
        found.reason.unwrap()
    };
    // Beyond the bounds, so that nothing matters; better, but never good enough.
    assert_eq!(reason(vec![all_above(&[(0, 1.5)], 1.0)], &[0.5, 0.5]), Reason::NoAdmissibleMove);
    assert_eq!(
        reason(vec![all_above(&[(0, 0.7)], -0.5)], &[0.5, 0.5]),
        Reason::InfeasibleWithinBounds
    );
    // Each tree could say yes, but not both at once: that is more than the bound on their sum
    // knows. The rate of 1 - 2e-9, as far as boxes tell, is 7.16 deviations from 0.1, and the
    // farthest corner √50.
    let mut below = all_above(&[(0, 0.4)], 0.8);
    below.value.swap(1, 2);
    let opposed = vec![all_above(&[(0, 0.6)], 0.8), below];
    assert_eq!(reason(opposed.clone(), &[0.5, 0.5]), Reason::RateNotReachable);
    // From here the farthest corner is √53 away. Boxes of the space tell.
    assert_eq!(reason(opposed, &[0.5, 0.3]), Reason::RateNotReachable);
}

/// A tree of one feature that says 1 between some of its cuts and −1 elsewhere.
fn accepting(cuts: &[f64], says: &[f64]) -> Tree {
    let mut tree = Tree::default();
    for (cut, value) in cuts.iter().zip(says) {
        let (split, leaf) = (tree.push_leaf(0.0), tree.push_leaf(*value));
        tree.threshold[split] = *cut;
        (tree.left[split], tree.right[split]) = (leaf as i64, leaf as i64 + 1);
    }
    tree.push_leaf(says[cuts.len()]);
    tree
}

#[test]
fn the_nearer_of_two_places_is_found_wherever_the_person_is() {
    // Yes up to 0.08, and between 0.28 and 0.475: wide enough for the lower end not to matter at
    // the nearest point.
    let tree = accepting(&[0.08, 0.28, 0.475], &[1.0, -1.0, 1.0, -1.0]);
    let least = 0.475 - 0.02 * upper_quantile(0.05);
    for copies in [1, 5] {
        for person in [1.1, 1.0, 0.7, 0.6, 0.5] {
            let mut setup = setup(1, vec![tree.clone(); copies], 0.02, 0.05);
            setup.actions =
                Setup::new(setup.model.clone(), vec!["n".to_owned()], None, 0.02).unwrap().actions;
            let found = answer(setup, &[person]);
            assert_eq!(found.status, Status::Certified, "{person}: {found:?}");
            assert!(found.point[0] > 0.28, "{person}: {found:?}");
            let cost = found.cost.unwrap();
            assert!(
                cost < 1.02 * (person - least) + 1e-3,
                "{person}: {found:?}, least {}",
                person - least
            );
        }
    }
}

#[test]
fn a_place_that_is_accepted_but_too_narrow_is_told() {
    // Half a deviation on either side of 0.3 is accepted.
    let tree = accepting(&[0.25, 0.35], &[-1.0, 1.0, -1.0]);
    let best = 2.0 * upper_tail(0.5);
    for (whole, person) in
        [(false, 0.8), (false, 0.5), (false, 0.4), (true, 8.0), (true, 5.0), (true, 4.0)]
    {
        let model = Arc::new(Trees::new(1, vec![tree.clone()], TreeRules::default(), 0.0).unwrap());
        let mut feature = Feature::numeric("n");
        (feature.min, feature.max) = (Some(0.0), Some(1.0));
        if whole {
            feature.kind = Kind::Integer;
            (feature.scale, feature.max) = (Some([0.0, 10.0]), Some(10.0));
        }
        let schema = Schema::new(vec![feature]);
        let mut setup = Setup::new(model, vec!["n".to_owned()], Some(&schema), 0.1).unwrap();
        setup.max_rate = 0.1;
        let found = answer(setup, &[person]);
        assert_eq!(found.status, Status::Found, "{person}: {found:?}");
        let told = found.best_rate.unwrap();
        assert!(told >= best - 1e-9 && told < best + 0.02, "{person}: {found:?}, {best}");
    }
}

#[test]
fn an_exact_rate_is_its_own_bound_before_any_change() {
    let tree = accepting(&[0.5], &[-1.0, 1.0]);
    let found = answer(setup(1, vec![tree], 0.1, 0.1), &[0.55]);
    assert_eq!(found.status, Status::Favourable);
    assert_eq!(found.rate_upper.to_bits(), found.rate.to_bits(), "{found:?}");
}
