//! Questions and answers as every front end has them, so that the same question gets the same
//! answer, to the bit, from the command line and from other languages.
//!
//! - [`flags`]: what can be asked, with its names and defaults.
//! - [`Question`]: from what is asked to a set-up of the engine.
//! - [`recourse`], [`frontier`], [`rate`]: answers of a chunk of people, as columns or JSON.
//! - [`letters`]: the same in words.

pub mod flags;
pub mod frontier;
pub mod letters;
pub mod people;
mod question;
pub mod rate;
pub mod recourse;
mod rows;
mod usage;
pub mod values;
mod voice;

pub use question::{Means, Question, Units, Work, columns_of};
pub use rows::limit_words;
pub use usage::{Usage, one_line};
pub use voice::Voice;
