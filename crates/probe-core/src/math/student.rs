//! Student's $t$ distribution with $\nu$ degrees of freedom, tails without cancellation.
//!
//! With $z = \nu/(\nu + x^2)$, density $f$ and the continued fraction $K(\cdot\,; a, b)$ of the
//! incomplete beta function,
//!
//! $$P(T > x) = \frac{x f(x)}{\nu} K(z; \tfrac\nu2, \tfrac12) \quad (x \gtrsim \sqrt3), \qquad
//! P(0 < T \le x) = x f(x) K(1 - z; \tfrac12, \tfrac\nu2) ,$$
//!
//! so only $\Gamma(\frac{\nu+1}2)/\Gamma(\frac\nu2)$ is needed in addition, once per $\nu$: no
//! logarithms of large gamma values are subtracted. Source: *Numerical Recipes*, section 6.4, for
//! the fraction (modified Lentz); Abramowitz and Stegun 6.1.49 for the ratio.

use crate::error::{Result, require};
use crate::math::normal;
use std::f64::consts::PI;

/// The most degrees of freedom supported; there the density is the normal one to about $10^{-6}$.
pub const MAX_DF: f64 = 1e6;

/// Student's $t$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    df: f64,
    /// Density at 0.
    peak: f64,
}

impl StudentT {
    /// Fails unless `df` is positive and at most [`MAX_DF`].
    pub fn new(df: f64) -> Result<Self> {
        require(df > 0.0 && df <= MAX_DF, "degrees of freedom", "positive and at most 1e6", df)?;
        Ok(Self { df, peak: gamma_ratio(0.5 * df) / (PI * df).sqrt() })
    }

    /// $\nu$.
    pub fn df(&self) -> f64 {
        self.df
    }

    /// Density $f(x) = f(0)\,(1 + x^2/\nu)^{-(\nu+1)/2}$.
    pub fn pdf(&self, x: f64) -> f64 {
        self.peak * libm::exp(-0.5 * (self.df + 1.0) * libm::log1p(x * x / self.df))
    }

    /// $P(T > x)$.
    ///
    /// ```
    /// use probe_core::math::student::StudentT;
    /// let cauchy = StudentT::new(1.0)?;
    /// assert!((cauchy.upper_tail(1.0) - 0.25).abs() < 1e-15);
    /// # Ok::<(), probe_core::Error>(())
    /// ```
    pub fn upper_tail(&self, x: f64) -> f64 {
        if x < 0.0 {
            return 1.0 - self.upper_tail(-x);
        }
        let (square, a) = (x * x, 0.5 * self.df);
        if square.is_infinite() {
            return 0.0;
        }
        let (tail, centre) = (self.df / (self.df + square), square / (self.df + square));
        if tail < (a + 1.0) / (a + 2.5) {
            x * self.pdf(x) / self.df * fraction(tail, a, 0.5)
        } else {
            // At most 0.45 is taken from one half here.
            0.5 - x * self.pdf(x) * fraction(centre, 0.5, a)
        }
    }

    /// $x$ with $P(T > x) = p$, for $0 \le p \le 1$ (±∞ at the ends, NaN outside).
    ///
    /// Newton's method from the side where it cannot overshoot: on $P(0 < T \le x)$, concave in
    /// $x$, around the median; on $\ln P(T > x)$, concave in $\ln x$, in the tail.
    pub fn upper_quantile(&self, p: f64) -> f64 {
        if p > 0.5 {
            return -self.upper_quantile(1.0 - p);
        }
        if p > 0.1 {
            let mut x = 0.0;
            for _ in 0..100 {
                let step = (self.upper_tail(x) - p) / self.pdf(x);
                x += step;
                if step.abs() <= 2e-16 * x {
                    break;
                }
            }
            return x;
        }
        if p > 0.0 {
            let mut x = normal::upper_quantile(p);
            for _ in 0..100 {
                let tail = self.upper_tail(x);
                let step = libm::log(tail / p) * tail / (x * self.pdf(x));
                x *= libm::exp(step);
                if step.abs() <= 2e-16 {
                    break;
                }
            }
            return x;
        }
        if p < 0.0 || p.is_nan() { f64::NAN } else { f64::INFINITY }
    }
}

/// Tails and densities from a table: $P(T > x)$ to $2\cdot10^{-11}$ and the density to
/// $2\cdot10^{-8}$, in a tenth of the time.
///
/// Cubic Hermite interpolation of the tail, whose slope is the density, is off by
/// $h^4\max|f'''|/384$ at most, and its slope by $h^3\max|f'''|/(72\sqrt3)$; for one degree of
/// freedom and more $|f'''| < 1.5$.
#[derive(Debug, Clone)]
pub struct QuickStudentT {
    exact: StudentT,
    /// $P(T > x)$ and $-h f(x)$ at $x = 0, h, 2h, \dots$
    table: Vec<[f64; 2]>,
}

/// Entries of the table for a unit of $x$, and the end of the table.
const PER_UNIT: usize = 128;
const TABLE_END: f64 = 16.0;

impl QuickStudentT {
    /// Tails below this are too thin for quantiles from the table.
    const LEAST: f64 = 1e-3;

    /// The table of a distribution with at least one degree of freedom.
    pub fn new(exact: StudentT) -> Self {
        let step = 1.0 / PER_UNIT as f64;
        let entry = |i: usize| {
            let x = i as f64 * step;
            [exact.upper_tail(x), -step * exact.pdf(x)]
        };
        Self { exact, table: (0..=TABLE_END as usize * PER_UNIT + 1).map(entry).collect() }
    }

    /// $P(T > x)$ and the density at $x$.
    pub fn upper_tail_and_pdf(&self, x: f64) -> (f64, f64) {
        let place = x.abs();
        if place >= TABLE_END || place.is_nan() {
            return (self.exact.upper_tail(x), self.exact.pdf(x));
        }
        let scaled = place * PER_UNIT as f64;
        let (i, s) = (scaled as usize, scaled.fract());
        let ([a, slope_a], [b, slope_b]) = (self.table[i], self.table[i + 1]);
        // a + s (slope_a + s (rise + s bend)).
        let (rise, bend) =
            (3.0 * (b - a) - 2.0 * slope_a - slope_b, 2.0 * (a - b) + slope_a + slope_b);
        let tail = a + s * (slope_a + s * (rise + s * bend));
        let density = -(slope_a + s * (2.0 * rise + 3.0 * s * bend)) * PER_UNIT as f64;
        (if x < 0.0 { 1.0 - tail } else { tail }, density)
    }

    /// [`StudentT::upper_quantile`], to the same precision: the table gives the tail to a share of
    /// $2\cdot10^{-8}$, and one step of Newton's is left.
    pub fn upper_quantile(&self, p: f64) -> f64 {
        if p > 0.5 {
            return -self.upper_quantile(1.0 - p);
        }
        let next = self.table.partition_point(|entry| entry[0] >= p);
        let inside = p >= Self::LEAST && next > 0 && next < self.table.len() - 1;
        if !inside {
            return self.exact.upper_quantile(p);
        }
        let ([a, _], [b, _]) = (self.table[next - 1], self.table[next]);
        let mut x = ((next - 1) as f64 + (a - p) / (a - b)) / PER_UNIT as f64;
        let (tail, density) = self.upper_tail_and_pdf(x);
        x += (tail - p) / density;
        x + (self.exact.upper_tail(x) - p) / self.exact.pdf(x)
    }
}

/// $\Gamma(z + \frac12)/\Gamma(z)$: the asymptotic series at $z \ge 32$, reached by $\Gamma(z+1) =
/// z\Gamma(z)$.
fn gamma_ratio(mut z: f64) -> f64 {
    let mut factor = 1.0;
    while z < 32.0 {
        factor *= z / (z + 0.5);
        z += 1.0;
    }
    let inverse = 1.0 / z;
    let square = inverse * inverse;
    // The next term, -31/(18432 z⁹), is below 5e-17.
    let series =
        -1.0 / 8.0 + square * (1.0 / 192.0 - square * (1.0 / 640.0 - square * 17.0 / 14336.0));
    factor * z.sqrt() * libm::exp(inverse * series)
}

/// The fraction $K$ with $I_x(a, b) = x^a (1-x)^b K / (a B(a, b))$, for $x$ below about its mean.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let (mut c, mut d) = (1.0, 1.0 / (1.0 - (a + b) * x / (a + 1.0)));
    let mut value = d;
    // About √max(a, b) terms are needed.
    for m in 1..20_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / (1.0 + even * d);
        c = 1.0 + even / c;
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / (1.0 + odd * d);
        c = 1.0 + odd / c;
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative(found: f64, expected: f64) -> f64 {
        (found / expected - 1.0).abs()
    }

    #[test]
    fn tails_match_closed_forms() {
        let at = [1e-8, 0.1, 0.9, 1.7, 1.8, 2.5, 7.0, 40.0];
        for x in at {
            // One degree: ½ - atan(x)/π = atan(1/x)/π. Two: ½(1 - x/√(2+x²)) =
            // 1/(√(2+x²)(√(2+x²)+x)).
            let one = StudentT::new(1.0).unwrap();
            assert!(relative(one.upper_tail(x), libm::atan(1.0 / x) / PI) < 1e-14, "{x}");
            let (two, root) = (StudentT::new(2.0).unwrap(), (2.0 + x * x).sqrt());
            assert!(relative(two.upper_tail(x), 1.0 / (root * (root + x))) < 1e-14, "{x}");
            // Four: with u = x/√(4+x²), ½ - ¾u + ¼u³ = ¼(1-u)²(2+u), and 1 - u =
            // 4/(√(4+x²)(√(4+x²)+x)).
            let (four, root) = (StudentT::new(4.0).unwrap(), (4.0 + x * x).sqrt());
            let rest = 4.0 / (root * (root + x));
            assert!(
                relative(four.upper_tail(x), 0.25 * rest * rest * (2.0 + x / root)) < 1e-14,
                "{x}"
            );
            assert!(relative(four.upper_tail(-x), 1.0 - four.upper_tail(x)) < 1e-15);
        }
        let two = StudentT::new(2.0).unwrap();
        assert!(relative(two.upper_tail(1e100), 0.5e-200) < 1e-13);
        assert!(two.upper_tail(1e200).abs() <= 0.0 && two.upper_tail(f64::INFINITY).abs() <= 0.0);
    }

    #[test]
    fn quantiles_match_the_tables() {
        // Critical values of any table of t, to the digits printed there; one degree is -cot(πp),
        // four from the closed form above.
        let table = [
            (1.0, 0.025, 12.706_204_736_174_7),
            (4.0, 0.05, 2.131_846_786_326_6),
            (9.0, 0.05, 1.833_112_932_656_2),
            (29.0, 0.05, 1.699_127_026_533_5),
            (9.0, 0.1, 1.383_028_738_396_6),
            (15.0, 0.0005, 4.072_765_195_903_5),
        ];
        for (df, p, expected) in table {
            let found = StudentT::new(df).unwrap().upper_quantile(p);
            assert!(relative(found, expected) < 1e-12, "{df} {p}: {found}");
        }
    }

    #[test]
    fn quantiles_undo_tails() {
        for df in [0.7, 2.1, 3.0, 4.0, 30.5, 1e3, 1e6] {
            let t = StudentT::new(df).unwrap();
            for p in [1e-200, 1e-30, 1e-9, 0.001, 0.0999, 0.1001, 0.3, 0.499_999, 0.5, 0.6, 0.999] {
                let x = t.upper_quantile(p);
                // Small degrees of freedom put 1e-200 beyond the largest double.
                if x.is_finite() && (x * x).is_finite() {
                    assert!(
                        relative(t.upper_tail(x), p) < 1e-12,
                        "{df} {p}: {x} {}",
                        t.upper_tail(x)
                    );
                }
            }
            assert!(t.upper_quantile(0.5).abs() < 1e-15);
            assert!(t.upper_quantile(0.0).is_infinite() && t.upper_quantile(-0.1).is_nan());
        }
        let nearly_normal = StudentT::new(MAX_DF).unwrap();
        // First-order correction (z³ + z)/(4ν).
        let z = normal::upper_quantile(0.05);
        let expected = z + (z * z * z + z) / 4e6;
        assert!((nearly_normal.upper_quantile(0.05) - expected).abs() < 1e-11);
    }

    #[test]
    fn the_density_is_the_derivative_of_the_tail_and_bad_degrees_fail() {
        for df in [0.7, 4.0, 100.0] {
            let t = StudentT::new(df).unwrap();
            for x in [0.05f64, 0.9, 1.75, 3.0, 9.0] {
                let h = 1e-5 * x;
                // The error of a central difference is h² f''/(6f), below 4e-8 here, and rounding
                // over h.
                let slope = (t.upper_tail(x - h) - t.upper_tail(x + h)) / (2.0 * h);
                assert!(relative(slope, t.pdf(x)) < 1e-6, "{df} {x}");
            }
        }
        for df in [0.0, -1.0, f64::NAN, f64::INFINITY, 2e6] {
            assert!(StudentT::new(df).is_err());
        }
    }

    #[test]
    fn the_table_is_as_close_as_it_says() {
        for df in [1.0, 2.05, 3.0, 4.0, 30.0, 1e3, 1e6] {
            let exact = StudentT::new(df).unwrap();
            let quick = QuickStudentT::new(exact);
            for i in -18_000..=18_000 {
                let x = f64::from(i) * 1e-3 + 3.7e-4;
                let (tail, density) = quick.upper_tail_and_pdf(x);
                assert!((tail - exact.upper_tail(x)).abs() < 2e-11, "{df} {x}: {tail}");
                assert!((density - exact.pdf(x)).abs() < 2e-8, "{df} {x}: {density}");
            }
            for p in [
                1e-12,
                1e-9,
                1.01e-4,
                9.9e-4,
                1.01e-3,
                2.3e-3,
                0.013,
                0.2,
                0.4,
                0.499,
                0.5,
                0.77,
                1.0 - 1e-9,
            ] {
                let x = quick.upper_quantile(p);
                // With very many degrees the fraction's roundings add up: against 30 digits the
                // tail of a million is off by 1.4e-11 at 0.0023, more near the middle. Many steps
                // settle into them, above; one does not.
                let allowed = if df > 1e4 { 1e-9 } else { 1e-12 };
                assert!(relative(exact.upper_tail(x), p) < allowed, "{df} {p}: {x}");
            }
            assert!(quick.upper_quantile(f64::NAN).is_nan() && quick.upper_quantile(-0.1).is_nan());
            assert_eq!(
                (quick.upper_quantile(0.0), quick.upper_quantile(1.0)),
                (f64::INFINITY, -f64::INFINITY)
            );
            assert_eq!(quick.upper_tail_and_pdf(f64::INFINITY).0, 0.0);
            assert_eq!(quick.upper_tail_and_pdf(f64::NEG_INFINITY).0, 1.0);
            assert!(quick.upper_tail_and_pdf(f64::NAN).0.is_nan());
        }
    }
}
