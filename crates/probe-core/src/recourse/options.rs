//! Settings of a method by name, as `--option NAME=VALUE` gives them.

use crate::error::{Error, ParamError, Result};
use std::collections::BTreeMap;

/// Named settings of a recourse method. Each method knows its own names and refuses others:
/// [`RecourseMethod::check_options`](super::RecourseMethod::check_options).
///
/// ```
/// use probe_core::recourse::{MethodOptions, method};
/// let options = MethodOptions::parse(["lambda1=5", "keep=best"])?;
/// assert!(method("probe-gradient")?.check_options(&options).is_ok());
/// assert!(method("probe")?.check_options(&options).is_err());
/// # Ok::<(), probe_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MethodOptions {
    values: BTreeMap<String, String>,
}

impl MethodOptions {
    /// Reads `NAME=VALUE` texts. Fails where a text has no name or no value, or a name comes twice.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let mut options = Self::default();
        for text in texts {
            let wrong = |why: &str| Error::Unsupported {
                what: format!("option '{text}'"),
                why: why.to_owned(),
            };
            let (name, value) = text.split_once('=').ok_or_else(|| wrong("write NAME=VALUE"))?;
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() {
                return Err(wrong("write NAME=VALUE"));
            }
            if options.values.contains_key(name) {
                return Err(wrong("it is given twice"));
            }
            options.set(name, value);
        }
        Ok(options)
    }

    /// Sets one; a value set before is replaced.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// The value of `name`, if it was given.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// All that was given, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Fails on names that are not `known` to `method`.
    pub fn only(&self, method: &str, known: &[&str]) -> Result<()> {
        match self.values.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) if known.is_empty() => Err(Error::Unsupported {
                what: format!("option '{name}' of method {method}"),
                why: "the method has no options".to_owned(),
            }),
            Some(name) => Err(Error::UnknownName {
                kind: "option of the method",
                name: name.clone(),
                known: known.join(", "),
            }),
        }
    }

    /// The number called `name`, or `default`. Fails unless it is a number that `holds`, which
    /// `rule` says in words.
    pub fn number(
        &self,
        name: &str,
        default: f64,
        rule: &'static str,
        holds: impl Fn(f64) -> bool,
    ) -> Result<f64> {
        self.get(name).map_or(Ok(default), |text| number(name, text, rule, &holds))
    }

    /// As [`MethodOptions::number`], for a list with commas.
    pub fn numbers(
        &self,
        name: &str,
        default: &[f64],
        rule: &'static str,
        holds: impl Fn(f64) -> bool,
    ) -> Result<Vec<f64>> {
        self.get(name).map_or_else(
            || Ok(default.to_vec()),
            |text| text.split(',').map(|part| number(name, part, rule, &holds)).collect(),
        )
    }

    /// The count called `name`, or `default`. Fails unless it is a whole number from 1 to 2³².
    pub fn count(&self, name: &str, default: usize) -> Result<usize> {
        let whole = |n: f64| (1.0..=4_294_967_296.0).contains(&n) && n.fract() == 0.0;
        Ok(self.number(name, default as f64, "a whole number from 1 to 2^32", whole)? as usize)
    }

    /// What the word called `name` stands for among `meanings`, or `default`. Fails on other words
    /// and lists those known.
    pub fn word<T: Copy>(
        &self,
        name: &'static str,
        default: T,
        meanings: &[(&str, T)],
    ) -> Result<T> {
        let Some(given) = self.get(name) else { return Ok(default) };
        meanings.iter().find(|(word, _)| *word == given).map(|(_, meaning)| *meaning).ok_or_else(
            || Error::UnknownName {
                kind: name,
                name: given.to_owned(),
                known: meanings.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
            },
        )
    }
}

fn number(name: &str, text: &str, rule: &'static str, holds: &dyn Fn(f64) -> bool) -> Result<f64> {
    let value: f64 = text.trim().parse().map_err(|_| Error::Unsupported {
        what: format!("option '{name}={text}'"),
        why: format!("'{}' is not a number", text.trim()),
    })?;
    if holds(value) {
        Ok(value)
    } else {
        Err(ParamError { field: format!("option {name}"), rule, value }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_values_or_errors_that_name_them() {
        let options = MethodOptions::parse(["a=1", " b = x=y ", "c=1,0.5, 0"]).unwrap();
        assert_eq!(
            options.iter().collect::<Vec<_>>(),
            [("a", "1"), ("b", "x=y"), ("c", "1,0.5, 0")]
        );
        assert_eq!(options.numbers("c", &[], "any", |_| true).unwrap(), [1.0, 0.5, 0.0]);
        assert_eq!(options.count("a", 7).unwrap(), 1);
        assert_eq!(options.count("z", 7).unwrap(), 7);
        for text in ["a", "=1", "a=", ""] {
            assert!(
                MethodOptions::parse([text]).unwrap_err().to_string().contains("NAME=VALUE"),
                "{text}"
            );
        }
        assert!(MethodOptions::parse(["a=1", "a=2"]).unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn names_numbers_and_words_outside_their_domain_are_refused() {
        let options = MethodOptions::parse(["rate=nan", "n=1.5", "m=x", "loss=hinge"]).unwrap();
        let message = |error: Error| error.to_string();
        assert!(
            message(options.number("rate", 0.0, "at least 0", |v| v >= 0.0).unwrap_err())
                .contains("NaN")
        );
        assert!(message(options.count("n", 1).unwrap_err()).contains("whole"));
        assert!(message(options.number("m", 0.0, "any", |_| true).unwrap_err()).contains("'x'"));
        let words = options.word("loss", 0, &[("mse", 1), ("bce", 2)]);
        assert_eq!(message(words.unwrap_err()), "unknown loss 'hinge' (known: mse, bce)");
        assert!(
            message(options.only("m", &["loss", "n"]).unwrap_err()).contains("(known: loss, n)")
        );
        assert!(message(options.only("m", &[]).unwrap_err()).contains("no options"));
    }
}
