//! Letters: the engine's answers as text for each person, in their language and units.
//!
//! - [`Witness`] collects the [`Facts`] of an answer. A letter contains no other numbers.
//! - [`Letter`] states them in a [`Language`], whose phrases and templates can be replaced.
//! - [`Layout`] and [`Pages`] write letters as text, Markdown or HTML. [`Record`] is for programs.
//!
//! This crate reads no files.

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
