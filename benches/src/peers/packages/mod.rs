//! Packages of the Python registry that a user would try, asked about the same people with the
//! same models.
//!
//! None of them knows a rate: they are asked for another decision, as they are made for, and what
//! they achieve is measured here.

mod render;
mod server;
mod subject;

use super::script::write_rows;
use super::turns::Turns;
use super::{OUTPUT, Options, TITLES};
use anyhow::Result;
use probe_bench::clock::{median_of, time};
use probe_bench::part::Part;
use probe_bench::stats::{Repeats, mean};
use probe_bench::{folders, python};
use probe_core::{Answer, Rows, Status};
use probe_io::ModelFile;
use server::Server;
use std::path::{Path, PathBuf};
use subject::{Adult, Subject};

const RATE: f64 = 0.1;
const PEOPLE: usize = 20;
/// Standard errors above the target that make it missed.
const SIGMAS: f64 = 4.0;
/// Less than this is no change, and not outside: a package that rounds to the sixth decimal changes
/// nothing.
const CLOSE: f64 = 1e-5;
const PROBE: &str = "probe";

/// A package's method.
struct Peer {
    /// Folder of its requirements: packages that do not go along have environments of their own.
    environment: &'static str,
    /// The adapter, and its method.
    package: &'static str,
    method: &'static str,
    name: &'static str,
    /// Whether it supports fixed columns.
    keeps: bool,
    /// Models it is made for.
    models: &'static [&'static str],
}

/// Methods of a quick run.
const QUICK: [&str; 2] = ["random, quick", "genetic"];
const ALL: &[&str] = &["linear", "network", "forest"];
const PEERS: [Peer; 13] = [
    peer(("current", "dice", "random"), "dice-ml random", true, ALL),
    peer(("current", "dice", "random, quick"), "dice-ml random, quick", true, ALL),
    peer(("current", "dice", "genetic"), "dice-ml genetic", true, ALL),
    peer(("current", "dice", "genetic, quick"), "dice-ml genetic, quick", true, ALL),
    peer(("current", "dice", "kdtree"), "dice-ml kdtree", true, &["linear"]),
    peer(("current", "cfnow", "greedy"), "cfnow greedy", false, ALL),
    peer(("current", "cfnow", "random"), "cfnow random", false, ALL),
    peer(("older", "nice", "sparsity"), "NICEx sparsity", false, ALL),
    peer(("older", "nice", "proximity"), "NICEx proximity", false, ALL),
    peer(("older", "recourse", "cplex"), "actionable-recourse", true, &["linear"]),
    peer(("oldest", "omnixai", "gld"), "omnixai MACE", true, ALL),
    peer(
        ("tensorflow", "alibi", "counterfactual"),
        "alibi Counterfactual",
        false,
        &["linear", "network"],
    ),
    peer(("tensorflow", "alibi", "proto"), "alibi CounterfactualProto", false, ALL),
];

const fn peer(
    (environment, package, method): (&'static str, &'static str, &'static str),
    name: &'static str,
    keeps: bool,
    models: &'static [&'static str],
) -> Peer {
    Peer { environment, package, method, name, keeps, models }
}

/// What was measured of one program before one model.
struct Row {
    model: &'static str,
    /// Whether some columns had to stay.
    fixed: bool,
    name: String,
    outcome: Result<Measured, String>,
}

struct Measured {
    people: usize,
    answered: usize,
    /// Answers that the model accepts, and those whose rate is at most the target.
    flips: usize,
    holds: usize,
    rate: f64,
    cost_to_ours: f64,
    /// Answers that change what must stay, and answers outside of the range.
    broken: usize,
    outside: usize,
    changed: f64,
    /// Of a person, and of what is prepared once.
    seconds: f64,
    preparation: f64,
    ratio: Option<Repeats>,
}

/// What everybody is asked.
struct Task<'a> {
    adult: &'a Adult,
    subject: &'a Subject,
    fixed: &'a [usize],
    ours: Vec<Option<Vec<f64>>>,
    folder: PathBuf,
}

pub(super) fn section(options: &Options) -> Result<Part> {
    let adult = Adult::load(if options.quick { 5 } else { PEOPLE })?;
    let folder = folders::kept(server::FOLDER)?;
    let columns: Vec<String> = adult.names.iter().cloned().chain(["label".to_owned()]).collect();
    write_rows(&folder.join("train.csv"), &columns, &adult.train)?;
    let none = Vec::new();
    let fixed = adult.fixed();
    let mut rows = Vec::new();
    for subject in &adult.subjects {
        ModelFile::new(adult.names.clone(), subject.model.clone(), None)?
            .save(folder.join(model_file(subject)))?;
        for fixed in [&none, &fixed] {
            let mut task =
                Task { adult: &adult, subject, fixed, ours: Vec::new(), folder: folder.clone() };
            rows.push(task.solve()?);
            let asked = |peer: &&Peer| {
                format!("{}, {}", subject.title, peer.name).contains(&options.only)
                    && (!options.quick || QUICK.contains(&peer.method))
                    && (fixed.is_empty() || peer.keeps)
                    && peer.models.contains(&subject.title)
            };
            for peer in PEERS.iter().filter(asked) {
                eprintln!("{}, {} fixed: {}", subject.title, fixed.len(), peer.name);
                rows.push(task.compare(peer, options));
                rows.last().iter().for_each(|row| eprintln!("{}", render::line(row)));
            }
        }
    }
    Ok(Part {
        id: "peers_packages".into(),
        command: "peers --part packages".into(),
        document: OUTPUT.into(),
        title: Some(TITLES[3].into()),
        text: render::text(&rows, &adult)?,
        figures: render::figures(&rows),
        ..Part::default()
    })
}

fn model_file(subject: &Subject) -> String {
    format!("{}.json", subject.title)
}

impl Task<'_> {
    fn d(&self) -> usize {
        self.adult.names.len()
    }

    fn people(&self) -> Vec<&[f64]> {
        self.subject.people.chunks_exact(self.d()).collect()
    }

    fn row(&self, name: String, outcome: Result<Measured, String>) -> Row {
        Row { model: self.subject.title, fixed: !self.fixed.is_empty(), name, outcome }
    }

    /// Ours, which the others are compared with.
    fn solve(&mut self) -> Result<Row> {
        let (answers, seconds, preparation) = self.ours(self.people().len())?;
        let point = |answer: Answer| (answer.status == Status::Certified).then_some(answer.point);
        self.ours = answers.into_iter().map(point).collect();
        let mut measured = self.judge(&self.ours, seconds);
        measured.preparation = preparation;
        Ok(self.row(PROBE.to_owned(), Ok(measured)))
    }

    /// Our answers to the first `n` people, processor seconds per person on one thread, the engine
    /// prepared, and of its preparation.
    fn ours(&self, n: usize) -> Result<(Vec<Answer>, f64, f64)> {
        let (engine, preparation) = time(|| self.adult.engine(self.subject, self.fixed, RATE))?;
        let rows = Rows::new(&self.subject.people[..n * self.d()], self.d())?;
        let mut answers = vec![Answer::new(self.d()); rows.n_rows()];
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        // Errors that everybody's certificates read are drawn when they are first needed:
        // preparation, too.
        let ((), first) = one.install(|| time(|| Ok(engine.recourse_into(rows, &mut answers)?)))?;
        let took =
            one.install(|| median_of(3, 2.0, || Ok(engine.recourse_into(rows, &mut answers)?)))?;
        let n = answers.len() as f64;
        Ok((answers, took.cpu / n, preparation.cpu + (first.cpu - took.cpu).max(0.0)))
    }

    /// A package that fails says why, and nothing else stops.
    fn compare(&self, peer: &Peer, options: &Options) -> Row {
        let environment = format!("{}/{}", server::FOLDER, peer.environment);
        match python::environment(&environment).and_then(|python| self.ask(&python, peer, options))
        {
            Ok((version, measured)) => self.row(format!("{} ({version})", peer.name), Ok(measured)),
            Err(error) => self.row(peer.name.to_owned(), Err(format!("{error:#}"))),
        }
    }

    fn ask(&self, python: &Path, peer: &Peer, options: &Options) -> Result<(String, Measured)> {
        // By the clock, on a machine that may be busy.
        let patience = 120.0 + 20.0 * options.timeout;
        let mut server = Server::start(python, peer.package, peer.method)?;
        let [model, train] =
            [self.folder.join(model_file(self.subject)), self.folder.join("train.csv")];
        let ready = server.prepare(&model, &train, self.fixed, patience)?;
        self.adult.check_margins(self.subject, &ready.margins)?;
        let people = self.people();
        // The first one pays for what is made when it is first needed.
        server.answer(&people[..1], f64::MIN_POSITIVE, patience)?;
        // Everybody, or as many as there is time for. Both are measured on them.
        let all = server.answer(&people, options.timeout, patience)?;
        let n = all.seconds.len();
        let mut first = true;
        let turns = Turns::take(
            options.repeats(),
            || Ok(self.ours(n)?.1),
            || {
                // The first turn was all of them; others ask some again, for what the machine makes
                // of the same work now.
                let again = match std::mem::take(&mut first) {
                    true => None,
                    false => Some(
                        server
                            .answer(&people[..n.div_ceil(4)], options.timeout / 4.0, patience)?
                            .seconds,
                    ),
                };
                Ok(seconds_a_person(&all.seconds, again.as_deref()))
            },
        )?;
        let points = all.points;
        let mut measured = self.judge(&points, turns.theirs());
        measured.preparation = ready.seconds;
        measured.ratio = Some(turns.ratio(1.0));
        Ok((ready.version, measured))
    }

    /// What is true of some answers, to the first people.
    fn judge(&self, points: &[Option<Vec<f64>>], seconds: f64) -> Measured {
        let people = self.people();
        let given: Vec<(&[f64], &[f64])> = people
            .iter()
            .zip(points)
            .filter_map(|(person, point)| Some((*person, point.as_deref()?)))
            .collect();
        let only: Vec<&[f64]> = given.iter().map(|(_, point)| *point).collect();
        let rates = (self.subject.rates)(&only);
        let count = |holds: &dyn Fn(&[f64], &[f64]) -> bool| {
            given.iter().filter(|(x, p)| holds(x, p)).count()
        };
        let cost = |person: &[f64], point: &[f64]| {
            person.iter().zip(point).map(|(x, p)| (x - p).abs()).sum::<f64>()
        };
        let both = || {
            let three = people.iter().zip(points).zip(&self.ours);
            three.filter_map(|((person, theirs), ours)| {
                Some((*person, theirs.as_deref()?, ours.as_deref()?))
            })
        };
        let changes = |person: &[f64], point: &[f64]| {
            person.iter().zip(point).filter(|(x, p)| (*x - *p).abs() > CLOSE).count()
        };
        Measured {
            people: points.len(),
            answered: given.len(),
            flips: count(&|_, point| {
                self.subject.model.score(point).is_ok_and(|score| score > 0.0)
            }),
            holds: rates.iter().filter(|(rate, error)| *rate <= RATE + SIGMAS * error).count(),
            rate: mean(rates.iter().map(|(rate, _)| *rate)),
            cost_to_ours: mean(both().map(|(x, theirs, _)| cost(x, theirs)))
                / mean(both().map(|(x, _, ours)| cost(x, ours))),
            broken: count(&|person, point| {
                self.fixed.iter().any(|&j| (person[j] - point[j]).abs() > CLOSE)
            }),
            outside: count(&|_, point| point.iter().any(|x| !(-CLOSE..=1.0 + CLOSE).contains(x))),
            changed: mean(given.iter().map(|(person, point)| changes(person, point) as f64)),
            seconds,
            preparation: 0.0,
            ratio: None,
        }
    }
}

/// Mean over all people of a first turn; in a later one that asks some of them `again`, as much
/// more or less as these took then.
fn seconds_a_person(all: &[f64], again: Option<&[f64]>) -> f64 {
    let whole = mean(all.iter().copied());
    again.map_or(whole, |again| {
        let before: f64 = all.iter().take(again.len()).sum();
        whole * again.iter().sum::<f64>() / before
    })
}

#[cfg(test)]
mod tests {
    use super::seconds_a_person;

    #[test]
    fn people_who_are_asked_again_stand_for_all() {
        // The first two take 1 s each, the others 4 s: the mean is 3 s, whichever people are
        // repeated.
        let all = [1.0, 1.0, 4.0, 4.0, 5.0];
        assert_eq!(seconds_a_person(&all, None), 3.0);
        assert_eq!(seconds_a_person(&all, Some(&[1.0, 1.0])), 3.0);
        // A machine that is half as fast.
        assert_eq!(seconds_a_person(&all, Some(&[2.0])), 6.0);
    }
}
