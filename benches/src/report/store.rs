//! `docs/figures.json`: what was measured, and with what.

use super::Figures;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FILE: &str = "docs/figures.json";
/// The sources of the engine.
const SOURCES: &str = "crates/probe-core/src";

/// Results by the names of their measurements.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Store(BTreeMap<String, Entry>);

/// What a measurement gave.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) command: String,
    pub(super) document: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) title: Option<String>,
    pub(super) machine: String,
    /// Hash of the engine's sources.
    pub(super) sources: String,
    /// Hash of its text.
    pub(super) hash: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub(super) pictures: BTreeMap<String, String>,
    pub(super) figures: Figures,
}

impl Store {
    /// The stored results; none without a file.
    pub(super) fn load(root: &Path) -> Result<Self> {
        match std::fs::read(root.join(FILE)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            read => {
                let bytes = read.with_context(|| format!("cannot read {FILE}"))?;
                serde_json::from_slice(&bytes)
                    .with_context(|| format!("{FILE} is not what we wrote"))
            }
        }
    }

    pub(super) fn save(&self, root: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        std::fs::write(root.join(FILE), text).with_context(|| format!("cannot write {FILE}"))
    }

    pub(super) fn put(&mut self, id: &str, entry: Entry) {
        self.0.insert(id.to_owned(), entry);
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.0.iter()
    }
}

/// A hash as text, of its first half.
pub(super) fn hash(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

pub(super) fn file_hash(root: &Path, path: &str) -> Result<String> {
    Ok(hash(std::fs::read(root.join(path)).with_context(|| format!("cannot read {path}"))?))
}

/// Hash of the engine's sources; of nothing where they are not there.
pub(super) fn sources(root: &Path) -> Result<String> {
    let mut files = Vec::new();
    gather(&root.join(SOURCES), &mut files)?;
    files.sort();
    let mut all = Vec::new();
    for file in files {
        all.extend(std::fs::read(file)?);
    }
    Ok(hash(all))
}

fn gather(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry?.path();
        match path.is_dir() {
            true => gather(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
