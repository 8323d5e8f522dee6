//! Prepared questions, kept for the next request that asks the same: preparing a network's engine
//! takes longer than many answers.

use probe_service::Question;
use std::sync::{Arc, Mutex, PoisonError};

/// What a prepared question depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Version of the model.
    pub(crate) version: u64,
    /// What is asked.
    pub(crate) ask: &'static str,
    /// Language of letters.
    pub(crate) language: String,
    /// The request, as JSON.
    pub(crate) request: String,
}

/// A question that is prepared once, by the first who asks.
type Slot = Arc<Mutex<Option<Arc<Question>>>>;

/// The questions that were asked last.
pub(crate) struct Cache {
    /// Least recently used first.
    slots: Mutex<Vec<(Key, Slot)>>,
    most: usize,
}

impl Cache {
    pub(crate) fn new(most: usize) -> Self {
        Self { slots: Mutex::new(Vec::new()), most: most.max(1) }
    }

    /// The question of `key`, prepared by `prepare` unless it is there. Others who ask the same
    /// meanwhile wait for it. A failure is not kept.
    pub(crate) fn get<E>(
        &self,
        key: Key,
        prepare: impl FnOnce() -> Result<Question, E>,
    ) -> Result<Arc<Question>, E> {
        let slot = self.slot(key);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(question) = &*slot {
            return Ok(Arc::clone(question));
        }
        let question = Arc::new(prepare()?);
        *slot = Some(Arc::clone(&question));
        Ok(question)
    }

    fn slot(&self, key: Key) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match slots.iter().position(|(other, _)| *other == key) {
            Some(at) => slots.remove(at),
            None => {
                if slots.len() >= self.most {
                    slots.remove(0);
                }
                (key, Slot::default())
            }
        };
        let slot = Arc::clone(&found.1);
        slots.push(found);
        slot
    }

    /// Forgets questions about versions that are not served any more.
    pub(crate) fn keep(&self, is_served: impl Fn(u64) -> bool) {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|(key, _)| is_served(key.version));
    }
}
