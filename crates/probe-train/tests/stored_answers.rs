//! Answers of the engine, compared bit for bit with a stored table: a refactoring must not change
//! any of them.
//!
//! Models are trained on the built-in credit data, each on columns as plain numbers and with the
//! schema (categories, steps, immutable features). A few cells ask for more: other noise, other
//! target rates, a frontier, alternatives. After an intended change, store a new table:
//!
//! ```text
//! PROBE_STORE_ANSWERS=1 cargo test -p probe-train --test stored_answers -- --nocapture
//! ```
//!
//! Bits do not depend on threads or on vector width (`docs/adr/0011-vector-loops.md`). But `statrs`
//! takes `ln` and `exp` of the system's C library, whose last bit may differ elsewhere. So bits are
//! compared on x86-64 Linux with glibc, where the table was made. Other systems compare the mean
//! cost and the certified share of each cell.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use probe_core::noise::NoiseSpec;
use probe_core::{Answer, Engine, NoiseOn, Rows, Seed, Setup, Status};
use probe_train::{
    BoostedParams, FitParams, ForestParams, Learner, LogisticParams, MlpParams, Trained, credit,
    fit_model,
};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

const STORE: &str = "PROBE_STORE_ANSWERS";
const COMMAND: &str =
    "PROBE_STORE_ANSWERS=1 cargo test -p probe-train --test stored_answers -- --nocapture";
const TRAINING_ROWS: usize = 1_500;
const SIGMA: f64 = 0.05;
/// Differing answers that are printed.
const SHOWN: usize = 8;
/// Whether the bits of the stored table are expected here.
const EXACT: bool = cfg!(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"));

/// What a cell asks for.
#[derive(Clone, Copy)]
enum Ask {
    Rate(f64),
    Changed(f64),
    /// At most so many changed features, at a rate that some cannot reach then.
    MaxChanges(usize),
    Laplace(f64),
    Alternatives(usize),
    Frontier(&'static [f64]),
}

/// Name, learner, whether with the schema, question, people.
type Cell = (&'static str, &'static str, bool, Ask, usize);

const CELLS: &[Cell] = &[
    ("linear-numbers", "linear", false, Ask::Rate(0.1), 60),
    ("linear-schema", "linear", true, Ask::Rate(0.1), 60),
    ("mlp-numbers", "mlp", false, Ask::Rate(0.1), 50),
    ("mlp-schema", "mlp", true, Ask::Rate(0.1), 40),
    ("deep-numbers", "deep", false, Ask::Rate(0.1), 15),
    ("forest-numbers", "forest", false, Ask::Rate(0.1), 30),
    ("forest-schema", "forest", true, Ask::Rate(0.1), 30),
    ("boosted-numbers", "boosted", false, Ask::Rate(0.1), 30),
    ("boosted-schema", "boosted", true, Ask::Rate(0.1), 30),
    ("linear-numbers-0.35", "linear", false, Ask::Rate(0.35), 30),
    ("mlp-numbers-0.35", "mlp", false, Ask::Rate(0.35), 25),
    ("forest-schema-0.35", "forest", true, Ask::Rate(0.35), 20),
    ("linear-schema-changed", "linear", true, Ask::Changed(0.1), 30),
    ("mlp-schema-changed", "mlp", true, Ask::Changed(0.1), 15),
    ("linear-numbers-laplace", "linear", false, Ask::Laplace(0.1), 15),
    ("boosted-numbers-laplace", "boosted", false, Ask::Laplace(0.1), 15),
    ("linear-schema-one", "linear", true, Ask::MaxChanges(1), 20),
    ("mlp-schema-one", "mlp", true, Ask::MaxChanges(1), 15),
    ("forest-schema-one", "forest", true, Ask::MaxChanges(1), 15),
    ("linear-schema-options", "linear", true, Ask::Alternatives(2), 20),
    ("mlp-schema-options", "mlp", true, Ask::Alternatives(2), 8),
    ("linear-schema-frontier", "linear", true, Ask::Frontier(&[0.05, 0.2, 0.35]), 10),
];

fn learner(kind: &str) -> Learner {
    let network = |hidden: &[usize]| {
        let hidden = hidden.to_vec();
        Learner::Mlp(MlpParams { hidden, epochs: 20, patience: 0, ..MlpParams::default() })
    };
    match kind {
        "linear" => Learner::Linear(LogisticParams::default()),
        "mlp" => network(&[16]),
        "deep" => network(&[12, 12]),
        "forest" => Learner::Forest(ForestParams { trees: 25, depth: 4, ..Default::default() }),
        "boosted" => Learner::Boosted(BoostedParams { trees: 25, depth: 3, ..Default::default() }),
        _ => panic!("no learner {kind}"),
    }
}

/// 64-bit FNV-1a.
fn hash(values: impl IntoIterator<Item = f64>) -> u64 {
    values
        .into_iter()
        .flat_map(|v| v.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        })
}

/// One line of the table. The hash covers the features, then the other numbers of the answer.
fn line(cell: &str, row: usize, answer: &Answer) -> String {
    let reason = answer.reason.map_or("-", |reason| reason.code());
    let cost = answer.cost.map_or("-".to_owned(), |cost| cost.to_string());
    let others = [answer.rate_upper, answer.best_rate.unwrap_or(-1.0), answer.score_after];
    let all = answer.point.iter().chain(&others).chain(&answer.nearest).copied();
    let status = answer.status.as_str();
    format!("{cell} {row} {status} {reason} {cost} {} {:016x}", answer.rate, hash(all))
}

fn answers(cell: &Cell, trained: &Trained, data: &credit::CreditData) -> Vec<String> {
    let (name, _, _, ask, n) = *cell;
    let schema = &trained.schema;
    let mut setup =
        Setup::new(trained.model.clone(), schema.column_names(), Some(schema), SIGMA).unwrap();
    match ask {
        Ask::Rate(rate) => setup.max_rate = rate,
        Ask::Changed(rate) => (setup.max_rate, setup.noise_on) = (rate, NoiseOn::Changed),
        Ask::MaxChanges(k) => {
            setup.max_rate = 0.02;
            setup.actions = setup.actions.with_max_changes(Some(k));
        }
        Ask::Laplace(rate) => {
            let sd = setup.encoding.columns().noise_sd(SIGMA);
            setup.max_rate = rate;
            setup.noise = NoiseSpec::parse("laplace").unwrap().build(sd).unwrap();
        }
        Ask::Alternatives(n) => setup.alternatives = n,
        Ask::Frontier(_) => {}
    }
    let engine = Engine::new(setup).unwrap();
    let encoding = &engine.setup().encoding;
    let (mut denied, mut columns) = (Vec::new(), vec![0.0; encoding.n_columns()]);
    for row in 0..data.n_rows() {
        encoding.encode_into(data.person(row), &mut columns);
        if engine.score(&columns).unwrap() <= 0.0 && denied.len() < n * columns.len() {
            denied.extend_from_slice(&columns);
        }
    }
    let people = Rows::new(&denied, columns.len()).unwrap();
    let found: Vec<Answer> = match ask {
        Ask::Frontier(rates) => {
            engine.frontier(people, rates).unwrap().into_iter().flatten().collect()
        }
        Ask::Alternatives(each) => {
            let mut session = engine.session();
            let mut all = Vec::new();
            for person in people.iter() {
                let mut own = vec![Answer::new(columns.len()); each];
                session.recourse_options(person, &mut own).unwrap();
                all.extend(own);
            }
            all
        }
        _ => engine.recourse(people).unwrap(),
    };
    found.iter().enumerate().map(|(row, answer)| line(name, row, answer)).collect()
}

/// All lines: one per model, to distinguish a change of training from one of the engine, then
/// answers.
fn table() -> String {
    let data = credit::generate(TRAINING_ROWS, Seed(1));
    let mut models: BTreeMap<(&str, bool), Trained> = BTreeMap::new();
    let (mut heads, mut lines) = (String::new(), String::new());
    for cell in CELLS {
        let (_, kind, with_schema, ..) = *cell;
        let trained = models.entry((kind, with_schema)).or_insert_with(|| {
            let params = FitParams { learner: learner(kind), ..FitParams::default() };
            let schema = credit::schema();
            let schema = with_schema.then_some(&schema);
            fit_model(&data.labelled().unwrap(), schema, &params, Seed(1)).unwrap()
        });
        for line in answers(cell, trained, &data) {
            writeln!(lines, "{line}").unwrap();
        }
    }
    for ((kind, with_schema), trained) in &models {
        let n = trained.model.n_features();
        let probes = (0..64).map(|i| {
            let row: Vec<f64> = (0..n).map(|j| ((7 * i + 3 * j) % 11) as f64 / 10.0).collect();
            trained.model.score(&row).unwrap()
        });
        let form = if *with_schema { "schema" } else { "numbers" };
        writeln!(heads, "model {kind}-{form} {:016x}", hash(probes)).unwrap();
    }
    heads + &lines
}

/// Lines of each cell; `model` is one of them.
fn by_cell(table: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut cells: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in table.lines() {
        cells.entry(line.split(' ').next().unwrap_or_default()).or_default().push(line);
    }
    cells
}

/// Mean cost of those with an answer, and the share that is certified.
fn summary(lines: &[&str]) -> (f64, f64) {
    let costs: Vec<f64> =
        lines.iter().filter_map(|line| line.split(' ').nth(4)?.parse().ok()).collect();
    let certified = Status::Certified.as_str();
    let n_certified = lines.iter().filter(|line| line.split(' ').nth(2) == Some(certified)).count();
    (costs.iter().sum::<f64>() / costs.len() as f64, n_certified as f64 / lines.len() as f64)
}

/// What differs, in words; `None` where nothing does. The flag: whether means are close as well.
fn compare(before: &str, after: &str) -> Option<(String, bool)> {
    if before == after {
        return None;
    }
    let (mut text, mut shown, mut close) = (String::new(), 0, true);
    let (old, new) = (by_cell(before), by_cell(after));
    let names: std::collections::BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    let mut examples = String::new();
    for name in names {
        let none = Vec::new();
        let (a, b) = (old.get(name).unwrap_or(&none), new.get(name).unwrap_or(&none));
        let n = a.len().max(b.len());
        let differ: Vec<usize> = (0..n).filter(|&i| a.get(i) != b.get(i)).collect();
        if differ.is_empty() {
            continue;
        }
        if name == "model" {
            writeln!(text, "{} of {n} models differ: training changed", differ.len()).unwrap();
        } else {
            let ((cost, share), (new_cost, new_share)) = (summary(a), summary(b));
            writeln!(
                text,
                "{name}: {} of {n} answers differ; mean cost {cost:.6} before, {new_cost:.6} \
                 after; certified {:.1} % before, {:.1} % after",
                differ.len(),
                100.0 * share,
                100.0 * new_share
            )
            .unwrap();
            close &= (new_cost / cost - 1.0).abs() < 0.01 && (new_share - share).abs() < 0.05;
        }
        for i in differ.into_iter().take(SHOWN.saturating_sub(shown).min(2)) {
            shown += 1;
            let text = |lines: &[&str]| (*lines.get(i).unwrap_or(&"(none)")).to_owned();
            writeln!(examples, "  before {}\n  after  {}", text(a), text(b)).unwrap();
        }
    }
    Some((format!("{text}First differences:\n{examples}"), close))
}

#[test]
fn answers_are_those_of_the_stored_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stored_answers.txt");
    let (stored, found) = (std::fs::read_to_string(&path).unwrap_or_default(), table());
    let difference = compare(&stored, &found);
    if std::env::var_os(STORE).is_some() {
        let text = difference.map_or("nothing differs".to_owned(), |(text, _)| text);
        eprintln!("{text}\nstored {} lines", found.lines().count());
        std::fs::write(&path, found).unwrap();
        return;
    }
    if let Some((text, close)) = difference {
        let tail = format!("If this is intended, store a new table: {COMMAND}");
        assert!(!EXACT && close, "answers differ from the stored table\n{text}{tail}");
        eprintln!("other bits on this system, the same means:\n{text}");
    }
}
