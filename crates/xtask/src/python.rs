//! The Python package: built as a wheel, tried in a clean environment, tested.

use crate::shell::{cargo, root, step, target};
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the wheel and tests it.
pub(crate) fn test() -> Result<()> {
    let (package, folder) = (root().join("bindings/python"), target().join("python"));
    // With the features of the whole workspace, as the tests before it were built.
    step(
        "command for the Python package",
        cargo().args(["build", "--workspace", "--bins", "--quiet"]),
    )?;
    // Not the release build, which takes minutes more and answers the same.
    let wheel = wheel("dev")?;
    let clean = environment(&folder.join("clean"))?;
    install(&clean, &[wheel.as_os_str()])?;
    step(
        "Python package by itself",
        Command::new(&clean).arg(package.join("tests/smoke.py")).current_dir(&folder),
    )?;
    let full = environment(&folder.join("tests"))?;
    install(&full, &["-r".as_ref(), package.join("tests/requirements.txt").as_os_str()])?;
    install(&full, &["--no-deps".as_ref(), wheel.as_os_str()])?;
    let mut tests = Command::new(&full);
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).current_dir(&package);
    tests.env(
        "PROBE_BIN",
        target().join("debug").join(format!("probe{}", std::env::consts::EXE_SUFFIX)),
    );
    step("Python tests", &mut tests)
}

/// Builds the wheel, in a profile of cargo, and gives its path.
pub(crate) fn wheel(profile: &str) -> Result<PathBuf> {
    let folder = target().join("python");
    let builder = environment(&folder.join("build"))?;
    let wheels = folder.join(profile);
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let mut build = pip(&builder);
    build
        .args(["wheel", "--no-deps", "--wheel-dir"])
        .arg(&wheels)
        .arg(root().join("bindings/python"));
    build
        .env("MATURIN_PEP517_ARGS", format!("--profile {profile}"))
        .env("CARGO_TARGET_DIR", target());
    step("Python wheel", &mut build)?;
    only_wheel(&wheels)
}

/// The interpreter of an environment, which is made where it is not there.
pub(crate) fn environment(folder: &Path) -> Result<PathBuf> {
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        let run = |words: &[&str]| {
            let done = Command::new("python3").args(words).arg(folder).status();
            done.context("Python 3 is needed for the Python package: cannot start python3")
        };
        // Some systems have Python without venv; virtualenv does the same.
        if !run(&["-m", "venv"])?.success() && !run(&["-m", "virtualenv"])?.success() {
            bail!(
                "no environment in {}: Python 3 with venv, or with virtualenv, is needed",
                folder.display()
            );
        }
    }
    Ok(python)
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    command
}

pub(crate) fn install(python: &Path, what: &[&std::ffi::OsStr]) -> Result<()> {
    let name = what.last().map_or_else(String::new, |last| {
        Path::new(last).file_name().unwrap_or(last).display().to_string()
    });
    let forced = if what.iter().any(|word| word.to_string_lossy().ends_with(".whl")) {
        &["--force-reinstall"][..]
    } else {
        &[]
    };
    step(&format!("pip install {name}"), pip(python).arg("install").args(forced).args(what))
}

/// The wheel that was built.
fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "whl") {
            found.push(path);
        }
    }
    match found.pop() {
        Some(wheel) if found.is_empty() => Ok(wheel),
        _ => bail!("expected one wheel in {}", folder.display()),
    }
}
