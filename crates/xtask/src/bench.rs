//! `cargo xtask bench`: builds in release and measures.

use crate::python;
use crate::shell::{cargo, root, say, step, target};
use anyhow::Result;

/// What one run without a name measures, in this order: all of docs/benchmarks.md, docs/peers.md
/// and docs/quality.md, and the speed of Python.
const SUITE: [&str; 11] = [
    "library",
    "throughput",
    "latency",
    "stream",
    "million",
    "frames",
    "limits",
    "scaling",
    "counts",
    "peers",
    "board",
];
/// Of these, those that have a quick look.
const QUICK: [&str; 6] = ["throughput", "latency", "million", "limits", "scaling", "peers"];
/// What is measured by name alone, most of it for an hour.
pub(crate) const NAMED: [&str; 6] = ["networks", "trees", "people", "models", "kernels", "report"];

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    step(
        "build",
        cargo().args(["build", "--release", "--quiet", "-p", "probe-bench", "-p", "probe-cli"]),
    )?;
    match arguments {
        [] => SUITE.iter().try_for_each(|what| measure(what, &[])),
        ["--quick"] => {
            say("a quick look at some of it; no document is written");
            QUICK.iter().try_for_each(|what| measure(what, &["--quick"]))
        }
        [what, rest @ ..] => measure(what, rest),
    }
}

/// The names of everything that is measured.
pub(crate) fn names() -> String {
    [&SUITE[..], &NAMED].concat().join(", ")
}

fn measure(what: &str, arguments: &[&str]) -> Result<()> {
    let target = target();
    let mut bench = std::process::Command::new(target.join("release/probe-bench"));
    bench.current_dir(root()).arg(what).args(arguments);
    let help = arguments.iter().any(|word| matches!(*word, "--help" | "-h"));
    if matches!(what, "stream" | "people" | "latency" | "million" | "limits") && !help {
        bench.arg("--probe").arg(target.join("release/probe"));
    }
    // Building it takes minutes: not for a quick look.
    if (what == "frames" || what == "latency" && !arguments.contains(&"--quick")) && !help {
        bench.arg("--wheel").arg(python::wheel("release")?);
    }
    step(what, &mut bench)
}
