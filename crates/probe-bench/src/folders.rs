//! Where data is read and results are kept.

use anyhow::{Context as _, Result};
use std::path::{Path, PathBuf};

/// The root of the workspace.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

/// The folder of real data: `PROBE_DATA_DIR`, or `shared/data` next to the workspace.
pub fn data() -> PathBuf {
    std::env::var_os("PROBE_DATA_DIR").map_or_else(|| root().join("../shared/data"), PathBuf::from)
}

/// A folder under cargo's target folder, where this program lies, created where it is not there.
pub fn kept(name: &str) -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(2).context("the program lies in target/release")?;
    let folder = target.join("probe-bench").join(name);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
