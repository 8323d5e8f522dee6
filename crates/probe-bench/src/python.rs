//! Python for scripts of other programs.

use crate::folders;
use anyhow::{Context as _, Result, bail};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the scripts of `name` lie.
pub fn scripts(name: &str) -> PathBuf {
    folders::root().join("benches").join(name)
}

/// What to say where there is no environment.
pub fn needs(name: &str) -> String {
    format!(
        "It needs Python 3 with venv, and a way for pip to get benches/{name}/requirements.txt."
    )
}

/// Installs our own package, as a wheel, and nothing that it needs.
pub fn install(python: &Path, wheel: &Path) -> Result<()> {
    let words = ["-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps"];
    let installed = Command::new(python).args(words).arg(wheel).status()?;
    if !installed.success() {
        bail!("pip cannot install {}", wheel.display());
    }
    Ok(())
}

/// The Python of an environment under the target folder that has what the scripts of `name` need;
/// set up on first use.
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
