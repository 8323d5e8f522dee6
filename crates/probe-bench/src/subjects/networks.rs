//! Networks that are measured: those of the paper, on its data, and the people they deny.

use crate::folders;
use anyhow::{Context as _, Result};
use probe_core::{Engine, Key, Mlp, Seed, Setup};
use probe_experiments::paper_data::PaperData;
use probe_io::ModelFile;
use std::sync::Arc;

const SEED: Seed = Seed(0);

/// A network with the people it denies.
pub struct Subject {
    pub title: &'static str,
    pub name: &'static str,
    pub model: Arc<Mlp>,
    /// Hex digest of the model.
    pub hash: String,
    pub names: Vec<String>,
    /// Row after row, in scaled space.
    pub people: Vec<f64>,
    pub n_denied: usize,
    pub accuracy: f64,
    pub paper_accuracy: f64,
}

impl Subject {
    pub fn n_people(&self) -> usize {
        self.people.len() / self.names.len()
    }

    pub fn person(&self, i: usize) -> &[f64] {
        &self.people[i * self.names.len()..][..self.names.len()]
    }

    /// An engine for the network: every column a free number, noise on all of them, l1 cost.
    pub fn engine(&self, sigma: f64, r: f64) -> Result<Engine> {
        let mut setup = Setup::new(self.model.clone(), self.names.clone(), None, sigma)?;
        setup.max_rate = r;
        Ok(Engine::new(setup)?)
    }

    /// Loads data and network, training the network unless it is kept already.
    pub fn load(data: &PaperData, most: usize) -> Result<Self> {
        let folder = folders::data();
        let encoded = data.load(&folder, SEED).with_context(|| {
            format!("cannot load {}; PROBE_DATA_DIR names the folder of data sets", data.file)
        })?;
        let mut key = Key::default().values(&encoded.values);
        for row in &encoded.split.test {
            key = key.word(*row as u64);
        }
        let settings = format!("seed{}-batch{}-epochs{}", SEED.0, data.batch, data.epochs);
        let file = folders::kept("networks")?.join(format!(
            "{}-{settings}-rate{}-{:016x}.json",
            data.name,
            data.learning_rate,
            key.finish()
        ));
        if !file.exists() {
            eprintln!("{}: training the network", data.title);
            let model = data.train_network(&encoded, SEED)?;
            ModelFile::new(encoded.names.clone(), Arc::new(model), None)?.save(&file)?;
        }
        let kept = ModelFile::load(&file)?;
        let model = Arc::new(kept.model.as_mlp().context("a network was kept")?.clone());
        Ok(Self {
            title: data.title,
            name: data.name,
            hash: kept.hash,
            n_denied: encoded.denied(&*model, usize::MAX)?.len() / encoded.names.len(),
            people: encoded.denied(&*model, most)?,
            accuracy: encoded.judge(&*model)?.accuracy,
            paper_accuracy: data.network_accuracy,
            names: encoded.names,
            model,
        })
    }
}
