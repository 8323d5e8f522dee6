//! `cargo xtask bench`: builds in release and measures.

use crate::shell::{cargo, root, step};
use anyhow::Result;

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    step("build", cargo().args(["build", "--release", "--quiet", "-p", "probe-cli", "-p", "probe-bench"]))?;
    let probe = root().join("target/release/probe");
    let mut bench = cargo();
    bench
        .args(["run", "--release", "--quiet", "-p", "probe-bench", "--", "--probe"])
        .arg(probe)
        .args(arguments);
    step("bench", &mut bench)
}
