//! One port of a server: its routes, its sessions, and how it begins and ends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use http::{Request, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::gate::Gate;
use super::options::SiteOptions;
use super::reply::{HttpReply, Reply, empty};
use super::sessions::{Session, Streams};
use super::websocket::opening::Opening;
use crate::error::Result;
use crate::guard::bind::check_bind;
use crate::guard::server_limits::ServerLimits;
use crate::guard::tenancy;
use crate::host::Clock;
use crate::host::server::Abort;
use crate::limits;
use crate::protocol::revision::Era;
use crate::server::connection::{Connection, Identity};
use crate::server::lifecycle::Server;
use crate::server::random;
use crate::server::slots::Slots;
use crate::server::stats::Counter;
use crate::transport::listen::{Connected, Manner, Peer, Port, Service};

pub(crate) struct Site {
    server: Arc<Server>,
    options: SiteOptions,
    gate: Gate,
    clock: Arc<dyn Clock>,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
    /// What requests without a session share, by whose they are.
    shares: Mutex<HashMap<(IpAddr, String), Weak<Slots>>>,
    connected: Connected,
    /// What goes on without a connection.
    tasks: TaskTracker,
    /// Cancelled when everything that is connected has to end.
    close: CancellationToken,
}

/// Who sent a request.
pub(crate) struct Caller {
    pub(crate) peer: Peer,
    pub(crate) identity: Identity,
}

impl Site {
    /// # Errors
    /// `invalid-option` where the server must not be had with these options: a runtime of its own beside tenants, or a host
    /// that anybody can reach who is not asked who they are.
    pub(crate) fn new(server: Arc<Server>, options: SiteOptions, clock: Arc<dyn Clock>) -> Result<Self> {
        tenancy::check_start(options.is_multi_tenant, server.offer().runtime.is_some())?;
        check_bind(&options.host, options.is_authenticated || server.options().has_hook)?;
        let gate = Gate::new(&options)?;
        server.set_multi_tenant(options.is_multi_tenant);
        Ok(Self {
            gate,
            server,
            options,
            clock,
            sessions: Mutex::default(),
            shares: Mutex::default(),
            connected: Arc::new(AtomicUsize::new(0)),
            tasks: TaskTracker::new(),
            close: CancellationToken::new(),
        })
    }

    /// Host and port to listen on.
    pub(crate) fn address(&self) -> (&str, u16) {
        (&self.options.host, self.options.port)
    }

    /// Serves a port until it is stopped; then everything of it has ended.
    pub(crate) async fn serve(self: Arc<Self>, port: Port, manner: Manner, stop: CancellationToken) {
        let open = Arc::downgrade(&self);
        let figures = move || open.upgrade().map_or((0, 0), |site| site.figures());
        self.server.counters().open.set(Some(Box::new(figures)));
        let serving = port.serve(
            manner,
            Arc::clone(&self),
            Arc::clone(&self.connected),
            Arc::clone(&self.clock),
            self.close.clone(),
        );
        let ending = async {
            stop.cancelled().await;
            self.server.stop(&self.options.limits).await;
            // What was answered without a connection is told before its stream ends.
            self.tasks.close();
            self.tasks.wait().await;
            for session in self.all_sessions() {
                self.end_session(&session, Abort::Stopped);
            }
            self.server.disconnect_all(Abort::Stopped);
            self.close.cancel();
        };
        let reaping = async {
            loop {
                self.reap().await;
            }
        };
        let work = async { tokio::join!(serving, ending) };
        tokio::select! {
            _ended = work => {}
            () = reaping => {}
        }
        self.tasks.close();
        self.tasks.wait().await;
        self.server.counters().open.set(None);
        self.server.stopped();
    }

    /// Lets go of sessions that nobody uses any more.
    async fn reap(&self) {
        let Some(limit) = self.options.limits.idle_timeout.duration() else {
            return std::future::pending().await;
        };
        let pause = (limit / 4).clamp(limits::SHORTEST_REAP_PAUSE, limits::LONGEST_REAP_PAUSE);
        self.clock.sleep_until(self.clock.now() + pause).await;
        let now = self.clock.now();
        for session in self.all_sessions() {
            if session.is_idle(limit, now) {
                self.server.counters().network.idle.add();
                self.end_session(&session, Abort::Idle);
            }
        }
        self.shares().retain(|_, slots| slots.strong_count() > 0);
    }

    // Sessions.

    /// Whether there are sessions over Streamable HTTP at all.
    pub(crate) fn has_sessions(&self) -> bool {
        self.server.options().newest(Era::Session).is_some()
    }

    pub(crate) fn is_full_of_sessions(&self) -> bool {
        self.sessions().len() >= self.options.limits.max_sessions
    }

    /// The id of a new session; nothing when there are too many.
    pub(crate) fn add_session(&self, connection: &Arc<Connection>, streams: Arc<Streams>) -> Option<String> {
        let id = random::id().ok()?;
        let session = Session::new(id.clone(), Arc::clone(connection), streams, self.clock.now());
        let mut sessions = self.sessions();
        if sessions.len() >= self.options.limits.max_sessions {
            drop(sessions);
            self.server.disconnect(connection, Abort::Closed);
            return None;
        }
        sessions.insert(id.clone(), Arc::new(session));
        Some(id)
    }

    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.sessions().get(id).cloned()
    }

    pub(crate) fn end_session(&self, session: &Session, reason: Abort) {
        self.sessions().remove(&session.id);
        self.server.disconnect(&session.connection, reason);
        session.streams.finish();
    }

    fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions().values().cloned().collect()
    }

    // What requests take turns with.

    pub(crate) fn own_slots(&self) -> Arc<Slots> {
        let limits = &self.options.limits;
        Arc::new(Slots::new(limits.max_concurrent_requests, limits.max_queued_requests))
    }

    /// Requests without a session count by where they come from, and whose they are.
    pub(crate) fn shared_slots(&self, caller: &Caller) -> Arc<Slots> {
        let key = (caller.peer.address.ip(), caller.identity.text());
        let mut shares = self.shares();
        if let Some(slots) = shares.get(&key).and_then(Weak::upgrade) {
            return slots;
        }
        let slots = self.own_slots();
        if shares.len() >= limits::MAX_KEPT_SHARES {
            shares.retain(|_, slots| slots.strong_count() > 0);
        }
        shares.insert(key, Arc::downgrade(&slots));
        slots
    }

    // What its own modules need.

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }

    pub(crate) fn options(&self) -> &SiteOptions {
        &self.options
    }

    pub(crate) fn limits(&self) -> &ServerLimits {
        &self.options.limits
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    pub(crate) fn shared_clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    pub(crate) fn close(&self) -> &CancellationToken {
        &self.close
    }

    pub(crate) fn slow_readers(&self) -> &Arc<Counter> {
        &self.server.counters().network.slow_readers
    }

    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    /// How many are connected, and how many sessions there are.
    pub(crate) fn figures(&self) -> (usize, usize) {
        (self.connected.load(Ordering::Acquire), self.sessions().len())
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shares(&self) -> MutexGuard<'_, HashMap<(IpAddr, String), Weak<Slots>>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what was refused.
    fn count(&self, status: StatusCode) {
        let network = &self.server.counters().network;
        match status {
            StatusCode::SERVICE_UNAVAILABLE => network.full.add(),
            StatusCode::PAYLOAD_TOO_LARGE => network.too_large.add(),
            StatusCode::REQUEST_TIMEOUT => network.too_slow.add(),
            StatusCode::FORBIDDEN => network.forbidden.add(),
            StatusCode::UNAUTHORIZED => network.unauthorized.add(),
            _ => {}
        }
    }

    async fn route(self: &Arc<Self>, mut request: Request<Incoming>, peer: Peer) -> HttpReply {
        // There is none but where a client asked for it.
        let upgrade = hyper::upgrade::on(&mut request);
        let (head, body) = request.into_parts();
        let forms = &self.options.forms;
        let path = head.uri.path();
        if let Some(protection) = &self.options.protection
            && protection.is_at(path)
        {
            return protection.answer(&head.method);
        }
        let is = |route: Option<&String>| route.is_some_and(|route| route == path);
        let is_streamable = is(forms.streamable.as_ref());
        let is_stream = is(forms.sse.as_ref().map(|paths| &paths.stream));
        let is_messages = is(forms.sse.as_ref().map(|paths| &paths.messages));
        let is_websocket = is(forms.websocket.as_ref());
        if !is_streamable && !is_stream && !is_messages && !is_websocket {
            return empty(StatusCode::NOT_FOUND);
        }
        let identity = match self
            .identify(&head.method, &head.uri, &head.headers, peer.address)
            .await
        {
            Ok(identity) => identity,
            Err(reply) => return reply,
        };
        let caller = Caller { peer, identity };
        if is_streamable {
            self.streamable(&head.method, &head.headers, body, caller).await
        } else if is_stream {
            self.sse_stream(&head.method, &head.headers, &caller)
        } else if is_websocket {
            let opening = Opening {
                head: &head,
                has_body: !body.is_end_stream(),
            };
            self.websocket(&opening, upgrade, caller)
        } else {
            self.sse_message(&head.method, &head.uri, &head.headers, body, &caller)
                .await
        }
    }
}

impl Service for Site {
    type Body = Reply;

    async fn respond(self: Arc<Self>, request: Request<Incoming>, peer: Peer) -> HttpReply {
        if let Err(reply) = self.gate.pass(request.method(), request.uri(), request.headers()) {
            self.count(reply.status());
            return reply;
        }
        // Only pages are told what they may read, and only where some are allowed.
        let asked = self.gate.marks().then(|| request.headers().clone());
        let mut reply = self.route(request, peer).await;
        self.count(reply.status());
        if let Some(asked) = asked {
            self.gate.mark(&asked, reply.headers_mut());
        }
        reply
    }

    fn turned_away(&self) {
        self.server.counters().network.full.add();
    }

    fn took_nothing(&self) {
        self.slow_readers().add();
    }
}

/// A value of the query of a target, decoded; the first of its name.
pub(crate) fn query(uri: &Uri, name: &str) -> Option<String> {
    url::form_urlencoded::parse(uri.query()?.as_bytes())
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}
