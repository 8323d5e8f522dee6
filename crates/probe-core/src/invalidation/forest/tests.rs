use super::*;
use crate::model::{Model, Tree, TreeRules};
use crate::noise::Gaussian;
use crate::rows::Rows;
use crate::seed::{Purpose, Seed, Stream};

/// A random tree of this depth; some branches end early.
pub(crate) fn random_tree(
    stream: &mut Stream,
    d: usize,
    depth: usize,
    leaf: &mut dyn FnMut(&mut Stream) -> f64,
) -> Tree {
    fn grow(
        tree: &mut Tree,
        stream: &mut Stream,
        (d, depth): (usize, usize),
        leaf: &mut dyn FnMut(&mut Stream) -> f64,
    ) -> i64 {
        let i = tree.left.len();
        tree.feature.push(stream.below(d));
        tree.threshold.push((16.0 * stream.uniform()).round() / 16.0);
        tree.value.push(0.0);
        tree.left.push(-1);
        tree.right.push(-1);
        if depth == 0 || stream.uniform() < 0.15 {
            tree.value[i] = leaf(stream);
        } else {
            tree.left[i] = grow(tree, stream, (d, depth - 1), leaf);
            tree.right[i] = grow(tree, stream, (d, depth - 1), leaf);
        }
        i as i64
    }
    let mut tree = Tree::default();
    grow(&mut tree, stream, (d, depth), leaf);
    tree
}

#[test]
fn every_error_is_judged_as_the_model_judges_it() {
    let d = 5;
    let noise = Gaussian::isotropic(d, 0.2).unwrap();
    let errors = Errors::even(&noise, Seed(3), (Purpose::Search, 0), 1_024).unwrap();
    let mut stream = Seed(8).stream(Purpose::Data, 1);
    let (mut n_refused, mut n_rescored) = (0, 0);
    for number in 0..60 {
        let aggregate = [Aggregate::Sum, Aggregate::Mean, Aggregate::Vote][number % 3];
        let mut leaf = |stream: &mut Stream| match aggregate {
            Aggregate::Sum => 0.3 * stream.normal(),
            _ => stream.uniform(),
        };
        let trees = (0..1 + number)
            .map(|_| random_tree(&mut stream, d, 1 + number % 7, &mut leaf))
            .collect();
        let rules = TreeRules { aggregate, base: 0.0, ..TreeRules::default() };
        let model = Trees::new(d, trees, rules, 0.01 * stream.normal()).unwrap();
        // Points on thresholds included.
        let point: Vec<f64> = (0..d).map(|_| (16.0 * stream.uniform()).round() / 16.0).collect();
        let active: Vec<bool> = (0..d).map(|j| number % 4 != 0 || j > 2).collect();
        let mut forest = Forest::new(&model);
        forest.aim(&errors, &point, &active, 1.0);
        let (mut refused, mut scores) = (vec![false; 1_024], vec![0.0; 1_024]);
        forest.refused(&errors, 0, (&point, &active, 1.0), &mut refused, &mut scores);
        for i in 0..1_024 {
            let x: Vec<f64> =
                (0..d).map(|j| point[j] + if active[j] { errors.row(i)[j] } else { 0.0 }).collect();
            let score = model.score(&x).unwrap();
            assert_eq!(refused[i], score <= 0.0, "{number} {i}: {score} {}", scores[i]);
            let (least, most) = forest.doubtful;
            let close = 0.5 * f64::from(most - least) / forest.scale;
            assert!((scores[i] - score).abs() <= close, "{number} {i}: {score} {}", scores[i]);
            n_refused += usize::from(refused[i]);
            n_rescored += usize::from(score.abs() <= close);
        }
        // Without the splits on features that stay where they are, another point is judged as by
        // the whole trees.
        let fixed: Vec<bool> = (0..d).map(|j| !active[j] && j > 0).collect();
        let other: Vec<f64> = (0..d)
            .map(|j| if fixed[j] { point[j] } else { point[j] + 0.3 * stream.normal() })
            .collect();
        let (mut again, mut others) = (vec![false; 1_024], vec![0.0; 1_024]);
        forest.aim(&errors, &other, &active, 1.0);
        forest.refused(&errors, 0, (&other, &active, 1.0), &mut refused, &mut scores);
        forest.prune(&point, &fixed);
        forest.aim(&errors, &other, &active, 1.0);
        forest.refused(&errors, 0, (&other, &active, 1.0), &mut again, &mut others);
        assert_eq!((refused, scores), (again, others), "{number}");
    }
    // Both outcomes were seen, and the doubtful way was gone.
    assert!(n_refused > 5_000 && n_refused < 56_000 && n_rescored > 0, "{n_refused} {n_rescored}");
}

#[test]
fn a_closer_look_goes_on_where_the_last_one_ended() {
    let (d, mut stream) = (3, Seed(4).stream(Purpose::Data, 3));
    let trees =
        (0..20).map(|_| random_tree(&mut stream, d, 4, &mut |stream| stream.normal())).collect();
    let model = Trees::new(d, trees, TreeRules::default(), 0.0).unwrap();
    let errors = Errors::new((0..1_024 * d).map(|_| 0.2 * stream.normal()).collect(), d);
    let (active, mut forest) = ([true; 3], Forest::new(&model));
    let points = [[0.3, 0.5, 0.7], [0.3, 0.6, 0.7]];
    let looks = [(0, 256), (0, 1_024), (0, 128), (512, 256), (0, 512), (0, 512)];
    for point in [points[0], points[1], points[0]] {
        for (from, n) in looks {
            let around = (&point[..], &active[..], 1.0);
            let seen = |forest: &mut Forest| {
                let (mut refused, mut scores) = (vec![false; n], vec![0.0; n]);
                forest.aim(&errors, &point, &active, 1.0);
                forest.refused(&errors, from, around, &mut refused, &mut scores);
                (refused, scores)
            };
            assert_eq!(seen(&mut forest), seen(&mut Forest::new(&model)), "{point:?} {from} {n}");
        }
    }
}

#[test]
fn batches_of_any_size_are_judged_as_the_model_judges_them() {
    let (d, mut stream) = (3, Seed(4).stream(Purpose::Data, 2));
    let trees =
        (0..20).map(|_| random_tree(&mut stream, d, 4, &mut |stream| stream.normal())).collect();
    let model = Trees::new(d, trees, TreeRules::default(), 0.0).unwrap();
    let active = [true, false, true];
    for n in [1, 127, 128, 129, 1_000] {
        let rows: Vec<f64> = (0..n * d).map(|_| 0.2 * stream.normal()).collect();
        let errors = RankedErrors::new(Rows::new(&rows, d).unwrap()).unwrap();
        let mut batch = NoisyScores::new(&model, &errors).unwrap();
        let (mut refused, mut scores) = (vec![false; n], vec![0.0; n]);
        for _ in 0..5 {
            let point: Vec<f64> = (0..d).map(|_| stream.uniform()).collect();
            batch.score_into(&point, &active, &mut refused, &mut scores).unwrap();
            for (i, error) in rows.chunks_exact(d).enumerate() {
                let x: Vec<f64> =
                    (0..d).map(|j| point[j] + if active[j] { error[j] } else { 0.0 }).collect();
                let score = model.score(&x).unwrap();
                assert_eq!(refused[i], score <= 0.0);
                // Each of 20 leaves is off by half a unit at most, of which 32767 make the largest
                // one.
                assert!((scores[i] - score).abs() < 20.0 * 4.0 / 32_767.0, "{} {score}", scores[i]);
            }
        }
        let message = batch
            .score_into(&[0.0; 2], &active, &mut refused, &mut scores)
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("features of a point") && message.contains("found 2"),
            "{message}"
        );
    }
    let message =
        |rows: &[f64]| RankedErrors::new(Rows::new(rows, 1).unwrap()).err().unwrap().to_string();
    assert!(message(&[]).contains("from 1 to 16384, got 0"));
    assert!(message(&vec![0.0; 16_385]).contains("got 16385"));
    assert!(message(&[0.0, f64::NAN]).contains("finite, got NaN"));
    let narrow = RankedErrors::new(Rows::new(&[0.0], 1).unwrap()).unwrap();
    assert!(NoisyScores::new(&model, &narrow).is_err());
}

#[test]
fn ranks_count_ties_and_everything_in_between() {
    let rows: Vec<f64> = (0..LANES).map(|i| (i / 2) as f64).collect();
    let errors = Errors::new(rows, 1);
    assert_eq!(errors.n_up_to(0, -0.5), 0);
    assert_eq!(errors.n_up_to(0, 0.0), 2);
    assert_eq!(errors.n_up_to(0, 0.5), 2);
    assert_eq!(errors.n_up_to(0, 63.0), LANES);
    for i in 0..LANES {
        assert_eq!(errors.ranks(0, 0)[i] as usize / 2, i / 2);
    }
}

#[test]
fn errors_are_found_by_buckets_as_they_are_counted_one_by_one() {
    let mut stream = Seed(5).stream(Purpose::Data, 3);
    // Features that are spread out, crowded in one bucket, all the same, and so close that no
    // bucket has a width.
    let rows: Vec<f64> = (0..512)
        .flat_map(|i| {
            let far = if i == 7 { 1e6 } else { stream.normal() };
            [stream.normal(), far, 0.25, f64::from_bits(i % 3)]
        })
        .collect();
    let errors = Errors::new(rows.clone(), 4);
    let column = |j: usize| rows.chunks_exact(4).map(move |row| row[j]);
    for j in 0..4 {
        let between = |e: f64| [e, e.next_up(), e.next_down(), e + 0.01];
        let limits = column(j).flat_map(between).chain([
            f64::NEG_INFINITY,
            f64::INFINITY,
            f64::NAN,
            -9.0,
            9.0,
        ]);
        for limit in limits.collect::<Vec<_>>() {
            let expected = column(j).filter(|e| *e <= limit).count();
            assert_eq!(errors.n_up_to(j, limit), expected, "{j} {limit}");
        }
    }
}

#[test]
fn fresh_errors_are_latin_hypercubes_that_have_nothing_to_do_with_each_other() {
    let (d, n) = (3, 8_192);
    let noise = Gaussian::isotropic(d, 0.2).unwrap();
    let errors = Errors::latin(&noise, Seed(3), (Purpose::Certificate, 1, 2), n).unwrap();
    let mut sums = vec![0.0; d];
    for cube in 0..n / STRATA {
        for (j, sum) in sums.iter_mut().enumerate() {
            let place = |i: usize| {
                crate::math::normal::cdf(errors.row(cube * STRATA + i)[j] / 0.2) * STRATA as f64
            };
            let mut strata: Vec<usize> = (0..STRATA).map(|i| place(i) as usize).collect();
            // Where a draw lies in its stratum is uniform, and the first draw of a cube is in any
            // of them.
            *sum += place(0);
            strata.sort_unstable();
            assert_eq!(strata, (0..STRATA).collect::<Vec<_>>(), "{cube} {j}");
        }
    }
    // The first draws of 1,024 hypercubes are independent and uniform: five standard errors.
    let cubes = (n / STRATA) as f64;
    let error = STRATA as f64 / (12.0 * cubes).sqrt();
    for sum in sums {
        assert!((sum / cubes - 0.5 * STRATA as f64).abs() < 5.0 * error, "{}", sum / cubes);
    }
    // Features do not go together, within a cube or over all: five standard errors of a
    // correlation.
    let product: f64 = (0..n).map(|i| errors.row(i)[0] * errors.row(i)[1] / 0.04).sum();
    assert!((product / n as f64).abs() < 5.0 / (n as f64).sqrt(), "{product}");
}

#[test]
fn what_was_aimed_at_before_makes_no_difference() {
    let (d, mut stream) = (4, Seed(6).stream(Purpose::Data, 4));
    let trees =
        (0..15).map(|_| random_tree(&mut stream, d, 5, &mut |stream| stream.normal())).collect();
    let model = Trees::new(d, trees, TreeRules::default(), 0.0).unwrap();
    let noise = Gaussian::isotropic(d, 0.2).unwrap();
    let sets =
        [0, 1].map(|key| Errors::even(&noise, Seed(3), (Purpose::Search, key), 640).unwrap());
    let mut used = Forest::new(&model);
    let (mut point, mut active) = (vec![0.5; d], vec![true; d]);
    for step in 0..60 {
        let j = stream.below(d);
        match step % 4 {
            0 => active[j] = !active[j],
            1 => used.prune(&point, &vec![false; d]),
            _ => point[j] = stream.uniform(),
        }
        let (errors, stretch) = (&sets[(step / 7) % 2], [1.0, 3.0][(step / 5) % 2]);
        let seen = [&mut used, &mut Forest::new(&model)].map(|forest| {
            let (mut refused, mut scores) = (vec![false; 640], vec![0.0; 640]);
            forest.aim(errors, &point, &active, stretch);
            forest.refused(errors, 0, (&point, &active, stretch), &mut refused, &mut scores);
            (refused, scores)
        });
        assert!(seen[0] == seen[1], "{step}");
    }
}

#[test]
fn deep_chains_do_not_overflow_the_stack() {
    let n = 20_000;
    // Node 2k splits, its left child 2k + 1 is a leaf, its right child goes on.
    let mut tree = Tree::default();
    for k in 0..n {
        tree.feature.extend([0, 0]);
        tree.threshold.extend([k as f64 / n as f64, 0.0]);
        tree.left.extend([2 * k + 1, -1]);
        tree.right.extend([2 * k + 2, -1]);
        tree.value.extend([0.0, -1.0]);
    }
    tree.feature.push(0);
    tree.threshold.push(0.0);
    tree.left.push(-1);
    tree.right.push(-1);
    tree.value.push(1.0);
    let model = Trees::new(1, vec![tree], TreeRules::default(), 0.0).unwrap();
    let noise = Gaussian::isotropic(1, 0.2).unwrap();
    let errors = Errors::even(&noise, Seed(3), (Purpose::Search, 0), 128).unwrap();
    let mut forest = Forest::new(&model);
    forest.aim(&errors, &[1.0], &[true], 1.0);
    let (mut refused, mut scores) = ([false; 128], [0.0; 128]);
    forest.refused(&errors, 0, (&[1.0], &[true], 1.0), &mut refused, &mut scores);
    let expected =
        (0..128).filter(|&i| 1.0 + errors.row(i)[0] <= (n - 1) as f64 / n as f64).count();
    assert_eq!(refused.iter().filter(|r| **r).count(), expected);
}

/// A leaf of `value` for everybody.
fn leaf(value: f64) -> Tree {
    Tree {
        feature: vec![0],
        threshold: vec![0.0],
        left: vec![-1],
        right: vec![-1],
        value: vec![value],
        default_left: vec![],
    }
}

/// Whether the first of some errors is refused by the sum of these trees, and by the model itself.
fn judged(trees: Vec<Tree>) -> (bool, bool) {
    let model = Trees::new(1, trees, TreeRules::default(), 0.0).unwrap();
    let errors = Errors::new(vec![0.0; LANES], 1);
    let mut forest = Forest::new(&model);
    forest.aim(&errors, &[0.0], &[true], 1.0);
    let (mut refused, mut scores) = ([false; LANES], [0.0; LANES]);
    forest.refused(&errors, 0, (&[0.0], &[true], 1.0), &mut refused, &mut scores);
    let favourable = model.score(&[0.0]).unwrap() > 0.0;
    (refused[0], !favourable)
}

#[test]
fn sums_beyond_all_numbers_are_judged_as_the_model_judges_them() {
    for values in [
        [f64::MAX, f64::MAX, -f64::MAX],
        [-f64::MAX, -f64::MAX, f64::MAX],
        [f64::MAX, -f64::MAX, -1.0],
    ] {
        let (refused, expected) = judged(values.map(leaf).to_vec());
        assert_eq!(refused, expected, "{values:?}");
    }
    // Unreachable nodes may hold anything.
    let mut odd = leaf(-1.0);
    odd.feature.push(0);
    odd.threshold.push(0.0);
    odd.left.push(-1);
    odd.right.push(-1);
    for value in [f64::NAN, f64::INFINITY] {
        odd.value.push(value);
        assert_eq!(judged(vec![odd.clone()]), (true, true), "{value}");
        odd.value.pop();
    }
}

#[test]
fn very_many_trees_do_not_overflow_the_sum() {
    let split = |low: f64, high: f64| Tree {
        feature: vec![0; 3],
        threshold: vec![0.5; 3],
        left: vec![1, -1, -1],
        right: vec![2, -1, -1],
        value: vec![0.0, low, high],
        default_left: vec![],
    };
    // The error 0 takes the left leaf everywhere, others the right one: the sum is -70,000.
    let model = Trees::new(1, vec![split(-1.0, 1.0); 70_000], TreeRules::default(), 0.0).unwrap();
    let errors = Errors::new((0..LANES).map(|i| i as f64).collect(), 1);
    let mut forest = Forest::new(&model);
    forest.aim(&errors, &[0.0], &[true], 1.0);
    let (mut refused, mut scores) = ([false; LANES], [0.0; LANES]);
    forest.refused(&errors, 0, (&[0.0], &[true], 1.0), &mut refused, &mut scores);
    assert!(refused[0] && refused[1..].iter().all(|refused| !refused), "{scores:?}");
}

/// Against the model itself, at every value.
#[test]
fn refusals_along_a_feature_are_those_of_each_value_alone() {
    let (d, n) = (4, 512);
    let noise = Gaussian::isotropic(d, 0.15).unwrap();
    let errors = Errors::even(&noise, Seed(5), (Purpose::Search, 0), 1_024).unwrap();
    let mut stream = Seed(6).stream(Purpose::Data, 2);
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..24 {
        let trees = (0..1 + 2 * number)
            .map(|_| random_tree(&mut stream, d, 1 + number % 6, &mut |s| 0.3 * s.normal()))
            .collect();
        let model = Trees::new(d, trees, TreeRules::default(), 0.0).unwrap();
        let active: Vec<bool> = (0..d).map(|j| number % 3 != 0 || j > 1).collect();
        let point: Vec<f64> = (0..d).map(|_| stream.uniform()).collect();
        let mut forest = Forest::new(&model);
        if number % 2 == 0 {
            let fixed: Vec<bool> = (0..d).map(|j| !active[j] && j > 0).collect();
            forest.prune(&point, &fixed);
        }
        let (mut refusals, mut refused) = (Vec::new(), vec![false; n]);
        // A feature without noise, one with noise, and the first once more after another.
        for feature in [0, 2, 0] {
            let places = Places { feature, first: -0.203, step: 0.0371, n: 40 };
            forest.refusals_along(&errors, (&point, &active), places, n, &mut refusals);
            for (i, count) in refusals.iter().enumerate() {
                let mut x = point.clone();
                x[feature] = places.at(i);
                forest.aim(&errors, &x, &active, 1.0);
                forest.refused(&errors, 0, (&x, &active, 1.0), &mut refused, &mut []);
                let alone = refused.iter().filter(|refused| **refused).count();
                assert_eq!(*count as usize, alone, "{number}, feature {feature}, value {i}");
                seen.insert(alone);
            }
        }
    }
    assert!(seen.len() > 100, "{}", seen.len());
}
