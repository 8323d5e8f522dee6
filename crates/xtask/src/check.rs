//! `cargo xtask test`: all checks; installs the tools that it needs.

use crate::shell::{cargo, say, step};
use crate::{bench, python, service, tidy};
use anyhow::Result;

pub(crate) fn run(full: bool) -> Result<()> {
    step("format", cargo().args(["fmt", "--all", "--check"]))?;
    tidy::run()?;
    let lint = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--quiet",
        "--",
        "-D",
        "warnings",
    ];
    step("lints", cargo().args(lint))?;
    step("tests and doctests", cargo().args(["test", "--workspace", "--quiet"]))?;
    let docs = ["doc", "--workspace", "--no-deps", "--quiet"];
    step("docs", cargo().args(docs).env("RUSTDOCFLAGS", "-D warnings"))?;
    python::test()?;
    service::test(20, 500)?;
    if full {
        extras()?;
    }
    say("everything passes");
    Ok(())
}

/// What is too slow, or needs too much installed, for every run.
fn extras() -> Result<()> {
    for test in ["networks", "no_false_no", "random_problems"] {
        let slow = ["test", "--quiet", "-p", "probe-core", "--test", test, "--", "--ignored"];
        step("slow tests", cargo().args(slow))?;
    }
    service::test(400, 5_000)?;
    let equal = ["test", "--quiet", "-p", "probe-cli", "--test", "cli", "--", "--ignored"];
    step("10,000 people over HTTP", cargo().args(equal).arg("ten_thousand"))?;
    bench::test_studies()?;
    // Sets up Python environments with the libraries in the target folder.
    bench::run(&["models"])?;
    // Needs valgrind; the error says so.
    bench::run(&["counts"])?;
    step(
        "install cargo-hack and cargo-deny",
        cargo().args(["install", "--locked", "--quiet", "cargo-hack", "cargo-deny"]),
    )?;
    step(
        "each feature alone",
        cargo().args(["hack", "check", "--workspace", "--each-feature", "--no-dev-deps"]),
    )?;
    step("licences and sources", cargo().args(["deny", "check", "bans", "licenses", "sources"]))
}
