use super::*;
use crate::forest::tests::check_raw_input;
use crate::{FitParams, Learner, LogisticParams, credit, fit_model, log_loss};
use probe_core::Model;

fn names(n: usize) -> Vec<String> {
    (0..n).map(|j| format!("x{j}")).collect()
}

fn fit(
    params: BoostedParams,
    x: &[f64],
    n_cols: usize,
    favourable: &[bool],
    seed: u64,
) -> BoostedFit {
    let rows = Rows::new(x, n_cols).unwrap();
    BoostedTrainer::new(params).unwrap().fit(rows, &names(n_cols), favourable, Seed(seed)).unwrap()
}

/// Rows inside (favourable) and outside a disc, with a few exceptions.
fn disc(n: usize, seed: u64) -> (Vec<f64>, Vec<bool>) {
    let mut stream = Seed(seed).stream(Purpose::Data, 0);
    let x: Vec<f64> = (0..2 * n).map(|_| stream.uniform()).collect();
    let inside = |p: &[f64]| (p[0] - 0.5).hypot(p[1] - 0.5) < 0.35;
    let favourable = x.chunks(2).enumerate().map(|(i, p)| inside(p) != (i % 50 == 0)).collect();
    (x, favourable)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-14 * b.abs().max(1.0)
}

#[test]
fn a_tree_is_the_one_worked_out_by_hand() {
    // At the start p = 1/4: slopes 1/4, 1/4, 1/4, -3/4, curvatures 3/16.
    let x = [0.0, 1.0, 2.0, 3.0];
    let favourable = [false, false, false, true];
    let stump =
        BoostedParams { trees: 1, depth: 1, min_child_weight: 0.0, ..BoostedParams::default() };
    let found = fit(stump, &x, 1, &favourable, 0);
    let tree = &found.model.trees()[0];
    let base = -(3f64.ln());
    assert!(close(found.model.rules().base, base));
    // Sides of 2.5: 0.75² / (9/16 + 1) + 0.75² / (3/16 + 1), the most.
    assert_eq!(
        (&tree.threshold[..], &tree.left[..], &tree.right[..]),
        (&[2.5, 0.0, 0.0][..], &[1, -1, -1][..], &[2, -1, -1][..])
    );
    assert!(close(tree.value[1], -0.1 * 0.75 / 1.5625), "{}", tree.value[1]);
    assert!(close(tree.value[2], 0.1 * 0.75 / 1.1875), "{}", tree.value[2]);
    assert!(close(found.model.score(&[3.0]).unwrap(), base + 0.1 * 0.75 / 1.1875));
    // Three sixteenths are too little: one row each side is out.
    let found = fit(BoostedParams { min_child_weight: 0.3, ..stump }, &x, 1, &favourable, 0);
    let tree = &found.model.trees()[0];
    assert_eq!(tree.threshold[0], 1.5);
    assert!(close(tree.value[1], -0.1 * 0.5 / 1.375) && close(tree.value[2], 0.1 * 0.5 / 1.375));
    // And all four rows have less than 1.
    let found = fit(BoostedParams { min_child_weight: 1.0, ..stump }, &x, 1, &favourable, 0);
    assert_eq!(found.model.trees()[0].left, [-1]);
    assert!(close(found.model.score(&[3.0]).unwrap(), base));
    // Balanced: p = 1/2, weights 2/3 and 2. Slopes 1/3 and -1, curvatures 1/6 and 1/2.
    let found = fit(BoostedParams { balanced: true, l2: 0.5, ..stump }, &x, 1, &favourable, 0);
    let tree = &found.model.trees()[0];
    assert_eq!((found.model.rules().base, tree.threshold[0]), (0.0, 2.5));
    assert!(close(tree.value[1], -0.1) && close(tree.value[2], 0.1), "{:?}", tree.value);
}

/// The tree as `(threshold, value)` in preorder, by trying every cut of every feature.
fn brute(
    rows: &[(&[f64], [f64; 2])],
    params: &BoostedParams,
    depth: usize,
    out: &mut Vec<(f64, f64)>,
) {
    let total = |part: &mut dyn Iterator<Item = &(&[f64], [f64; 2])>| {
        part.fold([0.0, 0.0], |sum, (_, pair)| [sum[0] + pair[0], sum[1] + pair[1]])
    };
    let gain = |[g, h]: [f64; 2]| g * g / (h + params.l2);
    let whole = total(&mut rows.iter());
    let mut best: Option<(f64, usize, f64)> = None;
    for j in 0..rows[0].0.len() {
        let mut values: Vec<f64> = rows.iter().map(|(x, _)| x[j]).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        for pair in values.windows(2) {
            let left = total(&mut rows.iter().filter(|(x, _)| x[j] <= pair[0]));
            let right = total(&mut rows.iter().filter(|(x, _)| x[j] > pair[0]));
            let found = 0.5 * (gain(left) + gain(right) - gain(whole));
            let heavy = left[1].min(right[1]) >= params.min_child_weight;
            if heavy && found > best.map_or(1e-6, |(best, ..)| best + 1e-12) {
                best = Some((found, j, pair[0]));
            }
        }
    }
    match best.filter(|_| depth > 0) {
        None => out.push((0.0, -params.learning_rate * whole[0] / (whole[1] + params.l2))),
        Some((_, j, last)) => {
            out.push((last, 0.0));
            let side = |left: bool| {
                rows.iter().filter(|(x, _)| (x[j] <= last) == left).copied().collect::<Vec<_>>()
            };
            brute(&side(true), params, depth - 1, out);
            brute(&side(false), params, depth - 1, out);
        }
    }
}

#[test]
fn trees_are_those_of_trying_every_cut() {
    // Whole numbers: cuts of the whole column lie half above the last value of a node's left side,
    // or further up where the node has no row there.
    let mut stream = Seed(5).stream(Purpose::Data, 1);
    let x: Vec<f64> = (0..3 * 500).map(|_| (stream.uniform() * 60.0).floor()).collect();
    let favourable: Vec<bool> =
        x.chunks(3).map(|x| x[0] + 0.02 * x[1] * x[1] + 10.0 * stream.normal() > 55.0).collect();
    let params =
        BoostedParams { trees: 3, depth: 5, learning_rate: 0.3, ..BoostedParams::default() };
    let found = fit(params, &x, 3, &favourable, 0);
    let mut scores = vec![found.model.rules().base; 500];
    for tree in found.model.trees() {
        let losses = scores.iter().zip(&favourable).map(|(&score, &yes)| RowLoss::at(score, yes));
        let rows: Vec<_> =
            x.chunks(3).zip(losses).map(|(x, loss)| (x, [loss.slope, loss.curvature])).collect();
        let mut expected = Vec::new();
        brute(&rows, &params, 5, &mut expected);
        let (mut seen, mut todo) = (Vec::new(), vec![0]);
        while let Some(i) = todo.pop() {
            let split = tree.left[i] >= 0;
            seen.push((if split { tree.threshold[i].floor() } else { 0.0 }, tree.value[i]));
            if split {
                todo.extend([tree.right[i] as usize, tree.left[i] as usize]);
            }
        }
        assert!(seen.len() > 20);
        assert_eq!(seen.len(), expected.len());
        for (a, b) in seen.iter().zip(&expected) {
            assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
        }
        let one = Trees::new(3, vec![tree.clone()], TreeRules::default(), 0.0).unwrap();
        scores.iter_mut().zip(x.chunks(3)).for_each(|(score, x)| *score += one.score(x).unwrap());
    }
}

#[test]
fn the_loss_falls_with_every_tree_and_is_that_of_the_model() {
    let (x, favourable) = disc(1500, 1);
    let found = fit(BoostedParams::default(), &x, 2, &favourable, 0);
    assert_eq!((found.history.len(), found.model.trees().len()), (100, 100));
    assert!(found.history.windows(2).all(|pair| pair[1] < pair[0]), "{:?}", found.history);
    assert!(found.history[0] < 2f64.ln() && found.history[99] < 0.15, "{:?}", found.history);
    let mut scores = vec![0.0; 1500];
    found.model.score_batch(Rows::new(&x, 2).unwrap(), &mut scores).unwrap();
    assert_eq!(log_loss(&scores, &favourable).unwrap(), found.history[99]);
    assert!(found.model.score(&[0.5, 0.5]).unwrap() > 2.0);
    assert!(found.model.score(&[0.05, 0.95]).unwrap() < -2.0);
}

#[test]
fn exclusive_or_takes_two_levels() {
    // Not quite even: the first split of an even one gains nothing.
    let (mut x, mut favourable) = (Vec::new(), Vec::new());
    for (a, b, n) in [(0.0, 0.0, 30), (0.0, 1.0, 33), (1.0, 0.0, 36), (1.0, 1.0, 40)] {
        (0..n).for_each(|_| x.extend([a, b]));
        favourable.extend(vec![a != b; n]);
    }
    let right = |depth: usize| {
        let model =
            fit(BoostedParams { depth, ..BoostedParams::default() }, &x, 2, &favourable, 0).model;
        let right = |(x, yes): &(&[f64], bool)| (model.score(x).unwrap() > 0.0) == *yes;
        x.chunks(2).zip(favourable.iter().copied()).filter(right).count()
    };
    assert_eq!(right(2), 139);
    assert!(right(1) < 120);
}

#[test]
fn bins_hold_about_as_many_rows_each() {
    let x: Vec<f64> = (0..10_000).map(f64::from).collect();
    let bins = Bins::of(&Levels::of(Rows::new(&x, 1).unwrap())[0], 8);
    assert_eq!(bins.cuts, (1..8).map(|k| f64::from(k) * 1250.0 - 0.5).collect::<Vec<_>>());
    assert!(x.iter().zip(&bins.codes).all(|(x, &code)| code as usize == (*x / 1250.0) as usize));
    // Half of the rows have one value, which takes a bin to itself; the others share the rest
    // evenly.
    let x: Vec<f64> = (0..10_000).map(|i| f64::from(if i < 5000 { 0 } else { i })).collect();
    let bins = Bins::of(&Levels::of(Rows::new(&x, 1).unwrap())[0], 6);
    assert_eq!(bins.cuts, [2500.0, 5999.5, 6999.5, 7999.5, 8999.5]);
    // Few values: a bin each, cut midway.
    let bins = Bins::of(&Levels::of(Rows::new(&[3.0, 1.0, 3.0, 2.0], 1).unwrap())[0], 3);
    assert_eq!((bins.cuts, bins.codes), (vec![1.5, 2.5], vec![2, 0, 2, 1]));
    let x: Vec<f64> = (0..70_000).map(|i| f64::from(i % 300)).collect();
    let bins = Bins::of(&Levels::of(Rows::new(&x, 1).unwrap())[0], 256);
    assert!(
        bins.cuts.len() <= 255 && bins.cuts.is_sorted() && bins.cuts.len() > 140,
        "{}",
        bins.cuts.len()
    );
    assert_eq!(*bins.codes.iter().max().unwrap() as usize, bins.cuts.len());
}

#[test]
fn threads_do_not_matter_and_seeds_do_where_something_is_drawn() {
    // Enough rows for several threads to share a node.
    let (x, favourable) = disc(20_000, 2);
    let on = |threads: usize, params: BoostedParams, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| fit(params, &x, 2, &favourable, seed))
    };
    let all = BoostedParams { trees: 4, ..BoostedParams::default() };
    let alone = on(1, all, 7);
    assert_eq!(alone, on(3, all, 7));
    assert_eq!(alone, on(1, all, 8));
    for params in [BoostedParams { rows: 0.5, ..all }, BoostedParams { columns: 0.5, ..all }] {
        let alone = on(1, params, 7);
        assert_eq!(alone, on(3, params, 7));
        assert_ne!(alone, on(1, params, 8));
    }
    // One of two columns: no tree splits on both.
    for tree in on(2, BoostedParams { columns: 0.5, ..all }, 1).model.trees() {
        let mut on: Vec<usize> =
            (0..tree.left.len()).filter(|&i| tree.left[i] >= 0).map(|i| tree.feature[i]).collect();
        on.dedup();
        assert_eq!(on.len(), 1);
    }
}

#[test]
fn rows_are_drawn_without_replacement() {
    let mut stream = Seed(0).stream(Purpose::Training, 0);
    let half = draw(1001, 0.5, &mut stream);
    assert_eq!(half.len(), 501);
    assert!(half.windows(2).all(|pair| pair[0] < pair[1]));
    // The mean of 501 of 0..1001 without replacement has sd 9.1.
    let mean = half.iter().map(|&row| f64::from(row)).sum::<f64>() / 501.0;
    assert!((mean - 500.0).abs() < 46.0, "{mean}");
    assert_eq!(draw(3, 1e-9, &mut stream).len(), 1);
    assert_eq!(draw(3, 1.0, &mut stream), [0, 1, 2]);
}

#[test]
fn on_the_built_in_data_it_is_about_as_good_as_the_regression() {
    let data = credit::generate(6000, Seed(0));
    let run = |learner: Learner| {
        let params = FitParams { learner, ..FitParams::default() };
        fit_model(&data.labelled().unwrap(), Some(&credit::schema()), &params, Seed(0))
            .unwrap()
            .report
    };
    let linear = run(Learner::Linear(LogisticParams::default())).test.unwrap();
    let report = run(Learner::Boosted(BoostedParams::default()));
    assert_eq!((report.iterations, report.converged), (100, true));
    let boosted = report.test.unwrap();
    assert!(boosted.auc.unwrap() > linear.auc.unwrap() - 0.02, "{boosted:?} {linear:?}");
    assert!(boosted.log_loss < 1.1 * linear.log_loss, "{boosted:?} {linear:?}");
}

#[test]
fn an_ensemble_of_raw_input_is_the_same_function() {
    check_raw_input(Learner::Boosted(BoostedParams { trees: 10, ..BoostedParams::default() }));
}

#[test]
fn bad_input_is_named() {
    let message = |params: BoostedParams| BoostedTrainer::new(params).unwrap_err().to_string();
    let plain = BoostedParams::default();
    assert_eq!(
        message(BoostedParams { trees: 0, ..plain }),
        "trees must be from 1 to a hundred thousand, got 0"
    );
    assert_eq!(message(BoostedParams { depth: 0, ..plain }), "depth must be from 1 to 64, got 0");
    assert_eq!(message(BoostedParams { bins: 1, ..plain }), "bins must be from 2 to 256, got 1");
    assert_eq!(
        message(BoostedParams { bins: 257, ..plain }),
        "bins must be from 2 to 256, got 257"
    );
    assert_eq!(
        message(BoostedParams { rows: 0.0, ..plain }),
        "rows must be above 0 and at most 1, got 0"
    );
    assert!(message(BoostedParams { columns: 1.5, ..plain }).starts_with("columns must be"));
    assert!(
        message(BoostedParams { learning_rate: f64::NAN, ..plain })
            .starts_with("learning_rate must be")
    );
    assert!(message(BoostedParams { l2: -1.0, ..plain }).starts_with("l2 must be"));
    assert!(
        message(BoostedParams { min_child_weight: f64::INFINITY, ..plain })
            .starts_with("min_child_weight")
    );
    let attempt = |params: BoostedParams, x: &[f64], favourable: &[bool]| {
        let trainer = BoostedTrainer::new(params).unwrap();
        trainer
            .fit(Rows::new(x, 2).unwrap(), &names(2), favourable, Seed(0))
            .unwrap_err()
            .to_string()
    };
    let x = [0.0, 1.0, 1.0, 0.0, 0.5, 0.5];
    assert!(attempt(plain, &x, &[true; 3]).contains("all 3 rows are favourable"));
    assert!(attempt(plain, &x, &[true, false]).contains("expected 3, found 2"));
    let nan = [0.0, 1.0, 1.0, f64::NAN, 0.5, 0.5];
    assert_eq!(
        attempt(plain, &nan, &[true, false, true]),
        "row 1, feature 'x1': NaN is not a finite number"
    );
    // Fitted to half of the rows with steps far too long, some rows end up infinitely wrong.
    let (x, favourable) = disc(200, 4);
    let wild = BoostedParams { learning_rate: 1e308, l2: 0.0, min_child_weight: 0.0, ..plain };
    assert!(
        attempt(wild, &x, &favourable).starts_with("the training ran off to infinity in epoch ")
    );
}

#[test]
fn settings_read_back_and_unknown_ones_are_refused() {
    let learner: Learner =
        serde_json::from_str(r#"{"kind": "boosted", "depth": 3, "rows": 0.5}"#).unwrap();
    let expected = BoostedParams { depth: 3, rows: 0.5, ..BoostedParams::default() };
    assert_eq!(learner, Learner::Boosted(expected));
    assert!(serde_json::from_str::<Learner>(r#"{"kind": "boosted", "hidden": [3]}"#).is_err());
}
