//! Families of noise under which the rate of the bent score of `certificates` is known: a
//! one-dimensional integral, computed with distribution functions of this file's own.

use crate::certificates::{Bends, PERSON, SECOND, SIGMA};
use probe_core::noise::NoiseSpec;
use probe_core::{Covariance, Effort, Gaussian, Noise};
use std::sync::Arc;

/// Noise whose true rate is known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Family {
    Gaussian,
    /// Correlation 0.6, deviations 0.1 and 0.15, and a mean.
    Full,
    Uniform,
    Laplace,
    /// Four degrees of freedom.
    StudentT,
    /// Relative error 0.15, and people stop 2 % short.
    Effort,
}

/// Means, deviations and correlation of the two errors.
struct Moments {
    mean: [f64; 2],
    sd: [f64; 2],
    correlation: f64,
}

impl Family {
    pub(crate) const ALL: [Self; 6] =
        [Self::Gaussian, Self::Full, Self::Uniform, Self::Laplace, Self::StudentT, Self::Effort];

    pub(crate) fn noise(self) -> Arc<dyn Noise> {
        let named = |text: &str| NoiseSpec::parse(text).unwrap().build(vec![SIGMA; 2]).unwrap();
        match self {
            Self::Gaussian => named("gaussian"),
            Self::Uniform => named("uniform"),
            Self::Laplace => named("laplace"),
            Self::StudentT => named("student-t:0.1,df=4"),
            Self::Full => {
                let covariance = Covariance::Full(vec![0.01, 0.009, 0.009, 0.0225]);
                Arc::new(Gaussian::new(vec![0.01, -0.02], covariance).unwrap())
            }
            Self::Effort => Arc::new(Effort::new(vec![SIGMA; 2], vec![0.15; 2], -0.02).unwrap()),
        }
    }

    /// What holds for a person who goes to `point`.
    fn moments(self, point: [f64; 2]) -> Moments {
        match self {
            Self::Full => Moments { mean: [0.01, -0.02], sd: [0.1, 0.15], correlation: 0.6 },
            Self::Effort => {
                let change = [point[0] - PERSON[0], point[1] - PERSON[1]];
                let sd = change.map(|d| (SIGMA * SIGMA + 0.15 * 0.15 * d * d).sqrt());
                Moments { mean: change.map(|d| -0.02 * d), sd, correlation: 0.0 }
            }
            _ => Moments { mean: [0.0; 2], sd: [SIGMA; 2], correlation: 0.0 },
        }
    }

    /// Distribution function in standard units.
    pub(crate) fn cdf(self, t: f64) -> f64 {
        match self {
            Self::Uniform => (0.5 + t / 12.0_f64.sqrt()).clamp(0.0, 1.0),
            Self::Laplace if t < 0.0 => 0.5 * libm::exp(2.0_f64.sqrt() * t),
            Self::Laplace => 1.0 - 0.5 * libm::exp(-(2.0_f64.sqrt()) * t),
            Self::StudentT => {
                // Variance 2 at four degrees of freedom; F(t) = 1/2 + 3/8 q (1 - q²/12) with q =
                // t/√(1 + t²/4).
                let t = 2.0_f64.sqrt() * t;
                let q = t / (1.0 + t * t / 4.0).sqrt();
                0.5 + 0.375 * q * (1.0 - q * q / 12.0)
            }
            _ => 0.5 * libm::erfc(-t / 2.0_f64.sqrt()),
        }
    }

    fn density(self, t: f64) -> f64 {
        match self {
            Self::Uniform => 1.0 / 12.0_f64.sqrt(),
            Self::Laplace => 0.5_f64.sqrt() * libm::exp(-(2.0_f64.sqrt()) * t.abs()),
            Self::StudentT => 2.0_f64.sqrt() * 0.375 * (1.0 + t * t / 2.0).powf(-2.5),
            _ => libm::exp(-0.5 * t * t) / (2.0 * std::f64::consts::PI).sqrt(),
        }
    }

    /// Where density or distribution function are not smooth, and the ends of what is integrated.
    fn knots(self) -> Vec<f64> {
        match self {
            Self::Uniform => vec![-(3.0_f64.sqrt()), 3.0_f64.sqrt()],
            Self::Laplace => vec![-25.0, 0.0, 25.0],
            // Beyond lies a mass of 1e-15; the pieces in between follow the tail.
            Self::StudentT => {
                let out = [0.0, 2.0, 6.0, 20.0, 60.0, 200.0, 1e3, 5e3];
                out.iter().flat_map(|&t| [-t, t]).collect()
            }
            _ => vec![-9.0, 9.0],
        }
    }

    /// The true rate of `point`: E[F₁] over the second error.
    pub(crate) fn rate(self, bends: Bends, point: [f64; 2]) -> f64 {
        let Moments { mean, sd, correlation } = self.moments(point);
        let rest = (1.0 - correlation * correlation).sqrt();
        let given = |t: f64| {
            let room = -bends.at(point[1] + mean[1] + sd[1] * t) - point[0] - mean[0];
            self.cdf((room / sd[0] - correlation * t) / rest)
        };
        let mut knots = self.knots();
        let (low, high) =
            (knots.iter().copied().fold(0.0, f64::min), knots.iter().copied().fold(0.0, f64::max));
        // The bends of h, and where a knot of F₁ is met on its second and third piece.
        let mut values = vec![0.0, 0.1];
        for knot in self.knots() {
            let h = -point[0] - mean[0] - sd[0] * knot;
            values.extend([h / bends.up, (h - 0.1 * bends.down) / (bends.up - bends.down)]);
        }
        knots.extend(values.iter().map(|y| ((y - point[1] - mean[1]) / sd[1]).clamp(low, high)));
        knots.sort_by(f64::total_cmp);
        knots
            .windows(2)
            .map(|ends| integral(&|t| self.density(t) * given(t), ends[0], ends[1]))
            .sum()
    }

    /// A point whose true rate is `rate`.
    pub(crate) fn point_of(self, bends: Bends, rate: f64) -> [f64; 2] {
        let (mut low, mut high) = (-0.2, 0.9);
        while high - low > 1e-15 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.rate(bends, [middle, SECOND]) > rate { low = middle } else { high = middle }
        }
        // The side that is refused at least as often as asked.
        [low, SECOND]
    }
}

/// Gauss and Legendre's rule with five nodes on 64 pieces.
fn integral(f: &dyn Fn(f64) -> f64, from: f64, to: f64) -> f64 {
    const NODES: [(f64, f64); 3] = [
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    const PIECES: usize = 64;
    let half = 0.5 * (to - from) / PIECES as f64;
    let piece = |i: usize| {
        let centre = from + half * (2 * i + 1) as f64;
        let at = |x: f64| f(centre + half * x);
        NODES
            .iter()
            .map(|&(x, w)| if x == 0.0 { w * at(0.0) } else { w * (at(x) + at(-x)) })
            .sum::<f64>()
    };
    half * (0..PIECES).map(piece).sum::<f64>()
}
