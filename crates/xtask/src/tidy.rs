//! `cargo xtask tidy`: limits on the length of files, functions and lines, and words to avoid.
//! Reads every file that git tracks and reports each breach as `file:line: what is wrong`.

mod rules;

use crate::shell::{root, say};
use anyhow::{Context as _, Result, bail};
use std::process::Command;

pub(crate) fn run() -> Result<()> {
    let mut breaches = Vec::new();
    for path in tracked()? {
        // A tracked file may have been deleted but not yet committed.
        let Ok(bytes) = std::fs::read(root().join(&path)) else { continue };
        // Models and other binary files are not text.
        if let Ok(text) = std::str::from_utf8(&bytes) {
            breaches.extend(rules::check(&path, text));
        }
    }
    for breach in &breaches {
        say(&breach.to_string());
    }
    if breaches.is_empty() {
        say("tidy: nothing to report");
        Ok(())
    } else {
        bail!("tidy: {} to fix", breaches.len())
    }
}

/// Paths of all tracked files, relative to the root, with `/` between folders.
fn tracked() -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root())
        .output()
        .context("tidy needs git: cannot start git")?;
    if !output.status.success() {
        bail!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let list = String::from_utf8(output.stdout).context("a tracked path is not UTF-8")?;
    Ok(list.split_terminator('\0').map(str::to_owned).collect())
}
