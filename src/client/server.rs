//! One configured server of a toolset, with what is known about it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::connection::{Connection, Figures};
use super::options::ServerConfig;
use crate::error::Error;
use crate::guard::redact::Redactor;
use crate::json;
use crate::protocol::handshake::Established;

pub(super) struct Server {
    pub(super) config: ServerConfig,
    pub(super) projected_name: String,
    pub(super) redactor: Arc<Redactor>,
    pub(super) state: Mutex<State>,
    pub(super) figures: Figures,
}

pub(super) enum State {
    Connecting,
    Ready(Live),
    /// It never was connected, and why.
    Unavailable(Arc<Error>),
    Closed,
}

pub(super) struct Live {
    pub(super) connection: Connection,
    pub(super) established: Established,
    pub(super) tools: usize,
    pub(super) took: Duration,
}

impl Server {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn to_json(&self) -> String {
        let state = self.state();
        let (name, live, cause) = match &*state {
            State::Connecting => ("connecting", None, None),
            State::Ready(live) => match live.connection.lost() {
                Some(error) => ("unavailable", Some(live), Some(Arc::clone(error))),
                None => ("ready", Some(live), None),
            },
            State::Unavailable(error) => ("unavailable", None, Some(Arc::clone(error))),
            State::Closed => ("closed", None, None),
        };
        let quoted = |text: Option<&str>| text.map_or_else(|| "null".to_owned(), json::quote);
        let figures = self.figures.summary();
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
             \"serverInfo\":{},\"tools\":{},\"connectMs\":{},\"calls\":{},\"errors\":{},\"latencyMs\":{latency},\
             \"lastError\":{}}}",
            json::quote(&self.config.name),
            json::quote(&self.projected_name),
            json::quote(self.config.kind()),
            json::quote(name),
            quoted(live.map(|live| live.established.revision.era().name())),
            quoted(live.map(|live| live.established.revision.name())),
            live.and_then(|live| live.established.server_info.as_deref())
                .map_or("null", |info| info.get()),
            live.map_or(0, |live| live.tools),
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
