//! The command from CSV to CSV, against reading the same numbers from memory.

use anyhow::{Context as _, Result, ensure};
use probe_bench::clock::{cpu_of_children, median_of, time};
use probe_bench::part::Figures;
use probe_bench::stats::Repeats;
use probe_bench::stream;
use probe_core::{Answer, Engine, Linear, Purpose, Rows, Seed, Setup};
use probe_io::{Columns, Format, ModelFile, TableReader};
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

const D: usize = 20;
const REPEATS: usize = 3;

/// Seconds.
#[derive(Debug)]
pub(crate) struct OnTable {
    people: usize,
    megabytes: f64,
    /// The `csv` crate and `fast-float2`, from memory, one thread.
    bare: f64,
    /// Our reader, from memory, one thread.
    ours: f64,
    /// The answers, one thread.
    answers: f64,
    /// The command: processor time of all its threads, and time on one worker and on all.
    cpu: Repeats,
    one: Repeats,
    all: Repeats,
}

pub(crate) fn measure(probe: &Path, people: usize) -> Result<OnTable> {
    eprintln!("{people} people from file to file");
    let probe =
        &probe.canonicalize().with_context(|| format!("no binary at {}", probe.display()))?;
    let folder = tempfile::tempdir()?;
    let names: Vec<String> = (0..D).map(|j| format!("x{j}")).collect();
    let mut draws = Seed(1).stream(Purpose::Data, 1);
    let weights = (0..D).map(|_| 2.0 * draws.normal()).collect();
    let model = Arc::new(Linear::new(weights, -2.0, 0.0)?);
    ModelFile::new(names.clone(), model.clone(), None)?.save(folder.path().join("model.json"))?;
    let input = folder.path().join("people.csv");
    stream::write_people(&input, &names, people)?;
    let text = std::fs::read(&input)?;
    let megabytes = text.len() as f64 / 1e6;

    let mut numbers = Vec::new();
    let bare = median_of(3, 3.0, || bare_parse(&text, &mut numbers))?.cpu;
    let mut ours_numbers = Vec::new();
    let ours = median_of(3, 3.0, || our_parse(&text, &names, &mut ours_numbers))?.cpu;
    ensure!(numbers == ours_numbers, "the two readers disagree");
    let mut setup = Setup::new(model, names, None, 0.1)?;
    setup.actions.intersect(0.0, 1.0)?;
    let engine = Engine::new(setup)?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let mut answers = vec![Answer::new(D); people];
    let rows = Rows::new(&numbers, D)?;
    let solved =
        one.install(|| median_of(3, 3.0, || Ok(engine.recourse_into(rows, &mut answers)?)))?.cpu;
    let (mut cpu, mut single, mut all) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..REPEATS {
        let before = cpu_of_children();
        let timed = |threads: &str| -> Result<f64> {
            let (done, took) =
                time(|| Ok(stream::recourse(probe, folder.path(), threads).status()?))?;
            ensure!(done.success(), "probe recourse failed: {done}");
            Ok(took.wall)
        };
        let seconds = timed("1")?;
        single.push(seconds);
        cpu.push(cpu_of_children().zip(before).map_or(seconds, |(after, before)| after - before));
        all.push(timed("0")?);
    }
    let [cpu, one, all] = [cpu, single, all].map(Repeats::of);
    Ok(OnTable { people, megabytes, bare, ours, answers: solved, cpu, one, all })
}

/// Replaces the last numbers by every number of the text.
fn bare_parse(text: &[u8], numbers: &mut Vec<f64>) -> Result<()> {
    numbers.clear();
    let mut reader = csv::Reader::from_reader(text);
    let mut record = csv::ByteRecord::new();
    while reader.read_byte_record(&mut record)? {
        for cell in &record {
            numbers.push(fast_float2::parse(cell)?);
        }
    }
    Ok(())
}

fn our_parse(text: &[u8], names: &[String], numbers: &mut Vec<f64>) -> Result<()> {
    numbers.clear();
    let reader = TableReader::from_read("memory", Cursor::new(text.to_vec()), Format::Csv)?;
    let mut some = Vec::new();
    for chunk in reader.select(&Columns::features(names))? {
        chunk?.numbers_into(&mut some)?;
        numbers.extend_from_slice(&some);
    }
    Ok(())
}

pub(crate) fn render(table: &OnTable) -> String {
    let OnTable { people, megabytes, bare, ours, answers, cpu, one, all } = table;
    let rate = |seconds: f64| megabytes / seconds;
    let rest = cpu.median - ours - answers;
    let row = |what: &str, seconds: f64, note: &str| {
        format!("| {what} | {seconds:.3} | {:.0} | {:.2} | {note} |", rate(seconds), seconds / bare)
    };
    let between = |r: &Repeats| format!("{:.3} to {:.3} s", r.least, r.most);
    [
        format!(
            "### From file to file\n\n`probe recourse`, linear, d = {D}, l1 with bounds, {people} \
             people ({megabytes:.0} MB of CSV), against reading the same numbers from memory with \
             the `csv` crate and `fast-float2` on one thread, writing nothing and solving \
             nothing.\n\n| | s | MB a second | to the bare reading | |\n|---|---|---|---|---|"
        ),
        row("bare reading of the numbers", *bare, "one thread"),
        row(
            "our reading of the numbers",
            *ours,
            "one thread; names the row and column of a bad cell",
        ),
        row("answers alone", *answers, "one thread"),
        row("the command, processor time", cpu.median, &between(cpu)),
        row(
            "of that neither reading nor answers",
            rest,
            "writing rows, printing numbers, threads, start",
        ),
        row("the command on one worker", one.median, &between(one)),
        row("the command on all cores", all.median, &between(all)),
    ]
    .join("\n")
        + "\n"
}

pub(crate) fn quote(table: &OnTable, figures: &mut Figures) {
    figures.insert("table_cpu_to_bare".to_owned(), format!("{:.1}", table.cpu.median / table.bare));
    figures
        .insert("table_wall_to_bare".to_owned(), format!("{:.1}", table.all.median / table.bare));
}
