//! From errors of the engine to exceptions.

use probe_service::{Spelling, one_line};
use pyo3::exceptions::{PyFileNotFoundError, PyKeyboardInterrupt, PyOSError, PyValueError};
use pyo3::{PyErr, import_exception};

import_exception!(probe_recourse.errors, UnsupportedError);

/// The exception for an error of any layer.
pub(crate) fn raise(error: anyhow::Error) -> PyErr {
    let mut text = one_line(&error, Spelling::Keyword);
    if let Some(probe_io::Error::UnexpectedColumn { column, .. }) = error.downcast_ref() {
        text += &format!(" (ids=['{column}'] carries it through, ignore_extra=True ignores it)");
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
