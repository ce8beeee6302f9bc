//! The servers of one `mcpTools` call, together: connecting them side by side, the map from projected names to what they
//! call, calling, and closing. Each server is isolated: what one does costs only itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::call::Call;
use super::connect::{Attempt, Connected, Target};
use super::connection::{Figures, Tasks};
use super::options::{Endpoint, Options, ServerConfig};
use super::server::{Live, Server, State};
use super::shared::{Route, Shared, closed};
use crate::catalog::collision::{self, Candidate};
use crate::catalog::listing::ListedTool;
use crate::catalog::project::{self, ServerListing};
use crate::diagnostic::{Diagnostic, Rule};
use crate::error::{Error, ErrorCode, Result};
use crate::guard::headers;
use crate::guard::redact::Redactor;
use crate::host::http::HttpClient;
use crate::host::{CallEnd, CallId, Clock, Listener};
use crate::json;
use crate::limits;
use crate::protocol::wire::param_header;
use crate::transport::http::client::ReqwestClient;

/// A handle; the toolset lives until `close`, or until the last handle and the last call are gone.
#[derive(Clone)]
pub(crate) struct Toolset(Arc<Shared>);

impl Toolset {
    /// Reads the configuration. Nothing is started yet. Without an HTTP client, remote servers get one of our own.
    ///
    /// # Errors
    /// `invalid-option`.
    pub(crate) fn new(
        servers: Vec<ServerConfig>,
        options: Options,
        listener: Arc<dyn Listener>,
        clock: Arc<dyn Clock>,
        http: Option<Arc<dyn HttpClient>>,
        runtime: Handle,
    ) -> Result<Self> {
        let is_remote = |server: &ServerConfig| matches!(server.endpoint, Endpoint::Remote(_));
        let http = match http {
            None if servers.iter().any(is_remote) => {
                let client: Arc<dyn HttpClient> = Arc::new(ReqwestClient::new(&options.http)?);
                Some(client)
            }
            given => given,
        };
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
                    figures: Figures::default(),
                    credentials: Mutex::default(),
                })
            })
            .collect();
        let tasks = Tasks {
            runtime,
            tracker: TaskTracker::new(),
            closing: CancellationToken::new(),
            gate: Arc::default(),
        };
        Ok(Self(Arc::new(Shared {
            options,
            servers,
            routes: OnceLock::new(),
            listener,
            clock,
            http,
            tasks,
        })))
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
            // A task that failed leaves its server connecting, which is told below.
            let Ok((index, tools)) = attempt else { continue };
            if let Some(listing) = listings.get_mut(index) {
                *listing = tools;
            }
        }
        if self.0.tasks.closing.is_cancelled() {
            return Err(closed("while it was connecting"));
        }
        for server in &self.0.servers {
            let error = Error::new(ErrorCode::Unavailable, "the task that connects it failed");
            let text = format!(
                "MCP server {} is not available: {error}",
                json::quote(&server.config.name)
            );
            self.0.fail(server, Rule::ConnectionFailure, error, text);
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
        self.0.tasks.gate.shut();
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
        self.0.tasks.gate.kill();
    }

    /// The state of every server, as JSON text.
    pub(crate) fn servers(&self) -> String {
        let servers: Vec<_> = self.0.servers.iter().map(Server::to_json).collect();
        format!("[{}]", servers.join(","))
    }
}

impl Shared {
    /// Brings one server up, or tells why not. Gives what it lists.
    async fn connect_server(self: &Arc<Self>, index: usize) -> Vec<ListedTool> {
        let Some(server) = self.servers.get(index) else {
            return Vec::new();
        };
        let mode = server.config.protocol.unwrap_or(self.options.protocol);
        let target = match &server.config.endpoint {
            Endpoint::Stdio(launch) if self.options.stdio => Target::Child(launch, mode),
            Endpoint::Remote(remote) => {
                for name in &remote.ignored {
                    self.listener.diagnostic(headers::ignored(&server.config.name, name));
                }
                Target::Remote(remote, mode)
            }
            Endpoint::Stdio(_) => return self.refuse(server),
        };
        let attempt = Attempt {
            projected_name: &server.projected_name,
            target,
            timeout: server.config.timeout.unwrap_or(self.options.patience.timeout),
            options: &self.options,
            context: self.context(index, server),
            capabilities: self.options.handlers.capabilities(),
            tasks: &self.tasks,
        };
        match attempt.run().await {
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
            self.tell(server, diagnostic);
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
        drop(state);
        self.tell_status(server);
        connected.tools
    }

    fn refuse(&self, server: &Server) -> Vec<ListedTool> {
        let text = format!(
            "MCP server {} uses stdio, which is off here: this entry point starts no processes, as Workers cannot \
             (workerd has none). On Node or Bun import `espalier/node`, which stands where @kuralle-agents/mcp/node does \
             for users of that package",
            json::quote(&server.config.name)
        );
        let error = Error::new(ErrorCode::Unavailable, text.clone());
        self.fail(server, Rule::UnsupportedTransport, error, text);
        Vec::new()
    }

    fn fail(&self, server: &Server, rule: Rule, error: Error, text: String) {
        let mut state = server.state();
        if matches!(*state, State::Connecting) {
            *state = State::Unavailable(Arc::new(error));
            drop(state);
            self.tell_status(server);
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
            match self
                .servers
                .iter()
                .find(|server| server.projected_name == diagnostic.origin)
            {
                Some(server) => self.tell(server, diagnostic),
                None => self.listener.diagnostic(diagnostic),
            }
        }
        let mut text = String::from("[");
        let mut routes = HashMap::new();
        for (index, server) in self.servers.iter().enumerate() {
            let entries: Vec<_> = tools
                .iter()
                .filter(|tool| tool.server == index)
                .map(|tool| {
                    (
                        tool,
                        tool.to_json(
                            &server.config.name,
                            matches!(server.config.endpoint, Endpoint::Remote(_)),
                        ),
                    )
                })
                .collect();
            let bytes: usize = entries.iter().map(|(_, entry)| entry.len() + 1).sum();
            if text.len() + bytes > limits::MAX_TEXT_TO_JS_BYTES {
                let message = format!(
                    "MCP server {}: the catalogue of all servers together is too large; none of its tools is kept",
                    json::quote(&server.config.name)
                );
                self.listener
                    .diagnostic(Diagnostic::new(Rule::ListingLimited, &server.projected_name, message));
                continue;
            }
            for (tool, entry) in entries {
                if text.len() > 1 {
                    text.push(',');
                }
                text.push_str(&entry);
                let route = Route {
                    server: index,
                    remote_name: tool.tool.name.clone(),
                    param_headers: tool
                        .tool
                        .input_schema
                        .as_deref()
                        .and_then(|schema| param_header::read(schema.get()).ok())
                        .unwrap_or_default(),
                    output_schema: tool.tool.output_schema.clone(),
                    output_check: OnceLock::new(),
                };
                routes.insert(tool.name.clone(), Arc::new(route));
            }
        }
        text.push(']');
        // Set once: a toolset is connected once.
        drop(self.routes.set(routes));
        text
    }
}
