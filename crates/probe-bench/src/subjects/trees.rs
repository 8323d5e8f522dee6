//! Ensembles of trees that are measured: a forest and gradient boosting on a data set, and the
//! people they deny.

use crate::folders;
use anyhow::{Context as _, Result};
use probe_core::{Engine, Rows, Seed, Setup, Trees};
use probe_experiments::paper_data::{Encoded, PaperData};
use probe_train::{BoostedParams, BoostedTrainer, ForestParams, ForestTrainer};
use std::sync::Arc;

/// Standard deviation of the noise on every column.
pub const SIGMA: f64 = 0.1;
const SEED: Seed = Seed(0);

/// An ensemble and the people it denies.
pub struct Subject {
    pub title: String,
    pub model: Arc<Trees>,
    /// Rows that it was trained on.
    pub train: Vec<f64>,
    pub names: Vec<String>,
    /// Row after row, in scaled space.
    pub people: Vec<f64>,
    pub accuracy: f64,
}

impl Subject {
    /// The person with index `i`.
    pub fn person(&self, i: usize) -> &[f64] {
        &self.people[i * self.names.len()..][..self.names.len()]
    }

    /// An engine for the ensemble: every column a free number, noise on all of them, l1 cost.
    pub fn engine(&self, r: f64) -> Result<Engine> {
        let mut setup = Setup::new(self.model.clone(), self.names.clone(), None, SIGMA)?;
        setup.max_rate = r;
        Ok(Engine::new(setup)?)
    }
}

/// A forest and gradient boosting on a data set, if their title contains `only`, each with at most
/// `most` people it denies.
pub fn subjects(data: &PaperData, only: &str, most: usize) -> Result<Vec<Subject>> {
    let encoded = data.load(&folders::data(), SEED).with_context(|| {
        format!("cannot load {}; PROBE_DATA_DIR names the folder of data sets", data.file)
    })?;
    let mut found = Vec::new();
    for kind in ["forest", "boosting"] {
        let title = format!("{}, {kind}", data.title);
        if title.contains(only) {
            found.push(subject(title, &encoded, kind, most)?);
        }
    }
    Ok(found)
}

/// Boosted trees of the training rows, with the defaults of `probe train`.
pub fn boosting(encoded: &Encoded) -> Result<Trees> {
    let (x, favourable) = encoded.part(&encoded.split.train);
    let trainer =
        BoostedTrainer::new(BoostedParams::default()).map_err(probe_train::Error::from)?;
    Ok(trainer.fit(Rows::new(&x, encoded.names.len())?, &encoded.names, &favourable, SEED)?.model)
}

/// A random forest of the training rows, with the defaults of `probe train`.
pub fn forest(encoded: &Encoded) -> Result<Trees> {
    let (x, favourable) = encoded.part(&encoded.split.train);
    let trainer = ForestTrainer::new(ForestParams::default()).map_err(probe_train::Error::from)?;
    Ok(trainer.fit(Rows::new(&x, encoded.names.len())?, &encoded.names, &favourable, SEED)?)
}

fn subject(title: String, encoded: &Encoded, kind: &str, most: usize) -> Result<Subject> {
    let model = match kind {
        "forest" => forest(encoded)?,
        _ => boosting(encoded)?,
    };
    Ok(Subject {
        title,
        train: encoded.part(&encoded.split.train).0,
        names: encoded.names.clone(),
        people: encoded.denied(&model, most)?,
        accuracy: encoded.judge(&model)?.accuracy,
        model: Arc::new(model),
    })
}
