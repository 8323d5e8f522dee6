//! Letters on pages: text, Markdown, HTML, JSON.

use crate::error::{Error, Result};
use crate::facts::Facts;
use crate::language::Language;
use crate::letter::Letter;
use minijinja::value::Serde;
use minijinja::{Value, context};
use serde::Serialize;

/// How letters are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Plain text, for a terminal or an e-mail.
    Text,
    /// Markdown.
    Markdown,
    /// One self-contained page of HTML; each letter is printed on a new sheet.
    Html,
}

impl Layout {
    fn template(self) -> &'static str {
        match self {
            Self::Text => "letter.txt",
            Self::Markdown => "letter.md",
            Self::Html => "letter.html",
        }
    }

    /// Text between two letters.
    pub fn separator(self) -> &'static str {
        match self {
            Self::Text => {
                "\n\
                 ------------------------------------------------------------------------------\n\n"
            }
            Self::Markdown => "\n---\n\n",
            Self::Html => "\n",
        }
    }
}

impl Letter {
    /// The letter in a layout, by the language's template.
    pub fn lay_out(&self, language: &Language, facts: &Facts, layout: Layout) -> Result<String> {
        let (letter, facts) = (Value::from(Serde(self)), Value::from(Serde(facts)));
        let text = language.fill(layout.template(), context! { facts, ..letter })?;
        Ok(format!("{}\n", text.trim_end()))
    }
}

/// Text before the first letter and after the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pages {
    /// Before the first.
    pub opening: String,
    /// After the last.
    pub closing: String,
}

impl Pages {
    /// The texts of a layout.
    pub fn new(language: &Language, layout: Layout) -> Result<Self> {
        // A private character that no text contains, to mark where the letters go.
        const HERE: &str = "\u{f8ff}letters\u{f8ff}";
        if layout != Layout::Html {
            return Ok(Self::default());
        }
        let title = language.fill("title_advice", context! {})?;
        let letters = Value::from_safe_string(HERE.to_owned());
        let page =
            language.fill("page.html", context! { language => language.name(), title, letters })?;
        match page.split_once(HERE) {
            Some((opening, closing)) => {
                Ok(Self { opening: opening.to_owned(), closing: closing.to_owned() + "\n" })
            }
            None => Err(Error::Template {
                file: "page.html".to_owned(),
                place: "template".to_owned(),
                what: "there is no place for {{ letters }}".to_owned(),
            }),
        }
    }
}

/// A letter for programs: the facts, and the sentences about them.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    /// The facts.
    #[serde(flatten)]
    pub facts: &'a Facts,
    /// The sentences.
    pub letter: &'a Letter,
}
