//! One call of a tool: from the projected name to a request, and from the end of the request to what its caller is told.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::catalogue::Entry;
use super::connection::Refused;
use super::failure::{failure, unavailable};
use super::result;
use super::server::{Server, State};
use super::shared::{Route, Shared, closed};
use crate::catalog::output_schema::{Fit, OutputSchema};
use crate::catalog::project;
use crate::diagnostic::{Diagnostic, Rule};
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
    /// The credential of this call, where the caller gives credentials.
    pub(crate) bearer: Option<String>,
}

impl Shared {
    pub(super) fn start_call(self: &Arc<Self>, call: Call) -> Result<()> {
        let Call {
            id,
            tool,
            arguments,
            timeout,
            report_progress,
            bearer,
        } = call;
        if self.tasks.closing.is_cancelled() {
            return Err(closed("before the call"));
        }
        let unknown = || {
            Error::new(
                ErrorCode::InvalidArguments,
                format!("there is no tool named {}", json::quote(&tool)),
            )
        };
        let Some(entry) = self.entry(&tool) else {
            // The one tool that asks no server.
            let schema = self.describe(&tool, &arguments).ok_or_else(unknown)??;
            self.listener.settled(id, CallEnd::Value(schema));
            return Ok(());
        };
        let server = self.servers.get(entry.server()).ok_or_else(unknown)?;
        let route = match entry {
            Entry::Callable(route) => route,
            Entry::Quarantined(route) => {
                let denial = project::denial(&tool, &route.tool.name, &server.config.name);
                self.listener.settled(id, CallEnd::Value(denial));
                return Ok(());
            }
            Entry::Withdrawn { .. } => return Err(not_published(&tool, server)),
        };
        let state = server.state();
        let connection = match &*state {
            State::Ready(live) => &live.connection,
            State::Closed => return Err(closed("before the call")),
            State::Unavailable(error) => return Err(unavailable(server, error)),
            State::Connecting => return Err(Error::new(ErrorCode::Unavailable, "the toolset is still connecting")),
        };
        if let Some(bearer) = &bearer {
            server.redactor.learn(bearer);
        }
        server.check_credentials(bearer.as_deref())?;
        let patience = Patience {
            timeout: timeout
                .or(server.config.timeout)
                .unwrap_or(self.options.patience.timeout),
            ..self.options.patience
        };
        let resets = patience.reset_on_progress && patience.timeout != Timeout::NONE;
        let request = Request {
            method: "tools/call",
            params: Params::new()
                .text("name", &route.tool.name)
                .raw("arguments", &arguments),
            patience,
            key: Some(id),
            progress: match (report_progress, resets) {
                (true, _) => ProgressUse::Report,
                (false, true) => ProgressUse::Patience,
                (false, false) => ProgressUse::None,
            },
            mirror: Mirror {
                name: Some(route.tool.name.clone()),
                params: param_header::mirrored(route.param_headers(), &arguments),
                bearer: bearer.clone(),
            },
            may_ask: true,
            waiter: self.waiter(id, route, bearer),
        };
        let Err((refused, waiter)) = connection.request(request) else {
            return Ok(());
        };
        drop(state);
        waiter(match refused {
            Refused::Busy => Ended::Busy,
            Refused::Gone(Some(error)) => Ended::NotSent(error),
            Refused::Gone(None) => Ended::Closed,
        });
        Ok(())
    }

    fn waiter(self: &Arc<Self>, id: CallId, route: Arc<Route>, bearer: Option<String>) -> Waiter {
        let debt = Debt {
            shared: Arc::clone(self),
            id,
            paid: false,
        };
        let started = self.clock.now();
        Box::new(move |ended| {
            let shared = Arc::clone(&debt.shared);
            let Some(server) = shared.servers.get(route.server) else {
                return;
            };
            let answered = matches!(ended, Ended::Result(_) | Ended::Error(_) | Ended::TooLong { .. });
            server.note_credentials(&ended, bearer);
            let end = shared.call_end(ended, server, &route);
            let problem = match &end {
                CallEnd::Failed(error) => Some(error.message()),
                CallEnd::Value(_) | CallEnd::Aborted => None,
            };
            let latency = answered.then(|| shared.clock.now().saturating_duration_since(started));
            server.figures.note(latency, problem);
            debt.pay(end);
        })
    }

    fn call_end(&self, ended: Ended, server: &Server, route: &Route) -> CallEnd {
        let of = || {
            format!(
                "the call of tool {} of MCP server {}",
                json::quote(&route.tool.name),
                json::quote(&server.config.name)
            )
        };
        CallEnd::Failed(match ended {
            Ended::Result(result) => match result::value(&result, |value| self.check_output(value, server, route)) {
                Ok(value) => return CallEnd::Value(value),
                Err(error) if error.code() == ErrorCode::ToolError => error,
                Err(error) => Error::new(error.code(), format!("{} failed: {error}", of())),
            },
            Ended::Cancelled => return CallEnd::Aborted,
            ended => failure(ended, &of(), server),
        })
    }

    /// Structured content has to fit the schema that the tool published with it. A schema that cannot be used refuses
    /// nothing, and is told once.
    fn check_output(&self, value: &RawValue, server: &Server, route: &Route) -> Result<()> {
        let Some(schema) = &route.tool.output_schema else {
            return Ok(());
        };
        let check = route.output_check.get_or_init(|| {
            OutputSchema::compile(schema)
                .inspect_err(|problem| {
                    let message = format!(
                        "the output schema of tool {} of MCP server {} cannot be used, and its results are not checked: {problem}",
                        json::quote(&route.tool.name),
                        json::quote(&server.config.name)
                    );
                    self.listener.diagnostic(Diagnostic::new(Rule::ProtocolViolation, &server.config.name, message));
                })
                .ok()
        });
        let Some(check) = check else { return Ok(()) };
        match check.check(value) {
            Fit::Fits | Fit::Unknown(_) => Ok(()),
            Fit::Unfit(problem) => Err(Error::new(
                ErrorCode::OutputSchema,
                format!("its structured result does not fit its output schema, {problem}"),
            )),
        }
    }
}

/// The end that a caller is owed. A waiter that is dropped unheard, by a task that failed, still settles its call.
struct Debt {
    shared: Arc<Shared>,
    id: CallId,
    paid: bool,
}

impl Debt {
    fn pay(mut self, end: CallEnd) {
        self.paid = true;
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

/// The words that the model is to act on (seed, "A wake makes no `tools/list` call").
fn not_published(tool: &str, server: &Server) -> Error {
    let server = &server.config.name;
    Error::new(
        ErrorCode::NotPublished,
        format!("MCP tool `{tool}` is no longer published by server `{server}`."),
    )
}
