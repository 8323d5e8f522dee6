//! Notes and warnings, in addition to the answers.

use crate::message::Message;

/// Receives notes and warnings, which are never part of a result.
pub trait Diagnostics {
    /// A note that the user may find useful.
    fn note(&self, message: &Message);
    /// A warning: something is probably a mistake.
    fn warn(&self, message: &Message);
}
