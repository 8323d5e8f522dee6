//! Random numbers and noise that share nothing with the engine's: splitmix64, Box and Muller's
//! normals, and every other distribution from its definition.

/// A stream of random numbers (splitmix64, Steele, Lea and Flood 2014).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(kind: u64, number: u64) -> Self {
        let mut chance = Self(kind.wrapping_mul(0xa076_1d64_78bd_642f) ^ number);
        chance.bits();
        chance
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on the open interval (0, 1).
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1_u64 << 52) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n - 1)
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    pub(crate) fn normal(&mut self) -> f64 {
        let size = (-2.0 * self.uniform().ln()).sqrt();
        size * (2.0 * std::f64::consts::PI * self.uniform()).cos()
    }

    pub(crate) fn normals(&mut self, n: usize, sd: f64) -> Vec<f64> {
        (0..n).map(|_| sd * self.normal()).collect()
    }

    /// One draw of a distribution with standard deviation 1.
    pub(crate) fn unit(&mut self, family: Family) -> f64 {
        match family {
            Family::Gaussian | Family::Effort { .. } => self.normal(),
            Family::Uniform => 3.0_f64.sqrt() * self.between(-1.0, 1.0),
            Family::Laplace => {
                let size = -self.uniform().ln() / 2.0_f64.sqrt();
                if self.one_in(2) { size } else { -size }
            }
            // Half degrees of freedom are half a chi-square of one more: none of these here.
            Family::StudentT { df } => {
                let chi: f64 = (0..df).map(|_| self.normal().powi(2)).sum();
                let df = df as f64;
                self.normal() / (chi / df).sqrt() * ((df - 2.0) / df).sqrt()
            }
        }
    }
}

/// A family of noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Family {
    Gaussian,
    Uniform,
    Laplace,
    StudentT { df: usize },
    Effort { rho: f64, a: f64 },
}

/// The noise of a problem: errors of each column, in scaled units.
#[derive(Debug, Clone)]
pub(crate) enum Law {
    /// The same standard deviation for every column; correlated with a common part of this share.
    Family { family: Family, sd: f64, common: f64 },
    /// Each of these rows is as likely.
    Residuals(Vec<Vec<f64>>),
}

impl Law {
    /// Draws for `n_columns` columns, to be turned into errors by [`Law::error`].
    pub(crate) fn draw(&self, n_columns: usize, n: usize, chance: &mut Chance) -> Vec<f64> {
        match self {
            Self::Family { family, common, .. } => {
                let mut all = Vec::with_capacity(n * n_columns);
                for _ in 0..n {
                    let shared = if *common > 0.0 { chance.normal() } else { 0.0 };
                    all.extend((0..n_columns).map(|_| {
                        common.sqrt() * shared + (1.0 - common).sqrt() * chance.unit(*family)
                    }));
                }
                all
            }
            Self::Residuals(rows) => {
                (0..n).flat_map(|i| rows[i % rows.len()].iter().copied()).collect()
            }
        }
    }

    /// How many draws tell a rate exactly, if any number does.
    pub(crate) fn exact(&self) -> Option<usize> {
        match self {
            Self::Family { .. } => None,
            Self::Residuals(rows) => Some(rows.len()),
        }
    }

    /// The error of a column that changes by `change`.
    pub(crate) fn error(&self, drawn: f64, change: f64) -> f64 {
        match *self {
            Self::Family { family: Family::Effort { rho, a }, sd, .. } => {
                a * change + sd.hypot(rho * change) * drawn
            }
            Self::Family { sd, .. } => sd * drawn,
            Self::Residuals(_) => drawn,
        }
    }
}
