//! Answers in words, chunk by chunk.

use crate::error::RequestError;
use anyhow::{Context as _, Result};
use probe_core::{Answer, Engine, Relaxation, Session, Status};
use probe_io::{Batch, Chunk, Format, JsonRows, Prose};
use probe_words::{Addressee, Language, Layout, Letter, Pages, Record, Source, Witness};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Writes letters as requested.
pub struct Letters<'e> {
    witness: Witness<'e>,
    language: Arc<Language>,
    kind: Kind,
}

/// The form of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Texts.
    Prose(Layout),
    /// JSON, or JSON Lines.
    Json(Format),
}

impl<'e> Letters<'e> {
    /// Letters about answers of `engine`.
    pub fn new(engine: &'e Engine, language: impl Into<Arc<Language>>, kind: Kind) -> Result<Self> {
        Ok(Self { witness: Witness::new(engine)?, language: language.into(), kind })
    }

    /// The format of the output, where letters are JSON.
    pub fn format(&self) -> Option<Format> {
        match self.kind {
            Kind::Json(format) => Some(format),
            Kind::Prose(_) => None,
        }
    }

    /// The text around the letters; `None` for JSON.
    pub fn prose(&self) -> Result<Option<Prose>> {
        let Kind::Prose(layout) = self.kind else { return Ok(None) };
        let Pages { opening, closing } = Pages::new(&self.language, layout)?;
        Ok(Some(Prose { opening, separator: layout.separator().to_owned(), closing }))
    }

    /// The letters of a chunk: one for each answer to each of its people.
    pub fn write(
        &self,
        session: &mut Session<'_>,
        chunk: &Chunk,
        people: &[f64],
        answers: &[Answer],
        relaxations: Option<&[Vec<Relaxation>]>,
        meta: &Value,
    ) -> Result<Batch<'static>> {
        let n = chunk.plan().n_columns();
        let options = answers.len() / chunk.n_rows().max(1);
        let per_line = self.kind == Kind::Json(Format::Jsonl);
        let mut texts = Vec::new();
        let mut rows = JsonRows::new(per_line.then_some(meta))?;
        for (i, answer) in answers.iter().enumerate() {
            let row = i / options;
            if matches!(self.kind, Kind::Prose(_))
                && answer.status == Status::Favourable
                && i % options > 0
            {
                // A person who is accepted already gets one letter only.
                continue;
            }
            let to = Addressee {
                row: chunk.first_row() + row as u64,
                option: (options > 1).then_some(i % options),
                ids: ids(chunk, row)?,
            };
            let person = &people[row * n..(row + 1) * n];
            let mut facts = self.witness.facts(session, to, person, answer)?;
            facts.relaxations =
                relaxations.map_or_else(Vec::new, |all| self.witness.reliefs(person, &all[i]));
            let letter = Letter::new(&self.language, &facts)?;
            match self.kind {
                Kind::Prose(layout) => {
                    texts.push(letter.lay_out(&self.language, &facts, layout)?)
                }
                Kind::Json(_) => rows.push(&Record { facts: &facts, letter: &letter })?,
            }
        }
        Ok(match self.kind {
            Kind::Prose(_) => Batch::Prose(texts),
            Kind::Json(_) => Batch::Json(rows),
        })
    }
}

/// The id columns of a row, as texts.
fn ids(chunk: &Chunk, row: usize) -> Result<Vec<(String, String)>> {
    let text = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    let id = |k: usize| Ok((chunk.plan().id(k).to_owned(), text(chunk.id(row, k)?.to_json())));
    (0..chunk.plan().n_ids()).map(id).collect()
}

/// A language by name, with the user's `templates` in place of the built-in ones: a file, or a
/// folder of files.
pub fn language(name: &str, templates: Option<&Path>) -> Result<Language> {
    let mut sources = Vec::new();
    if let Some(path) = templates {
        let read = |path: &Path| -> Result<Source> {
            let text = std::fs::read_to_string(path).with_context(|| {
                let what = format!("{}: cannot be read", path.display());
                RequestError::mismatch("templates", what)
            })?;
            Ok(Source { file: path.display().to_string(), text })
        };
        if path.is_dir() {
            let names = Language::file_names(name);
            let found: Vec<_> =
                names.iter().map(|name| path.join(name)).filter(|p| p.is_file()).collect();
            if found.is_empty() {
                let what = format!("{}: none of {} is there", path.display(), names.join(", "));
                return Err(RequestError::new("templates", what).into());
            }
            for file in found {
                sources.push(read(&file)?);
            }
        } else {
            sources.push(read(path)?);
        }
    }
    Ok(Language::new(name, &sources)?)
}
