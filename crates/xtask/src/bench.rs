//! `cargo xtask bench`: builds in release and measures.

use crate::python;
use crate::shell::{cargo, root, step, target};
use anyhow::Result;

/// What is measured unless something is named.
const USUAL: [&str; 2] = ["library", "stream"];

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    step("build", cargo().args(["build", "--release", "--quiet", "-p", "probe-bench"]))?;
    match arguments.split_first() {
        Some((what, rest)) if !what.starts_with('-') => measure(what, rest),
        _ => {
            // Flags without a name are those of the table's way through the command.
            measure(USUAL[0], &[])?;
            measure(USUAL[1], arguments)
        }
    }
}

fn measure(what: &str, arguments: &[&str]) -> Result<()> {
    let target = target();
    let mut bench = std::process::Command::new(target.join("release/probe-bench"));
    bench.current_dir(root()).arg(what).args(arguments);
    if matches!(what, "stream" | "people" | "latency" | "million" | "limits") {
        step("build the command", cargo().args(["build", "--release", "--quiet", "-p", "probe-cli"]))?;
        bench.arg("--probe").arg(target.join("release/probe"));
    }
    if what == "frames" {
        bench.arg("--wheel").arg(python::wheel("release")?);
    }
    step(what, &mut bench)
}
