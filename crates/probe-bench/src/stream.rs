//! `probe recourse` from CSV to CSV, against merely reading and writing the same file with the
//! `csv` crate.

use crate::part::{BENCHMARKS, Figures, Part};
use crate::process::watch;
use crate::say;
use crate::stats::{Repeats, figure};
use anyhow::{Context as _, Result};
use probe_core::{Linear, Purpose, Seed};
use probe_experiments::number::fixed;
use probe_io::ModelFile;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const D: usize = 20;
/// People in the larger file, where it is to be written down.
pub const PEOPLE: usize = 1_000_000;
/// How often each is timed, in turns.
const REPEATS: usize = 5;

/// What was measured for one file, in seconds.
#[derive(Debug)]
pub struct Row {
    pub people: usize,
    pub megabytes: f64,
    pub copy: Repeats,
    /// On all threads and on one: seconds, over those of a copy in the same turn, and the most
    /// memory in KiB.
    pub all: Way,
    pub one: Way,
}

/// The command on some threads.
#[derive(Debug)]
pub struct Way {
    pub seconds: Repeats,
    pub to_copy: Repeats,
    pub peak: u64,
}

pub fn run(probe: &Path, people: usize) -> Result<()> {
    let probe =
        &probe.canonicalize().with_context(|| format!("no binary at {}", probe.display()))?;
    let folder = tempfile::tempdir()?;
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let mut stream = Seed(1).stream(Purpose::Data, 1);
    let weights = (0..D).map(|_| 2.0 * stream.normal()).collect();
    ModelFile::new(names.clone(), std::sync::Arc::new(Linear::new(weights, -2.0, 0.0)?), None)?
        .save(folder.path().join("model.json"))?;
    let rows = [people / 10, people].map(|n| measure(probe, folder.path(), &names, n));
    let rows = rows.into_iter().collect::<Result<Vec<Row>>>()?;
    let text = render(&rows);
    say(&text);
    if people != PEOPLE {
        return Ok(());
    }
    let mut figures = Figures::new();
    for (row, name) in rows.iter().zip(["tenth", "all"]) {
        let mut quote = |what: &str, text: String| figures.insert(format!("{name}_{what}"), text);
        quote("megabytes", format!("{:.0}", row.megabytes));
        quote("seconds", format!("{:.2}", row.all.seconds.median));
        quote("seconds_one_thread", format!("{:.2}", row.one.seconds.median));
        quote("copy", format!("{:.2}", row.copy.median));
        quote("to_copy", format!("{:.2}", row.all.to_copy.median));
        quote("peak_mb", format!("{:.0}", row.all.peak as f64 / 1024.0));
    }
    Part {
        id: "stream".into(),
        command: "stream".into(),
        document: BENCHMARKS.into(),
        title: Some("Files".into()),
        text,
        figures,
        ..Part::default()
    }
    .store()
}

fn measure(probe: &Path, folder: &Path, names: &[String], people: usize) -> Result<Row> {
    let (input, copied) = (folder.join("people.csv"), folder.join("copy.csv"));
    write_people(&input, names, people)?;
    let megabytes = std::fs::metadata(&input)?.len() as f64 / 1e6;
    let (mut copy, mut seconds, mut peaks) = (Vec::new(), [Vec::new(), Vec::new()], [0, 0]);
    for _ in 0..REPEATS {
        let started = Instant::now();
        plain_copy(&input, &copied)?;
        copy.push(started.elapsed().as_secs_f64());
        for (k, threads) in ["0", "1"].into_iter().enumerate() {
            let watched = watch(&mut recourse(probe, folder, threads), Duration::from_millis(2))?;
            seconds[k].push(watched.seconds);
            peaks[k] = watched.peak.max(peaks[k]);
        }
    }
    let [all, one] = [0, 1].map(|k| Way {
        to_copy: Repeats::ratios(&seconds[k], &copy),
        seconds: Repeats::of(seconds[k].clone()),
        peak: peaks[k],
    });
    Ok(Row { people, megabytes, copy: Repeats::of(copy), all, one })
}

fn render(rows: &[Row]) -> String {
    let mut lines = vec![format!(
        "`probe recourse` from CSV to CSV, linear model, d = {D}, l1, r = 0.1, bounds [0, 1], \
         against merely reading and writing the file with the `csv` crate. Medians (least to most) \
         of {REPEATS} in turns.\n\n| people | file | threads | time, s | people a second | plain \
         copy, s | ratio | peak memory |\n|---|---|---|---|---|---|---|---|"
    )];
    let between = |r: &Repeats| format!("{:.2} ({:.2} to {:.2})", r.median, r.least, r.most);
    for Row { people, megabytes, copy, all, one } in rows {
        for (way, threads) in [(all, "all"), (one, "one")] {
            lines.push(format!(
                "| {} | {megabytes:.0} MB | {threads} | {} | {} | {} | {} | {:.0} MB |",
                fixed(*people as f64, 0),
                between(&way.seconds),
                figure(*people as f64 / way.seconds.median),
                between(copy),
                between(&way.to_copy),
                way.peak as f64 / 1024.0
            ));
        }
    }
    if let [few, many] = rows {
        let times = many.all.peak as f64 / few.all.peak.max(1) as f64;
        lines.push(format!("\nMemory with ten times the people: {times:.2} times."));
    }
    lines.join("\n")
}

pub fn write_people(path: &Path, names: &[String], n: usize) -> Result<()> {
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

/// The command on so many threads; 0 for all there are.
pub fn recourse(probe: &Path, folder: &Path, threads: &str) -> Command {
    let words = "recourse model.json people.csv -r 0.1 --sigma 0.1 --bounds 0,1 -o \
                 out.csv --quiet --threads";
    let mut command = Command::new(probe);
    command.args(words.split(' ')).arg(threads).current_dir(folder).stdout(Stdio::null());
    command
}
