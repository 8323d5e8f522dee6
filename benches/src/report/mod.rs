//! The report writer. A measurement stores a [`Part`]: a section of a document, or a whole one, and
//! the figures that other texts quote. `cargo xtask bench report` writes stored parts into their
//! documents, keeps figures and hashes in `docs/figures.json`, and fills the README's template with
//! them. `--check`, which is also a test, fails if a document differs from what was measured.

mod readme;
mod sections;
mod store;

use anyhow::{Context as _, Result, ensure};
use probe_bench::part::{self, Figures, Part};
use probe_bench::{clock, folders, say};
use std::collections::BTreeMap;
use std::path::Path;
use store::{Entry, Store};

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
        for (file, part) in part::stored()? {
            publish_below(root, readme::TEMPLATE, &part)?;
            std::fs::remove_file(file)?;
            say(&format!("{}: written from `cargo xtask bench {}`", part.document, part.command));
        }
        readme::write(root, readme::TEMPLATE, &Store::load(root)?)?;
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

/// Writes a part into its document, stores its figures, and fills the README with them.
fn publish_below(root: &Path, template: &str, part: &Part) -> Result<()> {
    let path = root.join(&part.document);
    let text = match &part.title {
        None => part.text.clone(),
        Some(title) => {
            let before = std::fs::read_to_string(&path).unwrap_or_default();
            sections::replace(&before, &part.document, title, &part.text)
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
        document: part.document.clone(),
        title: part.title.clone(),
        machine: clock::machine(),
        sources: store::sources(root)?,
        hash: store::hash(part.text.trim()),
        pictures,
        figures: part.figures.clone(),
    };
    store.put(&part.id, entry);
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
