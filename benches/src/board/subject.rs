//! A data set, a model, the people it denies, and what they may change.

use super::{RATE, SEED, SIGMA};
use anyhow::{Context as _, Result};
use probe_bench::folders;
use probe_bench::subjects::trees;
use probe_core::{Model, NoiseOn, Rows, Setup};
use probe_experiments::paper_data::{HELOC, PAPER_DATA, PaperData};
use std::sync::Arc;

/// Training rows that methods which need data are given.
const REFERENCE: usize = 2_000;

/// All data sets.
pub(super) fn data() -> impl Iterator<Item = &'static PaperData> {
    PAPER_DATA.iter().chain([&HELOC])
}

/// Kinds of models.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Linear,
    Network,
    Boosted,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Linear, Self::Network, Self::Boosted];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Network => "network",
            Self::Boosted => "boosted",
        }
    }
}

/// A model and whom it denies.
pub(super) struct Subject {
    pub(super) model: Arc<dyn Model>,
    pub(super) names: Vec<String>,
    /// Which columns may change.
    pub(super) free: Vec<bool>,
    people: Vec<f64>,
    reference: Arc<[f64]>,
}

impl Subject {
    pub(super) fn load(data: &PaperData, kind: Kind, most: usize) -> Result<Self> {
        let encoded = data.load(&folders::data(), SEED).with_context(|| {
            format!("{} is not to be had; PROBE_DATA_DIR names the folder", data.file)
        })?;
        let model: Arc<dyn Model> = match kind {
            Kind::Linear => Arc::new(data.train_logistic(&encoded, SEED)?),
            Kind::Network => Arc::new(data.train_network(&encoded, SEED)?),
            Kind::Boosted => Arc::new(trees::boosting(&encoded)?),
        };
        let d = encoded.names.len();
        let (train, _) = encoded.part(&encoded.split.train);
        let rows = train.len() / d;
        let n = REFERENCE.min(rows);
        let reference: Vec<f64> =
            (0..n).flat_map(|i| &train[i * rows / n * d..][..d]).copied().collect();
        Ok(Self {
            people: encoded.denied(&*model, most)?,
            model,
            free: encoded.names.iter().map(|name| may_change(name)).collect(),
            names: encoded.names,
            reference: reference.into(),
        })
    }

    pub(super) fn people(&self) -> Result<Rows<'_>> {
        Ok(Rows::new(&self.people, self.names.len())?)
    }

    /// The question that every method is asked.
    pub(super) fn setup(&self) -> Result<Setup> {
        let mut setup = Setup::new(Arc::clone(&self.model), self.names.clone(), None, SIGMA)?;
        setup.max_rate = RATE;
        setup.seed = SEED;
        setup.reference = Some(Arc::clone(&self.reference));
        setup.noise_on = NoiseOn::Mutable;
        setup.actions.intersect(0.0, 1.0)?;
        for (j, _) in self.free.iter().enumerate().filter(|(_, free)| !**free) {
            setup.actions.fix(j);
        }
        Ok(setup)
    }
}

/// Numbers may change, but for age; columns of categories are named `feature=value`.
fn may_change(name: &str) -> bool {
    !name.contains('=') && name != "age"
}
