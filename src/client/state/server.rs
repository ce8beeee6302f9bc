//! One configured server of a toolset, with what is known about it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::activity::Activity;
use super::listed::Listed;
use super::relisting::Relisting;
use super::row_mark::RowMark;
use super::subscription::Subscription;
use crate::catalog::snapshot::PersistedServer;
use crate::client::cache::Cache;
use crate::client::connection::{Connection, Figures};
use crate::client::options::ServerConfig;
use crate::client::retries::Retries;
use crate::driver::Ended;
use crate::error::{Error, ErrorCode, Result};
use crate::guard::redact::Redactor;
use crate::json;
use crate::protocol::handshake::Established;

pub(in crate::client) struct Server {
    pub(in crate::client) config: ServerConfig,
    pub(in crate::client) projected_name: String,
    pub(in crate::client) redactor: Arc<Redactor>,
    pub(in crate::client) state: Mutex<State>,
    /// Counts each end of connecting, the first time or again.
    pub(in crate::client) turns: watch::Sender<u64>,
    pub(in crate::client) listed: Mutex<Listed>,
    pub(in crate::client) relisting: Relisting,
    /// The row that it is woken from, until it was.
    pub(in crate::client) row: Mutex<Option<Arc<PersistedServer>>>,
    /// What the store holds of it, as far as that is known.
    pub(in crate::client) kept: Mutex<Option<RowMark>>,
    pub(in crate::client) figures: Figures,
    /// How often it was brought up again.
    pub(in crate::client) retries: Mutex<Retries>,
    /// Who uses it, where it is stopped when nobody does.
    pub(in crate::client) activity: Option<Arc<Activity>>,
    pub(in crate::client) credentials: Mutex<Credentials>,
    pub(in crate::client) cache: Cache,
    /// By URI.
    pub(in crate::client) subscriptions: Mutex<HashMap<String, Subscription>>,
}

/// What is known of the credentials of calls. They are secret, so that there is no `Debug`.
#[derive(Default)]
pub(in crate::client) enum Credentials {
    #[default]
    Fine,
    /// The server refused these; nothing where there were none.
    Refused { bearer: Option<String> },
}

pub(in crate::client) enum State {
    Connecting,
    /// It is left alone until it is called.
    Asleep,
    /// Connected, unless the connection was lost or let go since.
    Ready(Live),
    /// It was lost and is brought up again.
    Reviving(Live),
    /// It never was connected, and why.
    Unavailable {
        cause: Arc<Error>,
        at: Instant,
    },
    Closed,
}

pub(in crate::client) struct Live {
    pub(in crate::client) connection: Connection,
    pub(in crate::client) established: Established,
    pub(in crate::client) took: Duration,
    /// Whether it was let go because nobody called it.
    pub(in crate::client) is_stopped: bool,
}

impl Server {
    pub(in crate::client) fn take_row(&self) -> Option<PersistedServer> {
        let row = self.row.lock().unwrap_or_else(PoisonError::into_inner).take();
        row.map(Arc::unwrap_or_clone)
    }

    pub(in crate::client) fn is_connecting(&self) -> bool {
        matches!(*self.state(), State::Connecting)
    }

    pub(in crate::client) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::client) fn retries(&self) -> MutexGuard<'_, Retries> {
        self.retries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::client) fn subscriptions(&self) -> MutexGuard<'_, HashMap<String, Subscription>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::client) fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::client) fn kept(&self) -> MutexGuard<'_, Option<RowMark>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends connecting, unless it was ended before; then it says so.
    pub(in crate::client) fn connected(&self, outcome: State) -> bool {
        let mut state = self.state();
        let is_connecting = matches!(*state, State::Connecting);
        if is_connecting {
            *state = outcome;
            self.turns.send_modify(|turn| *turn += 1);
        }
        is_connecting
    }

    /// Refused credentials are not tried again; others are.
    ///
    /// # Errors
    /// `unavailable`.
    pub(in crate::client) fn check_credentials(&self, bearer: Option<&str>) -> Result<()> {
        match &*self.credentials() {
            Credentials::Refused { bearer: refused } if bearer.is_none() || refused.as_deref() == bearer => {
                let name = json::quote(&self.config.name);
                let message = format!("MCP server {name} is unavailable: it refused these credentials");
                Err(Error::new(ErrorCode::Unavailable, message))
            }
            _ => Ok(()),
        }
    }

    /// Learns from the end of a request whether its credentials are any good; true where that is news.
    pub(in crate::client) fn note_credentials(&self, ended: &Ended, bearer: Option<String>) -> bool {
        let mut credentials = self.credentials();
        let was_refused = matches!(*credentials, Credentials::Refused { .. });
        match ended {
            Ended::Failed(error) if error.code() == ErrorCode::Unauthorized => {
                *credentials = Credentials::Refused { bearer };
            }
            Ended::Result(_) | Ended::Error(_) => *credentials = Credentials::Fine,
            _ => {}
        }
        was_refused != matches!(*credentials, Credentials::Refused { .. })
    }

    fn is_refused(&self) -> bool {
        matches!(*self.credentials(), Credentials::Refused { .. })
    }

    fn credentials(&self) -> MutexGuard<'_, Credentials> {
        self.credentials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::client) fn to_json(&self) -> String {
        let state = self.state();
        let (name, live, cause) = match &*state {
            State::Connecting => ("connecting", None, None),
            State::Asleep => ("stopped", None, None),
            State::Reviving(live) => ("connecting", Some(live), None),
            State::Ready(live) if live.is_stopped => ("stopped", Some(live), None),
            State::Ready(live) => match live.connection.lost() {
                Some(lost) => ("unavailable", Some(live), Some(self.retries().cause(lost))),
                None if self.is_refused() => ("unavailable", Some(live), None),
                None => ("ready", Some(live), None),
            },
            State::Unavailable { cause, .. } => ("unavailable", None, Some(Arc::clone(cause))),
            State::Closed => ("closed", None, None),
        };
        let quoted = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), json::quote);
        let figures = self.figures.summary();
        let listed = self.listed();
        let latency = figures.latency.map_or_else(
            || "null".to_owned(),
            |[p50, p95, p99]| {
                format!(
                    "{{\"p50\":{},\"p95\":{},\"p99\":{}}}",
                    millis(p50),
                    millis(p95),
                    millis(p99)
                )
            },
        );
        format!(
            "{{\"name\":{},\"projectedName\":{},\"type\":{},\"state\":{},\"era\":{},\"protocolVersion\":{},\
             \"serverInfo\":{},\"tools\":{},\"disclosure\":{{\"tier\":{},\"tokens\":{}}},\"connectMs\":{},\"calls\":{},\"errors\":{},\"latencyMs\":{latency},\
             \"lastError\":{}}}",
            json::quote(&self.config.name),
            json::quote(&self.projected_name),
            json::quote(self.config.kind()),
            json::quote(name),
            quoted(live.map(|live| live.established.revision.era().name())),
            quoted(live.map(|live| live.established.revision.name())),
            live.and_then(|live| live.established.server_info.as_deref())
                .map_or("null", |info| info.get()),
            listed.tools.len(),
            json::quote(listed.disclosed.tier.name()),
            listed.disclosed.tokens,
            live.map_or_else(|| "null".to_owned(), |live| millis(live.took)),
            figures.calls,
            figures.errors,
            quoted(
                cause
                    .as_ref()
                    .map(|error| error.message())
                    .or(figures.last_error.as_deref())
            ),
        )
    }
}

fn millis(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64() * 1_000.0)
}
