//! From the text of one flag to a value, or to what is wrong with it.

use crate::flags::Bounds;
use probe_core::{Activation, ModelShift, NoiseOn};

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "not a number".to_owned())
}

/// A number of threads.
pub fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    let value: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if value <= MOST { Ok(value) } else { Err(format!("must be at most {MOST}")) }
}

/// A probability that is neither 0 nor 1.
pub fn rate(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value < 1.0 {
        Ok(value)
    } else {
        Err("must be between 0 and 1, both excluded".to_owned())
    }
}

/// A rate below one half.
pub fn fit_rate(text: &str) -> Result<f64, String> {
    rate(text)
        .and_then(|value| if value < 0.5 { Ok(value) } else { Err("must be below 0.5".to_owned()) })
}

/// A share below 1.
pub fn share(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if (0.0..1.0).contains(&value) {
        Ok(value)
    } else {
        Err("must be at least 0 and below 1".to_owned())
    }
}

/// A share above 0.
pub fn part(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value <= 1.0 {
        Ok(value)
    } else {
        Err("must be above 0 and at most 1".to_owned())
    }
}

/// A positive number.
pub fn positive(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("must be positive and finite".to_owned())
    }
}

/// A finite number.
pub fn finite(text: &str) -> Result<f64, String> {
    number(text).and_then(|value| {
        if value.is_finite() { Ok(value) } else { Err("must be finite".to_owned()) }
    })
}

/// A number that is not negative.
pub fn at_least_zero(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err("must be at least 0 and finite".to_owned())
    }
}

/// `LO,HI` or `none`.
pub fn bounds(text: &str) -> Result<Bounds, String> {
    if text == "none" {
        return Ok(Bounds::None);
    }
    let (low, high) = text.split_once(',').ok_or("write LO,HI or none")?;
    let (low, high) = (number(low)?, number(high)?);
    if low <= high { Ok(Bounds::Box(low, high)) } else { Err("LO must be at most HI".to_owned()) }
}

/// Where noise is.
pub fn noise_on(text: &str) -> Result<NoiseOn, String> {
    match text {
        "all" => Ok(NoiseOn::All),
        "mutable" => Ok(NoiseOn::Mutable),
        "changed" => Ok(NoiseOn::Changed),
        _ => Err("must be all, mutable or changed".to_owned()),
    }
}

/// An activation.
pub fn activation(text: &str) -> Result<Activation, String> {
    text.parse().map_err(|error: probe_core::Error| error.to_string())
}

/// How the model may change.
pub fn model_shift(text: &str) -> Result<ModelShift, String> {
    ModelShift::parse(text).map_err(|error| error.to_string())
}

/// A cost norm.
pub fn norm(text: &str) -> Result<String, String> {
    probe_core::Cost::uniform(text, 1).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A recourse method.
pub fn method(text: &str) -> Result<String, String> {
    probe_core::recourse::method(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_outside_their_domain_are_refused() {
        for text in ["0", "1", "NaN", "-0.1", "x", "inf"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in ["0", "-1", "nan", "inf", ""] {
            assert!(positive(text).is_err(), "{text}");
        }
        assert_eq!(bounds("-1,2"), Ok(Bounds::Box(-1.0, 2.0)));
        assert_eq!(bounds("none"), Ok(Bounds::None));
        for text in ["2,1", "1", "nan,1", "a,b"] {
            assert!(bounds(text).is_err(), "{text}");
        }
    }
}
