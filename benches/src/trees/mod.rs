//! Recourse on trees: how many are certified, whether the certificates hold, what answers cost
//! against a slow offline search, how fast they come, and how fast exact rates are; for comparison
//! the paper's approach and XGBoost's scorer.

mod boxes;
mod distilled;
mod few;
mod plain;
mod xgboost;

use crate::offline;
use crate::offline::Against;
use anyhow::Result;
use clap::ValueEnum as _;
use plain::OnDraws;
use probe_bench::clock::median_of;
use probe_bench::part::Part;
use probe_bench::stats::mean;
use probe_bench::subjects::trees::{SIGMA, Subject, subjects};
use probe_bench::{clock, say};
use probe_core::{Answer, Key, Rows, Seed, Status, Trees};
use probe_experiments::paper_data::{HELOC, PAPER_DATA};

pub(crate) use plain::Plain;

const RATES: [f64; 3] = [0.35, 0.1, 0.05];
const PEOPLE: usize = 200;
const OFFLINE: usize = 20;
const DRAWS: usize = 1_000_000;
/// The document.
pub(crate) const OUTPUT: &str = "docs/trees.md";
const SEED: Seed = Seed(0);
/// Standard errors above the target that make a violation.
const SIGMAS: f64 = 4.0;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// People per model, at most
    #[arg(long, default_value_t = PEOPLE)]
    people: usize,
    /// People per model and rate that the offline search is run for
    #[arg(long, default_value_t = OFFLINE)]
    offline: usize,
    /// Draws behind each audited rate; 0 leaves the audits out
    #[arg(long, default_value_t = DRAWS)]
    draws: usize,
    /// Target rates
    #[arg(long, value_delimiter = ',', default_values_t = RATES)]
    rates: Vec<f64>,
    /// Only models whose title contains this, such as "HELOC, forest"
    #[arg(long, default_value = "")]
    only: String,
    /// Parts to measure; default: all
    #[arg(long = "part", value_enum)]
    parts: Vec<Section>,
}

impl Options {
    /// Whether this is a run that the document is written from.
    fn is_full(&self) -> bool {
        let sizes = (self.people, self.offline, self.draws) == (PEOPLE, OFFLINE, DRAWS);
        sizes && self.rates == RATES && self.only.is_empty()
    }
}

/// A section of the document.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Section {
    /// Our answers against an offline search, audited
    Answers,
    /// The paper's approach: one distilled tree in place of the ensemble
    Distilled,
    /// Samples scored per second, against XGBoost
    Xgboost,
    /// Answers where few features are noisy
    Few,
    /// Exact rates
    Boxes,
}

impl Section {
    fn published(self, text: String) -> Part {
        let (id, command, title) = match self {
            Self::Answers => ("trees_answers", "trees --part answers", "Answers"),
            Self::Distilled => (
                "trees_distilled",
                "trees --part distilled",
                "The paper's approach: one distilled \
                    tree",
            ),
            Self::Xgboost => {
                ("trees_xgboost", "trees --part xgboost", "Scoring noisy samples, against XGBoost")
            }
            Self::Few => ("trees_few", "trees --part few", "Few features"),
            Self::Boxes => ("trees_boxes", "trees --part boxes", "Exact rates"),
        };
        Part {
            id: id.into(),
            command: command.into(),
            document: OUTPUT.into(),
            title: Some(title.into()),
            text,
            ..Part::default()
        }
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut subjects = Vec::new();
    // Exact rates are measured on trees of their own.
    let real = options.parts.is_empty() || options.parts.iter().any(|part| *part != Section::Boxes);
    for data in [&PAPER_DATA[0], &HELOC].into_iter().filter(|_| real) {
        subjects.extend(self::subjects(data, &options.only, options.people)?);
    }
    for part in Section::value_variants() {
        if !options.parts.is_empty() && !options.parts.contains(part) {
            continue;
        }
        let text = match part {
            Section::Answers => answers(&subjects, options)?,
            Section::Distilled => their_way(&subjects, options)?,
            Section::Xgboost => xgboost::section(&subjects)?,
            Section::Few => few::table(&subjects)?,
            Section::Boxes => boxes::table()?,
        };
        let published = part.published(text);
        say(&format!(
            "## {}\n\n{}",
            published.title.as_deref().unwrap_or_default(),
            published.text
        ));
        if options.is_full() {
            // Written one by one, because all of them take an hour.
            published.store()?;
        }
    }
    Ok(())
}

/// What its sections share.
pub(crate) fn introduction() -> String {
    format!(
        "# Trees\n\nWritten by `cargo xtask bench trees` on {}, each section by itself (`--part`). \
         Forests of 100 trees of depth 6 and boosting of 100 trees of depth 4, by `probe train`; \
         all columns continuous and free, σ = {SIGMA} on every column, l1 cost, confidence 0.999 \
         per person. People are those of the test split whom the model denies.\n",
        clock::machine()
    )
}

/// Our answers, model by model and rate by rate.
fn answers(subjects: &[Subject], options: &Options) -> Result<String> {
    let mut lines = vec![HEADER.to_owned()];
    for subject in subjects {
        for &r in &options.rates {
            let row = measure(subject, r, options)?;
            eprintln!("{row}");
            lines.push(row);
        }
    }
    Ok(format!("{}\n\n{COLUMNS}", lines.join("\n")))
}

/// The table of distilled trees.
fn their_way(subjects: &[Subject], options: &Options) -> Result<String> {
    let mut lines = vec![distilled::HEADER.to_owned()];
    for subject in subjects {
        let rows = distilled::rows(subject, &options.rates, options.people)?;
        rows.iter().for_each(|row| eprintln!("{row}"));
        lines.extend(rows);
    }
    Ok(format!("{}\n\n{}", lines.join("\n"), distilled::COLUMNS))
}

const HEADER: &str = "\
| model | accuracy | r | people | certified | above r | rate / r | cost | to offline (worst) | \
changed: ours, offline | ms of processor time |
|---|---|---|---|---|---|---|---|---|---|---|";

const COLUMNS: &str = "\
- **certified**: share of people with a certified answer. What follows is about these answers.
- **above r**: answers whose rate is above r by more than four standard errors on a million plain \
draws, scored by walking the trees.
- **rate / r**: mean rate on these draws, over r.
- **cost**: mean l1 cost. **to offline**: mean cost over that of a slow offline search (singles, \
pairs, mixtures of three, exchanges; its own draws), and
  in brackets the worst single person. The offline answers sit at r itself, \
without a safety gap for a certificate.
- **ms of processor time**: for one person's certified answer, on one thread; mean over all people.
";

fn measure(subject: &Subject, r: f64, options: &Options) -> Result<String> {
    let d = subject.names.len();
    let plain = Plain::of(&subject.model);
    let engine = subject.engine(r)?;
    let rows = Rows::new(&subject.people, d)?;
    let mut answers = vec![Answer::new(d); rows.n_rows()];
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let took =
        one.install(|| median_of(3, 2.0, || Ok(engine.recourse_into(rows, &mut answers)?)))?;
    let certified: Vec<&Answer> =
        answers.iter().filter(|answer| answer.status == Status::Certified).collect();
    let (above, ratio) = match options.draws {
        0 => ("–".to_owned(), "–".to_owned()),
        draws => {
            let points: Vec<&[f64]> = certified.iter().map(|answer| &answer.point[..]).collect();
            let rates = plain.rates(&points, SIGMA, draws);
            let error = (r * (1.0 - r) / draws as f64).sqrt();
            let above = rates.iter().filter(|rate| **rate > r + SIGMAS * error).count();
            (above.to_string(), format!("{:.4}", mean(rates.iter().map(|rate| rate / r))))
        }
    };
    let people: Vec<&[f64]> = rows.iter().collect();
    let name = format!(
        "{}-{:016x}-sigma{SIGMA}-r{r}",
        subject.title.replace(", ", "-"),
        key_of(&subject.model)
    );
    let find = |person: &[f64]| offline::search(&OnDraws::new(&plain, person, SIGMA), r);
    let against = Against::measure(&name, (&people, &answers), options.offline, find)?;
    let [to_offline, changed] = Against::cells(against.as_ref());
    Ok(format!(
        "| {} | {:.3} | {r} | {} | {:.1} % | {above} | {ratio} | {:.4} | \
         {to_offline} | {changed} | {:.1} |",
        subject.title,
        subject.accuracy,
        answers.len(),
        100.0 * certified.len() as f64 / answers.len() as f64,
        mean(certified.iter().filter_map(|answer| answer.cost)),
        1e3 * took.cpu / answers.len() as f64
    ))
}

/// Name of the model in cached results.
fn key_of(model: &Trees) -> u64 {
    let trees = model.trees().iter();
    trees.fold(Key::default(), |key, tree| key.values(&tree.threshold).values(&tree.value)).finish()
}
