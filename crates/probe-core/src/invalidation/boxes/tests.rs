use super::*;
use crate::math::normal;
use crate::model::{Aggregate, Model, Split, Tree, TreeRules};
use crate::noise::{Covariance, Gaussian, NoiseSpec};
use crate::rows::{Rows, RowsMut};
use crate::seed::{Purpose, Seed, Stream};
use std::sync::Arc;

mod grown;

const PLENTY: usize = 10_000_000;

/// A tree from splits and leaves in order of visit: `Ok((feature, threshold))` or `Err(value)`.
fn tree(nodes: &[std::result::Result<(usize, f64), f64>]) -> Tree {
    fn grow(
        nodes: &mut std::slice::Iter<'_, std::result::Result<(usize, f64), f64>>,
        tree: &mut Tree,
    ) -> i64 {
        let (at, node) = (tree.left.len(), *nodes.next().unwrap());
        let (feature, threshold) = node.unwrap_or((0, 0.0));
        tree.feature.push(feature);
        tree.threshold.push(threshold);
        tree.value.push(node.err().unwrap_or(0.0));
        tree.left.push(-1);
        tree.right.push(-1);
        if node.is_ok() {
            tree.left[at] = grow(nodes, tree);
            tree.right[at] = grow(nodes, tree);
        }
        at as i64
    }
    let mut grown = Tree::default();
    grow(&mut nodes.iter(), &mut grown);
    grown
}

fn close(found: f64, expected: f64, allowed: f64, what: &str) {
    assert!((found - expected).abs() <= allowed, "{what}: {found:e} against {expected:e}");
}

/// The rate of whatever number of trees, which must come out exactly.
fn rate(model: &Trees, noise: &dyn Noise, active: &[bool], point: &[f64]) -> f64 {
    let found = Boxes::new(model, noise).unwrap().interval(point, active, PLENTY, 0.0);
    assert!(found.lower.to_bits() == found.upper.to_bits(), "{found:?}");
    found.lower
}

/// The same model with a second tree that says nothing, so that it is an ensemble.
fn as_ensemble(model: &Trees) -> Trees {
    let mut trees = model.trees().to_vec();
    trees.push(tree(&[Err(0.0)]));
    Trees::new(model.n_features(), trees, model.rules(), model.threshold()).unwrap()
}

#[test]
fn a_stump_by_hand() {
    // Refused where x₀ <= 0.5; noise of deviation 0.2 and mean 0.1.
    let stump =
        Trees::new(2, vec![tree(&[Ok((0, 0.5)), Err(-1.0), Err(1.0)])], TreeRules::default(), 0.0)
            .unwrap();
    let noise = Gaussian::new(vec![0.1, 0.0], Covariance::Diagonal(vec![0.2, 0.3])).unwrap();
    for model in [&stump, &as_ensemble(&stump)] {
        let on = |point: f64, active: bool| rate(model, &noise, &[active, true], &[point, 9.0]);
        close(on(0.5, true), normal::cdf(-0.5), 1e-16, "on the threshold");
        close(on(0.4, true), 0.5, 1e-15, "centred on the threshold");
        // 40 deviations: 0.4 + 8 = 8.4; the tail is kept, not lost to 1 - 1.
        close(on(0.4 + 4.0, true) / normal::cdf(-20.0), 1.0, 1e-12, "far above");
        close(on(-7.6, true), 1.0, 1e-15, "far below");
        // Without noise the threshold itself is refused, and the next number is not.
        assert_eq!((on(0.5, false), on(0.5_f64.next_up(), false)), (1.0, 0.0));
    }
    // No deviation: the mean moves the point onto the threshold, exactly.
    let shifted = Gaussian::new(vec![0.25, 0.0], Covariance::Diagonal(vec![0.0, 1.0])).unwrap();
    assert_eq!(rate(&stump, &shifted, &[true; 2], &[0.25, 0.0]), 1.0);
    assert_eq!(rate(&stump, &shifted, &[true; 2], &[0.25_f64.next_up() + 1e-9, 0.0]), 0.0);
    // A missing value that the splits do not place goes right.
    assert_eq!(rate(&stump, &noise, &[true; 2], &[f64::NAN, 0.0]), 0.0);
}

#[test]
fn below_splits_refuse_everything_but_the_threshold() {
    let rules = TreeRules { split: Split::Below, ..TreeRules::default() };
    let model =
        Trees::new(1, vec![tree(&[Ok((0, 0.5)), Err(-1.0), Err(1.0)])], rules, 0.0).unwrap();
    let noise = Gaussian::isotropic(1, 0.1).unwrap();
    assert_eq!(rate(&model, &noise, &[false], &[0.5]), 0.0);
    assert_eq!(rate(&model, &noise, &[false], &[0.5_f64.next_down()]), 1.0);
    close(rate(&model, &noise, &[true], &[0.5]), 0.5, 1e-15, "half on either side");
}

#[test]
fn two_splits_by_hand_with_gradient() {
    // Accepted where x₀ > 1 and x₁ <= 2: Δ = 1 - Φ̄(a) Φ(b) with a = (1 - x₀)/0.5, b = (2 - x₁)/2.
    let trees = vec![tree(&[Ok((0, 1.0)), Err(-1.0), Ok((1, 2.0)), Err(1.0), Err(-2.0)])];
    let model = Trees::new(3, trees, TreeRules::default(), 0.0).unwrap();
    let noise = Gaussian::new(vec![0.0; 3], Covariance::Diagonal(vec![0.5, 2.0, 1.0])).unwrap();
    for point in [[1.3, 0.5, 0.0], [1.0, 2.0, 0.0], [0.2, 7.0, 1.0]] {
        let (a, b) = ((1.0 - point[0]) / 0.5, (2.0 - point[1]) / 2.0);
        let expected = 1.0 - normal::upper_tail(a) * normal::cdf(b);
        let mut gradient = [9.0; 3];
        let mut boxes = Boxes::new(&model, &noise).unwrap();
        let found = boxes.rate_and_gradient(&point, &[true; 3], Some(&mut gradient)).unwrap();
        close(found, expected, 1e-15, "rate");
        close(gradient[0], -normal::pdf(a) / 0.5 * normal::cdf(b), 1e-15, "by the first");
        close(gradient[1], normal::upper_tail(a) * normal::pdf(b) / 2.0, 1e-15, "by the second");
        assert_eq!(gradient[2], 0.0);
        close(
            rate(&as_ensemble(&model), &noise, &[true; 3], &point),
            expected,
            1e-15,
            "as an ensemble",
        );
        // Noise on the second alone: the first is on one side.
        let alone = if point[0] > 1.0 { normal::upper_tail(b) } else { 1.0 };
        let found =
            boxes.rate_and_gradient(&point, &[false, true, false], Some(&mut gradient)).unwrap();
        close(found, alone, 1e-15, "noise on one");
        assert_eq!(gradient[0], 0.0);
    }
    assert!(
        Boxes::new(&as_ensemble(&model), &noise)
            .unwrap()
            .rate_and_gradient(&[0.0; 3], &[true; 3], None)
            .is_none()
    );
}

/// Random trees on a coarse grid of thresholds, so that trees share cuts and points can be put on
/// them.
struct Maker(Stream);

impl Maker {
    fn new(key: u64) -> Self {
        Self(Seed(77).stream(Purpose::Data, key))
    }

    fn cut(&mut self) -> f64 {
        self.0.below(17) as f64 / 8.0 - 1.0
    }

    fn nodes(
        &mut self,
        d: usize,
        depth: usize,
        rule: Aggregate,
        out: &mut Vec<std::result::Result<(usize, f64), f64>>,
    ) {
        if depth == 0 || self.0.below(6) == 0 {
            // Eighths: sums tie at zero often.
            let eighth = self.0.below(9) as f64 / 8.0;
            out.push(Err(if rule == Aggregate::Sum { eighth - 0.5 } else { eighth }));
            return;
        }
        let split = (self.0.below(d), self.cut());
        out.push(Ok(split));
        self.nodes(d, depth - 1, rule, out);
        self.nodes(d, depth - 1, rule, out);
    }

    fn model(&mut self, d: usize, n: usize, depth: usize, rules: TreeRules) -> Trees {
        let mut grow = || {
            let mut nodes = Vec::new();
            self.nodes(d, depth, rules.aggregate, &mut nodes);
            tree(&nodes)
        };
        let trees = (0..n).map(|_| grow()).collect();
        Trees::new(d, trees, rules, 0.0).unwrap()
    }

    /// Half of the features on cuts.
    fn point(&mut self, d: usize) -> Vec<f64> {
        (0..d)
            .map(|_| if self.0.below(2) == 0 { self.cut() } else { 0.7 * self.0.normal() })
            .collect()
    }

    fn active(&mut self, d: usize) -> Vec<bool> {
        (0..d).map(|_| self.0.below(4) > 0).collect()
    }
}

fn all_rules() -> Vec<TreeRules> {
    let mut rules = Vec::new();
    for aggregate in [Aggregate::Sum, Aggregate::Mean, Aggregate::Vote] {
        for split in [Split::AtMost, Split::Below] {
            rules.push(TreeRules { aggregate, split, ..TreeRules::default() });
        }
    }
    rules
}

fn noises(d: usize) -> Vec<Arc<dyn Noise>> {
    let sd: Vec<f64> = (0..d).map(|j| 0.15 + 0.1 * j as f64).collect();
    let mean = (0..d).map(|j| 0.05 * j as f64 - 0.03).collect();
    let mut all: Vec<Arc<dyn Noise>> =
        vec![Arc::new(Gaussian::new(mean, Covariance::Diagonal(sd.clone())).unwrap())];
    for family in ["uniform", "laplace", "student-t:,df=3"] {
        all.push(NoiseSpec::parse(family).unwrap().build(sd.clone()).unwrap());
    }
    all
}

/// Every cell of the grid of all cuts: its mass by the distribution functions alone, its score by
/// the model at a point inside.
fn by_cells(model: &Trees, noise: &dyn Noise, active: &[bool], point: &[f64]) -> f64 {
    let (d, law) = (point.len(), noise.as_independent().unwrap());
    let mut sides: Vec<Vec<(f64, f64)>> = Vec::new();
    for j in 0..d {
        if !active[j] {
            sides.push(vec![(point[j], 1.0)]);
            continue;
        }
        let mut cuts: Vec<f64> = model
            .nodes()
            .iter()
            .filter(|node| node.left != node.right && node.feature as usize == j)
            .map(|node| node.cut)
            .collect();
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let below = |cut: f64| law.shape(j).cdf((cut - point[j] - law.mean(j)) / law.sd(j));
        let mut cells = Vec::new();
        let mut before = 0.0;
        for &cut in &cuts {
            cells.push((cut, below(cut) - before));
            before = below(cut);
        }
        let last = cuts.last().map_or(0.0, |cut| cut + 1.0);
        cells.push((last, 1.0 - before));
        sides.push(cells);
    }
    let (mut index, mut total) = (vec![0; d], 0.0);
    loop {
        let cell: Vec<f64> = (0..d).map(|j| sides[j][index[j]].0).collect();
        let accepted = model.score(&cell).unwrap() > 0.0;
        if !accepted {
            total += (0..d).map(|j| sides[j][index[j]].1).product::<f64>();
        }
        let Some(j) = (0..d).find(|&j| index[j] + 1 < sides[j].len()) else { return total };
        index[..j].fill(0);
        index[j] += 1;
    }
}

#[test]
fn rates_are_sums_over_all_cells() {
    for (key, rules) in all_rules().into_iter().enumerate() {
        let mut make = Maker::new(key as u64);
        let (mut open, mut between) = (0, 0);
        for round in 0..60 {
            let d = 1 + round % 3;
            let n = [1, 2, 5, 12][round % 4];
            let model = make.model(d, n, 1 + round % 5, rules);
            for noise in noises(d) {
                let (point, active) = (make.point(d), make.active(d));
                let expected = by_cells(&model, &*noise, &active, &point);
                let mut boxes = Boxes::new(&model, &*noise).unwrap();
                let found = boxes.interval(&point, &active, PLENTY, 0.0);
                let what = format!("{rules:?} {d} {n} {}", noise.name());
                assert!(found.upper.to_bits() == found.lower.to_bits(), "{what}: {found:?}");
                close(found.lower, expected, 1e-13, &what);
                between += usize::from(expected > 1e-3 && expected < 0.999);
                let mass = boxes.search(&point, &active, (PLENTY, 0.0), None);
                close(mass.refused + mass.accepted, 1.0, 1e-13, "refused and accepted");
                // Whatever is left open, the interval holds the rate, and more boxes never widen
                // it.
                let mut width = 1.0 + 1e-13;
                for budget in [0, 1, 3, 10, 30, 100] {
                    let held = boxes.interval(&point, &active, budget, 0.0);
                    assert!(
                        held.lower <= expected + 1e-13 && expected <= held.upper + 1e-13,
                        "{what}: {held:?}"
                    );
                    assert!(held.upper - held.lower <= width + 1e-13, "{what}: {held:?}");
                    width = held.upper - held.lower;
                    open += usize::from(width > 0.0);
                }
                let wide = boxes.interval(&point, &active, PLENTY, 0.1);
                assert!(wide.upper - wide.lower <= 0.1 + 1e-13 && wide.lower <= expected + 1e-13);
            }
        }
        assert!(open > 60 && between > 40, "{open} {between}: the cases are too easy");
    }
}

#[test]
fn boxes_that_stay_know_the_rate_wherever_the_point_goes() {
    let mut steep = 0;
    for (key, rules) in all_rules().into_iter().enumerate() {
        let mut make = Maker::new(100 + key as u64);
        for round in 0..40 {
            let d = 1 + round % 3;
            let model = make.model(d, [2, 5, 12][round % 3], 1 + round % 5, rules);
            for noise in noises(d) {
                let (mut point, active) = (make.point(d), make.active(d));
                let mut boxes = Boxes::new(&model, &*noise).unwrap();
                // The first point is searched, the second surveys, the others read; the last starts
                // again.
                for visit in 0..5 {
                    let mut gradient = vec![f64::NAN; d];
                    let found = boxes.rate_if_few(&point, &active, Some(&mut gradient)).unwrap();
                    let expected = by_cells(&model, &*noise, &active, &point);
                    let what = format!("{rules:?} {d} {} visit {visit}", noise.name());
                    close(found, expected, 2e-9, &what);
                    close(boxes.rate_if_few(&point, &active, None).unwrap(), expected, 2e-9, &what);
                    for j in (0..d).filter(|_| noise.as_gaussian().is_some()) {
                        let h = 1e-5;
                        let at = |by: f64| {
                            let mut moved = point.clone();
                            moved[j] += by;
                            by_cells(&model, &*noise, &active, &moved)
                        };
                        let expected = if active[j] { (at(h) - at(-h)) / (2.0 * h) } else { 0.0 };
                        close(gradient[j], expected, 1e-5, &what);
                        steep += usize::from(expected.abs() > 0.1);
                    }
                    let other = make.point(d);
                    for j in (0..d).filter(|&j| active[j] || visit == 3) {
                        point[j] = if visit == 2 { 3.0 * other[j] - 1.0 } else { other[j] };
                    }
                }
            }
        }
    }
    assert!(steep > 200, "{steep}: the cases are too flat");
}

#[test]
fn sums_that_tie_are_refused_as_the_model_refuses_them() {
    // 0.1 + 0.2 - 0.3 is 5.6e-17 in this order and 2.8e-17 or 0 in others: the model's own order
    // decides.
    let stump = |low: f64, high: f64| tree(&[Ok((0, 0.0)), Err(low), Err(high)]);
    for values in
        [[0.1, 0.2, -0.3], [0.2, -0.3, 0.1], [-0.3, 0.1, 0.2], [0.3, -0.2, -0.1], [-0.1, 0.3, -0.2]]
    {
        let trees = values.iter().map(|&value| stump(-1.0, value)).collect();
        let model = Trees::new(1, trees, TreeRules::default(), 0.0).unwrap();
        let noise = Gaussian::isotropic(1, 1.0).unwrap();
        let expected = if model.score(&[1.0]).unwrap() > 0.0 { 0.5 } else { 1.0 };
        close(rate(&model, &noise, &[true], &[0.0]), expected, 1e-15, &format!("{values:?}"));
    }
}

/// The share of refused draws.
fn sampled(model: &Trees, noise: &dyn Noise, active: &[bool], point: &[f64], n: usize) -> f64 {
    let (d, mut stream) = (point.len(), Seed(5).stream(Purpose::Rate, 1));
    let (mut rows, mut scores, mut refused) = (vec![0.0; 1000 * d], vec![0.0; 1000], 0);
    for _ in 0..n / 1000 {
        noise.sample_into(&mut stream, RowsMut::new(&mut rows, d).unwrap());
        for row in rows.chunks_exact_mut(d) {
            (0..d).for_each(|j| row[j] = point[j] + if active[j] { row[j] } else { 0.0 });
        }
        model.score_batch(Rows::new(&rows, d).unwrap(), &mut scores).unwrap();
        refused += 1000 - scores.iter().filter(|score| **score > 0.0).count();
    }
    refused as f64 / n as f64
}

fn against_samples(n: usize, rounds: usize) {
    for (key, rules) in all_rules().into_iter().enumerate() {
        let mut make = Maker::new(100 + key as u64);
        for round in 0..rounds {
            let d = [4, 10][round % 2];
            let model = make.model(d, [1, 10][round / 2 % 2], 3, rules);
            let noise = &noises(d)[round % 4];
            let (point, active) = (make.point(d), make.active(d));
            let exact = rate(&model, &**noise, &active, &point);
            let allowed = 4.0 * (exact * (1.0 - exact) / n as f64).sqrt() + 1e-12;
            close(
                sampled(&model, &**noise, &active, &point, n),
                exact,
                allowed,
                &format!("{rules:?} {round}"),
            );
        }
    }
}

#[test]
fn rates_are_what_samples_say() {
    against_samples(20_000, 16);
}

#[test]
#[ignore = "ten million samples, a minute"]
fn rates_are_what_many_samples_say() {
    against_samples(10_000_000, 4);
}

#[test]
fn gradients_agree_with_central_differences() {
    let mut make = Maker::new(9);
    let mut steep = 0;
    for round in 0..200 {
        let d = 1 + round % 5;
        let model = make.model(d, 1, 5, TreeRules::default());
        // The uniform density jumps and the Laplace one has a kink: there are no differences to
        // compare there.
        let noise = &noises(d)[[0, 3][round % 2]];
        let (point, active) = (make.point(d), make.active(d));
        let mut boxes = Boxes::new(&model, &**noise).unwrap();
        let mut gradient = vec![0.0; d];
        boxes.rate_and_gradient(&point, &active, Some(&mut gradient)).unwrap();
        for j in (0..d).filter(|&j| active[j]) {
            let mut at = |h: f64| {
                let mut moved = point.clone();
                moved[j] += h;
                boxes.rate_and_gradient(&moved, &active, None).unwrap()
            };
            // Error h² f''/6 of densities at deviations of 0.15 and more: below 1e-6.
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            close(gradient[j], slope, 1e-6, &format!("{round} {j}"));
            steep += usize::from(slope.abs() > 0.01);
        }
    }
    assert!(steep > 100, "{steep}");
}

#[test]
fn trees_of_many_leaves_take_several_words() {
    // Depth 9 on one feature: up to 512 leaves, so sets of 64, 256 and 1024 are all used.
    let noise = Gaussian::isotropic(1, 0.4).unwrap();
    for leaves in [60_usize, 65, 200, 257, 700, 1500] {
        let chain = |offset: f64| {
            let mut nodes = Vec::new();
            for i in 0..leaves - 1 {
                nodes.push(Ok((0, offset + i as f64 / leaves as f64)));
                nodes.push(Err(((i * 7919) % 13) as f64 - 6.0));
            }
            nodes.push(Err(1.0));
            tree(&nodes)
        };
        let model =
            Trees::new(1, vec![chain(0.0), chain(0.0003)], TreeRules::default(), 0.0).unwrap();
        let found = Boxes::new(&model, &noise).unwrap().interval(&[0.4], &[true], PLENTY, 0.0);
        let expected = by_cells(&model, &noise, &[true], &[0.4]);
        if leaves <= 1024 {
            close(found.lower, expected, 1e-12, &format!("{leaves} leaves"));
            assert!(found.upper - found.lower <= 0.0);
        } else {
            assert_eq!((found.lower, found.upper), (0.0, 1.0));
        }
    }
}

#[test]
fn sums_that_overflow_are_decided_leaf_by_leaf() {
    let stump =
        |feature: usize, low: f64, high: f64| tree(&[Ok((feature, 0.0)), Err(low), Err(high)]);
    let trees = vec![
        stump(0, -1e308, 1e308),
        stump(1, -1e308, 1e308),
        stump(0, 1e308, -1e308),
        stump(1, 1.0, 2.0),
    ];
    let model = Trees::new(2, trees, TreeRules::default(), 0.0).unwrap();
    let noise = Gaussian::isotropic(2, 1.0).unwrap();
    let expected = by_cells(&model, &noise, &[true; 2], &[0.3, -0.1]);
    close(rate(&model, &noise, &[true; 2], &[0.3, -0.1]), expected, 1e-14, "overflow");
}

#[test]
fn noise_that_ties_features_is_refused() {
    let model = Trees::new(2, vec![tree(&[Err(1.0)])], TreeRules::default(), 0.0).unwrap();
    let full = Gaussian::new(vec![0.0; 2], Covariance::Full(vec![1.0, 0.5, 0.5, 1.0])).unwrap();
    assert!(Boxes::new(&model, &full).is_none());
}
