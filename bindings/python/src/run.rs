//! Work without the interpreter's lock, with progress and interrupts.

use crate::error::raise;
use probe_io::{Batch, Batches, Chunk, Chunks, Field, Job, TableWriter, run_pipeline};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often the interpreter is checked for interrupts.
const PATIENCE: Duration = Duration::from_millis(50);

/// Whether work is to stop.
pub(crate) type Cancel = Arc<AtomicBool>;

thread_local! {
    /// The flag of this thread's current work.
    static CANCEL: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

/// Whether this thread's work is to stop. Used by Python functions, which are called many times per
/// person.
pub(crate) fn is_cancelled() -> bool {
    CANCEL
        .with_borrow(|cancel| cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed)))
}

/// Runs `work` over all chunks of `reader` and gives the table that it makes, with columns
/// `fields`. `progress` is called with the number of rows done.
pub(crate) fn stream<S>(
    py: Python<'_>,
    (reader, fields, threads): (Chunks, Vec<Field>, usize),
    progress: Option<Py<PyAny>>,
    cancelled: &Cancel,
    scratch: impl Fn() -> S + Sync,
    work: impl for<'c> Fn(&mut S, &'c Chunk) -> anyhow::Result<Batch<'c>> + Sync,
) -> PyResult<PyTable> {
    let batches = Batches::default();
    let (writer, schema) =
        TableWriter::create_arrow(fields, batches.clone()).map_err(|error| raise(error.into()))?;
    run(py, (reader, writer, threads), progress, cancelled, scratch, work)?;
    let batches =
        std::mem::take(&mut *batches.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    PyTable::try_new(batches, schema)
}

/// The same for work that stores its own results.
pub(crate) fn each<S>(
    py: Python<'_>,
    (reader, threads): (Chunks, usize),
    progress: Option<Py<PyAny>>,
    cancelled: &Cancel,
    scratch: impl Fn() -> S + Sync,
    work: impl Fn(&mut S, &Chunk) -> anyhow::Result<()> + Sync,
) -> PyResult<()> {
    let (writer, _) = TableWriter::create_arrow(Vec::new(), Batches::default())
        .map_err(|error| raise(error.into()))?;
    run(py, (reader, writer, threads), progress, cancelled, scratch, |space, chunk| {
        work(space, chunk)?;
        Ok(Batch::Columns(Vec::new()))
    })
}

fn run<S>(
    py: Python<'_>,
    (reader, writer, threads): (Chunks, TableWriter, usize),
    progress: Option<Py<PyAny>>,
    cancelled: &Cancel,
    scratch: impl Fn() -> S + Sync,
    work: impl for<'c> Fn(&mut S, &'c Chunk) -> anyhow::Result<Batch<'c>> + Sync,
) -> PyResult<()> {
    let done = AtomicU64::new(0);
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (finished, wait) = channel();
            let worker = scope.spawn(|| {
                // Dropped when the work ends, also if it panics.
                let _finished = finished;
                let job = Job { reader, writer, threads, cancelled };
                let scratch = || {
                    CANCEL.set(Some(Arc::clone(cancelled)));
                    scratch()
                };
                run_pipeline(job, scratch, &work, |rows| done.store(rows, Ordering::Relaxed))
            });
            let mut interrupted = None;
            let mut told = 0;
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(PATIENCE) as Result<(), _>
            {
                let rows = done.load(Ordering::Relaxed);
                let heard = Python::attach(|py| {
                    py.check_signals()?;
                    match &progress {
                        Some(progress) if rows > told => progress.call1(py, (rows,)).map(drop),
                        _ => Ok(()),
                    }
                });
                told = rows;
                if let Err(error) = heard {
                    cancelled.store(true, Ordering::Relaxed);
                    interrupted.get_or_insert(error);
                }
            }
            match (interrupted, worker.join()) {
                (Some(error), _) => Err(error),
                (None, Ok(result)) => result.map_err(raise),
                (None, Err(panic)) => std::panic::resume_unwind(panic),
            }
        })
    });
    let summary = result?;
    if let Some(progress) = &progress {
        progress.call1(py, (summary.rows_in,))?;
    }
    Ok(())
}
