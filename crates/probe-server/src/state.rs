//! What all requests share.

use crate::audit::Audit;
use crate::auth::Tokens;
use crate::cache::Cache;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::pool::Pool;
use anyhow::Result;
use probe_service::Stop;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What all requests share.
pub struct State {
    /// Settings.
    pub config: Config,
    /// What is served.
    pub models: Models,
    pub(crate) pool: Pool,
    pub(crate) cache: Cache,
    pub(crate) metrics: Metrics,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) audit: Option<Audit>,
    draining: AtomicBool,
    running: Mutex<BTreeMap<u64, Arc<Stop>>>,
    next: AtomicU64,
}

impl State {
    /// Reads the files that `config` names and starts the threads that compute.
    pub fn new(config: Config, models: Models) -> Result<Arc<Self>> {
        // Wrong defaults are an error now and not with each request.
        probe_service::Request::from_json(&serde_json::to_string(&config.defaults)?)?.check()?;
        Ok(Arc::new(Self {
            pool: Pool::new(config.threads.max(1), config.queue)?,
            cache: Cache::new(config.prepared),
            metrics: Metrics::default(),
            tokens: config.token_file.as_deref().map(Tokens::read).transpose()?,
            audit: config.audit.as_deref().map(Audit::open).transpose()?,
            draining: AtomicBool::new(false),
            running: Mutex::default(),
            next: AtomicU64::new(0),
            models,
            config,
        }))
    }

    /// From now on, new requests are answered 503.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Whether the service is about to end.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Ends all work; the requests are answered 503.
    pub fn cancel(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.values().for_each(|stop| stop.cancel());
    }

    /// Looks at the folder of models again.
    pub fn refresh(&self) {
        if self.models.refresh() {
            let snapshot = self.models.snapshot();
            self.cache.keep(|version| snapshot.models().any(|model| model.version == version));
        }
    }

    /// Number of requests whose answers are being computed.
    pub(crate) fn n_running(&self) -> usize {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// The work of a request. It ends when this is dropped: when the client has gone away.
pub(crate) struct Work {
    pub(crate) stop: Arc<Stop>,
    state: Arc<State>,
    number: u64,
}

impl Work {
    pub(crate) fn new(state: &Arc<State>) -> Self {
        let (stop, state) = (Arc::new(Stop::default()), Arc::clone(state));
        let number = state.next.fetch_add(1, Ordering::Relaxed);
        let mut running = state.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(number, Arc::clone(&stop));
        drop(running);
        Self { stop, state, number }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.stop.cancel();
        self.state.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.number);
    }
}
