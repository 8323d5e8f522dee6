use super::*;
use crate::{FitParams, Learner, LogisticParams, credit, fit_model};
use probe_core::{Model, ModelInput};

/// One tree on all rows, all features competing.
fn cart(depth: usize) -> ForestParams {
    ForestParams {
        trees: 1,
        depth,
        bootstrap: false,
        features: Some(usize::MAX),
        ..ForestParams::default()
    }
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|j| format!("x{j}")).collect()
}

fn fit(params: ForestParams, x: &[f64], n_cols: usize, favourable: &[bool], seed: u64) -> Trees {
    let rows = Rows::new(x, n_cols).unwrap();
    ForestTrainer::new(params).unwrap().fit(rows, &names(n_cols), favourable, Seed(seed)).unwrap()
}

/// Rows inside (favourable) and outside a disc, with a few exceptions, and a constant.
fn disc(n: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut stream = Seed(seed).stream(Purpose::Data, 0);
    let x: Vec<f64> = (0..n).flat_map(|_| [stream.uniform(), stream.uniform(), 7.0]).collect();
    let inside = |p: &[f64]| (p[0] - 0.5).hypot(p[1] - 0.5) < 0.35;
    let favourable = x.chunks(3).enumerate().map(|(i, p)| inside(p) != (i % 50 == 0)).collect();
    (x, favourable)
}

const FIVE: [f64; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
const MIDDLE: [bool; 5] = [false, false, true, true, false];

#[test]
fn a_tree_is_the_one_worked_out_by_hand() {
    // (a² + b²) / (a + b) of both sides: 3 at 1.5, 2 + 5/3 at 2.5, 5/3 + 1 at 3.5, 3 at 4.5. Then,
    // of 3, 4 and 5, 2 at 3.5 and 3 at 4.5.
    let model = fit(cart(6), &FIVE, 1, &MIDDLE, 0);
    let tree = &model.trees()[0];
    assert_eq!(tree.threshold, [2.5, 0.0, 4.5, 0.0, 0.0]);
    assert_eq!(tree.left, [1, -1, 3, -1, -1]);
    assert_eq!(tree.right, [2, -1, 4, -1, -1]);
    assert_eq!(tree.value, [0.0, 0.0, 0.0, 1.0, 0.0]);
    let stump = fit(cart(1), &FIVE, 1, &MIDDLE, 0);
    assert_eq!(stump.trees()[0].value, [0.0, 0.0, 2.0 / 3.0]);
    assert_eq!(stump.score(&[2.5]).unwrap(), -0.5);
    assert_eq!(stump.score(&[2.6]).unwrap(), 2.0 / 3.0 - 0.5);
}

#[test]
fn leaves_keep_their_rows_and_classes_their_weight() {
    // Without small leaves only 2.5 and 3.5 are left, and three rows cannot be split again.
    let model = fit(ForestParams { min_leaf: 2, ..cart(6) }, &FIVE, 1, &MIDDLE, 0);
    let tree = &model.trees()[0];
    assert_eq!((&tree.threshold[..], tree.value[2]), (&[2.5, 0.0, 0.0][..], 2.0 / 3.0));
    // Weights 5/6 and 5/4: one against two rows are 0.8333 against 2.5.
    let balanced = fit(ForestParams { balanced: true, ..cart(1) }, &FIVE, 1, &MIDDLE, 0);
    assert!((balanced.trees()[0].value[2] - 0.75).abs() < 1e-15);
    assert_eq!(balanced.trees()[0].threshold[0], 2.5);
}

#[test]
fn exclusive_or_takes_two_levels() {
    let x = [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    let favourable = [false, true, true, false];
    for seed in 0..5 {
        let model = fit(cart(2), &x, 2, &favourable, seed);
        for (x, yes) in x.chunks(2).zip(favourable) {
            assert_eq!(model.score(x).unwrap(), if yes { 0.5 } else { -0.5 });
        }
        let stump = fit(cart(1), &x, 2, &favourable, seed);
        assert!(x.chunks(2).all(|x| stump.score(x).unwrap() == 0.0));
    }
}

/// The tree as `(threshold, value)` in preorder, by trying every cut of every node.
fn brute(mut rows: Vec<(f64, bool)>, depth: usize, out: &mut Vec<(f64, f64)>) {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let yes = |part: &[(f64, bool)]| part.iter().filter(|(_, yes)| *yes).count() as f64;
    let purity = |part: &[(f64, bool)]| {
        let (n, y) = (part.len() as f64, yes(part));
        (y * y + (n - y) * (n - y)) / n
    };
    let mut best: Option<(f64, usize)> = None;
    for k in (1..rows.len()).filter(|&k| rows[k - 1].0 < rows[k].0) {
        let found = purity(&rows[..k]) + purity(&rows[k..]);
        if best.is_none_or(|(best, _)| found > best) {
            best = Some((found, k));
        }
    }
    let (n, y) = (rows.len() as f64, yes(&rows));
    match best.filter(|_| depth > 0 && y > 0.0 && y < n) {
        None => out.push((0.0, y / n)),
        Some((_, k)) => {
            out.push((0.5 * rows[k - 1].0 + 0.5 * rows[k].0, 0.0));
            let right = rows.split_off(k);
            brute(rows, depth - 1, out);
            brute(right, depth - 1, out);
        }
    }
}

#[test]
fn trees_are_those_of_trying_every_cut() {
    // Few levels are counted in every node, many are sorted in the small ones.
    for (levels, seed) in [(1e9, 1), (300.0, 2), (7.0, 3)] {
        let mut stream = Seed(seed).stream(Purpose::Data, 1);
        let x: Vec<f64> = (0..600).map(|_| (stream.uniform() * levels).floor()).collect();
        let favourable: Vec<bool> =
            x.iter().map(|x| (9.0 * x / levels).sin() + stream.normal() > 0.0).collect();
        let model = fit(cart(9), &x, 1, &favourable, 0);
        let tree = &model.trees()[0];
        let mut expected = Vec::new();
        brute(x.iter().copied().zip(favourable).collect(), 9, &mut expected);
        let (mut found, mut todo) = (Vec::new(), vec![0]);
        while let Some(i) = todo.pop() {
            found.push((tree.threshold[i], tree.value[i]));
            if tree.left[i] >= 0 {
                todo.extend([tree.right[i] as usize, tree.left[i] as usize]);
            }
        }
        assert_eq!(found, expected, "{levels} levels");
    }
}

#[test]
fn the_disc_is_learned_and_a_constant_never_split_on() {
    let (x, favourable) = disc(2000, 1);
    let model = fit(ForestParams::default(), &x, 3, &favourable, 0);
    assert_eq!(model.trees().len(), 100);
    assert!(model.score(&[0.5, 0.5, 7.0]).unwrap() > 0.3);
    assert!(model.score(&[0.05, 0.95, 7.0]).unwrap() < -0.3);
    for tree in model.trees() {
        assert!((0..tree.left.len()).all(|i| tree.left[i] < 0 || tree.feature[i] < 2));
        assert!(tree.value.iter().all(|p| (0.0..=1.0).contains(p)));
    }
    // Both features come first in some trees: one of the two is drawn.
    let first = model.trees().iter().filter(|tree| tree.feature[0] == 0).count();
    assert!((25..=75).contains(&first), "{first}");
}

#[test]
fn threads_do_not_matter_and_seeds_do() {
    let (x, favourable) = disc(700, 2);
    let params = ForestParams { trees: 12, ..ForestParams::default() };
    let on = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(params, &x, 3, &favourable, seed))
    };
    let alone = on(1, 7);
    assert_eq!(alone, on(3, 7));
    assert_ne!(alone, on(1, 8));
    // More trees begin with the same ones.
    let more = fit(ForestParams { trees: 13, ..params }, &x, 3, &favourable, 7);
    assert_eq!(more.trees()[..12], *alone.trees());
    assert_ne!(more.trees()[0], more.trees()[1]);
    // Without anything drawn all trees are the same.
    let first: Vec<f64> = x.iter().copied().step_by(3).collect();
    let same = fit(ForestParams { trees: 3, ..cart(4) }, &first, 1, &favourable, 0);
    assert!(same.trees()[0].left.len() > 10);
    assert!(same.trees().iter().all(|tree| *tree == same.trees()[0]));
}

#[test]
fn on_the_built_in_data_it_is_nearly_as_good_as_the_regression() {
    let data = credit::generate(6000, Seed(0));
    let run = |learner: Learner| {
        let params = FitParams { learner, ..FitParams::default() };
        fit_model(&data.labelled().unwrap(), Some(&credit::schema()), &params, Seed(0))
            .unwrap()
            .report
    };
    let linear = run(Learner::Linear(LogisticParams::default())).test.unwrap();
    let report = run(Learner::Forest(ForestParams::default()));
    assert_eq!((report.iterations, report.converged), (100, true));
    let forest = report.test.unwrap();
    // The rule behind the data is smooth; trees approach it by steps.
    assert!(forest.auc.unwrap() > linear.auc.unwrap() - 0.03, "{forest:?} {linear:?}");
    // The loss is that of the probabilities, not of the margin, which is at most one half.
    assert!(forest.log_loss < 1.15 * linear.log_loss, "{forest:?} {linear:?}");
}

/// Trees of raw input are other trees and the same function, to the bit.
pub(crate) fn check_raw_input(learner: Learner) {
    let data = credit::generate(800, Seed(1));
    let params = FitParams { learner, ..FitParams::default() };
    let labelled = data.labelled().unwrap();
    let mut schema = credit::schema();
    let scaled = fit_model(&labelled, Some(&schema), &params, Seed(0)).unwrap();
    schema.model_input = Some(ModelInput::Raw);
    let raw = fit_model(&labelled, Some(&schema), &params, Seed(0)).unwrap();
    assert_eq!(raw.report, scaled.report);
    assert_ne!(raw.model.as_trees().unwrap(), scaled.model.as_trees().unwrap());
    for person in labelled.rows.iter() {
        let (person, inside) = credit::columns_of(&scaled.schema, person);
        assert_eq!(raw.model.score(&person).unwrap(), scaled.model.score(&inside).unwrap());
    }
}

#[test]
fn a_forest_of_raw_input_is_the_same_function() {
    check_raw_input(Learner::Forest(ForestParams { trees: 10, ..ForestParams::default() }));
}

#[test]
fn bad_input_is_named() {
    let message = |params: ForestParams| ForestTrainer::new(params).unwrap_err().to_string();
    let plain = ForestParams::default();
    assert_eq!(
        message(ForestParams { trees: 0, ..plain }),
        "trees must be from 1 to a hundred thousand, got 0"
    );
    assert_eq!(message(ForestParams { depth: 0, ..plain }), "depth must be from 1 to 64, got 0");
    assert_eq!(message(ForestParams { depth: 65, ..plain }), "depth must be from 1 to 64, got 65");
    assert_eq!(
        message(ForestParams { min_leaf: 0, ..plain }),
        "min_leaf must be at least 1, got 0"
    );
    assert_eq!(
        message(ForestParams { features: Some(0), ..plain }),
        "features must be at least 1, got 0"
    );
    let attempt = |x: &[f64], favourable: &[bool]| {
        let trainer = ForestTrainer::new(plain).unwrap();
        trainer
            .fit(Rows::new(x, 2).unwrap(), &names(2), favourable, Seed(0))
            .unwrap_err()
            .to_string()
    };
    let x = [0.0, 1.0, 1.0, 0.0, 0.5, 0.5];
    assert!(attempt(&x, &[true; 3]).contains("all 3 rows are favourable"));
    assert!(attempt(&x, &[true, false]).contains("expected 3, found 2"));
    let nan = [0.0, 1.0, 1.0, f64::NAN, 0.5, 0.5];
    assert_eq!(
        attempt(&nan, &[true, false, true]),
        "row 1, feature 'x1': NaN is not a finite number"
    );
    // No feature separates the rows: leaves without splits.
    let model = fit(
        ForestParams { trees: 3, bootstrap: false, ..plain },
        &[1.0; 4],
        1,
        &[true, false, true, true],
        0,
    );
    assert!(model.trees().iter().all(|tree| tree.value == [0.75]));
}

#[test]
fn settings_read_back_and_unknown_ones_are_refused() {
    let learner: Learner =
        serde_json::from_str(r#"{"kind": "forest", "trees": 20, "features": 3}"#).unwrap();
    let expected = ForestParams { trees: 20, features: Some(3), ..ForestParams::default() };
    assert_eq!(learner, Learner::Forest(expected));
    assert!(serde_json::from_str::<Learner>(r#"{"kind": "forest", "learning_rate": 3}"#).is_err());
}
