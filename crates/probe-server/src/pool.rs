//! Threads that compute, apart from those that read and write. Work waits in a bounded queue.

use crate::problem::Problem;
use axum::http::StatusCode;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

type Job = Box<dyn FnOnce() + Send>;

/// The threads and their queue. They end when the pool is dropped.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
    threads: usize,
    n_places: usize,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<(VecDeque<Job>, bool)>,
    wake: Condvar,
    /// Typical time of a job in nanoseconds, a moving average.
    typical: AtomicU64,
}

/// A place in the queue.
pub(crate) struct Place(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

impl Pool {
    /// Starts `threads` threads, with room for `queue` jobs that wait.
    pub(crate) fn new(threads: usize, queue: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let n_places = threads + queue;
        for k in 0..threads {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new().name(format!("engine-{k}")).spawn(move || shared.work())?;
        }
        Ok(Self { shared, places: Arc::new(Semaphore::new(n_places)), threads, n_places })
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Jobs that wait or run.
    pub(crate) fn load(&self) -> usize {
        self.n_places - self.places.available_permits()
    }

    /// A place in the queue, if there is one.
    pub(crate) fn try_place(&self) -> Result<Place, Problem> {
        Arc::clone(&self.places).try_acquire_owned().map(Place).map_err(|_| {
            let typical = self.shared.typical.load(Ordering::Relaxed) as f64 / 1e9;
            let wait = typical * self.n_places as f64 / self.threads as f64;
            Problem {
                retry_after: Some(wait.ceil().clamp(1.0, 60.0) as u64),
                ..Problem::new(
                    StatusCode::TOO_MANY_REQUESTS,
                    "the queue is full; Retry-After says when to ask again",
                )
            }
        })
    }

    /// Waits for a place in the queue.
    pub(crate) async fn place(&self) -> Result<Place, Problem> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        place.map(Place).map_err(|_| Problem::unavailable("the service is shutting down"))
    }

    /// Runs `work` on a thread of the pool. If nobody waits for the result any more when its turn
    /// comes, it is left out.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        let (sender, receiver) = oneshot::channel();
        self.shared.push(Box::new(move || {
            let _place = place;
            if sender.is_closed() {
                return;
            }
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
                let what = panic
                    .downcast_ref::<String>()
                    .map(String::as_str)
                    .or_else(|| panic.downcast_ref::<&str>().copied())
                    .unwrap_or("no message");
                tracing::error!(panic = what, "work failed");
                Err(Problem::fault())
            });
            let _ = sender.send(done);
        }));
        receiver.await.unwrap_or_else(|_| Err(Problem::fault()))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut jobs = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.1 = true;
        self.shared.wake.notify_all();
    }
}

impl Shared {
    fn push(&self, job: Job) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).0.push_back(job);
        self.wake.notify_one();
    }

    fn work(&self) {
        loop {
            let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let job = loop {
                if let Some(job) = jobs.0.pop_front() {
                    break job;
                }
                if jobs.1 {
                    return;
                }
                jobs = self.wake.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            };
            drop(jobs);
            let start = Instant::now();
            job();
            let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let before = self.typical.load(Ordering::Relaxed);
            self.typical.store(before - before / 16 + took / 16, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(future)
    }

    #[test]
    fn a_panic_is_a_500_and_the_thread_goes_on() {
        let pool = Pool::new(1, 1).unwrap();
        run(async {
            let failed =
                pool.run(pool.try_place().unwrap(), || -> Result<(), _> { panic!("on purpose") });
            assert_eq!(failed.await.unwrap_err().status.as_u16(), 500);
            let done = pool.run(pool.try_place().unwrap(), || Ok(7)).await;
            assert_eq!(done, Ok(7));
        });
    }

    #[test]
    fn places_are_bounded_and_come_back() {
        let pool = Pool::new(1, 2).unwrap();
        let all: Vec<Place> = (0..3).map(|_| pool.try_place().unwrap()).collect();
        let refused = pool.try_place().err().unwrap();
        assert_eq!(refused.status.as_u16(), 429);
        assert!(refused.retry_after.is_some());
        assert_eq!(pool.load(), 3);
        drop(all);
        assert_eq!(pool.load(), 0);
        assert!(pool.try_place().is_ok());
    }

    #[test]
    fn work_that_nobody_waits_for_is_left_out() {
        let pool = Pool::new(1, 2).unwrap();
        let ran = Arc::new(AtomicU64::new(0));
        run(async {
            let (hold, held) = std::sync::mpsc::channel::<()>();
            let first = pool.run(pool.try_place().unwrap(), move || {
                let _ = held.recv();
                Ok(())
            });
            let mut first = Box::pin(first);
            let soon = std::time::Duration::from_millis(20);
            assert!(tokio::time::timeout(soon, &mut first).await.is_err());
            let counter = Arc::clone(&ran);
            let second = pool.run(pool.try_place().unwrap(), move || {
                counter.fetch_add(1, Ordering::SeqCst);
                Ok(())
            });
            assert!(tokio::time::timeout(soon, second).await.is_err());
            drop(hold);
            assert_eq!(first.await, Ok(()));
            assert_eq!(pool.run(pool.try_place().unwrap(), || Ok(())).await, Ok(()));
        });
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
