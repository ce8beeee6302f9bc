//! The servers of one `mcpTools` call, together: connecting them side by side, the map from projected names to what they
//! call, calling, and closing. Each server is isolated: what one does costs only itself.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connect::{Attempt, Connected};
use super::connection::{Connection, Context, Figures, Refused, Tasks};
use super::options::{Endpoint, Options, ServerConfig};
use super::result;
use crate::catalog::collision::{self, Candidate};
use crate::catalog::listing::ListedTool;
use crate::catalog::project::{self, ServerListing};
use crate::diagnostic::{Diagnostic, Rule};
use crate::driver::{Ended, Waiter};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::redact::Redactor;
use crate::host::{CallEnd, CallId, Clock, Listener};
use crate::json;
use crate::limits::Timeout;
use crate::protocol::handshake::Established;
use crate::protocol::message::Params;
use crate::protocol::peer::{Patience, ProgressUse, Request};
use crate::transport::child::ProcessGroup;

/// A handle; the toolset lives until `close`, or until the last handle and the last call are gone.
#[derive(Clone)]
pub(crate) struct Toolset(Arc<Shared>);

struct Shared {
    options: Options,
    servers: Vec<Server>,
    /// Known once every server was tried.
    routes: OnceLock<HashMap<String, Route>>,
    listener: Arc<dyn Listener>,
    clock: Arc<dyn Clock>,
    tasks: Tasks,
}

struct Server {
    config: ServerConfig,
    projected_name: String,
    redactor: Arc<Redactor>,
    state: Mutex<State>,
    /// For the ends of a process that leave no time to close.
    group: Mutex<Option<Arc<ProcessGroup>>>,
    figures: Figures,
}

enum State {
    Connecting,
    Ready(Live),
    /// It never was connected, and why.
    Unavailable(Arc<Error>),
    Closed,
}

struct Live {
    connection: Connection,
    established: Established,
    tools: usize,
    took: Duration,
}

/// Where a call goes: the stored pair of server and remote name. A name is never split.
struct Route {
    server: usize,
    remote_name: String,
}

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
}

impl Toolset {
    /// Reads the configuration. Nothing is started yet.
    ///
    /// # Errors
    /// `invalid-option`.
    pub(crate) fn new(
        servers: Vec<ServerConfig>,
        options: Options,
        listener: Arc<dyn Listener>,
        clock: Arc<dyn Clock>,
        runtime: Handle,
    ) -> Self {
        let candidates: Vec<_> = servers
            .iter()
            .map(|server| Candidate {
                name: server.name.clone(),
                identity: server.identity(),
                extras: server.extras(),
            })
            .collect();
        let resolution = collision::resolve(&candidates);
        for diagnostic in resolution.diagnostics {
            listener.diagnostic(diagnostic);
        }
        let mut configs: Vec<_> = servers.into_iter().map(Some).collect();
        let servers = resolution
            .servers
            .into_iter()
            .filter_map(|kept| {
                let config = configs.get_mut(kept.index)?.take()?;
                Some(Server {
                    redactor: Arc::new(Redactor::new(config.secrets())),
                    config,
                    projected_name: kept.name,
                    state: Mutex::new(State::Connecting),
                    group: Mutex::new(None),
                    figures: Figures::default(),
                })
            })
            .collect();
        let tasks = Tasks {
            runtime,
            tracker: TaskTracker::new(),
            closing: CancellationToken::new(),
        };
        Self(Arc::new(Shared {
            options,
            servers,
            routes: OnceLock::new(),
            listener,
            clock,
            tasks,
        }))
    }

    /// Connects all servers at once and projects what they list: the catalogue as JSON text. A server that fails is
    /// told as a diagnostic.
    ///
    /// # Errors
    /// `closed` when the toolset is closed meanwhile.
    pub(crate) async fn connect(&self) -> Result<String> {
        let permits = Arc::new(Semaphore::new(
            self.0.options.max_parallel_connects.min(Semaphore::MAX_PERMITS),
        ));
        let mut attempts = JoinSet::new();
        for index in 0..self.0.servers.len() {
            let shared = Arc::clone(&self.0);
            let permits = Arc::clone(&permits);
            let attempt = async move {
                // The semaphore is never closed.
                let _permit = permits.acquire_owned().await.ok();
                (index, shared.connect_server(index).await)
            };
            // Tracked, so that `close` waits for what is only just being started.
            attempts.spawn_on(self.0.tasks.tracker.track_future(attempt), &self.0.tasks.runtime);
        }
        let mut listings: Vec<Vec<ListedTool>> = self.0.servers.iter().map(|_| Vec::new()).collect();
        while let Some(attempt) = attempts.join_next().await {
            let (index, tools) = attempt.map_err(|error| {
                Error::new(ErrorCode::Unavailable, "a task that connects a server failed").with_source(error)
            })?;
            if let Some(listing) = listings.get_mut(index) {
                *listing = tools;
            }
        }
        if self.0.tasks.closing.is_cancelled() {
            return Err(closed("while it was connecting"));
        }
        Ok(self.0.project(&listings))
    }

    /// Starts a call; the listener hears of its end.
    pub(crate) fn call(&self, call: Call) {
        let id = call.id;
        if let Err(error) = self.0.start_call(call) {
            self.0.listener.settled(id, CallEnd::Failed(error));
        }
    }

    /// Gives up a call of this tool, if it is still under way.
    pub(crate) fn cancel(&self, id: CallId, tool: &str) {
        let server = self.0.route(tool).and_then(|route| self.0.servers.get(route.server));
        if let Some(State::Ready(live)) = server.map(Server::state).as_deref() {
            live.connection.cancel(id);
        }
    }

    /// Closes every connection and waits until nothing is left running. Calls under way fail with `closed`.
    pub(crate) async fn close(&self) {
        self.0.tasks.closing.cancel();
        for server in &self.0.servers {
            // The handle goes, and with it the connection; calls after this find the toolset closed.
            *server.state() = State::Closed;
        }
        self.0.tasks.tracker.close();
        self.0.tasks.tracker.wait().await;
    }

    /// Ends every child at once, without waiting: for the end of the environment that the toolset lives in.
    pub(crate) fn kill(&self) {
        self.0.tasks.closing.cancel();
        for server in &self.0.servers {
            let group = server.group.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(group) = group {
                group.kill();
            }
        }
    }

    /// The state of every server, as JSON text.
    pub(crate) fn servers(&self) -> String {
        let servers: Vec<_> = self.0.servers.iter().map(Server::to_json).collect();
        format!("[{}]", servers.join(","))
    }
}

impl Shared {
    /// Brings one server up, or tells why not. Gives what it lists.
    async fn connect_server(&self, index: usize) -> Vec<ListedTool> {
        let Some(server) = self.servers.get(index) else {
            return Vec::new();
        };
        let launch = match &server.config.endpoint {
            Endpoint::Stdio(launch) if self.options.stdio => launch,
            endpoint => return self.refuse(server, endpoint),
        };
        let attempt = Attempt {
            projected_name: &server.projected_name,
            launch,
            timeout: server.config.timeout.unwrap_or(self.options.patience.timeout),
            options: &self.options,
            context: Context {
                server: server.config.name.clone(),
                redactor: Arc::clone(&server.redactor),
                listener: Arc::clone(&self.listener),
                clock: Arc::clone(&self.clock),
            },
            tasks: &self.tasks,
        };
        let started = |group| *server.group.lock().unwrap_or_else(PoisonError::into_inner) = Some(group);
        match attempt.run(started).await {
            Ok(connected) => self.admit(server, connected),
            Err(error) => {
                let text = format!(
                    "MCP server {} is not available: {error}",
                    json::quote(&server.config.name)
                );
                self.fail(server, Rule::ConnectionFailure, error, text);
                Vec::new()
            }
        }
    }

    fn admit(&self, server: &Server, connected: Connected) -> Vec<ListedTool> {
        for diagnostic in connected.diagnostics {
            self.listener.diagnostic(diagnostic);
        }
        let live = Live {
            connection: connected.connection,
            established: connected.established,
            tools: connected.tools.len(),
            took: connected.took,
        };
        let mut state = server.state();
        if matches!(*state, State::Connecting) {
            *state = State::Ready(live);
        }
        connected.tools
    }

    fn refuse(&self, server: &Server, endpoint: &Endpoint) -> Vec<ListedTool> {
        let name = json::quote(&server.config.name);
        let text = match endpoint {
            Endpoint::Stdio(_) => format!(
                "MCP server {name} uses stdio, which is off here: this entry point starts no processes, as Workers \
                 cannot (workerd has none). On Node or Bun import `espalier/node`, which stands where \
                 @kuralle-agents/mcp/node does for users of that package"
            ),
            Endpoint::Remote { kind, .. } => {
                format!("MCP server {name} uses {kind}, which this version does not connect to; it connects over stdio")
            }
        };
        let error = Error::new(ErrorCode::Unavailable, text.clone());
        self.fail(server, Rule::UnsupportedTransport, error, text);
        Vec::new()
    }

    fn fail(&self, server: &Server, rule: Rule, error: Error, text: String) {
        let mut state = server.state();
        if matches!(*state, State::Connecting) {
            *state = State::Unavailable(Arc::new(error));
            drop(state);
            self.listener
                .diagnostic(Diagnostic::new(rule, &server.config.name, text));
        }
    }

    /// Makes the catalogue and remembers the routes.
    fn project(&self, listings: &[Vec<ListedTool>]) -> String {
        let listings: Vec<_> = self
            .servers
            .iter()
            .zip(listings)
            .enumerate()
            .map(|(index, (server, tools))| ServerListing {
                server: index,
                projected_name: &server.projected_name,
                tools,
            })
            .collect();
        let (tools, diagnostics) = project::project(&listings, &self.options.filter);
        for diagnostic in diagnostics {
            self.listener.diagnostic(diagnostic);
        }
        let mut text = String::from("[");
        for tool in &tools {
            let server = self.servers.get(tool.server).map_or("", |server| &server.config.name);
            let separator = if text.len() > 1 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{}", tool.to_json(server));
        }
        text.push(']');
        let routes = tools
            .into_iter()
            .map(|tool| {
                (
                    tool.name,
                    Route {
                        server: tool.server,
                        remote_name: tool.tool.name.clone(),
                    },
                )
            })
            .collect();
        // Set once: a toolset is connected once.
        drop(self.routes.set(routes));
        text
    }

    fn route(&self, tool: &str) -> Option<&Route> {
        self.routes.get()?.get(tool)
    }

    fn start_call(self: &Arc<Self>, call: Call) -> Result<()> {
        let Call {
            id,
            tool,
            arguments,
            timeout,
            report_progress,
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
        let route = self.route(&tool).ok_or_else(unknown)?;
        let server = self.servers.get(route.server).ok_or_else(unknown)?;
        let state = server.state();
        let connection = match &*state {
            State::Ready(live) => &live.connection,
            State::Closed => return Err(closed("before the call")),
            State::Unavailable(error) => return Err(unavailable(server, error)),
            State::Connecting => return Err(Error::new(ErrorCode::Unavailable, "the toolset is still connecting")),
        };
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
                .text("name", &route.remote_name)
                .raw("arguments", &arguments),
            patience,
            key: Some(id),
            progress: match (report_progress, resets) {
                (true, _) => ProgressUse::Report,
                (false, true) => ProgressUse::Patience,
                (false, false) => ProgressUse::None,
            },
            waiter: self.waiter(id, route.server, route.remote_name.clone()),
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

    fn waiter(self: &Arc<Self>, id: CallId, server: usize, tool: String) -> Waiter {
        let debt = Debt {
            shared: Arc::clone(self),
            id,
            paid: false,
        };
        let started = self.clock.now();
        Box::new(move |ended| {
            let shared = Arc::clone(&debt.shared);
            let Some(server) = shared.servers.get(server) else {
                return;
            };
            let end = call_end(ended, server, &tool);
            let problem = match &end {
                CallEnd::Failed(error) => Some(error.message()),
                CallEnd::Value(_) | CallEnd::Aborted => None,
            };
            server
                .figures
                .note(shared.clock.now().saturating_duration_since(started), problem);
            debt.pay(end);
        })
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

impl Server {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn to_json(&self) -> String {
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

fn call_end(ended: Ended, server: &Server, tool: &str) -> CallEnd {
    let of = || {
        format!(
            "the call of tool {} of MCP server {}",
            json::quote(tool),
            json::quote(&server.config.name)
        )
    };
    CallEnd::Failed(match ended {
        Ended::Result(result) => match result::value(&result) {
            Ok(value) => return CallEnd::Value(value),
            Err(error) if error.code() == ErrorCode::ToolError => error,
            Err(error) => Error::new(error.code(), format!("{} failed: {error}", of())),
        },
        Ended::Cancelled => return CallEnd::Aborted,
        Ended::Error(error) => {
            let message = format!("{} was answered with error {}: {}", of(), error.code, error.message);
            Error::new(ErrorCode::ServerError, message).with_data(error.to_json())
        }
        Ended::TimedOut { waited } => {
            let message = format!(
                "{} timed out after {} ms; its outcome is unknown",
                of(),
                waited.as_millis()
            );
            Error::new(ErrorCode::Timeout, message)
        }
        Ended::TooLong { bytes } => {
            let message = format!("{} was answered with {bytes} bytes, more than `maxMessageBytes`", of());
            Error::new(ErrorCode::TooLarge, message)
        }
        Ended::Lost(error) => {
            let message = format!("{} lost its connection: {error}; its outcome is unknown", of());
            Error::new(ErrorCode::ConnectionLost, message)
        }
        Ended::Closed => {
            let message = format!(
                "{} was under way when the toolset was closed; its outcome is unknown and the server unavailable",
                of()
            );
            Error::new(ErrorCode::Closed, message)
        }
        Ended::NotSent(error) => unavailable(server, &error),
        Ended::Busy => busy(server),
    })
}

fn closed(when: &str) -> Error {
    Error::new(
        ErrorCode::Closed,
        format!("the toolset was closed {when}; its servers are unavailable"),
    )
}

fn busy(server: &Server) -> Error {
    let name = json::quote(&server.config.name);
    Error::new(
        ErrorCode::Unavailable,
        format!("MCP server {name} does not keep up: too much waits to be sent or answered"),
    )
}

fn unavailable(server: &Server, cause: &Error) -> Error {
    let name = json::quote(&server.config.name);
    Error::new(
        ErrorCode::Unavailable,
        format!("MCP server {name} is unavailable: {cause}"),
    )
}

fn millis(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64() * 1_000.0)
}
