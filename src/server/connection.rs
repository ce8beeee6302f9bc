//! What a server knows of one connection: who is behind it, what was agreed on, and what is under way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::exchange::{Exchange, LogLevel};
use super::listening::Listening;
use super::slots::Slots;
use super::tenants::Membership;
use crate::guard::governor::Tenant;
use crate::host::server::{Abort, Inquiry, RuntimeId};
use crate::json;
use crate::limits;
use crate::protocol::message::{self, Params};
use crate::protocol::revision::Revision;

pub(crate) struct Connection {
    pub(crate) number: u64,
    /// For people and hooks: nothing depends on it.
    pub(crate) id: String,
    pub(crate) identity: Identity,
    /// Whether its client is the operator of this machine, who may read what went wrong.
    pub(crate) is_local: bool,
    pub(crate) slots: Arc<Slots>,
    outbox: Box<dyn Outbox>,
    closed: OnceLock<Abort>,
    state: Mutex<State>,
}

/// Who is behind a connection; fixed when it opens.
#[derive(Clone, Default)]
pub(crate) struct Identity {
    pub(crate) tenant: Tenant,
    pub(crate) session: Option<String>,
    /// JSON text of what a verifier found out.
    pub(crate) auth: Option<Arc<str>>,
    /// Who that is, whatever the token of the day: a client renews its own while a session goes on.
    pub(crate) principal: Option<Arc<str>>,
}

/// Where messages go out. Called from any thread; must not block.
pub(crate) trait Outbox: Send + Sync {
    /// Takes a message over. `about` is the id, as it was sent, of the request that it belongs to.
    fn send(&self, about: Option<&str>, text: String, weight: Weight);
    /// Closes the stream of a request, whose events are fetched later.
    fn close_stream(&self, _about: &str, _retry_ms: Option<u64>) {}
}

/// What becomes of a message when its reader is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It waits.
    Needed,
    /// It may be left out.
    Droppable,
}

#[derive(Default)]
struct State {
    session: Option<Session>,
    in_flight: HashMap<String, Arc<Exchange>>,
    listening: HashMap<String, Listening>,
    /// Resources whose updates are told, in the session era.
    subscribed: HashSet<String>,
    asked: HashMap<u64, Asked>,
    last_asked: u64,
    /// The runtime that its last request went to.
    reached: Option<RuntimeId>,
    /// While it is open.
    membership: Option<Membership>,
}

/// What a handshake agreed on.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) revision: Revision,
    /// JSON text.
    capabilities: Arc<str>,
    caller: Arc<str>,
    pub(crate) log_level: LogLevel,
    /// Whether the client said that it is.
    is_ready: bool,
}

/// A question that the client was asked.
pub(crate) struct Asked {
    /// The facade's number.
    pub(crate) inquiry: u64,
    pub(crate) exchange: Arc<Exchange>,
}

/// Why a request was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    /// Its id is that of another one under way.
    Repeated,
    Closed,
}

impl Identity {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.tenant == other.tenant && self.session == other.session && self.principal == other.principal
    }

    /// In one text, for comparing.
    pub(crate) fn text(&self) -> String {
        if self.tenant.is_none() && self.session.is_none() && self.principal.is_none() {
            return String::new();
        }
        format!("{:?} {:?} {:?}", self.tenant, self.session, self.principal)
    }
}

impl Connection {
    pub(crate) fn new(
        number: u64,
        id: String,
        identity: Identity,
        is_local: bool,
        slots: Arc<Slots>,
        outbox: Box<dyn Outbox>,
    ) -> Self {
        Self {
            number,
            id,
            identity,
            is_local,
            slots,
            outbox,
            closed: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn send(&self, about: Option<&str>, text: String, weight: Weight) {
        if self.closed.get().is_none() {
            self.outbox.send(about, text, weight);
        }
    }

    pub(crate) fn close_stream(&self, about: &str, retry_ms: Option<u64>) {
        self.outbox.close_stream(about, retry_ms);
    }

    /// Ends it: what is under way is given up.
    pub(crate) fn close(&self, reason: Abort) {
        // The first reason counts.
        let _is_first = self.closed.set(reason);
        let (in_flight, _left) = {
            let mut state = self.state();
            let left = state.membership.take();
            state.asked.clear();
            state.subscribed.clear();
            state.listening.clear();
            (std::mem::take(&mut state.in_flight), left)
        };
        for exchange in in_flight.into_values() {
            exchange.give_up(reason);
        }
    }

    /// Counts as one of its tenant, until it is closed.
    pub(crate) fn join(&self, membership: Option<Membership>) {
        self.state().membership = membership;
    }

    /// Whether it counts as a connection of its tenant.
    pub(crate) fn is_member(&self) -> bool {
        self.state().membership.is_some()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.get().is_some()
    }

    // Sessions.

    pub(crate) fn session(&self) -> Option<Session> {
        self.state().session.clone()
    }

    /// False when there is a session already.
    pub(crate) fn open_session(&self, revision: Revision, capabilities: &str) -> bool {
        let caller = self.caller(revision, Some(capabilities));
        let mut state = self.state();
        if state.session.is_some() {
            return false;
        }
        state.session = Some(Session {
            revision,
            capabilities: capabilities.into(),
            caller,
            log_level: LogLevel::Debug,
            is_ready: false,
        });
        true
    }

    pub(crate) fn make_ready(&self) {
        if let Some(session) = &mut self.state().session {
            session.is_ready = true;
        }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.state().session.as_ref().is_some_and(|session| session.is_ready)
    }

    pub(crate) fn set_log_level(&self, level: LogLevel) {
        if let Some(session) = &mut self.state().session {
            session.log_level = level;
        }
    }

    /// Who asks within a session. `auth` is what a request says by itself: a client renews its token meanwhile, and may get
    /// more scopes.
    pub(crate) fn caller_in(&self, session: &Session, auth: Option<&Arc<str>>) -> Arc<str> {
        if auth.is_none_or(|auth| self.identity.auth.as_ref() == Some(auth)) {
            return Arc::clone(&session.caller);
        }
        self.caller_as(session.revision, Some(&session.capabilities), auth)
    }

    /// Who asks, as JSON text for the program.
    pub(crate) fn caller(&self, revision: Revision, capabilities: Option<&str>) -> Arc<str> {
        self.caller_as(revision, capabilities, self.identity.auth.as_ref())
    }

    fn caller_as(&self, revision: Revision, capabilities: Option<&str>, auth: Option<&Arc<str>>) -> Arc<str> {
        let mut params = Params::new()
            .text("connectionId", &self.id)
            .text("protocolVersion", revision.name());
        let Identity { tenant, session, .. } = &self.identity;
        if let Some(tenant) = tenant {
            params = params.text("tenantId", tenant);
        }
        if let Some(session) = session {
            params = params.text("sessionId", session);
        }
        if let Some(capabilities) = capabilities {
            params = params.raw("clientCapabilities", capabilities);
        }
        if let Some(auth) = auth {
            params = params.raw("auth", auth);
        }
        params.object().into()
    }

    // Requests.

    /// # Errors
    /// When the id is taken, or nothing is taken any more.
    pub(crate) fn enter(&self, key: String, exchange: &Arc<Exchange>) -> Result<(), NotTaken> {
        let mut state = self.state();
        if self.is_closed() {
            return Err(NotTaken::Closed);
        }
        if state.in_flight.contains_key(&key) {
            return Err(NotTaken::Repeated);
        }
        state.in_flight.insert(key, Arc::clone(exchange));
        Ok(())
    }

    /// Ends a request: its questions are taken back.
    pub(crate) fn leave(&self, key: &str) {
        let withdrawn = {
            let mut state = self.state();
            let Some(exchange) = state.in_flight.remove(key) else {
                return;
            };
            let open: Vec<u64> = state
                .asked
                .iter()
                .filter(|(_, asked)| Arc::ptr_eq(&asked.exchange, &exchange))
                .map(|(number, _)| *number)
                .collect();
            for number in &open {
                state.asked.remove(number);
            }
            open
        };
        for number in withdrawn {
            let params = Params::new().raw("requestId", &number.to_string());
            let text = message::notification("notifications/cancelled", &params);
            // A client that reads so little has not seen the question either.
            self.send(None, text, Weight::Droppable);
        }
    }

    /// The client gives a request up.
    pub(crate) fn cancel(&self, key: &str) {
        let exchange = self.state().in_flight.get(key).cloned();
        if let Some(exchange) = exchange {
            exchange.give_up(Abort::Cancelled);
        }
    }

    fn in_flight(&self) -> Vec<Arc<Exchange>> {
        self.state().in_flight.values().cloned().collect()
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.state().in_flight.is_empty()
    }

    pub(crate) fn is_in_flight(&self, key: &str) -> bool {
        self.state().in_flight.contains_key(key)
    }

    /// Gives requests up, by their ids as they were sent.
    pub(crate) fn give_up_those(&self, ids: &[String], reason: Abort) {
        for exchange in self.in_flight() {
            if ids.iter().any(|id| **id == *exchange.id) {
                exchange.give_up(reason);
            }
        }
    }

    pub(crate) fn reaches(&self, runtime: Option<RuntimeId>) {
        self.state().reached = runtime;
    }

    pub(crate) fn reached(&self) -> Option<RuntimeId> {
        self.state().reached
    }

    // Questions.

    /// Asks the client. False when too many questions are open, or the request is over.
    pub(crate) fn ask(&self, exchange: &Arc<Exchange>, inquiry: &Inquiry) -> bool {
        let number = {
            let mut state = self.state();
            let is_under_way = state.in_flight.values().any(|other| Arc::ptr_eq(other, exchange));
            if !is_under_way || state.asked.len() >= limits::MAX_OPEN_INQUIRIES {
                return false;
            }
            state.last_asked += 1;
            let number = state.last_asked;
            state.asked.insert(
                number,
                Asked {
                    inquiry: inquiry.id,
                    exchange: Arc::clone(exchange),
                },
            );
            number
        };
        let text = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":{},\"params\":{}}}",
            json::quote(inquiry.method.name()),
            inquiry.params
        );
        self.send(Some(&exchange.id), text, Weight::Needed);
        true
    }

    /// What the client answers with this number.
    pub(crate) fn take_asked(&self, number: u64) -> Option<Asked> {
        self.state().asked.remove(&number)
    }

    // Subscriptions.

    /// False when there are too many.
    pub(crate) fn subscribe(&self, uri: String) -> bool {
        let mut state = self.state();
        if state.subscribed.len() >= limits::MAX_SUBSCRIPTIONS && !state.subscribed.contains(&uri) {
            return false;
        }
        state.subscribed.insert(uri);
        true
    }

    pub(crate) fn unsubscribe(&self, uri: &str) {
        self.state().subscribed.remove(uri);
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.state().subscribed.contains(uri)
    }

    /// Acknowledges a subscription, so that nothing of it comes before that and nothing after it is missed. False when
    /// there are too many.
    pub(crate) fn listen(&self, key: String, listening: Listening, acknowledgement: String) -> bool {
        let mut state = self.state();
        if state.listening.len() >= limits::MAX_LISTENERS {
            return false;
        }
        self.send(Some(&listening.id), acknowledgement, Weight::Needed);
        state.listening.insert(key, listening);
        true
    }

    /// Ends what listens, in order.
    pub(crate) fn end_listening(&self) {
        let ended: Vec<_> = {
            let state = self.state();
            let listening = state.listening.keys();
            listening.filter_map(|key| state.in_flight.get(key).cloned()).collect()
        };
        for exchange in ended {
            exchange.give_up(Abort::Stopped);
        }
    }

    pub(crate) fn stop_listening(&self, key: &str) {
        self.state().listening.remove(key);
    }

    pub(crate) fn listeners(&self) -> usize {
        self.state().listening.len()
    }

    /// The ids of the requests that listen for such a thing.
    pub(crate) fn listening_for(&self, wants: impl Fn(&Listening) -> bool) -> Vec<Arc<str>> {
        let state = self.state();
        let listening = state.listening.values().filter(|listening| wants(listening));
        listening.map(|listening| Arc::clone(&listening.id)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
