//! A million different people through the Adult network, from CSV to CSV by one command: time,
//! memory, its progress bar, and a thousand of the answers audited.

use crate::networks::{Measured, Subject, by_lines, by_plain_draws, plain};
use crate::resample::Resampler;
use anyhow::{Context as _, Result, bail, ensure};
use probe_bench::part::{BENCHMARKS, Figures, Part};
use probe_bench::process::{Watched, watch, watch_in_terminal};
use probe_bench::stats::mean;
use probe_bench::{folders, say};
use probe_core::{Key, Model as _, Purpose, Seed};
use probe_experiments::number::fixed;
use probe_experiments::paper_data::PAPER_DATA;
use probe_io::ModelFile;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

const SEED: Seed = Seed(9);
const SIGMA: f64 = 0.1;
const RATE: f64 = 0.1;
const PEOPLE: usize = 1_000_000;
const AUDITED: usize = 1_000;
/// How often memory is measured.
const EVERY: Duration = Duration::from_millis(20);

/// Options of `probe-bench million`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// People in the larger file; the smaller one has a tenth
    #[arg(long, default_value_t = PEOPLE)]
    people: usize,
    /// Answers that are audited
    #[arg(long, default_value_t = AUDITED)]
    audited: usize,
    /// The `probe` command
    #[arg(long, default_value = "target/release/probe")]
    probe: PathBuf,
    /// A look at 20,000 people, and 100 of the answers
    #[arg(long)]
    quick: bool,
}

/// One run of the command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) people: usize,
    pub(crate) megabytes: f64,
    pub(crate) watched: Watched,
    pub(crate) bar: Option<Bar>,
}

/// Percentages that the progress bar showed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bar {
    /// Different percentages.
    pub(crate) steps: usize,
    pub(crate) last: u32,
}

/// What became of the people of the larger file.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) certified: usize,
    /// Rows drawn at random, and those of them that are certified and so audited.
    pub(crate) drawn: usize,
    pub(crate) audited: usize,
    /// Above r on lines and on plain draws, and mean rate over r.
    pub(crate) above: (usize, usize),
    pub(crate) rate: f64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (people, audited) = match options.quick {
        true => (options.people.min(20_000), options.audited.min(100)),
        false => (options.people, options.audited),
    };
    ensure!(people >= 10, "at least ten people");
    let probe = &options.probe;
    let probe =
        probe.canonicalize().with_context(|| format!("no binary at {}", probe.display()))?;
    let subject = Subject::load(&PAPER_DATA[0], 1)?;
    let encoded = PAPER_DATA[0].load(&folders::data(), Seed(0))?;
    let folder = tempfile::tempdir_in(folders::kept("million")?)?;
    ModelFile::new(subject.names.clone(), subject.model.clone(), None)?
        .save(folder.path().join("model.json"))?;
    let mut runs = Vec::new();
    for n in [people / 10, people] {
        eprintln!("{n} people");
        let mut resampler = Resampler::new(&*subject.model, &subject.names, &encoded.values, SEED);
        write_people(&folder.path().join("people.csv"), &subject.names, &mut resampler, n)?;
        runs.push(command(&probe, folder.path(), n)?);
    }
    let answers = check(&subject, folder.path(), people, audited)?;
    let text = render(&runs, &answers);
    say(&text);
    ensure!(
        answers.above == (0, 0),
        "{:?} of {} answers are above r",
        answers.above,
        answers.audited
    );
    if (people, audited) != (PEOPLE, AUDITED) {
        return Ok(());
    }
    Part {
        id: "million".into(),
        command: "million".into(),
        document: BENCHMARKS.into(),
        title: Some("A million people".into()),
        text,
        figures: quoted(&runs, &answers),
        ..Part::default()
    }
    .store()
}

fn write_people(path: &Path, names: &[String], people: &mut Resampler<'_>, n: usize) -> Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "{}", names.join(","))?;
    let mut person = vec![0.0; names.len()];
    for _ in 0..n {
        people.next_into(&mut person)?;
        for (j, value) in person.iter().enumerate() {
            write!(out, "{}{value}", if j == 0 { "" } else { "," })?;
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}

/// The command in a terminal, where there is `script` to make one.
fn command(probe: &Path, folder: &Path, people: usize) -> Result<Run> {
    let megabytes = std::fs::metadata(folder.join("people.csv"))?.len() as f64 / 1e6;
    let (rate, sigma) = (RATE.to_string(), SIGMA.to_string());
    let words =
        ["recourse", "model.json", "people.csv", "-r", &rate, "--sigma", &sigma, "-o", "out.csv"];
    let shown = folder.join("shown.txt");
    let has_script = Command::new("script").arg("--version").stdout(Stdio::null()).status().is_ok();
    let (watched, bar) = if has_script {
        let line = format!("'{}' {}", probe.display(), words.join(" "));
        let watched = watch_in_terminal(&line, folder, &shown, EVERY)?;
        (watched, Some(bar_of(&String::from_utf8_lossy(&std::fs::read(&shown)?))))
    } else {
        eprintln!("no `script` (util-linux): the progress bar is not looked at");
        (watch(Command::new(probe).args(words).arg("--quiet").current_dir(folder), EVERY)?, None)
    };
    Ok(Run { people, megabytes, watched, bar })
}

/// The percentages shown next to a progress bar.
fn bar_of(shown: &str) -> Bar {
    let mut seen = BTreeSet::new();
    for piece in shown.split('%').filter(|piece| piece.contains(['━', '─'])) {
        let digits =
            piece.trim_end().rsplit(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        seen.extend(digits.parse::<u32>().ok().filter(|percent| *percent <= 100));
    }
    Bar { steps: seen.len(), last: seen.last().copied().unwrap_or(0) }
}

/// Reads people and answers side by side, and audits some of the answers.
fn check(subject: &Subject, folder: &Path, n: usize, audited: usize) -> Result<Answers> {
    let mut stream = SEED.stream(Purpose::Audit, 0);
    let mut chosen = BTreeSet::new();
    while chosen.len() < audited.min(n) {
        chosen.insert(stream.below(n));
    }
    let mut rows = csv::Reader::from_path(folder.join("out.csv"))?;
    let header = rows.headers()?.clone();
    let place = |name: &str| {
        header.iter().position(|h| h == name).with_context(|| format!("no column {name}"))
    };
    let status = place("status")?;
    let columns: Vec<usize> =
        subject.names.iter().map(|name| place(name)).collect::<Result<_>>()?;
    let mut asked = csv::Reader::from_path(folder.join("people.csv"))?;
    let (mut from, mut to) = (csv::StringRecord::new(), csv::StringRecord::new());
    let (mut read, mut certified, mut points) = (0, 0, Vec::new());
    let mut keys = BTreeSet::new();
    while rows.read_record(&mut to)? {
        ensure!(asked.read_record(&mut from)?, "more answers than people");
        certified += usize::from(&to[status] == "certified");
        if chosen.contains(&read) {
            let number =
                |text: &str| text.parse::<f64>().with_context(|| format!("row {read}: {text}"));
            let person = from.iter().map(number).collect::<Result<Vec<f64>>>()?;
            let point =
                columns.iter().map(|&column| number(&to[column])).collect::<Result<Vec<f64>>>()?;
            ensure!(subject.model.score(&person)? <= 0.0, "row {read} was not denied");
            if &to[status] == "certified" {
                points.push(point);
            }
            keys.insert(Key::default().values(&person).finish());
        }
        read += 1;
    }
    if read != n {
        bail!("{read} answers for {n} people");
    }
    ensure!(keys.len() == chosen.len(), "two people are alike");
    let points: Vec<&[f64]> = points.iter().map(|point: &Vec<f64>| &point[..]).collect();
    let network = plain(subject)?;
    let (lines, plain) =
        (by_lines(&network, SIGMA, &points), by_plain_draws(&network, SIGMA, &points));
    let above = |rates: &[Measured]| rates.iter().filter(|rate| rate.above(RATE)).count();
    Ok(Answers {
        certified,
        drawn: chosen.len(),
        audited: points.len(),
        above: (above(&lines), above(&plain)),
        rate: mean(lines.iter().map(|measured| measured.rate / RATE)),
    })
}

fn quoted(runs: &[Run], answers: &Answers) -> Figures {
    let mut figures = Figures::new();
    if let [few, many] = runs {
        figures.insert("seconds".to_owned(), format!("{:.0}", many.watched.seconds));
        figures.insert(
            "per_second".to_owned(),
            fixed((many.people as f64 / many.watched.seconds).round(), 0),
        );
        figures.insert("peak_mb".to_owned(), format!("{:.0}", many.watched.peak as f64 / 1024.0));
        figures
            .insert("peak_mb_tenth".to_owned(), format!("{:.0}", few.watched.peak as f64 / 1024.0));
    }
    figures.insert("certified".to_owned(), fixed(answers.certified as f64, 0));
    figures.insert("audited".to_owned(), fixed(answers.audited as f64, 0));
    figures.insert("above".to_owned(), answers.above.0.max(answers.above.1).to_string());
    figures
}

fn render(runs: &[Run], answers: &Answers) -> String {
    let mut lines = vec![
        format!(
            "Adult rows of the paper's encoding, drawn with replacement, their numbers moved by \
             2 % of the range (standard deviation), all of them denied by the network [20, 50, 2], \
             no two alike: `probe recourse model.json people.csv -r {RATE} --sigma {SIGMA} -o \
             out.csv` in a terminal, all cores.\n"
        ),
        "| people | file | time | people a second | peak memory | progress bar |\n\
         |---|---|---|---|---|---|"
            .to_owned(),
    ];
    for Run { people, megabytes, watched, bar } in runs {
        let bar = match bar {
            Some(Bar { steps, last }) => format!("{steps} different percentages, up to {last} %"),
            None => "not looked at".to_owned(),
        };
        lines.push(format!(
            "| {people} | {megabytes:.0} MB | {:.1} s | {:.0} | {:.0} MB | {bar} |",
            watched.seconds,
            *people as f64 / watched.seconds,
            watched.peak as f64 / 1024.0
        ));
    }
    if let [few, many] = runs {
        lines.push(format!(
            "\nMemory with ten times the people: {:.2} times.",
            many.watched.peak as f64 / few.watched.peak.max(1) as f64
        ));
    }
    let Answers { certified, drawn, audited, above, rate } = answers;
    lines.push(format!(
        "{certified} certified. Of {audited} certified answers among {drawn} drawn at random, {} \
         are above r on 16,384 lines each and {} on a million plain draws; \
         mean rate {rate:.4} of r.",
        above.0, above.1
    ));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_beside_a_bar_are_counted_once() {
        let shown = "note: 7% of them\r━━──────  12%  1,000 people  3s left\r━━━─────  12%  1,100 \
                     people\u{1b}[2K\r━━━━━━━━ 100%  ";
        assert_eq!(bar_of(shown), Bar { steps: 2, last: 100 });
        assert_eq!(bar_of("12% of nothing"), Bar { steps: 0, last: 0 });
    }
}
