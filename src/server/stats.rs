//! What a server has done and is doing, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

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
    /// Messages that were no request, or none that could be read.
    pub(crate) malformed: Counter,
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
        let counters = self.counters();
        let refused = Params::new()
            .raw("busy", &counters.refused_busy.get().to_string())
            .raw("malformed", &counters.malformed.get().to_string());
        Params::new()
            .raw("connections", &connections.len().to_string())
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
            .object()
    }
}
