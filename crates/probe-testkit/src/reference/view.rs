//! An instance taken apart: numeric columns, group settings, and the score each set of changes
//! needs.

use crate::instance::{Direction, Instance, Mask, Norm};

/// Rounding allowed when a bound is met exactly, relative to the size of the terms.
pub(super) const ROUNDING: f64 = 1e-13;

/// A column in no group.
#[derive(Debug, Clone)]
pub(super) struct Column {
    /// Its index in the instance.
    pub(super) index: usize,
    /// Its weight.
    pub(super) weight: f64,
    /// The person's value.
    pub(super) x: f64,
    /// Lowest admissible value.
    pub(super) low: f64,
    /// Highest admissible value.
    pub(super) high: f64,
    /// Cost of one unit up and down.
    up: f64,
    down: f64,
}

impl Column {
    /// Whether it may stay.
    pub(super) fn may_stay(&self) -> bool {
        self.low <= self.x && self.x <= self.high
    }

    /// Whether it may change.
    pub(super) fn may_move(&self) -> bool {
        self.low < self.x || self.x < self.high
    }

    /// The finite ends of its interval, other than staying.
    pub(super) fn ends(&self) -> impl Iterator<Item = f64> + use<> {
        let (low, high, x) = (self.low, self.high, self.x);
        let second = (high != low).then_some(high);
        [Some(low), second].into_iter().flatten().filter(move |v| v.is_finite() && *v != x)
    }

    /// Cost of one unit in the direction that raises the score.
    pub(super) fn useful_cost(&self) -> f64 {
        if self.weight > 0.0 { self.up } else { self.down }
    }

    /// The far end of its interval in the direction that raises the score; may be infinite.
    pub(super) fn useful_end(&self) -> f64 {
        if self.weight > 0.0 { self.high } else { self.low }
    }

    /// The weighted move to `v`.
    pub(super) fn move_to(&self, v: f64) -> f64 {
        if v > self.x { self.up * (v - self.x) } else { self.down * (self.x - v) }
    }

    /// `v` if it is admissible up to rounding, pulled inside.
    pub(super) fn admit(&self, v: f64) -> Option<f64> {
        let slack = ROUNDING * (1.0 + v.abs());
        (v >= self.low - slack && v <= self.high + slack).then(|| v.max(self.low).min(self.high))
    }

    /// Unit costs up and down.
    pub(super) fn unit_costs(&self) -> (f64, f64) {
        (self.up, self.down)
    }
}

/// One choice of option for every group.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The person with these options.
    pub(super) point: Vec<f64>,
    /// Bias and grouped columns' part of the score.
    pub(super) score: f64,
    /// Weighted moves of the grouped columns.
    pub(super) moves: Vec<f64>,
    /// Groups that changed.
    pub(super) changes: usize,
}

/// The instance taken apart.
#[derive(Debug, Clone)]
pub(super) struct View {
    /// Columns in no group.
    pub(super) columns: Vec<Column>,
    /// Every admissible choice of options.
    pub(super) settings: Vec<Setting>,
    /// Most changes allowed.
    pub(super) most: usize,
    /// Score needed by the set of changed columns (bit per entry of `columns`); one entry if it
    /// does not matter.
    needed: Vec<f64>,
    /// Mean and standard deviation of the noise in the score, likewise.
    noise: Vec<(f64, f64)>,
    /// What counts as just favourable.
    pub(super) least: f64,
    /// Size of the terms of the score at the person.
    pub(super) scale: f64,
}

/// $z$ with upper tail `r`, by bisection on the tail itself.
pub(super) fn quantile(r: f64) -> f64 {
    if r > 0.5 {
        return -quantile(1.0 - r);
    }
    let (mut low, mut high) = (0.0_f64, 40.0_f64);
    loop {
        let mid = 0.5 * (low + high);
        if mid <= low || mid >= high {
            return mid;
        }
        if 0.5 * libm::erfc(mid * std::f64::consts::FRAC_1_SQRT_2) > r {
            low = mid
        } else {
            high = mid
        }
    }
}

/// The admissible values of column `j`; `None` if there are none.
fn interval(instance: &Instance, j: usize) -> Option<(f64, f64)> {
    let (f, x) = (&instance.features[j], instance.person[j]);
    let (mut low, mut high) =
        if instance.strict { (f.low, f.high) } else { (f.low.min(x), f.high.max(x)) };
    if !f.mutable || f.direction == Direction::Increase {
        low = low.max(x);
    }
    if !f.mutable || f.direction == Direction::Decrease {
        high = high.min(x);
    }
    (low <= high).then_some((low, high))
}

impl View {
    /// `None` if no point at all is admissible.
    pub(super) fn new(instance: &Instance) -> Option<Self> {
        let n = instance.n_columns();
        let mut in_group = vec![false; n];
        instance.groups.iter().flat_map(|g| &g.columns).for_each(|&c| in_group[c] = true);
        let mut columns = Vec::new();
        for j in (0..n).filter(|&j| !in_group[j]) {
            let (low, high) = interval(instance, j)?;
            let f = &instance.features[j];
            let (weight, x) = (instance.weights[j], instance.person[j]);
            columns.push(Column {
                index: j,
                weight,
                x,
                low,
                high,
                up: f.cost_up,
                down: f.cost_down,
            });
        }
        let noisy_sets: Vec<Vec<usize>> = match instance.noise.mask {
            Mask::All => vec![(0..n).collect()],
            Mask::Mutable => {
                vec![(0..n).filter(|&j| !in_group[j] && instance.features[j].mutable).collect()]
            }
            Mask::Changed => (0..1_usize << columns.len())
                .map(|set| {
                    (0..columns.len())
                        .filter(|k| set >> k & 1 == 1)
                        .map(|k| columns[k].index)
                        .collect()
                })
                .collect(),
        };
        let z = quantile(instance.rate);
        let noise: Vec<(f64, f64)> =
            noisy_sets.iter().map(|set| noise_along(instance, set)).collect();
        let least = instance.least_score();
        let needed = noise
            .iter()
            .map(|&(mean, sd)| needed_score(mean, sd, z, instance.rate, least))
            .collect();
        let terms = instance.weights.iter().zip(&instance.person).map(|(w, x)| (w * x).abs());
        Some(Self {
            settings: settings(instance, &in_group),
            columns,
            most: instance.max_changes.unwrap_or(usize::MAX),
            needed,
            noise,
            least,
            scale: 1.0 + instance.bias.abs() + terms.sum::<f64>(),
        })
    }

    /// The score needed when the columns in `set` (bits) change.
    pub(super) fn needed(&self, set: usize) -> f64 {
        self.needed[if self.needed.len() == 1 { 0 } else { set }]
    }

    /// Mean and standard deviation of the noise in the score when the columns in `set` change.
    pub(super) fn noise(&self, set: usize) -> (f64, f64) {
        self.noise[if self.noise.len() == 1 { 0 } else { set }]
    }

    /// Whether a score is enough, up to rounding.
    pub(super) fn enough(&self, score: f64, needed: f64) -> bool {
        score >= needed - ROUNDING * self.scale
    }
}

/// $w_A^\top\mu_A$ and $\sqrt{w_A^\top\Sigma_{AA}w_A}$.
fn noise_along(instance: &Instance, set: &[usize]) -> (f64, f64) {
    let w = &instance.weights;
    let mean = set.iter().map(|&j| w[j] * instance.noise.mean[j]).sum();
    let mut variance = 0.0;
    for &i in set {
        variance += set.iter().map(|&j| w[i] * w[j] * instance.covariance(i, j)).sum::<f64>();
    }
    (mean, f64::max(variance, 0.0).sqrt())
}

/// The least score that is favourable and has a low enough rate.
fn needed_score(mean: f64, sd: f64, z: f64, rate: f64, least: f64) -> f64 {
    let needed = z * sd - mean;
    if needed <= 0.0 || rate >= 0.5 { needed.max(least) } else { needed }
}

/// Every admissible choice of options.
fn settings(instance: &Instance, in_group: &[bool]) -> Vec<Setting> {
    let mut points = vec![instance.person.clone()];
    for group in &instance.groups {
        let fixed = group.columns.iter().any(|&c| !instance.features[c].mutable);
        let from = group.columns.iter().position(|&c| instance.person[c] == 1.0);
        let options = (0..group.columns.len()).filter(|&to| {
            Some(to) == from
                || (!fixed
                    && from.is_some_and(|from| group.allowed.is_empty() || group.allowed[from][to]))
        });
        points = options
            .flat_map(|to| {
                points.iter().map(move |point| {
                    let mut point = point.clone();
                    group
                        .columns
                        .iter()
                        .enumerate()
                        .for_each(|(o, &c)| point[c] = f64::from(u8::from(o == to)));
                    point
                })
            })
            .collect();
    }
    let describe = |point: Vec<f64>| {
        let grouped = || (0..point.len()).filter(|&j| in_group[j]);
        let score = grouped().fold(instance.bias, |sum, j| sum + instance.weights[j] * point[j]);
        let moves = grouped()
            .filter(|&j| point[j] != instance.person[j])
            .map(|j| {
                let f = &instance.features[j];
                if point[j] > instance.person[j] { f.cost_up } else { f.cost_down }
            })
            .collect::<Vec<f64>>();
        // A changed group moves exactly two columns.
        Setting { score, changes: moves.len() / 2, moves, point }
    };
    points.into_iter().map(describe).collect()
}

/// The running total of a norm: sum, sum of squares, largest.
pub(super) fn add(norm: Norm, total: f64, weighted_move: f64) -> f64 {
    match norm {
        Norm::L1 => total + weighted_move,
        Norm::L2 => total + weighted_move * weighted_move,
        Norm::Linf => total.max(weighted_move),
    }
}

/// The cost of a running total.
pub(super) fn finish(norm: Norm, total: f64) -> f64 {
    if norm == Norm::L2 { total.sqrt() } else { total }
}
