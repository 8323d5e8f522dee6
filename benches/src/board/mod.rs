//! Every method on every data set and kind of model, before the same people and rules: who gets an
//! answer, whether it holds, its cost against the best known, and whether it keeps the
//! rules.
//!
//! Rates are counted on plain draws that are scored by the model alone; nothing that a method or
//! the engine says of a rate is taken over.

mod subject;
mod tally;

use anyhow::Result;
use probe_bench::part::Part;
use probe_bench::say;
use probe_core::recourse::METHODS;
use probe_core::{Engine, Error, Seed, Setup};
use probe_experiments::compare::Contender;
use subject::{Kind, Subject};
use tally::{Row, audit};

const PEOPLE: usize = 50;
const DRAWS: usize = 20_000;
const RATE: f64 = 0.1;
const SIGMA: f64 = 0.1;
const SEED: Seed = Seed(0);
const OUTPUT: &str = "docs/quality.md";
/// What our solver aims at without a certificate, as a share of r, and with which seeds, to know
/// what an answer can cost.
const AIM: f64 = 0.995;
const SEEDS: [u64; 3] = [1, 2, 3];

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Most people per data set and model
    #[arg(long, default_value_t = PEOPLE)]
    people: usize,
    /// Draws for each rate
    #[arg(long, default_value_t = DRAWS)]
    draws: usize,
    /// Only data sets and models whose title contains this, such as "HELOC" or "boosted"
    #[arg(long, default_value = "")]
    only: String,
}

impl Options {
    fn is_full(&self) -> bool {
        (self.people, self.draws) == (PEOPLE, DRAWS) && self.only.is_empty()
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (mut rows, mut refused) = (Vec::new(), Vec::new());
    for data in subject::data() {
        for kind in Kind::ALL {
            let title = format!("{}, {}", data.title, kind.name());
            if !title.contains(&options.only) {
                continue;
            }
            eprintln!("{title}");
            let subject = Subject::load(data, kind, options.people)?;
            let (told, not_served) = compare(&subject, options.draws)?;
            told.iter().for_each(|row| eprintln!("{}", row.line(&title)));
            rows.extend(told.into_iter().map(|row| (title.clone(), row)));
            refused.extend(not_served.into_iter().map(|why| (title.clone(), why)));
        }
    }
    let text = document(&rows, &refused);
    say(&text);
    if options.is_full() {
        let figures = tally::figures(&rows);
        Part {
            id: "board".into(),
            command: "board".into(),
            document: OUTPUT.into(),
            text,
            figures,
            ..Part::default()
        }
        .store()?;
    }
    Ok(())
}

/// All methods before one model, and those that do not serve it.
fn compare(subject: &Subject, draws: usize) -> Result<(Vec<Row>, Vec<String>)> {
    let setup = subject.setup()?;
    let (mut told, mut refused) = (Vec::new(), Vec::new());
    for entry in METHODS {
        let ours = entry.name == METHODS[0].name;
        // Certificates are our solver's own; others are judged by what is counted here.
        let asked = Setup { certify: ours, ..setup.clone() };
        match Contender::new(entry.name).engine(&asked) {
            Err(Error::Unsupported { .. }) => refused.push(entry.name.to_owned()),
            Err(error) => return Err(error.into()),
            Ok(engine) => told.push((entry.name, audit(subject, &engine, draws)?)),
        }
    }
    let mut tries = Vec::new();
    for seed in SEEDS {
        let asked = Setup { certify: false, aim: Some(AIM), seed: Seed(seed), ..setup.clone() };
        tries.push(audit(subject, &Engine::new(asked)?, draws)?);
    }
    let best = tally::best_known(told.iter().map(|(_, outcomes)| outcomes).chain(&tries));
    Ok((told.iter().map(|(name, outcomes)| Row::of(name, outcomes, &best)).collect(), refused))
}

fn document(rows: &[(String, Row)], refused: &[(String, String)]) -> String {
    let lines: Vec<String> = rows.iter().map(|(title, row)| row.line(title)).collect();
    let mut served = std::collections::BTreeMap::<&str, Vec<&str>>::new();
    for (title, method) in refused {
        served.entry(method).or_default().push(title);
    }
    let ours = rows.iter().filter(|(_, row)| row.method == METHODS[0].name);
    let reasons: Vec<String> =
        ours.filter_map(|(title, row)| Some(format!("{title}: {}", row.reasons()?))).collect();
    let refused: Vec<String> = served
        .iter()
        .map(|(method, titles)| format!("`{method}` ({})", titles.join("; ")))
        .collect();
    format!(
        "# Quality of answers\n\nWritten by `cargo xtask bench board`: every method of \
         [methods](methods.md), with its default settings, on four data sets and three kinds of \
         models. At most {PEOPLE} people of the test split whom the model denies; numbers other \
         than age may change, each within the range it has in the data, categories and age may \
         not; people miss each number that may change by σ = {SIGMA} of its range; *r* = {RATE}, \
         l1 cost.\n\n{HEADER}\n{}\n\nReasons of `probe` for people without a certificate: \
         {}.\n\nNot supported, because the method needs something that the model does not \
         have: {}.\n\n{COLUMNS}",
        lines.join("\n"),
        if reasons.is_empty() { "there are none".to_owned() } else { reasons.join("; ") },
        if refused.is_empty() { "none".to_owned() } else { refused.join(", ") },
    )
}

const HEADER: &str = "\
| data, model | method | people | with an answer | certified | mean rate | at most r | cost to \
best known | changed | rules broken |
|---|---|---|---|---|---|---|---|---|---|";

const COLUMNS: &str = "\
- **with an answer**: recourse accuracy, the share of the people with a point that the model \
accepts. What follows is about these points.
- **certified**: share of the people with a certificate (confidence 0.999 each). Where rates are \
exact, as for linear models, the engine
  certifies any method's points that hold; elsewhere this board has only those of `probe` tested, \
while `probe compare` and `probe recourse` test every method's.
- **mean rate**: share of plain draws that the model refuses, scored by the model alone. **at most \
r**: share of the points whose rate is not above r
  by more than four standard errors.
- **cost to best known**: mean cost over the mean of the cheapest points known for the same \
people: of all rows here whose rate is at most r, exactly or on lines, and of our solver without a \
certificate from three
  other seeds, aiming at 0.995 r. For linear models that is the optimum. Below 1 where a method \
gives cheaper points that do not hold.
- **changed**: features changed, on average. **rules broken**: features changed that may not be, \
or beyond their range.
";
