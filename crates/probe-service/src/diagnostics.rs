//! What is said beside the answers.

use crate::message::Message;

/// Receives notes and warnings, which are never part of a result.
pub trait Diagnostics {
    /// Something a person may want to know.
    fn note(&self, message: &Message);
    /// Something that is probably not what was meant.
    fn warn(&self, message: &Message);
}
