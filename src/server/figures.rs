//! What a server tells of itself.

use super::lifecycle::Server;
use super::routes::Registry;
use super::stats::Counter;
use crate::protocol::message::Params;

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
            .raw("registeredSessions", &self.registry(Registry::len).to_string())
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
