//! Instructions of a handful of kernels, counted by valgrind: they repeat where seconds do not.
//! Compared with what is stored.
//!
//! Each kernel is run twice in a process of its own, the second time for twice as many units: the
//! difference is what the units take, whatever the start of the program and the preparations take.

mod kernels;
mod stored;

use crate::part::{BENCHMARKS, Figures, Part};
use crate::say;
use anyhow::{Context as _, Result, bail, ensure};
use kernels::{KERNELS, Kernel};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use stored::{Stored, Verdict};

/// Options of `probe-bench counts`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Store what is counted in benches/counts.json, and write it down
    #[arg(long)]
    store: bool,
    /// Only kernels whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// Run a kernel for as many units as --units says, without counting: what valgrind is given
    #[arg(long, hide = true, requires = "units")]
    kernel: Option<String>,
    #[arg(long, hide = true)]
    units: Option<usize>,
    /// The first three kernels, which take a few seconds
    #[arg(long)]
    quick: bool,
}

/// Instructions of one unit.
struct Counted {
    kernel: &'static Kernel,
    each: f64,
}

pub fn run(options: &Options) -> Result<()> {
    if let (Some(name), Some(units)) = (&options.kernel, options.units) {
        let kernel = KERNELS.iter().find(|kernel| kernel.name == name);
        return (kernel.with_context(|| format!("no kernel called {name}"))?.run)(units);
    }
    let version = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    ensure!(
        version.is_ok_and(|status| status.success()),
        "instructions are counted by valgrind: apt-get install valgrind"
    );
    let chosen = KERNELS.iter().filter(|kernel| kernel.name.contains(&options.only));
    let mut counted = Vec::new();
    for kernel in chosen.take(if options.quick { 3 } else { KERNELS.len() }) {
        eprintln!("{}", kernel.name);
        let [once, twice] = [1, 2].map(|times| count(kernel.name, times * kernel.units));
        counted.push(Counted { kernel, each: each(once?, twice?, kernel.units)? });
    }
    let before = Stored::load()?;
    let now = Stored::now(counted.iter().map(|c| (c.kernel.name.to_owned(), c.each)).collect())?;
    let text = render(&counted, &before, &now);
    say(&text);
    if options.store {
        ensure!(counted.len() == KERNELS.len(), "only all kernels are stored together");
        now.save()?;
        let figures: Figures =
            counted.iter().map(|c| (c.kernel.name.to_owned(), whole(c.each))).collect();
        return Part {
            id: "counts".into(),
            command: "counts --store".into(),
            document: BENCHMARKS.into(),
            title: Some("Instructions".into()),
            text: table(&counted, &now),
            figures,
            ..Part::default()
        }
        .store();
    }
    let worse: BTreeMap<&str, f64> = counted
        .iter()
        .filter_map(|c| match before.judge(c.kernel.name, c.each) {
            Verdict::More(by) => Some((c.kernel.name, by)),
            _ => None,
        })
        .collect();
    if let (false, Some(other)) = (worse.is_empty(), before.differs_from(&now)) {
        say(&format!(
            "{other}: more instructions are no failure; \
             `cargo xtask bench counts --store` stores them"
        ));
        return Ok(());
    }
    let words: Vec<String> =
        worse.iter().map(|(name, by)| format!("{name} by {:.1} %", 100.0 * by)).collect();
    ensure!(words.is_empty(), "more instructions than stored: {}", words.join(", "));
    Ok(())
}

/// Instructions of the whole program on so many units.
fn count(kernel: &str, units: usize) -> Result<u64> {
    let program = std::env::current_exe()?;
    let done = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["counts", "--kernel", kernel, "--units", &units.to_string()])
        // An unused thread pool would be counted too.
        .env("RAYON_NUM_THREADS", "1")
        .stdout(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        bail!("{kernel} fails under valgrind: {text}");
    }
    collected(&text).with_context(|| format!("valgrind does not say how many instructions: {text}"))
}

/// What callgrind says at its end: `==123== Collected : 456`.
fn collected(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

/// Of one unit, from counts of `units` and of twice as many.
fn each(once: u64, twice: u64, units: usize) -> Result<f64> {
    let more = twice.checked_sub(once).filter(|more| *more > 0 && units > 0);
    Ok(more.context("twice the work takes no more instructions")? as f64 / units as f64)
}

fn whole(count: f64) -> String {
    probe_experiments::number::fixed(count.round(), 0)
}

fn render(counted: &[Counted], before: &Stored, now: &Stored) -> String {
    let mut lines = vec!["| kernel | instructions | stored | |\n|---|---|---|---|".to_owned()];
    for Counted { kernel, each } in counted {
        let stored = before.counts.get(kernel.name).map_or("–".to_owned(), |count| whole(*count));
        let words = match before.judge(kernel.name, *each) {
            Verdict::Unknown => "not stored yet: --store".to_owned(),
            Verdict::Same => String::new(),
            Verdict::More(by) => format!("{:.1} % more", 100.0 * by),
            Verdict::Fewer(by) => format!("{:.1} % fewer: store them with --store", 100.0 * by),
        };
        lines.push(format!("| {} | {} | {stored} | {words} |", kernel.what, whole(*each)));
    }
    lines.extend(before.differs_from(now));
    lines.join("\n")
}

/// As it is published.
fn table(counted: &[Counted], now: &Stored) -> String {
    let mut lines = vec![format!(
        "Instructions of one unit under valgrind's callgrind, which repeat where times do not: the \
         difference between a run of so many units and one of twice as many. {}. `cargo xtask test \
         --full` fails where there are {} % more than these.\n\n| kernel | \
         instructions |\n|---|---|",
        now.made_by(),
        100.0 * stored::TOLERANCE
    )];
    lines.extend(counted.iter().map(|c| format!("| {} | {} |", c.kernel.what, whole(c.each))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_counted_by_the_difference() {
        // 1,000 to start, 7 a unit.
        assert_eq!(each(1_000 + 7 * 40, 1_000 + 7 * 80, 40).unwrap(), 7.0);
        assert!(
            each(500, 500, 10).is_err() && each(500, 400, 10).is_err() && each(1, 2, 0).is_err()
        );
    }

    #[test]
    fn what_callgrind_says_is_read() {
        let text = "==8== Callgrind, a call-graph generating cache profiler\n==8== \n\
                    ==8== Events    : Ir\n==8== Collected : 1234567\n==8== ";
        assert_eq!(collected(text), Some(1_234_567));
        assert_eq!(collected("==8== nothing"), None);
    }

    #[test]
    fn kernels_run_and_have_names_of_their_own() {
        for (i, kernel) in KERNELS.iter().enumerate() {
            assert!(KERNELS[..i].iter().all(|other| other.name != kernel.name));
            (kernel.run)(1).unwrap();
        }
    }
}
