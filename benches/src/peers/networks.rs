//! Networks: ours against batched searches in PyTorch.

use super::script::{Outcome, Request};
use super::turns::Turns;
use super::{OUTPUT, Options, SIGMA, TITLES};
use crate::networks::{Subject, against, by_lines, plain};
use crate::offline::Against;
use anyhow::{Context as _, Result};
use probe_bench::clock::time;
use probe_bench::part::{Figures, Part};
use probe_bench::stats::{Repeats, figure, mean, median, range};
use probe_core::{Answer, Rows, Status};
use probe_experiments::paper_data::{PAPER_DATA, PaperData};
use std::path::Path;

const PEOPLE: usize = 500;
const MANY: usize = 5_000;
/// Answers of a method that are audited, and people that the offline search is run for.
const AUDITED: usize = 200;
const OFFLINE: usize = 50;
const RATES: [f64; 2] = [0.35, 0.1];

/// The batched search: with a plain bisection at the end, and with all that we could think of.
const TUNED: [(&str, &[&str]); 2] =
    [("batched PyTorch", &[]), ("tuned further: secants", &["--secants", "--compile"])];

/// Some answers for some people, as they were measured.
pub(super) struct Row {
    pub(super) title: String,
    pub(super) r: f64,
    pub(super) name: String,
    pub(super) people: usize,
    pub(super) answered: usize,
    /// Answers audited, and those above r.
    audited: usize,
    above: usize,
    /// Mean rate over r.
    rate: f64,
    /// Cost against the offline search, as a cell of the table.
    offline: String,
    pub(super) cost_to_ours: f64,
    changed: f64,
    pub(super) per_second: f64,
    /// How many times as fast ours is; `None` for ours.
    pub(super) ratio: Option<Repeats>,
}

pub(super) fn section(python: &Path, options: &Options) -> Result<Part> {
    let mut rows = Vec::new();
    for (data, r, people) in questions(options) {
        let subject = Subject::load(data, people)?;
        eprintln!("{}, r = {r}: {} people", subject.title, subject.n_people());
        let found = compare(python, &subject, r, options)?;
        found.iter().for_each(|row| eprintln!("{}", render(row)));
        rows.extend(found);
    }
    let ratio = |row: &&Row| row.ratio.is_some();
    let plain = || rows.iter().filter(ratio).filter(|row| row.name.starts_with(TUNED[0].0));
    let further = || rows.iter().filter(ratio).filter(|row| row.name.starts_with(TUNED[1].0));
    let middle = |row: &Row| row.ratio.map_or(f64::NAN, |ratio| ratio.median);
    let mut figures = Figures::new();
    figures.insert("to_batched_range".to_owned(), range(plain().map(middle), 1));
    figures.insert("to_further_range".to_owned(), range(further().map(middle), 1));
    let share = |row: &Row| 100.0 * row.above as f64 / row.audited as f64;
    let ours = rows.iter().rfind(|row| row.ratio.is_none());
    if let (Some(a), Some(b), Some(ours)) = (plain().next_back(), further().next_back(), ours) {
        figures.insert("their_above_range".to_owned(), range([a, b].into_iter().map(share), 0));
        figures.insert("many_to_batched".to_owned(), figure(middle(a)));
        figures.insert("many_to_further".to_owned(), figure(middle(b)));
        figures.insert("many_per_cpu_second".to_owned(), figure(ours.per_second));
    }
    let lines: Vec<String> = rows.iter().map(render).collect();
    Ok(Part {
        id: "peers_networks".into(),
        command: "peers --part networks".into(),
        document: OUTPUT.into(),
        title: Some(TITLES[1].into()),
        text: format!("{ABOUT}\n{HEADER}\n{}\n{COLUMNS}", lines.join("\n")),
        figures,
        ..Part::default()
    })
}

/// Data sets, target rates and people.
fn questions(options: &Options) -> Vec<(&'static PaperData, f64, usize)> {
    if options.quick {
        return vec![(&PAPER_DATA[0], RATES[1], PEOPLE)];
    }
    let each = PAPER_DATA.iter().flat_map(|data| RATES.map(|r| (data, r, PEOPLE)));
    each.chain([(&PAPER_DATA[0], RATES[0], MANY)]).collect()
}

const ABOUT: &str = "\
Networks and people as in [networks](networks.md).

- **batched PyTorch**: everybody at once, closed-form margin, Adam with a soft threshold, the best \
feasible iterate, then one bisection for everybody on 4,096 Sobol samples.
- **tuned further**: the same, landing by secants, with the sampling fused by `torch.compile`.
";

const HEADER: &str = "\
| data | r | method | people | with an answer | above r | rate / r | to offline (worst) | cost to \
ours | changed | per CPU second | ours is, times |
|---|---|---|---|---|---|---|---|---|---|---|---|";

const COLUMNS: &str = "
- **with an answer**: ours certified; theirs by their own account, without a certificate.
- **above r**: share of the answers above r by more than four standard errors, on 16,384 Sobol \
lines; of 200 answers, evenly picked, where there are more.
- **to offline**: mean l1 cost of our answers in this run over that of a slow offline search for \
50 of the same people, as in [networks](networks.md), and in brackets the
  worst single person.
- **cost to ours**: mean l1 cost over that of our answers for the same people. **changed**: \
features changed by more than 1e-6.
- **per CPU second**: with all that is prepared once for everybody: samples of noise and their \
images, on either side. The last rows show more people, who share it. In each
  turn everybody is answered several times, each time from scratch, and the median counts: five \
times by ours, three times by theirs.
- **ours is**: how many times as many answers per CPU second.
";

/// Ours and theirs.
fn compare(python: &Path, subject: &Subject, r: f64, options: &Options) -> Result<Vec<Row>> {
    let request = request(subject, r);
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for (name, flags) in TUNED {
        let mut outcome: Option<Outcome> = None;
        let turns = Turns::take(
            options.repeats(),
            || {
                let (answers, seconds) = solve(subject, r)?;
                ours = answers;
                Ok(seconds)
            },
            || {
                let found = request.ask(python, "tuned.py", flags)?;
                let seconds = found.cpu_seconds;
                outcome = Some(found);
                Ok(seconds)
            },
        )?;
        let outcome = outcome.context("theirs ran")?;
        theirs.push((format!("{name}, {}", outcome.note), outcome.points, turns));
    }
    let aside = rayon::ThreadPoolBuilder::new().build()?;
    let found =
        if options.quick { None } else { against(subject, &ours, SIGMA, r, OFFLINE, &aside)? };
    let [offline, _] = Against::cells(found.as_ref());
    let ours = certified(ours);
    let all: Vec<&Turns> = theirs.iter().map(|(.., turns)| turns).collect();
    let seconds = mean(all.iter().map(|turns| turns.ours()));
    let mut rows = vec![row(subject, r, ("probe".to_owned(), &ours, seconds), &ours, None)?];
    rows[0].offline = offline;
    for (name, points, turns) in &theirs {
        rows.push(row(subject, r, (name.clone(), points, turns.theirs()), &ours, Some(turns))?);
    }
    Ok(rows)
}

pub(super) fn request(subject: &Subject, r: f64) -> Request<'_> {
    Request { model: subject.model.clone(), names: &subject.names, people: &subject.people, r }
}

/// The points of certified answers.
pub(super) fn certified(answers: Vec<Answer>) -> Vec<Option<Vec<f64>>> {
    answers
        .into_iter()
        .map(|answer| (answer.status == Status::Certified).then_some(answer.point))
        .collect()
}

/// Summary of some answers, for the first people of the subject.
fn row(
    subject: &Subject,
    r: f64,
    (name, theirs, seconds): (String, &[Option<Vec<f64>>], f64),
    ours: &[Option<Vec<f64>>],
    turns: Option<&Turns>,
) -> Result<Row> {
    let points: Vec<&[f64]> = theirs.iter().flatten().map(Vec::as_slice).collect();
    let audited: Vec<&[f64]> =
        points.iter().step_by(points.len().div_ceil(AUDITED).max(1)).copied().collect();
    let rates = by_lines(&plain(subject)?, SIGMA, &audited);
    let moves = |i: usize, point: &[f64]| -> Vec<f64> {
        subject.person(i).iter().zip(point).map(|(x, p)| (x - p).abs()).collect()
    };
    let both: Vec<usize> =
        (0..theirs.len()).filter(|&i| theirs[i].is_some() && ours[i].is_some()).collect();
    let cost = |answers: &[Option<Vec<f64>>]| {
        let points = both.iter().filter_map(|&i| Some((i, answers[i].as_deref()?)));
        mean(points.map(|(i, point)| moves(i, point).iter().sum()))
    };
    let changed = theirs.iter().enumerate().filter_map(|(i, point)| {
        Some(moves(i, point.as_deref()?).iter().filter(|by| **by > 1e-6).count() as f64)
    });
    let (answered, certified) = (points.len() as f64, ours.iter().flatten().count() as f64);
    Ok(Row {
        title: subject.title.to_owned(),
        r,
        name,
        people: theirs.len(),
        answered: points.len(),
        audited: rates.len(),
        above: rates.iter().filter(|rate| rate.above(r)).count(),
        rate: mean(rates.iter().map(|rate| rate.rate / r)),
        offline: "–".to_owned(),
        cost_to_ours: cost(theirs) / cost(ours),
        changed: mean(changed),
        per_second: answered / seconds,
        ratio: turns.map(|turns| turns.ratio(certified / answered)),
    })
}

fn render(row: &Row) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {:.1} % | {:.4} | {} | {:.4} | {:.2} | {} | {} |",
        row.title,
        row.r,
        row.name,
        row.people,
        row.answered,
        100.0 * row.above as f64 / row.audited as f64,
        row.rate,
        row.offline,
        row.cost_to_ours,
        row.changed,
        figure(row.per_second),
        row.ratio.map_or_else(|| "1".to_owned(), |ratio| ratio.to_string())
    )
}

/// How often everybody is answered in a turn: a tenth of a second is easily disturbed.
const ROUNDS: usize = 5;

/// Our answers, and the processor seconds they took on one thread, the median of some rounds.
pub(super) fn solve(subject: &Subject, r: f64) -> Result<(Vec<Answer>, f64)> {
    let rows = Rows::new(&subject.people, subject.names.len())?;
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    // Preparing the engine counts, as drawing the samples counts for theirs.
    let run = || time(|| Ok(subject.engine(SIGMA, r)?.recourse(rows)?));
    // Once to warm up, as theirs does.
    let (mut answers, _) = one.install(run)?;
    let mut seconds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let (found, took) = one.install(run)?;
        answers = found;
        seconds.push(took.cpu);
    }
    Ok((answers, median(&mut seconds)))
}
