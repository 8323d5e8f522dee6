//! Mean and variance of observations of lines.

/// Mean and variance of masses.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spread {
    n: f64,
    sum: f64,
    sum_of_squares: f64,
}

impl Spread {
    pub(crate) fn add(&mut self, mass: f64) {
        self.n += 1.0;
        self.sum += mass;
        self.sum_of_squares += mass * mass;
    }

    /// Number of masses.
    pub(crate) fn n(&self) -> f64 {
        self.n
    }

    /// Mean.
    pub(crate) fn mean(&self) -> f64 {
        self.sum / self.n
    }

    /// Variance of one mass.
    pub(crate) fn variance(&self) -> f64 {
        (self.sum_of_squares / self.n - self.mean().powi(2)).max(0.0) * self.n
            / (self.n - 1.0).max(1.0)
    }

    /// Standard error of the mean of as many independent masses.
    pub(crate) fn std_error(&self) -> f64 {
        (self.variance() / self.n).sqrt()
    }
}
