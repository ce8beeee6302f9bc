//! One request under way: whose it is, how much time it has left, why it was given up.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::connection::{Connection, Weight};
use super::lease::Lease;
use crate::host::Clock;
use crate::host::server::{Abort, Inquiry};
use crate::protocol::message::{self, Params};
use crate::protocol::revision::{Era, Revision};

pub(crate) struct Exchange {
    pub(crate) connection: Arc<Connection>,
    /// As it was sent.
    pub(crate) id: Box<str>,
    pub(crate) method: &'static str,
    pub(crate) revision: Revision,
    /// Who asks, as JSON text.
    pub(crate) caller: Arc<str>,
    /// As it was sent.
    pub(crate) progress_token: Option<Box<str>>,
    /// The least severe log message that is wanted; nothing when none is.
    pub(crate) log_level: Option<LogLevel>,
    /// The arguments that its headers repeat; nothing where the wire has no headers.
    pub(crate) params: Option<Arc<[(String, String)]>>,
    pub(crate) timer: Timer,
    progress: Mutex<Option<f64>>,
    given_up: CancellationToken,
    reason: OnceLock<Abort>,
    /// What was answered in earlier rounds, as JSON text of an object; nothing while the client may not be asked.
    answers: OnceLock<String>,
    inquiries: Mutex<Vec<Inquiry>>,
    inquired: Notify,
    /// What its program keeps for it.
    leases: Mutex<Vec<Lease>>,
}

/// From the least severe to the most (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::NAMES
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(level, _)| *level)
    }

    const NAMES: [(Self, &'static str); 8] = [
        (Self::Debug, "debug"),
        (Self::Info, "info"),
        (Self::Notice, "notice"),
        (Self::Warning, "warning"),
        (Self::Error, "error"),
        (Self::Critical, "critical"),
        (Self::Alert, "alert"),
        (Self::Emergency, "emergency"),
    ];
}

/// What a request says of itself.
pub(crate) struct Origin {
    pub(crate) id: Box<str>,
    pub(crate) revision: Revision,
    pub(crate) caller: Caller,
    pub(crate) progress_token: Option<Box<str>>,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) params: Option<Arc<[(String, String)]>>,
}

/// Who asks. The text of it is made for those requests alone that reach the program.
pub(crate) enum Caller {
    /// As JSON text.
    Known(Arc<str>),
    /// A client of the connection, with these capabilities.
    With(Option<Box<str>>),
}

impl Caller {
    fn text(self, connection: &Connection, revision: Revision) -> Arc<str> {
        match self {
            Self::Known(text) => text,
            Self::With(capabilities) => connection.caller(revision, capabilities.as_deref()),
        }
    }
}

impl Exchange {
    pub(crate) fn new(
        connection: Arc<Connection>,
        method: &'static str,
        origin: Origin,
        limit: Option<Duration>,
        now: Instant,
    ) -> Self {
        let caller = origin.caller.text(&connection, origin.revision);
        Self {
            connection,
            id: origin.id,
            method,
            revision: origin.revision,
            caller,
            progress_token: origin.progress_token,
            log_level: origin.log_level,
            params: origin.params,
            timer: Timer::new(limit, now),
            progress: Mutex::new(None),
            given_up: CancellationToken::new(),
            reason: OnceLock::new(),
            answers: OnceLock::new(),
            inquiries: Mutex::default(),
            inquired: Notify::new(),
            leases: Mutex::default(),
        }
    }

    /// What is done for a connection without a request of it.
    pub(crate) fn unasked(connection: &Arc<Connection>, limit: Option<Duration>, now: Instant) -> Self {
        let (revision, caller) = match connection.session() {
            Some(session) => (session.revision, Caller::Known(connection.caller_in(&session, None))),
            None => (Revision::NEWEST, Caller::With(None)),
        };
        let origin = Origin {
            id: "null".into(),
            revision,
            caller,
            progress_token: None,
            log_level: None,
            params: None,
        };
        Self::new(Arc::clone(connection), "", origin, limit, now)
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision.era() == Era::Stateless
    }

    /// Ends it; the first reason counts.
    pub(crate) fn give_up(&self, reason: Abort) {
        // A later reason changes nothing.
        let _is_first = self.reason.set(reason);
        self.given_up.cancel();
    }

    pub(crate) fn reason(&self) -> Option<Abort> {
        self.reason.get().copied()
    }

    /// Resolves when it was given up.
    pub(crate) async fn until_given_up(&self) -> Abort {
        self.given_up.cancelled().await;
        self.reason().unwrap_or(Abort::Cancelled)
    }

    /// Lets go of it when the request is over.
    pub(crate) fn keep(&self, lease: Lease) {
        lock(&self.leases).push(lease);
    }

    /// Tells its client something that belongs to it.
    pub(crate) fn notify(&self, method: &str, params: &Params) {
        let text = message::notification(method, params);
        self.connection.send(Some(&self.id), text, Weight::Droppable);
    }

    pub(crate) fn wants_log(&self, level: LogLevel) -> bool {
        self.log_level.is_some_and(|least| level >= least)
    }

    /// Whether progress has grown: only then it may be told.
    pub(crate) fn grows(&self, progress: f64) -> bool {
        let mut last = lock(&self.progress);
        let grows = last.is_none_or(|last| progress > last);
        if grows {
            *last = Some(progress);
        }
        grows
    }

    /// From now on its client may be asked in the manner of the stateless era.
    pub(crate) fn allow_inquiries(&self, answers: &str) {
        // There is one set of answers per request.
        let _is_first = self.answers.set(answers.to_owned());
    }

    pub(crate) fn answers(&self) -> String {
        self.answers.get().cloned().unwrap_or_else(|| "{}".to_owned())
    }

    /// Hands over what the client is to be asked; false where that cannot be.
    pub(crate) fn inquire(&self, inquiries: Vec<Inquiry>) -> bool {
        if self.answers.get().is_none() {
            return false;
        }
        lock(&self.inquiries).extend(inquiries);
        self.inquired.notify_one();
        true
    }

    /// What the client is to be asked, once there is something.
    pub(crate) async fn until_inquired(&self) -> Vec<Inquiry> {
        loop {
            let asked = std::mem::take(&mut *lock(&self.inquiries));
            if !asked.is_empty() {
                return asked;
            }
            self.inquired.notified().await;
        }
    }
}

/// The time of a request. It stands still while the client is asked something.
pub(crate) struct Timer {
    state: Mutex<TimerState>,
    changed: Notify,
}

struct TimerState {
    /// Nothing for no limit.
    left: Option<Duration>,
    /// Since when it runs.
    since: Instant,
    /// How many questions are open.
    open: usize,
}

impl Timer {
    fn new(limit: Option<Duration>, now: Instant) -> Self {
        Self {
            state: Mutex::new(TimerState {
                left: limit,
                since: now,
                open: 0,
            }),
            changed: Notify::new(),
        }
    }

    pub(crate) fn pause(&self, now: Instant) {
        let mut state = lock(&self.state);
        if state.open == 0 {
            let run = now.saturating_duration_since(state.since);
            state.left = state.left.map(|left| left.saturating_sub(run));
        }
        state.open += 1;
        drop(state);
        self.changed.notify_one();
    }

    pub(crate) fn resume(&self, now: Instant) {
        let mut state = lock(&self.state);
        state.open = state.open.saturating_sub(1);
        if state.open == 0 {
            state.since = now;
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Resolves when the time has run out.
    pub(crate) async fn expired(&self, clock: &dyn Clock) {
        loop {
            let until = {
                let state = lock(&self.state);
                // What lies beyond the clock never comes.
                let left = state.left.filter(|_| state.open == 0);
                left.and_then(|left| state.since.checked_add(left))
            };
            let run_out = async {
                match until {
                    Some(until) => clock.sleep_until(until).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                () = run_out => return,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
