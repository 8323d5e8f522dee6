//! Measured figures and the documents that tell them. A measurement gives a [`Part`]: a section of
//! a document, or all of it, and the figures that other texts quote. Both are kept in
//! `docs/figures.json`; the README's figures are a template filled with them. `probe-bench report --check`,
//! which is part of the tests, fails where a document says anything else than what was measured.

mod readme;
mod sections;
mod store;

use crate::{clock, folders, say};
use anyhow::{Context as _, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use store::{Entry, Store};

pub(crate) use sections::BENCHMARKS;

/// Figures as they are quoted, by name: `"p99_ms"` is `"1.2"`.
pub(crate) type Figures = BTreeMap<String, String>;

/// A title as a name of a figure: letters, digits and underscores.
pub(crate) fn figure_name(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

/// What a measurement tells.
#[derive(Default)]
pub(crate) struct Part {
    /// What it is quoted by; letters and underscores.
    pub(crate) id: &'static str,
    /// What it is measured by, after `cargo xtask bench`.
    pub(crate) command: &'static str,
    /// Path of the document, from the root.
    pub(crate) document: &'static str,
    /// The heading of its section; `None` where it is the whole document.
    pub(crate) title: Option<&'static str>,
    /// Markdown below the heading, or the whole document.
    pub(crate) text: String,
    pub(crate) figures: Figures,
    /// Paths of the pictures that it made, from the root.
    pub(crate) pictures: Vec<String>,
}

/// What can be done about documents.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Fail where a document says anything else than what was measured, instead of writing the
    /// README's figures
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let root = folders::root();
    if !options.check {
        let store = Store::load(root)?;
        readme::write(root, readme::TEMPLATE, &store)?;
        say("README.md: figures written");
        return Ok(());
    }
    let wrong = differences(root, readme::TEMPLATE)?;
    wrong.iter().for_each(|what| say(what));
    ensure!(wrong.is_empty(), "figures in documents are not those that were measured");
    let store = Store::load(root)?;
    let sources = store::sources(root)?;
    for entry in store.entries().map(|(_, entry)| entry).filter(|entry| entry.sources != sources) {
        say(&format!(
            "note: the engine has changed since `{}` wrote {}",
            entry.command, entry.document
        ));
    }
    say("documents hold the figures that were measured");
    Ok(())
}

/// Writes a part into its document, keeps its figures, and fills the README with them.
pub(crate) fn publish(part: &Part) -> Result<()> {
    publish_below(folders::root(), readme::TEMPLATE, part)?;
    eprintln!("written to {}", part.document);
    Ok(())
}

fn publish_below(root: &Path, template: &str, part: &Part) -> Result<()> {
    let path = root.join(part.document);
    let text = match part.title {
        None => part.text.clone(),
        Some(title) => {
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            sections::replace(&before, part.document, title, &part.text)
        }
    };
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    let mut store = Store::load(root)?;
    let mut pictures = BTreeMap::new();
    for picture in &part.pictures {
        pictures.insert(picture.clone(), store::file_hash(root, picture)?);
    }
    let entry = Entry {
        command: format!("cargo xtask bench {}", part.command),
        document: part.document.to_owned(),
        title: part.title.map(str::to_owned),
        machine: clock::machine(),
        sources: store::sources(root)?,
        hash: store::hash(part.text.trim()),
        pictures,
        figures: part.figures.clone(),
    };
    store.put(part.id, entry);
    store.save(root)?;
    readme::write(root, template, &store)
}

/// What documents say that was not measured, a line each.
fn differences(root: &Path, template: &str) -> Result<Vec<String>> {
    let store = Store::load(root)?;
    let mut wrong = Vec::new();
    for (_, entry) in store.entries() {
        let text = std::fs::read_to_string(root.join(&entry.document)).unwrap_or_default();
        let part = match &entry.title {
            None => Some(text.as_str()),
            Some(title) => sections::find(&text, title),
        };
        let place =
            entry.title.as_ref().map_or_else(String::new, |title| format!(", section '{title}'"));
        if part.is_none_or(|part| store::hash(part.trim()) != entry.hash) {
            wrong.push(format!(
                "{}{place}: is not what `{}` wrote; run it again",
                entry.document, entry.command
            ));
        }
        for (picture, hash) in &entry.pictures {
            if store::file_hash(root, picture).ok().as_ref() != Some(hash) {
                wrong
                    .push(format!("{picture}: is not what `{}` drew; run it again", entry.command));
            }
        }
    }
    if !readme::is_current(root, template, &store)? {
        wrong.push(
            "README.md: its figures are not those measured; run `cargo xtask bench report`"
                .to_owned(),
        );
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests;
