//! The smoothed margin $M(x) = \Phi^{-1}(1 - \Delta(x))$ and its gradient, on a fixed set of lines.
//!
//! On a fixed set of draws the rate is a smooth function of $x$. A root $t^*$ of a line contributes
//! $-\varphi(t^*)\,\nabla s(y)/|\nabla s(y)^\top Lu|$ to $\nabla\Delta$, at the root's own point $y$ (infinitesimal perturbation analysis). $M$ is
//! $1/\sigma$-Lipschitz and close to linear in $x$ where $\Delta$ itself is flat, so it is what a search should follow.

use super::Lines;
use crate::error::Result;
use crate::invalidation::Query;
use crate::math::normal::{pdf, upper_quantile};
use crate::noise::Gaussian;

/// Rates closer to 0 or 1 than this carry no gradient worth following.
const LEAST: f64 = 1e-9;

/// A margin with its gradient.
pub(crate) struct SmoothedMargin<'a> {
    gaussian: &'a Gaussian,
    /// Standard normals, one row a line.
    draws: &'a [f64],
    sum: Vec<f64>,
}

impl<'a> SmoothedMargin<'a> {
    /// `draws` holds whole rows of standard normals, one number per feature.
    pub(crate) fn new(gaussian: &'a Gaussian, draws: &'a [f64]) -> Self {
        Self { gaussian, draws, sum: Vec::new() }
    }

    /// The margin at `query`'s point from the first `lines` lines; writes its gradient.
    pub(crate) fn margin_and_gradient(
        &mut self,
        query: &Query<'_>,
        lines: usize,
        gradient: &mut [f64],
    ) -> Result<f64> {
        let d = query.point.len();
        let mut around = Lines::new(query, self.gaussian)?;
        self.sum.clear();
        self.sum.resize(d, 0.0);
        let (mut mass, mut count) = (0.0, 0.0);
        for z in self.draws.chunks_exact(d).take(lines) {
            mass += around.mass_and_slope(z, &mut self.sum)?;
            count += 1.0;
        }
        let rate = (mass / count).clamp(LEAST, 1.0 - LEAST);
        let margin = upper_quantile(rate);
        let scale = -1.0 / (count * pdf(margin));
        for (g, s) in gradient.iter_mut().zip(&self.sum) {
            *g = scale * s;
        }
        Ok(margin)
    }
}
