//! `probe demo`: runs the commands that a newcomer would type, one after the other.

mod letter;
mod network;

use crate::args::{Cli, Command, Common, Demo};
use crate::interrupt::holding_output;
use crate::prepare::prepare;
use crate::printer::Printer;
use crate::run::write_text;
use anyhow::{Context as _, Result, bail};
use clap::Parser as _;
use probe_core::theory::{robust_score, wachter_point};
use probe_core::{Answer, Engine, Feature, MonteCarlo, Rows, Seed, Status, affine_rate};
use probe_experiments::number::{Odds, number, percent, quantity, step};
use probe_experiments::report::{Method, ModelCard, PersonReport, Value, render, summary};
use probe_io::{Column, Field, Format, TableWriter, save_schema};
use probe_service::Prepared;
use probe_service::people::read_people;
use probe_train::{TrainReport, credit};
use std::path::Path;

const RATES: [f64; 8] = [0.45, 0.35, 0.25, 0.2, 0.15, 0.1, 0.05, 0.01];
const AUDIT_SAMPLES: usize = 1_000_000;
/// How the network is trained.
const NETWORK_FLAGS: [&str; 6] = ["--kind", "mlp", "--hidden", "32", "--epochs", "30"];

pub(crate) fn run(args: &Demo, common: &Common, printer: &Printer) -> Result<()> {
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot create", args.out.display()))?;
    let path = |name: &str| args.out.join(name);

    printer.heading("1. A lender's model");
    let data = credit::generate(args.people as usize, Seed(common.seed));
    write_people(&path("credit.csv"), &data, 0..data.n_rows(), true)?;
    holding_output(|| Ok(save_schema(&credit::schema(), path("schema.toml"))?))?;
    let report = train(args, common, printer)?;

    let prepared = ask(args, common, "model.json", printer)?;
    let engine = Engine::new(prepared.setup.clone())?;
    let network_report = network::train(args, common, printer)?;
    let network_prepared = ask(args, common, "network.json", printer)?;
    let network_engine = Engine::new(network_prepared.setup.clone())?;
    let denied = denied(&engine, &data)?;
    if denied.is_empty() {
        bail!("the model turns nobody down; try another --seed");
    }
    write_people(&path("people.csv"), &data, denied.iter().copied(), false)?;
    let people = read_people(&path("people.csv"), None, &prepared.setup, false)?;
    let people = Rows::new(&people, prepared.setup.names.len())?;
    let answers = engine.recourse(people)?;
    let mut by_both = Vec::with_capacity(answers.len());
    for person in people.iter() {
        by_both.push(network_engine.score(person)? <= 0.0);
    }
    let chosen = example_of(&engine, people, &answers, &by_both);
    let (person, answer) = (people.row(chosen), &answers[chosen]);

    let rates = rates_with(args.max_rate);
    let input = PersonReport {
        engine: &engine,
        schema: prepared.schema.as_ref(),
        person,
        answer,
        rates: &rates,
    };
    let mut page = input.build(
        "Credit application",
        &format!("Applicant {chosen}"),
        card(&report, &prepared),
    )?;
    page.settings.sigma = Some(args.sigma);

    printer.heading(&format!("2. Applicant {chosen} was turned down: the price of certainty"));
    print_frontier(&input, printer)?;

    printer.heading(&format!("3. What to do, so that at most {} fail", odds(args.max_rate)));
    print_changes(&page, printer);
    for sentence in summary(&page) {
        printer.say(&sentence);
    }
    audit(&engine, person, answer, printer)?;

    printer.heading(&format!("4. The letter to applicant {chosen}"));
    let letter = letter::write(&engine, person, answer, chosen, &args.out)?;
    printer.say(letter.trim_end());
    page.letter = Some(letter);

    printer.heading(&format!(
        "5. The same for all {} who were turned down",
        number(people.n_rows() as f64)
    ));
    page.methods = compare(&engine, people, &answers)?;
    print_methods(&page.methods, printer);

    printer
        .heading(&format!("6. Applicant {chosen} scored by a network, trained on the same data"));
    let by_network = network_engine.recourse(Rows::single(person))?;
    let models = [
        network::Scored {
            name: "linear",
            report: &report,
            engine: &engine,
            prepared: &prepared,
            answer,
        },
        network::Scored {
            name: "network",
            report: &network_report,
            engine: &network_engine,
            prepared: &network_prepared,
            answer: &by_network[0],
        },
    ];
    let part = network::part(&models, person, people)?;
    network::print(&part, printer);
    page.network = Some(part);

    for (command, output) in [("recourse", "recourse.csv"), ("frontier", "frontier.csv")] {
        run_command(args, common, command, output)?;
    }
    write_text(&path("report.html"), &render(&page))?;
    closing(args, printer);
    Ok(())
}

fn odds(share: f64) -> String {
    Odds::of(share).map_or_else(|| percent(share), |odds| odds.to_string())
}

fn rates_with(rate: f64) -> Vec<f64> {
    let mut rates = RATES.to_vec();
    if !rates.contains(&rate) {
        rates.push(rate);
        rates.sort_by(|a, b| b.total_cmp(a));
    }
    rates
}

/// Fits the model by the command a newcomer would type.
fn train(args: &Demo, common: &Common, printer: &Printer) -> Result<TrainReport> {
    let file = |name: &str| args.out.join(name).display().to_string();
    let (data, schema, model, seed) =
        (file("credit.csv"), file("schema.toml"), file("model.json"), common.seed.to_string());
    let line = [
        "probe",
        "train",
        &data,
        "--target",
        credit::TARGET,
        "--schema",
        &schema,
        "-o",
        &model,
        "--quiet",
        "--seed",
        &seed,
    ];
    let Cli { command: Command::Train(train), common } = Cli::try_parse_from(line)? else {
        bail!("not a train command")
    };
    let report = super::train::fit(&train, &common, printer)?;
    super::train::print_report(&report, printer);
    Ok(report)
}

/// The request of the demo, by the flags a newcomer would type.
fn ask(args: &Demo, common: &Common, model: &str, printer: &Printer) -> Result<Prepared> {
    let model = args.out.join(model).display().to_string();
    let (rate, sigma) = (args.max_rate.to_string(), args.sigma.to_string());
    let line = ["probe", "recourse", &model, "-", "-r", &rate, "--sigma", &sigma];
    let Cli { command: Command::Recourse(recourse), .. } = Cli::try_parse_from(line)? else {
        bail!("not a recourse command")
    };
    let request = recourse.request(common)?;
    prepare(&recourse.ask, None, &request, printer)
}

/// Writes the output of `probe COMMAND model.json people.csv`.
fn run_command(args: &Demo, common: &Common, command: &str, output: &str) -> Result<()> {
    let file = |name: &str| args.out.join(name).display().to_string();
    let (model, people, output) = (file("model.json"), file("people.csv"), file(output));
    let (rate, sigma, seed) =
        (args.max_rate.to_string(), args.sigma.to_string(), common.seed.to_string());
    let line = [
        "probe", command, &model, &people, "-r", &rate, "--sigma", &sigma, "--seed", &seed,
        "--quiet", "-o", &output,
    ];
    let Cli { command, common } = Cli::try_parse_from(line)?;
    let printer = Printer::new(true);
    match command {
        Command::Recourse(recourse) => super::recourse::run(&recourse, &common, &printer),
        Command::Frontier(frontier) => super::frontier::run(&frontier, &common, &printer),
        _ => bail!("not a command of the demo"),
    }
}

fn write_people(
    path: &Path,
    data: &credit::CreditData,
    rows: impl Iterator<Item = usize> + Clone,
    with_target: bool,
) -> Result<()> {
    let field = |(k, name): (usize, &String)| match data.category(0, k) {
        Some(_) => Field::text(name),
        None => Field::float(name),
    };
    let column = |k: usize| match data.category(0, k) {
        Some(_) => Column::texts(rows.clone().map(|row| data.category(row, k).unwrap_or_default())),
        None => Column::floats(rows.clone().map(|row| data.person(row)[k])),
    };
    let mut fields: Vec<Field> = data.names.iter().enumerate().map(field).collect();
    let mut columns: Vec<Column<'_>> = (0..data.names.len()).map(column).collect();
    if with_target {
        fields.push(Field::text(credit::TARGET));
        columns.push(Column::texts(rows.clone().map(|row| data.approved_text(row))));
    }
    holding_output(|| {
        let mut writer = TableWriter::create(path, Format::Csv, fields, None)?;
        let encoded = writer.encoder().encode(&probe_io::Batch::Columns(columns))?;
        writer.write(encoded)?;
        Ok(writer.finish()?)
    })
}

/// Rows that the model turns down.
fn denied(engine: &Engine, data: &credit::CreditData) -> Result<Vec<usize>> {
    let encoding = &engine.setup().encoding;
    let place = |name: &String| data.names.iter().position(|n| n == name);
    let places: Vec<usize> = encoding
        .features()
        .iter()
        .map(|feature| {
            place(&feature.name).with_context(|| format!("no feature '{}'", feature.name))
        })
        .collect::<Result<_>>()?;
    let mut columns = vec![0.0; encoding.n_columns()];
    let mut rows = Vec::new();
    for row in 0..data.n_rows() {
        let person: Vec<f64> = places.iter().map(|&k| data.person(row)[k]).collect();
        encoding.encode_into(&person, &mut columns);
        if engine.score(&columns)? <= 0.0 {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Names of the features that differ.
fn changed_names(engine: &Engine, from: &[f64], to: &[f64]) -> Vec<String> {
    let encoding = &engine.setup().encoding;
    let differs = |(k, _): &(usize, &Feature)| encoding.value(*k, from) != encoding.value(*k, to);
    encoding.features().iter().enumerate().filter(differs).map(|(_, f)| f.name.clone()).collect()
}

/// The first person turned down by both models whose answer changes two or three features, a
/// category among them; else one without that; else the first with such an answer by one model, or
/// with any; else the first.
fn example_of(engine: &Engine, people: Rows<'_>, answers: &[Answer], by_both: &[bool]) -> usize {
    let actions = &engine.setup().actions;
    let certified = |a: &Answer| a.status == Status::Certified;
    let telling = |a: &Answer| certified(a) && (2..=3).contains(&a.changed);
    let of_categories = |i: usize| {
        let (from, to) = (people.row(i), &answers[i].point);
        (0..from.len()).any(|j| actions.is_grouped(j) && from[j] != to[j])
    };
    let both = |i: &usize| telling(&answers[*i]) && by_both[*i];
    let all = || 0..answers.len();
    all()
        .find(|i| both(i) && of_categories(*i))
        .or_else(|| all().find(both))
        .or_else(|| answers.iter().position(telling))
        .or_else(|| answers.iter().position(certified))
        .unwrap_or(0)
}

fn card(report: &TrainReport, prepared: &Prepared) -> ModelCard {
    let metrics = report.test.as_ref().unwrap_or(&report.train);
    ModelCard {
        kind: prepared.setup.model.name().to_owned(),
        n_features: prepared.setup.names.len(),
        n_train: Some(report.n_train),
        n_test: Some(report.n_test),
        accuracy: Some(metrics.accuracy),
        balanced_accuracy: metrics.balanced_accuracy,
        auc: metrics.auc,
    }
}

fn print_frontier(input: &PersonReport<'_>, printer: &Printer) -> Result<()> {
    let answers = input.engine.session().frontier(input.person, input.rates)?;
    let chosen = input.engine.setup().max_rate;
    let row = |(answer, &rate): (&Answer, &f64)| {
        let what = match answer.status {
            Status::Certified => {
                changed_names(input.engine, input.person, &answer.point).join(", ")
            }
            _ => answer.reason.map_or("", probe_core::Reason::code).to_owned(),
        };
        let mark = if rate == chosen { "◀ chosen" } else { "" };
        vec![
            odds(rate),
            answer.cost.map_or_else(|| "–".to_owned(), |c| format!("{c:.3}")),
            what,
            mark.to_owned(),
        ]
    };
    let rows: Vec<_> = answers.iter().zip(input.rates).map(row).collect();
    printer.table(&["at most fail", "cost", "what changes", ""], &rows, &[0, 1]);
    Ok(())
}

fn print_changes(page: &probe_experiments::report::Report, printer: &Printer) {
    let row = |f: &probe_experiments::report::PersonFeature| {
        let unit = f.unit.as_deref();
        let (from, to) = from_and_to(f);
        let miss =
            f.tolerance.map_or_else(String::new, |t| format!("by {} at most", quantity(t, unit)));
        let noise = f.noise_sd.map_or_else(String::new, |sd| format!("± {}", quantity(sd, unit)));
        vec![f.name.clone(), from, to, unit.unwrap_or("").to_owned(), noise, miss]
    };
    let rows: Vec<_> = page.features.iter().filter(|f| f.changed()).map(row).collect();
    let header = ["feature", "now", "aim for", "unit", "allowed for", "alone, may be missed"];
    printer.table(&header, &rows, &[1, 2]);
}

/// A change in print.
fn from_and_to(f: &probe_experiments::report::PersonFeature) -> (String, String) {
    match (&f.current, &f.recommended) {
        (Value::Number(from), Value::Number(to)) => {
            let printed = step(*from, *to);
            (printed.from, printed.to)
        }
        (from, to) => {
            let name = |value: &Value| match value {
                Value::Category(name) => name.clone(),
                Value::Number(value) => number(*value),
            };
            (name(from), name(to))
        }
    }
}

/// Checks the promise on fresh noisy implementations.
fn audit(engine: &Engine, person: &[f64], answer: &Answer, printer: &Printer) -> Result<()> {
    if answer.status != Status::Certified {
        return Ok(());
    }
    let sampled =
        engine.rate(&answer.point, Some(person), &MonteCarlo { samples: AUDIT_SAMPLES })?;
    printer.say(&format!(
        "Tried on {} noisy implementations: {} refused; computed exactly: {}.",
        number(AUDIT_SAMPLES as f64),
        percent(sampled.rate),
        percent(answer.rate),
    ));
    Ok(())
}

/// Our answers next to Wachter's closed form (arXiv:2203.06768, Proposition 1), without and with
/// the score of Corollary 1.
fn compare(engine: &Engine, people: Rows<'_>, answers: &[Answer]) -> Result<Vec<Method>> {
    let (setup, task) = (engine.setup(), engine.task());
    let (Some(linear), Some(gaussian)) = (task.model.as_linear(), task.noise.as_gaussian()) else {
        return Ok(Vec::new());
    };
    let n = people.n_rows() as f64;
    let given: Vec<&Answer> = answers.iter().filter(|a| a.cost.is_some()).collect();
    let mean = |sum: f64, n: f64| Some(sum / n).filter(|m| m.is_finite());
    let mut methods = vec![Method {
        name: "probe".to_owned(),
        note: "cheapest change that holds; every rule kept".to_owned(),
        accuracy: Some(given.len() as f64 / n),
        rate: mean(given.iter().map(|a| a.rate).sum(), given.len() as f64),
        cost: mean(given.iter().filter_map(|a| a.cost).sum(), given.len() as f64),
        certified: None,
    }];
    let mut active = vec![false; setup.names.len()];
    setup.noise_on.active_into(&setup.actions, &[], &[], &mut active);
    let (sd, shift) = (
        gaussian.sd_along(linear.weights(), |j| active[j]),
        gaussian.mean_along(linear.weights(), |j| active[j]),
    );
    let robust = robust_score(linear, gaussian, &active, setup.max_rate)?;
    for (name, target) in [("Wachter", 0.0), ("Wachter at s_r", robust)] {
        let (mut cost, mut broken) = (0.0, 0usize);
        let mut from = vec![0.0; setup.names.len()];
        for person in people.iter() {
            setup.space.scale_into(person, &mut from);
            let to = wachter_point(linear, &from, target)?;
            cost += setup.cost.between(&from, &to);
            broken += usize::from(!setup.actions.violations(&from, &to).is_empty());
        }
        methods.push(Method {
            name: name.to_owned(),
            note: format!(
                "closed form, moves every feature; breaks a rule for {} of the people",
                percent(broken as f64 / n)
            ),
            accuracy: None,
            rate: Some(affine_rate(target, shift, sd)),
            cost: mean(cost, n),
            certified: None,
        });
    }
    Ok(methods)
}

fn print_methods(methods: &[Method], printer: &Printer) {
    let share = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), percent);
    let row = |m: &Method| {
        vec![
            m.name.clone(),
            share(m.rate),
            m.cost.map_or_else(|| "–".to_owned(), |c| format!("{c:.3}")),
            m.note.clone(),
        ]
    };
    let rows: Vec<_> = methods.iter().map(row).collect();
    printer.table(&["method", "mean fail", "mean cost", ""], &rows, &[1, 2]);
}

fn closing(args: &Demo, printer: &Printer) {
    let out = args.out.display();
    printer.heading("Written");
    printer.say(&format!("{out}/report.html     the report with pictures: open it in a browser"));
    printer.say(&format!(
        "{out}/letter.html, letter-de.html    the letter, in English and German; each prints on \
         one page"
    ));
    printer.say(&format!(
        "{out}/recourse.csv    one answer per person; {out}/frontier.csv the price of certainty"
    ));
    printer.say(&format!(
        "{out}/credit.csv, schema.toml, model.json, network.json, people.csv    to go on from here:"
    ));
    printer.say("");
    printer.say(&format!(
        "  probe train {out}/credit.csv --target approved --schema {out}/schema.toml -o \
         {out}/model.json"
    ));
    printer.say(&format!(
        "  probe train {out}/credit.csv --target approved --schema {out}/schema.toml {} -o \
         {out}/network.json",
        NETWORK_FLAGS.join(" ")
    ));
    printer.say(&format!(
        "  probe recourse {out}/model.json {out}/people.csv -r {} --sigma {} -o {out}/recourse.csv",
        args.max_rate, args.sigma
    ));
    printer.say(&format!(
        "  probe recourse {out}/model.json {out}/people.csv -r {} --sigma {} --explain html \
         --language de --templates {out}/names-de.toml -o {out}/letters.html",
        args.max_rate, args.sigma
    ));
}
