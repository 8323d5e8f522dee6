//! Recourse for networks on the paper's data: how many are certified, whether the certificates
//! hold, what answers cost against a slow offline search, and how fast they come.

mod audit;
mod cell;
mod large;
mod lines;
mod offline;

use anyhow::{Result, ensure};
use cell::Cell;
use lines::Shallow;
use probe_bench::part::Part;
use probe_bench::{clock, say};
use probe_core::Model as _;
use probe_experiments::paper_data::PAPER_DATA;
use rayon::ThreadPool;

pub(crate) use audit::{Measured, by_lines, by_plain_draws};
pub(crate) use cell::against;
pub(crate) use probe_bench::subjects::networks::Subject;

const SIGMA: f64 = 0.1;
const RATES: [f64; 4] = [0.35, 0.2, 0.1, 0.05];
const PEOPLE: usize = 500;
const OFFLINE: usize = 50;
const DEEP: usize = 4;
/// Targets of the larger models.
const LARGE_RATES: [f64; 2] = [0.35, 0.1];
const OUTPUT: &str = "docs/networks.md";

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// People per data set, at most
    #[arg(long, default_value_t = PEOPLE)]
    people: usize,
    /// People per data set and rate that the offline search is run for; its results are kept in the
    /// target folder
    #[arg(long, default_value_t = OFFLINE)]
    offline: usize,
    /// Data sets, by name: adult, compas, gmc
    #[arg(long, value_delimiter = ',', default_values = ["adult", "compas", "gmc"])]
    data: Vec<String>,
    /// Target rates
    #[arg(long, value_delimiter = ',', default_values_t = RATES)]
    rates: Vec<f64>,
    /// People for the deep network on generated data; 0 leaves the larger models out
    #[arg(long, default_value_t = DEEP)]
    deep: usize,
    /// Leave the audits out
    #[arg(long)]
    no_audit: bool,
    /// Threads of audits and offline search; 0 is all cores. Speed is measured on one thread and on
    /// all cores in any case
    #[arg(long, default_value_t = 0)]
    threads: usize,
}

impl Options {
    /// Whether this is the run that the document is written from.
    fn is_full(&self) -> bool {
        (self.people, self.offline, self.deep) == (PEOPLE, OFFLINE, DEEP)
            && self.rates == RATES
            && self.data.len() == PAPER_DATA.len()
            && !self.no_audit
    }
}

pub(crate) fn run(options: &Options) -> Result<()> {
    for name in &options.data {
        ensure!(PAPER_DATA.iter().any(|data| data.name == name), "unknown data set: {name}");
    }
    let pools = Pools::new(options.threads)?;
    let mut text = introduction();
    let mut people = vec![PEOPLE_HEADER.to_owned()];
    let mut rows = vec![cell::HEADER.to_owned()];
    let mut cells = Vec::new();
    for data in PAPER_DATA.iter().filter(|data| options.data.iter().any(|name| name == data.name)) {
        let subject = Subject::load(data, options.people)?;
        people.push(format!(
            "| {} | {} | {:.3} | {:.2} | {} | {} |",
            subject.title,
            subject.names.len(),
            subject.accuracy,
            subject.paper_accuracy,
            subject.n_denied,
            subject.n_people()
        ));
        for &r in &options.rates {
            eprintln!("{}, r = {r}: {} people", subject.title, subject.n_people());
            let cell = Cell::measure(&subject, SIGMA, r, options, &pools)?;
            eprintln!("{}", cell.row(subject.title));
            rows.push(cell.row(subject.title));
            cells.push((subject.name, cell));
        }
    }
    text += &format!("{}\n\n{}\n\n{COLUMNS}", people.join("\n"), rows.join("\n"));
    if options.deep > 0 {
        let rows = large::rows(options.deep, SIGMA, &LARGE_RATES, &pools)?;
        text += &format!(
            "\n## Larger models\n\n{}\n{}\n\n{}",
            large::HEADER,
            rows.join("\n"),
            large::COLUMNS
        );
    }
    say(&text);
    if options.is_full() {
        let figures = cell::figures(&cells);
        Part {
            id: "networks".into(),
            command: "networks".into(),
            document: OUTPUT.into(),
            text,
            figures,
            ..Part::default()
        }
        .store()?;
    }
    Ok(())
}

/// The network of a subject, for audits that share nothing with the engine.
pub(crate) fn plain(subject: &Subject) -> Result<Shallow> {
    Shallow::of(&subject.model, subject.model.threshold())
}

/// Threads to work on.
struct Pools {
    one: ThreadPool,
    all: ThreadPool,
    /// For values that were not measured.
    aside: ThreadPool,
}

impl Pools {
    fn new(aside: usize) -> Result<Self> {
        let pool = |threads: usize| rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        Ok(Self { one: pool(1)?, all: pool(0)?, aside: pool(aside)? })
    }
}

fn introduction() -> String {
    format!(
        "# Networks on the paper's data\n\n\
         Written by `cargo xtask bench networks` on {}. Networks [d, 50, 2] as in the paper (relu, \
         softmax; the margin is the difference of the two logits), all columns continuous and \
         free, σ² = 0.01 on every column, l1 cost, confidence 0.999 per person. People are those \
         of the test split whom the network denies.\n\n",
        clock::machine()
    )
}

const PEOPLE_HEADER: &str = "\
| data | d | accuracy | in the paper | denied in the test split | people used |
|---|---|---|---|---|---|";

const COLUMNS: &str = "\
- **certified**: share of people with a certified answer. What follows is about these answers.
- **above r**: answers whose rate is above r by more than four standard errors, first on 16,384 \
Sobol lines of their own (16
  independent scramblings), then on a million plain draws. \
Neither shares code or random numbers with the solver.
- **rate / r**: mean rate on these lines, over r.
- **cost**: mean l1 cost. **to offline**: mean cost over that of a slow offline search on the same \
people (singles, pairs, mixtures of three,
  exchanges; its own lines), and in brackets the worst single person. The offline answers sit at r \
itself, without a safety gap for a certificate.
- **changed**: mean number of changed features, of ours and of the offline answer.
- **per CPU second**, **all cores**: certified answers per second of processor time on one thread, \
and per second of the clock on
  all cores; medians.
";
