//! The server itself: what it was told, what is connected to it, and how it ends.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::connection::{Connection, Identity, Outbox, Weight};
use super::cursors::Cursors;
use super::jobs::Jobs;
use super::lists::Lists;
use super::options::Options;
use super::random;
use super::routes::Registry;
use super::slots::Slots;
use super::stats::Counters;
use super::tenants::{Membership, Tenants};
use crate::error::{Error, Result};
use crate::guard::server_limits::ServerLimits;
use crate::host::server::{Abort, Application, JobId, Performed, RuntimeId};
use crate::host::{Change, Clock};
use crate::protocol::request_state::Secret;
use crate::protocol::uri_template::Template;

pub(crate) struct Server {
    options: Options,
    secret: Secret,
    application: Arc<dyn Application>,
    clock: Arc<dyn Clock>,
    jobs: Jobs,
    /// Nothing where tenants have no limits.
    tenants: Option<Arc<Tenants>>,
    lists: Lists,
    cursors: Cursors,
    counters: Counters,
    is_multi_tenant: AtomicBool,
    is_stopping: AtomicBool,
    state: Mutex<State>,
    /// What the ids of its connections begin with, and the number of the last one.
    id: String,
    last_connection: AtomicU64,
    /// How many requests are under way, and who waits for none.
    under_way: AtomicU64,
    idle: Notify,
    /// Whether whatever is under way has to end now, and who waits for that.
    is_halted: AtomicBool,
    halted: Notify,
    changes: Changes,
}

#[derive(Default)]
struct State {
    offer: Offer,
    registry: Registry,
    templates: Vec<(u32, Template)>,
    last_template: u32,
    connections: HashMap<u64, Weak<Connection>>,
}

/// What is registered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Offer {
    pub(crate) has_resources: bool,
    pub(crate) has_prompts: bool,
    pub(crate) has_completions: bool,
    /// The server's own.
    pub(crate) runtime: Option<RuntimeId>,
}

/// Changes that are to be told, once for all that come together.
#[derive(Default)]
struct Changes(Mutex<Vec<(Change, Option<RuntimeId>)>>);

/// A request under way; the last one that ends wakes who waits for that.
pub(crate) struct UnderWay(Arc<Server>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

/// A connection that is told of changes for a while.
pub(crate) struct Enlisted<'a> {
    server: &'a Server,
    number: u64,
}

impl Drop for Enlisted<'_> {
    fn drop(&mut self) {
        self.server.state().connections.remove(&self.number);
    }
}

impl State {
    fn enlist(&mut self, connection: &Arc<Connection>) -> Option<Weak<Connection>> {
        self.connections.insert(connection.number, Arc::downgrade(connection))
    }
}

impl Server {
    /// # Errors
    /// When the system has no randomness to give.
    pub(crate) fn new(
        options: Options,
        secret: Secret,
        application: Arc<dyn Application>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self> {
        Ok(Self {
            id: random::id()?,
            last_connection: AtomicU64::new(0),
            cursors: Cursors::new(secret.clone()),
            tenants: options
                .tenant_limits
                .map(|limits| Arc::new(Tenants::new(limits, Arc::clone(&clock)))),
            jobs: Jobs::new(Arc::clone(&application), options.tenant_limits.is_some()),
            options,
            secret,
            application,
            clock,
            lists: Lists::default(),
            counters: Counters::default(),
            is_multi_tenant: AtomicBool::new(false),
            is_stopping: AtomicBool::new(false),
            state: Mutex::default(),
            under_way: AtomicU64::new(0),
            idle: Notify::new(),
            is_halted: AtomicBool::new(false),
            halted: Notify::new(),
            changes: Changes::default(),
        })
    }

    // What the program says.

    pub(crate) fn set_offer(&self, offer: Offer) {
        self.state().offer = offer;
    }

    /// From now on nobody without an identity is served.
    pub(crate) fn set_multi_tenant(&self, is_multi_tenant: bool) {
        self.is_multi_tenant.store(is_multi_tenant, Ordering::Release);
    }

    /// # Errors
    /// `invalid-option` when it is no template.
    pub(crate) fn add_template(&self, template: &str) -> Result<u32> {
        let template =
            Template::parse(template).map_err(|error| Error::invalid_option(format!("the URI template {error}")))?;
        let mut state = self.state();
        state.last_template += 1;
        let number = state.last_template;
        state.templates.push((number, template));
        Ok(number)
    }

    pub(crate) fn remove_template(&self, number: u32) {
        self.state().templates.retain(|(other, _)| *other != number);
    }

    pub(crate) fn set_session(&self, session: String, runtime: RuntimeId, tenant: Option<String>) {
        self.state().registry.set(session, runtime, tenant);
    }

    pub(crate) fn remove_session(&self, session: &str) {
        self.state().registry.remove(session);
    }

    /// A runtime is gone, and what is kept of it.
    pub(crate) fn forget(&self, runtime: RuntimeId) {
        self.lists.forget(runtime);
    }

    pub(crate) fn settle(&self, job: JobId, performed: Performed) {
        self.jobs.settle(job, performed);
    }

    /// Something was registered or replaced: lists are asked for again, and whoever has seen them is told, once for all
    /// that comes within a moment.
    pub(crate) fn changed(self: &Arc<Self>, change: Change, runtime: Option<RuntimeId>, window: Duration) {
        self.lists.invalidate(change, runtime);
        let is_first = {
            let mut waiting = self.changes.0.lock().unwrap_or_else(PoisonError::into_inner);
            let is_first = waiting.is_empty();
            if !waiting.contains(&(change, runtime)) {
                waiting.push((change, runtime));
            }
            is_first
        };
        if !is_first {
            return;
        }
        if self.state().connections.is_empty() {
            self.changes.take();
            return;
        }
        let server = Arc::downgrade(self);
        let clock = Arc::clone(&self.clock);
        tokio::spawn(async move {
            clock.sleep_until(clock.now() + window).await;
            if let Some(server) = server.upgrade() {
                server.tell_changes();
            }
        });
    }

    fn tell_changes(&self) {
        let waiting = self.changes.take();
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            let of: Vec<_> = waiting.iter().filter(|(other, _)| *other == change).collect();
            if !of.is_empty() {
                let is_everybodys = of.iter().any(|(_, runtime)| runtime.is_none());
                self.tell_changed(change, |connection| {
                    is_everybodys
                        || of
                            .iter()
                            .any(|(_, runtime)| runtime.is_some_and(|runtime| self.may_reach(connection, runtime)))
                });
            }
        }
    }

    // Connections.

    pub(crate) fn connect(
        &self,
        identity: Identity,
        is_local: bool,
        slots: Arc<Slots>,
        outbox: Box<dyn Outbox>,
        membership: Option<Membership>,
    ) -> Arc<Connection> {
        let connection = self.transient(identity, is_local, slots, outbox);
        connection.join(membership);
        self.keep(&connection);
        connection
    }

    /// From now on a connection is known, until it is disconnected.
    pub(crate) fn keep(&self, connection: &Arc<Connection>) {
        self.state().enlist(connection);
    }

    /// A connection that leads nowhere, for what the program itself asks for.
    pub(crate) fn detached() -> Arc<Connection> {
        struct Nowhere;
        impl Outbox for Nowhere {
            fn send(&self, _about: Option<&str>, _text: String, _weight: Weight) {}
        }
        let slots = Arc::new(Slots::new(1, 0));
        let identity = Identity::default();
        Arc::new(Connection::new(
            0,
            String::new(),
            identity,
            true,
            slots,
            Box::new(Nowhere),
        ))
    }

    /// A connection for one request. It is told of changes once it listens for them.
    pub(crate) fn transient(
        &self,
        identity: Identity,
        is_local: bool,
        slots: Arc<Slots>,
        outbox: Box<dyn Outbox>,
    ) -> Arc<Connection> {
        let number = self.next_connection();
        let id = self.connection_id(number);
        Arc::new(Connection::new(number, id, identity, is_local, slots, outbox))
    }

    /// While what is returned lives, a connection is told of changes; nothing where it is anyway.
    pub(crate) fn enlist(&self, connection: &Arc<Connection>) -> Option<Enlisted<'_>> {
        let before = self.state().enlist(connection);
        // Made only where it is wanted: its end takes the connection out.
        before.is_none().then(|| Enlisted {
            server: self,
            number: connection.number,
        })
    }

    pub(crate) fn disconnect_all(&self, reason: Abort) {
        for connection in self.connections() {
            self.disconnect(&connection, reason);
        }
    }

    pub(crate) fn disconnect(&self, connection: &Connection, reason: Abort) {
        self.state().connections.remove(&connection.number);
        connection.close(reason);
    }

    pub(crate) fn connections(&self) -> Vec<Arc<Connection>> {
        self.state().connections.values().filter_map(Weak::upgrade).collect()
    }

    /// How many are on the list, whether they are still there or not.
    #[cfg(test)]
    pub(crate) fn enlisted(&self) -> usize {
        self.state().connections.len()
    }

    // The end.

    pub(crate) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Takes nothing more, lets what is under way come to its end for so long, and gives up the rest.
    pub(crate) async fn stop(&self, limits: &ServerLimits) {
        self.is_stopping.store(true, Ordering::Release);
        for connection in self.connections() {
            connection.end_listening();
        }
        let until = self.clock.now().checked_add(limits.shutdown_timeout);
        let finished = async {
            loop {
                let idle = self.idle.notified();
                if self.under_way.load(Ordering::Acquire) == 0 {
                    return;
                }
                idle.await;
            }
        };
        let out_of_time = async {
            match until {
                Some(until) => self.clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = finished => {}
            () = out_of_time => {}
            () = self.until_halted() => {}
        }
        // Also what came on no connection that is known.
        self.halt();
    }

    /// Gives up at once whatever is under way: its time is over, or whoever would do it is gone.
    pub(crate) fn halt(&self) {
        self.is_halted.store(true, Ordering::Release);
        self.halted.notify_waiters();
    }

    /// Resolves when whatever is under way has to end.
    pub(crate) async fn until_halted(&self) {
        let mut halted = std::pin::pin!(self.halted.notified());
        // Registered before the look, so that nothing is missed between them.
        halted.as_mut().enable();
        if !self.is_halted.load(Ordering::Acquire) {
            halted.await;
        }
    }

    /// It may be started again.
    pub(crate) fn stopped(&self) {
        self.is_halted.store(false, Ordering::Release);
        self.is_stopping.store(false, Ordering::Release);
    }

    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.under_way.fetch_add(1, Ordering::AcqRel);
        UnderWay(Arc::clone(self))
    }

    // What its own modules need.

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    pub(crate) fn tenants(&self) -> Option<&Arc<Tenants>> {
        self.tenants.as_ref()
    }

    pub(crate) fn jobs(&self) -> &Jobs {
        &self.jobs
    }

    pub(crate) fn lists(&self) -> &Lists {
        &self.lists
    }

    pub(crate) fn cursors(&self) -> &Cursors {
        &self.cursors
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn application(&self) -> &dyn Application {
        &*self.application
    }

    pub(crate) fn offer(&self) -> Offer {
        self.state().offer
    }

    pub(crate) fn is_multi_tenant(&self) -> bool {
        self.is_multi_tenant.load(Ordering::Acquire)
    }

    /// Asks the registry.
    pub(crate) fn registry<T>(&self, ask: impl FnOnce(&Registry) -> T) -> T {
        ask(&self.state().registry)
    }

    /// The templates that match, in their order, and the values of their variables.
    pub(crate) fn matches(&self, uri: &str) -> Vec<(u32, Vec<(String, String)>)> {
        let state = self.state();
        let matching = state
            .templates
            .iter()
            .filter_map(|(number, template)| Some((*number, template.matches(uri)?)));
        matching.collect()
    }

    fn next_connection(&self) -> u64 {
        self.last_connection.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn connection_id(&self, number: u64) -> String {
        format!("{}-{number}", self.id)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Changes {
    fn take(&self) -> Vec<(Change, Option<RuntimeId>)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
