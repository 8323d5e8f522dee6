//! Ctrl-C and its kin: no half-written file, no temporary file, and an exit status of 128 and the
//! signal's number, as shells have it.
//!
//! While an output is open ([`holding_output`]) the signal is noted first, and whoever writes stops
//! soon and cleans up. Who has not after [`GRACE`], or when the signal comes again, is not waited
//! for. At any other time there is nothing to clean up, and the process ends at once.

use crate::printer::Printer;
use probe_io::{Error, abandon_outputs};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

/// How long work may take to stop by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Number of the signal of Ctrl-C.
const INTERRUPT: u8 = 2;

/// Set by the signal.
pub(crate) static CANCELLED: AtomicBool = AtomicBool::new(false);
/// Its number.
static SIGNAL: AtomicU8 = AtomicU8::new(INTERRUPT);
/// How many outputs are open.
static HOLDING: AtomicUsize = AtomicUsize::new(0);
/// Whether an output was written to its end.
static WRITTEN: AtomicBool = AtomicBool::new(false);
/// Whether somebody has said that the run was interrupted, and ends it.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Starts listening; before any thread is started. Failing to listen only makes Ctrl-C abrupt.
#[cfg(unix)]
pub(crate) fn listen() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .for_each(|signal| signals.add(signal));
    // Held back in this thread and in those that it starts, and waited for in one of their own: so
    // that it is known which one it was.
    if signals.thread_block().is_err() {
        return;
    }
    let wait = move || {
        while let Ok(signal) = signals.wait() {
            stop(u8::try_from(signal as i32).unwrap_or(INTERRUPT));
        }
    };
    if std::thread::Builder::new().name("signals".to_owned()).spawn(wait).is_err() {
        let _ = signals.thread_unblock();
    }
}

/// Starts listening. Failing to listen only makes Ctrl-C abrupt.
#[cfg(not(unix))]
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| stop(INTERRUPT));
}

/// Ends the process, or has whoever writes end it.
fn stop(signal: u8) {
    SIGNAL.store(signal, Ordering::SeqCst);
    let again = CANCELLED.swap(true, Ordering::SeqCst);
    if again || HOLDING.load(Ordering::SeqCst) == 0 {
        end();
    }
    let late = || {
        std::thread::sleep(GRACE);
        end();
    };
    if std::thread::Builder::new().name("grace".to_owned()).spawn(late).is_err() {
        end();
    }
}

/// Ends the process without waiting for anybody; unfinished files are removed.
fn end() {
    abandon_outputs();
    say(&Printer::new(false));
    std::process::exit(status().into());
}

/// Fails once the signal came; for loops whose steps take long.
pub(crate) fn check() -> anyhow::Result<()> {
    if CANCELLED.load(Ordering::Relaxed) { Err(Error::Cancelled.into()) } else { Ok(()) }
}

/// An output is open for as long as this lives; whoever has it looks at [`CANCELLED`] or is short.
#[derive(Debug)]
pub(crate) struct Hold(());

impl Hold {
    /// Fails if the signal came before.
    pub(crate) fn new() -> anyhow::Result<Self> {
        HOLDING.fetch_add(1, Ordering::SeqCst);
        let hold = Self(());
        check().map(|()| hold)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        HOLDING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs `work`, which writes an output and looks at [`CANCELLED`] or is short. Fails at once if the
/// signal came before.
pub(crate) fn holding_output<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let _hold = Hold::new()?;
    let done = work()?;
    WRITTEN.store(true, Ordering::SeqCst);
    Ok(done)
}

/// Says so, and gives the exit status.
pub(crate) fn tell(printer: &Printer) -> ExitCode {
    say(printer);
    ExitCode::from(status())
}

fn say(printer: &Printer) {
    if TOLD.swap(true, Ordering::SeqCst) {
        return;
    }
    printer.error(if WRITTEN.load(Ordering::SeqCst) {
        "interrupted; what was written before is whole, the rest is missing"
    } else {
        "interrupted; no output file was written"
    });
}

fn status() -> u8 {
    128 + SIGNAL.load(Ordering::SeqCst)
}
