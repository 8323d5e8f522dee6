//! Numbers as people read them: thousands separators, sensible digits, units, and shares as "10 in
//! 100".
//!
//! Used by the report and by everything that prints text. Nothing here prints `NaN` or `inf`.

mod odds;
mod step;

pub use odds::Odds;
pub use step::{Step, step};

/// What is printed for a number that does not exist.
pub const MISSING: &str = "n/a";

/// Above this, and below [`TINY`], numbers are printed as a power of ten.
const HUGE: f64 = 1e15;
const TINY: f64 = 1e-4;

/// A number with four significant digits; the whole part is always complete.
///
/// ```
/// use probe_experiments::number::number;
/// assert_eq!(number(1234567.891), "1,234,568");
/// assert_eq!(number(0.30), "0.3");
/// assert_eq!(number(-12.3456), "-12.35");
/// assert_eq!(number(0.00000123), "1.23×10⁻⁶");
/// assert_eq!(number(f64::NAN), "n/a");
/// ```
pub fn number(value: f64) -> String {
    rounded(value, 4)
}

/// A number with the given count of significant digits; the whole part is always complete.
pub fn rounded(value: f64, significant: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let size = value.abs();
    if size >= HUGE || (size > 0.0 && size < TINY) {
        return power_of_ten(value, significant.saturating_sub(1));
    }
    fixed(value, decimals_for(value, significant))
}

/// A number with a unit: `36,500 EUR`.
///
/// ```
/// use probe_experiments::number::quantity;
/// assert_eq!(quantity(36500.0, Some("EUR")), "36,500 EUR");
/// assert_eq!(quantity(12.5, Some("%")), "12.5%");
/// assert_eq!(quantity(3.0, None), "3");
/// ```
pub fn quantity(value: f64, unit: Option<&str>) -> String {
    with_unit(number(value), unit)
}

/// A share as a percentage with three significant digits: `0.0351` is `3.51%`.
///
/// ```
/// use probe_experiments::number::percent;
/// assert_eq!(percent(0.1), "10%");
/// assert_eq!(percent(0.03512), "3.51%");
/// ```
pub fn percent(share: f64) -> String {
    with_unit(rounded(share * 100.0, 3), Some("%"))
}

/// Appends a unit to a number that is already text.
pub fn with_unit(text: String, unit: Option<&str>) -> String {
    match unit.map(str::trim) {
        None | Some("") => text,
        Some("%") => format!("{text}%"),
        Some(unit) => format!("{text} {unit}"),
    }
}

/// A number with exactly this precision at most: grouped, trailing zeros removed, no minus zero.
pub fn fixed(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return MISSING.to_owned();
    }
    let text = format!("{:.*}", decimals.min(17), value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction = fraction.trim_end_matches('0');
    let zero = fraction.is_empty() && whole.bytes().all(|b| b == b'0');
    let mut out = String::with_capacity(text.len() + 8);
    if value < 0.0 && !zero {
        out.push('-');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// Decimals needed to show this many significant digits.
fn decimals_for(value: f64, significant: usize) -> usize {
    if value == 0.0 {
        return 0;
    }
    let exponent = value.abs().log10().floor();
    let decimals = significant as f64 - 1.0 - exponent;
    if decimals > 0.0 { decimals.min(300.0) as usize } else { 0 }
}

fn power_of_ten(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    if value == 0.0 {
        return "0".to_owned();
    }
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    let mut out = format!("{mantissa}×10");
    for c in exponent.chars() {
        out.push(match c {
            '-' => '⁻',
            '0' => '⁰',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            '4' => '⁴',
            '5' => '⁵',
            '6' => '⁶',
            '7' => '⁷',
            '8' => '⁸',
            _ => '⁹',
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_trims() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (-0.00000001, "-1×10⁻⁸"),
            (999.96, "1,000"),
            (1000.0, "1,000"),
            (-1_234_567.0, "-1,234,567"),
            (0.5, "0.5"),
            (12.0, "12"),
            (2.5e20, "2.5×10²⁰"),
            (f64::INFINITY, "n/a"),
            (f64::MIN_POSITIVE, "2.225×10⁻³⁰⁸"),
        ] {
            assert_eq!(number(value), text, "{value:e}");
        }
    }
}
