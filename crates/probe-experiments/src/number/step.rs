//! A change from one value to another.

use super::{HUGE, MISSING, TINY, decimals_for, fixed, number, power_of_ten, rounded};

/// A change from one value to another, as it is printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Where the person is.
    pub from: String,
    /// Where the person should go.
    pub to: String,
    /// The difference of the two printed values, with its sign.
    pub by: String,
}

/// Prints a change with as many digits as the change needs.
///
/// The target is rounded *away* from the start, so that the printed advice never asks for less than
/// what was computed (up to a millionth of the last digit).
///
/// ```
/// use probe_experiments::number::step;
/// let s = step(31_200.0, 36_512.3);
/// assert_eq!((s.from.as_str(), s.to.as_str(), s.by.as_str()), ("31,200", "36,513", "+5,313"));
/// let s = step(0.51, 0.5042);
/// assert_eq!((s.from.as_str(), s.to.as_str(), s.by.as_str()), ("0.51", "0.5042", "-0.0058"));
/// ```
pub fn step(from: f64, to: f64) -> Step {
    let by = to - from;
    if !by.is_finite() || by == 0.0 {
        let by = if by == 0.0 { "0".to_owned() } else { MISSING.to_owned() };
        return Step { from: number(from), to: number(to), by };
    }
    let size = from.abs().max(to.abs());
    let digits = decimals_for(by, 3).min(17);
    let scale = 10f64.powi(i32::try_from(digits).unwrap_or(17));
    // Where the grid is finer than the floats themselves there is nothing to round.
    let out = if size * scale < 1e15 {
        let steps = to * scale;
        let slack = 1e-6 + steps.abs() * 2.0 * f64::EPSILON;
        let outward = if by > 0.0 { (steps - slack).ceil() } else { (steps + slack).floor() };
        outward / scale
    } else {
        to
    };
    let signed = |text: String| if by > 0.0 { format!("+{text}") } else { text };
    if !(TINY..HUGE).contains(&size) {
        let mut precision = 3;
        while precision < 16 && power_of_ten(from, precision) == power_of_ten(to, precision) {
            precision += 1;
        }
        return Step {
            from: power_of_ten(from, precision),
            to: power_of_ten(outward(to, by, precision), precision),
            by: signed(rounded(by, 3)),
        };
    }
    Step {
        from: fixed(from, digits),
        to: fixed(out, digits),
        by: signed(fixed(out - from, digits)),
    }
}

/// A value rounded to a mantissa of `precision` decimals, in the direction of `by`.
fn outward(value: f64, by: f64, precision: usize) -> f64 {
    let text = format!("{value:.precision$e}");
    let exponent = text.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    let (Ok(near), Some(exponent), Ok(places)) =
        (text.parse::<f64>(), exponent, i32::try_from(precision))
    else {
        return value;
    };
    // The very largest numbers round past what a float can hold.
    if !near.is_finite() {
        return value;
    }
    if (by > 0.0 && near >= value) || (by < 0.0 && near <= value) {
        return near;
    }
    let next = near + by.signum() * 10f64.powi(exponent - places);
    if next.is_finite() { next } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_never_asks_for_less() {
        for (from, to) in
            [(0.0, 10.0 / 3.0), (5.0, -10.0 / 3.0), (1e6, 1e6 + 0.123_456), (100.0, 99.999_123)]
        {
            let step = step(from, to);
            let printed: f64 = step.to.replace(',', "").parse().unwrap();
            assert!(
                (printed - from).abs() >= (to - from).abs() - 1e-9,
                "{from} to {to} printed as {step:?}"
            );
            assert_ne!(step.from, step.to);
        }
    }

    #[test]
    fn powers_of_ten_are_rounded_outward_too() {
        assert_eq!(step(1e-9, 2.00041e-9).to, "2.001×10⁻⁹");
        assert_eq!(step(9e17, 1.23449e17).to, "1.234×10¹⁷");
        assert_eq!(step(0.0, -1.0001e-7).to, "-1.001×10⁻⁷");
        assert_eq!(step(0.0, 2e-7).to, "2×10⁻⁷");
    }

    #[test]
    fn a_step_of_whole_numbers_stays_whole() {
        assert_eq!(step(9.0, 15.0), Step { from: "9".into(), to: "15".into(), by: "+6".into() });
        assert_eq!(step(1e11, 1e11 * 1.37).to, "137,000,000,000");
        assert_eq!(step(3.0, 3.0).by, "0");
        assert_eq!(step(1.0, f64::NAN).by, "n/a");
    }

    #[test]
    fn extreme_steps_stay_finite_and_different() {
        for (from, to) in
            [(1e-9, 2e-9), (1e18, 1.000_000_1e18), (-1e300, 1e300), (0.0, 1e-300), (0.0, f64::MAX)]
        {
            let step = step(from, to);
            let text = format!("{step:?}");
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
            assert_ne!(step.from, step.to);
        }
    }
}
