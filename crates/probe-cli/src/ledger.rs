//! The records of `--audit`: one per answer, in the order of the rows, from any number of threads.

use anyhow::{Context as _, Result};
use probe_io::{AuditTrail, Chain};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Items that wait for their turn, by the first row of their chunk.
#[derive(Debug)]
pub(crate) struct Queue<T>(BTreeMap<u64, T>);

impl<T> Queue<T> {
    pub(crate) fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds the item of the chunk that starts at this row.
    pub(crate) fn put(&mut self, first_row: u64, thing: T) {
        self.0.insert(first_row, thing);
    }

    /// The next item of the first `rows` rows.
    pub(crate) fn next_before(&mut self, rows: u64) -> Option<T> {
        self.0.first_entry().filter(|entry| *entry.key() < rows).map(|entry| entry.remove())
    }
}

/// Records that wait to be written in order.
pub(crate) struct Ledger(Mutex<Waiting>);

struct Waiting {
    trail: AuditTrail,
    records: Queue<Vec<Value>>,
    /// The first fault; nothing is written then.
    fault: Option<anyhow::Error>,
}

impl Ledger {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let trail = AuditTrail::open(path).context("--audit")?;
        Ok(Self(Mutex::new(Waiting { trail, records: Queue::new(), fault: None })))
    }

    /// Takes the records of the chunk that starts at this row.
    pub(crate) fn note(&self, first_row: u64, records: Vec<Value>) {
        if let Ok(mut waiting) = self.0.lock() {
            waiting.records.put(first_row, records);
        }
    }

    /// Passes on the records of the first `rows` rows, which have been written.
    pub(crate) fn pass(&self, rows: u64) {
        let Ok(mut waiting) = self.0.lock() else { return };
        while let Some(records) = waiting.records.next_before(rows) {
            for record in records {
                if let Err(error) = waiting.trail.push(&record) {
                    waiting.fault.get_or_insert(error.into());
                }
            }
        }
    }

    /// Appends the records to the file.
    pub(crate) fn commit(self) -> Result<Chain> {
        self.pass(u64::MAX);
        let waiting =
            self.0.into_inner().map_err(|_| anyhow::anyhow!("--audit: a worker failed"))?;
        match waiting.fault {
            Some(fault) => Err(fault.context("--audit")),
            None => waiting.trail.commit().context("--audit"),
        }
    }
}
