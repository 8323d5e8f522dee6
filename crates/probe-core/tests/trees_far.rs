//! Answers on trees that no step from the person leads to, and reasons that claim no more than is known.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use probe_core::math::normal::{upper_quantile, upper_tail};
use probe_core::model::{Tree, TreeRules, Trees};
use probe_core::noise::{Covariance, Gaussian};
use probe_core::{Answer, Engine, Reason, Setup, Status};
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
    setup.noise = Arc::new(Gaussian::new(vec![0.0; 3], Covariance::Diagonal(vec![0.1, 0.0, 0.0])).unwrap());
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
    assert_eq!(reason(vec![all_above(&[(0, 0.7)], -0.5)], &[0.5, 0.5]), Reason::InfeasibleWithinBounds);
    // Each tree could say yes, but not both at once: that is more than the bound on their sum knows.
    let mut below = all_above(&[(0, 0.4)], 0.8);
    below.value.swap(1, 2);
    let opposed = vec![all_above(&[(0, 0.6)], 0.8), below];
    assert_eq!(reason(opposed, &[0.5, 0.5]), Reason::NotFound);
}
