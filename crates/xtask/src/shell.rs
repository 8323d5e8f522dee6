//! Running other programs, and saying what is run.

use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Prints a line of progress.
pub(crate) fn say(text: &str) {
    use std::io::Write as _;
    // A closed stderr is ignored.
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."))
}

/// The target folder of cargo.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into)
}

/// The cargo that runs us.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Runs a step by name; fails with that name.
pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    say(&format!("── {name}"));
    let started = Instant::now();
    let status = command
        .status()
        .with_context(|| format!("{name}: cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{name} failed");
    }
    say(&format!("── {name}: done in {:.0} s", started.elapsed().as_secs_f64()));
    Ok(())
}
