//! What is said beside the answers.

/// Hears what people should know; never part of a result.
pub trait Voice {
    /// Something a person may want to know.
    fn note(&self, text: &str);
    /// Something that is probably not what was meant.
    fn warn(&self, text: &str);
}
