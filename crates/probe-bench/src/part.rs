//! What a measurement hands to the documents: a section, or a whole document, and the figures that
//! other texts quote. A measurement stores its [`Part`] in the target folder; `cargo xtask bench
//! report` writes stored parts into the documents. The report writer is in `benches/src/report`.

use crate::folders;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The document about speed.
pub const BENCHMARKS: &str = "docs/benchmarks.md";

/// Figures as they are quoted, by name: `"p99_ms"` is `"1.2"`.
pub type Figures = BTreeMap<String, String>;

/// The result of a measurement, as it is published.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name by which templates refer to it; letters and underscores.
    pub id: String,
    /// The arguments of `cargo xtask bench` that measure it.
    pub command: String,
    /// Path of the document, from the root of the repository.
    pub document: String,
    /// The heading of its section; `None` if it is the whole document.
    pub title: Option<String>,
    /// Markdown below the heading, or the whole document.
    pub text: String,
    /// Figures that other texts quote.
    pub figures: Figures,
    /// Paths of the pictures that it drew, from the root of the repository.
    pub pictures: Vec<String>,
}

impl Part {
    /// Stores the part until the report writer publishes it.
    pub fn store(&self) -> Result<()> {
        self.store_in(&folder()?)
    }

    fn store_in(&self, folder: &Path) -> Result<()> {
        let file = folder.join(format!("{}.json", self.id));
        std::fs::write(&file, serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }
}

/// The parts that are stored, with their files, in the order of their names.
pub fn stored() -> Result<Vec<(PathBuf, Part)>> {
    stored_in(&folder()?)
}

fn stored_in(folder: &Path) -> Result<Vec<(PathBuf, Part)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    files.sort();
    let read = |file: PathBuf| {
        let part = serde_json::from_slice(&std::fs::read(&file)?)
            .with_context(|| format!("{} is not a stored part; delete it", file.display()))?;
        Ok((file, part))
    };
    files.into_iter().map(read).collect()
}

fn folder() -> Result<PathBuf> {
    folders::kept("parts")
}

/// A title as the name of a figure: letters, digits and underscores.
pub fn figure_name(title: &str) -> String {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("_").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_parts_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let part = |id: &str| Part {
            id: id.to_owned(),
            text: "fast\n".to_owned(),
            title: Some("Speed".to_owned()),
            figures: [("p99".to_owned(), "1.2 ms".to_owned())].into(),
            ..Part::default()
        };
        for id in ["b", "a"] {
            part(id).store_in(folder.path()).unwrap();
        }
        let read: Vec<Part> =
            stored_in(folder.path()).unwrap().into_iter().map(|(_, part)| part).collect();
        assert_eq!(read, [part("a"), part("b")]);
    }

    #[test]
    fn names_of_figures_are_words() {
        assert_eq!(figure_name("`probe recourse`, linear, d = 20"), "probe_recourse_linear_d_20");
    }
}
