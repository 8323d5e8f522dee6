//! Parses the text of a flag to a value, or says what is wrong with it.

use probe_core::registry::Entry;
use probe_core::{Activation, ModelShift, NoiseOn};
use probe_service::{Bounds, domain};
use probe_words::Language;

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "not a number".to_owned())
}

/// A number inside a domain.
fn inside(text: &str, domain: fn(f64) -> Result<f64, &'static str>) -> Result<f64, String> {
    domain(number(text)?).map_err(str::to_owned)
}

/// A probability that is neither 0 nor 1.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    inside(text, domain::rate)
}

/// A positive number.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    inside(text, domain::positive)
}

/// A finite number.
pub(super) fn finite(text: &str) -> Result<f64, String> {
    inside(text, domain::finite)
}

/// A number that is not negative.
pub(super) fn at_least_zero(text: &str) -> Result<f64, String> {
    inside(text, domain::at_least_zero)
}

/// A number of threads.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    const MOST: usize = 1024;
    let value: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if value <= MOST { Ok(value) } else { Err(format!("must be at most {MOST}")) }
}

/// A rate below one half.
pub(super) fn fit_rate(text: &str) -> Result<f64, String> {
    rate(text)
        .and_then(|value| if value < 0.5 { Ok(value) } else { Err("must be below 0.5".to_owned()) })
}

/// A share below 1.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if (0.0..1.0).contains(&value) {
        Ok(value)
    } else {
        Err("must be at least 0 and below 1".to_owned())
    }
}

/// A share above 0.
pub(super) fn part(text: &str) -> Result<f64, String> {
    let value = number(text)?;
    if value > 0.0 && value <= 1.0 {
        Ok(value)
    } else {
        Err("must be above 0 and at most 1".to_owned())
    }
}

/// `LO,HI` or `none`.
pub(super) fn bounds(text: &str) -> Result<Bounds, String> {
    text.parse()
}

/// Where noise is.
pub(super) fn noise_on(text: &str) -> Result<NoiseOn, String> {
    match text {
        "all" => Ok(NoiseOn::All),
        "mutable" => Ok(NoiseOn::Mutable),
        "changed" => Ok(NoiseOn::Changed),
        _ => Err("must be all, mutable or changed".to_owned()),
    }
}

/// An activation.
pub(super) fn activation(text: &str) -> Result<Activation, String> {
    text.parse().map_err(|error: probe_core::Error| error.to_string())
}

/// The names of all activations, for help.
pub(super) fn activations() -> String {
    Activation::ALL.map(Activation::name).join(", ")
}

/// The names of all built-in languages, for help.
pub(super) fn languages() -> String {
    Language::names().collect::<Vec<_>>().join(", ")
}

/// The names of a registry's entries, for help.
pub(super) fn names_in<T: ?Sized>(registry: &[Entry<T>]) -> String {
    registry.iter().map(|entry| entry.name).collect::<Vec<_>>().join("|")
}

/// How the model may change.
pub(super) fn model_shift(text: &str) -> Result<String, String> {
    ModelShift::parse(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A cost norm.
pub(super) fn norm(text: &str) -> Result<String, String> {
    probe_core::Cost::uniform(text, 1).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A recourse method.
pub(super) fn method(text: &str) -> Result<String, String> {
    probe_core::recourse::method(text).map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// An experiment of the paper.
pub(super) fn experiment(text: &str) -> Result<String, String> {
    let found = probe_experiments::reproduce::experiments(text);
    found.map(|_| text.to_owned()).map_err(|error| error.to_string())
}

/// A number of bytes: 1048576, 1024KiB, 1MiB.
pub(super) fn size(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let (number, shift) = units
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)))
        .unwrap_or((text, 0));
    let number: usize = number.trim().parse().map_err(|_| "write a size such as 64MiB")?;
    let bytes = number.checked_mul(1 << shift).filter(|bytes| *bytes > 0);
    bytes.ok_or_else(|| "must be positive and fit into memory".to_owned())
}
