//! The models that are served. A request takes one version and keeps it to its end.

use anyhow::{Context as _, Result, bail};
use probe_core::Schema;
use probe_io::{Checksum, ModelFile, load_schema};
use probe_service::SchemaSource;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

/// A version of a model.
#[derive(Debug)]
pub struct Served {
    /// Its name in addresses.
    pub name: String,
    /// The model.
    pub file: ModelFile,
    /// A schema that is given beside the model.
    pub schema: Option<Schema>,
    /// People to try, for examples.
    pub people: Vec<serde_json::Map<String, serde_json::Value>>,
    /// Distinguishes versions, also those of equal content.
    pub version: u64,
}

/// What the service knows at one moment.
#[derive(Debug, Default)]
pub struct Snapshot {
    models: BTreeMap<String, Arc<Served>>,
    /// Files that do not load, and why.
    faults: BTreeMap<String, String>,
}

impl Snapshot {
    /// All models, by name.
    pub fn models(&self) -> impl Iterator<Item = &Arc<Served>> {
        self.models.values()
    }

    /// The model of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Served>> {
        self.models.get(name)
    }

    /// Files that do not load, by name, and why.
    pub fn faults(&self) -> &BTreeMap<String, String> {
        &self.faults
    }
}

/// Models by name, from files, a folder, or memory.
#[derive(Debug, Default)]
pub struct Models {
    current: RwLock<Arc<Snapshot>>,
    folder: Option<PathBuf>,
    /// What the files of the folder looked like when they were last read.
    seen: Mutex<BTreeMap<PathBuf, Look>>,
    versions: AtomicU64,
}

/// What tells that a file has changed.
type Look = (Option<SystemTime>, u64, u64);

impl Models {
    /// No models yet; `folder` is looked at by [`Models::refresh`].
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self { folder, ..Self::default() }
    }

    /// What is served now.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a model, or replaces the one of this name.
    pub fn put(&self, name: &str, file: ModelFile, schema: Option<Schema>) -> Result<()> {
        self.put_with_people(name, file, schema, Vec::new())
    }

    /// The same with people to try.
    pub fn put_with_people(
        &self,
        name: &str,
        file: ModelFile,
        schema: Option<Schema>,
        people: Vec<serde_json::Map<String, serde_json::Value>>,
    ) -> Result<()> {
        check_name(name)?;
        let version = self.versions.fetch_add(1, Ordering::Relaxed);
        let served = Served { name: name.to_owned(), file, schema, people, version };
        self.change(|snapshot| {
            snapshot.faults.remove(name);
            snapshot.models.insert(name.to_owned(), Arc::new(served));
        });
        Ok(())
    }

    /// Adds the model of a file, named after it.
    pub fn load(&self, path: &Path, schema: SchemaSource) -> Result<()> {
        let name =
            name_of(path).with_context(|| format!("{}: no name for a model", path.display()))?;
        if self.snapshot().get(&name).is_some() {
            bail!("{}: a model named '{name}' is served already", path.display());
        }
        let mut file = ModelFile::load(path)?;
        let schema = match schema {
            SchemaSource::Own => None,
            SchemaSource::Given(schema) => Some(schema),
            SchemaSource::Ignored => {
                file.schema = None;
                None
            }
        };
        self.put(&name, file, schema)
    }

    /// Reads the files of the folder that have changed. One that does not load leaves the model
    /// that it replaces; one that is gone takes its model along. Returns whether anything changed.
    pub fn refresh(&self) -> bool {
        let Some(folder) = &self.folder else { return false };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match files_of(folder) {
            Ok(found) => found,
            Err(error) => {
                tracing::error!(folder = %folder.display(), %error, "cannot read models");
                return false;
            }
        };
        let mut changed = false;
        let gone: Vec<PathBuf> =
            seen.keys().filter(|path| !found.contains_key(*path)).cloned().collect();
        for path in gone {
            seen.remove(&path);
            let Some(name) = name_of(&path) else { continue };
            // The same name may have come back with another ending.
            if found.keys().any(|other| name_of(other).as_deref() == Some(&name)) {
                continue;
            }
            tracing::info!(model = name, "the file is gone; the model is no longer served");
            changed = true;
            self.change(|snapshot| {
                snapshot.models.remove(&name);
                snapshot.faults.remove(&name);
            });
        }
        for (path, look) in found {
            if seen.get(&path) == Some(&look) {
                continue;
            }
            let Some(name) = name_of(&path) else { continue };
            changed |= self.reload(&name, &path);
            // Also after an error: the file is read again when it changes.
            seen.insert(path, look);
        }
        changed
    }

    /// Reads one file of the folder.
    fn reload(&self, name: &str, path: &Path) -> bool {
        match read(path) {
            Ok((file, schema)) => {
                let current = self.snapshot();
                let same = current
                    .get(name)
                    .is_some_and(|old| old.file.hash == file.hash && old.schema == schema);
                if same && !current.faults.contains_key(name) {
                    return false;
                }
                let hash = file.hash.clone();
                if let Err(error) = self.put(name, file, schema) {
                    self.fault(name, &error);
                    return true;
                }
                tracing::info!(model = name, hash, "loaded");
            }
            Err(error) => self.fault(name, &error),
        }
        true
    }

    fn fault(&self, name: &str, error: &anyhow::Error) {
        let reason = format!("{error:#}");
        let kept = self.snapshot().get(name).is_some();
        tracing::error!(model = name, reason, kept, "a model does not load");
        self.change(|snapshot| {
            snapshot.faults.insert(name.to_owned(), reason.clone());
        });
    }

    fn change(&self, change: impl FnOnce(&mut Snapshot)) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let mut next = Snapshot { models: current.models.clone(), faults: current.faults.clone() };
        change(&mut next);
        *current = Arc::new(next);
    }
}

fn read(path: &Path) -> Result<(ModelFile, Option<Schema>)> {
    let beside = ["schema.toml", "schema.json"].map(|ending| path.with_extension(ending));
    let schema = beside.iter().find(|path| path.is_file()).map(load_schema).transpose()?;
    Ok((ModelFile::load(path)?, schema))
}

/// The model files of a folder, and what they look like.
fn files_of(folder: &Path) -> std::io::Result<BTreeMap<PathBuf, Look>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        // A file may be gone by now.
        let Ok(about) = std::fs::metadata(&path) else { continue };
        if !about.is_file() || name_of(&path).is_none() {
            continue;
        }
        let mut look = (about.modified().ok(), about.len(), inode(&about));
        for ending in ["schema.toml", "schema.json"] {
            if let Ok(schema) = std::fs::metadata(path.with_extension(ending)) {
                look.0 = look.0.max(schema.modified().ok());
                look.1 += schema.len();
                look.2 ^= inode(&schema);
            }
        }
        found.insert(path, look);
    }
    Ok(found)
}

#[cfg(unix)]
fn inode(about: &std::fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(about)
}

#[cfg(not(unix))]
fn inode(_: &std::fs::Metadata) -> u64 {
    0
}

/// The name of the model in a file; `None` for files that are no models.
fn name_of(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (name, ending) = file.rsplit_once('.')?;
    let known = ["json", "onnx", "ubj", "txt", "model"].contains(&ending);
    (known && !name.ends_with(".schema") && check_name(name).is_ok()).then(|| name.to_owned())
}

/// Fails unless a name can stand in an address.
fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) || name.len() > 100 {
        bail!("'{name}' cannot name a model: use letters, digits, '-', '_' and '.'");
    }
    Ok(())
}

/// The hash of a schema that is given beside the model.
pub(crate) fn schema_hash(schema: &Schema) -> Option<String> {
    serde_json::to_string(schema).ok().map(|text| Checksum::of(text.as_bytes()).to_string())
}
