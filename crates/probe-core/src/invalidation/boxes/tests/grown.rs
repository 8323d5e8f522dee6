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
    let signal = |x: &[f64; D]| 1.5 * x[0] - x[1] + x[2] * x[3] + (2.0 * x[4]).sin() + 0.7 * x[5].abs() - 0.5;
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
                let gain = left_y * left_y / (left_h + 1e-9) + (y - left_y).powi(2) / (h - left_h + 1e-9)
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
    let mut grower = Grower { data: &data, y, h: vec![1.0; N], tried: 3, rate: 1.0, draw: Maker::new(1) };
    let mut trees = Vec::new();
    for _ in 0..n {
        let rows = (0..N).map(|_| grower.draw.0.below(N)).collect();
        trees.push(Tree::default());
        grower.grow(rows, depth, trees.last_mut().unwrap());
    }
    let rules = TreeRules { aggregate: Aggregate::Mean, ..TreeRules::default() };
    Trees::new(D, trees, rules, 0.0).unwrap()
}

/// `n` trees on the derivatives of the logistic loss, ten features tried per split, learning rate 0.3.
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
#[allow(clippy::disallowed_methods)]
fn timing() {
    let noise = Gaussian::isotropic(D, 0.1).unwrap();
    let wide = Gaussian::isotropic(D, 0.3).unwrap();
    let data = data();
    for (name, model) in [("forest 100x6", forest(100, 6)), ("boosting 100x4", boosting(100, 4)), ("boosting 100x6", boosting(100, 6))] {
        for (sigma, noise) in [(0.1, &noise), (0.3, &wide)] {
            for k in 1..=4 {
                for tolerance in [1e-4, 1e-9, 0.0] {
                    let mut boxes = Boxes::new(&model, noise).unwrap();
                    let (mut counts, mut times, mut widths, mut worst) = (Vec::new(), Vec::new(), 0.0_f64, 0);
                    for i in 0..40 {
                        let mut active = [false; D];
                        (0..k).for_each(|j| active[(i * 3 + j) % D.min(6)] = true);
                        let mut best = f64::INFINITY;
                        let mut found = None;
                        for _ in 0..3 {
                            let start = std::time::Instant::now();
                            found = Some(boxes.interval(&data.x[i], &active, 200_000, tolerance));
                            best = best.min(start.elapsed().as_secs_f64());
                        }
                        let found = found.unwrap();
                        counts.push(found.boxes);
                        worst = worst.max(found.boxes);
                        times.push(best);
                        widths = widths.max(found.upper - found.lower);
                    }
                    counts.sort_unstable();
                    let max = times.iter().copied().fold(0.0, f64::max);
                    let mean = times.iter().sum::<f64>() / times.len() as f64;
                    println!("{name} sd {sigma} k={k} tol {tolerance:e}: boxes median {} max {worst}, mean {:.3} ms, max {:.3} ms, widest {widths:.1e}", counts[counts.len()/2], mean*1e3, max*1e3);
                }
            }
        }
    }
    let _ = sampled;
}
