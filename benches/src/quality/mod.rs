//! What certified answers cost against the best known points: by brute force where the space is
//! small, by a long search of its own elsewhere. The best known points are kept and only improve.

mod ask;
mod draws;
mod fast;
mod freeze;
mod local;
mod problem;
mod real;
mod reference;
mod small;
mod starts;
mod store;
mod subject;
mod synthetic;
mod tally;
#[cfg(test)]
mod tests;

use anyhow::{Context as _, Result};
use ask::Engines;
use draws::Draws;
use probe_bench::{folders, say};
use probe_core::SearchEffort;
use probe_experiments::paper_data::{HELOC, PAPER_DATA, PaperData};
use rayon::prelude::*;
use reference::{Bench, Outcome};
use small::Small;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{Known, Store};
use subject::{Case, Half};

/// Targets, the strictest first.
const RATES: [f64; 3] = [0.05, 0.1, 0.35];
const PEOPLE: usize = 4;
/// People of small models for one of other models.
const SMALL: usize = 15;
/// Rows that a round of the search may score for a person and target, in thousands.
const ROWS: u64 = 2_000;

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// People per subject, at most; of each kind of small models fifteen times as many
    #[arg(long, default_value_t = PEOPLE)]
    people: usize,
    /// Only subjects whose title contains this, such as "HELOC" or "raw"
    #[arg(long, default_value = "")]
    only: String,
    /// Parts to measure; default: all
    #[arg(long = "part", value_enum)]
    parts: Vec<Section>,
    /// All subjects; otherwise a selection
    #[arg(long)]
    all: bool,
    /// Which half of the people
    #[arg(long, value_enum, default_value = "report")]
    half: Half,
    /// Target rates
    #[arg(long, value_delimiter = ',', default_values_t = RATES)]
    rates: Vec<f64>,
    /// How much work an answer is worth: quick, normal or thorough
    #[arg(long, default_value = "normal", value_parser = probe_bench::search::effort)]
    effort: SearchEffort,
    /// Rounds of the reference's search for everybody; those that ran in earlier runs count
    #[arg(long, default_value_t = 1)]
    rounds: u32,
    /// Rows that a round may score for one person and target, in thousands
    #[arg(long, default_value_t = ROWS)]
    rows: u64,
    /// Threads; 0 for all
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Where best known points are kept; default: in the target folder
    #[arg(long)]
    store: Option<PathBuf>,
}

/// A part of the study.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Section {
    /// Small models of two to four numbers, against brute force
    Small,
    /// Data sets in their own units, with categories, whole numbers and steps
    Raw,
    /// Data sets as columns between 0 and 1, free or bounded
    Columns,
    /// The freezing test
    Freeze,
}

/// A subject that is loaded when its turn comes.
struct Planned {
    title: String,
    section: Section,
    /// Whether it belongs to the selection.
    selected: bool,
    load: Box<dyn Fn(&Options) -> Result<Vec<Case>>>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let folder = match &options.store {
        Some(folder) => folder.clone(),
        None => folders::kept("cheapest")?,
    };
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let mut rates = options.rates.clone();
    rates.sort_by(f64::total_cmp);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads).build()?;
    let (mut rows, mut frozen) = (Vec::new(), Vec::new());
    for planned in plan(options) {
        let started = std::time::Instant::now();
        let cases = (planned.load)(options)?;
        if planned.section == Section::Freeze {
            let row = pool.install(|| freezing(&planned.title, &cases, &rates, options))?;
            row.iter().for_each(|row| eprintln!("{}", row.line()));
            frozen.extend(row);
        } else {
            let row =
                pool.install(|| subject(&planned.title, &cases, &rates, (options, &folder)))?;
            row.iter().for_each(|row| eprintln!("{}", row.line()));
            rows.extend(row);
        }
        eprintln!("{}: {:.0} s", planned.title, started.elapsed().as_secs_f64());
    }
    let lines: Vec<String> = rows.iter().map(tally::Row::line).collect();
    say(&format!("{}\n{}\n\n{}", tally::HEADER, lines.join("\n"), tally::COLUMNS));
    if !frozen.is_empty() {
        let lines: Vec<String> = frozen.iter().map(freeze::Row::line).collect();
        say(&format!("{}\n{}", freeze::HEADER, lines.join("\n")));
    }
    let record = serde_json::json!({ "subjects": rows, "freezing": frozen });
    std::fs::write(folder.join("last-run.json"), serde_json::to_vec_pretty(&record)?)?;
    Ok(())
}

/// The subjects that are asked for and whose data are there.
fn plan(options: &Options) -> Vec<Planned> {
    let mut all = small_subjects();
    all.extend(raw_subjects());
    all.extend(column_subjects());
    all.retain(|planned| {
        let named = !options.only.is_empty();
        planned.title.contains(&options.only)
            && (options.parts.is_empty() || options.parts.contains(&planned.section))
            && (options.all || named || planned.selected)
    });
    all
}

fn small_subjects() -> Vec<Planned> {
    let kinds = [
        ("small forests", synthetic::Kind::Forest),
        ("small boosted models", synthetic::Kind::Boosted),
        ("small networks", synthetic::Kind::Network),
    ];
    let planned = |(title, kind): (&str, synthetic::Kind)| Planned {
        title: title.to_owned(),
        section: Section::Small,
        selected: true,
        load: Box::new(move |options| synthetic::cases(kind, options.half, SMALL * options.people)),
    };
    kinds.map(planned).into()
}

fn is_there(file: &str) -> bool {
    let there = real::has(file);
    if !there {
        eprintln!("no file {file}, left out; PROBE_DATA_DIR names the folder of data sets");
    }
    there
}

fn raw_subjects() -> Vec<Planned> {
    let mut found = Vec::new();
    for data in real::RAW.iter().filter(|data| is_there(data.file)) {
        for kind in real::Kind::ALL {
            found.push(Planned {
                title: format!("{} raw, {}", data.title, kind.name()),
                section: Section::Raw,
                selected: kind == real::Kind::Boosted,
                load: Box::new(move |o| Ok(vec![real::raw(data, kind, (o.half, o.people))?])),
            });
        }
        if data.title != "German Credit" {
            found.push(Planned {
                title: format!("{} raw, freezing, boosted", data.title),
                section: Section::Freeze,
                selected: true,
                load: Box::new(move |o| {
                    Ok(vec![real::raw(data, real::Kind::Boosted, (o.half, 2 * o.people))?])
                }),
            });
        }
    }
    found
}

fn column_subjects() -> Vec<Planned> {
    let mut found = Vec::new();
    let data: Vec<PaperData> = PAPER_DATA.into_iter().chain([HELOC]).collect();
    for data in data.into_iter().filter(|data| is_there(data.file)) {
        for kind in real::Kind::ALL {
            for bounded in [false, true] {
                let form = if bounded { "bounded" } else { "free" };
                let trees = matches!(kind, real::Kind::Forest | real::Kind::Boosted);
                found.push(Planned {
                    title: format!("{} {form}, {}", data.title, kind.name()),
                    section: Section::Columns,
                    selected: data.name == "heloc" && trees && !bounded,
                    load: Box::new(move |o| {
                        Ok(vec![real::columns(&data, kind, bounded, (o.half, o.people))?])
                    }),
                });
            }
        }
    }
    found
}

/// All cases of a subject, target by target.
fn subject(
    title: &str,
    cases: &[Case],
    rates: &[f64],
    (options, folder): (&Options, &Path),
) -> Result<Vec<tally::Row>> {
    let mut outcomes = vec![Vec::new(); rates.len()];
    let (all, done) = (cases.iter().map(|case| case.people.len()).sum(), AtomicUsize::new(0));
    for case in cases {
        let name = format!("{title}-{}", case.name);
        let mut store = Store::open(folder, &name, case.problem.key(&case.training)?)?;
        with_bench(case, options, |bench| {
            // Kept after every few people, so that a run that is stopped is not lost.
            for people in case.people.chunks(8) {
                let one = |(row, person): &(usize, Vec<f64>)| {
                    let keys: Vec<String> = rates.iter().map(|r| person_key(person, *r)).collect();
                    let mut known: Vec<Known> = keys.iter().map(|key| store.get(key)).collect();
                    let outcomes = bench.person((*row, person), rates, &mut known)?;
                    progress(title, &done, all);
                    Ok((keys.into_iter().zip(known).collect::<Vec<_>>(), outcomes))
                };
                let mut new = Vec::new();
                for (known, one) in people.par_iter().map(one).collect::<Result<Vec<_>>>()? {
                    new.extend(known);
                    outcomes.iter_mut().zip(one).for_each(|(all, one)| all.push(one));
                }
                store.keep(new.into_iter())?;
            }
            Ok(())
        })?;
    }
    let row = |(r, outcomes): (&f64, &Vec<Outcome>)| tally::Row::of(title, *r, outcomes);
    Ok(rates.iter().zip(&outcomes).map(row).collect())
}

/// The freezing test of a subject, at r = 0.1 if that is among the targets.
fn freezing(
    title: &str,
    cases: &[Case],
    rates: &[f64],
    options: &Options,
) -> Result<Vec<freeze::Row>> {
    let r = rates.iter().copied().find(|r| *r == 0.1).unwrap_or(rates[0]);
    let (all, done) = (cases.iter().map(|case| case.people.len()).sum(), AtomicUsize::new(0));
    let mut people = Vec::new();
    for case in cases {
        people.extend(with_bench(case, options, |bench| {
            let one = |(row, person): &(usize, Vec<f64>)| {
                let frozen = freeze::person(bench, (*row, person), r);
                progress(title, &done, all);
                frozen
            };
            case.people.par_iter().map(one).collect::<Result<Vec<_>>>()
        })?);
    }
    Ok(vec![freeze::Row::of(title, r, people.into_iter().flatten().collect())])
}

fn with_bench<T>(
    case: &Case,
    options: &Options,
    work: impl FnOnce(&Bench<'_>) -> Result<T>,
) -> Result<T> {
    let draws = Draws::shared(&case.problem);
    let engines = Engines::new(&case.setup);
    let small = Small::new(&case.problem);
    work(&Bench {
        case,
        draws: &draws,
        engines: &engines,
        small: small.as_ref(),
        effort: options.effort,
        rows: 1_000 * options.rows,
        rounds: options.rounds,
    })
}

fn progress(title: &str, done: &AtomicUsize, all: usize) {
    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
    if done.is_multiple_of((all / 5).max(1)) {
        eprintln!("{title}: {done} of {all} people");
    }
}

fn person_key(person: &[f64], r: f64) -> String {
    format!("{:016x} {r}", probe_core::Key::default().values(person).finish())
}
