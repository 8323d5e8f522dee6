//! Ctrl-C and its kin: no half-written file, no temporary file, exit status 130.
//!
//! While an output is open ([`holding_output`]) the signal is only noted, and whoever writes stops soon and cleans up. At
//! any other time there is nothing to clean up, and the process ends at once.

use crate::printer::Printer;
use probe_io::Error;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Exit status after an interrupt, as shells have it.
const STATUS: u8 = 130;

/// Set by the signal.
pub(crate) static CANCELLED: AtomicBool = AtomicBool::new(false);
/// How many outputs are open.
static HOLDING: AtomicUsize = AtomicUsize::new(0);

/// Starts listening. Failing to listen only makes Ctrl-C abrupt.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        CANCELLED.store(true, Ordering::SeqCst);
        if HOLDING.load(Ordering::SeqCst) == 0 {
            tell(&Printer::new(false));
            std::process::exit(STATUS.into());
        }
    });
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

/// Runs `work`, which opens an output and looks at [`CANCELLED`] or is short. Fails at once if the signal came before.
pub(crate) fn holding_output<T>(work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
    let _hold = Hold::new()?;
    work()
}

/// Says so, and gives the exit status.
pub(crate) fn tell(printer: &Printer) -> ExitCode {
    printer.error("interrupted; no output file was written");
    ExitCode::from(STATUS)
}
