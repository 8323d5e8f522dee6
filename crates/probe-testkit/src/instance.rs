//! One affine recourse problem as plain data.
//!
//! A person `x` with score $s(x) = w^\top x + b \le 0$ was denied. Wanted is the admissible `x'` of
//! least cost with $s(x') > 0$ whose exact invalidation rate $P(N(s(x') + w_A^\top\mu_A,\
//! w_A^\top\Sigma_{AA}w_A) \le 0)$, with $A$ the noisy columns, is at most `rate`.
//!
//! Where the rate asks for no positive score, $s > 0$ has no least element; it is then read as
//! $s \ge$ [`Instance::least_score`].

/// The direction in which a column may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Both directions.
    Any,
    /// Up only.
    Increase,
    /// Down only.
    Decrease,
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// Lowest value a recourse may ask for; −∞ for none. Not used in a group.
    pub low: f64,
    /// Highest value a recourse may ask for; ∞ for none. Not used in a group.
    pub high: f64,
    /// Whether it may change.
    pub mutable: bool,
    /// The direction in which it may change. Not used in a group.
    pub direction: Direction,
    /// Cost of one unit upwards, positive.
    pub cost_up: f64,
    /// Cost of one unit downwards, positive.
    pub cost_down: f64,
}

impl Default for Feature {
    fn default() -> Self {
        Self {
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            mutable: true,
            direction: Direction::Any,
            cost_up: 1.0,
            cost_down: 1.0,
        }
    }
}

/// One-hot columns, one per option. Fixed if any of its columns is immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The columns.
    pub columns: Vec<usize>,
    /// `allowed[from][to]`; empty allows every change. Staying is always allowed.
    pub allowed: Vec<Vec<bool>>,
}

/// Covariance of the noise.
#[derive(Debug, Clone, PartialEq)]
pub enum Spread {
    /// One standard deviation for all columns, positive.
    Isotropic(f64),
    /// One standard deviation per column, zero allowed.
    Diagonal(Vec<f64>),
    /// The matrix, row by row.
    Full(Vec<Vec<f64>>),
}

/// Which columns are noisy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// All.
    All,
    /// Mutable columns in no group.
    Mutable,
    /// Columns in no group whose value differs from the person's.
    Changed,
}

/// Gaussian noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Noise {
    /// Mean per column.
    pub mean: Vec<f64>,
    /// Covariance.
    pub spread: Spread,
    /// Noisy columns.
    pub mask: Mask,
}

/// How the weighted moves of all columns add up to a cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Sum.
    L1,
    /// Root of the sum of squares.
    L2,
    /// Largest.
    Linf,
}

impl Norm {
    /// All norms.
    pub const ALL: [Self; 3] = [Self::L1, Self::L2, Self::Linf];
}

/// One problem.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// $w$.
    pub weights: Vec<f64>,
    /// $b$.
    pub bias: f64,
    /// $x$.
    pub person: Vec<f64>,
    /// One per column.
    pub features: Vec<Feature>,
    /// One-hot groups, disjoint.
    pub groups: Vec<Group>,
    /// At most this many columns change, a group counting as one.
    pub max_changes: Option<usize>,
    /// Whether a person outside the bounds must move inside; otherwise staying is admissible.
    pub strict: bool,
    /// How the recourse is missed.
    pub noise: Noise,
    /// $r$, the highest acceptable invalidation rate, in (0, 1).
    pub rate: f64,
}

impl Instance {
    /// A problem without limits: unit costs, isotropic noise on all columns.
    pub fn free(weights: &[f64], bias: f64, person: &[f64], sigma: f64, rate: f64) -> Self {
        let n = weights.len();
        Self {
            weights: weights.to_vec(),
            bias,
            person: person.to_vec(),
            features: vec![Feature::default(); n],
            groups: Vec::new(),
            max_changes: None,
            strict: false,
            noise: Noise { mean: vec![0.0; n], spread: Spread::Isotropic(sigma), mask: Mask::All },
            rate,
        }
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.weights.len()
    }

    /// $s$ at a point, summed in column order after the bias.
    pub fn score(&self, point: &[f64]) -> f64 {
        self.weights.iter().zip(point).fold(self.bias, |sum, (w, v)| sum + w * v)
    }

    /// The score that counts as just favourable: $10^{-9}\max(1, |s(x)|)$.
    pub fn least_score(&self) -> f64 {
        1e-9 * self.score(&self.person).abs().max(1.0)
    }

    /// $\Sigma_{ij}$.
    pub fn covariance(&self, i: usize, j: usize) -> f64 {
        match &self.noise.spread {
            Spread::Full(rows) => rows[i][j],
            _ if i != j => 0.0,
            Spread::Isotropic(sigma) => sigma * sigma,
            Spread::Diagonal(sd) => sd[j] * sd[j],
        }
    }

    /// What makes the problem ill-formed or out of scope; empty if nothing does.
    pub fn faults(&self) -> Vec<String> {
        let n = self.n_columns();
        let mut found = Vec::new();
        let mut fault = |broken: bool, text: &str| {
            if broken {
                found.push(text.to_owned());
            }
        };
        fault(
            self.person.len() != n || self.features.len() != n || self.noise.mean.len() != n,
            "lengths",
        );
        fault(self.score(&self.person) > 0.0, "the person is not denied");
        fault(!(self.rate > 0.0 && self.rate < 1.0), "rate outside (0, 1)");
        fault(self.features.iter().any(|f| f.low > f.high || f.low.is_nan()), "crossed bounds");
        fault(
            self.features.iter().any(|f| f.cost_up <= 0.0 || f.cost_down <= 0.0),
            "costs not positive",
        );
        let mut grouped: Vec<usize> = self.groups.iter().flat_map(|g| g.columns.clone()).collect();
        let in_groups = grouped.len();
        grouped.sort_unstable();
        grouped.dedup();
        fault(grouped.len() != in_groups || grouped.iter().any(|&c| c >= n), "overlapping groups");
        for group in &self.groups {
            let row: Vec<f64> = group.columns.iter().map(|&c| self.person[c]).collect();
            let (ones, zeros) = [1.0, 0.0].map(|v| row.iter().filter(|&&x| x == v).count()).into();
            fault(ones != 1 || ones + zeros != row.len(), "the person is not one-hot");
        }
        if self.noise.mask == Mask::Changed {
            fault(self.noise.mean.iter().any(|&m| m != 0.0), "changed noise with a mean");
            fault(self.rate >= 0.5, "changed noise with a rate of a half or more");
            let helps = |i: usize, j: usize| {
                self.weights[i] * self.covariance(i, j) * self.weights[j] < 0.0
            };
            fault(
                (0..n).any(|i| (0..n).any(|j| i != j && helps(i, j))),
                "changes that cancel noise",
            );
        }
        found
    }
}
