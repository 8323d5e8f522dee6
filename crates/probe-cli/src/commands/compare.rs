//! `probe compare`.

use crate::args::{Common, Compare};
use crate::interrupt::{self, holding_output};
use crate::prepare::prepare;
use crate::printer::Printer;
use crate::run::write_text;
use crate::usage::Usage;
use anyhow::{Context as _, Result, bail};
use probe_core::evaluation::Summary;
use probe_core::recourse::method;
use probe_core::{Engine, MethodOptions, Rows};
use probe_experiments::compare::{Contender, Line, comparison_picture, run as run_method};
use probe_experiments::number::{fixed, rounded};
use probe_io::{Batch, Column, Field, Format, TableWriter};
use probe_service::Command;
use probe_service::people::read_people;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::path::Path;

/// Width of the picture.
const WIDTH: f64 = 812.0;

pub(crate) fn run(args: &Compare, common: &Common, printer: &Printer) -> Result<()> {
    let contenders = contenders(args)?;
    let request = args.request(common);
    let prepared = prepare(&args.ask, args.seek.reference.as_deref(), &request, printer)?;
    // Unsupported combinations are found before any method runs, which may take an hour.
    let engines: Vec<Engine> = contenders
        .iter()
        .map(|c| c.engine(&prepared.setup).with_context(|| format!("--methods {}", c.method)))
        .collect::<Result<_>>()?;
    let names = &prepared.setup.names;
    let rows =
        read_people(&args.ask.people, args.input_format, &prepared.setup, args.ignore_extra)?;
    if rows.is_empty() {
        bail!("{}: no people", args.ask.people.display());
    }
    let people = Rows::new(&rows, names.len())?;
    let bar = printer.progress(Some(engines.len() as u64));
    let mut lines = Vec::with_capacity(engines.len());
    for (contender, engine) in contenders.iter().zip(&engines) {
        interrupt::check()?;
        bar.set_message(contender.method.clone());
        let (measured, seconds) = run_method(engine, people)?;
        lines.push(Line::of(&contender.method, &measured, prepared.setup.seed, seconds));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut meta = prepared.meta(Command::Compare);
    let options = |c: &Contender| json!(c.options.iter().collect::<BTreeMap<_, _>>());
    meta["method"] = json!(contenders.iter().map(|c| &c.method).collect::<Vec<_>>());
    meta["options"] = contenders
        .iter()
        .map(|c| (c.method.clone(), options(c)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let piped =
        args.output.is_none() && (args.format.is_some() || !std::io::stdout().is_terminal());
    if !piped {
        print(&lines, printer);
    }
    if piped || args.output.is_some() {
        write(args, &lines, &meta)?;
    }
    if let Some(path) = &args.plot {
        match comparison_picture(&lines, args.seek.max_rate, "compare", WIDTH) {
            Some(picture) => write_text(path, &picture.on_paper())?,
            None => printer
                .warn(&format!("{}: nobody got an answer, so there is no picture", path.display())),
        }
    }
    let needy = lines.first().map_or(0, |line| line.accuracy.n);
    printer.note(&format!("{} people, {needy} of them in need of recourse", people.n_rows()));
    Ok(())
}

/// The methods, each with its own settings.
fn contenders(args: &Compare) -> Result<Vec<Contender>> {
    let mut texts: Vec<Vec<&str>> = vec![Vec::new(); args.methods.len()];
    for option in &args.seek.option {
        let wrong = |what: &str| Usage::of("--option", format!("'{option}': {what}"));
        let (name, setting) =
            option.split_once(':').ok_or_else(|| wrong("write METHOD:NAME=VALUE"))?;
        let at = args.methods.iter().position(|m| m == name.trim());
        texts[at.ok_or_else(|| wrong("no such method among --methods"))?].push(setting);
    }
    let mut found: Vec<Contender> = Vec::with_capacity(args.methods.len());
    for (name, texts) in args.methods.iter().zip(texts) {
        if found.iter().any(|c| c.method == *name) {
            return Err(Usage::of("--methods", format!("{name} is named twice")).into());
        }
        let options = MethodOptions::parse(texts).map_err(|error| Usage::of("--option", error))?;
        method(name)?.check_options(&options).map_err(|error| Usage::of("--option", error))?;
        found.push(Contender { method: name.clone(), options });
    }
    Ok(found)
}

fn print(lines: &[Line], printer: &Printer) {
    let spread = |s: &Summary| {
        let sd = if s.sd.is_finite() { format!(" ± {}", fixed(s.sd, 3)) } else { String::new() };
        fixed(s.mean, 3) + &sd
    };
    let row = |line: &Line| {
        vec![
            line.method.clone(),
            fixed(line.accuracy.mean, 3),
            spread(&line.sampled_rate),
            spread(&line.rate),
            spread(&line.cost),
            format!("{} to {}", fixed(line.cost.interval[0], 3), fixed(line.cost.interval[1], 3)),
            fixed(line.changed.mean, 2),
            fixed(line.violations.mean, 2),
            rounded(line.seconds, 3),
        ]
    };
    let header = [
        "method",
        "accuracy (RA)",
        "rate, 10,000 draws (AIR)",
        "rate, exact or by lines",
        "cost (AC)",
        "cost, 95%",
        "changed",
        "violations",
        "seconds",
    ];
    printer.table(&header, &lines.iter().map(row).collect::<Vec<_>>(), &[1, 2, 3, 4, 5, 6, 7, 8]);
    printer.say(
        "Mean ± standard deviation over people with an answer; cost, 95%: bootstrap interval of \
         the mean.",
    );
}

/// Writes the lines as a table: first the columns that scripts rely on, then the rest.
fn write(args: &Compare, lines: &[Line], meta: &Value) -> Result<()> {
    let path = args.output.as_deref().unwrap_or(Path::new("-"));
    let format =
        args.format.unwrap_or_else(|| args.output.as_deref().map_or(Format::Csv, Format::of_path));
    type Number = (&'static str, fn(&Line) -> f64);
    let numbers: [Number; 24] = [
        ("ra", |l| l.accuracy.mean),
        ("air", |l| l.sampled_rate.mean),
        ("air_se", |l| l.sampled_rate.std_error()),
        ("cost", |l| l.cost.mean),
        ("cost_se", |l| l.cost.std_error()),
        ("changed", |l| l.changed.mean),
        ("violations", |l| l.violations.mean),
        ("seconds", |l| l.seconds),
        ("ra_low", |l| l.accuracy.interval[0]),
        ("ra_high", |l| l.accuracy.interval[1]),
        ("air_sd", |l| l.sampled_rate.sd),
        ("air_low", |l| l.sampled_rate.interval[0]),
        ("air_high", |l| l.sampled_rate.interval[1]),
        ("rate", |l| l.rate.mean),
        ("rate_se", |l| l.rate.std_error()),
        ("rate_sd", |l| l.rate.sd),
        ("rate_low", |l| l.rate.interval[0]),
        ("rate_high", |l| l.rate.interval[1]),
        ("cost_sd", |l| l.cost.sd),
        ("cost_low", |l| l.cost.interval[0]),
        ("cost_high", |l| l.cost.interval[1]),
        ("changed_sd", |l| l.changed.sd),
        ("changed_low", |l| l.changed.interval[0]),
        ("changed_high", |l| l.changed.interval[1]),
    ];
    let mut fields = vec![Field::text("method"), Field::integer("n")];
    let mut columns = vec![
        Column::texts(lines.iter().map(|l| l.method.as_str())),
        Column::integers(lines.iter().map(|l| l.accuracy.n as i64)),
    ];
    for (name, of) in numbers {
        fields.push(Field::float(name).optional());
        columns.push(Column::floats(lines.iter().map(|l| Some(of(l)).filter(|v| v.is_finite()))));
    }
    holding_output(|| {
        let mut writer = TableWriter::create(path, format, fields, Some(meta))?;
        let encoded = writer.encoder().encode(&Batch::Columns(columns))?;
        writer.write(encoded)?;
        Ok(writer.finish()?)
    })
}
