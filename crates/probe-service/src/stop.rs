//! When work is to stop before it is done.

use std::sync::atomic::{AtomicBool, Ordering};

/// Stops work: because nobody wants it any more, or because its time is up.
#[derive(Debug, Default)]
pub struct Stop {
    ended: AtomicBool,
    late: AtomicBool,
}

impl Stop {
    /// Ends the work with an error.
    pub fn cancel(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Ends searches: people who are not answered yet get the reason `search-limit`.
    pub fn time_is_up(&self) {
        self.late.store(true, Ordering::SeqCst);
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Whether work is to end, for whichever reason.
    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Whether time is up.
    pub fn is_late(&self) -> bool {
        self.late.load(Ordering::SeqCst)
    }

    /// The flag that long work checks.
    pub fn flag(&self) -> &AtomicBool {
        &self.ended
    }
}

/// Whether an error is that of work that was stopped.
pub(crate) fn is_stopped(error: &probe_core::Error) -> bool {
    matches!(error, probe_core::Error::Cancelled)
}
