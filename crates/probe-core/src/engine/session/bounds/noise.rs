//! No answer is nearer than the smoothed margin allows.
//!
//! With $M(x) = \Phi^{-1}(1 - \Delta(x))$ and Gaussian noise that acts on features $A$ regardless
//! of what changes, $M(x + \delta) \le M(x) + \sqrt{\delta_A^\top\Sigma_{AA}^{-1}\delta_A}$ for
//! every $\delta$ that changes features of $A$ alone, for any model: see [`crate::theory`], of
//! which this is [`least_distance`] with the noise as the unit. An answer has $M \ge z_r$, so that
//! it is at least $d = z_r - M(x)$ away in that metric. `distance` computes the least cost of going
//! that far. Correlated noise: with $P = \Sigma_{AA}^{-1}$, $\delta^\top P\delta$ is convex and so
//! largest at a corner of the ball of cost $C$, $C^2\max_j P_{jj}/c_j^2$ under `l1`, and at most
//! $C^2$ times the sum (`linf`) or the largest row sum (`l2`) of $|P_{ij}|/(c_ic_j)$.
//!
//! A change of a feature or a category without noise may change the margin by any amount. An answer
//! with such a change costs at least as much as the cheapest one, and the bound is the smaller of
//! the two. There is no bound for noise on changed features only, because $M$ then depends on what
//! changes, and none for noise that is not Gaussian.
//!
//! If the margin is sampled, an upper bound on it is computed from fresh, independent samples
//! around the person. It fails with the error probability of a certificate. A certificate may use
//! the same samples, because each of the two statements holds with its own confidence.

use super::distance::{Move, least_total};
use super::{Bound, Make, Person};
use crate::engine::outcome::Proof;
use crate::error::Result;
use crate::math::cholesky;
use crate::noise::Gaussian;
use crate::recourse::{Reason, Task};
use crate::schema::Grid;
use crate::theory::least_distance;

/// Distances are reduced by this, to be on the safe side of rounding: as a share and in deviations.
const ROUNDING: f64 = 1e-9;
/// Beyond this distance, in deviations, the noise is too small for a useful bound.
const FAR: f64 = 1e100;
/// A correlation matrix with a smaller pivot is not inverted; the share by which rounding may be
/// off in the others.
const LEAST_PIVOT: f64 = 1e-6;
const ROUNDING_OF_INVERSE: f64 = 1e-6;

pub(super) const MAKE: Make = |engine| {
    let task = engine.task();
    let active = task.noise_on.fixed(&task.actions)?;
    let gaussian = task.noise.as_gaussian()?;
    let sd: Vec<f64> =
        (0..active.len()).map(|j| if active[j] { gaussian.sd(j) } else { 0.0 }).collect();
    let precision = match gaussian.is_diagonal() {
        true => None,
        false => Some(precision(gaussian, &sd)?),
    };
    Some(Box::new(Noise { task, sd, precision, moves: Vec::new() }))
};

struct Noise<'e> {
    task: &'e Task,
    /// Standard deviations; 0 where a feature is carried out exactly.
    sd: Vec<f64>,
    /// The inverse of the covariance, for correlated noise: 0 in rows and columns of features
    /// without noise.
    precision: Option<Vec<f64>>,
    moves: Vec<Move>,
}

impl Bound for Noise<'_> {
    fn prove(&mut self, person: &mut Person<'_, '_>, proof: &mut Proof) -> Result<()> {
        let norm = person.cost.norm();
        let exactly = self.least_exact_change(person);
        if exactly == Some(0.0) {
            return Ok(());
        }
        let delta = 1.0 - person.engine.setup().confidence;
        let known = person.judge.margin_at_most(person.rounding.from(), delta)?;
        let d = least_distance(1.0, person.max_rate, known.margin)? * (1.0 - ROUNDING) - ROUNDING;
        if !(d > 0.0 && d < FAR) {
            return Ok(());
        }
        let away = match self.precision {
            Some(_) => self.least_correlated(person, d),
            None => self.least_independent(person, d),
        };
        let total = match (away, exactly) {
            (Some(away), Some(exactly)) => away.min(exactly),
            (Some(total), None) | (None, Some(total)) => total,
            (None, None) => {
                // A sampled margin does not prove that there is no answer.
                proof.none = known.certain.then_some(Reason::RateNotReachable);
                return Ok(());
            }
        };
        let cost = norm.finish(total) * (1.0 - ROUNDING);
        proof.cost = proof.cost.max(cost);
        if known.certain {
            proof.certain = proof.certain.max(cost);
        }
        Ok(())
    }
}

impl Noise<'_> {
    /// The least total of a change that noise does not act on; `None` if there is none.
    fn least_exact_change(&self, person: &Person<'_, '_>) -> Option<f64> {
        let (actions, cost, from) = (&self.task.actions, person.cost, person.rounding.from());
        let mut least: Option<f64> = None;
        let mut take = |total: f64| least = Some(least.map_or(total, |so_far| so_far.min(total)));
        for (j, &x) in from.iter().enumerate() {
            if self.sd[j] > 0.0 || !actions.is_mutable_numeric(j) {
                continue;
            }
            let Some((low, high)) = actions.interval(j, x) else { continue };
            for (way, end) in [(1.0, high), (-1.0, low)] {
                if way * (end - x) > 0.0 {
                    let first = actions.grid(j).map_or(0.0, |grid| step_beyond(grid, x, way, 0.0));
                    let first = first.min(way * (end - x));
                    take(cost.norm().add(0.0, cost.weight(j, way) * first));
                }
            }
        }
        for (g, group) in actions.groups().iter().enumerate() {
            let Some(current) = group.option_of(from).filter(|_| actions.is_mutable_group(g))
            else {
                continue;
            };
            for option in (0..group.n_options()).filter(|&o| o != current) {
                if group.allows(current, option) && !self.is_noisy(g, current, option) {
                    take(cost.of_choice(group, current, option));
                }
            }
        }
        least
    }

    /// Whether noise acts on every column that a change of category changes. Under correlated noise
    /// every change of category counts as one without noise, because [`Noise::least_correlated`]
    /// looks at numbers only. Changes that may fail need no special case: a failed change leaves
    /// the point nearer to the person.
    fn is_noisy(&self, g: usize, from: usize, to: usize) -> bool {
        let group = &self.task.actions.groups()[g];
        let values = group.values(from).iter().zip(group.values(to));
        self.precision.is_none()
            && group.columns().iter().zip(values).all(|(&c, (a, b))| a == b || self.sd[c] > 0.0)
    }

    /// The least total of moving `d` deviations away, by changes that noise acts on.
    fn least_independent(&mut self, person: &Person<'_, '_>, d: f64) -> Option<f64> {
        let (actions, cost, from) = (&self.task.actions, person.cost, person.rounding.from());
        let norm = cost.norm();
        let mut moves = std::mem::take(&mut self.moves);
        moves.clear();
        for (j, &x) in from.iter().enumerate() {
            let sd = self.sd[j];
            if !(sd > 0.0 && actions.is_mutable_numeric(j)) {
                continue;
            }
            let Some((low, high)) = actions.interval(j, x) else { continue };
            let mut both = Move::NONE;
            for (way, end) in [(1.0, high), (-1.0, low)] {
                let cap = way * (end - x);
                if cap > 0.0 {
                    let steps = actions.grid(j).map(|grid| {
                        let (before, beyond) = (step_before, step_beyond);
                        [before(grid, x, way, d * sd), beyond(grid, x, way, d * sd)]
                            .map(|step| step.min(cap) / sd)
                    });
                    let price = cost.weight(j, way) * sd;
                    both = both.or(Move::of_number(norm, d, (price, cap / sd), steps));
                }
            }
            moves.push(both);
        }
        for (g, group) in actions.groups().iter().enumerate() {
            let Some(current) = group.option_of(from).filter(|_| actions.is_mutable_group(g))
            else {
                continue;
            };
            let mut any = Move::NONE;
            for option in (0..group.n_options()).filter(|&o| o != current) {
                if group.allows(current, option) && self.is_noisy(g, current, option) {
                    let moved = |k: usize| group.values(option)[k] - group.values(current)[k];
                    let square = |(k, &c): (usize, &usize)| match moved(k) {
                        0.0 => 0.0,
                        delta => (delta / self.sd[c]).powi(2),
                    };
                    let squares: f64 = group.columns().iter().enumerate().map(square).sum();
                    let total = cost.of_choice(group, current, option);
                    any = any.or(Move::of_choice(total, total, squares.sqrt(), d));
                }
            }
            moves.push(any);
        }
        let least = least_total(norm, d, &mut moves, actions.max_changes());
        self.moves = moves;
        least
    }

    /// [`Noise::least_independent`] for correlated noise. It ignores how far features may move.
    fn least_correlated(&self, person: &Person<'_, '_>, d: f64) -> Option<f64> {
        let precision = self.precision.as_ref()?;
        let (actions, cost, n) = (&self.task.actions, person.cost, self.sd.len());
        let norm = cost.norm();
        let weight = |j: usize| {
            let may = self.sd[j] > 0.0 && actions.is_mutable_numeric(j);
            may.then(|| cost.weight(j, 1.0).min(cost.weight(j, -1.0)))
        };
        let (mut largest, mut sum, mut row_sum) = (0.0_f64, 0.0, 0.0_f64);
        for (i, w_i) in (0..n).filter_map(|i| Some((i, weight(i)?))) {
            let ratios =
                (0..n).filter_map(|j| Some((precision[i * n + j] / (w_i * weight(j)?)).abs()));
            let row: f64 = ratios.sum();
            (row_sum, sum) = (row_sum.max(row), sum + row);
            largest = largest.max(precision[i * n + i] / (w_i * w_i));
        }
        // The largest squared distance that a cost of 1 can buy.
        let bought = match (norm.is_linear(), norm.is_separable()) {
            (true, _) => largest,
            (false, true) => row_sum,
            (false, false) => sum,
        };
        let cost = d / (bought * (1.0 + ROUNDING_OF_INVERSE)).sqrt();
        (bought > 0.0).then(|| norm.total_of(cost))
    }
}

/// The distance to the next step that is at least `far` away, upwards or downwards by the sign of
/// `way`.
fn step_beyond(grid: Grid, x: f64, way: f64, far: f64) -> f64 {
    let at = x + way * far;
    let distance = way * (if way > 0.0 { grid.above(at) } else { grid.below(at) } - x);
    // Values almost at a step count as being on it, and a step at the person's own value does not
    // count.
    if distance >= far.max(1e-9 * grid.step) { distance } else { distance + grid.step }
}

/// The distance to the last step that is less than `far` away; 0 if there is none.
fn step_before(grid: Grid, x: f64, way: f64, far: f64) -> f64 {
    let at = x + way * far;
    (way * (if way > 0.0 { grid.below(at) } else { grid.above(at) } - x)).max(0.0)
}

/// The inverse of the covariance of the features that have noise; `None` if the matrix is nearly
/// singular.
fn precision(gaussian: &Gaussian, sd: &[f64]) -> Option<Vec<f64>> {
    let (n, noisy): (usize, Vec<usize>) =
        (sd.len(), (0..sd.len()).filter(|&j| sd[j] > 0.0).collect());
    let m = noisy.len();
    let correlation = |a: usize, b: usize| {
        gaussian.covariance_of(noisy[a], noisy[b]) / (sd[noisy[a]] * sd[noisy[b]])
    };
    let matrix: Vec<f64> = (0..m * m).map(|k| correlation(k / m, k % m)).collect();
    let inverse = cholesky::inverse(&matrix, m, LEAST_PIVOT)?;
    let mut all = vec![0.0; n * n];
    for (k, value) in inverse.into_iter().enumerate() {
        let (a, b) = (noisy[k / m], noisy[k % m]);
        all[a * n + b] = value / (sd[a] * sd[b]);
    }
    Some(all)
}
