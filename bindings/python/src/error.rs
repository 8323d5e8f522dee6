//! From errors of the engine to exceptions, in the words of the command line but with Python's
//! names.

use probe_service::one_line;
use pyo3::exceptions::{
    PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyTypeError, PyValueError,
};
use pyo3::{PyErr, import_exception};

import_exception!(probe_recourse.errors, UnsupportedError);

/// The exception for an error of any layer.
pub(crate) fn raise(error: anyhow::Error) -> PyErr {
    let mut text = pythonic(&one_line(&error));
    if let Some(probe_io::Error::UnexpectedColumn { column, .. }) = error.downcast_ref() {
        text +=
            &format!(" (ids=['{column}'] carries it through, ignore_extra=True passes over it)");
    }
    for cause in error.chain() {
        if let Some(probe_core::Error::Unsupported { .. }) = cause.downcast_ref() {
            return UnsupportedError::new_err(text);
        }
        match cause.downcast_ref::<probe_io::Error>() {
            Some(probe_io::Error::Cancelled) => return PyKeyboardInterrupt::new_err(()),
            Some(probe_io::Error::Core {
                source: probe_core::Error::Unsupported { .. }, ..
            }) => {
                return UnsupportedError::new_err(text);
            }
            _ => {}
        }
        match cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind) {
            Some(std::io::ErrorKind::NotFound) => return PyFileNotFoundError::new_err(text),
            Some(_) => return PyOSError::new_err(text),
            None => {}
        }
    }
    PyValueError::new_err(text)
}

/// The exception for what cannot be an argument.
pub(crate) fn refuse(error: &clap::Error) -> PyErr {
    let text = error.render().to_string();
    let text = text.split("\n\nUsage:").next().unwrap_or(&text);
    let text = text.split("\n\nFor more information").next().unwrap_or(text).trim();
    let text = pythonic(text.strip_prefix("error: ").unwrap_or(text));
    match error.kind() {
        clap::error::ErrorKind::UnknownArgument => PyTypeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// Whether this is a flag of a question, and not something of the user's own.
fn is_flag(name: &str) -> bool {
    const OTHERS: [&str; 7] =
        ["from", "rates", "estimator", "samples", "id", "ignore-extra", "costs"];
    OTHERS.contains(&name) || crate::engine::flags().any(|flag| flag == name)
}

/// A text about flags as one about arguments: `--max-rate <R>` becomes `max_rate`.
pub(crate) fn pythonic(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("--") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        let name_end =
            after.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(after.len());
        let name = &after[..name_end];
        out.push_str(before);
        if !is_flag(name.trim_end_matches('-'))
            || before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
        {
            out.push_str("--");
            rest = after;
            continue;
        }
        out.push_str(&name.trim_end_matches('-').replace('-', "_"));
        rest = &after[name.trim_end_matches('-').len()..];
        if let Some(value) = rest.strip_prefix(" <")
            && let Some(end) = value.find('>')
        {
            rest = &value[end + 1..];
        }
    }
    out.push_str(rest);
    out
}
