//! Numbers as a language writes them. Certified numbers are printed to the last digit; bounds are
//! rounded to the safe side.

use serde::Deserialize;

/// How a language writes numbers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberStyle {
    /// Before the decimals.
    pub decimal: String,
    /// Between groups of three digits.
    pub group: String,
    /// Between a number and a percent sign.
    pub percent: String,
}

/// Significant digits of rounded numbers.
const DIGITS: i32 = 3;
/// Shares are written as counts out of at most this number,
const MANY: u64 = 1_000_000;
/// or out of at most this number for a requested share.
const MOST: u64 = 1_000_000_000_000;

impl NumberStyle {
    /// The number itself: the shortest digits that read back to it, grouped.
    pub fn exact(&self, value: f64) -> String {
        if !value.is_finite() {
            return "?".to_owned();
        }
        // Adding 0 turns minus zero into zero.
        let text = format!("{}", (value + 0.0).abs());
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let mut out = String::with_capacity(text.len() + 8);
        if value < 0.0 {
            out.push('−');
        }
        for (i, digit) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i) % 3 == 0 {
                out.push_str(&self.group);
            }
            out.push(digit);
        }
        if !fraction.is_empty() {
            out.push_str(&self.decimal);
            out.push_str(fraction);
        }
        out
    }

    /// A size rounded down to three digits, strictly below the value, because at the bound itself
    /// nothing is guaranteed.
    pub fn below(&self, size: f64) -> String {
        // More than the rounding error of products and quotients of doubles.
        self.exact(to_digits(size * (1.0 - 1e-9), f64::floor))
    }

    /// A size to three digits.
    pub fn about(&self, size: f64) -> String {
        self.exact(to_digits(size, f64::round))
    }

    /// A share of 1 in per cent, with six decimals at most and never more than it is.
    pub fn percent(&self, share: f64) -> String {
        let text = self.exact(parsed(floor_at(share * 100.0, 1e6), 6));
        format!("{text}{}%", self.percent)
    }

    /// A number that is text already, with its unit.
    pub fn with_unit(&self, text: &str, unit: Option<&str>) -> String {
        match unit.map(str::trim) {
            None | Some("") => text.to_owned(),
            Some(unit) if unit.starts_with('%') => format!("{text}{}{unit}", self.percent),
            Some(unit) => format!("{text} {unit}"),
        }
    }

    /// A count.
    pub fn count(&self, n: u64) -> String {
        // Counts stay far below 2^53.
        self.exact(n as f64)
    }
}

/// A positive size rounded to the digits that are printed.
fn to_digits(size: f64, round: fn(f64) -> f64) -> f64 {
    if !(size.is_finite() && size > 0.0) {
        return 0.0;
    }
    let places = DIGITS - 1 - size.log10().floor() as i32;
    if places > 300 {
        return 0.0;
    }
    let scale = 10f64.powi(places.abs());
    if places <= 0 {
        round(size / scale) * scale
    } else {
        parsed(round(size * scale) / scale, places as usize)
    }
}

/// The nearest number with this many decimals, so that it prints with these digits.
fn parsed(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// `value · scale` rounded down, back on the scale; a value that differs from a whole number by
/// rounding only counts as that number.
fn floor_at(value: f64, scale: f64) -> f64 {
    let steps = value * scale;
    let near = steps.round();
    (if (near - steps).abs() <= 1e-12 * near.abs() { near } else { steps.floor() }) / scale
}

/// A share as a count: `count` of `out_of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Odds {
    /// How many.
    pub count: u64,
    /// Of how many.
    pub out_of: u64,
}

impl Odds {
    /// At least the share and at most a twentieth more, out of the smallest round number for which
    /// this is possible.
    pub fn at_most(share: f64) -> Self {
        Self::find(share, MANY, up)
    }

    /// The same for a requested share, which may be very small.
    pub fn asked(share: f64) -> Self {
        Self::find(share, MOST, up)
    }

    /// The nearest count, with the same precision.
    pub fn about(share: f64) -> Self {
        Self::find(share, MANY, f64::round)
    }

    fn find(share: f64, most: u64, round: fn(f64) -> f64) -> Self {
        let share = if share.is_nan() { 1.0 } else { share.clamp(0.0, 1.0) };
        let mut out_of = 100;
        loop {
            let (exact, count) = (share * out_of as f64, round(share * out_of as f64));
            if out_of >= most || (count - exact).abs() <= 0.05 * exact {
                return Self { count: count as u64, out_of };
            }
            out_of *= 10;
        }
    }

    /// The rest.
    pub fn others(self) -> u64 {
        self.out_of - self.count.min(self.out_of)
    }
}

/// Rounded up, unless the product differs from a whole number by rounding only.
fn up(n: f64) -> f64 {
    if (n - n.round()).abs() <= 1e-9 * n { n.round() } else { n.ceil() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn english() -> NumberStyle {
        NumberStyle { decimal: ".".into(), group: ",".into(), percent: String::new() }
    }

    #[test]
    fn what_was_certified_keeps_every_digit() {
        let de = NumberStyle { decimal: ",".into(), group: ".".into(), percent: "\u{a0}".into() };
        assert_eq!(english().exact(1_234_567.25), "1,234,567.25");
        assert_eq!(english().exact(35.199_999_999_999_996), "35.199999999999996");
        assert_eq!(english().exact(-0.0), "0");
        assert_eq!(english().exact(-1000.5), "−1,000.5");
        assert_eq!(english().exact(1e-7), "0.0000001");
        assert_eq!(english().exact(f64::NAN), "?");
        assert_eq!(de.exact(1_234_567.25), "1.234.567,25");
        assert_eq!(de.with_unit("4,75", Some("% of the limit")), "4,75\u{a0}% of the limit");
        assert_eq!(english().with_unit("5", Some("EUR")), "5 EUR");
    }

    #[test]
    fn bounds_are_rounded_to_their_safe_side() {
        let style = english();
        for (size, below, about) in [
            (7_619.9, "7,610", "7,620"),
            (25_700.0, "25,600", "25,700"),
            (26.3199, "26.3", "26.3"),
            (0.012_399, "0.0123", "0.0124"),
            (0.3, "0.299", "0.3"),
            (1.0, "0.999", "1"),
            (0.0, "0", "0"),
        ] {
            assert_eq!(style.below(size), below, "{size}");
            assert_eq!(style.about(size), about, "{size}");
        }
        assert_eq!(style.percent(0.999), "99.9%");
        assert_eq!(style.percent(0.999_999_999), "99.999999%");
    }

    #[test]
    fn odds_never_promise_more_than_the_bound() {
        for (share, count, out_of) in [
            (0.1, 10, 100),
            (0.099_9, 10, 100),
            (0.0351, 36, 1_000),
            (0.05, 5, 100),
            (0.29, 29, 100),
            (1e-12, 1, 1_000_000),
            (0.0, 0, 100),
            (1.0, 100, 100),
            (f64::NAN, 100, 100),
        ] {
            assert_eq!(Odds::at_most(share), Odds { count, out_of }, "{share}");
        }
        for i in 1..10_000 {
            let share = f64::from(i) / 9_973.0 * 0.7;
            let odds = Odds::at_most(share);
            assert!(
                odds.count as f64 / odds.out_of as f64 >= share * (1.0 - 1e-9),
                "{share}: {odds:?}"
            );
        }
        assert_eq!(Odds::asked(1e-7), Odds { count: 1, out_of: 10_000_000 });
        assert_eq!(Odds::about(0.234), Odds { count: 23, out_of: 100 });
        assert_eq!(Odds::about(0.234).others(), 77);
    }
}
