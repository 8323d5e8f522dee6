//! The cheapest point known for each person and target, kept between runs. It only ever improves.

use super::starts::Landed;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is known of a person and a target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Known {
    /// The cheapest audited point, its cost, its rate on the audit's draws and who found it.
    pub(super) point: Vec<f64>,
    pub(super) cost: Option<f64>,
    pub(super) rate: Option<f64>,
    pub(super) source: String,
    /// The least cost that the reference's own search found without the engine's help.
    pub(super) own: Option<f64>,
    /// How often that search has run.
    pub(super) rounds: u32,
}

impl Known {
    /// Takes over a cheaper point.
    pub(super) fn offer(&mut self, landed: &Landed, source: &str) {
        if self.cost.is_none_or(|cost| landed.cost < cost) {
            self.point.clone_from(&landed.point);
            (self.cost, self.rate) = (Some(landed.cost), Some(landed.rate));
            source.clone_into(&mut self.source);
        }
    }

    /// The same for the reference's own search.
    pub(super) fn offer_own(&mut self, landed: &Landed) {
        self.own = Some(self.own.map_or(landed.cost, |own| own.min(landed.cost)));
        self.offer(landed, "search");
    }
}

/// What is known of the people of one case, by person and target.
pub(super) struct Store {
    file: PathBuf,
    known: BTreeMap<String, Known>,
}

impl Store {
    pub(super) fn open(folder: &Path, name: &str, key: u64) -> Result<Self> {
        let name: String =
            name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let file = folder.join(format!("{name}-{key:016x}.json"));
        let known = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is no reference; delete it", file.display()))?,
            Err(_) => BTreeMap::new(),
        };
        Ok(Self { file, known })
    }

    pub(super) fn get(&self, person: &str) -> Known {
        self.known.get(person).cloned().unwrap_or_default()
    }

    /// Keeps what is new. The file is written as a whole.
    pub(super) fn keep(&mut self, new: impl Iterator<Item = (String, Known)>) -> Result<()> {
        self.known.extend(new);
        let draft = self.file.with_extension("draft");
        std::fs::write(&draft, serde_json::to_vec(&self.known)?)?;
        std::fs::rename(&draft, &self.file)
            .with_context(|| format!("cannot write {}", self.file.display()))
    }
}
