//! `probe recourse` from CSV to CSV, against merely reading and writing the same file with the `csv` crate.

use crate::clock::best_of;
use crate::say;
use anyhow::{Context as _, Result, bail};
use probe_core::{Linear, Purpose, Seed};
use probe_io::ModelFile;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const D: usize = 20;

pub(crate) fn run(probe: &Path, people: usize) -> Result<()> {
    let probe = &probe.canonicalize().with_context(|| format!("no binary at {}", probe.display()))?;
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let mut stream = Seed(1).stream(Purpose::Data, 1);
    let weights = (0..D).map(|_| 2.0 * stream.normal()).collect();
    ModelFile::new(names.clone(), std::sync::Arc::new(Linear::new(weights, -2.0, 0.0)?), None)?
        .save(file("model.json"))?;
    say("\nCSV to CSV, linear model, d = 20, l1, r = 0.1, bounds [0, 1]");
    let mut peaks = Vec::new();
    for n in [people / 10, people] {
        write_people(&file("people.csv"), &names, n)?;
        let megabytes = std::fs::metadata(file("people.csv"))?.len() as f64 / 1e6;
        let copy = best_of(3, || plain_copy(&file("people.csv"), &file("copy.csv")))?;
        let mut peak = 0;
        let ours = best_of(3, || {
            peak = recourse(probe, folder.path())?.max(peak);
            Ok(())
        })?;
        say(&format!(
            "  {n:>9} people ({megabytes:.0} MB): recourse {ours:.2} s, plain copy {copy:.2} s, ratio {:.2}; \
             {:.0} people a second; peak memory {:.0} MB",
            ours / copy,
            n as f64 / ours,
            peak as f64 / 1024.0
        ));
        peaks.push(peak);
    }
    say(&format!(
        "  memory with ten times the people: {:.2} times",
        peaks[1] as f64 / peaks[0].max(1) as f64
    ));
    Ok(())
}

fn write_people(path: &Path, names: &[String], n: usize) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "{}", names.join(","))?;
    let mut stream = Seed(2).stream(Purpose::Data, 0);
    for _ in 0..n {
        for j in 0..names.len() {
            write!(out, "{}{:.6}", if j == 0 { "" } else { "," }, stream.uniform())?;
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// Reads every record and writes it again, looking at no number.
fn plain_copy(input: &Path, output: &Path) -> Result<()> {
    let mut reader = csv::Reader::from_path(input)?;
    let mut writer = csv::Writer::from_path(output)?;
    writer.write_byte_record(reader.byte_headers()?)?;
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record)? {
        writer.write_byte_record(&record)?;
    }
    Ok(writer.flush()?)
}

/// Runs the command; returns its peak memory in KiB, 0 where the system does not tell.
fn recourse(probe: &Path, folder: &Path) -> Result<u64> {
    let mut child = Command::new(probe)
        .args([
            "recourse",
            "model.json",
            "people.csv",
            "-r",
            "0.1",
            "--sigma",
            "0.1",
            "--bounds",
            "0,1",
            "-o",
            "out.csv",
        ])
        .arg("--quiet")
        .current_dir(folder)
        .stdout(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", probe.display()))?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    loop {
        peak = high_water(&status_file).unwrap_or(0).max(peak);
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(peak),
            Some(status) => bail!("probe recourse failed: {status}"),
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

/// The most memory a process has held, as the system tells it.
fn high_water(status_file: &str) -> Option<u64> {
    let text = std::fs::read_to_string(status_file).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
