//! Comparing numbers under a stated tolerance.

/// How far an actual number may be from the expected one.
pub trait Tolerance {
    /// Whether `actual` is close enough to `expected`.
    fn accepts(&self, actual: f64, expected: f64) -> bool;

    /// The tolerance and by how much the two numbers differ in its terms.
    fn explain(&self, actual: f64, expected: f64) -> String;
}

/// At most this many floating-point numbers apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ulp(pub u64);

/// At most this share of the larger magnitude apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Relative(pub f64);

/// At most this far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Absolute(pub f64);

/// Close enough in relative or in absolute terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixed {
    /// Allowed share of the larger magnitude.
    pub relative: f64,
    /// Allowed distance.
    pub absolute: f64,
}

/// A share estimated from `n` independent draws against its true value.
///
/// Allows `sigmas` standard errors of the true share plus Bernstein's correction `sigmas² / (3 n)`,
/// which keeps the bound honest where the share is so small that a single hit is many standard
/// errors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonteCarlo {
    /// Number of draws.
    pub n: usize,
    /// Allowed standard errors.
    pub sigmas: f64,
}

/// Position of a number in the order of all floating-point numbers; both zeros are at 0.
fn rank(value: f64) -> i128 {
    let magnitude = i128::from(value.abs().to_bits());
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// How many floating-point numbers `b` is away from `a`; `None` if one is NaN.
pub fn ulps_between(a: f64, b: f64) -> Option<u64> {
    if a.is_nan() || b.is_nan() {
        return None;
    }
    u64::try_from((rank(a) - rank(b)).abs()).ok()
}

fn relative_gap(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) }
}

fn distance(a: f64, b: f64) -> f64 {
    if a == b { 0.0 } else { (a - b).abs() }
}

impl Tolerance for Ulp {
    fn accepts(&self, actual: f64, expected: f64) -> bool {
        ulps_between(actual, expected).is_some_and(|n| n <= self.0)
    }

    fn explain(&self, actual: f64, expected: f64) -> String {
        match ulps_between(actual, expected) {
            Some(n) => format!("{n} ulp apart, {} allowed", self.0),
            None => "not comparable".to_owned(),
        }
    }
}

impl Tolerance for Relative {
    fn accepts(&self, actual: f64, expected: f64) -> bool {
        relative_gap(actual, expected) <= self.0
    }

    fn explain(&self, actual: f64, expected: f64) -> String {
        format!("relative gap {:e}, {:e} allowed", relative_gap(actual, expected), self.0)
    }
}

impl Tolerance for Absolute {
    fn accepts(&self, actual: f64, expected: f64) -> bool {
        distance(actual, expected) <= self.0
    }

    fn explain(&self, actual: f64, expected: f64) -> String {
        format!("{:e} apart, {:e} allowed", distance(actual, expected), self.0)
    }
}

impl Tolerance for Mixed {
    fn accepts(&self, actual: f64, expected: f64) -> bool {
        Relative(self.relative).accepts(actual, expected)
            || Absolute(self.absolute).accepts(actual, expected)
    }

    fn explain(&self, actual: f64, expected: f64) -> String {
        let relative = Relative(self.relative).explain(actual, expected);
        format!("{relative}; {}", Absolute(self.absolute).explain(actual, expected))
    }
}

impl MonteCarlo {
    /// The allowed distance from a true share.
    pub fn allowed(&self, share: f64) -> f64 {
        let n = self.n as f64;
        self.sigmas * (share * (1.0 - share) / n).max(0.0).sqrt()
            + self.sigmas * self.sigmas / (3.0 * n)
    }
}

impl Tolerance for MonteCarlo {
    fn accepts(&self, actual: f64, expected: f64) -> bool {
        distance(actual, expected) <= self.allowed(expected)
    }

    fn explain(&self, actual: f64, expected: f64) -> String {
        format!(
            "{:e} apart, {:e} allowed ({} standard errors of {} draws)",
            distance(actual, expected),
            self.allowed(expected),
            self.sigmas,
            self.n
        )
    }
}

/// Fails unless `actual` is within `tolerance` of `expected`; further arguments are a message, as
/// in `assert!`.
///
/// ```
/// use probe_testkit::{Relative, assert_close};
/// assert_close!(0.1 + 0.2, 0.3, Relative(1e-15));
/// ```
#[macro_export]
macro_rules! assert_close {
    ($actual:expr, $expected:expr, $tolerance:expr $(,)?) => {
        $crate::assert_close!($actual, $expected, $tolerance, "")
    };
    ($actual:expr, $expected:expr, $tolerance:expr, $($message:tt)+) => {{
        let (actual, expected): (f64, f64) = ($actual, $expected);
        let tolerance = $tolerance;
        if !$crate::Tolerance::accepts(&tolerance, actual, expected) {
            panic!(
                "{} is {actual:?}, expected {} = {expected:?}: {}\n{}",
                stringify!($actual),
                stringify!($expected),
                $crate::Tolerance::explain(&tolerance, actual, expected),
                format_args!($($message)+)
            );
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulps_cross_zero_and_refuse_nan() {
        assert_eq!(ulps_between(1.0, 1.0 + f64::EPSILON), Some(1));
        assert_eq!(ulps_between(0.0, -0.0), Some(0));
        assert_eq!(ulps_between(f64::from_bits(1), -f64::from_bits(1)), Some(2));
        assert_eq!(ulps_between(f64::MAX, f64::INFINITY), Some(1));
        assert_eq!(ulps_between(f64::NAN, f64::NAN), None);
    }

    #[test]
    fn each_tolerance_accepts_and_refuses() {
        assert!(Ulp(1).accepts(1.0, 1.0 - f64::EPSILON / 2.0) && !Ulp(1).accepts(1.0, 1.0 + 1e-15));
        assert!(Relative(1e-3).accepts(1000.0, 1000.5) && !Relative(1e-4).accepts(1000.0, 1000.5));
        assert!(
            Relative(0.0).accepts(f64::INFINITY, f64::INFINITY)
                && !Relative(1.0).accepts(f64::NAN, 1.0)
        );
        assert!(Absolute(0.1).accepts(0.0, 0.05) && !Absolute(0.1).accepts(0.0, 0.2));
        let mixed = Mixed { relative: 1e-9, absolute: 1e-12 };
        assert!(
            mixed.accepts(1e-13, 0.0) && mixed.accepts(1e9 + 0.5, 1e9) && !mixed.accepts(1.0, 1.1)
        );
        // Standard error of a share of 0.5 from 10,000 draws: 0.005.
        let sampled = MonteCarlo { n: 10_000, sigmas: 4.0 };
        assert!(sampled.accepts(0.519, 0.5) && !sampled.accepts(0.522, 0.5));
        // One hit where none is likely is still fine, a hundred are not.
        assert!(sampled.accepts(1e-4, 1e-9) && !sampled.accepts(1e-2, 1e-9));
    }

    #[test]
    #[should_panic(expected = "expected 2.0 = 2.0: 1e0 apart, 5e-1 allowed\ncase 7")]
    fn the_macro_says_what_differs() {
        assert_close!(1.0, 2.0, Absolute(0.5), "case {}", 7);
    }
}
