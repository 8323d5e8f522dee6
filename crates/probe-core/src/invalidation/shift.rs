//! The rate of an affine score when the advice is missed *and* the model has changed.
//!
//! Noise $\varepsilon \sim N(0, \operatorname{diag} v)$ on the advice, and one of two changes of
//! the weights:
//!
//! **At random**: $\delta w \sim N(0, \tau^2 I)$, $\delta b \sim N(0, \tau^2)$, independent. The
//! score $(w+\delta w)^\top(x+\varepsilon) + b + \delta b$ has mean $w^\top x + b$ and variance
//! $\sum_j w_j^2 v_j + \tau^2\big(1 + \sum_j (x_j^2 + v_j)\big)$. It is not normal, since it holds
//! a product of normals; given $\varepsilon$ it is, and with $A = s^2\tau^2$ one Gaussian integral
//! per feature gives the characteristic function
//!
//! $$\ln\phi(s) = isb - \tfrac{A}{2} + \sum_j \Big( -\tfrac12\ln(1 + A v_j) + \frac{i s w_j x_j -
//! \frac12(A x_j^2 + s^2 w_j^2 v_j)}{1 + A v_j} \Big).$$
//!
//! The rate is $\frac12 - \frac1\pi\int_0^\infty \operatorname{Im}\phi(s)\,ds/s$ (Gil-Pelaez 1951),
//! summed by the midpoint rule with step $h$, whose error is the mass further than $2\pi/h$ from
//! zero (Davies 1973): here at least forty standard deviations, so that only rounding remains,
//! about $10^{-15}$ absolute. The gradient is the same sum with $\partial\ln\phi/\partial x_j =
//! (isw_j - Ax_j)/(1 + Av_j)$.
//!
//! **At worst**: any $v$ with $\lVert v - w\rVert_2 \le \rho$, noise $\sigma$ on all features. The
//! margin is $\min_v (v^\top x + b)/(\sigma\lVert v\rVert)$. For $z \ge 0$, $v^\top x + b -
//! z\sigma\lVert v\rVert$ is concave in $v$ and depends on $v$ through its parts along $w$ and $x$,
//! so that its minimum lies on a circle in their plane; for $z < 0$ it is convex and its minimum
//! anywhere in that disc. The least ratio follows by Dinkelbach's iteration (1967): $z$ becomes the
//! ratio at the minimum, until it no longer falls.
//!
//! Robust recourse under a changing model goes back to ROAR (Upadhyay, Joshi and Lakkaraju 2021,
//! arXiv:2102.13620), which bounds the weights and knows no noise; noise alone is PROBE
//! (arXiv:2203.06768). Cost: $O(d)$ for each of about sixty terms, or for one circle.

mod estimators;

pub(crate) use estimators::Models;

pub(super) use estimators::{ShiftedClosedForm, ShiftedMonteCarlo};

use crate::error::{Error, Result, require};
use crate::math::dot;
use crate::math::normal::{pdf, upper_quantile, upper_tail};
use crate::model::{Linear, Model, ModelShift};
use crate::noise::Noise;
use crate::theory::affine_rate;
use std::f64::consts::PI;

/// The joint rate of an affine score; made once for a model, a noise and a shift.
#[derive(Debug, Clone)]
pub struct ShiftedRate {
    weights: Vec<f64>,
    /// $b - \xi$.
    offset: f64,
    /// $v$, zero where the noise does not act.
    variances: Vec<f64>,
    change: Change,
}

#[derive(Debug, Clone, Copy)]
enum Change {
    /// $\tau$.
    Random(f64),
    /// $\rho$, and $\sigma$ of the noise.
    Worst(f64, f64),
}

/// Margins beyond this are taken from the moments: there the sum's rounding would show.
const FAR: f64 = 5.5;

impl ShiftedRate {
    /// For noise on the `active` features. Fails unless the noise is Gaussian without mean and
    /// without correlation, and for a worst case also the same on all features.
    pub fn new(
        linear: &Linear,
        noise: &dyn Noise,
        active: &[bool],
        shift: ModelShift,
    ) -> Result<Self> {
        shift.check()?;
        let refuse =
            |what: String, why: &str| Err(Error::Unsupported { what, why: why.to_owned() });
        let weights = linear.weights();
        let d = weights.len();
        for (what, found) in [("features of the noise", noise.dim()), ("noise mask", active.len())]
        {
            if found != d {
                return Err(Error::Shape { what, expected: d, found });
            }
        }
        let Some(gaussian) = noise.as_gaussian() else {
            return refuse(
                format!("a model shift under {} noise", noise.name()),
                "the noise must be Gaussian",
            );
        };
        if !gaussian.is_diagonal() || gaussian.mean().iter().any(|m| *m != 0.0) {
            return refuse(
                "a model shift under noise with a mean or with correlations".to_owned(),
                "the exact rate needs features missed independently and without bias; \
                       monte-carlo serves any noise",
            );
        }
        let variances: Vec<f64> =
            (0..d).map(|j| if active[j] { gaussian.sd(j).powi(2) } else { 0.0 }).collect();
        let change = match shift {
            ModelShift::Gaussian(tau) => Change::Random(tau),
            ModelShift::Relative(share) => {
                Change::Random(share * (dot(weights, weights) / d as f64).sqrt())
            }
            ModelShift::Bounded(rho) => {
                if variances.iter().any(|v| *v != variances[0]) || variances[0] <= 0.0 {
                    return refuse(
                        "a bounded model shift under noise that differs between features"
                            .to_owned(),
                        "the worst case is known for equal noise on all features; \
                       use noise on all, or a gaussian shift",
                    );
                }
                Change::Worst(rho, variances[0].sqrt())
            }
        };
        if let Change::Random(tau) = change {
            let rule = "at most 1e100 in terms of the weights";
            require(tau <= 1e100, "the size of the model shift", rule, tau)?;
        }
        let offset = linear.bias() - linear.threshold();
        Ok(Self { weights: weights.to_vec(), offset, variances, change })
    }

    /// Number of features.
    pub fn n_features(&self) -> usize {
        self.weights.len()
    }

    /// The rate at `point`, which has the model's number of features: exact to about $10^{-15}$; in
    /// the worst case, the largest over all changes.
    pub fn rate(&self, point: &[f64]) -> f64 {
        match self.change {
            Change::Random(tau) => self.random_rate(tau, point, None),
            Change::Worst(rho, sigma) => upper_tail(self.worst_margin(rho, sigma, point)),
        }
    }

    /// A rate that no point is below. Given the errors, a random change leaves the score at $x$
    /// normal
    /// with margin $(w^\top x + b)/(\tau\sqrt{1 + \lVert x\rVert^2}) \le \sqrt{\lVert w\rVert^2 +
    /// b^2}/\tau$ wherever $x$ is; a worst case may take all weights away.
    pub fn least_rate(&self) -> f64 {
        let squares = dot(&self.weights, &self.weights);
        match self.change {
            Change::Random(tau) => upper_tail((squares + self.offset * self.offset).sqrt() / tau),
            Change::Worst(rho, _) if squares.sqrt() <= rho && self.offset <= 0.0 => 1.0,
            Change::Worst(..) => 0.0,
        }
    }

    /// The rate as if the score were normal, $\bar\Phi$ of mean over standard deviation; in the
    /// worst case the bound that takes the worst of each part, $w^\top x + b - \rho\lVert x\rVert$
    /// over $\sigma(\lVert w\rVert + \rho)$.
    pub fn approximate_rate(&self, point: &[f64]) -> f64 {
        let mean = dot(&self.weights, point) + self.offset;
        match self.change {
            Change::Random(tau) => upper_tail(mean / self.sd(tau, point)),
            Change::Worst(rho, sigma) => {
                let least = mean - rho * dot(point, point).sqrt();
                let norm = dot(&self.weights, &self.weights).sqrt();
                let spread = if least > 0.0 { norm + rho } else { (norm - rho).max(0.0) };
                affine_rate(least, 0.0, sigma * spread)
            }
        }
    }

    /// Standard deviation of the score under a random change.
    fn sd(&self, tau: f64, point: &[f64]) -> f64 {
        let noise: f64 = self.weights.iter().zip(&self.variances).map(|(w, v)| w * w * v).sum();
        let spread: f64 = point.iter().zip(&self.variances).map(|(x, v)| x * x + v).sum();
        (noise + tau * tau * (1.0 + spread)).sqrt()
    }

    /// The rate under a random change, and its gradient.
    fn random_rate(&self, tau: f64, point: &[f64], mut gradient: Option<&mut [f64]>) -> f64 {
        const MOST_TERMS: usize = 1_000_000;
        let mean = dot(&self.weights, point) + self.offset;
        let h = 2.0 * PI / (mean.abs() + 40.0 * self.sd(tau, point));
        if let Some(gradient) = gradient.as_deref_mut() {
            gradient.fill(0.0);
        }
        let mut sum = 0.0;
        for k in 0..MOST_TERMS {
            let half = k as f64 + 0.5;
            let s = half * h;
            let a = s * s * tau * tau;
            let (mut log_size, mut angle) = (-0.5 * a, s * self.offset);
            for ((w, x), v) in self.weights.iter().zip(point).zip(&self.variances) {
                let spread = 1.0 + a * v;
                log_size -= 0.5 * (libm::log1p(a * v) + (a * x * x + s * s * w * w * v) / spread);
                angle += s * w * x / spread;
            }
            let size = libm::exp(log_size) / (PI * half);
            let (sine, cosine) = (libm::sin(angle), libm::cos(angle));
            sum += size * sine;
            if let Some(gradient) = gradient.as_deref_mut() {
                for (j, g) in gradient.iter_mut().enumerate() {
                    let (w, x) = (self.weights[j], point[j]);
                    *g -= size * (s * w * cosine - a * x * sine) / (1.0 + a * self.variances[j]);
                }
            }
            // The size only falls; a NaN ends the sum too.
            if size.is_nan() || size < 1e-18 {
                break;
            }
        }
        (0.5 - sum).clamp(0.0, 1.0)
    }

    /// How much score is left at `point` beyond what the margin `z` > 0 asks for, and its gradient.
    /// Positive iff the rate is below $\bar\Phi(z)$; concave in the point but for how far a random
    /// change is from normal.
    pub(crate) fn slack_and_gradient(&self, z: f64, point: &[f64], gradient: &mut [f64]) -> f64 {
        match self.change {
            Change::Random(tau) => {
                let mean = dot(&self.weights, point) + self.offset;
                let sd = self.sd(tau, point);
                let sd_slope = |j: usize| tau * tau * point[j] / sd;
                if mean.is_nan() || (mean / sd).abs() > FAR {
                    for (j, g) in gradient.iter_mut().enumerate() {
                        *g = self.weights[j] - z * sd_slope(j);
                    }
                    return mean - z * sd;
                }
                let margin = upper_quantile(self.random_rate(tau, point, Some(gradient)));
                let slope = -sd / pdf(margin);
                for (j, g) in gradient.iter_mut().enumerate() {
                    *g = slope * *g + (margin - z) * sd_slope(j);
                }
                sd * (margin - z)
            }
            Change::Worst(rho, sigma) => {
                let plane = Plane::new(self, point);
                let (along, across) = plane.worst(rho, z * sigma);
                for (j, g) in gradient.iter_mut().enumerate() {
                    let (first, second) = plane.axes(self, point, j);
                    *g = along * first + across * second;
                }
                plane.value(along, across) - z * sigma * along.hypot(across)
            }
        }
    }

    fn worst_margin(&self, rho: f64, sigma: f64, point: &[f64]) -> f64 {
        let plane = Plane::new(self, point);
        if plane.norm <= rho && self.offset <= 0.0 {
            // Weights may vanish, and nobody is above the threshold.
            return f64::NEG_INFINITY;
        }
        let mut z = plane.value(plane.norm, 0.0) / (sigma * plane.norm);
        for _ in 0..100 {
            let (along, across) = plane.worst(rho, z * sigma);
            let ratio = plane.value(along, across) / (sigma * along.hypot(across));
            if ratio.is_nan() || ratio >= z {
                break;
            }
            z = ratio;
        }
        z
    }
}

/// The plane of $w$ and the point: weights have a part along $w$ and a part across it.
struct Plane {
    /// $\lVert w\rVert$.
    norm: f64,
    /// Parts of the point along $w$ and across.
    along: f64,
    across: f64,
    offset: f64,
    /// Whether there is an across at all.
    flat: bool,
}

impl Plane {
    fn new(rate: &ShiftedRate, point: &[f64]) -> Self {
        let weights = &rate.weights;
        let norm = dot(weights, weights).sqrt();
        let along = if norm > 0.0 { dot(weights, point) / norm } else { 0.0 };
        let unit = |j: usize| if norm > 0.0 { weights[j] / norm } else { 0.0 };
        let squares: f64 = (0..point.len()).map(|j| (point[j] - along * unit(j)).powi(2)).sum();
        Self { norm, along, across: squares.sqrt(), offset: rate.offset, flat: weights.len() == 1 }
    }

    /// Entry `j` of the two unit vectors.
    fn axes(&self, rate: &ShiftedRate, point: &[f64], j: usize) -> (f64, f64) {
        let first = if self.norm > 0.0 { rate.weights[j] / self.norm } else { 0.0 };
        let rest = point[j] - self.along * first;
        (first, if self.across > 0.0 { rest / self.across } else { 0.0 })
    }

    /// The score of the point under weights with these parts.
    fn value(&self, along: f64, across: f64) -> f64 {
        along * self.along + across * self.across + self.offset
    }

    /// The weights within `rho` of $w$ that are worst for the point at `price` = $z\sigma$ per unit
    /// of their norm.
    fn worst(&self, rho: f64, price: f64) -> (f64, f64) {
        let cost =
            |(along, across): (f64, f64)| self.value(along, across) - price * along.hypot(across);
        if self.flat {
            let ends = [(self.norm - rho, 0.0), (self.norm + rho, 0.0)];
            // For a negative price the kink at zero may be lower than both ends.
            let kink = (0.0, 0.0);
            let inside = price < 0.0 && self.norm <= rho;
            let best = if cost(ends[0]) <= cost(ends[1]) { ends[0] } else { ends[1] };
            return if inside && cost(kink) < cost(best) { kink } else { best };
        }
        if price >= 0.0 {
            // On the circle, on the side that the point dislikes.
            let at = |t: f64| (self.norm + rho * libm::cos(t), -rho * libm::sin(t));
            const ARCS: usize = 64;
            let angle = |k: usize| PI * k as f64 / ARCS as f64;
            let best = (0..=ARCS)
                .min_by(|&a, &b| cost(at(angle(a))).total_cmp(&cost(at(angle(b)))))
                .unwrap_or(0);
            let (low, high) = (angle(best.saturating_sub(1)), angle((best + 1).min(ARCS)));
            return at(lowest(low, high, |t| cost(at(t))));
        }
        let half = |along: f64| (rho * rho - (along - self.norm).powi(2)).max(0.0).sqrt();
        let deepest =
            |along: f64| lowest(-half(along), half(along), |across| cost((along, across)));
        let along = lowest(self.norm - rho, self.norm + rho, |along| cost((along, deepest(along))));
        (along, deepest(along))
    }
}

/// Where a function with one valley between `low` and `high` is lowest, by golden section.
fn lowest(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> f64 {
    const SHARE: f64 = 0.618_033_988_749_894_9;
    let (mut a, mut b) = (high - SHARE * (high - low), low + SHARE * (high - low));
    let (mut f_a, mut f_b) = (f(a), f(b));
    for _ in 0..80 {
        if f_a <= f_b {
            (high, b, f_b) = (b, a, f_a);
            a = high - SHARE * (high - low);
            f_a = f(a);
        } else {
            (low, a, f_a) = (a, b, f_b);
            b = low + SHARE * (high - low);
            f_b = f(b);
        }
    }
    // The ends belong to it.
    let middle = 0.5 * (low + high);
    [low, high].into_iter().fold(middle, |best, end| if f(end) < f(best) { end } else { best })
}

#[cfg(test)]
mod tests;
