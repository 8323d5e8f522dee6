//! The engine, asked in several ways.

use anyhow::Result;
use probe_core::{Answer, Engine, Rows, SearchEffort, Seed, Setup, Status};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Engines that are kept.
const KEPT: usize = 64;

/// How to ask.
#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) r: f64,
    pub(super) seed: u64,
    pub(super) effort: SearchEffort,
    /// Columns that may not change, on top of what the subject says.
    pub(super) frozen: Vec<usize>,
}

/// Engines for one subject, by the way in which they are asked.
pub(super) struct Engines<'a> {
    setup: &'a Setup,
    kept: Mutex<BTreeMap<String, Arc<Engine>>>,
}

impl<'a> Engines<'a> {
    pub(super) fn new(setup: &'a Setup) -> Self {
        Self { setup, kept: Mutex::new(BTreeMap::new()) }
    }

    pub(super) fn answer(&self, way: &Way, person: &[f64]) -> Result<Answer> {
        let engine = self.engine(way)?;
        let mut answers = [Answer::new(person.len())];
        engine.recourse_into(Rows::single(person), &mut answers)?;
        let [answer] = answers;
        Ok(answer)
    }

    fn engine(&self, way: &Way) -> Result<Arc<Engine>> {
        let name = format!("{way:?}");
        if let Ok(kept) = self.kept.lock()
            && let Some(engine) = kept.get(&name)
        {
            return Ok(Arc::clone(engine));
        }
        let mut setup = self.setup.clone();
        (setup.max_rate, setup.seed, setup.effort) = (way.r, Seed(way.seed), way.effort);
        way.frozen.iter().for_each(|&j| setup.actions.fix(j));
        let engine = Arc::new(Engine::new(setup)?);
        if let Ok(mut kept) = self.kept.lock() {
            if kept.len() >= KEPT {
                kept.clear();
            }
            kept.insert(name, Arc::clone(&engine));
        }
        Ok(engine)
    }
}

/// The cost of an answer with a certificate.
pub(super) fn certified(answer: &Answer) -> Option<f64> {
    answer.cost.filter(|_| answer.status == Status::Certified)
}
