//! Noise that is independent over features: $\varepsilon_j = \mu_j + \sigma_j T_j$ with independent
//! $T_j$ of mean 0 and variance 1.

use super::{Gaussian, Noise};
use crate::error::{Result, require};
use crate::math::normal;
use crate::rows::RowsMut;
use crate::seed::Stream;

/// The distribution of one feature's error in standard units: mean 0, variance 1.
pub trait Shape: Send + Sync {
    /// $P(T \le t)$, accurate in the lower tail.
    fn cdf(&self, t: f64) -> f64;

    /// $P(T > t)$, accurate in the upper tail.
    fn upper_tail(&self, t: f64) -> f64;

    /// The density at `t`.
    fn density(&self, t: f64) -> f64;

    /// The $t$ with $P(T \le t) = p$, for $0 < p < 1$.
    fn quantile(&self, p: f64) -> f64;

    /// [`Shape::cdf`] to $10^{-10}$ and [`Shape::density`] to $10^{-7}$, for callers that need
    /// millions of them.
    fn quick_cdf_and_density(&self, t: f64) -> (f64, f64) {
        (self.cdf(t), self.density(t))
    }

    /// One draw.
    fn draw(&self, stream: &mut Stream) -> f64 {
        self.quantile(stream.uniform())
    }
}

/// The distributions of the features of independent noise; see [`Noise::as_independent`].
pub trait Independent: Send + Sync {
    /// $\mu_j$.
    fn mean(&self, j: usize) -> f64;

    /// $\sigma_j$; zero for a feature without noise.
    fn sd(&self, j: usize) -> f64;

    /// The distribution of $(\varepsilon_j - \mu_j)/\sigma_j$.
    fn shape(&self, j: usize) -> &dyn Shape;
}

/// The standard normal shape.
#[derive(Debug, Clone, Copy)]
struct Normal;

impl Shape for Normal {
    fn cdf(&self, t: f64) -> f64 {
        normal::cdf(t)
    }

    fn upper_tail(&self, t: f64) -> f64 {
        normal::upper_tail(t)
    }

    fn density(&self, t: f64) -> f64 {
        normal::pdf(t)
    }

    fn quantile(&self, p: f64) -> f64 {
        normal::quantile(p)
    }

    fn draw(&self, stream: &mut Stream) -> f64 {
        stream.normal()
    }
}

/// For Gaussian noise with isotropic or diagonal covariance; [`Noise::as_independent`] of a full
/// one is `None`.
impl Independent for Gaussian {
    fn mean(&self, j: usize) -> f64 {
        Gaussian::mean(self)[j]
    }

    fn sd(&self, j: usize) -> f64 {
        Gaussian::sd(self, j)
    }

    fn shape(&self, _j: usize) -> &dyn Shape {
        &Normal
    }
}

/// Zero mean and one shape for all features.
pub(super) struct Shaped<S> {
    name: &'static str,
    sd: Vec<f64>,
    shape: S,
}

impl<S: Shape> Shaped<S> {
    /// Fails unless every standard deviation is finite and at least 0.
    pub(super) fn new(name: &'static str, sd: Vec<f64>, shape: S) -> Result<Self> {
        for (j, s) in sd.iter().enumerate() {
            require(
                *s >= 0.0 && s.is_finite(),
                &format!("noise sd {j}"),
                "at least 0 and finite",
                *s,
            )?;
        }
        Ok(Self { name, sd, shape })
    }
}

impl<S: Shape> Noise for Shaped<S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn dim(&self) -> usize {
        self.sd.len()
    }

    fn sample_into(&self, stream: &mut Stream, mut out: RowsMut<'_>) {
        for row in out.iter_mut() {
            for (e, sd) in row.iter_mut().zip(&self.sd) {
                *e = sd * self.shape.draw(stream);
            }
        }
    }

    fn as_independent(&self) -> Option<&dyn Independent> {
        Some(self)
    }
}

impl<S: Shape> Independent for Shaped<S> {
    fn mean(&self, _j: usize) -> f64 {
        0.0
    }

    fn sd(&self, j: usize) -> f64 {
        self.sd[j]
    }

    fn shape(&self, _j: usize) -> &dyn Shape {
        &self.shape
    }
}

/// The map from uniform points to draws of a noise, coordinate by coordinate. It works for random
/// and for quasi-random points.
#[derive(Clone, Copy)]
pub struct QuantileMap<'a>(Source<'a>);

#[derive(Clone, Copy)]
enum Source<'a> {
    Gaussian(&'a Gaussian),
    Independent(&'a dyn Independent),
}

impl<'a> QuantileMap<'a> {
    /// The map of `noise`: Gaussian with any covariance, or with independent features; `None`
    /// otherwise.
    pub fn of(noise: &'a dyn Noise) -> Option<Self> {
        let gaussian = noise.as_gaussian().map(Source::Gaussian);
        gaussian.or_else(|| noise.as_independent().map(Source::Independent)).map(Self)
    }

    /// Writes the draw that belongs to `uniforms`, numbers in (0, 1), to `out`. Overwrites
    /// `uniforms`.
    pub fn apply_into(&self, uniforms: &mut [f64], out: &mut [f64]) {
        match self.0 {
            Source::Gaussian(gaussian) => {
                for u in uniforms.iter_mut() {
                    *u = normal::quantile(*u);
                }
                gaussian.factor_times(uniforms, out);
                for (e, mean) in out.iter_mut().zip(gaussian.mean()) {
                    *e += mean;
                }
            }
            Source::Independent(features) => {
                for (j, (e, u)) in out.iter_mut().zip(uniforms).enumerate() {
                    *e = features.mean(j) + features.sd(j) * features.shape(j).quantile(*u);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Covariance, NOISES};
    use crate::seed::{Purpose, Seed};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Every registered family with independent features, and some options.
    fn families() -> Vec<(String, Arc<dyn Noise>)> {
        let plain = NOISES.iter().map(|entry| (entry, BTreeMap::new()));
        let df = |entry: &'static crate::registry::Entry<_>, df: f64| {
            (entry, BTreeMap::from([("df".to_owned(), df)]))
        };
        let student = NOISES.iter().find(|entry| entry.name == "student-t").unwrap();
        plain
            .chain([df(student, 2.5), df(student, 30.0)])
            .map(|(entry, options)| {
                (
                    format!("{} {options:?}", entry.name),
                    entry.item.build(vec![0.2, 0.0], &options).unwrap(),
                )
            })
            .filter(|(_, noise)| noise.as_independent().is_some())
            .collect()
    }

    /// ∫ f over the real line by the trapezoidal rule in x = sinh(π/2 sinh u), which also converges
    /// for heavy tails.
    fn integral(f: impl Fn(f64) -> f64) -> f64 {
        const STEP: f64 = 1.0 / 256.0;
        let half_pi = std::f64::consts::FRAC_PI_2;
        let term = |k: i32| {
            let u = f64::from(k) * STEP;
            let inner = half_pi * u.sinh();
            let value = f(inner.sinh()) * inner.cosh() * half_pi * u.cosh();
            if value.is_finite() { value } else { 0.0 }
        };
        STEP * (-1100..=1100).map(term).sum::<f64>()
    }

    #[test]
    fn shapes_have_unit_mass_zero_mean_and_unit_variance() {
        let families = families();
        assert!(families.len() >= 6, "{}", families.len());
        for (name, noise) in &families {
            let shape = noise.as_independent().unwrap().shape(0);
            // The uniform density jumps and the Laplace density has a kink: the rule is then only
            // of order STEP.
            let (jump, kink) = (name.starts_with("uniform"), name.starts_with("laplace"));
            // Student's t with 2.5 degrees: the second moment converges like x^-0.5.
            let rough = if jump {
                1e-2
            } else if kink {
                1e-4
            } else {
                1e-9
            };
            assert!((integral(|t| shape.density(t)) - 1.0).abs() < rough, "{name}");
            assert!(integral(|t| t * shape.density(t)).abs() < rough, "{name}");
            let variance = integral(|t| t * t * shape.density(t));
            assert!((variance - 1.0).abs() < rough.max(1e-6), "{name}: {variance}");
        }
    }

    #[test]
    fn tails_are_integrals_of_densities_and_quantiles_undo_them() {
        for (name, noise) in families() {
            let shape = noise.as_independent().unwrap().shape(0);
            for t in [-1.6, -0.7, -0.01, 0.0, 0.3, 1.2, 1.7] {
                assert!((shape.cdf(t) + shape.upper_tail(t) - 1.0).abs() < 1e-15, "{name} {t}");
                let h = 1e-3;
                // Simpson over a short piece that has no kink inside; its error is of order h⁵.
                let area = h / 6.0
                    * (shape.density(t) + 4.0 * shape.density(t + h / 2.0) + shape.density(t + h));
                assert!((shape.cdf(t + h) - shape.cdf(t) - area).abs() < 1e-12, "{name} {t}");
                assert!((shape.quantile(shape.cdf(t)) - t).abs() < 1e-12, "{name} {t}");
            }
            // The tails are accurate far out, and symmetric.
            for t in [1.73, 5.0, 40.0] {
                assert!(
                    (shape.upper_tail(t) - shape.cdf(-t)).abs() <= 1e-15 * shape.cdf(-t),
                    "{name} {t}"
                );
            }
            for p in [1e-12, 1e-5, 0.3, 0.5, 0.9] {
                // The end of a bounded range is only known to an ulp of one.
                let allowed = 1e-11 * p + f64::EPSILON;
                assert!((shape.cdf(shape.quantile(p)) - p).abs() < allowed, "{name} {p}");
            }
        }
    }

    #[test]
    fn known_values() {
        let shape_of = |name: &str| -> Arc<dyn Noise> {
            let family = NOISES.iter().find(|entry| entry.name == name).unwrap();
            family.item.build(vec![1.0], &BTreeMap::new()).unwrap()
        };
        let tail =
            |name: &str, t: f64| shape_of(name).as_independent().unwrap().shape(0).upper_tail(t);
        // Uniform on ±√3: P(T > √3/2) = 1/4, nothing beyond √3. Laplace: e^{-√2 t}/2. Four degrees:
        // T = X/√2, and by its closed form P(X > 2) = ¼(1-u)²(2+u) with u = 2/√8.
        let root3 = 3.0_f64.sqrt();
        assert!((tail("uniform", root3 / 2.0) - 0.25).abs() < 1e-15);
        assert!(
            tail("uniform", 1.733).abs() <= 0.0 && (tail("uniform", -1.733) - 1.0).abs() <= 0.0
        );
        assert!(
            (tail("laplace", 30.0) / (0.5 * (-30.0 * 2.0_f64.sqrt()).exp()) - 1.0).abs() < 1e-13
        );
        let u = 0.5_f64.sqrt();
        assert!(
            (tail("student-t", 2.0 / 2.0_f64.sqrt()) - 0.25 * (1.0 - u).powi(2) * (2.0 + u)).abs()
                < 1e-15
        );
    }

    #[test]
    fn draws_follow_the_distribution_function() {
        // Kolmogorov and Smirnov: P(√n D > c) < 2 e^{-2c²}, so 1e-6 at c = 2.694, over some ten
        // samples.
        const N: usize = 200_000;
        for (key, (name, noise)) in families().into_iter().enumerate() {
            let mut draws = vec![0.0; 2 * N];
            noise.sample_into(
                &mut Seed(21).stream(Purpose::Data, key as u64),
                RowsMut::new(&mut draws, 2).unwrap(),
            );
            let features = noise.as_independent().unwrap();
            assert!(
                draws.chunks(2).all(|row| row[1].abs() <= 0.0),
                "{name}: no deviation, no error"
            );
            let mut sorted: Vec<f64> = draws.chunks(2).map(|row| row[0] / features.sd(0)).collect();
            sorted.sort_by(f64::total_cmp);
            let gap = |(i, t): (usize, &f64)| {
                let cdf = features.shape(0).cdf(*t);
                (cdf - i as f64 / N as f64).abs().max((cdf - (i + 1) as f64 / N as f64).abs())
            };
            let distance = sorted.iter().enumerate().map(gap).fold(0.0, f64::max);
            assert!(distance < 2.694 / (N as f64).sqrt(), "{name}: {distance}");
        }
    }

    #[test]
    fn the_quantile_map_gives_mean_factor_and_shape() {
        let full =
            Gaussian::new(vec![1.0, -2.0], Covariance::Full(vec![4.0, 2.0, 2.0, 5.0])).unwrap();
        assert!(full.as_independent().is_none());
        // L = [[2, 0], [1, 2]], z = (Φ⁻¹(0.975), 0): ε = (1 + 2·1.96, -2 + 1.96).
        let mut out = [0.0; 2];
        QuantileMap::of(&full).unwrap().apply_into(&mut [0.975, 0.5], &mut out);
        let z = 1.959_963_984_540_054;
        assert!((out[0] - (1.0 + 2.0 * z)).abs() < 1e-14 && (out[1] - (z - 2.0)).abs() < 1e-14);
        let uniform = Shaped::new("uniform", vec![0.5, 1.0], Normal).unwrap();
        QuantileMap::of(&uniform).unwrap().apply_into(&mut [0.975, 0.5], &mut out);
        assert!((out[0] - 0.5 * z).abs() < 1e-15 && out[1].abs() < 1e-15);
    }
}
