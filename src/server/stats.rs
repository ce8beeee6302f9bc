//! What a server has done and is doing, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::lifecycle::Server;
use crate::protocol::message::Params;

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

    fn get(&self) -> (usize, usize) {
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

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Server {
    /// JSON text.
    pub(crate) fn stats(&self) -> String {
        let connections = self.connections();
        let (mut running, mut queued, mut listening) = (0, 0, 0);
        for connection in &connections {
            running += connection.slots.running();
            queued += connection.slots.waiting();
            listening += connection.listeners();
        }
        let tenants = self.tenants();
        // They have a place on their connection while they wait for one of their tenant.
        let waiting = tenants.map_or(0, |tenants| tenants.waiting());
        let running = running.saturating_sub(waiting);
        let queued = queued + waiting;
        let counters = self.counters();
        let number = |params: Params, key: &str, counter: &Counter| params.raw(key, &counter.get().to_string());
        let network = &counters.network;
        let refused = [
            ("busy", &counters.refused_busy),
            ("tenantLimits", &counters.refused_tenants),
            ("malformed", &counters.malformed),
            ("full", &network.full),
            ("tooLarge", &network.too_large),
            ("tooSlow", &network.too_slow),
            ("forbidden", &network.forbidden),
            ("unauthorized", &network.unauthorized),
        ];
        let refused = refused
            .into_iter()
            .fold(Params::new(), |params, (key, counter)| number(params, key, counter));
        let closed = [
            ("idle", &network.idle),
            ("silent", &network.silent),
            ("slowReaders", &*network.slow_readers),
        ];
        let closed = closed
            .into_iter()
            .fold(Params::new(), |params, (key, counter)| number(params, key, counter));
        let (sockets, sessions) = counters.open.get();
        Params::new()
            .raw("connections", &connections.len().to_string())
            .raw("sockets", &sockets.to_string())
            .raw("sessions", &sessions.to_string())
            .raw(
                "registeredSessions",
                &self.registry(super::routes::Registry::len).to_string(),
            )
            .raw("running", &running.to_string())
            .raw("queued", &queued.to_string())
            .raw("jobs", &self.jobs().len().to_string())
            .raw("subscriptions", &listening.to_string())
            .raw("cachedLists", &self.lists().len().to_string())
            .raw("requests", &counters.requests.get().to_string())
            .raw("errors", &counters.errors.get().to_string())
            .raw("cancelled", &counters.cancelled.get().to_string())
            .raw("timedOut", &counters.timed_out.get().to_string())
            .raw("refused", &refused.object())
            .raw("closed", &closed.object())
            .raw(
                "tenants",
                &tenants.map_or_else(|| "[]".to_owned(), |tenants| tenants.figures()),
            )
            .object()
    }
}
