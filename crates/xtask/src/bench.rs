//! `cargo xtask bench`: builds in release and measures.

use crate::shell::{cargo, root, step};
use anyhow::Result;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    step("build", cargo().args(["build", "--release", "--quiet", "-p", "probe-cli", "-p", "probe-bench"]))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), Into::into);
    let probe = target.join("release/probe");
    let mut bench = cargo();
    bench
        .args(["run", "--release", "--quiet", "-p", "probe-bench", "--", "--probe"])
        .arg(probe)
        .args(arguments);
    step("bench", &mut bench)
}
