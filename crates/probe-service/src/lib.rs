//! Requests and answers as every front end has them, so that the same request gets the same
//! answer, to the bit, from the command line and from other languages.
//!
//! - [`Request`]: what can be asked, with names, domains and defaults; to and from JSON.
//! - [`Prepared`]: a request that fits its model, with the engine's set-up.
//! - [`recourse`], [`frontier`], [`rate`]: answers of a chunk of people, as columns or JSON.
//! - [`letters`]: the same in words; [`score`]: margins and decisions.
//! - [`Question`]: all of these for front ends that answer the same question again and again, and
//!   [`Stop`], which ends an answer early.
//! - [`RequestError`], [`Diagnostics`]: what is wrong and what is said beside the answers, with
//!   fields in the [`Spelling`] of the front end.

mod diagnostics;
pub mod domain;
mod error;
pub mod frontier;
pub mod letters;
mod message;
pub mod people;
mod prepared;
mod question;
pub mod rate;
pub mod recourse;
mod request;
mod rows;
mod schema_source;
pub mod score;
mod stop;
mod values;

pub use diagnostics::Diagnostics;
pub use error::{ErrorKind, RequestError, one_line};
pub use message::{Message, Spelling};
pub use people::RowError;
pub use prepared::{Command, Inputs, Prepared, Work, columns_of};
pub use question::{Answered, Ask, Form, Question, ReadOrigins, Tally};
pub use request::{Bounds, Request, Scope};
pub use rows::limit_words;
pub use schema_source::SchemaSource;
pub use stop::Stop;
