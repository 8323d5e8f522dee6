//! Handles Ctrl-C and similar signals: they leave no partial and no temporary file. The exit status
//! is 128 plus the signal's number, as in shells.
//!
//! While an output is open ([`holding_output`]), the signal first sets a flag. The writer checks
//! it, stops soon and cleans up. After [`GRACE`], or when the signal comes again, the process ends
//! without waiting for it. Otherwise there is nothing to clean up, and the process ends at once.

use crate::printer::Printer;
use probe_io::{Error, abandon_outputs};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

/// How long work may take to stop by itself.
const GRACE: Duration = Duration::from_secs(2);
/// Number of the signal of Ctrl-C.
const INTERRUPT: u8 = 2;

/// Whether a signal has arrived.
pub(crate) static CANCELLED: AtomicBool = AtomicBool::new(false);
/// Number of the signal.
static SIGNAL: AtomicU8 = AtomicU8::new(INTERRUPT);
/// How many outputs are open.
static HOLDING: AtomicUsize = AtomicUsize::new(0);
/// Whether an output was written to its end.
static WRITTEN: AtomicBool = AtomicBool::new(false);
/// What the first signal calls instead of ending the process.
static SERVICE: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();
/// Whether some thread has reported the interruption, and will end the process.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Starts to listen for signals. Call it before any thread is started. If it fails, Ctrl-C ends the
/// process without cleaning up.
#[cfg(unix)]
pub(crate) fn listen() {
    use nix::sys::signal::{SigSet, Signal};
    let mut signals = SigSet::empty();
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]
        .into_iter()
        .for_each(|signal| signals.add(signal));
    // Blocks the signals in this thread and in all threads that it starts. A separate thread waits
    // for them, and so gets the number of the signal.
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

/// Starts to listen for Ctrl-C. If it fails, Ctrl-C ends the process without cleaning up.
#[cfg(not(unix))]
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| stop(INTERRUPT));
}

/// From now on, the first signal calls `stop` instead of ending the process. For a service, which
/// ends by itself then.
pub(crate) fn on_signal(stop: impl Fn() + Send + Sync + 'static) {
    let _ = SERVICE.set(Box::new(stop));
}

/// Ends the process or, while an output is open, tells its writer to stop.
fn stop(signal: u8) {
    SIGNAL.store(signal, Ordering::SeqCst);
    let again = CANCELLED.swap(true, Ordering::SeqCst);
    if let Some(stop) = SERVICE.get().filter(|_| !again) {
        stop();
        return;
    }
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

/// Ends the process without waiting for other threads; unfinished files are removed.
fn end() {
    abandon_outputs();
    say(&Printer::new(false));
    std::process::exit(status().into());
}

/// Fails after a signal. For loops with long steps.
pub(crate) fn check() -> anyhow::Result<()> {
    if CANCELLED.load(Ordering::Relaxed) { Err(Error::Cancelled.into()) } else { Ok(()) }
}

/// An output is open as long as this value exists. Its owner checks [`CANCELLED`] or ends soon.
#[derive(Debug)]
pub(crate) struct Hold(());

impl Hold {
    /// Fails if a signal arrived before.
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

/// Runs `work`, which writes an output and checks [`CANCELLED`] or ends soon. Fails at once if a
/// signal arrived before.
pub(crate) fn holding_output<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let _hold = Hold::new()?;
    let done = work()?;
    WRITTEN.store(true, Ordering::SeqCst);
    Ok(done)
}

/// Prints that the command was interrupted, and returns the exit status.
pub(crate) fn tell(printer: &Printer) -> ExitCode {
    say(printer);
    ExitCode::from(status())
}

fn say(printer: &Printer) {
    if TOLD.swap(true, Ordering::SeqCst) {
        return;
    }
    printer.error(if WRITTEN.load(Ordering::SeqCst) {
        "interrupted; outputs that were finished before are complete, the others are missing"
    } else {
        "interrupted; no output file was written"
    });
}

fn status() -> u8 {
    128 + SIGNAL.load(Ordering::SeqCst)
}
