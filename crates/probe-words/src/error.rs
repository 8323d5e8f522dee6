//! What can be wrong with a language or a template.

use thiserror::Error;

/// What is wrong.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// No such language.
    #[error(
        "no language '{name}' (there are: {known}; others need a templates folder with {name}.toml)"
    )]
    Language {
        /// As asked for.
        name: String,
        /// Those there are.
        known: String,
    },
    /// A file of phrases that is not TOML, or has unknown fields.
    #[error("{file}: {what}")]
    File {
        /// Which file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// A phrase that no letter uses.
    #[error("{file}: no phrase is called '{key}' (did you mean '{nearest}'?)")]
    UnknownPhrase {
        /// Which file.
        file: String,
        /// The text in the template.
        key: String,
        /// The most similar one that there is.
        nearest: String,
    },
    /// A placeholder without a value.
    #[error("{file}: {place}: nothing is known as '{placeholder}' (known here: {known})")]
    UnknownPlaceholder {
        /// Which file.
        file: String,
        /// The phrase, or the template.
        place: String,
        /// The text in the template.
        placeholder: String,
        /// Those there are.
        known: String,
    },
    /// A template that cannot be read or filled in.
    #[error("{file}: {place}: {what}")]
    Template {
        /// Which file.
        file: String,
        /// The phrase, or the template.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// A language without all of its phrases.
    #[error("{file}: the phrase '{key}' is missing, and '{language}' has no built-in one")]
    Missing {
        /// Which file.
        file: String,
        /// Which phrase.
        key: String,
        /// Of which language.
        language: String,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, Error>;
