//! The demo's letter, in both languages.

use crate::run::write_text;
use anyhow::Result;
use probe_core::{Answer, Engine};
use probe_words::{Addressee, Facts, Language, Layout, Letter, Pages, Source, Witness};
use std::path::Path;

/// Names of the built-in data in German.
const GERMAN: &str = include_str!("names-de.toml");

/// Writes the letter as pages, and returns it as text.
pub(super) fn write(
    engine: &Engine,
    person: &[f64],
    answer: &Answer,
    row: usize,
    out: &Path,
) -> Result<String> {
    let to = Addressee { row: row as u64, ..Addressee::default() };
    let facts = Witness::new(engine)?.facts(&mut engine.session(), to, person, answer)?;
    let names = Source { file: "names-de.toml".to_owned(), text: GERMAN.to_owned() };
    write_text(&out.join(&names.file), GERMAN)?;
    let (english, german) = (Language::built_in("en")?, Language::new("de", &[names])?);
    write_text(&out.join("letter.html"), &page(&english, &facts)?)?;
    write_text(&out.join("letter-de.html"), &page(&german, &facts)?)?;
    Ok(Letter::new(&english, &facts)?.lay_out(&english, &facts, Layout::Text)?)
}

fn page(language: &Language, facts: &Facts) -> Result<String> {
    let letter = Letter::new(language, facts)?.lay_out(language, facts, Layout::Html)?;
    let Pages { opening, closing } = Pages::new(language, Layout::Html)?;
    Ok(opening + &letter + &closing)
}
