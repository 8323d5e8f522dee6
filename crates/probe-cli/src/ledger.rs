//! What `--audit` keeps of a run: a record for each answer, in the order of the rows, whichever thread made it.

use anyhow::{Context as _, Result};
use probe_io::{AuditTrail, Chain};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

/// Records on their way to the trail.
pub(crate) struct Ledger(Mutex<Waiting>);

struct Waiting {
    trail: AuditTrail,
    /// Records by the first row of their chunk.
    records: BTreeMap<u64, Vec<Value>>,
    /// The first fault; nothing is written then.
    fault: Option<anyhow::Error>,
}

impl Ledger {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let trail = AuditTrail::open(path).context("--audit")?;
        Ok(Self(Mutex::new(Waiting { trail, records: BTreeMap::new(), fault: None })))
    }

    /// Takes the records of the chunk that starts at this row.
    pub(crate) fn note(&self, first_row: u64, records: Vec<Value>) {
        if let Ok(mut waiting) = self.0.lock() {
            waiting.records.insert(first_row, records);
        }
    }

    /// Passes on what belongs to the first `rows` rows, which are written.
    pub(crate) fn pass(&self, rows: u64) {
        let Ok(mut waiting) = self.0.lock() else { return };
        while let Some(entry) = waiting.records.first_entry().filter(|entry| *entry.key() < rows) {
            for record in entry.remove() {
                if let Err(error) = waiting.trail.push(&record) {
                    waiting.fault.get_or_insert(error.into());
                }
            }
        }
    }

    /// Appends the records to the file.
    pub(crate) fn commit(self) -> Result<Chain> {
        self.pass(u64::MAX);
        let waiting = self.0.into_inner().map_err(|_| anyhow::anyhow!("--audit: a worker failed"))?;
        match waiting.fault {
            Some(fault) => Err(fault.context("--audit")),
            None => waiting.trail.commit().context("--audit"),
        }
    }
}
