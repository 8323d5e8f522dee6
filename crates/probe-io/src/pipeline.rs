//! One reader, many workers, one writer: rows are written in input order, and memory does not grow
//! with the table.
//!
//! The reader cuts the input into chunks, the workers decode, process and encode them, and the
//! calling thread writes. At most a fixed number of chunks is in flight, so that a fast reader
//! waits for the writer. No thread waits for a reader that is blocked on input: a run that is
//! cancelled or has failed ends at once, even if standard input is still open.

use crate::error::{Error, Result};
use crate::output::{Batch, Encoded, TableWriter};
use crate::table::{Chunk, Chunks, RawChunk};
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::time::Duration;

/// How often a waiting writer checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(50);

/// The input, the output and the settings of a pipeline.
#[derive(Debug)]
pub struct Job<'a> {
    /// The source of the rows.
    pub reader: Chunks,
    /// The destination of the rows.
    pub writer: TableWriter,
    /// Number of workers; 0 for one per core.
    pub threads: usize,
    /// Set by the caller to stop between chunks; long work may check it too.
    pub cancelled: &'a AtomicBool,
}

/// Counts of rows of a finished pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Input rows.
    pub rows_in: u64,
    /// Output rows.
    pub rows_out: u64,
}

/// The number of a chunk, and its result.
struct Done<E> {
    number: u64,
    result: Result<(usize, Encoded), E>,
}

/// Runs `work` on every chunk, with a scratch space per worker, and writes its batches in the order
/// of the input. `progress` is called with the number of finished input rows. The output is the
/// same for any number of workers. If several rows fail, the error of the first one is returned. On
/// any error or cancellation no output is left.
///
/// Pass `work` as a function or as a closure written in the call. For a closure that is bound to a
/// variable first, the compiler infers the lifetime of a single chunk.
pub fn run_pipeline<S, E>(
    job: Job<'_>,
    scratch: impl Fn() -> S + Sync,
    work: impl for<'c> Fn(&mut S, &'c Chunk) -> Result<Batch<'c>, E> + Sync,
    mut progress: impl FnMut(u64),
) -> Result<Summary, E>
where
    E: From<Error> + Send,
{
    let Job { mut reader, mut writer, threads, cancelled } = job;
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, NonZero::get),
        n => n,
    };
    let in_flight = 2 * threads + 2;
    let (permit_sender, permits) = sync_channel::<()>(in_flight);
    let (chunk_sender, chunks) = sync_channel::<(u64, Result<RawChunk>)>(in_flight);
    let (done_sender, done) = channel::<Done<E>>();
    for _ in 0..in_flight {
        // The channel holds exactly this many.
        let _ = permit_sender.send(());
    }
    let chunks = Mutex::new(chunks);
    let encoder = writer.encoder();
    // This must not be a thread of the scope, because the scope waits for its threads, and this one
    // may be blocked in a read that never returns.
    let reading = std::thread::spawn(move || {
        for number in 0.. {
            // Both channels close when the writer stops early.
            if permits.recv().is_err() {
                return;
            }
            let Some(raw) = reader.next_raw().transpose() else { return };
            let last = raw.is_err();
            if chunk_sender.send((number, raw)).is_err() || last {
                return;
            }
        }
    });
    let stopped = AtomicBool::new(false);
    let summary = std::thread::scope(|scope| -> Result<Summary, E> {
        for _ in 0..threads {
            let (done_sender, chunks, encoder) = (done_sender.clone(), &chunks, encoder.clone());
            let (scratch, work, stopped) = (&scratch, &work, &stopped);
            scope.spawn(move || {
                let mut space = scratch();
                while let Some((number, raw)) = take(chunks, stopped) {
                    if cancelled.load(Ordering::Relaxed) {
                        return;
                    }
                    let alarm = Alarm(&done_sender, number);
                    let result = raw.map_err(E::from).and_then(|raw| {
                        let (chunk, late) = raw.decode();
                        let batch = work(&mut space, &chunk)?;
                        let encoded = encoder.encode(&batch)?;
                        // Rows before a faulty one are processed first: their errors come first.
                        late.map_or(Ok((chunk.n_rows(), encoded)), |error| Err(error.into()))
                    });
                    std::mem::forget(alarm);
                    if done_sender.send(Done { number, result }).is_err() {
                        return;
                    }
                }
            });
        }
        drop(done_sender);
        // Moved in, so that leaving early closes the channels and every thread ends.
        let (done, permit_sender, _stop) = (done, permit_sender, Stop(&stopped));
        let mut waiting = BTreeMap::new();
        let mut rows_in = 0;
        let mut next = 0;
        loop {
            if cancelled.load(Ordering::Relaxed) {
                return Err(Error::Cancelled.into());
            }
            match done.recv_timeout(PATIENCE) {
                Ok(finished) => {
                    waiting.insert(finished.number, finished.result);
                }
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            }
            while let Some(result) = waiting.remove(&next) {
                let (n_rows, encoded) = result?;
                writer.write(encoded)?;
                next += 1;
                rows_in += n_rows as u64;
                progress(rows_in);
                // This fails only if the reader has ended, and then no permit is needed.
                let _ = permit_sender.try_send(());
            }
        }
        Ok(Summary { rows_in, rows_out: writer.rows() })
    })?;
    if cancelled.load(Ordering::Relaxed) {
        return Err(Error::Cancelled.into());
    }
    // The reader has ended. If it panicked, rows are missing.
    if let Err(panic) = reading.join() {
        std::panic::resume_unwind(panic);
    }
    writer.finish()?;
    Ok(summary)
}

/// The next chunk for a worker; `None` at the end, or if the run has stopped.
fn take(
    chunks: &Mutex<Receiver<(u64, Result<RawChunk>)>>,
    stopped: &AtomicBool,
) -> Option<(u64, Result<RawChunk>)> {
    while !stopped.load(Ordering::Relaxed) {
        match chunks.lock().ok()?.recv_timeout(PATIENCE) {
            Ok(chunk) => return Some(chunk),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
    None
}

/// When dropped, tells the workers that the writer has ended.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Dropped only if a worker panics: tells the writer to stop, because it would otherwise wait for
/// this chunk forever.
struct Alarm<'a, E: From<Error>>(&'a Sender<Done<E>>, u64);

impl<E: From<Error>> Drop for Alarm<'_, E> {
    fn drop(&mut self) {
        let _ = self.0.send(Done { number: self.1, result: Err(Error::Cancelled.into()) });
    }
}
