//! One call of a tool: from the projected name to a request. A call whose credential or whose server is not there yet is
//! held back meanwhile, within its own time limit; sent is it once, or never.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::connection::{Connection, Refused};
use super::ended::not_published;
use super::failure::unavailable;
use super::held::Hold;
use super::revive::{Coming, Down, standing};
use super::state::activity::InUse;
use super::state::published::Entry;
use super::state::route::Route;
use super::state::server::{Server, State};
use super::state::shared::{Shared, closed};
use crate::catalog::project;
use crate::driver::{Ended, Waiter};
use crate::error::{Error, ErrorCode, Result};
use crate::host::{CallEnd, CallId};
use crate::json;
use crate::limits::Timeout;
use crate::protocol::message::{Mirror, Params};
use crate::protocol::peer::{Patience, ProgressUse, Request};
use crate::protocol::wire::param_header;

/// One call, as the facade hands it over.
pub(crate) struct Call {
    pub(crate) id: CallId,
    /// The projected name.
    pub(crate) tool: String,
    /// The JSON text of an object.
    pub(crate) arguments: String,
    /// In place of the server's or the toolset's.
    pub(crate) timeout: Option<Timeout>,
    /// Whether the listener wants to hear of progress.
    pub(crate) report_progress: bool,
    /// Whether it must not be sent before `Toolset::authorize`.
    pub(crate) awaits_credential: bool,
}

/// What is to be sent, once that is possible.
struct Wanted {
    arguments: String,
    patience: Patience,
    report_progress: bool,
    /// Its own credential. It is secret, so that there is no `Debug`.
    bearer: Option<String>,
}

impl Shared {
    pub(super) fn start_call(self: &Arc<Self>, call: Call) -> Result<()> {
        if self.tasks.closing.is_cancelled() {
            return Err(closed("before the call"));
        }
        let id = call.id;
        let unknown = || {
            Error::new(
                ErrorCode::InvalidArguments,
                format!("there is no tool named {}", json::quote(&call.tool)),
            )
        };
        let Some(entry) = self.entry(&call.tool) else {
            // The one tool that asks no server.
            let schema = self.describe(&call.tool, &call.arguments).ok_or_else(unknown)??;
            self.listener.settled(id, CallEnd::Value(schema));
            return Ok(());
        };
        let server = self.servers.get(entry.server()).ok_or_else(unknown)?;
        let route = match entry {
            Entry::Callable(route) => route,
            Entry::Quarantined(route) => {
                let denial = project::denial(&call.tool, &route.tool.name, &server.config.name);
                self.listener.settled(id, CallEnd::Value(denial));
                return Ok(());
            }
            Entry::Withdrawn { .. } => return Err(not_published(&call.tool, server)),
        };
        let timeout = call.timeout.or(server.config.timeout);
        let wanted = Wanted {
            patience: Patience {
                timeout: timeout.unwrap_or(self.options.patience.timeout),
                ..self.options.patience
            },
            arguments: call.arguments,
            report_progress: call.report_progress,
            bearer: None,
        };
        let owed = || Debt {
            shared: Arc::clone(self),
            id,
            route: Arc::clone(&route),
            bearer: None,
            started: self.clock.now(),
            paid: false,
            _in_use: server.in_use(),
        };
        let mut state = server.state();
        let coming = if call.awaits_credential {
            None
        } else {
            server.check_credentials(None)?;
            let looked = self.look(route.server, server, &mut state);
            Some(looked.map_err(|down| unsent(server, down))?)
        };
        match (&*state, coming) {
            (State::Ready(live), Some(coming)) if coming.is_there() => {
                let refused = owed().incur(&live.connection, wanted);
                drop(state);
                if let Some((waiter, ended)) = refused {
                    waiter(ended);
                }
            }
            (State::Closed, _) => return Err(closed("before the call")),
            (_, coming) => {
                let hold = self.held.hold(id);
                // Under the lock that closing takes as well, so that it waits for this task.
                self.tasks.spawn(owed().hold_back(wanted, hold, coming));
            }
        }
        Ok(())
    }
}

/// The end that a caller is owed. A call that is dropped unheard, by a task that failed, is settled all the same.
struct Debt {
    shared: Arc<Shared>,
    id: CallId,
    route: Arc<Route>,
    /// The credential that it was sent with.
    bearer: Option<String>,
    started: Instant,
    paid: bool,
    /// From before it is sent until it has ended.
    _in_use: Option<InUse>,
}

impl Debt {
    /// Sends the request; its end pays the debt. What was not even queued is handed back, with why: it is to be told when no
    /// lock is held.
    fn incur(self, connection: &Connection, wanted: Wanted) -> Option<(Waiter, Ended)> {
        let Wanted {
            arguments,
            patience,
            report_progress,
            bearer,
        } = wanted;
        let route = Arc::clone(&self.route);
        let resets = patience.reset_on_progress && patience.timeout != Timeout::NONE;
        let request = Request {
            method: "tools/call",
            params: Params::new()
                .text("name", &route.tool.name)
                .raw("arguments", &arguments),
            patience,
            key: Some(self.id),
            progress: match (report_progress, resets) {
                (true, _) => ProgressUse::Report,
                (false, true) => ProgressUse::Patience,
                (false, false) => ProgressUse::None,
            },
            mirror: Mirror {
                name: Some(route.tool.name.clone()),
                params: param_header::mirrored(route.param_headers(), &arguments),
                bearer,
            },
            may_ask: true,
            waiter: Box::new(move |ended| self.settle(ended)) as Waiter,
        };
        let (refused, waiter) = connection.request(request).err()?;
        let ended = match refused {
            Refused::Busy => Ended::Busy,
            Refused::Gone(Some(error)) => Ended::NotSent(error),
            Refused::Gone(None) => Ended::Closed,
        };
        Some((waiter, ended))
    }

    /// Sends the request as soon as that is possible, unless its time is up before, or nobody wants it any more.
    /// Without a server to wait for, it is the credential that is waited for first.
    async fn hold_back(mut self, mut wanted: Wanted, mut hold: Hold, coming: Option<Coming>) {
        let shared = Arc::clone(&self.shared);
        let index = self.route.server;
        let Some(server) = shared.servers.get(index) else {
            return;
        };
        let ready = async {
            if let Some(coming) = coming {
                return coming.end(server).await.map_err(|down| unsent(server, down));
            }
            // Whoever gives none gives the call up.
            let Ok(bearer) = (&mut hold.credential).await else {
                return std::future::pending().await;
            };
            server.redactor.learn(&bearer);
            server.check_credentials(Some(&bearer))?;
            wanted.bearer = Some(bearer);
            shared.up(index).await.map_err(|down| unsent(server, down))
        };
        let time_is_up = async {
            match self.time_limit(wanted.patience) {
                Some(end) => shared.clock.sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = hold.given_up.cancelled() => Ok(()),
            () = shared.tasks.closing.cancelled() => Err(closed("before the call was sent")),
            outcome = ready => outcome,
            () = time_is_up => Err(self.expired(server)),
        };
        if let Err(error) = outcome {
            return self.pay(CallEnd::Failed(error), None);
        }
        let state = server.state();
        // Whoever gives it up later finds it on the connection.
        if hold.given_up.is_cancelled() {
            drop(state);
            return self.pay(CallEnd::Aborted, None);
        }
        match standing(server, &state) {
            Ok(connection) => {
                self.bearer.clone_from(&wanted.bearer);
                let spent = self.waited();
                wanted.patience.timeout = less(wanted.patience.timeout, spent);
                wanted.patience.max_total = less(wanted.patience.max_total, spent);
                let refused = self.incur(connection, wanted);
                drop(state);
                if let Some((waiter, ended)) = refused {
                    waiter(ended);
                }
            }
            Err(down) => {
                drop(state);
                self.pay(CallEnd::Failed(unsent(server, down)), None);
            }
        }
    }

    fn time_limit(&self, patience: Patience) -> Option<Instant> {
        [patience.timeout, patience.max_total]
            .into_iter()
            .filter_map(|limit| self.started.checked_add(limit.duration()?))
            .min()
    }

    fn expired(&self, server: &Server) -> Error {
        let message = format!(
            "the call of tool {} of MCP server {} timed out after {} ms, before it could be sent",
            json::quote(&self.route.tool.name),
            json::quote(&server.config.name),
            self.waited().as_millis()
        );
        Error::new(ErrorCode::Timeout, message)
    }

    fn waited(&self) -> Duration {
        self.shared.clock.now().saturating_duration_since(self.started)
    }

    fn settle(mut self, ended: Ended) {
        let shared = Arc::clone(&self.shared);
        let Some(server) = shared.servers.get(self.route.server) else {
            return;
        };
        let answered = matches!(ended, Ended::Result(_) | Ended::Error(_) | Ended::TooLong { .. });
        shared.note_credentials(server, &ended, self.bearer.take());
        let end = shared.call_end(ended, server, &self.route);
        let latency = answered.then(|| self.waited());
        self.pay(end, latency);
    }

    fn pay(mut self, end: CallEnd, latency: Option<Duration>) {
        self.paid = true;
        let problem = match &end {
            CallEnd::Failed(error) => Some(error.message()),
            CallEnd::Value(_) | CallEnd::Aborted => None,
        };
        if let Some(server) = self.shared.servers.get(self.route.server) {
            server.figures.note(latency, problem);
        }
        self.shared.listener.settled(self.id, end);
    }
}

impl Drop for Debt {
    fn drop(&mut self) {
        if !self.paid {
            let error = Error::new(
                ErrorCode::ConnectionLost,
                "the connection failed; the outcome of the call is unknown",
            );
            self.shared.listener.settled(self.id, CallEnd::Failed(error));
        }
    }
}

fn unsent(server: &Server, down: Down) -> Error {
    match down {
        Down::Closed => closed("before the call was sent"),
        Down::Because(cause) => unavailable(server, &cause),
    }
}

/// What is left of a time limit.
fn less(limit: Timeout, spent: Duration) -> Timeout {
    limit
        .duration()
        .map_or(Timeout::NONE, |limit| Timeout::after(limit.saturating_sub(spent)))
}
