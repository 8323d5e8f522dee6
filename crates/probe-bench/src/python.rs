//! Python environments for the scripts in `benches` that run other programs.

use crate::folders;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the scripts of `name`.
pub fn scripts(name: &str) -> PathBuf {
    folders::root().join("benches").join(name)
}

/// What to print if an environment cannot be set up.
pub fn needs(name: &str) -> String {
    format!(
        "It needs Python 3 with venv, and a way for pip to get benches/{name}/requirements.txt."
    )
}

/// Installs the Python package of this repository from a wheel, without its dependencies.
pub fn install(python: &Path, wheel: &Path) -> Result<()> {
    let words = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    let installed = Command::new(python).args(words).arg(wheel).status()?;
    if !installed.success() {
        bail!("pip cannot install {}", wheel.display());
    }
    Ok(())
}

/// The Python of an environment with the packages that the scripts of `name` need. It is in the
/// target folder and is set up on first use.
pub fn environment(name: &str) -> Result<PathBuf> {
    let folder = folders::kept(name)?.join("venv");
    let python = folder.join("bin/python");
    let requirements = scripts(name).join("requirements.txt");
    let wanted = std::fs::read_to_string(&requirements)?;
    let stamp = folder.join("requirements.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|have| have == wanted) {
        return Ok(python);
    }
    eprintln!(
        "setting up Python in the target folder; this downloads benches/{name}/requirements.txt"
    );
    let steps: [(&Path, Vec<&std::ffi::OsStr>); 2] = [
        (Path::new("python3"), vec!["-m".as_ref(), "venv".as_ref(), folder.as_ref()]),
        (
            &python,
            vec![
                "-m".as_ref(),
                "pip".as_ref(),
                "install".as_ref(),
                "--quiet".as_ref(),
                "-r".as_ref(),
                requirements.as_ref(),
            ],
        ),
    ];
    for (program, arguments) in steps {
        let status = Command::new(program)
            .args(arguments)
            .stdout(Stdio::null())
            .status()
            .with_context(|| format!("cannot start {}", program.display()))?;
        if !status.success() {
            bail!("{} failed: {status}", program.display());
        }
    }
    std::fs::write(stamp, wanted)?;
    Ok(python)
}
