//! Other programs: how long they take, and how much memory they hold at most.

use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What came of a program.
#[derive(Debug)]
pub struct Watched {
    pub seconds: f64,
    /// The most memory it held, in KiB; 0 if the system does not report it.
    pub peak: u64,
}

/// Runs a program, looking at its memory every so often. Fails where it does.
pub fn watch(command: &mut Command, every: Duration) -> Result<Watched> {
    let (child, started) = spawn(command)?;
    let id = child.id();
    follow(child, started, every, || Some(id))
}

/// Runs a command line of the shell in a terminal of its own, by `script` of util-linux, which
/// writes what is shown to `shown`.
pub fn watch_in_terminal(
    line: &str,
    folder: &Path,
    shown: &Path,
    every: Duration,
) -> Result<Watched> {
    let mut command = Command::new("script");
    // `exec` replaces the shell, so that the program is a child of `script`.
    command.args(["-qefc", &format!("stty cols 100; exec {line}")]).arg(shown).current_dir(folder);
    let (child, started) = spawn(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
    let file = format!("/proc/{0}/task/{0}/children", child.id());
    follow(child, started, every, || {
        std::fs::read_to_string(&file).ok()?.split_whitespace().next()?.parse().ok()
    })
}

fn spawn(command: &mut Command) -> Result<(Child, Instant)> {
    let started = Instant::now();
    let child =
        command.spawn().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    Ok((child, started))
}

fn follow(
    mut child: Child,
    started: Instant,
    every: Duration,
    whom: impl Fn() -> Option<u32>,
) -> Result<Watched> {
    let mut peak = 0;
    loop {
        peak = whom().and_then(high_water).unwrap_or(0).max(peak);
        match child.try_wait()? {
            Some(status) if status.success() => {
                return Ok(Watched { seconds: started.elapsed().as_secs_f64(), peak });
            }
            Some(status) => bail!("the command failed: {status}"),
            None => std::thread::sleep(every),
        }
    }
}

/// Peak memory of a process, as the system reports it.
fn high_water(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
