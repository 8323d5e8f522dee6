//! Audit records of many requests: one thread writes them, and waits for the disk once for all that
//! came in meanwhile.

use crate::problem::Problem;
use anyhow::{Context as _, Result};
use probe_io::AuditLog;
use serde_json::Value;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use tokio::sync::oneshot;

/// Requests that may wait for the disk; more are turned away.
const WAITING: usize = 4096;

/// Where records go.
#[derive(Debug)]
pub(crate) struct Audit(SyncSender<Entry>);

struct Entry {
    records: Vec<Vec<u8>>,
    done: oneshot::Sender<bool>,
}

impl Audit {
    /// Opens the file and starts the thread, which ends with the last sender.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (log, recovered) = AuditLog::open(path).context("audit")?;
        if recovered.removed > 0 {
            tracing::warn!(
                bytes = recovered.removed,
                "removed an incomplete record from the audit file; it was never acknowledged"
            );
        }
        tracing::info!(records = recovered.records, "audit file");
        let (sender, receiver) = sync_channel(WAITING);
        std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || write(log, &receiver))?;
        Ok(Self(sender))
    }

    /// Waits until the records are on the disk.
    pub(crate) async fn record(&self, records: &[Value]) -> Result<(), Problem> {
        if records.is_empty() {
            return Ok(());
        }
        let refused = || Problem::unavailable("the audit file cannot be written");
        let records = records.iter().map(|record| record.to_string().into_bytes()).collect();
        let (done, wait) = oneshot::channel();
        match self.0.try_send(Entry { records, done }) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => return Err(refused()),
        }
        match wait.await {
            Ok(true) => Ok(()),
            _ => Err(refused()),
        }
    }
}

fn write(mut log: AuditLog, receiver: &Receiver<Entry>) {
    while let Ok(first) = receiver.recv() {
        let mut group = vec![first];
        group.extend(receiver.try_iter().take(WAITING));
        let records = group.iter().flat_map(|entry| &entry.records).map(Vec::as_slice);
        let written = log.append(records);
        if let Err(error) = &written {
            tracing::error!(%error, requests = group.len(), "audit records were not written");
        }
        for entry in group {
            let _ = entry.done.send(written.is_ok());
        }
    }
}
