//! Carries out runs: prepares data, classifiers and people once, and computes or loads cells.

use super::Inputs;
use super::cell::{Cell, Kind, Run, Size, Store};
use crate::compare::Contender;
use crate::paper_data::{Encoded, Error, PAPER_DATA, PaperData};
use probe_core::evaluation::measure;
use probe_core::theory::{Step, upper_bound};
use probe_core::{Answer, Engine, Gaussian, Key, MethodOptions, Model, Rows, Setup, Status};
use probe_io::ModelFile;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

/// People of a table cell, at most, of a point of a figure, and to choose settings on; of the whole
/// and of a quick reproduction.
const PEOPLE: [[usize; 3]; 2] = [[1_000, 1_000, 200], [40, 10, 10]];
/// Number of people on whom a stored cell is checked before it is used.
const TRIED: usize = 2;
/// Training rows that methods which need data are given.
const REFERENCE: usize = 2_000;

/// A classifier with the people that it denies.
pub struct Subject {
    /// Feature names.
    pub names: Vec<String>,
    /// The classifier.
    pub model: Arc<dyn Model>,
    /// Its accuracy on the test rows.
    pub accuracy: f64,
    /// Test rows, and how many of them it denies.
    pub tested: usize,
    /// People whom it denies among the test rows, row after row.
    pub denied: Vec<f64>,
    /// The same among the training rows.
    denied_in_training: Vec<f64>,
    reference: Arc<[f64]>,
    /// A hash of everything that answers depend on: weights, people and reference rows.
    fingerprint: u64,
}

impl Subject {
    /// Whom runs of this size draw on.
    fn people(&self, size: Size) -> &[f64] {
        if size == Size::Training { &self.denied_in_training } else { &self.denied }
    }
}

/// Progress of the work.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// What is done next.
    pub what: String,
    /// Share of the work that is done.
    pub share: f64,
}

/// Everything that experiments use.
pub struct Laboratory {
    /// Its settings.
    pub inputs: Inputs,
    store: Store,
    data: BTreeMap<&'static str, Encoded>,
    subjects: BTreeMap<(&'static str, Kind), Subject>,
    cells: BTreeMap<String, Cell>,
}

impl Laboratory {
    /// Nothing is read or trained before it is needed.
    pub fn new(inputs: Inputs) -> Result<Self, Error> {
        let store = Store::new(inputs.cells.as_deref())?;
        let (data, subjects, cells) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { inputs, store, data, subjects, cells })
    }

    /// Computes or loads everything that `runs` and `subjects` need.
    pub fn prepare(
        &mut self,
        subjects: &[(&'static str, Kind)],
        runs: &[Run],
        told: &mut dyn FnMut(&Progress),
    ) -> Result<(), Error> {
        let mut wanted: Vec<(&'static str, Kind)> = subjects.to_vec();
        wanted.extend(runs.iter().map(|run| (run.data, run.kind)));
        for (data, kind) in wanted {
            if !self.subjects.contains_key(&(data, kind)) {
                told(&Progress { what: format!("training {data} {}", kind.short()), share: 0.0 });
                let subject = self.train(data, kind)?;
                self.subjects.insert((data, kind), subject);
            }
        }
        let mut missing = Vec::new();
        for run in runs {
            let name = self.key(run);
            if self.cells.contains_key(&name) || missing.iter().any(|(other, _)| *other == name) {
                continue;
            }
            match Store::read(self.place(run)?.as_deref()) {
                Some(cell) if self.holds(run, &cell)? => drop(self.cells.insert(name, cell)),
                _ => missing.push((name, run)),
            }
        }
        // What a person takes, roughly: networks are sampled, and some methods search for long.
        let weight = |run: &Run| {
            let hard = if run.kind == Kind::Network { 6.0 } else { 1.0 };
            self.n_people(run) as f64 * hard
        };
        let total: f64 = missing.iter().map(|(_, run)| weight(run)).sum();
        let weights: Vec<f64> = missing.iter().map(|(_, run)| weight(run)).collect();
        let mut done = 0.0;
        for ((name, run), weight) in missing.into_iter().zip(weights) {
            told(&Progress { what: run.name(), share: done / total });
            let cell = self.make(run, &self.places(run))?;
            Store::write(self.place(run)?.as_deref(), &cell)?;
            self.cells.insert(name, cell);
            done += weight;
        }
        Ok(())
    }

    /// A classifier that was prepared.
    pub fn subject(&self, data: &'static str, kind: Kind) -> Result<&Subject, Error> {
        self.subjects.get(&(data, kind)).ok_or_else(|| Error::NotPrepared(data.to_owned()))
    }

    /// A cell that was prepared.
    pub fn cell(&self, run: &Run) -> Result<&Cell, Error> {
        self.cells.get(&self.key(run)).ok_or_else(|| Error::NotPrepared(run.name()))
    }

    fn key(&self, run: &Run) -> String {
        format!("{}-{}", run.name(), self.n_people(run))
    }

    fn place(&self, run: &Run) -> Result<Option<std::path::PathBuf>, Error> {
        let subject = self.subject(run.data, run.kind)?;
        let parts = [subject.fingerprint, self.inputs.seed.0, self.n_people(run) as u64];
        Ok(self.store.path(&run.name(), &parts))
    }

    /// People of a run.
    pub fn n_people(&self, run: &Run) -> usize {
        let most = PEOPLE[usize::from(self.inputs.quick)][run.size as usize];
        let most = self.inputs.people.map_or(most, |given| given.min(most));
        let subject = self.subjects.get(&(run.data, run.kind));
        subject.map_or(most, |s| most.min(s.people(run.size).len() / s.names.len()))
    }

    /// Rows of a run's people among those whom the classifier denies, evenly spread.
    fn places(&self, run: &Run) -> Vec<usize> {
        let subject = self.subjects.get(&(run.data, run.kind));
        let all = subject.map_or(0, |s| s.people(run.size).len() / s.names.len());
        let n = self.n_people(run);
        (0..n).map(|i| i * all / n).collect()
    }

    /// Whether this program still computes the same numbers as a stored cell, checked on some of
    /// its people.
    fn holds(&self, run: &Run, cell: &Cell) -> Result<bool, Error> {
        let places = self.places(run);
        let n = places.len();
        let tried: Vec<usize> =
            (0..n.min(TRIED)).map(|i| i * (n - 1) / (TRIED - 1).max(1)).collect();
        let few: Vec<usize> = tried.iter().map(|&i| places[i]).collect();
        Ok(cell.cost.len() == n && cell.agrees(&self.make(run, &few)?, &tried))
    }

    fn train(&mut self, name: &'static str, kind: Kind) -> Result<Subject, Error> {
        let paper: &PaperData = PAPER_DATA
            .iter()
            .find(|d| d.name == name)
            .ok_or_else(|| Error::NotPrepared(name.to_owned()))?;
        if !self.data.contains_key(name) {
            let folder = self.inputs.data.as_deref().ok_or(Error::NoFolder)?;
            self.data.insert(name, paper.load(folder, self.inputs.seed)?);
        }
        let data = &self.data[name];
        let key = Key::default().values(&data.values);
        let key = data.favourable.iter().fold(key, |key, yes| key.word(u64::from(*yes))).finish();
        let short = kind.short().to_lowercase();
        let path =
            self.store.path(&format!("{name}-{short}-classifier"), &[key, self.inputs.seed.0]);
        let kept = path.as_ref().and_then(|path| ModelFile::load(path).ok()).map(|file| file.model);
        let model: Arc<dyn Model> = match kept {
            Some(model) => model,
            None => {
                let model: Arc<dyn Model> = match kind {
                    Kind::Linear => Arc::new(paper.train_logistic(data, self.inputs.seed)?),
                    Kind::Network => Arc::new(paper.train_network(data, self.inputs.seed)?),
                };
                if let Some(path) = path {
                    ModelFile::new(data.names.clone(), Arc::clone(&model), None)?.save(path)?;
                }
                model
            }
        };
        let d = data.names.len();
        let denied = data.denied(&*model, usize::MAX)?;
        let (train, _) = data.part(&data.split.train);
        let denied_in_training = unfavourable(&*model, &train, d)?;
        let rows = train.len() / d;
        let n = REFERENCE.min(rows);
        let reference: Vec<f64> =
            (0..n).flat_map(|i| &train[i * rows / n * d..][..d]).copied().collect();
        // Scores identify the weights.
        let mut scores = vec![0.0; denied.len() / d];
        model.score_batch(Rows::new(&denied, d)?, &mut scores)?;
        let fingerprint =
            Key::default().values(&denied).values(&scores).values(&reference).finish();
        Ok(Subject {
            names: data.names.clone(),
            accuracy: data.judge(&*model)?.accuracy,
            tested: data.split.test.len(),
            model,
            denied,
            denied_in_training,
            reference: reference.into(),
            fingerprint,
        })
    }

    /// The run, on the people at `places` among those whom the classifier denies.
    fn make(&self, run: &Run, places: &[usize]) -> Result<Cell, Error> {
        let subject = self.subject(run.data, run.kind)?;
        let d = subject.names.len();
        let all = subject.people(run.size);
        let people: Vec<f64> = places.iter().flat_map(|i| &all[i * d..][..d]).copied().collect();
        let people = Rows::new(&people, d)?;
        let mut setup = Setup::new(
            Arc::clone(&subject.model),
            subject.names.clone(),
            None,
            run.variance.sqrt(),
        )?;
        setup.max_rate = run.rate;
        setup.seed = self.inputs.seed;
        setup.reference = Some(Arc::clone(&subject.reference));
        // Certificates are our solver's own; other methods are judged by the measures alone.
        setup.certify = run.method == "probe";
        let options = MethodOptions::parse(run.options.iter().map(String::as_str))?;
        let engine = Contender { method: run.method.to_owned(), options }.engine(&setup)?;
        let start = Instant::now();
        let answers = engine.recourse(people)?;
        let seconds = start.elapsed().as_secs_f64();
        let measured = measure(&engine, people, &answers)?;
        Ok(Cell::new(&measured, bounds(&engine, people, &answers, run.variance)?, seconds))
    }
}

/// Rows that the model rejects.
fn unfavourable(model: &dyn Model, rows: &[f64], d: usize) -> Result<Vec<f64>, Error> {
    let mut scores = vec![0.0; rows.len() / d];
    model.score_batch(Rows::new(rows, d)?, &mut scores)?;
    let denied = rows.chunks_exact(d).zip(&scores).filter(|(_, score)| **score <= 0.0);
    Ok(denied.flat_map(|(row, _)| row).copied().collect())
}

/// Proposition 4 for every answer, as the paper evaluates it: also for networks, where it is none.
fn bounds(
    engine: &Engine,
    people: Rows<'_>,
    answers: &[Answer],
    variance: f64,
) -> Result<Vec<Option<f64>>, Error> {
    let Some(model) = engine.task().model.as_differentiable() else {
        return Ok(vec![None; answers.len()]);
    };
    let noise = Gaussian::isotropic(people.n_cols(), variance.sqrt())?;
    let active = vec![true; people.n_cols()];
    let one = |(person, answer): (&[f64], &Answer)| -> Result<Option<f64>, Error> {
        if !matches!(answer.status, Status::Certified | Status::Found) {
            return Ok(None);
        }
        let step =
            Step { model, noise: &noise, active: &active, factual: person, point: &answer.point };
        Ok(Some(upper_bound(&step)?.value))
    };
    people.iter().zip(answers).map(one).collect()
}
