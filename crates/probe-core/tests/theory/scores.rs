//! Small scores with known derivatives, and a sampler of their true rates.

use probe_core::{
    Differentiable, Gaussian, InvalidationRate, Model, MonteCarlo, Noise, Purpose, Query, Result,
    Rows, Seed,
};

/// A scalar score with its gradient and Hessian-vector product given as functions.
pub(crate) struct Score {
    pub(crate) n: usize,
    pub(crate) value: fn(&[f64]) -> f64,
    pub(crate) gradient: fn(&[f64], &mut [f64]),
    pub(crate) curve: fn(&[f64], &[f64], &mut [f64]),
}

impl Model for Score {
    fn name(&self) -> &'static str {
        "test score"
    }

    fn n_features(&self) -> usize {
        self.n
    }

    fn score_batch(&self, x: Rows<'_>, out: &mut [f64]) -> Result<()> {
        for (row, score) in x.iter().zip(out) {
            *score = (self.value)(row);
        }
        Ok(())
    }

    fn as_differentiable(&self) -> Option<&dyn Differentiable> {
        Some(self)
    }
}

impl Differentiable for Score {
    fn score_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        (self.gradient)(x, gradient);
        Ok((self.value)(x))
    }

    fn hessian_vector(&self, x: &[f64], v: &[f64], out: &mut [f64]) -> Result<()> {
        (self.curve)(x, v, out);
        Ok(())
    }
}

/// Slope 1 up to 0.1, slope −1/2 after it: $0.1 - \tfrac12 \mathrm{relu}(x - 0.1) -
/// \mathrm{relu}(0.1 - x)$.
pub(crate) const TENT: Score = Score {
    n: 1,
    value: |x| 0.1 - 0.5 * (x[0] - 0.1).max(0.0) - (0.1 - x[0]).max(0.0),
    gradient: |x, g| g[0] = if x[0] > 0.1 { -0.5 } else { 1.0 },
    curve: |_, _, out| out.fill(0.0),
};

/// $x^2 - 1$.
pub(crate) const PARABOLA: Score = Score {
    n: 1,
    value: |x| x[0] * x[0] - 1.0,
    gradient: |x, g| g[0] = 2.0 * x[0],
    curve: |_, v, out| out[0] = 2.0 * v[0],
};

/// $x_1 + x_2/2 - 1 + \tfrac34(\cos x_1 + \cos x_2)$, whose gradient is Lipschitz with constant
/// 3/4.
pub(crate) const WAVES: Score = Score {
    n: 2,
    value: |x| x[0] + 0.5 * x[1] - 1.0 + 0.75 * (x[0].cos() + x[1].cos()),
    gradient: |x, g| {
        g[0] = 1.0 - 0.75 * x[0].sin();
        g[1] = 0.5 - 0.75 * x[1].sin();
    },
    curve: |x, v, out| {
        for j in 0..2 {
            out[j] = -0.75 * x[j].cos() * v[j];
        }
    },
};

/// The Lipschitz constant of the gradient of [`WAVES`].
pub(crate) const WAVES_SMOOTHNESS: f64 = 0.75;

const HIDDEN: [([f64; 3], f64, f64); 4] = [
    ([0.9, -1.3, 0.4], 0.2, 1.1),
    ([-0.6, 0.8, 1.2], -0.3, -0.7),
    ([1.5, 0.5, -0.9], 0.1, 0.9),
    ([0.3, -0.4, -1.1], 0.5, -1.4),
];

fn units(x: &[f64]) -> impl Iterator<Item = (&'static [f64; 3], f64, f64)> + '_ {
    HIDDEN.iter().map(|(w, b, a)| (w, (w[0] * x[0] + w[1] * x[1] + w[2] * x[2] + b).tanh(), *a))
}

/// A network of three inputs and four tanh units.
pub(crate) const TANH_NET: Score = Score {
    n: 3,
    value: |x| 0.15 + units(x).map(|(_, t, a)| a * t).sum::<f64>(),
    gradient: |x, g| {
        g.fill(0.0);
        for (w, t, a) in units(x) {
            for j in 0..3 {
                g[j] += a * (1.0 - t * t) * w[j];
            }
        }
    },
    curve: |x, v, out| {
        out.fill(0.0);
        for (w, t, a) in units(x) {
            let along = w[0] * v[0] + w[1] * v[1] + w[2] * v[2];
            for j in 0..3 {
                out[j] += a * -2.0 * t * (1.0 - t * t) * along * w[j];
            }
        }
    },
};

/// The sampled rate and its standard error.
pub(crate) fn sampled(
    model: &dyn Model,
    noise: &Gaussian,
    active: &[bool],
    point: &[f64],
    samples: usize,
) -> (f64, f64) {
    let noise: &dyn Noise = noise;
    let query = Query { model, noise, active, point };
    let mut stream = Seed(17).stream(Purpose::Rate, 0);
    let found =
        MonteCarlo { samples }.estimate(&query, 0.95, &mut stream).expect("a well-posed query");
    (found.rate, found.std_error)
}
