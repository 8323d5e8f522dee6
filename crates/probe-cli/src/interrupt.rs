//! Ctrl-C and its kin: no half-written file, no temporary file, exit status 130.
//!
//! While an output is open ([`holding_output`]) the signal is only noted, and whoever writes stops soon and cleans up. At
//! any other time there is nothing to clean up, and the process ends at once.

use crate::printer::Printer;
use probe_io::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

/// Exit status after an interrupt, as shells have it.
const STATUS: u8 = 130;

/// Set by the signal.
pub(crate) static CANCELLED: AtomicBool = AtomicBool::new(false);
/// Whether an output is open.
static HOLDING: AtomicBool = AtomicBool::new(false);

/// Starts listening. Failing to listen only makes Ctrl-C abrupt.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        CANCELLED.store(true, Ordering::SeqCst);
        if !HOLDING.load(Ordering::SeqCst) {
            tell(&Printer::new(false));
            std::process::exit(STATUS.into());
        }
    });
}

/// Fails once the signal came; for loops whose steps take long.
pub(crate) fn check() -> anyhow::Result<()> {
    if CANCELLED.load(Ordering::Relaxed) { Err(Error::Cancelled.into()) } else { Ok(()) }
}

/// Runs `work`, which opens an output and looks at [`CANCELLED`] or is short. Fails at once if the signal came before.
pub(crate) fn holding_output<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    HOLDING.store(true, Ordering::SeqCst);
    let done = if CANCELLED.load(Ordering::SeqCst) { Err(Error::Cancelled.into()) } else { work() };
    HOLDING.store(false, Ordering::SeqCst);
    done
}

/// Says so, and gives the exit status.
pub(crate) fn tell(printer: &Printer) -> ExitCode {
    printer.error("interrupted; no output file was written");
    ExitCode::from(STATUS)
}
