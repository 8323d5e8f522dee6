//! Answers of the engine in words: a letter to each person, in their language and in their own
//! units.
//!
//! - [`Witness`] collects the [`Facts`] of an answer; a letter has no number that is not among
//!   them.
//! - [`Letter`] says them in a [`Language`]; phrases and templates can be replaced.
//! - [`Layout`] and [`Pages`] put letters on paper: text, Markdown, HTML. [`Record`] is for
//!   programs.
//!
//! No files are read here.

mod error;
mod facts;
mod gather;
mod language;
mod letter;
mod number;
mod output;
mod phrases;
mod sample;
mod shape;

pub use error::{Error, Result};
pub use facts::{
    Addressee, Basis, Change, Drift, Facts, Leeway, LeewaySide, Limited, Relief, Stop, Value,
};
pub use gather::Witness;
pub use language::{Language, Source};
pub use letter::{Letter, SHOWN, Section, Share, Step, Steps};
pub use number::{NumberStyle, Odds};
pub use output::{Layout, Pages, Record};
