//! Real people in raw form, categories and whole numbers, from `probe train` and `probe recourse`
//! to the printed row: does every row keep every rule, does it flip when it is read again, and does
//! its rate hold? Rules and models are read by separate code that shares nothing with the engine.

mod rules;
mod scorer;

use anyhow::{Context as _, Result, bail};
use probe_bench::part::Part;
use probe_bench::{folders, say};
use probe_core::{Purpose, Seed};
use rayon::prelude::*;
use rules::Row;
use scorer::Scorer;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const DRAWS: usize = 1_000_000;
const ADULT_ROWS: usize = 1_600;
const MAX_RATE: f64 = 0.1;
const SIGMA: f64 = 0.05;
const OUTPUT: &str = "docs/people.md";
/// Standard errors above the target that make a violation.
const SIGMAS: f64 = 4.0;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The `probe` command
    #[arg(long, default_value = "target/release/probe")]
    probe: PathBuf,
    /// Rows of Adult; of COMPAS always all
    #[arg(long, default_value_t = ADULT_ROWS)]
    rows: usize,
    /// Draws behind each audited rate
    #[arg(long, default_value_t = DRAWS)]
    draws: usize,
    /// Only data or models whose title contains this, such as "COMPAS" or "boosted"
    #[arg(long, default_value = "")]
    only: String,
}

/// A data set with its rules.
struct Subject {
    title: &'static str,
    file: &'static str,
    schema: &'static str,
    /// Relations between features, worked out by hand: whether a move from one row to another keeps
    /// them.
    keeps: fn(&Row, &Row) -> bool,
    /// Rows that are asked about; all if `None`.
    rows: Option<usize>,
}

/// What came of one model.
#[derive(Debug, Default)]
struct Tally {
    denied: usize,
    certified: usize,
    found: usize,
    none: usize,
    without_reason: usize,
    broken: usize,
    not_flipped: usize,
    above: usize,
    highest: f64,
    categories: usize,
}

fn value(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap_or(f64::NAN)
}

fn adult_keeps(from: &Row, to: &Row) -> bool {
    let excess = |row: &Row| value(row, "education-num") - (value(row, "age") - 5.0);
    let schooled = excess(to) <= f64::max(0.0, excess(from));
    schooled && (to["workclass"] != "Non-Private" || to["capital-gain"] == from["capital-gain"])
}

fn compas_keeps(from: &Row, to: &Row) -> bool {
    let excess =
        |row: &Row| 3.0 * value(row, "priors_count") - value(row, "length_of_stay") - 120.0;
    excess(to) <= f64::max(0.0, excess(from))
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let subjects = [
        Subject {
            title: "Adult",
            file: "adult.csv",
            schema: include_str!("adult.toml"),
            keeps: adult_keeps,
            rows: Some(options.rows),
        },
        Subject {
            title: "COMPAS",
            file: "compas.csv",
            schema: include_str!("compas.toml"),
            keeps: compas_keeps,
            rows: None,
        },
    ];
    let kinds = ["linear", "mlp", "boosted"];
    let mut lines = vec![
        "| data, model | denied | certified | found, not certified | without recourse (without a \
         reason) | rules broken | not flipped | above *r* | highest rate | categories changed |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    lines.iter().for_each(|line| say(line));
    for subject in &subjects {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("schema.toml"), subject.schema)?;
        let data = folders::data().join(subject.file);
        let (people, rows) = people_of(subject, &data)?;
        std::fs::write(at("people.csv"), people)?;
        for kind in kinds {
            let title = format!("{}, {kind}", subject.title);
            if !title.contains(&options.only) {
                continue;
            }
            let call = |arguments: &[&std::ffi::OsStr]| -> Result<()> {
                let done = Command::new(&options.probe).args(arguments).arg("--quiet").status();
                let done =
                    done.with_context(|| format!("cannot run {}", options.probe.display()))?;
                if done.success() { Ok(()) } else { bail!("probe failed on {title}") }
            };
            let path = |path: &Path| path.as_os_str().to_owned();
            let (schema, model, out) =
                (path(&at("schema.toml")), path(&at("model.json")), path(&at("out.csv")));
            let data = path(&data);
            call(&[
                "train".as_ref(),
                &data,
                "--schema".as_ref(),
                &schema,
                "--kind".as_ref(),
                kind.as_ref(),
                "-o".as_ref(),
                &model,
            ])?;
            let (rate, sigma) = (MAX_RATE.to_string(), SIGMA.to_string());
            let people = path(&at("people.csv"));
            call(&[
                "recourse".as_ref(),
                &model,
                &people,
                "-r".as_ref(),
                rate.as_ref(),
                "--sigma".as_ref(),
                sigma.as_ref(),
                "-o".as_ref(),
                &out,
            ])?;
            let file: Value = serde_json::from_slice(&std::fs::read(at("model.json"))?)?;
            let tally = check(subject, &file, &rows, &read(&at("out.csv"))?, options.draws)?;
            let line = format!(
                "| {title} | {} | {} | {} | {} ({}) | {} | {} | {} | {:.4} | {} |",
                tally.denied,
                tally.certified,
                tally.found,
                tally.none,
                tally.without_reason,
                tally.broken,
                tally.not_flipped,
                tally.above,
                tally.highest,
                tally.categories
            );
            say(&line);
            lines.push(line);
        }
    }
    if options.only.is_empty() && (options.rows, options.draws) == (ADULT_ROWS, DRAWS) {
        let text = format!(
            "# Real people, in raw form\n\nWritten by `cargo xtask bench people`: Adult \
             ({ADULT_ROWS} rows) and COMPAS (all rows) as they are in their files, categories and \
             whole numbers, with immutable features, directions, steps, transitions, relations and \
             `p_fail` as in [adult.toml](../benches/src/people/adult.toml) and \
             [compas.toml](../benches/src/people/compas.toml); *r* = {MAX_RATE}, σ = \
             {SIGMA} of the range of each mutable number. \
             Everybody whom the model denies is counted.\n\n{}\n\n\
             *Rules broken*, *not flipped* and *above r* are found by code that shares nothing \
             with the engine: it reads the printed rows as text, checks every rule, encodes and \
             scores them again, and draws {DRAWS} implementations (for each combination of \
             category changes that may fail) for every certified row. \
             Above means by more than {SIGMAS} standard errors.\n",
            lines.join("\n")
        );
        Part {
            id: "people".into(),
            command: "people".into(),
            document: OUTPUT.into(),
            text,
            ..Part::default()
        }
        .store()?;
    }
    Ok(())
}

/// The people's file without the target, as text, and their rows.
fn people_of(subject: &Subject, data: &Path) -> Result<(String, Vec<Row>)> {
    let target =
        subject.schema.lines().find_map(|line| line.strip_prefix("target = ")).unwrap_or_default();
    let target = target.trim_matches('"');
    let mut rows = read(data)?;
    rows.truncate(subject.rows.unwrap_or(usize::MAX));
    rows.iter_mut().for_each(|row| {
        row.remove(target);
    });
    let first = rows.first().context("no rows")?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(first.keys())?;
    for row in &rows {
        writer.write_record(row.values())?;
    }
    Ok((String::from_utf8(writer.into_inner()?)?, rows))
}

fn read(path: &Path) -> Result<Vec<Row>> {
    let mut reader =
        csv::Reader::from_path(path).with_context(|| format!("cannot read {}", path.display()))?;
    reader.deserialize().map(|row| Ok(row?)).collect()
}

/// Everything about one model's answers.
fn check(
    subject: &Subject,
    file: &Value,
    people: &[Row],
    answers: &[Row],
    draws: usize,
) -> Result<Tally> {
    let scorer = Scorer::new(file)?;
    let schema: Value = toml::from_str(subject.schema)?;
    let schema = &schema;
    if people.len() != answers.len() {
        bail!("{} answers for {} people", answers.len(), people.len());
    }
    let mut stream = Seed(4_711).stream(Purpose::Audit, 1);
    let errors: Vec<f64> = (0..draws * scorer.n_noisy()).map(|_| stream.normal()).collect();
    let one = |(person, answer): (&Row, &Row)| -> Result<Tally> {
        let mut tally = Tally::default();
        let denied = scorer.score(&scorer.encode(person)?) <= 0.0;
        let status = answer["status"].as_str();
        if denied == (status == "favourable") {
            bail!("row {}: {status}, but the score says otherwise", answer["row"]);
        }
        if !denied {
            return Ok(tally);
        }
        tally.denied = 1;
        let mut broken = rules::broken(schema, person, answer)?;
        if !(subject.keeps)(person, answer) {
            broken.push("a relation".to_owned());
        }
        for rule in &broken {
            eprintln!("row {}: {rule}", answer["row"]);
        }
        tally.broken = broken.len();
        match status {
            "certified" => tally.certified = 1,
            "found" => tally.found = 1,
            _ => tally.none = 1,
        }
        tally.without_reason = usize::from(status != "certified" && answer["reason"].is_empty());
        if status != "certified" {
            return Ok(tally);
        }
        tally.not_flipped = usize::from(scorer.score(&scorer.encode(answer)?) <= 0.0);
        let features = schema["feature"].as_array().map_or(&[][..], Vec::as_slice);
        let changed = |feature: &&Value| {
            let name = feature["name"].as_str().unwrap_or_default();
            feature["kind"] == "categorical" && person[name] != answer[name]
        };
        tally.categories = features.iter().filter(changed).count();
        let mut rate = 0.0;
        for (chance, row) in rules::outcomes(schema, person, answer) {
            rate += chance * scorer.refused(&scorer.encode(&row)?, &errors, SIGMA);
        }
        tally.highest = rate;
        let error = (MAX_RATE * (1.0 - MAX_RATE) / draws as f64).sqrt();
        tally.above = usize::from(rate > MAX_RATE + SIGMAS * error);
        Ok(tally)
    };
    people.par_iter().zip(answers).map(one).try_reduce(Tally::default, |a, b| {
        Ok(Tally {
            denied: a.denied + b.denied,
            certified: a.certified + b.certified,
            found: a.found + b.found,
            none: a.none + b.none,
            without_reason: a.without_reason + b.without_reason,
            broken: a.broken + b.broken,
            not_flipped: a.not_flipped + b.not_flipped,
            above: a.above + b.above,
            highest: a.highest.max(b.highest),
            categories: a.categories + b.categories,
        })
    })
}
