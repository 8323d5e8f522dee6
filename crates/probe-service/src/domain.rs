//! Domains of numbers. Each check returns the number, or what it must be.

/// A probability that is neither 0 nor 1.
pub fn rate(value: f64) -> Result<f64, &'static str> {
    require(value > 0.0 && value < 1.0, value, "must be between 0 and 1, both excluded")
}

/// A positive number.
pub fn positive(value: f64) -> Result<f64, &'static str> {
    require(value > 0.0 && value.is_finite(), value, "must be positive and finite")
}

/// A finite number.
pub fn finite(value: f64) -> Result<f64, &'static str> {
    require(value.is_finite(), value, "must be finite")
}

/// A number that is not negative.
pub fn at_least_zero(value: f64) -> Result<f64, &'static str> {
    require(value >= 0.0 && value.is_finite(), value, "must be at least 0 and finite")
}

fn require(holds: bool, value: f64, what: &'static str) -> Result<f64, &'static str> {
    if holds { Ok(value) } else { Err(what) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_domain_are_rejected() {
        for value in [0.0, 1.0, f64::NAN, -0.1, f64::INFINITY] {
            assert!(rate(value).is_err(), "{value}");
        }
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(positive(value).is_err(), "{value}");
        }
        assert_eq!((at_least_zero(0.0), at_least_zero(-1.0).is_err()), (Ok(0.0), true));
        assert_eq!((finite(-1.0), finite(f64::NAN).is_err()), (Ok(-1.0), true));
    }
}
