//! Numbers in text: reading a finite `f64`, and writing the shortest text that reads back to the
//! same bits.

/// The finite number in `text`, spaces and tabs around it allowed. `None` for anything else, NaN
/// and infinities included.
pub(crate) fn parse(text: &[u8]) -> Option<f64> {
    let value: f64 = match fast_float2::parse(text) {
        Ok(value) => value,
        // The common cell has no spaces: trim only when the plain reading failed.
        Err(_) => fast_float2::parse(trim(text)).ok()?,
    };
    value.is_finite().then_some(value)
}

/// Whether `text` is a missing value: only spaces and tabs, or NaN in any case.
pub(crate) fn is_missing(text: &[u8]) -> bool {
    let text = trim(text);
    text.is_empty() || text.eq_ignore_ascii_case(b"nan")
}

/// Without spaces and tabs at either end.
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// Appends the shortest text that reads back to `value`: plain notation for ordinary magnitudes, an
/// exponent for extremes, nothing for NaN and infinities.
pub(crate) fn append_float(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    }
}

/// Appends `value` in decimal.
pub(crate) fn append_integer(out: &mut Vec<u8>, value: i64) {
    // 20 digits hold any u64; the sign is written apart.
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn float(value: f64) -> String {
        let mut out = Vec::new();
        append_float(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    fn integer(value: i64) -> String {
        let mut out = Vec::new();
        append_integer(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn ordinary_magnitudes_are_plain_and_extremes_have_exponents() {
        let cases = [
            (0.25, "0.25"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (250_000.0, "250000.0"),
            (1e-5, "0.00001"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-9, "1e-9"),
            (1e300, "1e+300"),
            (f64::NAN, ""),
            (f64::INFINITY, ""),
        ];
        for (value, text) in cases {
            assert_eq!(float(value), text);
        }
    }

    #[test]
    fn integers_print_like_the_standard_library() {
        for value in [0, 7, -7, 10, 1_234_567, i64::MAX, i64::MIN] {
            assert_eq!(integer(value), value.to_string());
        }
    }

    #[test]
    fn only_finite_numbers_are_numbers() {
        for (text, value) in
            [("1", 1.0), (" 1.5\t", 1.5), ("-2e3", -2000.0), ("+4", 4.0), (".5", 0.5), ("5.", 5.0)]
        {
            assert_eq!(parse(text.as_bytes()), Some(value), "{text}");
        }
        for text in
            ["", " ", "nan", "NaN", "inf", "-Infinity", "1e999", "x", "1,5", "1 2", "0x10", "1_000"]
        {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_finite_number_survives_the_round_trip(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(parse(float(value).as_bytes()).map(f64::to_bits), Some(bits));
        }

        #[test]
        fn parsing_agrees_with_the_standard_library(
            text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?(e[-+]?[0-9]{1,3})?",
        ) {
            let std = text.parse::<f64>().ok().filter(|v| v.is_finite());
            prop_assert_eq!(parse(text.as_bytes()).map(f64::to_bits), std.map(f64::to_bits));
        }
    }
}
