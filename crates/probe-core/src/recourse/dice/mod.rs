//! `dice`: several favourable points that are near the person and differ from each other.
//!
//! $$\min_{c_1 \ldots c_k}\ \frac1k\sum_i \max\big(0, 1 - s(c_i)\big) + \frac{\lambda_1}{k}\sum_i
//! d(c_i, x) - \lambda_2\det K, \qquad K_{ij} = \frac{1}{1 + d(c_i, c_j)}$$
//!
//! with $d$ the mean over the features of absolute differences in units of their median absolute
//! deviation. Source: Mothilal, Sharma and Tan 2020, arXiv:1905.07697, equations 3 to 5, their
//! gradient version: Adam, starting from the person (the first point) and from random points in the
//! features' ranges (the others). Small changes are then undone one after the other, wholly or as
//! far as the decision stays favourable (section 3.4). A change is small up to the `sparsity`
//! quantile of the absolute deviations from the median. Deviations and ranges come from the
//! reference rows. Without them, values count as spread evenly over each range.
//!
//! What differs: `sparsity` is 1 by default, so that all changes up to the largest deviation among
//! people count as small; the published program has 0.1. The hinge ends at a score of 1, and a
//! change that is not undone from there makes the answer more expensive. If a point is not
//! favourable at the end, $\lambda_1$ is divided by four and the descent is repeated; the paper
//! leaves the choice of weights to the user. The descent itself already avoids useless changes
//! (`walk` beside this folder).
//!
//! `count` ($k$) is 1 by default, one answer per person, as in PROBE's experiments. With more, each
//! person has that many answers, cheapest first.
//!
//! Constraints: the paper has features that may not vary and ranges. Here each step is clipped to
//! immutables, bounds and directions, and to the ranges of the features, as in the published
//! program (people outside a range may stay there). One-hot groups stay as they are; a limit on the
//! number of changes is not supported.
//!
//! Settings: `count`, `proximity` ($\lambda_1$), `diversity` ($\lambda_2$), `sparsity` (0 undoes
//! nothing), `learning-rate`, `steps`.
//!
//! Cost: $k$ gradients and $k^2$ distances per step.

mod diversity;
mod scales;

use super::descent;
use super::flip::{Flip, Search};
use super::reach::Reach;
use super::walk::{Kink, Walk};
use super::{Ask, MethodOptions, Reason, RecourseMethod, Solver, Task, Worker};
use crate::cost::Cost;
use crate::error::{Result, require};
use crate::model::Differentiable;
use crate::registry::Entry;
use crate::seed::{Key, Purpose};
use scales::Scales;
use std::sync::Arc;

const NAME: &str = "dice";
/// Steps without a lower loss after which a descent ends.
const PATIENCE: usize = 100;
/// The least decrease that counts.
const PROGRESS: f64 = 1e-5;
/// How often $\lambda_1$ is divided by [`LESS`].
const ROUNDS: usize = 8;
const LESS: f64 = 4.0;
/// More answers than this are probably a typing error.
const MOST: usize = 100;

pub(super) const ENTRY: Entry<dyn RecourseMethod> =
    Entry { name: NAME, reference: "Mothilal, Sharma and Tan 2020, arXiv:1905.07697", item: &Dice };

struct Dice;

#[derive(Debug, Clone, Copy)]
struct Params {
    count: usize,
    proximity: f64,
    diversity: f64,
    sparsity: f64,
    learning_rate: f64,
    steps: usize,
}

impl Params {
    fn new(options: &MethodOptions) -> Result<Self> {
        options.only(
            NAME,
            &["count", "proximity", "diversity", "sparsity", "learning-rate", "steps"],
        )?;
        let rule = "at least 0 and finite";
        let at_least_zero = |v: f64| v >= 0.0 && v.is_finite();
        let count = options.count("count", 1)?;
        require(count <= MOST, "option count", "at most 100", count as f64)?;
        Ok(Self {
            count,
            proximity: options.number("proximity", 0.5, rule, at_least_zero)?,
            diversity: options.number("diversity", 1.0, rule, at_least_zero)?,
            sparsity: options
                .number("sparsity", 1.0, "between 0 and 1", |v| (0.0..=1.0).contains(&v))?,
            learning_rate: options.number("learning-rate", 0.02, "positive and finite", |v| {
                v > 0.0 && v.is_finite()
            })?,
            steps: options.count("steps", 1_000)?,
        })
    }
}

impl RecourseMethod for Dice {
    fn name(&self) -> &'static str {
        NAME
    }

    fn check_options(&self, options: &MethodOptions) -> Result<()> {
        Params::new(options).map(|_| ())
    }

    fn prepare(&self, task: &Arc<Task>) -> Result<Box<dyn Solver>> {
        descent::check(NAME, task)?;
        let params = Params::new(&task.options)?;
        let scales = Scales::new(task, params.sparsity);
        let n = task.model.n_features() as f64;
        let weights: Vec<f64> =
            scales.deviation.iter().map(|deviation| 1.0 / (n * deviation)).collect();
        let distance = Cost::new("l1", weights.clone(), weights)?;
        Ok(Box::new(Prepared { task: Arc::clone(task), params, scales, distance }))
    }
}

struct Prepared {
    task: Arc<Task>,
    params: Params,
    scales: Scales,
    /// $d$.
    distance: Cost,
}

impl Solver for Prepared {
    fn worker(&self) -> Box<dyn Worker + '_> {
        let (n, k) = (self.task.model.n_features(), self.params.count);
        let Some(model) = self.task.model.as_differentiable() else {
            unreachable!("prepare refuses models without a gradient")
        };
        let search = Several {
            prepared: self,
            model,
            walks: (0..k)
                .map(|_| Walk::new(n, self.params.learning_rate, Kink::Shortest))
                .collect(),
            gradients: vec![vec![0.0; n]; k],
            person: Vec::new(),
            answers: vec![vec![0.0; n]; k],
        };
        Box::new(Flip::new(&self.task, search))
    }
}

struct Several<'a> {
    prepared: &'a Prepared,
    model: &'a dyn Differentiable,
    walks: Vec<Walk>,
    gradients: Vec<Vec<f64>>,
    /// The person that the answers are for.
    person: Vec<f64>,
    /// Cheapest first.
    answers: Vec<Vec<f64>>,
}

impl Several<'_> {
    /// The first point starts from the person, the others anywhere in the ranges.
    fn begin(&mut self, factual: &[f64], reach: &Reach) {
        let task = &self.prepared.task;
        let mut stream = task.seed.stream(Purpose::Search, Key::default().values(factual).finish());
        for (i, walk) in self.walks.iter_mut().enumerate() {
            walk.begin(factual, reach);
            if i > 0 {
                for (x, [low, high]) in walk.point.iter_mut().zip(task.reference.ranges()) {
                    *x = low + (high - low) * stream.uniform();
                }
                reach.confine(&mut walk.point);
            }
        }
    }

    /// The loss of all points, times their number, and how many are favourable. Fills in gradients,
    /// without those of the proximity term.
    fn loss(&mut self, factual: &[f64], proximity: f64) -> Result<(f64, usize)> {
        let k = self.walks.len();
        let distance = &self.prepared.distance;
        let (mut loss, mut favourable) = (0.0, 0);
        for (walk, gradient) in self.walks.iter().zip(&mut self.gradients) {
            let score = self.model.score_and_gradient(&walk.point, gradient)?;
            favourable += usize::from(score > 0.0);
            loss += (1.0 - score).max(0.0) + proximity * distance.between(factual, &walk.point);
            let slope = if score < 1.0 { -1.0 } else { 0.0 };
            gradient.iter_mut().for_each(|g| *g *= slope);
        }
        if k > 1 {
            let between =
                |i: usize, j: usize| distance.between(&self.walks[i].point, &self.walks[j].point);
            let pairs: Vec<f64> = (0..k * k).map(|at| between(at / k, at % k)).collect();
            let (det, factors) = diversity::determinant(&pairs, k);
            let weight = self.prepared.params.diversity * k as f64;
            loss -= weight * det;
            for i in 0..k {
                for j in (0..k).filter(|&j| j != i) {
                    let (a, b) = (&self.walks[i].point, &self.walks[j].point);
                    for (f, g) in self.gradients[i].iter_mut().enumerate() {
                        let way = a[f] - b[f];
                        if way != 0.0 {
                            *g -= weight
                                * factors[i * k + j]
                                * distance.weight(f, 1.0)
                                * way.signum();
                        }
                    }
                }
            }
        }
        Ok((loss, favourable))
    }

    /// One descent; leaves the best points in `self.answers` and returns how many of them are
    /// favourable.
    fn descend(&mut self, factual: &[f64], reach: &Reach, proximity: f64) -> Result<usize> {
        self.begin(factual, reach);
        let (mut least, mut most, mut better_at) = (f64::INFINITY, 0, 0);
        for step in 0..=self.prepared.params.steps {
            let (loss, favourable) = self.loss(factual, proximity)?;
            if step == 0 || favourable > most || (favourable == most && loss < least) {
                if favourable > most || loss < least - PROGRESS {
                    better_at = step;
                }
                (least, most) = (loss, favourable);
                self.answers
                    .iter_mut()
                    .zip(&self.walks)
                    .for_each(|(a, walk)| a.copy_from_slice(&walk.point));
            }
            let mut moved = false;
            for (walk, gradient) in self.walks.iter_mut().zip(&mut self.gradients) {
                moved |= walk.step(&self.prepared.distance, (factual, reach), gradient, proximity);
            }
            if !moved || step > better_at + PATIENCE {
                break;
            }
        }
        Ok(most)
    }

    /// Undoes small changes of one answer, smallest first, wholly or as far as the decision stays
    /// favourable.
    fn take_back(&mut self, i: usize, start: &[f64]) -> Result<()> {
        let Scales { deviation, small } = &self.prepared.scales;
        let point = &mut self.answers[i];
        if self.model.score(point)? <= 0.0 {
            return Ok(());
        }
        let size = |point: &[f64], j: usize| (point[j] - start[j]).abs() / deviation[j];
        let mut order: Vec<usize> = (0..point.len())
            .filter(|&j| point[j] != start[j] && (point[j] - start[j]).abs() <= small[j])
            .collect();
        order.sort_by(|&a, &b| size(point, a).total_cmp(&size(point, b)));
        for j in order {
            let (mut keep, mut back) = (point[j], start[j]);
            point[j] = back;
            if self.model.score(point)? > 0.0 {
                continue;
            }
            for _ in 0..20 {
                let middle = 0.5 * (keep + back);
                point[j] = middle;
                if self.model.score(point)? > 0.0 {
                    keep = middle;
                } else {
                    back = middle;
                }
            }
            point[j] = keep;
        }
        Ok(())
    }

    fn answer(&mut self, factual: &[f64], reach: &Reach, start: &[f64]) -> Result<()> {
        let (k, mut proximity) = (self.walks.len(), self.prepared.params.proximity);
        let reach = reach.within(self.prepared.task.reference.ranges(), factual);
        for _ in 0..ROUNDS {
            if self.descend(factual, &reach, proximity)? == k {
                break;
            }
            proximity /= LESS;
        }
        if self.prepared.params.sparsity > 0.0 {
            (0..k).try_for_each(|i| self.take_back(i, start))?;
        }
        let cost = &self.prepared.task.cost;
        let mut priced = Vec::with_capacity(k);
        for answer in &self.answers {
            priced.push((self.model.score(answer)? <= 0.0, cost.between(factual, answer)));
        }
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by(|&a, &b| {
            priced[a].0.cmp(&priced[b].0).then(priced[a].1.total_cmp(&priced[b].1))
        });
        self.answers = order.into_iter().map(|i| std::mem::take(&mut self.answers[i])).collect();
        self.person.clear();
        self.person.extend_from_slice(factual);
        Ok(())
    }
}

impl Search for Several<'_> {
    fn search(
        &mut self,
        ask: &Ask<'_>,
        reach: &Reach,
        point: &mut [f64],
    ) -> Result<std::result::Result<(), Reason>> {
        let factual = ask.factual;
        if self.person != factual {
            let start = point.to_vec();
            self.answer(factual, reach, &start)?;
        }
        let alternative = ask.alternative.min(self.walks.len() - 1);
        point.copy_from_slice(&self.answers[alternative]);
        Ok(if self.model.score(point)? > 0.0 { Ok(()) } else { Err(Reason::NotFound) })
    }

    fn n_options(&self) -> usize {
        self.walks.len()
    }
}
