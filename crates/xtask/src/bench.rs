//! `cargo xtask bench`: builds in release and measures. Short measurements are in the crate
//! `probe-bench`; long studies and the report writer are in the workspace `benches`, which is
//! built only when one of them is asked for.

use crate::python;
use crate::shell::{cargo, root, say, step, target};
use anyhow::{Result, bail};
use std::process::Command;

/// A program that measures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    /// `crates/probe-bench`
    Short,
    /// `benches`
    Studies,
}
use Program::{Short, Studies};

/// What can be measured, and by which program.
const MEASUREMENTS: [(&str, Program); 20] = [
    ("library", Short),
    ("throughput", Short),
    ("latency", Short),
    ("stream", Short),
    ("million", Studies),
    ("frames", Short),
    ("limits", Studies),
    ("scaling", Studies),
    ("counts", Short),
    ("peers", Studies),
    ("board", Studies),
    ("networks", Studies),
    ("trees", Studies),
    ("people", Studies),
    ("quality", Studies),
    ("models", Short),
    ("kernels", Short),
    ("search", Short),
    ("service", Short),
    ("report", Studies),
];
/// `cargo xtask bench` without a name runs this many of them, from the first: all of
/// docs/benchmarks.md, docs/peers.md and docs/quality.md, and the speed of Python.
const SUITE: usize = 11;
/// Those of the suite that have a quick look.
const QUICK: [&str; 6] = ["throughput", "latency", "million", "limits", "scaling", "peers"];
/// Those that run the `probe` command.
const WITH_COMMAND: [&str; 6] = ["stream", "people", "latency", "million", "limits", "service"];

pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        [] => MEASUREMENTS[..SUITE].iter().try_for_each(|(what, _)| measure(what, &[])),
        ["--quick"] => {
            say("a quick look at some of it; no document is written");
            QUICK.iter().try_for_each(|what| measure(what, &["--quick"]))
        }
        [what, rest @ ..] => measure(what, rest),
    }
}

/// The names of everything that can be measured.
pub(crate) fn names() -> String {
    MEASUREMENTS.map(|(name, _)| name).join(", ")
}

fn measure(what: &str, arguments: &[&str]) -> Result<()> {
    let Some((_, program)) = MEASUREMENTS.iter().find(|(name, _)| *name == what) else {
        bail!("unknown measurement: {what}; one of {}", names());
    };
    let help = arguments.iter().any(|word| matches!(*word, "--help" | "-h"));
    let mut bench = built(*program)?;
    bench.arg(what).args(arguments);
    if WITH_COMMAND.contains(&what) && !help {
        build("command", cargo().args(["build", "--release", "--quiet", "-p", "probe-cli"]))?;
        bench.arg("--probe").arg(target().join("release/probe"));
    }
    // Building it takes minutes, too long for a quick run.
    if (what == "frames" || what == "latency" && !arguments.contains(&"--quick")) && !help {
        bench.arg("--wheel").arg(python::wheel("release")?);
    }
    step(what, &mut bench)?;
    publish()
}

/// Writes what was measured into the documents. Only full runs leave something to publish.
fn publish() -> Result<()> {
    let parts = target().join("probe-bench/parts");
    let waiting = std::fs::read_dir(parts).is_ok_and(|mut files| files.next().is_some());
    if waiting { step("report", built(Studies)?.arg("report")) } else { Ok(()) }
}

/// A program, built.
fn built(program: Program) -> Result<Command> {
    let mut cargo = cargo();
    cargo.args(["build", "--release", "--quiet"]);
    let name = match program {
        Short => "probe-bench",
        Studies => {
            cargo.args(STUDIES).arg("--target-dir").arg(target());
            "probe-studies"
        }
    };
    build(name, cargo.args(["-p", name]))?;
    let mut command = Command::new(target().join("release").join(name));
    command.current_dir(root());
    Ok(command)
}

fn build(name: &str, command: &mut Command) -> Result<()> {
    step(&format!("build of {name}"), command)
}

/// Selects the workspace of the studies.
const STUDIES: [&str; 2] = ["--manifest-path", "benches/Cargo.toml"];

/// Format, lints and tests of the studies, which are not part of the main workspace.
pub(crate) fn test_studies() -> Result<()> {
    let on_studies = |words: &[&str]| {
        let mut command = cargo();
        command.args(words).args(STUDIES).env("CARGO_TARGET_DIR", target());
        command
    };
    step("format of the studies", on_studies(&["fmt"]).arg("--check"))?;
    step(
        "lints of the studies",
        on_studies(&["clippy", "--all-targets", "--quiet"]).args(["--", "-D", "warnings"]),
    )?;
    step("tests of the studies", &mut on_studies(&["test", "--quiet"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a manifest from the heading on that starts with `table`, without comments.
    fn settings(manifest: &str, table: &str) -> Vec<String> {
        let mut inside = false;
        let mut found = Vec::new();
        for line in manifest.lines().map(str::trim) {
            if line.starts_with('[') {
                inside = line.starts_with(table);
            }
            if inside && !line.is_empty() && !line.starts_with('#') {
                found.push(line.replace("[workspace.lints", "[lints"));
            }
        }
        found
    }

    #[test]
    fn studies_are_built_and_linted_like_the_engine() {
        let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
        let (main, studies) = (read("Cargo.toml"), read("benches/Cargo.toml"));
        for [ours, theirs] in [["[profile", "[profile"], ["[workspace.lints", "[lints"]] {
            let (ours, theirs) = (settings(&main, ours), settings(&studies, theirs));
            assert!(!ours.is_empty());
            assert_eq!(ours, theirs, "make benches/Cargo.toml like Cargo.toml");
        }
    }

    #[test]
    fn quick_looks_belong_to_the_suite() {
        let suite = MEASUREMENTS[..SUITE].iter().map(|(name, _)| *name).collect::<Vec<_>>();
        assert!(QUICK.iter().all(|name| suite.contains(name)));
    }
}
