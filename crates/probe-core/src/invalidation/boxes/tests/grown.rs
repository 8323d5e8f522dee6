//! Forests and boosting grown on data, as large as those in use.

use super::{Maker, sampled};
use crate::invalidation::boxes::Boxes;
use crate::model::{Aggregate, Tree, TreeRules, Trees};
use crate::noise::Gaussian;

const D: usize = 10;
const N: usize = 1_000;

struct Data {
    x: Vec<[f64; D]>,
    yes: Vec<f64>,
}

fn data() -> Data {
    let mut draw = Maker::new(1000).0;
    let x: Vec<[f64; D]> = (0..N).map(|_| std::array::from_fn(|_| draw.normal())).collect();
    let signal = |x: &[f64; D]| {
        1.5 * x[0] - x[1] + x[2] * x[3] + (2.0 * x[4]).sin() + 0.7 * x[5].abs() - 0.5
    };
    let yes = x.iter().map(|x| f64::from(u8::from(signal(x) + draw.normal() > 0.0))).collect();
    Data { x, yes }
}

/// How a tree is grown on targets `y` with weights `h`: leaves say Σy/Σh, splits gain (Σy)²/Σh.
struct Grower<'a> {
    data: &'a Data,
    y: Vec<f64>,
    h: Vec<f64>,
    tried: usize,
    rate: f64,
    draw: Maker,
}

impl Grower<'_> {
    fn grow(&mut self, rows: Vec<usize>, depth: usize, tree: &mut Tree) -> i64 {
        let at = tree.left.len();
        let sum = |rows: &[usize], of: &[f64]| rows.iter().map(|&i| of[i]).sum::<f64>();
        let (y, h) = (sum(&rows, &self.y), sum(&rows, &self.h));
        tree.feature.push(0);
        tree.threshold.push(0.0);
        tree.value.push(self.rate * y / (h + 1e-9));
        tree.left.push(-1);
        tree.right.push(-1);
        let mut best = (1e-6, 0, 0.0);
        for _ in 0..if depth == 0 { 0 } else { self.tried } {
            let j = self.draw.0.below(D);
            let mut sorted = rows.clone();
            sorted.sort_by(|&a, &b| self.data.x[a][j].total_cmp(&self.data.x[b][j]));
            let (mut left_y, mut left_h) = (0.0, 0.0);
            for pair in sorted.windows(2) {
                left_y += self.y[pair[0]];
                left_h += self.h[pair[0]];
                let (a, b) = (self.data.x[pair[0]][j], self.data.x[pair[1]][j]);
                let gain = left_y * left_y / (left_h + 1e-9)
                    + (y - left_y).powi(2) / (h - left_h + 1e-9)
                    - y * y / (h + 1e-9);
                if gain > best.0 && a < b && left_h > 0.5 && h - left_h > 0.5 {
                    best = (gain, j, 0.5 * (a + b));
                }
            }
        }
        if best.0 > 1e-6 {
            let (_, j, cut) = best;
            let (left, right) = rows.into_iter().partition(|&i| self.data.x[i][j] <= cut);
            tree.feature[at] = j;
            tree.threshold[at] = cut;
            tree.left[at] = self.grow(left, depth - 1, tree);
            tree.right[at] = self.grow(right, depth - 1, tree);
        }
        at as i64
    }
}

/// `n` trees on resampled rows, three features tried per split.
fn forest(n: usize, depth: usize) -> Trees {
    let data = data();
    let y = data.yes.clone();
    let mut grower =
        Grower { data: &data, y, h: vec![1.0; N], tried: 3, rate: 1.0, draw: Maker::new(1) };
    let mut trees = Vec::new();
    for _ in 0..n {
        let rows = (0..N).map(|_| grower.draw.0.below(N)).collect();
        trees.push(Tree::default());
        grower.grow(rows, depth, trees.last_mut().unwrap());
    }
    let rules = TreeRules { aggregate: Aggregate::Mean, ..TreeRules::default() };
    Trees::new(D, trees, rules, 0.0).unwrap()
}

/// `n` trees on the derivatives of the logistic loss, ten features tried per split, learning rate
/// 0.3.
fn boosting(n: usize, depth: usize) -> Trees {
    let data = data();
    let mut scores = vec![0.0; N];
    let mut trees: Vec<Tree> = Vec::new();
    for round in 0..n {
        let p: Vec<f64> = scores.iter().map(|s: &f64| 1.0 / (1.0 + (-s).exp())).collect();
        let y = p.iter().zip(&data.yes).map(|(p, y)| y - p).collect();
        let h = p.iter().map(|p| p * (1.0 - p)).collect();
        let draw = Maker::new(2000 + round as u64);
        let mut grower = Grower { data: &data, y, h, tried: 10, rate: 0.3, draw };
        let mut tree = Tree::default();
        grower.grow((0..N).collect(), depth, &mut tree);
        let one = Trees::new(D, vec![tree.clone()], TreeRules::default(), 0.0).unwrap();
        scores.iter_mut().zip(&data.x).for_each(|(s, x)| *s += one.score_row(x));
        trees.push(tree);
    }
    Trees::new(D, trees, TreeRules::default(), 0.0).unwrap()
}

#[test]
fn large_ensembles_close_within_few_boxes_on_up_to_three_features() {
    let noise = Gaussian::isotropic(D, 0.1).unwrap();
    let data = data();
    for (name, model) in [("forest", forest(100, 6)), ("boosting", boosting(100, 4))] {
        let mut boxes = Boxes::new(&model, &noise).unwrap();
        let mut uncertain = 0;
        for k in 1..=3 {
            let (mut most, mut total) = (0, 0);
            for (i, point) in data.x.iter().take(40).enumerate() {
                let mut active = [false; D];
                (0..k).for_each(|j| active[(3 * i + j) % 6] = true);
                let found = boxes.interval(point, &active, 100_000, 1e-9);
                assert!(found.upper - found.lower <= 1e-9, "{name} {k}: {found:?}");
                most = most.max(found.boxes);
                total += found.boxes;
                if found.lower > 0.01 && found.upper < 0.99 && uncertain < 5 * k {
                    uncertain += 1;
                    let n = 20_000;
                    let allowed = 4.0 * (found.lower * (1.0 - found.lower) / n as f64).sqrt();
                    let share = sampled(&model, &noise, &active, point, n);
                    assert!(
                        (share - found.lower).abs() <= allowed,
                        "{name} {k}: {share} {found:?}"
                    );
                }
            }
            // Counts from when the rule for choosing cuts was fixed, with some margin.
            let limit = [30, 500, 4_000][k - 1];
            assert!(most <= limit, "{name} {k}: {most} boxes for one point, {total} for all");
        }
        assert!(uncertain > 5, "{name}: {uncertain}");
    }
}
