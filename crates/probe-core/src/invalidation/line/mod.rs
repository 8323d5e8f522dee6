//! Line sampling: condition on everything but one direction, and integrate that direction exactly.
//!
//! With $\varepsilon = \mu + Lz$, $z = z_\perp + tu$ and $u$ along $L^\top\nabla s(x)$, one sample draws $z_\perp$ and returns
//! $P_t\big(s(x + \mu + Lz_\perp + tLu) \le 0\big)$ for a standard normal $t$: the mass of the parts of a line on which the model refuses.
//! Its mean over $z_\perp$ is the rate, whatever $u$ is, and its variance is a small fraction of a plain draw's because the
//! direction that matters is integrated out.
//!
//! Exact along each line, up to rounding, for affine scores and rectifier networks of any depth; for smooth scores as
//! stated in `follow`.

mod crossing;
mod deep;
mod follow;
mod kernel;
mod margin;
mod shallow;

use super::certificate::UpperBound;
use super::{Estimate, InvalidationRate, Query};
use crate::error::{Error, Result};
use crate::math::dot;
use crate::noise::Gaussian;
use crate::registry::Entry;
use crate::seed::Stream;
use kernel::Kernel;

pub(crate) use margin::SmoothedMargin;

pub(super) const ENTRY: Entry<dyn InvalidationRate> = Entry {
    name: "line",
    reference: "conditional Monte Carlo along the gradient (line sampling)",
    item: &LineSampling { lines: 1_024 },
};

/// Line sampling with independent lines.
#[derive(Debug, Clone, Copy)]
pub struct LineSampling {
    /// Number of lines; at least 2.
    pub lines: usize,
}

impl InvalidationRate for LineSampling {
    fn name(&self) -> &'static str {
        "line"
    }

    fn estimate(&self, query: &Query<'_>, confidence: f64, stream: &mut Stream) -> Result<Estimate> {
        let gaussian = query.noise.as_gaussian().ok_or_else(|| Error::Unsupported {
            what: format!("line sampling under {} noise", query.noise.name()),
            why: "it needs Gaussian noise; use monte-carlo".to_owned(),
        })?;
        let mut lines = Lines::new(query, gaussian)?;
        let delta = 0.5 * (1.0 - confidence);
        let (mut upper, mut lower) = (UpperBound::new(delta)?, UpperBound::new(delta)?);
        let (mut sum, mut sum_of_squares) = (0.0, 0.0);
        let n = self.lines.max(2);
        for _ in 0..n {
            let mass = lines.sample(stream)?;
            sum += mass;
            sum_of_squares += mass * mass;
            upper.observe(mass);
            lower.observe(1.0 - mass);
        }
        let n = n as f64;
        let rate = sum / n;
        let variance = (sum_of_squares / n - rate * rate).max(0.0) * n / (n - 1.0);
        let exact = query.model.as_linear().is_some();
        let (low, high) = if exact { (rate, rate) } else { (1.0 - lower.upper(), upper.upper()) };
        Ok(Estimate { rate, std_error: (variance / n).sqrt(), lower: low.max(0.0), upper: high, exact })
    }
}

/// Lines around one point.
pub(crate) struct Lines<'a> {
    gaussian: &'a Gaussian,
    active: &'a [bool],
    kernel: Kernel<'a>,
    /// The point, moved by the mean of the noise.
    centre: Vec<f64>,
    /// Unit direction in standard normal space, and the same in the model's input space.
    unit: Vec<f64>,
    direction: Vec<f64>,
    z: Vec<f64>,
    base: Vec<f64>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(query: &Query<'a>, gaussian: &'a Gaussian) -> Result<Self> {
        let d = query.point.len();
        let masked = |j: usize, v: f64| if query.active[j] { v } else { 0.0 };
        let centre: Vec<f64> = (0..d).map(|j| query.point[j] + masked(j, gaussian.mean()[j])).collect();
        let kernel = Kernel::new(query.model)?;
        let mut gradient = vec![0.0; d];
        kernel.gradient_into(&centre, &mut gradient)?;
        gradient.iter_mut().enumerate().for_each(|(j, g)| *g = masked(j, *g));
        let mut unit = vec![0.0; d];
        gaussian.factor_transpose_times(&gradient, &mut unit);
        let mut norm = dot(&unit, &unit).sqrt();
        if norm <= 0.0 || !norm.is_finite() {
            // No gradient to follow: any direction is valid, the noisiest is the best guess.
            let noisiest = (0..d)
                .filter(|&j| query.active[j])
                .max_by(|&a, &b| gaussian.sd(a).total_cmp(&gaussian.sd(b)));
            unit.fill(0.0);
            unit[noisiest.unwrap_or(0)] = 1.0;
            norm = 1.0;
        }
        unit.iter_mut().for_each(|u| *u /= norm);
        let mut direction = vec![0.0; d];
        gaussian.factor_times(&unit, &mut direction);
        direction.iter_mut().enumerate().for_each(|(j, v)| *v = masked(j, *v));
        Ok(Self {
            gaussian,
            active: query.active,
            kernel,
            centre,
            unit,
            direction,
            z: vec![0.0; d],
            base: vec![0.0; d],
        })
    }

    /// One line from fresh draws: the share of it that is refused.
    pub(crate) fn sample(&mut self, stream: &mut Stream) -> Result<f64> {
        self.z.iter_mut().for_each(|z| *z = stream.normal());
        self.place();
        self.kernel.refused_mass(&self.base, &self.direction)
    }

    /// The line through the standard normals `z`: its refused share, whose gradient is added to `sum`.
    fn mass_and_slope(&mut self, z: &[f64], sum: &mut [f64]) -> Result<f64> {
        self.z.copy_from_slice(z);
        self.place();
        self.kernel.mass_and_slope(&self.base, &self.direction, sum)
    }

    /// Takes the direction out of `self.z` and puts the line's base where the rest says.
    fn place(&mut self) {
        let along = dot(&self.z, &self.unit);
        self.z.iter_mut().zip(&self.unit).for_each(|(z, u)| *z -= along * u);
        self.gaussian.factor_times(&self.z, &mut self.base);
        for (j, b) in self.base.iter_mut().enumerate() {
            *b = self.centre[j] + if self.active[j] { *b } else { 0.0 };
        }
    }
}
