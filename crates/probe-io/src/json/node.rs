//! A JSON value that knows its file and its path.

use crate::error::{Error, Result, excerpt};
use serde_json::{Map, Value};

/// A value within a document.
#[derive(Debug, Clone)]
pub(crate) struct Node<'a> {
    value: &'a Value,
    file: &'a str,
    path: String,
}

impl<'a> Node<'a> {
    /// The document itself.
    pub(crate) fn root(value: &'a Value, file: &'a str) -> Self {
        Self { value, file, path: "$".to_owned() }
    }

    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn file(&self) -> &'a str {
        self.file
    }

    /// An error at this place.
    pub(crate) fn error(&self, what: impl Into<String>) -> Error {
        Error::Document { file: self.file.to_owned(), path: self.path.clone(), what: what.into() }
    }

    /// An error that says what was expected and what is here.
    pub(crate) fn expected(&self, what: &str) -> Error {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    /// The value in a few words.
    fn found(&self) -> String {
        match self.value {
            Value::Null => "null".to_owned(),
            Value::Array(items) => format!("an array of {}", items.len()),
            Value::Object(_) => "an object".to_owned(),
            other => excerpt(other.to_string().as_bytes()),
        }
    }

    fn object(&self) -> Result<&'a Map<String, Value>> {
        self.value.as_object().ok_or_else(|| self.expected("an object"))
    }

    /// Fails unless this is an object with no fields but `known` ones.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        match self.object()?.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let mut place = self.clone();
                place.path.push('.');
                place.path.push_str(key);
                Err(place.error(format!("unknown field (known: {})", known.join(", "))))
            }
        }
    }

    /// The field `key`, where there is one; `null` counts as absent.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Self>> {
        let value = self.object()?.get(key).filter(|value| !value.is_null());
        Ok(value.map(|value| Self { value, file: self.file, path: format!("{}.{key}", self.path) }))
    }

    /// The field `key`, which must be there.
    pub(crate) fn need(&self, key: &str) -> Result<Self> {
        self.get(key)?.ok_or_else(|| self.error(format!("the field '{key}' is missing")))
    }

    /// The items of an array.
    pub(crate) fn items(&self) -> Result<Vec<Self>> {
        let array = self.value.as_array().ok_or_else(|| self.expected("an array"))?;
        let item =
            |(i, value)| Self { value, file: self.file, path: format!("{}[{i}]", self.path) };
        Ok(array.iter().enumerate().map(item).collect())
    }

    /// The values of an array, without their paths.
    pub(crate) fn values(&self) -> Result<&'a [Value]> {
        Ok(self.value.as_array().ok_or_else(|| self.expected("an array"))?)
    }

    /// The item `i` of an array; this place itself where there is none.
    pub(crate) fn item(&self, i: usize) -> Self {
        match self.value.as_array().and_then(|array| array.get(i)) {
            Some(value) => Self { value, file: self.file, path: format!("{}[{i}]", self.path) },
            None => self.clone(),
        }
    }

    /// A text.
    pub(crate) fn text(&self) -> Result<&'a str> {
        self.value.as_str().ok_or_else(|| self.expected("a text"))
    }

    /// A finite number.
    pub(crate) fn number(&self) -> Result<f64> {
        self.value
            .as_f64()
            .filter(|v| v.is_finite())
            .ok_or_else(|| self.expected("a finite number"))
    }

    /// An array of exactly `n` finite numbers; `each` says what each one is for.
    pub(crate) fn numbers(&self, n: usize, each: &str) -> Result<Vec<f64>> {
        let array = self.value.as_array().ok_or_else(|| self.expected("an array of numbers"))?;
        if array.len() != n {
            return Err(
                self.error(format!("expected {n} numbers (one per {each}), found {}", array.len()))
            );
        }
        // Builds the path of a failing item only, because there may be millions of weights.
        let number = |(i, value): (usize, &'a Value)| match value.as_f64().filter(|v| v.is_finite())
        {
            Some(number) => Ok(number),
            None => {
                let item = Self { value, file: self.file, path: format!("{}[{i}]", self.path) };
                Err(item.expected("a finite number"))
            }
        };
        array.iter().enumerate().map(number).collect()
    }
}
