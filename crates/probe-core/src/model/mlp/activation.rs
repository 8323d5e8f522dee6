//! Activations between two layers: value, first and second derivative.
//!
//! Tails are accurate: nothing is formed as a difference that cancels, and nothing overflows for a
//! finite argument. All functions go through `libm`, so the bits are the same on every machine.

use crate::error::{Error, Result};
use crate::math::normal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Slope of [`Activation::LeakyRelu`] for negative arguments.
pub const LEAKY_SLOPE: f64 = 0.01;

/// Beyond this the normal tail is below the smallest double: $\Phi$ is 0 or 1.
const GELU_FLAT: f64 = 40.0;

/// An activation $\phi$, applied to each entry. At a kink the derivative is the one from the left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Activation {
    /// $\max(t, 0)$.
    Relu,
    /// $\tanh t$.
    Tanh,
    /// $\sigma(t) = 1 / (1 + e^{-t})$.
    Sigmoid,
    /// $t\,\Phi(t)$ with the normal distribution function itself, not its tanh approximation.
    Gelu,
    /// $t\,\sigma(t)$.
    Silu,
    /// $\log(1 + e^t)$.
    Softplus,
    /// $t$ for $t > 0$, else $0.01\,t$.
    LeakyRelu,
}

impl Activation {
    /// Every activation, in the order of the model file's description.
    pub const ALL: [Self; 7] = [
        Self::Relu,
        Self::Tanh,
        Self::Sigmoid,
        Self::Gelu,
        Self::Silu,
        Self::Softplus,
        Self::LeakyRelu,
    ];

    /// The name in model files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Relu => "relu",
            Self::Tanh => "tanh",
            Self::Sigmoid => "sigmoid",
            Self::Gelu => "gelu",
            Self::Silu => "silu",
            Self::Softplus => "softplus",
            Self::LeakyRelu => "leaky_relu",
        }
    }

    /// Whether networks with it are piecewise linear.
    pub fn is_piecewise_linear(self) -> bool {
        matches!(self, Self::Relu | Self::LeakyRelu)
    }

    /// $\phi(t)$.
    #[inline]
    pub fn value(self, t: f64) -> f64 {
        match self {
            Self::Relu => relu(t),
            Self::Tanh => libm::tanh(t),
            Self::Sigmoid => sigmoid(t),
            Self::Gelu if t.abs() > GELU_FLAT => relu(t),
            Self::Gelu => t * normal::cdf(t),
            Self::Silu => t * sigmoid(t),
            Self::Softplus => relu(t) + libm::log1p(libm::exp(-t.abs())),
            Self::LeakyRelu => leaky(t),
        }
    }

    /// $\phi'(t)$.
    #[inline]
    pub fn derivative(self, t: f64) -> f64 {
        match self {
            Self::Relu => step(t, 0.0),
            Self::Tanh => 4.0 * bell(2.0 * t),
            Self::Sigmoid => bell(t),
            Self::Gelu if t.abs() > GELU_FLAT => step(t, 0.0),
            Self::Gelu => normal::cdf(t) + t * normal::pdf(t),
            Self::Silu => sigmoid(t) + t * bell(t),
            Self::Softplus => sigmoid(t),
            Self::LeakyRelu => step(t, LEAKY_SLOPE),
        }
    }

    /// $\phi''(t)$, zero at a kink.
    #[inline]
    pub fn second_derivative(self, t: f64) -> f64 {
        match self {
            Self::Relu | Self::LeakyRelu => 0.0,
            Self::Tanh => -8.0 * bell(2.0 * t) * libm::tanh(t),
            Self::Sigmoid => -bell(t) * libm::tanh(0.5 * t),
            Self::Gelu if t.abs() > GELU_FLAT => 0.0,
            Self::Gelu => normal::pdf(t) * (2.0 - t * t),
            Self::Silu => bell(t) * (2.0 - t * libm::tanh(0.5 * t)),
            Self::Softplus => bell(t),
        }
    }

    /// The lowest value, rounded down, of an activation that first falls and then rises; `None` for
    /// those that never fall.
    pub(crate) fn minimum(self) -> Option<f64> {
        match self {
            Self::Gelu => Some(-0.170_041),
            Self::Silu => Some(-0.278_465),
            Self::Relu | Self::LeakyRelu | Self::Tanh | Self::Sigmoid | Self::Softplus => None,
        }
    }

    /// Upper bound of $|\phi'(t)|$ for every $t$.
    pub(crate) fn most_slope(self) -> f64 {
        match self {
            Self::Relu | Self::LeakyRelu | Self::Tanh | Self::Softplus => 1.0,
            Self::Sigmoid => 0.25,
            // At √2 and at 2.3994, where the second derivative is zero.
            Self::Gelu => 1.128_905,
            Self::Silu => 1.099_84,
        }
    }

    /// Upper bound of $|\phi''(t)|$ for every $|t| \ge m$; `None` for activations with kinks.
    #[inline]
    pub(crate) fn most_bend(self, m: f64) -> Option<f64> {
        // |φ''| is even and decreases beyond its last extremum. Before that, use its maximum.
        Some(match self {
            Self::Relu | Self::LeakyRelu => return None,
            Self::Tanh if m > 0.66 => (8.0 * above_exp(2.0 * m)).min(0.769_801),
            Self::Tanh => 0.769_801,
            Self::Sigmoid if m > 1.32 => above_exp(m).min(0.096_226),
            Self::Sigmoid => 0.096_226,
            Self::Gelu if m > 2.0 => self.second_derivative(m).abs(),
            Self::Gelu => 0.797_885,
            Self::Silu if m > 3.5 => self.second_derivative(m).abs(),
            Self::Silu => 0.5,
            Self::Softplus => above_exp(m.max(0.0)).min(0.25),
        })
    }

    /// $\phi$ in place.
    #[inline(always)]
    pub fn apply(self, values: &mut [f64]) {
        // Matching outside the loop lets the loops of cheap activations vectorise.
        match self {
            Self::Relu => values.iter_mut().for_each(|t| *t = relu(*t)),
            Self::LeakyRelu => values.iter_mut().for_each(|t| *t = leaky(*t)),
            _ => values.iter_mut().for_each(|t| *t = self.value(*t)),
        }
    }
}

/// $(1 + t/16)^{-16} \ge e^{-t}$ for $t \ge 0$: a bound that is cheaper than the exponential.
#[inline(always)]
fn above_exp(t: f64) -> f64 {
    let square = |x: f64| x * x;
    square(square(square(square(1.0 / (1.0 + t * 0.0625)))))
}

#[inline(always)]
fn relu(t: f64) -> f64 {
    // Unlike `max`, this keeps NaN.
    if t < 0.0 { 0.0 } else { t }
}

#[inline(always)]
fn leaky(t: f64) -> f64 {
    if t < 0.0 { LEAKY_SLOPE * t } else { t }
}

#[inline(always)]
fn step(t: f64, below: f64) -> f64 {
    if t > 0.0 { 1.0 } else { below }
}

#[inline]
fn sigmoid(t: f64) -> f64 {
    let e = libm::exp(-t.abs());
    if t >= 0.0 { 1.0 / (1.0 + e) } else { e / (1.0 + e) }
}

/// $\sigma'(t) = \sigma(t)\,\sigma(-t)$.
#[inline]
fn bell(t: f64) -> f64 {
    let e = libm::exp(-t.abs());
    e / ((1.0 + e) * (1.0 + e))
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Activation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|activation| activation.name() == name).ok_or_else(|| {
            Error::UnknownName {
                kind: "activation",
                name: name.to_owned(),
                known: Self::ALL.map(Self::name).join(", "),
            }
        })
    }
}

#[cfg(test)]
mod tests;
