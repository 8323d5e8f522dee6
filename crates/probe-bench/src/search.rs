//! What each generator of the search is for: how often the final answer came from it, and what
//! answers would cost, and take, without it.

use crate::folders;
use crate::generated::{complete_trees, denied};
use crate::say;
use crate::subjects::networks::Subject;
use crate::subjects::trees;
use anyhow::Result;
use probe_core::{
    Activation, Answer, Dense, Engine, GENERATORS, Mlp, Model, NoiseOn, Purpose, SearchEffort,
    Seed, Setup, Status,
};
use probe_experiments::paper_data::{HELOC, PAPER_DATA};
use probe_train::{BoostedParams, FitParams, ForestParams, Learner, MlpParams, credit, fit_model};
use std::sync::Arc;

const SIGMA: f64 = 0.1;
const RATES: [f64; 3] = [0.02, 0.1, 0.35];
const TRAINING_ROWS: usize = 1_500;
/// What some cases change of others, as their titles say.
const ON_CHANGES: &str = "noise on changes";
const NARROW: &str = "within its range";
/// Generators that are not left out: nothing is found without a first descent.
const ALWAYS: &str = "from_person";

/// What to measure.
#[derive(clap::Args)]
pub struct Options {
    /// People of each model and rate
    #[arg(long, default_value_t = 60)]
    people: usize,
    /// Only models whose title contains this
    #[arg(long, default_value = "")]
    only: String,
    /// How much work an answer is worth: quick, normal or thorough
    #[arg(long, default_value = "normal", value_parser = effort)]
    effort: SearchEffort,
}

impl Options {
    /// Whether a model of this title is measured, as it is or with a change.
    fn wants(&self, title: &str) -> bool {
        let titles =
            [title.to_owned(), format!("{title}, {ON_CHANGES}"), format!("{title}, {NARROW}")];
        titles.iter().any(|title| title.contains(&self.only))
    }
}

/// A model and whom it denies, raw.
struct Case {
    title: String,
    setup: Setup,
    people: Vec<f64>,
}

impl Case {
    /// The same people with a changed set-up.
    fn with(&self, what: &str, change: impl FnOnce(&mut Setup) -> Result<()>) -> Result<Self> {
        let mut setup = self.setup.clone();
        change(&mut setup)?;
        let title = format!("{}, {what}", self.title);
        Ok(Self { title, setup, people: self.people.clone() })
    }
}

/// What came of one person.
struct Outcome {
    cost: f64,
    certified: bool,
    source: &'static str,
    evaluations: u64,
}

/// What a generator gave, in sums over people.
#[derive(Default, Clone)]
struct Worth {
    /// Answers that came from it.
    won: usize,
    /// People with an answer with and without it, and the sum of what is saved, as shares.
    both: usize,
    saved: f64,
    /// Certified answers that there are only with it, and only without it.
    gained: usize,
    lost: usize,
    evaluations: i64,
}

pub fn run(options: &Options) -> Result<()> {
    let mut total = vec![Worth::default(); GENERATORS.len()];
    let (mut n, mut evaluations) = (0, 0);
    for case in cases(options)? {
        let title = case.title.clone();
        let base = outcomes(&case, None)?;
        let spent: u64 = base.iter().map(|outcome| outcome.evaluations).sum();
        let mut worths = Vec::new();
        for name in GENERATORS {
            let without = if *name == ALWAYS { None } else { Some(outcomes(&case, Some(name))?) };
            worths.push(worth(name, &base, without.as_deref()));
        }
        let certified = base.iter().filter(|outcome| outcome.certified).count();
        say(&format!("\n{title}: {} people, {certified} certified", base.len()));
        table(&worths, base.len(), spent, false);
        total.iter_mut().zip(&worths).for_each(|(sum, worth)| sum.add(worth));
        n += base.len();
        evaluations += spent;
    }
    say(&format!("\nAll {n} people"));
    table(&total, n, evaluations, true);
    let never = GENERATORS.iter().zip(&total).filter(|(_, worth)| worth.never_helped());
    let names: Vec<&str> = never.map(|(name, _)| *name).collect();
    say(&match names.is_empty() {
        true => "Every generator gave an answer or made one cheaper.".to_owned(),
        false => format!("Gave no answer and made none cheaper: {}", names.join(", ")),
    });
    Ok(())
}

/// The effort that a word names.
pub fn effort(name: &str) -> std::result::Result<SearchEffort, String> {
    match name {
        "quick" => Ok(SearchEffort::Quick),
        "normal" => Ok(SearchEffort::Normal),
        "thorough" => Ok(SearchEffort::Thorough),
        _ => Err(format!("no effort {name}; one of quick, normal, thorough")),
    }
}

impl Worth {
    fn add(&mut self, other: &Self) {
        self.won += other.won;
        self.both += other.both;
        self.saved += other.saved;
        self.gained += other.gained;
        self.lost += other.lost;
        self.evaluations += other.evaluations;
    }

    /// Whether no answer came from it, none is cheaper and none certified because of it.
    fn never_helped(&self) -> bool {
        self.won == 0 && self.saved <= 0.0 && self.gained == 0
    }

    /// Whether answers and work are the same with and without it.
    fn changes_nothing(&self) -> bool {
        self.never_helped() && self.saved == 0.0 && self.lost == 0 && self.evaluations == 0
    }
}

/// Compares answers with those `without` a generator.
fn worth(name: &str, base: &[Outcome], without: Option<&[Outcome]>) -> Worth {
    let won = base.iter().filter(|outcome| outcome.source == name).count();
    let mut worth = Worth { won, ..Worth::default() };
    for (with, without) in base.iter().zip(without.unwrap_or_default()) {
        if with.cost.is_finite() && without.cost.is_finite() && without.cost > 0.0 {
            worth.both += 1;
            worth.saved += 1.0 - with.cost / without.cost;
        }
        worth.gained += usize::from(with.certified && !without.certified);
        worth.lost += usize::from(!with.certified && without.certified);
        worth.evaluations += with.evaluations as i64 - without.evaluations as i64;
    }
    worth
}

/// Prints a row per generator; those that change nothing only if `all` are to be shown.
fn table(worths: &[Worth], n: usize, spent: u64, all: bool) {
    say("generator               won  cost saved  certified by it  evaluations added");
    for (name, worth) in GENERATORS.iter().zip(worths) {
        if !all && worth.changes_nothing() {
            continue;
        }
        let share = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
        let won = share(worth.won as f64, n as f64);
        if *name == ALWAYS {
            say(&format!("{name:<22} {won:>4.1} %"));
            continue;
        }
        say(&format!(
            "{name:<22} {won:>4.1} % {:>8.2} % {:>+9} {:>+4} {:>+15.1} %",
            share(worth.saved, worth.both as f64),
            worth.gained,
            -(worth.lost as i64),
            share(worth.evaluations as f64, spent as f64),
        ));
    }
}

/// Everybody's answer, with a generator left out.
fn outcomes(case: &Case, left_out: Option<&'static str>) -> Result<Vec<Outcome>> {
    let engine = Engine::new(Setup { left_out, ..case.setup.clone() })?;
    let n = case.setup.names.len();
    let mut session = engine.session();
    let mut answer = Answer::new(n);
    let mut found = Vec::new();
    for person in case.people.chunks(n) {
        let before = session.n_evaluations();
        session.recourse(person, &mut answer)?;
        found.push(Outcome {
            cost: answer.cost.unwrap_or(f64::INFINITY),
            certified: answer.status == Status::Certified,
            source: answer.report.source,
            evaluations: session.n_evaluations() - before,
        });
    }
    Ok(found)
}

/// Models on the built-in data, and on real data where it is there.
fn cases(options: &Options) -> Result<Vec<Case>> {
    let mut found = built_in(options)?;
    let there = |file: &str| folders::data().join(file).exists();
    for data in PAPER_DATA.iter().chain([&HELOC]) {
        if !there(data.file) {
            say(&format!("{}: no file {}, left out", data.title, data.file));
            continue;
        }
        let title = format!("{}, network", data.title);
        if PAPER_DATA.iter().any(|paper| paper.name == data.name) && options.wants(&title) {
            let subject = Subject::load(data, options.people)?;
            let setup = Setup::new(subject.model.clone(), subject.names.clone(), None, SIGMA)?;
            found.push(Case { title, setup, people: subject.people });
        }
        for title in ["forest", "boosting"].map(|kind| format!("{}, {kind}", data.title)) {
            if !options.wants(&title) {
                continue;
            }
            for subject in trees::subjects(data, &title, options.people)? {
                let setup = Setup::new(subject.model.clone(), subject.names.clone(), None, SIGMA)?;
                found.push(Case { title: subject.title, setup, people: subject.people });
            }
        }
    }
    found.extend(rugged(options)?);
    // Sets of changed features are searched only where noise follows the changes.
    let changed: Vec<Case> = found
        .iter()
        .filter(|case| case.title.ends_with("network, numbers"))
        .map(|case| {
            case.with(ON_CHANGES, |setup| {
                setup.noise_on = NoiseOn::Changed;
                Ok(())
            })
        })
        .collect::<Result<_>>()?;
    // Within narrow limits many people have no answer that a first search finds.
    let narrow: Vec<Case> = found
        .iter()
        .map(|case| case.with(NARROW, |setup| Ok(setup.actions.intersect(0.0, 1.0)?)))
        .collect::<Result<_>>()?;
    found.extend(changed);
    found.extend(narrow);
    found.retain(|case| case.title.contains(&options.only));
    let mut all = Vec::new();
    for case in found {
        for rate in RATES {
            let mut setup = case.setup.clone();
            (setup.max_rate, setup.effort) = (rate, options.effort);
            let title = format!("{}, r = {rate}", case.title);
            all.push(Case { title, setup, people: case.people.clone() });
        }
    }
    Ok(all)
}

/// Models with many hills: a deep network of large random weights, and a few random trees. Nothing
/// that a lender would use, but what the last stages of the search are for.
fn rugged(options: &Options) -> Result<Vec<Case>> {
    const D: usize = 4;
    let mut stream = Seed(2).stream(Purpose::Data, 0);
    let layers = [D, 24, 24, 1]
        .windows(2)
        .map(|pair| Dense {
            weight: (0..pair[0] * pair[1])
                .map(|_| 8.0 * stream.normal() / (pair[0] as f64).sqrt())
                .collect(),
            bias: (0..pair[1]).map(|_| stream.normal()).collect(),
        })
        .collect();
    let network: Arc<dyn Model> = Arc::new(Mlp::new(layers, Activation::Tanh, 4.0)?);
    let trees: Arc<dyn Model> = Arc::new(complete_trees(9, 4, D)?);
    let mut found = Vec::new();
    for (title, model) in [("Random network", network), ("Random trees", trees)] {
        let people = denied(&*model, options.people)?;
        let names = (0..D).map(|j| format!("x{j}")).collect();
        let setup = Setup::new(model, names, None, SIGMA)?;
        found.push(Case { title: title.to_owned(), setup, people });
    }
    Ok(found)
}

/// Networks and trees on the built-in credit data, on columns as plain numbers and with the schema.
fn built_in(options: &Options) -> Result<Vec<Case>> {
    let network = |hidden: &[usize]| {
        let hidden = hidden.to_vec();
        Learner::Mlp(MlpParams { hidden, epochs: 20, patience: 0, ..MlpParams::default() })
    };
    let learners = [
        ("network", network(&[16])),
        ("deep network", network(&[12, 12])),
        ("forest", Learner::Forest(ForestParams { trees: 25, depth: 4, ..Default::default() })),
        ("boosting", Learner::Boosted(BoostedParams { trees: 25, depth: 3, ..Default::default() })),
    ];
    let data = credit::generate(TRAINING_ROWS, Seed(1));
    let schema = credit::schema();
    let mut found = Vec::new();
    for (name, learner) in learners {
        for (form, schema) in [("numbers", None), ("schema", Some(&schema))] {
            let title = format!("Credit, {name}, {form}");
            if !options.wants(&title) {
                continue;
            }
            let params = FitParams { learner: learner.clone(), ..FitParams::default() };
            let trained = fit_model(&data.labelled()?, schema, &params, Seed(1))?;
            let names = trained.schema.column_names();
            let setup = Setup::new(trained.model.clone(), names, Some(&trained.schema), 0.05)?;
            let encoding = &setup.encoding;
            let engine = Engine::without_method(setup.clone())?;
            let (mut people, mut columns) = (Vec::new(), vec![0.0; encoding.n_columns()]);
            for row in 0..data.n_rows() {
                encoding.encode_into(data.person(row), &mut columns);
                if engine.score(&columns)? <= 0.0 && people.len() < options.people * columns.len() {
                    people.extend_from_slice(&columns);
                }
            }
            found.push(Case { title, setup, people });
        }
    }
    Ok(found)
}
