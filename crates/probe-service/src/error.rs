//! Errors of a request, with the field that they are about.

use crate::message::{Message, Spelling};
use std::borrow::Cow;
use std::fmt;

/// What is wrong with one field of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    /// The field, as in [`crate::Request`].
    pub field: Cow<'static, str>,
    /// What is wrong.
    pub message: Message,
    /// What it conflicts with.
    pub kind: ErrorKind,
}

/// What a wrong field conflicts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The value is outside its domain, or conflicts with other fields.
    Invalid,
    /// The value does not fit the model or the rows.
    Mismatch,
}

impl RequestError {
    /// A value that is outside its domain, or conflicts with other fields.
    pub fn new(field: impl Into<Cow<'static, str>>, message: impl Into<Message>) -> Self {
        Self { field: field.into(), message: message.into(), kind: ErrorKind::Invalid }
    }

    /// The same with the message of another error.
    pub(crate) fn of(field: &'static str, error: impl fmt::Display) -> Self {
        Self::new(field, error.to_string())
    }

    /// A value that does not fit the model or the rows.
    pub fn mismatch(field: &'static str, message: impl Into<Message>) -> Self {
        Self { kind: ErrorKind::Mismatch, ..Self::new(field, message) }
    }

    /// The error as a front end shows it.
    pub fn spelled(&self, spelling: Spelling) -> String {
        format!("{}: {}", spelling.of(&self.field), self.message.spelled(spelling))
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(Spelling::Keyword))
    }
}

impl std::error::Error for RequestError {}

/// The error and its causes in one line, each cause once.
pub fn one_line(error: &anyhow::Error, spelling: Spelling) -> String {
    let request = error.downcast_ref::<RequestError>();
    let mut line = String::new();
    for cause in error.chain() {
        let mut text = cause.to_string();
        // Compared by text, because an error that was added as context has another type in the
        // chain.
        if let Some(request) = request.filter(|request| request.to_string() == text) {
            text = request.spelled(spelling);
        }
        if line.is_empty() {
            line = text;
        } else if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
    }
    line.replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_field_is_spelled_wherever_it_is_in_the_chain() {
        let error = RequestError::new("max_rate", Message::from("needs ").field("noise_on"));
        let error = Err::<(), _>(error).context("people.csv").unwrap_err();
        let expected = [
            (Spelling::Flag, "people.csv: --max-rate: needs --noise-on"),
            (Spelling::Keyword, "people.csv: max_rate: needs noise_on"),
            (Spelling::Pointer, "people.csv: /max_rate: needs /noise_on"),
        ];
        for (spelling, text) in expected {
            assert_eq!(one_line(&error, spelling), text);
        }
    }
}
