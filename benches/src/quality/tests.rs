//! The reference against answers that are known in closed form.

use super::draws::{Draws, Judge, SCREEN};
use super::local::Search;
use super::problem::Problem;
use super::small::Small;
use super::starts::Landed;
use super::store::{Known, Store};
use probe_core::math::normal::upper_quantile;
use probe_core::model::{Tree, TreeRules};
use probe_core::{Activation, Dense, Linear, Mlp, Model, Purpose, Seed, Setup, Trees};
use std::sync::Arc;

const SIGMA: f64 = 0.1;

/// Favourable where number `feature` is above `cut`.
fn stump(feature: usize, cut: f64, values: [f64; 2]) -> Tree {
    Tree {
        feature: vec![feature, 0, 0],
        threshold: vec![cut, 0.0, 0.0],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, values[0], values[1]],
        default_left: vec![],
    }
}

fn trees(stumps: Vec<Tree>, base: f64) -> Arc<dyn Model> {
    Arc::new(Trees::new(2, stumps, TreeRules { base, ..TreeRules::default() }, 0.0).unwrap())
}

#[test]
fn brute_force_knows_a_stump() {
    let model = trees(vec![stump(0, 0.5, [-1.0, 1.0])], 0.0);
    let problem = Problem::free(model, SIGMA, Some((0.0, 1.0)));
    let small = Small::new(&problem).unwrap();
    for r in [0.05, 0.1, 0.35] {
        let points = small.cheapest(&[0.2, 0.7], r, f64::INFINITY).unwrap();
        let least = 0.3 + SIGMA * upper_quantile(r);
        let cost = problem.cost(&[0.2, 0.7], &points[0]);
        // The last window's spacing is 0.45^6 of that of the first grid, 1/80.
        assert!(cost >= least && cost < least + 5e-4, "{cost} {least}");
    }
}

#[test]
fn brute_force_changes_two_numbers_where_one_is_not_enough() {
    // Both must be above their cuts, each with error; one more way is far off.
    let model = trees(vec![stump(0, 0.5, [0.0, 1.0]), stump(1, 0.6, [0.0, 1.0])], -1.5);
    let problem = Problem::free(model, SIGMA, Some((0.0, 1.0)));
    let person = [0.45, 0.55];
    let point = &Small::new(&problem).unwrap().cheapest(&person, 0.1, f64::INFINITY).unwrap()[0];
    // By symmetry both end z·sigma above their cuts, with (1 − tail(z))² = 0.9.
    let z = upper_quantile(1.0 - 0.9f64.sqrt());
    let least = 0.1 + 2.0 * SIGMA * z;
    let cost = problem.cost(&person, point);
    assert!((cost - least).abs() < 1e-3, "{cost} {least}");
}

#[test]
fn the_local_search_knows_a_linear_model() {
    let (weights, bias) = (vec![1.0, -2.0, 0.5], -0.3);
    let model: Arc<dyn Model> = Arc::new(Linear::new(weights.clone(), bias, 0.0).unwrap());
    let problem = Problem::free(model, SIGMA, None);
    let person = [0.1, 0.2, 0.3];
    let draws = Draws::shared(&problem);
    let mut stream = Seed(1).stream(Purpose::Data, 1);
    let norm = weights.iter().map(|w| w * w).sum::<f64>().sqrt();
    let score: f64 = bias + weights.iter().zip(&person).map(|(w, x)| w * x).sum::<f64>();
    for r in [0.05, 0.35] {
        let judge = Judge::new(&problem, &draws);
        let mut search = Search { judge, person: &person, r, most_rows: 1_000_000 };
        let found = search.explore(&[], &mut stream).unwrap().unwrap();
        // All of the change goes into the number with the largest weight.
        let least = (SIGMA * norm * upper_quantile(r) - score) / 2.0;
        assert!((found.cost / least - 1.0).abs() < 0.01, "{} {least}", found.cost);
        assert!(found.rate <= r);
    }
}

#[test]
fn fast_scores_are_the_models() {
    let dense = |n_in: usize, n_out: usize, salt: f64| Dense {
        weight: (0..n_in * n_out).map(|i| (i as f64 * 1.7 + salt).sin()).collect(),
        bias: (0..n_out).map(|i| (i as f64 + salt).cos()).collect(),
    };
    let mut models: Vec<Arc<dyn Model>> = vec![trees(
        vec![stump(0, 0.5, [-0.4, 0.7]), stump(1, 0.6, [-0.5, 1.0]), stump(0, 9.0, [0.1, 0.0])],
        -0.25,
    )];
    for activation in [Activation::Relu, Activation::Tanh, Activation::Sigmoid, Activation::Gelu] {
        let layers = vec![dense(2, 5, 0.1), dense(5, 9, 0.2), dense(9, 1, 0.3)];
        models.push(Arc::new(Mlp::new(layers, activation, 0.2).unwrap()));
    }
    for model in models {
        let problem = Problem::free(model, SIGMA, None);
        let draws = Draws::shared(&problem);
        let mut judge = Judge::new(&problem, &draws);
        let point = [0.45, 0.62];
        for from in [0, SCREEN] {
            let (fast, own) = judge.both_ways(&point, from).unwrap();
            for (fast, own) in fast.iter().zip(&own) {
                // Single precision, and 1e-6 of the curves, through layers of weights below 10.
                assert!((fast - own).abs() < 1e-4, "{} {fast} {own}", problem.model.name());
            }
        }
    }
}

#[test]
fn rules_are_read_from_the_schema() {
    let data = probe_train::credit::schema();
    let names = data.column_names();
    let model: Arc<dyn Model> = Arc::new(Linear::new(vec![1.0; names.len()], 0.0, 0.0).unwrap());
    let setup = Setup::new(Arc::clone(&model), names.clone(), Some(&data), 0.05).unwrap();
    let problem = Problem::of_schema(model, &data, &names, (0.05, &setup.cost)).unwrap();
    let people = probe_train::credit::generate(60, Seed(3));
    let mut rows = vec![vec![0.0; names.len()]; 60];
    for (i, row) in rows.iter_mut().enumerate() {
        setup.encoding.encode_into(people.person(i), row);
    }
    let mut kept = 0;
    for (from, to) in rows.iter().zip(rows.iter().skip(1)) {
        // The engine's rules are in scaled space; these are not.
        let scaled = |row: &[f64]| {
            let mut out = vec![0.0; row.len()];
            setup.space.scale_into(row, &mut out);
            out
        };
        let theirs = setup.actions.violations(&scaled(from), &scaled(to)).is_empty();
        assert_eq!(problem.broken(from, to).is_none(), theirs);
        assert_eq!(problem.broken(from, from), None);
        let cost = setup.cost.between(&scaled(from), &scaled(to));
        assert!((problem.cost(from, to) - cost).abs() < 1e-9 * cost.max(1.0));
        kept += usize::from(theirs);
    }
    assert!(kept < 59, "some moves break rules");
}

#[test]
fn the_store_only_improves() {
    let folder = tempfile::tempdir().unwrap();
    let landed = |cost: f64| Landed { point: vec![cost], cost, rate: 0.1 };
    let mut known = Known::default();
    known.offer(&landed(2.0), "one");
    known.offer(&landed(3.0), "two");
    known.offer_own(&landed(2.5));
    assert_eq!((known.cost, known.own, known.source.as_str()), (Some(2.0), Some(2.5), "one"));
    let mut store = Store::open(folder.path(), "a case", 7).unwrap();
    store.keep([("somebody".to_owned(), known.clone())].into_iter()).unwrap();
    let again = Store::open(folder.path(), "a case", 7).unwrap();
    assert_eq!(again.get("somebody"), known);
    assert_eq!(again.get("nobody"), Known::default());
    assert_eq!(Store::open(folder.path(), "a case", 8).unwrap().get("somebody"), Known::default());
}
