//! What a server has done and is doing, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) requests: Counter,
    /// Answers that were errors.
    pub(crate) errors: Counter,
    pub(crate) cancelled: Counter,
    pub(crate) timed_out: Counter,
    pub(crate) refused_busy: Counter,
    /// By the limits of their tenants.
    pub(crate) refused_tenants: Counter,
    /// Messages that were no request, or none that could be read.
    pub(crate) malformed: Counter,
    pub(crate) network: NetworkCounters,
    /// What is open on a port; nothing without one.
    pub(crate) open: Open,
}

/// What a port refused and closed.
#[derive(Default)]
pub(crate) struct NetworkCounters {
    /// Connections and sessions that found no room.
    pub(crate) full: Counter,
    /// Bodies over their limit.
    pub(crate) too_large: Counter,
    /// Bodies that came too slowly.
    pub(crate) too_slow: Counter,
    /// By their `Host` or `Origin`.
    pub(crate) forbidden: Counter,
    /// Those nobody could be named for.
    pub(crate) unauthorized: Counter,
    /// Sessions and connections that nobody used.
    pub(crate) idle: Counter,
    /// Those that missed a heartbeat.
    pub(crate) silent: Counter,
    /// Readers that did not keep up.
    pub(crate) slow_readers: Arc<Counter>,
}

/// How to find out what is open on a port: sockets and sessions.
#[derive(Default)]
pub(crate) struct Open(Mutex<Option<Figures>>);

type Figures = Box<dyn Fn() -> (usize, usize) + Send + Sync>;

impl Open {
    pub(crate) fn set(&self, figures: Option<Figures>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = figures;
    }

    pub(super) fn get(&self) -> (usize, usize) {
        let figures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        figures.as_ref().map_or((0, 0), |figures| figures())
    }
}

#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
